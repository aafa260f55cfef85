//! Carries out one sync: compare, lock, read what differs in bounded batches, commit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, never};
use parking_lot::Mutex;

use crate::archive::{Archive, Stamp};
use crate::error::{ErrorKind, Result};
use crate::index::{FORMAT, Folder, KnownSession, Merged, Snapshot, Store, Writer};
use crate::limits::{
    BATCH_BYTES_MAX, BATCH_ROWS_MAX, COMMIT_AGE_MS_MAX, COMMIT_AGE_MS_MIN, COMMIT_FIRST_MS_MAX,
};
use crate::model::{Checkpoint, Message, SyncStats};
use crate::text;
use crate::time::now_ms;

use super::copies::RowChanges;
use super::edits::edits;
use super::note::Note;
use super::pace::Pace;
use super::plan::{Differing, Plan};
use super::{Level, Progress, Stop, SyncReport};

/// What the writer thread works with.
pub(super) struct Syncer {
    archive: Archive,
    store: Store,
    folder: Folder,
    pace: Pace,
    stop: Arc<Stop>,
    progress: Arc<Mutex<Option<Progress>>>,
    /// The writer of the last sync, as long as its merges run.
    merging: Option<Writer>,
}

/// A comparison, and what it was made on.
struct Compared {
    plan: Plan,
    full: bool,
    /// What every row says is as indexed once the plan is carried out.
    audited: bool,
    stamp: Stamp,
    stamped_ms: i64,
    took_ms: u64,
}

impl Compared {
    /// Rows came and went again: nothing differs, and still the tail begins elsewhere.
    fn id_max_moved(&self, snapshot: &Snapshot) -> bool {
        self.plan.id_max > snapshot.checkpoint().id_max
    }
}

impl Syncer {
    pub(super) fn new(
        archive: Archive,
        store: Store,
        folder: Folder,
        pace: Pace,
        stop: Arc<Stop>,
        progress: Arc<Mutex<Option<Progress>>>,
    ) -> Self {
        Self { archive, store, folder, pace, stop, progress, merging: None }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Brings the index up to date. Fails if the archive cannot be read, or if another process
    /// holds the writer lock and there is something to write.
    pub(super) fn sync(&mut self, level: Level) -> Result<SyncReport> {
        let synced = self.sync_open(level);
        *self.progress.lock() = None;
        synced
    }

    /// Returns where the end of the next merge is told; nowhere, if none is under way.
    pub(super) fn merges(&self) -> Receiver<Merged> {
        self.merging.as_ref().map_or_else(never, |writer| writer.merges().clone())
    }

    /// Takes note of a merge that has ended. After the last one the lock is free.
    pub(super) fn merged(&mut self, merged: &Merged) {
        if let Some(mut writer) = self.merging.take() {
            let more = writer.merged(merged);
            self.keep_while(writer, more);
        }
    }

    /// Waits for the merges under way.
    pub(super) fn finish(self) -> Result<()> {
        self.merging.map_or(Ok(()), Writer::finish)
    }

    fn keep_while(&mut self, writer: Writer, is_merging: Result<bool>) {
        match is_merging {
            Ok(true) => self.merging = Some(writer),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "merging segments failed; the commit stands"),
        }
    }

    fn sync_open(&mut self, level: Level) -> Result<SyncReport> {
        let snapshot = self.store.snapshot()?;
        let Some(compared) = self.compare(level, &snapshot)? else {
            return Ok(SyncReport { unchanged: true, ..SyncReport::default() });
        };
        if compared.plan.is_empty() && snapshot.checkpoint().complete && !compared.id_max_moved(&snapshot) {
            self.note(&compared, snapshot.checkpoint());
            let stats = SyncStats { rows_sampled: compared.plan.rows_sampled, ..SyncStats::default() };
            return Ok(SyncReport { stats, ..SyncReport::default() });
        }
        let mut writer = match self.merging.take() {
            Some(writer) => writer,
            None => self.store.writer()?,
        };
        // Another process may have committed before we got the lock: compare with that commit.
        let locked = self.store.snapshot()?;
        let mut compared = if locked.checkpoint() == snapshot.checkpoint() {
            compared
        } else {
            match self.compare(level.max(Level::Full), &locked)? {
                Some(compared) => compared,
                None => return Ok(SyncReport::default()),
            }
        };
        let mut work = Work::new(&locked, &mut compared.plan);
        let interrupted = self.carry_out(&compared.plan, &locked, &mut writer, &mut work)?;
        if !interrupted {
            work.checkpoint.id_max = compared.plan.id_max;
            work.checkpoint.complete |= compared.full;
        }
        work.commit(&mut writer)?;
        if !interrupted {
            self.note(&compared, &work.checkpoint);
            if compared.full
                && let Err(error) = self.folder.prune()
            {
                tracing::warn!(%error, "an older generation of the index stays on disk");
            }
        }
        // The answer never waits for a merge, and a stopped sync drops its merges: they are redone.
        if !interrupted {
            let is_merging = writer.merge();
            self.keep_while(writer, is_merging);
        }
        Ok(SyncReport { stats: work.stats, unchanged: false, interrupted })
    }

