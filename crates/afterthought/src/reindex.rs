//! Builds an index anew beside the live one, proves it, and swaps the two. The live index answers
//! and follows the archive meanwhile; nothing that fails here touches it.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

use crate::archive::Archive;
use crate::engine::Options;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Folder, Stage, Store};
use crate::limits::{REINDEX_ROUNDS_MAX, WRITER_BYTES_MAX};
use crate::mirror::{Depth, Level, Listener, Mirror, Pace, Progress, Verdict, verify};
use crate::model::SyncStats;
use crate::time::now_ms;

/// A rebuild under way.
///
/// One at a time for an index. Dropped or killed at any moment, it leaves the live index as it was;
/// the next rebuild goes on where this one was.
pub struct Reindex {
    archive: Archive,
    folder: Folder,
    store: Store,
    stage: Stage,
    mirror: Mirror,
    stopped: AtomicBool,
    /// Held for as long as this lives.
    _lock: File,
}

/// What a rebuild may take.
#[derive(Clone, Debug)]
pub struct Means {
    /// Memory of its writer in bytes: arenas, and text on its way to them.
    pub writer_bytes: usize,
    /// How fast it reads text. Clones are one pace.
    pub pace: Pace,
}

impl Default for Means {
    fn default() -> Self {
        Self { writer_bytes: WRITER_BYTES_MAX, pace: Pace::default() }
    }
}

/// What a roll back did.
#[derive(Clone, Debug, Serialize)]
pub struct RolledBack {
    /// The archive's path.
    pub archive: String,
    /// The generation that answers now.
    pub index_folder: String,
    /// Messages in it. Rows that came since it was live are the next sync's.
    pub index_rows: u64,
    /// Its size, in bytes.
    pub index_bytes: u64,
    /// The generation that was live before, kept in its place; going back again makes it live. `None` if the
    /// live one could not be named.
    pub previous_folder: Option<String>,
}

/// Makes the generation before the live one live again, after every file of it was checked. What came since
/// is taken in by the next sync, which compares all rows. Fails if none is kept, if it is damaged or of
/// another version, or as locked while another process rebuilds there; then the live one stays. Costs one
/// pass over its files.
pub fn roll_back(options: &Options) -> Result<RolledBack> {
    let archive = options.archive()?;
    let folder = options.folder(&archive);
    if folder.previous()?.is_none() {
        return Err(folder.nothing_previous());
    }
    let lock = folder.lock_stage()?;
    let back = folder.previous()?.ok_or_else(|| folder.nothing_previous())?;
    let store = Store::open_at(&folder, &back)?;
    store.check_files()?;
    // What it was last compared with tells nothing of the time since.
    match std::fs::remove_file(store.note()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::new(ErrorKind::IndexUnavailable, "roll back index", back.display())
                .because(error)
                .hint("check the folder's permissions"));
        }
        _ => {}
    }
    folder.swap_back(&lock)?;
    Ok(RolledBack {
        archive: archive.path().display().to_string(),
        index_folder: back.display().to_string(),
        index_rows: store.snapshot()?.rows()?,
        index_bytes: store.bytes(),
        previous_folder: folder.previous()?.map(|path| path.display().to_string()),
    })
}

/// How a rebuild ended.
#[derive(Debug)]
pub enum Outcome {
    /// The new index answers.
    Swapped(Reindexed),
    /// The caller stopped it; the next rebuild goes on.
    Stopped,
    /// It never came to equal the archive, and was not swapped in.
    Drifted(Verdict),
}

/// What a rebuild did.
#[derive(Clone, Debug, Serialize)]
pub struct Reindexed {
    /// The archive's path.
    pub archive: String,
    /// The work of this run; fewer rows written than there are where it went on with one that was
    /// stopped.
    pub work: SyncStats,
    /// Message rows in the archive when the new index was proven.
    pub archive_rows: u64,
    /// Messages in the new index. Rows that were added during the proof are the next sync's.
    pub index_rows: u64,
    /// Sessions whose row sets were compared one by one.
    pub sessions_compared: u64,
    /// The new generation.
    pub index_folder: String,
    /// Its size, in bytes.
    pub index_bytes: u64,
    /// The generation that was live before, kept until the next rebuild.
    pub previous_folder: Option<String>,
}

impl Reindex {
    /// Opens the archive, and a generation beside the live one: the one that an earlier rebuild left
    /// unfinished, or an empty one. The live index itself is not opened; it may be damaged or of
    /// another version. Fails as locked while another process rebuilds there.
    pub fn start(options: &Options) -> Result<Self> {
        Self::within(options, &Means::default())
    }

    /// The same with a bound on its memory and its pace.
    pub fn within(options: &Options, means: &Means) -> Result<Self> {
        let archive = options.archive()?;
        archive.read(|_| Ok(()))?;
        let folder = options.folder(&archive);
        let lock = folder.lock_stage()?;
        let (store, stage) = Store::stage(&folder, now_ms())?;
        let store = store.with_writer_bytes(means.writer_bytes);
        let (listener, pace) = (Listener::default(), means.pace.clone());
        let mirror = Mirror::start(archive.clone(), store.clone(), &folder, listener, pace)?;
        Ok(Self { archive, folder, store, stage, mirror, stopped: AtomicBool::new(false), _lock: lock })
    }

    /// Builds, proves and swaps. `watch` is called about ten times a second while rows are read.
    ///
    /// The proof is that row sets are equal in one state of the archive, session by session, but for
    /// what any search takes in by itself, and that every file matches its checksum. Costs a first
    /// build, and needs as much disk again as the index has. Fails if the archive cannot be read or
    /// the new index cannot be written.
    pub fn run(self, mut watch: impl FnMut(&Self, Option<Progress>)) -> Result<Outcome> {
        let mut work = SyncStats::default();
        let mut last = Verdict::default();
        for round in 0..REINDEX_ROUNDS_MAX {
            // What an earlier run committed may have been edited in place since.
            let deep = round == 0 && self.stage == Stage::GoneOnWith;
            let level = if deep { Level::Deep } else { Level::Full };
            let synced = self.mirror.freshen(level, Duration::MAX, |progress| watch(&self, progress))?;
            work += synced.ended()?.stats;
            watch(&self, None);
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(Outcome::Stopped);
            }
            // The second round waits for the merges of the first, and takes in what came meanwhile.
            if round == 0 {
                continue;
            }
            last = verify(&self.archive, &self.store.snapshot()?, Depth::Rows)?;
            if last.only_newer() {
                return self.swap(work, &last);
            }
        }
        Ok(Outcome::Drifted(last))
    }

    /// Returns the generation that is being built. Once it is the live one, it was proven and swapped in.
    #[must_use]
    pub fn generation(&self) -> &Path {
        self.store.path()
    }

    /// Asks a run to commit what it has and end.
    pub fn interrupt(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.mirror.interrupt();
    }

    fn swap(self, work: SyncStats, verdict: &Verdict) -> Result<Outcome> {
        // Its merges end here: every file is checked as it will stay, and the lock is free for others.
        drop(self.mirror);
        self.store.check_files()?;
        let previous = self.folder.swap()?;
        Ok(Outcome::Swapped(Reindexed {
            archive: self.archive.path().display().to_string(),
            work,
            archive_rows: verdict.archive_rows,
            index_rows: verdict.index_rows,
            sessions_compared: verdict.sessions_compared,
            index_folder: self.store.path().display().to_string(),
            index_bytes: self.store.bytes(),
            previous_folder: previous.map(|path| path.display().to_string()),
        }))
    }
}
