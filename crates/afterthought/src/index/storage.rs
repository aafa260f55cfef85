//! Where the files of a generation lie: the seam under tantivy. Tests put faults there.

use std::fmt::Debug;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

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

/// Opens the place of a generation's files, for tantivy.
pub(super) fn open(
    storage: &Arc<dyn Storage>,
    generation: &Path,
) -> Result<Box<dyn Directory>, OpenDirectoryError> {
    let inner = storage.open(generation)?;
    Ok(Box::new(Listed { inner, storage: Arc::clone(storage), path: generation.to_owned() }))
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
        let held = self.inner.acquire_lock(lock)?;
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

/// tantivy keeps a list of the files that it may delete, and writes it anew for every file that it
/// makes. Here the folder itself is that list: it is always true, and costs no writing.
#[derive(Clone, Debug)]
struct Listed {
    inner: Box<dyn Directory>,
    storage: Arc<dyn Storage>,
    path: PathBuf,
}

/// tantivy's name for that list.
const LIST: &str = ".managed.json";

impl Listed {
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

impl Directory for Listed {
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
        self.inner.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.inner.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}

/// A place that may only be read: nothing is locked, nothing can change.
#[derive(Clone, Debug)]
pub(super) struct Unlocked(pub(super) Box<dyn Directory>);

fn read_only() -> io::Error {
    io::ErrorKind::ReadOnlyFilesystem.into()
}

impl Directory for Unlocked {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(read_only()), filepath: path.to_owned() })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.0.atomic_read(path)
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
