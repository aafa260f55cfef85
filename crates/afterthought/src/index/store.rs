//! Opens the live generation of an index, or creates one, and tells what is wrong with it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tantivy::directory::META_LOCK;
use tantivy::directory::error::{LockError, OpenReadError, OpenWriteError};
use tantivy::{Directory, Index, IndexReader, IndexSettings, ReloadPolicy, Searcher, TantivyError};

use crate::error::{Error, ErrorKind, Result, quoted};
use crate::limits::STAGE_AGE_S_MAX;
use crate::model::Checkpoint;
use crate::text;

use super::fields::{FORMAT, Fields};
use super::folder::Folder;
use super::snapshot::{Opened, Snapshot};
use super::storage::{InMemory, Place, Storage};
use super::tokenizer::{AgentTokenizer, TOKENIZER};
use super::writer::{Size, Writer};

/// May we write there?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Yes.
    ReadWrite,
    /// The folder can only be read; what is there is still searched.
    ReadOnly,
}

/// Whether a generation to build into holds anything yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is empty.
    New,
    /// It holds what an earlier build committed, as the archive was then.
    GoneOnWith,
}

/// Commits that may fall between the two halves of opening one snapshot.
const SNAPSHOT_ATTEMPTS_MAX: usize = 100;
/// Times that an index is opened without a lock before what is wrong with it counts.
const LOOKS_MAX: usize = 5;
/// Commits of others that may fall between opening an index and taking its lock.
const WRITER_ATTEMPTS_MAX: usize = 10;

/// What is being done where an index is read.
const OPEN: &str = "open index";

const GARBLED: &str = "the bytes of a file are not what was written";

/// What was last found true without a commit; see the mirror.
const NOTE: &str = "checked.json";

/// What was read of the last searcher, by the searcher's generation.
type OpenedLast = Option<(u64, Arc<Opened>)>;

/// One open generation of an index.
#[derive(Clone)]
pub struct Store {
    path: PathBuf,
    place: Place,
    index: Index,
    reader: IndexReader,
    fields: Fields,
    access: Access,
    /// What its writer may take.
    size: Size,
    /// What was read of the searcher that the reader has open.
    opened: Arc<Mutex<OpenedLast>>,
}

impl Store {
    /// Opens the live generation; `None` if there is none. Fails if another version wrote it, or
    /// if its files contradict each other.
    pub fn open(folder: &Folder) -> Result<Option<Self>> {
        folder.live()?.map(|path| Self::open_at(folder, &path)).transpose()
    }

    /// Opens one generation. Fails if another version wrote it, or if its files contradict each other.
    pub(crate) fn open_at(folder: &Folder, path: &Path) -> Result<Self> {
        if !path.is_dir() {
            return Err(damaged(path, "its pointer names a generation that is not there"));
        }
        catch_unwind(AssertUnwindSafe(|| Self::open_files(folder, path)))
            .unwrap_or_else(|_| Err(damaged(path, GARBLED)))
    }

    /// Opens one generation to look at it: makes no lock file, takes no lock, and writes nothing. Fails as
    /// [`Store::open`] does, and as damaged if others commit all the while.
    pub fn look_at(folder: &Folder, path: &Path) -> Result<Self> {
        let look = || {
            let place = folder.open(path).map_err(|error| sorted(path, &error.into()))?;
            let store = Self::over(path, place.read_only(), Access::ReadOnly)?;
            store.snapshot().map(|_| store)
        };
        // Without a lock, files of an earlier commit may go while it is being opened.
        let mut looked = Err(damaged(path, GARBLED));
        for _ in 0..LOOKS_MAX {
            looked = catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(|_| Err(damaged(path, GARBLED)));
            if !matches!(&looked, Err(error) if error.kind() == ErrorKind::IndexDamaged) {
                break;
            }
        }
        looked
    }

    fn open_files(folder: &Folder, path: &Path) -> Result<Self> {
        let place = folder.open(path).map_err(|error| sorted(path, &error.into()))?;
        let store = match Self::over(path, place.clone(), Access::ReadWrite) {
            Err(error) if error.kind() == ErrorKind::IndexUnavailable => {
                Self::over(path, place.read_only(), Access::ReadOnly)?
            }
            other => other?,
        };
        store.snapshot()?;
        Ok(store)
    }

    /// Opens the live generation, or creates the first one.
    pub fn open_or_create(folder: &Folder) -> Result<Self> {
        if let Some(store) = Self::open(folder)? {
            return Ok(store);
        }
        let _lock = folder.lock()?;
        match Self::open(folder)? {
            Some(store) => Ok(store),
            None => Self::create_live(folder),
        }
    }