    /// Compares as closely as the level and the last check ask for; `None` if nothing can differ.
    fn compare(&mut self, level: Level, snapshot: &Snapshot) -> Result<Option<Compared>> {
        let note = Note::read(&self.store.note());
        let (stamp, stamped_ms) = (self.archive.stamp()?, now_ms());
        let known = note.filter(|note| note.committed_ms == snapshot.checkpoint().committed_ms);
        let same = known.as_ref().is_some_and(|note| note.still_true(&stamp, snapshot.checkpoint()));
        // Another file under the path may differ anywhere, and hold other rows under the same ids.
        let is_other_file = known.as_ref().is_some_and(|note| !note.stamp.same_file(&stamp));
        let level = if is_other_file { Level::Deep } else { level };
        let due = known.as_ref().is_none_or(|note| note.comparison_due(now_ms()));
        // A look at new rows alone took note of the stamp, and left open what the others say.
        let is_changed = known.as_ref().is_none_or(|note| note.stamp != stamp || !note.full);
        let full = level != Level::Quick || !snapshot.checkpoint().complete || due;
        // Of files that nobody wrote to, what was compared once is known.
        let is_compared = known.as_ref().is_some_and(|note| note.full);
        if same && level != Level::Deep && (is_compared || !full) {
            return Ok(None);
        }
        let began = Instant::now();
        let seed = stamped_ms.unsigned_abs();
        let plan = self.archive.read(|view| match (full, level) {
            (true, Level::Deep) => Plan::full(view, snapshot, true),
            (true, _) if is_changed => Plan::full_with_sample(view, snapshot, seed),
            (true, _) => Plan::full(view, snapshot, false),
            (false, _) => Plan::tail(view, snapshot),
        })?;
        let took_ms = millis(began);
        let audited = plan.deep || snapshot.segments() == 0;
        Ok(Some(Compared { plan, full, audited, stamp, stamped_ms, took_ms }))
    }

