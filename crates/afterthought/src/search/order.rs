//! What comes before what: the sort key of a hit under the order that was asked for. Reads columns
//! and no text.

use std::cmp::Ordering;

use tantivy::DocId;

use crate::error::Result;
use crate::index::{Bits, Block, NO_TIME, SegmentColumns, Snapshot, Stretch, Times, flag};
use crate::model::Tier;

use super::request::{SearchRequest, Sort};

/// The sort key of a hit; the larger, the better. No two documents of a search have the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Key {
    /// Not of a lower tier; `true` where tiers do not count.
    pub(super) ordinary: bool,
    /// 0 where hits are sorted by time.
    pub(super) score: f32,
    /// The time as it counts: [`NO_TIME`] where unknown, so that it comes last.
    pub(super) when: i64,
    pub(super) id: i64,
    pub(super) session_ord: i64,
    pub(super) is_session: bool,
    /// The number of its archive among those that are searched.
    pub(super) archive: u8,
}

impl Key {
    /// What decides first, and is known before the rest is read.
    pub(super) fn standing(&self) -> Standing {
        (self.ordinary, self.score)
    }
}

/// The leading part of a key. Scores are finite, so that it is ordered.
pub(super) type Standing = (bool, f32);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ordinary
            .cmp(&other.ordinary)
            .then(self.score.total_cmp(&other.score))
            .then(self.when.cmp(&other.when))
            .then(self.id.cmp(&other.id))
            .then(self.session_ord.cmp(&other.session_ord))
            .then(self.is_session.cmp(&other.is_session))
            .then(other.archive.cmp(&self.archive))
    }
}

/// The order of one search in one archive.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) sort: Sort,
    /// Lower tiers rank behind; by session number.
    tiers: Option<&'a [Option<Tier>]>,
    archive: u8,
}

impl<'a> Order<'a> {
    pub(super) fn of(snapshot: &'a Snapshot, archive: u8, request: &SearchRequest) -> Result<Self> {
        let by_tier = request.tiers && request.sort == Sort::Relevance;
        Ok(Self { sort: request.sort, tiers: by_tier.then(|| snapshot.tiers()).transpose()?, archive })
    }

    /// Tells whether a document's score has a say.
    pub(super) fn by_score(&self) -> bool {
        self.sort == Sort::Relevance
    }

    /// Tells whether a document of a stretch is of no lower tier.
    pub(super) fn is_ordinary(&self, block: &Block, stretch: Stretch, at: usize) -> bool {
        self.is_of_ordinary_session(stretch) && (self.tiers.is_none() || !block.summaries.has(at))
    }

    /// Tells whether no document of a stretch is of a lower tier.
    pub(super) fn is_all_ordinary(&self, block: &Block, stretch: Stretch) -> bool {
        let (from, to) = (usize::from(stretch.from), usize::from(stretch.to));
        self.is_of_ordinary_session(stretch)
            && (self.tiers.is_none() || !block.summaries.any_within(from, to))
    }

    /// Tells whether one of some documents of a stretch is of no lower tier.
    pub(super) fn some_ordinary(&self, block: &Block, stretch: Stretch, of: &Bits) -> bool {
        let (from, to) = (usize::from(stretch.from), usize::from(stretch.to));
        let some = || of.without(&block.summaries).any_within(from, to);
        self.is_all_ordinary(block, stretch) || (self.is_of_ordinary_session(stretch) && some())
    }

    fn is_of_ordinary_session(&self, stretch: Stretch) -> bool {
        self.tiers.is_none_or(|tiers| tier_of_session(tiers, u64::from(stretch.session_ord)).is_none())
    }

    /// Returns the most that a key's time can be where times are spanned so; beyond all where another thing
    /// decides.
    pub(super) fn latest(&self, times: impl FnOnce() -> Times) -> i64 {
        match self.sort {
            Sort::Relevance => i64::MAX,
            Sort::Newest => times().latest.unwrap_or(NO_TIME),
            Sort::Oldest => times().earliest.map_or(NO_TIME, turned),
        }
    }

    /// Returns a document's key. Its score is read only where it has a say.
    pub(super) fn key(&self, columns: &SegmentColumns, doc: DocId, (ordinary, score): Standing) -> Key {
        let (id, time) = (columns.id.get_val(doc), columns.timestamp.get_val(doc));
        let session_ord = columns.session_ord.get_val(doc).cast_signed();
        let is_session = columns.flags.get_val(doc) & flag::SESSION != 0;
        let key = Key { ordinary, score, when: time, id, session_ord, is_session, archive: self.archive };
        match self.sort {
            Sort::Relevance | Sort::Newest => key,
            // Turned around, but for the unknown, which comes last in either order.
            Sort::Oldest => {
                let when = if time == NO_TIME { NO_TIME } else { turned(time) };
                Key { when, id: !id, session_ord: !session_ord, ..key }
            }
        }
    }
}

/// Turns a known time around: the earliest comes first, and the unknown stays behind all.
fn turned(time: i64) -> i64 {
    (!time).max(NO_TIME + 1)
}

/// Returns the tier that a hit is said to have, whether or not it counted.
pub(super) fn tier(snapshot: &Snapshot, flags: u64, session_ord: u64) -> Result<Option<Tier>> {
    let of_session = tier_of_session(snapshot.tiers()?, session_ord);
    Ok(of_session.or((flags & flag::SUMMARY != 0).then_some(Tier::Summary)))
}

fn tier_of_session(tiers: &[Option<Tier>], session_ord: u64) -> Option<Tier> {
    usize::try_from(session_ord).ok().and_then(|ord| tiers.get(ord)).copied().flatten()
}
