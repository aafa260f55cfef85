//! Finds rows that were changed in place: their ids and active flags are as indexed, and what they
//! say is not. The only comparison that reads text.

use crate::archive::Archive;
use crate::error::Result;
use crate::index::{TextMark, flag};

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
}

/// Reads rows and compares them with what was indexed. Rows that are gone are not reported. One read
/// transaction: the caller bounds how many.
pub(super) fn edits(archive: &Archive, marks: &[TextMark]) -> Result<Edits> {
    archive.read(|view| {
        let mut edits = Edits::default();
        for mark in marks {
            let Some(message) = view.message(mark.row.id)? else { continue };
            edits.rows_read += 1;
            if mark.text_changed(&message) {
                edits.found.push((mark.row.id, Edit::Text));
            } else if mark.flags_changed(&message) & !flag::ACTIVE != 0 {
                edits.found.push((mark.row.id, Edit::State));
            }
        }
        Ok(edits)
    })
}
