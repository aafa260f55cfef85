//! Where the files of a generation lie: the seam under tantivy. Tests put faults there.

use std::fmt::Debug;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, RamDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use crate::limits::LOCK_WAIT_MS_MAX;

use super::folder::taken_within;

/// Files that are synced at the same time.
const SYNCS_AT_ONCE: usize = 16;

/// Keeps the files of generations. Pointers and locks of the index folder are not among them: those
/// are always files.
pub trait Storage: Debug + Send + Sync {
    /// Opens the place of a generation's files. Every handle to one generation sees the same files. What
    /// was written has to outlive a power cut after the next [`Directory::sync_directory`], not before;
    /// only [`Directory::atomic_write`] is durable by itself.
    fn open(&self, generation: &Path) -> Result<Box<dyn Directory>, OpenDirectoryError>;

    /// Lists the names of a generation's files.
    fn list(&self, generation: &Path) -> io::Result<Vec<PathBuf>>;
}

/// Files on disk, mapped into memory, for their owner only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Storage for Disk {
    fn open(&self, generation: &Path) -> Result<Box<dyn Directory>, OpenDirectoryError> {
        let inner = MmapDirectory::open(generation)?;
        Ok(Box::new(DiskFolder { inner, path: generation.to_owned(), unsynced: Arc::default() }))
    }

    fn list(&self, generation: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(generation)?.map(|entry| Ok(entry?.file_name().into())).collect()
    }
}

/// A folder on disk. Its files are synced together when the folder is, and not one after another, each
/// as it is ended: a small commit is little else but waiting for that.
#[derive(Clone, Debug)]
struct DiskFolder {
    inner: MmapDirectory,
    path: PathBuf,
    unsynced: Arc<Mutex<Vec<Arc<File>>>>,
}

impl DiskFolder {
    fn sync_files(&self) -> io::Result<()> {
        // Held meanwhile: nobody may take the folder for synced while somebody else is still at it.
        let mut unsynced = self.unsynced.lock();
        let files = std::mem::take(&mut *unsynced);
        for files in files.chunks(SYNCS_AT_ONCE) {
            std::thread::scope(|scope| {
                let syncs: Vec<_> = files.iter().map(|file| scope.spawn(|| file.sync_data())).collect();
                syncs.into_iter().try_for_each(|sync| sync.join().expect("a sync does not panic"))
            })?;
        }
        Ok(())
    }
}

impl Directory for DiskFolder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let opened =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path.join(path));
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        let file = DiskFile { file: Arc::new(file), unsynced: Arc::clone(&self.unsynced) };
        Ok(BufWriter::new(Box::new(file)))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.inner.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.sync_files()?;
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        // tantivy would wait without end for who opens segments there.
        let once = Lock { filepath: lock.filepath.clone(), is_blocking: false };
        let wait = if lock.is_blocking { LOCK_WAIT_MS_MAX } else { 0 };
        let taken = taken_within(Duration::from_millis(wait), || match self.inner.acquire_lock(&once) {
            Err(LockError::LockBusy) => Ok(None),
            other => other.map(Some),
        });
        let held = taken?.ok_or(LockError::LockBusy)?;
        let closed = fs::set_permissions(self.path.join(&lock.filepath), Permissions::from_mode(0o600));
        closed.map_err(|error| LockError::IoError(Arc::new(error)))?;
        Ok(held)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}

struct DiskFile {
    file: Arc<File>,
    unsynced: Arc<Mutex<Vec<Arc<File>>>>,
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.file).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for DiskFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.unsynced.lock().push(Arc::clone(&self.file));
        Ok(())
    }
}

/// Files in memory, which go with their last handle.
#[derive(Clone, Debug, Default)]
pub(super) struct InMemory(RamDirectory);

impl Storage for InMemory {
    fn open(&self, _: &Path) -> Result<Box<dyn Directory>, OpenDirectoryError> {
        Ok(Box::new(self.0.clone()))
    }

    /// There is no need to tell: what is not deleted goes with the rest.
    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }
}

/// A generation's files as tantivy is given them: with what it must not decide itself.
#[derive(Clone, Debug)]
pub(super) struct Place {
    inner: Box<dyn Directory>,
    storage: Arc<dyn Storage>,
    path: PathBuf,
    /// Whether the writer that this was opened for may still change what the index consists of.
    is_open: Arc<Mutex<bool>>,
    /// Whether locks can be taken there.
    has_locks: bool,
}

/// tantivy's name for its list of files that it may delete. It would be written anew for every file that
/// is made; the folder itself is that list, always true, and costs no writing.
const LIST: &str = ".managed.json";

impl Place {
    pub(super) fn open(storage: &Arc<dyn Storage>, path: &Path) -> Result<Self, OpenDirectoryError> {
        let (inner, storage) = (storage.open(path)?, Arc::clone(storage));
        let is_open = Arc::new(Mutex::new(true));
        Ok(Self { inner, storage, path: path.to_owned(), is_open, has_locks: true })
    }

    /// Returns the place where it may only be read: a reader needs tantivy's lock file, which such a
    /// folder refuses. Nothing is locked then, and nothing can change.
    pub(super) fn read_only(self) -> Self {
        Self { is_open: Arc::new(Mutex::new(false)), has_locks: false, ..self }
    }

    /// Returns the place for one writer, and what ends its right to write when it is dropped. Threads of
    /// a writer that was dropped may live on for a moment: a merge that ends then would put its old state
    /// of the index over what the next writer has committed.
    pub(super) fn for_writer(&self) -> (Self, Fence) {
        let is_open = Arc::new(Mutex::new(true));
        (Self { is_open: Arc::clone(&is_open), ..self.clone() }, Fence(is_open))
    }

    fn list(&self) -> io::Result<Vec<u8>> {
        let names = self.storage.list(&self.path)?;
        // A segment's files begin with its id; all else in the folder is not tantivy's to delete.
        let of_segments = |name: &&PathBuf| {
            let name = name.to_string_lossy();
            name.len() > 32 && name.bytes().take(32).all(|byte| byte.is_ascii_hexdigit())
        };
        Ok(serde_json::to_vec(&names.iter().filter(of_segments).collect::<Vec<_>>())?)
    }
}

/// A writer's right to change what an index consists of.
pub(super) struct Fence(Arc<Mutex<bool>>);

impl Drop for Fence {
    fn drop(&mut self) {
        // Waits for a change under way.
        *self.0.lock() = false;
    }
}

impl Directory for Place {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.inner.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        if path == Path::new(LIST) {
            return self.list().map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()));
        }
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path == Path::new(LIST) {
            return Ok(());
        }
        let is_open = self.is_open.lock();
        if !*is_open {
            return Err(io::Error::other("it is closed for writing"));
        }
        self.inner.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if !self.has_locks {
            return Ok(DirectoryLock::from(Box::new(())));
        }
        self.inner.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_has_ended_changes_nothing() {
        let storage: Arc<dyn Storage> = Arc::new(InMemory::default());
        let place = Place::open(&storage, Path::new("g1")).expect("a place");
        let (first, fence) = place.for_writer();
        first.atomic_write(Path::new("meta.json"), b"first").expect("its own");
        drop(fence);
        let (second, _fence) = place.for_writer();
        second.atomic_write(Path::new("meta.json"), b"second").expect("its own");
        assert!(first.atomic_write(Path::new("meta.json"), b"late").is_err());
        assert_eq!(place.atomic_read(Path::new("meta.json")).expect("a file"), b"second");
    }
}
