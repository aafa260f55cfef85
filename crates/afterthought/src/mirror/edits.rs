//! Finds rows that were changed in place: their ids and active flags are as indexed, and what they
//! say is not. The only comparison that reads text.

use crate::archive::{Archive, View};
use crate::error::Result;
use crate::index::{Snapshot, TextMark, flag};
use crate::limits::SAMPLE_ROWS;

/// How a row differs from what was indexed of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Its text, role or time.
    Text,
    /// One of its flags; not whether it is active, which cheaper looks tell.
    State,
}

/// What was found among some rows.
#[derive(Debug, Default)]
pub(super) struct Edits {
    pub(super) found: Vec<(i64, Edit)>,
    pub(super) rows_read: u64,
    pub(super) text_bytes: u64,
}

/// Reads rows and compares them with what was indexed. Rows that are gone are not reported. One read
/// transaction: the caller bounds how many.
pub(super) fn edits(archive: &Archive, marks: &[TextMark]) -> Result<Edits> {
    archive.read(|view| edits_in(view, marks))
}

fn edits_in(view: &View<'_>, marks: &[TextMark]) -> Result<Edits> {
    let mut edits = Edits::default();
    for mark in marks {
        let Some(message) = view.message(mark.row.id)? else { continue };
        edits.rows_read += 1;
        edits.text_bytes += message.text_bytes() as u64;
        if mark.text_changed(&message) {
            edits.found.push((mark.row.id, Edit::Text));
        } else if mark.flags_changed(&message) & !flag::ACTIVE != 0 {
            edits.found.push((mark.row.id, Edit::State));
        }
    }
    Ok(edits)
}

/// Looks at a few rows, others each time: whether they still say what was indexed, and how many were
/// read. Another archive under the same ids hardly passes; the agent itself never edits a text.
pub(super) fn sample(view: &View<'_>, snapshot: &Snapshot, seed: u64) -> Result<(bool, u64)> {
    let edits = edits_in(view, &snapshot.some_texts(SAMPLE_ROWS, seed)?)?;
    Ok((edits.found.iter().all(|(_, edit)| *edit != Edit::Text), edits.rows_read))
}