    /// Replaces a live generation that another version wrote by an empty one. What was live stays on
    /// disk until [`Folder::prune`].
    pub fn start_over(folder: &Folder) -> Result<Self> {
        let _lock = folder.lock()?;
        match Self::open(folder) {
            // Another process may have replaced it while we waited for the lock.
            Ok(Some(store)) => Ok(store),
            Err(error) if error.kind() != ErrorKind::IndexIncompatible => Err(error),
            Ok(None) | Err(_) => Self::create_live(folder),
        }
    }

    /// Opens the generation that is being built beside the live one, or creates it. One that was left
    /// unfinished is gone on with, unless another version wrote it, it is damaged, or its last commit
    /// is older than [`STAGE_AGE_S_MAX`].
    pub fn stage(folder: &Folder, now_ms: i64) -> Result<(Self, Stage)> {
        let _lock = folder.lock()?;
        let live = folder.live().ok().flatten();
        // A swap that was cut off leaves the pointer to what is live by now.
        let left = folder.staged().ok().flatten().filter(|path| Some(path) != live.as_ref());
        let left = match left.map(|path| Self::open_at(folder, &path)).transpose() {
            // It is whole, and somebody holds it: nothing is thrown away for that.
            Err(error) if error.kind() == ErrorKind::IndexLocked => return Err(error),
            other => other.ok().flatten(),
        };
        if let Some(store) = left
            && now_ms - store.snapshot()?.checkpoint().committed_ms < STAGE_AGE_S_MAX * 1_000
        {
            return Ok((store, Stage::GoneOnWith));
        }
        let store = Self::create(folder)?;
        folder.stage(&store.path)?;
        // What stood there before is of no use now, and there may be one for every build that failed.
        folder.prune_locked()?;
        Ok((store, Stage::New))
    }

    /// Creates an index that lives in memory and goes with this handle.
    pub fn in_memory() -> Result<Self> {
        let (path, storage): (_, Arc<dyn Storage>) =
            (Path::new("(in memory)"), Arc::new(InMemory::default()));
        let place = Place::open(&storage, path).map_err(|error| sorted(path, &error.into()))?;
        Self::create_in(path, place)
    }

    fn create_live(folder: &Folder) -> Result<Self> {
        let store = Self::create(folder)?;
        folder.make_live(&store.path)?;
        Ok(store)
    }

    fn create(folder: &Folder) -> Result<Self> {
        let path = folder.new_generation()?;
        let place = folder.open(&path).map_err(|error| sorted(&path, &error.into()))?;
        Self::create_in(&path, place)
    }

    fn create_in(path: &Path, place: Place) -> Result<Self> {
        let (schema, _) = Fields::build();
        Index::create(place.clone(), schema, IndexSettings::default())
            .map_err(|error| sorted(path, &error))?;
        // No pointer may name an index that a power cut takes away.
        place.sync_directory().map_err(|error| sorted(path, &error.into()))?;
        Self::over(path, place, Access::ReadWrite)
    }

    fn over(path: &Path, place: Place, access: Access) -> Result<Self> {
        let (index, fields) = open_index(path, place.clone())?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .map_err(|error| sorted(path, &error))?;
        let opened = Arc::new(Mutex::new(None));
        let (path, size) = (path.to_owned(), Size::FULL);
        Ok(Self { path, place, index, reader, fields, access, size, opened })
    }

    /// Keeps the memory of its writer within a number of bytes, [`WRITER_BYTES_MIN`] at least.
    ///
    /// [`WRITER_BYTES_MIN`]: crate::limits::WRITER_BYTES_MIN
    #[must_use]
    pub fn with_writer_bytes(self, bytes: usize) -> Self {
        Self { size: Size::within(bytes), ..self }
    }

    /// Returns what was read of a searcher before, while it is the same.
    fn opened_of(&self, searcher: &Searcher) -> Arc<Opened> {
        let generation = searcher.generation().generation_id();
        let mut kept = self.opened.lock();
        let opened = kept.take().filter(|(of, _)| *of == generation);
        let opened = opened.map_or_else(|| Arc::new(Opened::of(searcher)), |(_, opened)| opened);
        *kept = Some((generation, Arc::clone(&opened)));
        opened
    }

