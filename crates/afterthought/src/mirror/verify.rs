//! Proves that the index holds exactly the archive's rows, session by session, or lists where it
//! does not.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::archive::{Archive, RawId};
use crate::error::Result;
use crate::index::{Snapshot, flag};
use crate::limits::VERIFY_LISTED_MAX;

/// Whether index and archive agree.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// They hold the same rows in the same state.
    pub equal: bool,
    /// Message rows in the archive.
    pub archive_rows: u64,
    /// Messages in the index.
    pub index_rows: u64,
    /// Sessions whose row sets were compared one by one.
    pub sessions_compared: u64,
    /// Rows that differ, counted by how.
    pub differing: BTreeMap<&'static str, u64>,
    /// The first of them.
    pub drift: Vec<Drift>,
    /// Rows among them that only the index's checkpoint has not reached yet.
    #[serde(skip)]
    newer: u64,
}

/// One row that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// The message.
    pub message_id: i64,
    /// Its session.
    pub session_id: String,
    /// `missing` from the index, `surplus` in it, or of another `state`.
    pub how: &'static str,
}

/// Compares every session's row set with one consistent state of the archive. Reads no text.
pub fn verify(archive: &Archive, snapshot: &Snapshot) -> Result<Verdict> {
    archive.read(|view| {
        let known = snapshot.known_sessions()?;
        let mut verdict = Verdict { index_rows: snapshot.rows()?, ..Verdict::default() };
        let signatures = view.signatures()?;
        verdict.archive_rows = signatures.iter().map(|signature| signature.rows).sum();
        let mut sessions: BTreeMap<String, Vec<RawId>> =
            known.keys().map(|id| (id.clone(), Vec::new())).collect();
        sessions.extend(signatures.into_iter().map(|signature| (signature.session_id, signature.raw_ids)));
        for (id, raw_ids) in sessions {
            let theirs: BTreeMap<i64, bool> =
                view.heads(&raw_ids)?.iter().map(|head| (head.id, head.active)).collect();
            let ours = known.get(&id).map_or(Ok(Vec::new()), |session| snapshot.rows_of(session.ord))?;
            let ours: Vec<(i64, bool)> =
                ours.iter().map(|row| (row.id, row.flags & flag::ACTIVE != 0)).collect();
            verdict.sessions_compared += 1;
            verdict.compare(&id, &theirs, &ours, snapshot.checkpoint().id_max);
        }
        verdict.equal = verdict.differing.is_empty() && verdict.archive_rows == verdict.index_rows;
        Ok(verdict)
    })
}

impl Verdict {
    /// Tells whether all that differs is rows that were added since the index's last commit.
    #[must_use]
    pub fn only_newer(&self) -> bool {
        self.differing.values().sum::<u64>() == self.newer
    }

    fn compare(&mut self, session_id: &str, theirs: &BTreeMap<i64, bool>, ours: &[(i64, bool)], id_max: i64) {
        let mut missing: BTreeSet<i64> = theirs.keys().copied().collect();
        for (id, active) in ours {
            match theirs.get(id) {
                // A second document of one row is as wrong as a row that is not there.
                Some(state) if missing.remove(id) && state == active => {}
                Some(state) if state != active => self.differs(session_id, *id, "state"),
                _ => self.differs(session_id, *id, "surplus"),
            }
        }
        for id in missing {
            self.newer += u64::from(id > id_max);
            self.differs(session_id, id, "missing");
        }
    }

    fn differs(&mut self, session_id: &str, message_id: i64, how: &'static str) {
        *self.differing.entry(how).or_default() += 1;
        if self.drift.len() < VERIFY_LISTED_MAX {
            self.drift.push(Drift { message_id, session_id: session_id.to_owned(), how });
        }
    }
}
