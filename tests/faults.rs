//! The faults of real disks, under the index: [`Memory`] forgets what was not synced, [`Faulty`] dies
//! half-way, fills up and stops reading.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use afterthought::index::Storage;
use afterthought_tools::random::Random;
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, OwnedBytes, TerminatingWrite, WatchCallback, WatchHandle,
    WritePtr,
};

// ---- a disk in memory ----

/// Files in memory that know which of them would outlive a power cut.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<HashMap<PathBuf, Place>>>);

/// The files of one generation.
#[derive(Clone, Debug, Default)]
struct Place {
    names: BTreeMap<PathBuf, Arc<Mutex<File>>>,
    /// What the folder was when it was last synced, and what happened to it since, in order. A
    /// journaling file system keeps a beginning of that.
    synced: BTreeMap<PathBuf, Arc<Mutex<File>>>,
    since: Vec<Change>,
    locks: HashSet<PathBuf>,
}

#[derive(Clone, Debug)]
enum Change {
    Link(PathBuf, Arc<Mutex<File>>),
    Unlink(PathBuf),
}

#[derive(Debug, Default)]
struct File {
    bytes: Arc<Vec<u8>>,
    /// Bytes from the beginning on that are certain to be there after a power cut.
    synced: usize,
    is_ended: bool,
}

impl Place {
    fn link(&mut self, name: &Path, file: File) -> Arc<Mutex<File>> {
        let file = Arc::new(Mutex::new(file));
        self.names.insert(name.to_owned(), Arc::clone(&file));
        self.since.push(Change::Link(name.to_owned(), Arc::clone(&file)));
        file
    }

    fn sync(&mut self) {
        for file in self.names.values() {
            let mut file = locked(file);
            if file.is_ended {
                file.synced = file.bytes.len();
            }
        }
        self.synced = self.names.clone();
        self.since.clear();
    }
}

impl Memory {
    /// Cuts the power: of what was not synced, a random beginning is there afterwards.
    pub fn cut_power(&self, random: &mut Random) {
        let below = |random: &mut Random, end: usize| {
            usize::try_from(random.below(end as u64 + 1)).expect("a length fits")
        };
        for place in self.places().values_mut() {
            let kept = below(random, place.since.len());
            for change in place.since.drain(..).take(kept) {
                match change {
                    Change::Link(name, file) => place.synced.insert(name, file),
                    Change::Unlink(name) => place.synced.remove(&name),
                };
            }
            for file in place.synced.values() {
                let mut file = locked(file);
                let length = file.synced + below(random, file.bytes.len() - file.synced);
                Arc::make_mut(&mut file.bytes).truncate(length);
                file.synced = length;
            }
            place.names = place.synced.clone();
        }
    }

    /// Makes everything durable, as a system does half a minute after a process was killed.
    pub fn write_back(&self) {
        for place in self.places().values_mut() {
            place.sync();
        }
    }

    fn places(&self) -> MutexGuard<'_, HashMap<PathBuf, Place>> {
        locked(&self.0)
    }
}

impl Storage for Memory {
    fn open(&self, generation: &Path) -> Result<Box<dyn Directory>, OpenDirectoryError> {
        self.places().entry(generation.to_owned()).or_default();
        Ok(Box::new(MemoryFolder { memory: self.clone(), path: generation.to_owned() }))
    }

    fn list(&self, generation: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.places()[generation].names.keys().cloned().collect())
    }
}

#[derive(Clone, Debug)]
struct MemoryFolder {
    memory: Memory,
    path: PathBuf,
}

impl MemoryFolder {
    fn with<T>(&self, act: impl FnOnce(&mut Place) -> T) -> T {
        act(self.memory.places().get_mut(&self.path).expect("a folder that was opened"))
    }

    fn bytes(&self, path: &Path) -> Result<Arc<Vec<u8>>, OpenReadError> {
        let file = self.with(|place| place.names.get(path).cloned());
        let file = file.ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))?;
        let bytes = Arc::clone(&locked(&file).bytes);
        Ok(bytes)
    }
}