    /// Does the plan's work. Returns whether the caller stopped it half-way.
    fn carry_out(
        &mut self,
        plan: &Plan,
        snapshot: &Snapshot,
        writer: &mut Writer,
        work: &mut Work,
    ) -> Result<bool> {
        let rows_total = plan.differing.iter().map(|session| session.rows).sum();
        *self.progress.lock() =
            Some(Progress { rows_total, rows_done: 0, text_bytes: 0, since: Instant::now() });
        for session in &plan.sessions {
            writer.put_session(work.ord(&session.id), session.clone())?;
            work.stats.sessions_written += 1;
        }
        for ord in &plan.gone {
            self.forget_kept(work)?;
            work.stats.docs_removed += snapshot.rows_of(*ord)?.len() as u64;
            writer.remove_session(*ord);
        }
        for group in groups(&plan.differing) {
            if self.sync_group(group, snapshot, writer, work)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Brings the rows of a few sessions up to date. Returns whether the caller stopped it.
    fn sync_group(
        &mut self,
        group: &[Differing],
        snapshot: &Snapshot,
        writer: &mut Writer,
        work: &mut Work,
    ) -> Result<bool> {
        let ords: Vec<Option<u64>> = group
            .iter()
            .map(|session| work.indexed.get(&session.session_id).map(|known| known.ord))
            .collect();
        let edited = if work.deep { self.edited(&ords, snapshot, work)? } else { HashSet::new() };
        if !edited.is_empty() {
            self.forget_kept(work)?;
        }
        let changes = self.archive.read(|view| {
            let changes = group
                .iter()
                .zip(&ords)
                .map(|(session, ord)| RowChanges::of(view, snapshot, &session.raw_ids, *ord, &edited));
            changes.collect::<Result<Vec<_>>>()
        })?;
        if self.stop.is_set() {
            return Ok(true);
        }
        let mut rows = Vec::new();
        for (session, changes) in group.iter().zip(changes) {
            let ord = work.ord(&session.session_id);
            // A row that another session holds now was written under it: it is not gone.
            for id in changes.gone {
                if !work.written.contains(&id) {
                    self.forget_kept(work)?;
                    writer.remove_message(id);
                    work.stats.docs_removed += 1;
                }
            }
            work.stats.rows_read += changes.rows_read;
            // A session without messages is kept only for a row of its own.
            if changes.empty && session.without_row {
                writer.remove_session(ord);
            }
            rows.extend(changes.write.into_iter().map(|(id, copy)| Row { id, session_ord: ord, copy }));
        }
        let stopped = self.write_rows(&rows, snapshot, writer, work)?;
        self.advance(group.iter().map(|session| session.rows).sum::<u64>(), rows.len());
        Ok(stopped)
    }

    /// Finds the indexed rows of some sessions that no longer say what was indexed; some of them when
    /// it is stopped.
    fn edited(&self, ords: &[Option<u64>], snapshot: &Snapshot, work: &mut Work) -> Result<HashSet<i64>> {
        let mut edited = HashSet::new();
        for ord in ords.iter().flatten() {
            for marks in snapshot.texts_of(*ord)?.chunks(BATCH_ROWS_MAX) {
                if self.stop.is_set() {
                    return Ok(edited);
                }
                let edits = edits(&self.archive, marks)?;
                edited.extend(edits.found.into_iter().map(|(id, _)| id));
                work.stats.rows_read += edits.rows_read;
                self.pace.wait(edits.text_bytes, || self.stop.is_set());
            }
        }
        Ok(edited)
    }

    /// What leaves the archive leaves the generations that are kept beside the live one too. Fails as locked
    /// while another process keeps them: the next sync, which finds the same rows gone, tries again.
    fn forget_kept(&self, work: &mut Work) -> Result<()> {
        if !work.forgot {
            match self.folder.forget_kept() {
                Err(error) if error.kind() == ErrorKind::IndexLocked => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "an older generation of the index still holds what was deleted");
                }
                Ok(()) => {}
            }
        }
        work.forgot = true;
        Ok(())
    }

    /// Reads and writes rows in bounded batches. Returns whether the caller stopped it.
    fn write_rows(
        &mut self,
        rows: &[Row],
        snapshot: &Snapshot,
        writer: &mut Writer,
        work: &mut Work,
    ) -> Result<bool> {
        let mut rest = rows;
        loop {
            if self.stop.is_set() {
                return Ok(true);
            }
            if rest.is_empty() {
                return Ok(false);
            }
            let (messages, taken) = self.archive.read(|view| {
                let mut messages = Vec::new();
                let mut bytes = 0;
                let mut taken = 0;
                for row in rest.iter().take(BATCH_ROWS_MAX) {
                    taken += 1;
                    // A row that vanished since the comparison is the next sync's business.
                    if let Some(message) = view.message(row.id)? {
                        bytes += message.text_bytes();
                        messages.push((*row, message));
                    }
                    if bytes >= BATCH_BYTES_MAX {
                        break;
                    }
                }
                Ok((messages, taken))
            })?;
            let read = work.add(messages, snapshot, writer, &self.progress)?;
            // No lock of the archive is held here.
            self.pace.wait(read, || self.stop.is_set());
            rest = &rest[taken..];
            if work.commit_due() {
                work.commit(writer)?;
                while let Ok(merged) = writer.merges().try_recv() {
                    writer.merged(&merged)?;
                }
                writer.merge()?;
            }
        }
    }

    fn advance(&self, session_rows: u64, written: usize) {
        if let Some(progress) = self.progress.lock().as_mut() {
            // Rows that were right already count as done with their session.
            progress.rows_done += session_rows.saturating_sub(written as u64);
        }
    }

    fn note(&self, compared: &Compared, checkpoint: &Checkpoint) {
        let path = self.store.note();
        let before = Note::read(&path);
        let audited_before = before.as_ref().map_or(0, |before| before.audited_ms);
        let (compared_ms, compare_took_ms) = match before {
            Some(before) if !compared.full => (before.compared_ms, before.compare_took_ms),
            _ => (compared.stamped_ms, compared.took_ms),
        };
        let audited_ms = if compared.audited { compared.stamped_ms } else { audited_before };
        let note = Note {
            stamp: compared.stamp.clone(),
            stamped_ms: compared.stamped_ms,
            committed_ms: checkpoint.committed_ms,
            compared_ms,
            compare_took_ms,
            full: compared.full,
            audited_ms,
        };
        note.write(&path);
    }
}

