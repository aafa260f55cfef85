//! How much everything counts: fields, words side by side, the rest of the session, word forms. Sets have
//! names, and each number can be given for one search. `aft eval --boost` measures what a number is worth.

use crate::model::{Boosts, Field};

/// How much a match in each field counts, and all else that a score is made of.
///
/// The default is the set `balanced`, chosen on judged sets with `aft eval`.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Factor on a field's score; a field at 0 is not searched.
    pub fields: Boosts,
    /// Factor on the score of neighbouring query words found side by side.
    pub phrase: f32,
    /// Factor on what the rest of a message's session holds of the query.
    pub session: f32,
    /// What another form of a word counts beside the form as typed; at 0 only that is found.
    pub forms: f32,
    /// What a function word (`the`, `what`, `который`, `的`) counts beside a word that is as rare.
    pub function: f32,
}

impl Default for Weights {
    fn default() -> Self {
        let fields = [
            (Field::Content, 1.0),
            (Field::Reasoning, 1.0),
            (Field::ToolCalls, 0.7),
            (Field::ToolName, 0.7),
            (Field::ToolOutput, 0.65),
            (Field::Title, 1.5),
        ];
        Self { fields: fields.into(), phrase: 3.0, session: 0.5, forms: 0.6, function: 0.2 }
    }
}

/// What a named set makes of the fields it is named for.
const EMPHASIS: f32 = 2.0;

impl Weights {
    /// The names of the sets.
    pub const SETS: [&str; 5] = ["balanced", "said", "thought", "did", "saw"];
    /// The names of the numbers that are no field's.
    pub const FACTORS: [&str; 4] = ["phrase", "session", "forms", "function"];

    /// Returns a set by its name: `balanced`, or what was said, thought, done or seen before the rest.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut weights = Self::default();
        let origin = match name {
            "balanced" => return Some(weights),
            name => Self::SETS.into_iter().find(|set| *set == name)?,
        };
        for (_, boost) in weights.fields.iter_mut().filter(|(field, _)| field.origin().name() == origin) {
            *boost = EMPHASIS;
        }
        Some(weights)
    }

    /// Sets a number by its name: a field's or one of [`Weights::FACTORS`]. Tells whether there is one.
    pub fn set(&mut self, name: &str, factor: f32) -> bool {
        let number = match name {
            "phrase" => &mut self.phrase,
            "session" => &mut self.session,
            "forms" => &mut self.forms,
            "function" => &mut self.function,
            name => match Field::named(name) {
                Some(field) => self.fields.entry(field).or_default(),
                None => return false,
            },
        };
        *number = factor;
        true
    }

    /// Reads a number for [`Weights::set`], written `name=factor`. Fails with what to write.
    pub fn read_factor(text: &str) -> Result<(String, f32), String> {
        let (name, factor) = text.split_once('=').ok_or("write it as name=factor, such as reasoning=2")?;
        if !Self::default().set(name, 1.0) {
            let names: Vec<_> = Self::default().numbers().map(|(name, _)| name).collect();
            return Err(format!("there is no \"{name}\"; names: {}", names.join(", ")));
        }
        let factor = factor.parse().map_err(|_| format!("\"{factor}\" is no number"))?;
        Ok((name.to_owned(), factor))
    }

    /// Returns every number with its name.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, f32)> {
        let factors = [self.phrase, self.session, self.forms, self.function];
        let fields = self.fields.iter().map(|(field, factor)| (field.name(), *factor));
        fields.chain(Self::FACTORS.into_iter().zip(factors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_can_be_set_by_its_name() {
        let mut weights = Weights::default();
        let names: Vec<_> = weights.numbers().map(|(name, _)| name).collect();
        assert_eq!(names.len(), Field::ALL.len() + Weights::FACTORS.len());
        for name in names {
            assert!(weights.set(name, 9.0), "{name}");
        }
        assert!(weights.numbers().all(|(_, number)| (number - 9.0).abs() < f32::EPSILON));
        assert!(!weights.set("nothing", 1.0));
    }

    #[test]
    fn sets_put_their_own_first() {
        assert!(Weights::SETS.iter().all(|name| Weights::named(name).is_some()));
        let thought = Weights::named("thought").expect("a set");
        assert!(thought.fields[&Field::Reasoning] > thought.fields[&Field::Content]);
        assert_eq!(Weights::named("balanced"), Some(Weights::default()));
        assert_eq!(Weights::named("loud"), None);
    }
}
