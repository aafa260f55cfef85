//! What a document must hold to match, over the bits of the terms it holds.

/// A condition on the terms of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// One of these terms.
    Leaf(u64),
    /// All of them; always true of none.
    All(Vec<Self>),
    /// One of them; never true of none.
    Any(Vec<Self>),
    Not(Box<Self>),
}

impl Default for Wanted {
    /// Nothing matches.
    fn default() -> Self {
        Self::Any(Vec::new())
    }
}

impl Wanted {
    /// One of several, as one leaf where that says the same; `None` of none.
    pub(super) fn any(of: Vec<Self>) -> Option<Self> {
        let mut terms = 0;
        let mut rest = Vec::new();
        for wanted in of {
            match wanted {
                Self::Leaf(more) => terms |= more,
                other => rest.push(other),
            }
        }
        if terms != 0 {
            rest.insert(0, Self::Leaf(terms));
        }
        if rest.len() > 1 { Some(Self::Any(rest)) } else { rest.pop() }
    }

    /// All of several; `None` of none.
    pub(super) fn all(mut of: Vec<Self>) -> Option<Self> {
        if of.len() > 1 { Some(Self::All(of)) } else { of.pop() }
    }

    /// Tells whether a document with these terms matches.
    pub(super) fn holds(&self, terms: u64) -> bool {
        match self {
            Self::Leaf(any) => terms & any != 0,
            Self::All(all) => all.iter().all(|wanted| wanted.holds(terms)),
            Self::Any(any) => any.iter().any(|wanted| wanted.holds(terms)),
            Self::Not(not) => !not.holds(terms),
        }
    }

    /// Returns sets of terms, of each of which every match holds one.
    pub(super) fn necessary(&self) -> Vec<u64> {
        match self {
            Self::Leaf(any) => vec![*any],
            Self::All(all) => all.iter().flat_map(Self::necessary).collect(),
            Self::Any(any) => {
                let first = any.iter().map(|wanted| wanted.necessary().first().copied());
                let either = first.collect::<Option<Vec<u64>>>().unwrap_or_default();
                let either = either.into_iter().fold(0, |all, one| all | one);
                if either == 0 { Vec::new() } else { vec![either] }
            }
            Self::Not(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random condition over six terms, of which the last two are only ever excluded.
    fn random(depth: usize, below: &mut impl FnMut(u64) -> u64) -> Wanted {
        let several = |below: &mut _| (0..3).map(|_| random(depth - 1, below)).collect::<Vec<_>>();
        match if depth == 0 { 0 } else { below(4) } {
            0 => Wanted::Leaf(1 + below(15)),
            1 => Wanted::All(several(below)),
            2 => Wanted::any(several(below)).unwrap_or_default(),
            _ => Wanted::All(vec![
                random(depth - 1, below),
                Wanted::Not(Box::new(Wanted::Leaf(16 << below(2)))),
            ]),
        }
    }

    #[test]
    fn every_match_holds_what_is_necessary() {
        let mut state = 5_u64;
        let mut below = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..2_000 {
            let wanted = random(3, &mut below);
            let necessary = wanted.necessary();
            assert!(
                !necessary.is_empty() && necessary.iter().all(|terms| terms & 0b11_0000 == 0),
                "{wanted:?}"
            );
            for terms in (0..64).filter(|terms| wanted.holds(*terms)) {
                assert!(necessary.iter().all(|any| terms & any != 0), "{wanted:?} {terms:b}");
            }
        }
    }
}
