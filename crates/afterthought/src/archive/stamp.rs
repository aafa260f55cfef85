//! What the archive's files look like from outside: enough to tell that nothing changed without
//! opening the database. Reads metadata and two headers, locks nothing, writes nothing.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The state of an archive's files at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    db: FileMark,
    /// The database header's versions for writers and readers and its change counter, as stored
    /// (offsets 18 to 28).
    db_header: Vec<u8>,
    wal: Option<FileMark>,
    /// The write-ahead log's header with its salts (first 32 bytes).
    wal_header: Vec<u8>,
    /// The shared memory's device and inode. Its bytes change without an archive's changing.
    shm: Option<(u64, u64)>,
    journal: Option<FileMark>,
    /// By what layout they are read; 0 where that is left to their tables. Another one reads other rows.
    #[serde(default)]
    layout: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileMark {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_s: i64,
    modified_ns: i64,
}

/// File systems set times by a clock of up to 10 ms; those without fractions by seconds.
const TICK_MS: i64 = 50;
const TICK_COARSE_MS: i64 = 2_100;

impl Stamp {
    /// Takes the stamp of the database at `path`. Costs four `stat` calls and two short reads.
    pub fn take(path: &Path) -> io::Result<Self> {
        let database = database_file(path)?;
        let wal = mark(&sidecar(path, "-wal"))?;
        Ok(Self {
            db: FileMark::of(&database.metadata()?),
            db_header: read_at(&database, 18, 10)?,
            wal_header: if wal.is_some() { head(&sidecar(path, "-wal"), 32)? } else { Vec::new() },
            wal,
            shm: mark(&sidecar(path, "-shm"))?.map(|mark| (mark.device, mark.inode)),
            journal: mark(&sidecar(path, "-journal"))?,
            layout: 0,
        })
    }

    /// Takes note of the layout that the files are read by.
    pub(super) fn read_by(self, layout: u64) -> Self {
        Self { layout, ..self }
    }

    /// Tells whether an equal stamp taken later proves that nothing was written meanwhile: the last
    /// write was so long before `now_ms` that another one would have set another time.
    #[must_use]
    pub fn is_settled(&self, now_ms: i64) -> bool {
        let marks = [Some(self.db), self.wal, self.journal];
        marks.into_iter().flatten().all(|mark| {
            let modified_ms =
                mark.modified_s.saturating_mul(1_000).saturating_add(mark.modified_ns / 1_000_000);
            now_ms.saturating_sub(modified_ms) > if mark.modified_ns == 0 { TICK_COARSE_MS } else { TICK_MS }
        })
    }

    /// Tells whether both stamps are of one file, changed or not, read by one layout.
    #[must_use]
    pub fn same_file(&self, other: &Self) -> bool {
        (self.db.device, self.db.inode, self.layout) == (other.db.device, other.db.inode, other.layout)
    }

    /// Returns the size of everything a copy would have to hold, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let size = |mark: Option<FileMark>| mark.map_or(0, |mark| mark.bytes);
        self.db.bytes + size(self.wal) + size(self.journal)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.db.bytes == 0
    }

    pub(super) fn is_wal_format(&self) -> bool {
        // The version that readers need; the first is for writers, and nothing makes them agree.
        self.db_header.get(1) == Some(&2)
    }

    pub(super) fn wal_bytes(&self) -> Option<u64> {
        self.wal.map(|mark| mark.bytes)
    }

    /// Tells whether what stands as the log is none by its first words: its magic number, either
    /// byte order, and a size of pages.
    pub(super) fn has_foreign_log(&self) -> bool {
        let word = |at: usize| self.wal_header.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
        let (Some(magic), Some(page_bytes)) = (word(0), word(8)) else { return false };
        !matches!(magic, 0x377F_0682 | 0x377F_0683)
            || !page_bytes.is_power_of_two()
            || !(512..=65_536).contains(&page_bytes)
    }

    pub(super) fn has_shm(&self) -> bool {
        self.shm.is_some()
    }

    pub(super) fn has_journal(&self) -> bool {
        self.journal.is_some_and(|mark| mark.bytes > 0)
    }
}

impl FileMark {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
        }
    }
}

/// Open database files by device and inode. POSIX drops every lock that a process holds on a file
/// when it closes any descriptor of it, and SQLite's connections hold locks: so a descriptor of
/// ours, once opened, stays open for the life of the process. There is one for each archive read.
static DATABASES: LazyLock<Mutex<OpenFiles>> = LazyLock::new(Mutex::default);

type OpenFiles = HashMap<(u64, u64), Arc<File>>;

/// Returns a descriptor of the database that may be read at any time and is never closed.
pub(super) fn database_file(path: &Path) -> io::Result<Arc<File>> {
    let mut databases = DATABASES.lock();
    let metadata = std::fs::metadata(path)?;
    if let Some(file) = databases.get(&(metadata.dev(), metadata.ino())) {
        return Ok(Arc::clone(file));
    }
    let file = Arc::new(File::open(path)?);
    let metadata = file.metadata()?;
    // The file may have been swapped in between; whichever was opened is kept.
    let kept = databases.entry((metadata.dev(), metadata.ino())).or_insert_with(|| Arc::clone(&file));
    if !Arc::ptr_eq(kept, &file) {
        std::mem::forget(file);
    }
    Ok(Arc::clone(kept))
}

/// Returns the path of a sidecar: the database's own name with a suffix.
pub(super) fn sidecar(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn mark(path: &Path) -> io::Result<Option<FileMark>> {
    absent_is_none(std::fs::metadata(path).map(|metadata| FileMark::of(&metadata)))
}

/// Reads the beginning of a file that SQLite holds no lock on.
fn head(path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
    match absent_is_none(File::open(path))? {
        Some(file) => read_at(&file, 0, bytes),
        None => Ok(Vec::new()),
    }
}

fn absent_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads up to `bytes` bytes at an offset; fewer at the end of the file.
fn read_at(file: &File, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; bytes];
    let mut filled = 0;
    while filled < bytes {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    buffer.truncate(filled);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_far_future_is_not_settled() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        std::fs::write(&path, "x").expect("a file");
        let mut stamp = Stamp::take(&path).expect("a stamp");
        (stamp.db.modified_s, stamp.db.modified_ns) = (i64::MAX, 999_999_999);
        assert!(!stamp.is_settled(i64::MAX));
    }
}
