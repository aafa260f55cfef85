//! Finds what differs inside one session, and which of its rows repeat another: compaction writes
//! kept rows again, and one logical message should be one result.

use std::collections::{HashMap, HashSet};

use crate::archive::{RawId, RowHead, View};
use crate::error::Result;
use crate::index::{RowMark, Snapshot, flag, message_hash};
use crate::model::RowState;

/// The work inside one session.
#[derive(Debug, Default)]
pub(super) struct RowChanges {
    /// Rows to write, and whether each is a copy.
    pub(super) write: Vec<(i64, bool)>,
    /// Rows that are gone from the session.
    pub(super) gone: Vec<i64>,
    /// The archive holds no row of the session any more.
    pub(super) empty: bool,
    /// Rows whose text was read to tell copies apart.
    pub(super) rows_read: u64,
}

impl RowChanges {
    /// Compares one session's rows in archive and index. `edited` are known to differ.
    pub(super) fn of(
        view: &View<'_>,
        snapshot: &Snapshot,
        raw_ids: &[RawId],
        known_ord: Option<u64>,
        edited: &HashSet<i64>,
    ) -> Result<Self> {
        let heads = view.heads(raw_ids)?;
        let marks = known_ord.map_or(Ok(Vec::new()), |ord| snapshot.rows_of(ord))?;
        let marks: HashMap<i64, RowMark> = marks.into_iter().map(|mark| (mark.id, mark)).collect();
        let present: HashSet<i64> = heads.iter().map(|head| head.id).collect();

        let flipped = flipped(view, raw_ids, &marks)?;
        let is_changed = |head: &RowHead| {
            edited.contains(&head.id)
                || flipped.contains(&head.id)
                || marks.get(&head.id).is_none_or(|mark| (mark.flags & flag::ACTIVE != 0) != head.active)
        };
        let changed: HashSet<i64> =
            heads.iter().filter(|head| is_changed(head)).map(|head| head.id).collect();
        let gone: Vec<i64> = marks.keys().filter(|id| !present.contains(id)).copied().collect();
        let was_copy = |id: i64| marks.get(&id).is_some_and(|mark| mark.flags & flag::COPY != 0);

        // A copy's standing changes only with a row of its own time, or when its original went or
        // is another message now.
        let original_may_be_gone = !gone.is_empty() || !edited.is_empty();
        let candidates = candidates(&heads, |head| {
            changed.contains(&head.id) || (original_may_be_gone && was_copy(head.id))
        });
        let copies = copies(view, &candidates)?;
        let mut write: Vec<(i64, bool)> = changed.iter().map(|id| (*id, copies.contains(id))).collect();
        for id in candidates.iter().flatten().map(|head| head.id).filter(|id| !changed.contains(id)) {
            if was_copy(id) != copies.contains(&id) {
                write.push((id, copies.contains(&id)));
            }
        }
        // In the order of the table: neighbours share pages.
        write.sort_unstable();
        let rows_read =
            candidates.iter().filter(|group| group.len() > 1).map(|group| group.len() as u64).sum();
        Ok(Self { write, gone, empty: heads.is_empty(), rows_read })
    }
}

/// Finds indexed rows that were compacted or hidden, or no longer are. No signature holds these flags;
/// the agent sets them together with something that one does hold.
fn flipped(view: &View<'_>, raw_ids: &[RawId], marks: &HashMap<i64, RowMark>) -> Result<HashSet<i64>> {
    if marks.is_empty() {
        return Ok(HashSet::new());
    }
    let states = view.states(raw_ids)?.into_iter();
    let flipped = states.filter(|(id, compacted, hidden)| {
        marks.get(id).is_some_and(|mark| {
            (mark.flags & flag::COMPACTED != 0) != *compacted || (mark.flags & flag::HIDDEN != 0) != *hidden
        })
    });
    Ok(flipped.map(|(id, ..)| id).collect())
}

/// Groups rows of equal time, and keeps the groups in which some row is `touched`.
fn candidates(heads: &[RowHead], touched: impl Fn(&RowHead) -> bool) -> Vec<Vec<RowHead>> {
    let mut by_time: HashMap<u64, Vec<RowHead>> = HashMap::new();
    for head in heads {
        if let Some(bits) = head.time_bits {
            by_time.entry(bits).or_default().push(*head);
        }
    }
    let kept = |group: &Vec<RowHead>| group.iter().any(&touched);
    by_time.into_values().filter(kept).filter(|group| group.len() > 1 || touched(&group[0])).collect()
}

/// Returns the rows that repeat another: equal time, role and text. The live one stands, before a
/// compacted one, before a hidden one; among equals the highest id.
fn copies(view: &View<'_>, groups: &[Vec<RowHead>]) -> Result<HashSet<i64>> {
    let mut copies = HashSet::new();
    for group in groups.iter().filter(|group| group.len() > 1) {
        let mut originals: HashMap<u64, (u8, i64)> = HashMap::new();
        for head in group {
            let Some(message) = view.message(head.id)? else { continue };
            let standing = (rank(message.state), head.id);
            let original = originals.entry(message_hash(&message)).or_insert(standing);
            if standing != *original {
                copies.insert((*original).min(standing).1);
                *original = (*original).max(standing);
            }
        }
    }
    Ok(copies)
}

/// Returns which rows of one session repeat another, all of them compared.
pub(crate) fn copies_in(view: &View<'_>, heads: &[RowHead]) -> Result<HashSet<i64>> {
    copies(view, &candidates(heads, |_| true))
}

fn rank(state: RowState) -> u8 {
    match (state.visible(), state.active) {
        (true, true) => 2,
        (true, false) => 1,
        (false, _) => 0,
    }
}
