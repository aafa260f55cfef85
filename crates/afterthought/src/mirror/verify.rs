//! Proves that the index holds exactly the archive's rows, session by session, or lists where it
//! does not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use crate::archive::{Archive, RawId, View};
use crate::error::Result;
use crate::index::{KnownSession, Snapshot, flag, session_hash};
use crate::limits::{BATCH_ROWS_MAX, VERIFY_LISTED_MAX};

use super::edits::{Edit, edits};
use super::plan::orphan;

/// How closely a proof looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Row sets, which rows are active, and session rows. Reads no text.
    Rows,
    /// Also what every row says, by hash. Reads the archive's whole text.
    Text,
}

/// Whether index and archive agree.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// They hold the same rows in the same state.
    pub equal: bool,
    /// What the rows say was compared too.
    pub deep: bool,
    /// Message rows in the archive.
    pub archive_rows: u64,
    /// Messages in the index.
    pub index_rows: u64,
    /// Sessions whose row sets were compared one by one.
    pub sessions_compared: u64,
    /// What differs, counted by how.
    pub differing: BTreeMap<&'static str, u64>,
    /// The first of it.
    pub drift: Vec<Drift>,
    /// How much of it any search takes in: rows added since the index's last commit, session rows.
    #[serde(skip)]
    newer: u64,
}

/// One row that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// The message; `None` where the session's own row differs.
    pub message_id: Option<i64>,
    /// Its session.
    pub session_id: String,
    /// `missing` from the index, `surplus` in it, of another `state`, of another `text`; or the
    /// `session` row itself.
    pub how: &'static str,
}

/// Compares every session's rows with one consistent state of the archive; with [`Depth::Text`] then
/// what the rows say, in batches.
pub fn verify(archive: &Archive, snapshot: &Snapshot, depth: Depth) -> Result<Verdict> {
    let known = snapshot.known_sessions()?;
    let mut verdict = archive.read(|view| {
        let mut verdict = Verdict { index_rows: snapshot.rows()?, ..Verdict::default() };
        verdict.compare_sessions(view, snapshot, &known)?;
        Ok(verdict)
    })?;
    if depth == Depth::Text {
        verdict.deep = true;
        let sessions: BTreeMap<_, _> = known.iter().collect();
        for (id, session) in sessions {
            verdict.compare_text(archive, snapshot, id, *session)?;
        }
    }
    verdict.equal = verdict.differing.is_empty() && verdict.archive_rows == verdict.index_rows;
    Ok(verdict)
}

impl Verdict {
    /// Tells whether all that differs is what any search takes in by itself: rows added since the
    /// index's last commit, and session rows.
    #[must_use]
    pub fn only_newer(&self) -> bool {
        self.differing.values().sum::<u64>() == self.newer
    }

    fn compare_sessions(
        &mut self,
        view: &View<'_>,
        snapshot: &Snapshot,
        known: &HashMap<String, KnownSession>,
    ) -> Result<()> {
        let signatures = view.signatures()?;
        self.archive_rows = signatures.iter().map(|signature| signature.rows).sum();
        let mut sessions: BTreeMap<String, Vec<RawId>> =
            known.keys().map(|id| (id.clone(), Vec::new())).collect();
        sessions.extend(signatures.into_iter().map(|signature| (signature.session_id, signature.raw_ids)));
        for (id, raw_ids) in &sessions {
            let theirs: BTreeMap<i64, bool> =
                view.heads(raw_ids)?.iter().map(|head| (head.id, head.active)).collect();
            let ours = known.get(id).map_or(Ok(Vec::new()), |session| snapshot.rows_of(session.ord))?;
            let ours: Vec<(i64, bool)> =
                ours.iter().map(|row| (row.id, row.flags & flag::ACTIVE != 0)).collect();
            self.sessions_compared += 1;
            self.compare_rows(id, &theirs, &ours, snapshot.checkpoint().id_max);
        }
        self.compare_session_rows(view, known, sessions)
    }

    fn compare_rows(
        &mut self,
        session_id: &str,
        theirs: &BTreeMap<i64, bool>,
        ours: &[(i64, bool)],
        id_max: i64,
    ) {
        let mut missing: BTreeSet<i64> = theirs.keys().copied().collect();
        for (id, active) in ours {
            match theirs.get(id) {
                // A second document of one row is as wrong as a row that is not there.
                Some(state) if missing.remove(id) && state == active => {}
                Some(state) if state != active => self.differs(session_id, Some(*id), "state"),
                _ => self.differs(session_id, Some(*id), "surplus"),
            }
        }
        for id in missing {
            self.newer += u64::from(id > id_max);
            self.differs(session_id, Some(id), "missing");
        }
    }

    /// Compares what is indexed of every session itself. `sessions` are those with messages.
    fn compare_session_rows(
        &mut self,
        view: &View<'_>,
        known: &HashMap<String, KnownSession>,
        mut sessions: BTreeMap<String, Vec<RawId>>,
    ) -> Result<()> {
        let mut expected: HashMap<String, u64> = HashMap::new();
        for session in view.sessions()? {
            expected.insert(session.id.clone(), session_hash(&session));
        }
        sessions.retain(|id, raw_ids| !raw_ids.is_empty() && !expected.contains_key(id));
        expected.extend(sessions.into_keys().map(|id| (id.clone(), session_hash(&orphan(id)))));
        let ids: BTreeSet<&String> = expected.keys().chain(known.keys()).collect();
        for id in ids {
            if expected.get(id) != known.get(id).map(|session| &session.hash) {
                self.newer += 1;
                self.differs(id, None, "session");
            }
        }
        Ok(())
    }

    fn compare_text(
        &mut self,
        archive: &Archive,
        snapshot: &Snapshot,
        session_id: &str,
        session: KnownSession,
    ) -> Result<()> {
        for marks in snapshot.texts_of(session.ord)?.chunks(BATCH_ROWS_MAX) {
            for (id, edit) in edits(archive, marks)?.found {
                let how = match edit {
                    Edit::Text => "text",
                    Edit::State => "state",
                };
                self.differs(session_id, Some(id), how);
            }
        }
        Ok(())
    }

    fn differs(&mut self, session_id: &str, message_id: Option<i64>, how: &'static str) {
        *self.differing.entry(how).or_default() += 1;
        if self.drift.len() < VERIFY_LISTED_MAX {
            self.drift.push(Drift { message_id, session_id: session_id.to_owned(), how });
        }
    }
}
