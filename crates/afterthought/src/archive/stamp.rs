//! What the archive's files look like from outside: enough to tell that nothing changed without
//! opening the database. Reads metadata and three headers, locks nothing, writes nothing.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The state of an archive's files at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    db: FileMark,
    /// The database header's change counter and write version, as stored (offsets 18 to 28).
    db_header: Vec<u8>,
    wal: Option<FileMark>,
    /// The write-ahead log's header with its salts (first 32 bytes).
    wal_header: Vec<u8>,
    /// The first copy of the log's index header: last valid frame and change number (48 bytes).
    shm_header: Option<Vec<u8>>,
    journal: Option<FileMark>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileMark {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_s: i64,
    modified_ns: i64,
}

impl Stamp {
    /// Takes the stamp of the database at `path`. Costs four `stat` calls and three short reads.
    pub fn take(path: &Path) -> io::Result<Self> {
        let mut db = File::open(path)?;
        let mut header = vec![0; 28];
        let read = read_up_to(&mut db, &mut header)?;
        header.truncate(read);
        let wal_path = sidecar(path, "-wal");
        let wal = mark(&wal_path)?;
        Ok(Self {
            db: FileMark::of(&db.metadata()?),
            db_header: header.get(18..).unwrap_or_default().to_vec(),
            wal_header: if wal.is_some() { head(&wal_path, 32)?.unwrap_or_default() } else { Vec::new() },
            wal,
            shm_header: head(&sidecar(path, "-shm"), 48)?,
            journal: mark(&sidecar(path, "-journal"))?,
        })
    }

    /// Tells whether both stamps are of one file, changed or not.
    #[must_use]
    pub fn same_file(&self, other: &Self) -> bool {
        (self.db.device, self.db.inode) == (other.db.device, other.db.inode)
    }

    /// Returns the size of everything a copy would have to hold, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let size = |mark: Option<FileMark>| mark.map_or(0, |mark| mark.bytes);
        self.db.bytes + size(self.wal) + size(self.journal)
    }

    pub(super) fn is_wal_format(&self) -> bool {
        self.db_header.first() == Some(&2)
    }

    pub(super) fn wal_bytes(&self) -> Option<u64> {
        self.wal.map(|mark| mark.bytes)
    }

    pub(super) fn has_shm(&self) -> bool {
        self.shm_header.is_some()
    }

    pub(super) fn has_journal(&self) -> bool {
        self.journal.is_some_and(|mark| mark.bytes > 0)
    }
}

impl FileMark {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
        }
    }
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

fn head(path: &Path, bytes: usize) -> io::Result<Option<Vec<u8>>> {
    let Some(mut file) = absent_is_none(File::open(path))? else { return Ok(None) };
    let mut head = vec![0; bytes];
    let read = read_up_to(&mut file, &mut head)?;
    head.truncate(read);
    Ok(Some(head))
}

fn absent_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
