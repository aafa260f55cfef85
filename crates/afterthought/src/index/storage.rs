//! Where the files of a generation lie: the seam under tantivy. Tests put faults there.

use std::fmt::Debug;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

/// Keeps the files of generations. Pointers and locks of the index folder are not among them: those
/// are always files.
pub trait Storage: Debug + Send + Sync {
    /// Opens the place of a generation's files. Every handle to one generation sees the same files.
    fn open(&self, generation: &Path) -> Result<Box<dyn Directory>, OpenDirectoryError>;
}

/// Files on disk, mapped into memory, for their owner only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Storage for Disk {
    fn open(&self, generation: &Path) -> Result<Box<dyn Directory>, OpenDirectoryError> {
        let inner = MmapDirectory::open(generation)?;
        Ok(Box::new(OwnerOnly { inner, path: generation.to_owned() }))
    }
}

/// Gives every new file to its owner alone, whatever the process lets new files be.
#[derive(Clone, Debug)]
struct OwnerOnly {
    inner: MmapDirectory,
    path: PathBuf,
}

impl OwnerOnly {
    fn close_to_others(&self, file: &Path) -> io::Result<()> {
        fs::set_permissions(self.path.join(file), Permissions::from_mode(0o600))
    }
}

impl Directory for OwnerOnly {
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
        let file = self.inner.open_write(path)?;
        self.close_to_others(path).map_err(|error| OpenWriteError::wrap_io_error(error, path.to_owned()))?;
        Ok(file)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.inner.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let held = self.inner.acquire_lock(lock)?;
        self.close_to_others(&lock.filepath).map_err(|error| LockError::IoError(Arc::new(error)))?;
        Ok(held)
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
