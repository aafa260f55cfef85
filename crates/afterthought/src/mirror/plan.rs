//! Compares archive and index, cheaply first, and says which sessions need work. Reads no text.

use std::collections::{HashMap, HashSet};
use std::panic::resume_unwind;

use crate::archive::{RawId, View};
use crate::error::Result;
use crate::index::{KnownSession, SessionSums, Snapshot, session_hash};
use crate::model::Session;

use super::edits::sample;

/// What a sync has to do.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Sessions whose own document is missing or out of date.
    pub(super) sessions: Vec<Session>,
    /// Sessions whose rows differ, the newest first.
    pub(super) differing: Vec<Differing>,
    /// Sessions that are indexed and have neither row nor messages.
    pub(super) gone: Vec<u64>,
    /// The sessions of the commit that was compared with.
    pub(super) known: HashMap<String, KnownSession>,
    /// Highest message id in the archive.
    pub(super) id_max: i64,
    /// What every indexed row says has to be compared.
    pub(super) deep: bool,
    /// Rows read to find that out.
    pub(super) rows_sampled: u64,
}

/// A session whose rows differ.
#[derive(Debug)]
pub(super) struct Differing {
    pub(super) session_id: String,
    /// The id as the archive stores it.
    pub(super) raw_ids: Vec<RawId>,
    /// Rows it has in the archive, or at least the new ones.
    pub(super) rows: u64,
    /// Only messages tell of the session.
    pub(super) without_row: bool,
    id_max: i64,
}

