//! Writes texts again with a few words and numbers changed: the report of a job that runs every
//! night, a file that is read once more. Remembers one text of each kind and size, so that its
//! memory is bounded.

use std::collections::HashMap;

use super::kind::Kind;
use super::text::Text;
use crate::random::Random;

/// Longer texts are never repeated: they would be most of the memory.
const CHARS_MAX: u64 = 60_000;
/// Bytes between two changes, at least and at most.
const UNCHANGED_BYTES: (u64, u64) = (60, 500);

/// Whose texts resemble each other: one scheduled job, one kind of text in it, one size in powers
/// of two.
type Key = (u64, Kind, u32);

#[derive(Default)]
pub(super) struct Echo {
    texts: HashMap<Key, (i64, String)>,
}

/// What the next row is to hold.
pub(super) struct Wanted {
    /// The scheduled job it belongs to; 0 for none.
    pub(super) job: u64,
    pub(super) kind: Kind,
    pub(super) chars: u64,
    pub(super) row: i64,
    /// In how many of 100 cases it repeats the last one like it.
    pub(super) repeated_percent: u64,
}

/// A text, and the message it repeats, if it does.
pub(super) struct Echoed {
    pub(super) text: String,
    pub(super) of: Option<i64>,
}

impl Echo {
    /// Returns a new text, or a changed copy of an old one, cut or continued to its own length.
    pub(super) fn write(&mut self, text: &Text, random: &mut Random, wanted: &Wanted) -> Echoed {
        let Wanted { job, kind, chars, .. } = *wanted;
        // A copy of JSON would have to be cut and mended.
        if kind == Kind::Json || chars > CHARS_MAX {
            return Echoed { text: text.write(kind, random, chars), of: None };
        }
        let key = (job, kind, chars.checked_ilog2().unwrap_or(0));
        if let Some((of, old)) = self.texts.get(&key)
            && random.percent(wanted.repeated_percent)
        {
            let mut again = changed(old, text, random);
            fit(&mut again, text, random, wanted);
            return Echoed { text: again, of: Some(*of) };
        }
        let fresh = text.write(kind, random, chars);
        // Words are changed between spaces, which other scripts hardly have.
        if fresh.is_ascii() && fresh.contains(' ') {
            self.texts.insert(key, (wanted.row, fresh.clone()));
        }
        Echoed { text: fresh, of: None }
    }
}

/// Puts another word for one now and then, and another number for a number.
fn changed(old: &str, text: &Text, random: &mut Random) -> String {
    let mut out = String::with_capacity(old.len() + 300);
    let mut rest = old;
    loop {
        let (low, high) = UNCHANGED_BYTES;
        // The first change comes early, so that a short text has one too.
        let skip = if out.is_empty() { random.below(20) } else { random.between(low, high) };
        let from = usize::try_from(skip).expect("a few hundred").min(rest.len());
        let Some(space) = rest[from..].find(' ') else { break };
        let (kept, after) = rest.split_at(from + space + 1);
        out.push_str(kept);
        let word = after.split(' ').next().unwrap_or_default();
        if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str(&random.below(1_000).to_string());
            rest = &after[word.len()..];
        } else if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            out.push_str(text.common_word(random));
            rest = &after[word.len()..];
        } else {
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

fn fit(again: &mut String, text: &Text, random: &mut Random, wanted: &Wanted) {
    let end = usize::try_from(wanted.chars).expect("bounded above");
    if again.len() > end {
        again.truncate(end);
    } else if end - again.len() > 20 {
        let missing = u64::try_from(end - again.len() - 1).expect("bounded above");
        again.push('\n');
        again.push_str(&text.write(wanted.kind, random, missing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_keeps_most_words_and_its_own_length() {
        let (text, mut random, mut echo) = (Text::new(7), Random::new(7), Echo::default());
        let mut write = |row, repeated_percent| {
            let wanted = Wanted { job: 3, kind: Kind::Log, chars: 3_000, row, repeated_percent };
            echo.write(&text, &mut random, &wanted)
        };
        let (first, second) = (write(1, 0), write(2, 100));
        assert_eq!((first.of, second.of), (None, Some(1)));
        assert_ne!(first.text, second.text);
        assert!(first.text.len().abs_diff(second.text.len()) < 40);
        let same = first.text.lines().zip(second.text.lines()).filter(|(one, two)| one == two).count();
        assert!(same * 4 > first.text.lines().count(), "{same} lines are the same");
    }
}
