//! What words side by side can add to a document's score, by the scores of its words alone, so that
//! positions are read only where they can matter.
//!
//! A phrase stands in a field at most as often as each of its words, and the field's boost and length weigh
//! on both alike. So its score is at most that of either word, times the ratio of what both are worth.

use super::collect::RankedList;
use super::plan::{List, Sought};

/// The most that one pair of words can add.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Most {
    /// The least of what its words' lists say, each times its ratio.
    Words([(usize, f32); 2]),
    /// So much, where a document holds these terms.
    Terms(u64, f32),
}

/// Rounds up, as the parts of a sum may be added in another order.
pub(super) const ROUNDED_UP: f32 = 1.000_1;

impl Most {
    /// Says of every pair of a plan what it can add. Each comes once for every field it is ranked in.
    pub(super) fn of(pairs: &[RankedList<'_>], lists: &[RankedList<'_>]) -> Vec<Self> {
        let by_pair = pairs.chunk_by(|a, b| a.number == b.number);
        by_pair
            .map(|fields| Self::of_words(fields, lists).unwrap_or_else(|| Self::of_terms(fields)))
            .collect()
    }

    fn of_words(fields: &[RankedList<'_>], lists: &[RankedList<'_>]) -> Option<Self> {
        let pair = fields.first()?;
        let Sought::Phrase(words, 0) = &pair.list.sought else { return None };
        let [(_, a), (_, b)] = &**words else { return None };
        let ratio = |word: &String| {
            let list = lists.iter().find(|list| {
                list.field == pair.field && list.list.fields == pair.list.fields && holds(list.list, word)
            })?;
            let worth = |list: &RankedList<'_>| list.worth.boost * list.worth.idf;
            Some((list.number, worth(pair) / worth(list) * ROUNDED_UP))
        };
        Some(Self::Words([ratio(a)?, ratio(b)?]))
    }

    fn of_terms(fields: &[RankedList<'_>]) -> Self {
        let most = fields.iter().map(|pair| pair.worth.score_max()).fold(0.0, f32::max);
        Self::Terms(fields.first().map_or(0, |pair| pair.list.terms), most * ROUNDED_UP)
    }

    /// Returns the most that it adds to a document with these scores by list and these terms.
    #[inline]
    fn at(&self, scores: &[f32], terms: u64) -> f32 {
        match self {
            // A word that is not there adds nothing, whatever the ratio.
            Self::Words([(a, _), (b, _)]) if scores[*a] <= 0.0 || scores[*b] <= 0.0 => 0.0,
            Self::Words([(a, by_a), (b, by_b)]) => (scores[*a] * by_a).min(scores[*b] * by_b),
            Self::Terms(needed, _) if needed & !terms != 0 => 0.0,
            Self::Terms(_, most) => *most,
        }
    }
}

/// Returns the most that all pairs together add to a document.
#[inline]
pub(super) fn most(pairs: &[Most], scores: &[f32], terms: u64) -> f32 {
    pairs.iter().map(|pair| pair.at(scores, terms)).sum()
}

/// Tells whether a list counts a token at least as often as it stands there.
fn holds(list: &List, token: &String) -> bool {
    match &list.sought {
        Sought::Token(own) => own == token,
        Sought::Forms(forms) => forms.tokens.iter().any(|(form, weight)| form == token && *weight >= 1.0),
        _ => false,
    }
}