impl Directory for MemoryFolder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(OwnedBytes::new(self.bytes(path)?.to_vec())))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.with(|place| {
            place.since.push(Change::Unlink(path.to_owned()));
            place.names.remove(path).map(drop)
        })
        .ok_or_else(|| DeleteError::FileDoesNotExist(path.to_owned()))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.with(|place| place.names.contains_key(path)))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        if self.with(|place| place.names.contains_key(path)) {
            return Err(OpenWriteError::FileAlreadyExists(path.to_owned()));
        }
        let file = self.with(|place| place.link(path, File::default()));
        Ok(BufWriter::new(Box::new(MemoryWriter(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.bytes(path).map(|bytes| bytes.to_vec())
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let file = File { bytes: Arc::new(data.to_vec()), synced: data.len(), is_ended: true };
        self.with(|place| place.link(path, file));
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.with(Place::sync);
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        while !self.with(|place| place.locks.insert(lock.filepath.clone())) {
            if !lock.is_blocking {
                return Err(LockError::LockBusy);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(DirectoryLock::from(Box::new(MemoryLock { folder: self.clone(), path: lock.filepath.clone() })))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

struct MemoryWriter(Arc<Mutex<File>>);

impl Write for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Arc::make_mut(&mut locked(&self.0).bytes).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for MemoryWriter {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        locked(&self.0).is_ended = true;
        Ok(())
    }
}

struct MemoryLock {
    folder: MemoryFolder,
    path: PathBuf,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.folder.with(|place| place.locks.remove(&self.path));
    }
}

// ---- faults over any storage ----

/// A storage over another one that counts what is done to it, and fails as it is told.
#[derive(Clone, Debug)]
pub struct Faulty {
    inner: Arc<dyn Storage>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    operations: AtomicU64,
    written: AtomicU64,
    /// The operation that is the last one, half done: 0 for none.
    dies_at: AtomicU64,
    is_dead: AtomicBool,
    /// Bytes written after which the disk is full: 0 for never.
    full_at: AtomicU64,
    is_unreadable: AtomicBool,
    is_read_only: AtomicBool,
    merges_wait: AtomicBool,
}

impl Faulty {
    /// Puts faults over a storage. There are none yet.
    #[must_use]
    pub fn over(inner: Arc<dyn Storage>) -> Self {
        Self { inner, state: Arc::default() }
    }

    /// Lets so many more operations that change something succeed. The next one is half done, and all
    /// after it fail for good, as if the process had been killed.
    pub fn die_after(&self, operations: u64) {
        self.state.dies_at.store(self.operations() + operations + 1, Ordering::SeqCst);
    }

    /// Lets so many more bytes be written; then the disk is full, until [`Faulty::heal`].
    pub fn fill_up_after(&self, bytes: u64) {
        self.state.full_at.store(self.written() + bytes + 1, Ordering::SeqCst);
    }

    /// Lets no file be read any more, until [`Faulty::heal`].
    pub fn stop_reading(&self) {
        self.state.is_unreadable.store(true, Ordering::SeqCst);
    }

    /// Lets nothing be changed and no lock be taken any more.
    pub fn forbid_writing(&self) {
        self.state.is_read_only.store(true, Ordering::SeqCst);
    }

    /// Lets every merge wait with its next write, until [`Faulty::heal`].
    pub fn hold_merges(&self) {
        self.state.merges_wait.store(true, Ordering::SeqCst);
    }

    /// Ends every fault but death and a ban on writing.
    pub fn heal(&self) {
        self.state.dies_at.store(0, Ordering::SeqCst);
        self.state.full_at.store(0, Ordering::SeqCst);
        self.state.is_unreadable.store(false, Ordering::SeqCst);
        self.state.merges_wait.store(false, Ordering::SeqCst);
    }

    /// Tells whether the last operation that was allowed has been asked for.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.state.is_dead.load(Ordering::SeqCst)
    }

    /// Returns how many operations have changed something or tried to.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state.operations.load(Ordering::SeqCst)
    }

    /// Returns how many bytes have been written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.state.written.load(Ordering::SeqCst)
    }
}

impl Storage for Faulty {
    fn open(&self, generation: &Path) -> Result<Box<dyn Directory>, OpenDirectoryError> {
        let inner = self.inner.open(generation)?;
        Ok(Box::new(FaultyFolder { inner, state: Arc::clone(&self.state) }))
    }

    fn list(&self, generation: &Path) -> io::Result<Vec<PathBuf>> {
        self.inner.list(generation)
    }
}

/// What an operation may still do.
enum Leave {
    All,
    /// The first half, and then it fails.
    Half(io::Error),
}

impl State {
    /// Counts an operation that writes so many bytes.
    fn change(&self, bytes: usize) -> io::Result<Leave> {
        // tantivy's name for its threads that merge.
        let merges = std::thread::current().name().is_some_and(|name| name.starts_with("merge_thread"));
        while merges && self.merges_wait.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.is_read_only.load(Ordering::SeqCst) {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        let number = self.operations.fetch_add(1, Ordering::SeqCst) + 1;
        if self.is_dead.load(Ordering::SeqCst) {
            return Err(died());
        }
        if self.dies_at.load(Ordering::SeqCst) == number {
            self.is_dead.store(true, Ordering::SeqCst);
            return Ok(Leave::Half(died()));
        }
        let written = self.written.fetch_add(bytes as u64, Ordering::SeqCst) + bytes as u64;
        let full_at = self.full_at.load(Ordering::SeqCst);
        if bytes > 0 && full_at > 0 && written >= full_at {
            return Ok(Leave::Half(ErrorKind::StorageFull.into()));
        }
        Ok(Leave::All)
    }

    fn change_whole(&self, bytes: usize) -> io::Result<()> {
        match self.change(bytes)? {
            Leave::All => Ok(()),
            Leave::Half(error) => Err(error),
        }
    }

    fn read(&self, path: &Path) -> Result<(), OpenReadError> {
        let fault = if self.is_dead.load(Ordering::SeqCst) {
            died()
        } else if self.is_unreadable.load(Ordering::SeqCst) {
            io::Error::other("Input/output error (os error 5)")
        } else {
            return Ok(());
        };
        Err(OpenReadError::wrap_io_error(fault, path.to_owned()))
    }
}

fn died() -> io::Error {
    io::Error::other("the process died here")
}

#[derive(Clone, Debug)]
struct FaultyFolder {
    inner: Box<dyn Directory>,
    state: Arc<State>,
}

impl Directory for FaultyFolder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.state.read(path)?;
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let refused = |error| DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() };
        self.state.change_whole(0).map_err(refused)?;
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.state.read(path)?;
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let refused = |error| OpenWriteError::wrap_io_error(error, path.to_owned());
        self.state.change_whole(0).map_err(refused)?;
        let inner = self.inner.open_write(path)?;
        Ok(BufWriter::new(Box::new(FaultyWriter { inner, state: Arc::clone(&self.state) })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.state.read(path)?;
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.state.change_whole(data.len())?;
        self.inner.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.state.change_whole(0)?;
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let refused = |error| Err(LockError::IoError(Arc::new(error)));
        if self.state.is_dead.load(Ordering::SeqCst) {
            return refused(died());
        }
        if self.state.is_read_only.load(Ordering::SeqCst) {
            return refused(ErrorKind::ReadOnlyFilesystem.into());
        }
        self.inner.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}

struct FaultyWriter {
    inner: WritePtr,
    state: Arc<State>,
}

impl Write for FaultyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.state.change(bytes.len())? {
            Leave::All => self.inner.write_all(bytes)?,
            Leave::Half(error) => {
                self.inner.write_all(&bytes[..bytes.len() / 2])?;
                self.inner.flush()?;
                return Err(error);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl TerminatingWrite for FaultyWriter {
    fn terminate_ref(&mut self, token: AntiCallToken) -> io::Result<()> {
        self.state.change_whole(0)?;
        self.inner.flush()?;
        self.inner.get_mut().terminate_ref(token)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}