impl Plan {
    pub(super) fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.differing.is_empty() && self.gone.is_empty()
    }

    /// Compares every session's rows by signature: whatever adds, removes, hides or restores rows
    /// is seen. One pass over a covering index of the archive, one over three columns of ours.
    /// With `deep`, every session that has rows is looked into, whatever its signature says.
    pub(super) fn full(view: &View<'_>, snapshot: &Snapshot, deep: bool) -> Result<Self> {
        let (ours, theirs) = both(
            || Ok((snapshot.known_sessions()?, snapshot.sums()?)),
            || Ok((view.signatures()?, view.sessions()?)),
        )?;
        let ((known, sums), (signatures, sessions)) = (ours, theirs);
        let mut plan = Self {
            id_max: signatures.iter().map(|signature| signature.id_max).max().unwrap_or(0),
            deep,
            ..Self::default()
        };
        let mut with_rows = HashSet::new();
        for signature in signatures {
            let theirs = SessionSums { rows: signature.rows, id_max: signature.id_max, sum: signature.sum };
            let ours = known.get(&signature.session_id).map(|session| sums_of(&sums, *session));
            if deep || ours != Some(theirs) {
                plan.differ(signature.session_id.clone(), signature.raw_ids, theirs.rows, theirs.id_max);
            }
            with_rows.insert(signature.session_id);
        }
        let with_row: HashSet<_> = sessions.iter().map(|session| session.id.as_str()).collect();
        for (id, session) in known.iter().filter(|(id, _)| !with_rows.contains(*id)) {
            if !with_row.contains(id.as_str()) {
                plan.gone.push(session.ord);
            } else if sums_of(&sums, *session).rows > 0 {
                plan.differ(id.clone(), Vec::new(), 0, 0);
            }
        }
        let orphans =
            with_rows.into_iter().filter(|id| !with_row.contains(id.as_str())).map(orphan).collect();
        plan.write_changed(orphans, &known);
        plan.write_changed(sessions, &known);
        plan.order();
        plan.known = known;
        Ok(plan)
    }

    /// The same, and looks at a few rows first: if one of them says something else than was indexed, at
    /// all of them.
    pub(super) fn full_with_sample(view: &View<'_>, snapshot: &Snapshot, seed: u64) -> Result<Self> {
        let (is_same, rows_sampled) = sample(view, snapshot, seed)?;
        Ok(Self { rows_sampled, ..Self::full(view, snapshot, !is_same)? })
    }

    /// Looks at the rows above the last mirrored id, and at the session rows. Sees appends and titles,
    /// and takes the full look where a session row went; leaves what happened inside older rows to
    /// [`Plan::full`].
    pub(super) fn tail(view: &View<'_>, snapshot: &Snapshot) -> Result<Self> {
        let id_max = snapshot.checkpoint().id_max;
        let (known, (tail, sessions)) =
            both(|| snapshot.known_sessions(), || Ok((view.tail(id_max)?, view.sessions()?)))?;
        let mut plan = Self { id_max, ..Self::default() };
        let mut new_rows: HashMap<String, (Vec<RawId>, u64, i64)> = HashMap::new();
        for (id, session_id, raw_id) in tail {
            plan.id_max = plan.id_max.max(id);
            let (raw_ids, rows, id_max) = new_rows.entry(session_id).or_default();
            if !raw_ids.contains(&raw_id) {
                raw_ids.push(raw_id);
            }
            (*rows, *id_max) = (*rows + 1, (*id_max).max(id));
        }
        let with_row: HashSet<_> = sessions.iter().map(|session| session.id.as_str()).collect();
        // A session whose row went took its messages along, or left them without one; and an id that is
        // no text may have rows under other forms of it. Both are rare, and only the full look is sure.
        let orphan_hash = session_hash(&orphan(String::new()));
        let row_went = |(id, known): (&String, &KnownSession)| {
            known.hash != orphan_hash && !with_row.contains(id.as_str())
        };
        let odd_id =
            |(raw_ids, ..): &(Vec<RawId>, u64, i64)| raw_ids.iter().any(|id| !matches!(id, RawId::Text(_)));
        if known.iter().any(row_went) || new_rows.values().any(odd_id) {
            return Self::full(view, snapshot, false);
        }
        let orphans =
            new_rows.keys().filter(|id| !with_row.contains(id.as_str())).cloned().map(orphan).collect();
        plan.write_changed(orphans, &known);
        plan.write_changed(sessions, &known);
        for (session_id, (raw_ids, rows, id_max)) in new_rows {
            plan.differ(session_id, raw_ids, rows, id_max);
        }
        plan.order();
        plan.known = known;
        Ok(plan)
    }

    fn differ(&mut self, session_id: String, raw_ids: Vec<RawId>, rows: u64, id_max: i64) {
        self.differing.push(Differing { session_id, raw_ids, rows, without_row: false, id_max });
    }

    fn order(&mut self) {
        let orphans: HashSet<_> = self
            .sessions
            .iter()
            .filter(|session| session.orphan)
            .map(|session| session.id.as_str())
            .collect();
        for session in &mut self.differing {
            session.without_row = orphans.contains(session.session_id.as_str());
        }
        self.differing
            .sort_unstable_by(|a, b| b.id_max.cmp(&a.id_max).then_with(|| a.session_id.cmp(&b.session_id)));
    }

    fn write_changed(&mut self, sessions: Vec<Session>, known: &HashMap<String, KnownSession>) {
        let changed = |session: &Session| {
            known.get(&session.id).is_none_or(|known| known.hash != session_hash(session))
        };
        self.sessions.extend(sessions.into_iter().filter(changed));
    }
}

/// Reads index and archive side by side: in a large archive both take long.
fn both<T: Send, U>(
    ours: impl FnOnce() -> Result<T> + Send,
    theirs: impl FnOnce() -> Result<U>,
) -> Result<(T, U)> {
    std::thread::scope(|scope| {
        let ours = scope.spawn(ours);
        let theirs = theirs();
        // Garbled files make it panic: whoever called tells what of.
        let ours = ours.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok((ours?, theirs?))
    })
}

/// A session that only its messages tell of.
pub(super) fn orphan(id: String) -> Session {
    Session { id, source: "unknown".to_owned(), orphan: true, ..Session::default() }
}

fn sums_of(sums: &[SessionSums], session: KnownSession) -> SessionSums {
    usize::try_from(session.ord).ok().and_then(|ord| sums.get(ord)).copied().unwrap_or_default()
}
