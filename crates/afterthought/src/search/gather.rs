//! Keeps the best of what a search finds: the best documents, or the best document of every group.
//! Groups are ranked only when all documents were seen: first the aggregate of each, then the page.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use tantivy::DocId;

use crate::error::Result;
use crate::index::Snapshot;

use super::collect::{Ranked, quantised};
use super::evidence::Evidence;
use super::order::{Key, Standing};
use super::request::{Group, SearchRequest};

/// A document that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) segment: u32,
    pub(super) doc: DocId,
    pub(super) id: i64,
    pub(super) session_ord: u64,
    pub(super) is_session: bool,
    /// Further documents of its group; `None` where nothing is grouped.
    pub(super) more: Option<u64>,
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then(self.segment.cmp(&other.segment)).then(self.doc.cmp(&other.doc))
    }
}

/// The most that keys can begin with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    pub(super) ordinary: bool,
    pub(super) score: f32,
    pub(super) when: i64,
}

impl Bound {
    fn of(key: &Key) -> Self {
        Self { ordinary: key.ordinary, score: key.score, when: key.when }
    }

    /// Adds what the session gives, as keys have it.
    pub(super) fn add(&mut self, ranked: &Ranked<'_>, evidence: &Evidence, session_ord: u32) {
        let of_session = ranked.of_session(evidence.of(u64::from(session_ord)));
        let by_score = ranked.order.by_score();
        self.score = if by_score { quantised(self.score + of_session) } else { 0.0 };
    }
}

impl Eq for Bound {}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bound {
    fn cmp(&self, other: &Self) -> Ordering {
        let Self { ordinary, score, when } = self;
        ordinary.cmp(&other.ordinary).then(score.total_cmp(&other.score)).then(when.cmp(&other.when))
    }
}

/// What a search has found so far.
pub(super) enum Gathered<'a> {
    /// The best documents.
    Documents(Top),
    /// Every group, by number.
    Groups { of: Grouping<'a>, groups: Vec<Gathering>, top: Top },
}

/// Which group a session's documents belong to.
#[derive(Clone)]
pub(super) enum Grouping<'a> {
    Sessions,
    /// The root of every session, by number.
    Roots(Cow<'a, [usize]>),
}

/// What is known of one group: all that its rank may depend on.
#[derive(Clone, Copy, Default)]
pub(super) struct Gathering {
    best: Option<Found>,
    documents: u64,
}

impl<'a> Gathered<'a> {
    /// Keeps nothing: for searches that only count.
    pub(super) fn nothing() -> Self {
        Self::Documents(Top { heap: BinaryHeap::new(), limit: 0, after: None })
    }