    /// Returns the newest commit, with its checkpoint.
    pub fn snapshot(&self) -> Result<Snapshot> {
        // Opening segments costs more than most searches, so what is open is kept while it is the last
        // commit. Another process may commit between the two reads: take both until they agree.
        for _ in 0..SNAPSHOT_ATTEMPTS_MAX {
            let searcher = self.reader.searcher();
            let metas = self.index.load_metas().map_err(|error| sorted(&self.path, &error))?;
            let agree = metas.segments.len() == searcher.segment_readers().len()
                && metas.segments.iter().all(|meta| {
                    searcher.generation().segments().get(&meta.id()) == Some(&meta.delete_opstamp())
                });
            if agree {
                if metas.payload.is_none() && !metas.segments.is_empty() {
                    return Err(damaged(&self.path, "it holds documents and no word of what they stand for"));
                }
                let checkpoint = self.checkpoint(metas.payload.as_deref())?;
                let opened = self.opened_of(&searcher);
                return Ok(Snapshot::new(searcher, self.fields, checkpoint, opened));
            }
            self.reader.reload().map_err(|error| sorted(&self.path, &error))?;
        }
        Err(Error::new(ErrorKind::IndexDamaged, "open index", self.path.display())
            .because("its segments never agreed with its commit")
            .hint("run: aft reindex"))
    }

    fn checkpoint(&self, payload: Option<&str>) -> Result<Checkpoint> {
        let Some(payload) = payload else {
            return Ok(Checkpoint {
                format: FORMAT,
                analyzer: text::FINGERPRINT.to_owned(),
                ..Checkpoint::default()
            });
        };
        let checkpoint: Checkpoint =
            serde_json::from_str(payload).map_err(|error| damaged(&self.path, &error.to_string()))?;
        if checkpoint.format != FORMAT {
            return Err(incompatible(
                &self.path,
                &format!("its format is {}, ours is {FORMAT}", checkpoint.format),
            ));
        }
        if checkpoint.analyzer != text::FINGERPRINT {
            return Err(incompatible(
                &self.path,
                &format!("its text was analyzed as {}, ours is {}", checkpoint.analyzer, text::FINGERPRINT),
            ));
        }
        Ok(checkpoint)
    }

    /// Takes the writer lock. Fails with `index-locked` if another process or thread holds it.
    pub fn writer(&self) -> Result<Writer> {
        if self.access == Access::ReadOnly {
            return Err(Error::new(ErrorKind::IndexUnavailable, "write index", self.path.display())
                .because("the folder can only be read")
                .hint("name another folder with --index"));
        }
        // tantivy lists the files it may delete when an index is opened: one that was open while another
        // process committed would leave that one's files for ever.
        for _ in 0..WRITER_ATTEMPTS_MAX {
            let (place, fence) = self.place.for_writer();
            let opened = open_index(&self.path, place)?;
            let index = opened.0.clone();
            let files = || {
                let metas = index.load_metas().map_err(|error| sorted(&self.path, &error))?;
                Ok(metas.list_segment_files())
            };
            let before = files()?;
            let writer = Writer::open(opened, fence, &self.path, self.size)?;
            if files()? == before {
                return Ok(writer);
            }
        }
        Err(Error::new(ErrorKind::IndexLocked, "write index", self.path.display())
            .because("other processes write it without a pause")
            .hint("wait for them to finish; searches work meanwhile"))
    }

    /// Takes the writer lock for a few documents: one thread, little memory.
    pub fn small_writer(&self) -> Result<Writer> {
        let (place, fence) = self.place.for_writer();
        Writer::open(open_index(&self.path, place)?, fence, &self.path, Size::SMALL)
    }

    /// Tells whether we may write there.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns the generation's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file for what was last checked of it.
    #[must_use]
    pub fn note(&self) -> PathBuf {
        self.path.join(NOTE)
    }

