//! Who is measured beside us, and in which ways each may be asked.

use serde::Serialize;

use crate::layout::{Piece, Table};
use crate::question::{Question, Shape};
use crate::rival::{Cache, Order, Route, Way};

/// A rival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Peer {
    /// FTS5 as releases of the agent have it.
    Shipped,
    /// FTS5 as its newest version has it.
    V30,
    /// FTS5 with reasoning and trigrams, asked in whichever way is fastest.
    Best,
    /// `LIKE` over every row, as proposed for reasoning.
    Scan,
}

/// Characters below which trigrams find nothing.
const GRAM_CHARS: usize = 3;

impl Peer {
    /// Every rival, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Best, Self::V30, Self::Shipped, Self::Scan];

    /// Returns its name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::V30 => "v30",
            Self::Best => "best",
            Self::Scan => "scan",
        }
    }

    /// Returns the rival of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|peer| peer.name() == name)
    }

    /// Returns what has to be built for it.
    pub(crate) fn pieces(self) -> &'static [Piece] {
        match self {
            Self::Shipped => &[Piece::Shipped],
            Self::V30 => &[Piece::V30],
            Self::Best => &[Piece::Best, Piece::BestTrigram, Piece::BestFlags],
            Self::Scan => &[],
        }
    }

    /// Returns the ways to ask it for a page and the total; several only where the fastest counts.
    pub(crate) fn ways(self, question: &Question, ids_are_in_time: bool) -> Vec<(Cache, Way)> {
        let route = self.route(question);
        let first = match route {
            Route::Scan => Way::scan(),
            Route::Match(table) => Way::rank(table),
        };
        if self != Self::Best {
            return vec![(Cache::Shipped, first)];
        }
        let orders: &[Order] = match (route, question.shape) {
            (Route::Scan, _) => &[Order::OnePass],
            (_, Shape::Newest) if ids_are_in_time => &[Order::Rank, Order::OnePass, Order::RowId],
            (_, Shape::Newest | Shape::BySession) => &[Order::Rank, Order::OnePass],
            (_, Shape::Best | Shape::Facets | Shape::After1000) => {
                &[Order::Rank, Order::Weights, Order::OnePass]
            }
        };
        let flags: &[bool] = if route == Route::Scan { &[false] } else { &[false, true] };
        let mut ways = Vec::new();
        for order in orders {
            for flags in flags {
                let way = Way { order: *order, flags: *flags, ..first };
                ways.extend([Cache::Shipped, Cache::Large].map(|cache| (cache, way)));
            }
        }
        ways
    }

    /// Returns the ways to ask for a page alone, where leaving the total out can save anything.
    pub(crate) fn page_ways(self, question: &Question, ids_are_in_time: bool) -> Vec<(Cache, Way)> {
        if self != Self::Best || matches!(question.shape, Shape::BySession | Shape::Facets) {
            return Vec::new();
        }
        let ways = self.ways(question, ids_are_in_time).into_iter();
        let ways = ways.filter(|(_, way)| way.order != Order::OnePass);
        ways.map(|(cache, way)| (cache, Way { total: false, ..way })).collect()
    }

    /// Returns the table that finds as much as we do: words, trigrams for Han inside a run, and a scan
    /// for Han too short for them; so does the agent.
    fn route(self, question: &Question) -> Route {
        let (words, grams) = match self {
            Self::Scan => return Route::Scan,
            Self::Shipped => (Table::ShippedWords, Table::ShippedGrams),
            Self::V30 => (Table::V30Words, Table::V30Grams),
            Self::Best => (Table::BestWords, Table::BestGrams),
        };
        if !question.has_han() {
            return Route::Match(words);
        }
        let is_long = |word: &String| word.chars().count() >= GRAM_CHARS;
        if question.words().iter().all(is_long) { Route::Match(grams) } else { Route::Scan }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn han_goes_where_it_is_found() {
        let first = |peer: Peer, query: &str| peer.ways(&Question::any(query), false)[0].1.route;
        assert_eq!(first(Peer::Best, "lock"), Route::Match(Table::BestWords));
        assert_eq!(first(Peer::Best, "记忆"), Route::Scan);
        assert_eq!(first(Peer::Best, "记忆断裂"), Route::Match(Table::BestGrams));
        assert_eq!(first(Peer::Shipped, "记忆断裂"), Route::Match(Table::ShippedGrams));
        assert_eq!(first(Peer::Scan, "lock"), Route::Scan);
    }

    #[test]
    fn only_the_strongest_is_asked_in_several_ways() {
        let count = |peer: Peer, shape| {
            let question = Question::any("lock").shaped(shape);
            (peer.ways(&question, true).len(), peer.page_ways(&question, true).len())
        };
        assert_eq!(count(Peer::Best, Shape::Best), (12, 8));
        assert_eq!(count(Peer::Best, Shape::Newest), (12, 8));
        assert_eq!(count(Peer::Best, Shape::BySession), (8, 0));
        assert_eq!(count(Peer::V30, Shape::Best), (1, 0));
    }
}
