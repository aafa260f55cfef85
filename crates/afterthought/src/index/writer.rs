//! The one writer of an index. Documents become visible together with the checkpoint that says
//! what they stand for, or not at all. After any error the writer must be dropped: tantivy was
//! seen to lose documents silently behind a failed commit.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crossbeam_channel::{Receiver, Sender, unbounded};
use tantivy::index::SegmentId;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy, UserOperation};
use tantivy::{Directory, Index, IndexWriter, TantivyError, Term};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{
    MERGE_THREADS, WRITER_ARENA_BYTES, WRITER_ARENA_BYTES_SMALL, WRITER_BYTES_IN_FLIGHT_MAX, WRITER_THREADS,
};
use crate::model::{Checkpoint, Message, Session};

use super::budget::Budget;
use super::document::Doc;
use super::fields::Fields;
use super::storage::Fence;
use super::store::unwritten;

/// A merge is due when this share of a segment's documents is deleted: their text leaves the disk.
const DELETED_SHARE_MAX: f32 = 0.25;
/// Segments below this size count as one level, so that one-row commits do not pile up.
const SEGMENT_DOCS_SMALL: u32 = 1_000;
/// So many segments of one level become one: fewer would be rewritten more often, more make a search
/// look into more of them.
const SEGMENTS_MERGED_MIN: usize = 5;
/// How far the sizes in one level lie apart, as a power of two: nearly threefold. A build's commits come
/// further and further apart, and narrow levels would leave its segments lying.
const LEVEL_LOG_SIZE: f64 = 1.5;

/// The writer of one index; holds its lock until dropped.
///
/// Merges run beside it, when they are asked for: tantivy's own do not say when they have ended, and
/// whoever waits for them cannot write meanwhile.
pub struct Writer {
    /// Goes before the lock does, which `inner` holds.
    _fence: Fence,
    inner: IndexWriter<Doc>,
    index: Index,
    fields: Fields,
    budget: Budget,
    path: PathBuf,
    policy: LogMergePolicy,
    merges: Merges,
}

/// What a writer may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Threads that analyze text.
    pub(super) threads: usize,
    /// Memory of each before it writes a segment, in bytes.
    pub(super) arena_bytes: usize,
    /// Text on its way to them, in bytes.
    pub(super) in_flight_bytes: usize,
}

impl Size {
    pub(super) const FULL: Self = Self {
        threads: WRITER_THREADS,
        arena_bytes: WRITER_ARENA_BYTES,
        in_flight_bytes: WRITER_BYTES_IN_FLIGHT_MAX,
    };
    pub(super) const SMALL: Self = Self {
        threads: 1,
        arena_bytes: WRITER_ARENA_BYTES_SMALL,
        in_flight_bytes: WRITER_BYTES_IN_FLIGHT_MAX,
    };

    /// Cuts a budget: a fifth is for text on its way, the rest for arenas, of fewer threads where two
    /// would have less than tantivy takes. Never more than [`Size::FULL`], never less than one thread needs.
    pub(super) fn within(bytes: usize) -> Self {
        let arenas = bytes - bytes / 5;
        let threads = (arenas / WRITER_ARENA_BYTES_SMALL).clamp(1, WRITER_THREADS);
        Self {
            threads,
            arena_bytes: (arenas / threads).clamp(WRITER_ARENA_BYTES_SMALL, WRITER_ARENA_BYTES),
            in_flight_bytes: (bytes / 5).min(WRITER_BYTES_IN_FLIGHT_MAX),
        }
    }
}

/// The merges of one writer.
struct Merges {
    under_way: usize,
    /// Segments that are being merged, or could not be.
    taken: HashSet<SegmentId>,
    ended: (Sender<Merged>, Receiver<Merged>),
}

/// A merge that has ended.
pub struct Merged {
    segments: Vec<SegmentId>,
    succeeded: bool,
}