    /// Returns the size of the generation on disk, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        generation_bytes(&self.path)
    }

    /// Runs what reads the index. Garbled files can make tantivy panic: that is an error, and checksums
    /// tell whether it is theirs.
    pub fn guarded<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let read = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Internal, "read index", self.path.display())
                .because("a thread panicked; the last commit stands")
                .hint("run: aft verify"))
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Internal => {
                Err(self.check_files().err().unwrap_or(error))
            }
            other => other,
        }
    }

    /// Reads every file of the last commit. Fails as damaged if one does not match its checksum.
    pub fn check_files(&self) -> Result<()> {
        // Not by tantivy's own list of files, which another process may have written over.
        let metas = self.index.load_metas().map_err(|error| sorted(&self.path, &error))?;
        let mut names = Vec::new();
        for file in metas.list_segment_files() {
            // A segment names every file it may have; opening it needed those it must have.
            if !self.place.exists(&file).map_err(|error| sorted(&self.path, &error.into()))? {
                continue;
            }
            // It panics where even the checksum's own place is garbled.
            let sound = catch_unwind(AssertUnwindSafe(|| self.index.directory().validate_checksum(&file)));
            if !sound.unwrap_or(Ok(false)).map_err(|error| sorted(&self.path, &error.into()))? {
                names.push(file.display().to_string());
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        names.sort_unstable();
        Err(Error::new(ErrorKind::IndexDamaged, "verify index", self.path.display())
            .because(format!("checksums do not match in {}", names.join(", ")))
            .hint("run: aft reindex"))
    }
}

/// Returns the size of a generation's files, in bytes.
pub(crate) fn generation_bytes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    entries.filter_map(|entry| entry.ok()?.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Opens an index with our fields and analysis. Fails if another version wrote it.
fn open_index(path: &Path, directory: impl Directory) -> Result<(Index, Fields)> {
    let index = Index::open(directory).map_err(|error| sorted(path, &error))?;
    let (schema, fields) = Fields::build();
    if index.schema() != schema {
        return Err(incompatible(path, "its fields are of another version"));
    }
    index.tokenizers().register(TOKENIZER, AgentTokenizer::default());
    Ok((index, fields))
}

/// Sorts tantivy's errors into ours, where an index is read.
pub(super) fn sorted(path: &Path, error: &TantivyError) -> Error {
    match error {
        // Not the system's word: bytes that are not what was written.
        TantivyError::IoError(io_error) if io_error.raw_os_error().is_none() => damaged(path, GARBLED),
        _ => sorted_as(OPEN, path, error),
    }
}

/// The same where it is written.
pub(super) fn unwritten(path: &Path, error: &TantivyError) -> Error {
    sorted_as("write index", path, error)
}

fn sorted_as(act: &'static str, path: &Path, error: &TantivyError) -> Error {
    match error {
        TantivyError::LockFailure(LockError::LockBusy, _) if act == OPEN => {
            let lock = path.join(&META_LOCK.filepath);
            Error::new(ErrorKind::IndexLocked, act, path.display())
                .because("another process keeps its segments from being opened")
                .hint(format!("try again; if it lasts, see which process that is: lsof {}", quoted(&lock)))
        }
        TantivyError::LockFailure(LockError::LockBusy, _) => {
            Error::new(ErrorKind::IndexLocked, act, path.display())
                .because("another process is writing it")
                .hint("wait for it to finish; searches work meanwhile")
        }
        TantivyError::IncompatibleIndex(_) => incompatible(path, &error.to_string()),
        TantivyError::LockFailure(LockError::IoError(_), _)
        | TantivyError::IoError(_)
        | TantivyError::OpenWriteError(_)
        | TantivyError::OpenDirectoryError(_)
        // How tantivy passes on what stopped a thread, or the writing of a column.
        | TantivyError::InternalError(_)
        | TantivyError::ErrorInThread(_)
        | TantivyError::SystemError(_)
        | TantivyError::Poisoned => Error::new(ErrorKind::IndexUnavailable, act, path.display())
            .because(brief(error))
            .hint("check the folder's permissions and free space, or name another with --index"),
        _ => damaged(path, &brief(error)),
    }
}

fn incompatible(path: &Path, why: &str) -> Error {
    Error::new(ErrorKind::IndexIncompatible, "open index", path.display()).because(why).hint("run: aft index")
}

fn damaged(path: &Path, why: &str) -> Error {
    Error::new(ErrorKind::IndexDamaged, "open index", path.display()).because(why).hint("run: aft reindex")
}

/// Says what tantivy found wrong in one line; its own messages print whole structures.
pub(crate) fn brief(error: &TantivyError) -> String {
    match error {
        TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(file)) => {
            format!("its file {} is missing", file.display())
        }
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath })
            if matches!(io_error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            format!("its file {} is cut short or garbled", filepath.display())
        }
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath }) => {
            format!("its file {} cannot be read: {io_error}", filepath.display())
        }
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
            format!("its file {} cannot be written: {io_error}", filepath.display())
        }
        TantivyError::OpenWriteError(OpenWriteError::FileAlreadyExists(file)) => {
            format!("its file {} is there already", file.display())
        }
        TantivyError::DataCorruption(_) => GARBLED.to_owned(),
        TantivyError::IoError(error) => format!("a file of it cannot be read or written: {error}"),
        TantivyError::InternalError(why)
        | TantivyError::ErrorInThread(why)
        | TantivyError::SystemError(why) => format!("its writer stopped: {why}"),
        _ => "its files contradict each other".to_owned(),
    }
}