/// One row to write.
#[derive(Clone, Copy)]
struct Row {
    id: i64,
    session_ord: u64,
    copy: bool,
}

/// The state of a sync under way.
struct Work {
    checkpoint: Checkpoint,
    indexed: HashMap<String, KnownSession>,
    /// Rows that are indexed already are read and compared too.
    deep: bool,
    /// Something left the archive, and the generations beside the live one.
    forgot: bool,
    new_ords: HashMap<String, u64>,
    /// Ids written by this sync, where the index held something before it.
    written: HashSet<i64>,
    stats: SyncStats,
    began: Instant,
    committed: Instant,
}

impl Work {
    fn new(snapshot: &Snapshot, plan: &mut Plan) -> Self {
        let mut checkpoint = snapshot.checkpoint().clone();
        checkpoint.format = FORMAT;
        text::FINGERPRINT.clone_into(&mut checkpoint.analyzer);
        Self {
            checkpoint,
            indexed: std::mem::take(&mut plan.known),
            deep: plan.deep,
            forgot: false,
            new_ords: HashMap::new(),
            written: HashSet::new(),
            stats: SyncStats { rows_sampled: plan.rows_sampled, ..SyncStats::default() },
            began: Instant::now(),
            committed: Instant::now(),
        }
    }

    /// Returns a session's number, a new one for a new session.
    fn ord(&mut self, session_id: &str) -> u64 {
        if let Some(known) = self.indexed.get(session_id) {
            return known.ord;
        }
        let next = &mut self.checkpoint.session_next;
        *self.new_ords.entry(session_id.to_owned()).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    /// Hands messages to the writer. Returns the bytes of their text.
    fn add(
        &mut self,
        messages: Vec<(Row, Message)>,
        snapshot: &Snapshot,
        writer: &mut Writer,
        progress: &Mutex<Option<Progress>>,
    ) -> Result<u64> {
        let mut bytes = 0;
        let count = messages.len() as u64;
        for (row, message) in messages {
            bytes += message.text_bytes() as u64;
            self.stats.rows_damaged += u64::from(message.damaged);
            // Next to its add, so that no commit falls between the two; whichever session held it.
            if snapshot.has_message(message.id)? {
                writer.remove_message(message.id);
                self.stats.docs_removed += 1;
            }
            if snapshot.segments() > 0 {
                self.written.insert(message.id);
            }
            writer.add_message(row.session_ord, message, row.copy)?;
        }
        self.stats.rows_read += count;
        self.stats.docs_added += count;
        self.stats.text_bytes += bytes;
        if let Some(progress) = progress.lock().as_mut() {
            progress.rows_done += count;
            progress.text_bytes += bytes;
        }
        Ok(bytes)
    }

    /// Tells whether to commit. Every commit cuts the segments under way, and merges put them together
    /// again: a long build commits seldom, and still loses a third of its work at most.
    fn commit_due(&self) -> bool {
        if self.checkpoint.committed_ms == 0 {
            return self.committed.elapsed().as_millis() >= COMMIT_FIRST_MS_MAX;
        }
        let age_max =
            ((self.committed - self.began).as_millis() / 2).clamp(COMMIT_AGE_MS_MIN, COMMIT_AGE_MS_MAX);
        self.committed.elapsed().as_millis() >= age_max
    }

    fn commit(&mut self, writer: &mut Writer) -> Result<()> {
        // Two commits never carry the same time: the note tells them apart by it.
        self.checkpoint.committed_ms = now_ms().max(self.checkpoint.committed_ms + 1);
        writer.commit(&self.checkpoint)?;
        self.stats.commits += 1;
        self.committed = Instant::now();
        Ok(())
    }
}

/// Cuts the sessions into groups of about one batch of rows, each of at least one session.
fn groups(sessions: &[Differing]) -> Vec<&[Differing]> {
    let mut groups = Vec::new();
    let (mut start, mut rows) = (0, 0);
    for (index, session) in sessions.iter().enumerate() {
        if index > start && rows + session.rows > BATCH_ROWS_MAX as u64 {
            groups.push(&sessions[start..index]);
            (start, rows) = (index, 0);
        }
        rows += session.rows;
    }
    if start < sessions.len() {
        groups.push(&sessions[start..]);
    }
    groups
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