impl Writer {
    pub(super) fn open(
        (index, fields): (Index, Fields),
        fence: Fence,
        path: &Path,
        size: Size,
    ) -> Result<Self> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(size.threads)
            .memory_budget_per_thread(size.arena_bytes)
            .num_merge_threads(MERGE_THREADS)
            .build();
        let inner = index.writer_with_options(options).map_err(|error| unwritten(path, &error))?;
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(SEGMENTS_MERGED_MIN);
        policy.set_min_layer_size(SEGMENT_DOCS_SMALL);
        policy.set_level_log_size(LEVEL_LOG_SIZE);
        policy.set_del_docs_ratio_before_merge(DELETED_SHARE_MAX);
        inner.set_merge_policy(Box::new(NoMergePolicy));
        // A new writer numbers its operations from the last commit's own number on. A merge that runs
        // beside its first commit takes a delete of that number for one that was committed, and loses it.
        inner.run(std::iter::empty()).map_err(|error| unwritten(path, &error))?;
        // And what a writer that died left behind has the names that would be given again.
        inner.garbage_collect_files().wait().map_err(|error| unwritten(path, &error))?;
        let budget = Budget::new(size.in_flight_bytes);
        let merges = Merges { under_way: 0, taken: HashSet::new(), ended: unbounded() };
        Ok(Self { _fence: fence, inner, index, fields, budget, path: path.to_owned(), policy, merges })
    }

    /// Adds a message that the index does not hold. Waits while too much text is on its way.
    pub fn add_message(&mut self, session_ord: u64, message: Message, copy: bool) -> Result<()> {
        let permit = self.budget.take(message.text_bytes());
        let doc = Doc::message(self.fields, session_ord, message, copy, permit);
        let added = self.inner.add_document(doc);
        added.map(drop).map_err(|error| self.failed(error))
    }

    /// Removes a message.
    pub fn remove_message(&mut self, id: i64) {
        self.inner.delete_term(Term::from_field_i64(self.fields.key, id));
    }

    /// Writes a session's document in place of the one that was there.
    pub fn put_session(&mut self, session_ord: u64, session: Session) -> Result<()> {
        let old = self.fields.session_term(&session.id);
        let permit = self.budget.take(0);
        let doc = Doc::session(self.fields, session_ord, session, permit);
        // One operation: a session is never without its document, not even between two commits.
        let run = self.inner.run([UserOperation::Delete(old), UserOperation::Add(doc)]);
        run.map(drop).map_err(|error| self.failed(error))
    }

    /// Removes a session and all of its messages.
    pub fn remove_session(&mut self, session_ord: u64) {
        self.inner.delete_term(Term::from_field_u64(self.fields.session_ord, session_ord));
    }

    /// Publishes everything so far together with its checkpoint.
    pub fn commit(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let payload = serde_json::to_string(checkpoint).map_err(|error| {
            Error::new(ErrorKind::Internal, "write checkpoint of", self.path.display()).because(error)
        })?;
        let mut prepared = self.inner.prepare_commit().map_err(|error| unwritten(&self.path, &error))?;
        prepared.set_payload(&payload);
        prepared.commit().map_err(|error| unwritten(&self.path, &error))?;
        // tantivy renames meta.json last and does not sync the folder after that.
        self.index.directory().sync_directory().map_err(|error| unwritten(&self.path, &error.into()))
    }

    /// Starts the merges that are due, beside those under way. Returns whether any are now.
    pub fn merge(&mut self) -> Result<bool> {
        let mut segments =
            self.index.searchable_segment_metas().map_err(|error| unwritten(&self.path, &error))?;
        segments.retain(|segment| !self.merges.taken.contains(&segment.id()));
        for candidate in self.policy.compute_merge_candidates(&segments) {
            let segments = candidate.0;
            self.merges.taken.extend(&segments);
            let (merge, ended) = (self.inner.merge(&segments), self.merges.ended.0.clone());
            let wait = move || {
                let merged = merge.wait();
                if let Err(error) = &merged {
                    tracing::warn!(%error, "merging segments failed; the commit stands");
                }
                // The writer may have gone.
                let _gone = ended.send(Merged { segments, succeeded: merged.is_ok() });
            };
            std::thread::Builder::new().name("aft-merges".to_owned()).spawn(wait).map_err(|error| {
                Error::new(ErrorKind::Internal, "start", "a thread that waits for a merge").because(error)
            })?;
            self.merges.under_way += 1;
        }
        Ok(self.merges.under_way > 0)
    }

    /// Returns where the end of every merge is told. Each is to be passed to [`Writer::merged`].
    #[must_use]
    pub fn merges(&self) -> &Receiver<Merged> {
        &self.merges.ended.1
    }

    /// Takes note of a merge that has ended, and starts what is due then. Returns whether merges are
    /// under way.
    pub fn merged(&mut self, merged: &Merged) -> Result<bool> {
        self.merges.under_way -= 1;
        // One that failed would only fail again.
        if merged.succeeded {
            self.merges.taken.retain(|segment| !merged.segments.contains(segment));
        }
        self.merge()
    }

    /// Waits for merges under way and releases the lock.
    pub fn finish(mut self) -> Result<()> {
        while self.merges.under_way > 0 {
            let merged = self.merges().recv().expect("the sender lives as long as the writer");
            self.merged(&merged)?;
        }
        let path = self.path.clone();
        self.inner.wait_merging_threads().map_err(|error| unwritten(&path, &error))
    }

    fn failed(&mut self, error: TantivyError) -> Error {
        // That an indexing thread has ended is all that is said; why, the thread itself knows.
        let cause = match error {
            TantivyError::ErrorInThread(_) => self.inner.prepare_commit().err().unwrap_or(error),
            error => error,
        };
        unwritten(&self.path, &cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Store;

    #[test]
    fn a_budget_is_cut_into_arenas_and_never_passed() {
        let least = crate::limits::WRITER_BYTES_MIN;
        for bytes in [least, 2 * least - 1, 2 * least, 100_000_000, crate::limits::WRITER_BYTES_MAX] {
            let Size { threads, arena_bytes, in_flight_bytes } = Size::within(bytes);
            assert!(threads * arena_bytes + in_flight_bytes <= bytes, "{bytes}");
            assert!(arena_bytes >= WRITER_ARENA_BYTES_SMALL, "{bytes}");
        }
        assert_eq!((Size::within(least).threads, Size::within(2 * least).threads), (1, 2));
    }

    #[test]
    fn no_operation_has_the_number_of_the_commit_before() {
        let store = Store::in_memory().expect("an index");
        for id in 0..3 {
            let mut writer = store.writer().expect("the lock");
            let committed = writer.index.load_metas().expect("a commit").opstamp;
            let deleted = writer.inner.delete_term(Term::from_field_i64(writer.fields.key, id));
            assert!(deleted > committed, "{deleted} follows {committed}");
            writer.commit(&Checkpoint::default()).expect("a commit");
        }
    }
}