    /// Prepares to keep the best `limit`, of those behind `after` if it is given.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        request: &SearchRequest,
        limit: usize,
        after: Option<Key>,
    ) -> Result<Self> {
        let top = Top { heap: BinaryHeap::with_capacity(limit + 1), limit, after };
        let of = match request.group {
            Group::None => return Ok(Self::Documents(top)),
            Group::Session => Grouping::Sessions,
            Group::Lineage => Grouping::Roots(match &request.filters.confined_to {
                Some(person) => Cow::Owned(snapshot.roots_of(person)?),
                None => Cow::Borrowed(snapshot.roots()?),
            }),
        };
        Ok(Self::Groups { of, groups: Vec::new(), top })
    }

    /// Returns the same with nothing found and nothing counted.
    pub(super) fn emptied(&self) -> Self {
        match self {
            Self::Documents(top) => Self::Documents(top.emptied()),
            Self::Groups { of, top, .. } => {
                Self::Groups { of: of.clone(), groups: Vec::new(), top: top.emptied() }
            }
        }
    }

    /// Takes in what was found elsewhere.
    pub(super) fn merge(&mut self, other: Self) {
        let found: Vec<Found> = match other {
            Self::Documents(top) => top.heap.into_iter().map(|Reverse(found)| found).collect(),
            Self::Groups { groups, .. } => groups.into_iter().filter_map(|group| group.best).collect(),
        };
        for found in found {
            self.offer(found);
        }
    }

    /// Counts documents of a session.
    pub(super) fn count(&mut self, session_ord: u64, documents: u64) {
        if let Some(group) = self.group(session_ord) {
            group.documents += documents;
        }
    }

    /// Returns how many documents are kept, if these are the best of all.
    pub(super) fn documents(&self) -> usize {
        match self {
            Self::Documents(Top { limit, after: None, .. }) => *limit,
            _ => 0,
        }
    }

    /// Tells whether anything can be kept.
    pub(super) fn keeps(&self) -> bool {
        let (Self::Documents(top) | Self::Groups { top, .. }) = self;
        top.limit > 0
    }

    /// Tells whether nothing that comes to at most `most` can change the answer.
    pub(super) fn is_settled(&self, most: Bound) -> bool {
        match self {
            Self::Documents(top) => top.worst().is_some_and(|worst| most < Bound::of(worst)),
            Self::Groups { groups, top, .. } => {
                let best = groups.iter().filter_map(|group| Some(group.best?.key));
                let mut best: Vec<Key> = best.filter(|key| top.is_behind(key)).collect();
                let Some(last) = top.limit.checked_sub(1).filter(|last| *last < best.len()) else {
                    return top.limit == 0;
                };
                let (_, worst, _) = best.select_nth_unstable_by(last, |a, b| b.cmp(a));
                most < Bound::of(worst)
            }
        }
    }

    /// Tells whether a document of a session cannot change the answer, if its key begins with at most
    /// `most` and at least `least`.
    pub(super) fn is_idle(&self, session_ord: u64, least: Standing, most: Standing) -> bool {
        match self {
            Self::Documents(top) => top.is_full_above(most) || top.is_shown_before(least),
            // Nothing but the best of its own group can keep a document out of its group's aggregate.
            Self::Groups { of, groups, .. } => {
                let group = groups.get(of.number(session_ord)).and_then(|group| group.best);
                group.is_some_and(|best| most < best.key.standing())
            }
        }
    }

    /// Keeps a document if it is among the best.
    pub(super) fn offer(&mut self, found: Found) {
        match self {
            Self::Documents(top) => top.offer(found),
            Self::Groups { .. } => {
                let group = self.group(found.session_ord).expect("groups have one for every session");
                group.best = group.best.max(Some(found));
            }
        }
    }

    /// Returns the best, best first, and how many groups there are; `None` where nothing is grouped.
    pub(super) fn finish(self) -> (Vec<Found>, Option<u64>) {
        match self {
            Self::Documents(top) => (top.finish(), None),
            Self::Groups { groups, mut top, .. } => {
                let mut count = 0;
                for group in groups {
                    count += u64::from(group.documents > 0);
                    let Some(best) = group.best else { continue };
                    top.offer(Found { more: Some(group.documents - 1), ..best });
                }
                (top.finish(), Some(count))
            }
        }
    }

    fn group(&mut self, session_ord: u64) -> Option<&mut Gathering> {
        let Self::Groups { of, groups, .. } = self else { return None };
        let number = of.number(session_ord);
        if groups.len() <= number {
            groups.resize(number + 1, Gathering::default());
        }
        groups.get_mut(number)
    }
}

impl Grouping<'_> {
    fn number(&self, session_ord: u64) -> usize {
        let ord = usize::try_from(session_ord).expect("sessions are numbered one by one");
        match self {
            Self::Sessions => ord,
            // A session without a document of its own has no parent either.
            Self::Roots(roots) => roots.get(ord).copied().unwrap_or(ord),
        }
    }
}

/// The best few of many.
pub(super) struct Top {
    heap: BinaryHeap<Reverse<Found>>,
    limit: usize,
    /// What is not behind this key was shown on an earlier page.
    after: Option<Key>,
}

impl Top {
    fn emptied(&self) -> Self {
        Self { heap: BinaryHeap::new(), limit: self.limit, after: self.after }
    }

    /// Tells whether nothing that begins with at most `most` can enter.
    fn is_full_above(&self, most: Standing) -> bool {
        self.heap.len() == self.limit
            && self.heap.peek().is_none_or(|Reverse(worst)| most < worst.key.standing())
    }

    /// Tells whether all that begins with at least `least` was shown on an earlier page.
    fn is_shown_before(&self, least: Standing) -> bool {
        self.after.is_some_and(|after| least > after.standing())
    }

    /// Tells whether a key was not shown on an earlier page.
    fn is_behind(&self, key: &Key) -> bool {
        self.after.is_none_or(|after| *key < after)
    }

    /// Returns the key that a document has to be better than; `None` while there is room.
    fn worst(&self) -> Option<&Key> {
        let Reverse(worst) = self.heap.peek().filter(|_| self.heap.len() == self.limit)?;
        Some(&worst.key)
    }

    fn offer(&mut self, found: Found) {
        if !self.is_behind(&found.key) {
            return;
        }
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(found));
        } else if self.heap.peek().is_some_and(|Reverse(worst)| found > *worst) {
            self.heap.pop();
            self.heap.push(Reverse(found));
        }
    }

    fn finish(self) -> Vec<Found> {
        let mut found: Vec<Found> = self.heap.into_iter().map(|Reverse(found)| found).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }
}
