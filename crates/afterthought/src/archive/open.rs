//! Opens a database so that no byte, size, time or sidecar of it changes. SQLite's plain
//! read-only mode does not keep that promise: beside a closed WAL database it creates `-wal` and
//! `-shm`, and into a live `-shm` it writes read marks. So the state of the files decides:
//!
//! | state | opened as |
//! |---|---|
//! | `-wal` and `-shm` both there | read-only, shared memory read-only too |
//! | WAL format, `-wal` absent or empty | immutable; the read counts only if the stamp still holds |
//! | `-wal` with bytes and no `-shm`, or that is no log; a journal to roll back, or beside the WAL format | a private copy |
//! | rollback format | read-only: readers of that format take locks and write nothing |

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempDir;
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, ErrorKind, Result, quoted};

use super::stamp::{Stamp, database_file, sidecar};

/// The database's name inside a private copy.
const COPY_NAME: &str = "archive.db";

/// An open connection and what it was opened on.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) mode: Mode,
    /// Hash of what the database says its tables are.
    pub(super) schema: u64,
    /// The private copy that the connection reads.
    _copy: Option<Arc<PrivateCopy>>,
}

/// A copy of the archive's files that nobody else can read; removed on drop.
pub(super) struct PrivateCopy {
    folder: TempDir,
    stamp: Stamp,
}

/// The latest private copy, shared by every handle to one archive.
pub(super) type SharedCopy = Arc<Mutex<Option<Arc<PrivateCopy>>>>;

/// How the files' state makes us open them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A live or crashed writer's log and shared memory are there.
    Shared,
    /// Nothing but the database holds data.
    Immutable,
    /// A journal is there: a live writer's, or one that has to be rolled back.
    Journal,
    /// Rollback format, nothing pending.
    Plain,
    /// The log cannot be read without writing beside it.
    Copy,
}

impl Mode {
    pub(super) fn of(stamp: &Stamp) -> Self {
        match stamp.wal_bytes() {
            // SQLite reads past what is no log; but if it may not write, it waits ten seconds for one
            // to come, and fails.
            Some(_) if stamp.has_shm() && !stamp.has_foreign_log() => Self::Shared,
            Some(bytes) if bytes > 0 => Self::Copy,
            // Past a journal that needs no rolling back, SQLite would make a log.
            _ if stamp.has_journal() && stamp.is_wal_format() => Self::Copy,
            _ if stamp.has_journal() => Self::Journal,
            _ if stamp.is_wal_format() => Self::Immutable,
            _ => Self::Plain,
        }
    }

    /// Tells whether locks keep a read consistent and later reads see later commits. Without, a
    /// read counts only if the files did not change meanwhile.
    pub(super) fn follows(self) -> bool {
        matches!(self, Self::Shared | Self::Plain | Self::Journal)
    }

    /// Tells whether a connection that reads nothing locks nothing, so that it may wait for the next read.
    /// With shared memory it would keep the agent that closes last from tidying up its log.
    pub(super) fn rests(self) -> bool {
        matches!(self, Self::Immutable | Self::Plain | Self::Copy)
    }
}

/// Opens the database in the way its present state asks for.
pub(super) fn open(path: &Path, stamp: &Stamp, copy_bytes_max: u64, shared: &SharedCopy) -> Result<Opened> {
    if stamp.is_empty() {
        // Beside an empty database SQLite takes a log for a leftover and deletes it.
        return Err(unrecognized(path, "the file is empty"));
    }
    let mode = Mode::of(stamp);
    let parameters = match mode {
        Mode::Shared => "mode=ro&readonly_shm=1",
        Mode::Immutable => "immutable=1",
        Mode::Plain | Mode::Journal => "mode=ro",
        Mode::Copy => return open_copy(path, stamp, copy_bytes_max, shared),
    };
    match connect(path, parameters) {
        Ok((connection, schema)) => Ok(Opened { connection, mode, schema, _copy: None }),
        Err(error) if mode == Mode::Journal && needs_rollback(&error) => {
            open_copy(path, stamp, copy_bytes_max, shared)
        }
        Err(error) => Err(refused(path, error)),
    }
}

fn connect(path: &Path, parameters: &str) -> rusqlite::Result<(Connection, u64)> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path, parameters), flags)?;
    let schema = prepare(&connection)?;
    Ok((connection, schema))
}

fn prepare(connection: &Connection) -> rusqlite::Result<u64> {
    connection.busy_timeout(Duration::from_secs(2))?;
    connection.set_prepared_statement_cache_capacity(32);
    connection
        .execute_batch("PRAGMA query_only = 1; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384;")?;
    schema_hash(connection)
}

/// Hashes the schema: two archives with the same one have the same columns. The first read of the file: a
/// foreign format or an unreadable log shows here.
fn schema_hash(connection: &Connection) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    let mut hasher = Xxh3::new();
    while let Some(row) = rows.next()? {
        for column in 0..3 {
            // A length that no text has stands for what is none.
            let text = row.get_ref(column)?.as_bytes_or_null().ok().flatten();
            hasher.update(&text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            hasher.update(text.unwrap_or_default());
        }
    }
    Ok(hasher.digest())
}

fn open_copy(path: &Path, stamp: &Stamp, copy_bytes_max: u64, shared: &SharedCopy) -> Result<Opened> {
    if stamp.bytes() > copy_bytes_max {
        return Err(Error::new(ErrorKind::ArchiveNeedsCopy, "open archive", path.display())
            .because(format!(
                "its log can only be read from a private copy, and {} MB are more than allowed",
                stamp.bytes() / 1_000_000
            ))
            .hint("pass --allow-copy, or let the agent that owns the archive open and close it once"));
    }
    let copy = latest_copy(path, stamp, shared)?;
    let connection = Connection::open(copy.folder.path().join(COPY_NAME)).and_then(|connection| {
        let schema = prepare(&connection)?;
        Ok((connection, schema))
    });
    let (connection, schema) = connection.map_err(|error| refused(path, error))?;
    Ok(Opened { connection, mode: Mode::Copy, schema, _copy: Some(copy) })
}

/// Returns a copy of the files as the stamp found them; copies them unless another handle did.
fn latest_copy(path: &Path, stamp: &Stamp, shared: &SharedCopy) -> Result<Arc<PrivateCopy>> {
    let mut latest = shared.lock();
    if let Some(copy) = latest.as_ref().filter(|copy| copy.stamp == *stamp) {
        return Ok(Arc::clone(copy));
    }
    // The old one goes first: two copies of a large archive may not fit.
    *latest = None;
    let folder = copy_files(path).map_err(|error| {
        Error::new(ErrorKind::ArchiveUnavailable, "copy archive", path.display()).because(error).hint(
            "check that it may be read, and that the folder for temporary files (TMPDIR) has room for it",
        )
    })?;
    let copy = Arc::new(PrivateCopy { folder, stamp: stamp.clone() });
    *latest = Some(Arc::clone(&copy));
    Ok(copy)
}

fn copy_files(path: &Path) -> std::io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("afterthought-").tempdir()?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))?;
    let copy = folder.path().join(COPY_NAME);
    copy_bytes(&*database_file(path)?, &copy)?;
    for suffix in ["-wal", "-journal"] {
        match std::fs::File::open(sidecar(path, suffix)) {
            Ok(file) => copy_bytes(&file, &sidecar(&copy, suffix))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(folder)
}

/// Copies a file's bytes and not its mode: a journal that may only be read cannot be rolled back.
fn copy_bytes(from: &std::fs::File, to: &Path) -> std::io::Result<()> {
    let mut to = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let mut buffer = vec![0; 1024 * 1024];
    let mut offset = 0;
    loop {
        // By offset: the descriptor is shared.
        let read = from.read_at(&mut buffer, offset)?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read])?;
        offset += read as u64;
    }
}

fn needs_rollback(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

fn unrecognized(path: &Path, why: &str) -> Error {
    Error::new(ErrorKind::ArchiveUnrecognized, "open archive", path.display())
        .because(why)
        .hint("give the path of an agent's state.db with --archive")
}

fn refused(path: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => unrecognized(path, "the file is not an SQLite database"),
        _ => unread("open archive", path, error),
    }
}

/// Says why a database cannot be read, and what can be done about it.
pub(super) fn unread(act: &'static str, path: &Path, error: rusqlite::Error) -> Error {
    use ErrorCode::{CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, PermissionDenied, Unknown};
    let (kind, hint) = match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked) => {
            (ErrorKind::ArchiveUnsteady, "another program has locked it; try again in a moment".to_owned())
        }
        Some(DatabaseCorrupt) => {
            let salvage = format!("sqlite3 {} .recover", quoted(path));
            (
                ErrorKind::ArchiveUnavailable,
                format!(
                    "the file is damaged: put a backup in its place, or see what can be saved: {salvage}"
                ),
            )
        }
        // An expression that fails on a row is plain bad SQL to SQLite.
        Some(Unknown) => (
            ErrorKind::ArchiveUnavailable,
            "an expression of its layout may fail on one of its rows; its own agent should be able to open it"
                .to_owned(),
        ),
        Some(CannotOpen | PermissionDenied) => {
            (ErrorKind::ArchiveUnavailable, "check the permissions of the file and its folder".to_owned())
        }
        _ => (ErrorKind::ArchiveUnavailable, "check its disk, and that its own agent can open it".to_owned()),
    };
    Error::new(kind, act, path.display()).because(error).hint(hint)
}

/// Writes a path as an SQLite URI; everything that a URI could read otherwise is escaped.
fn uri(path: &Path, parameters: &str) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            write!(uri, "%{byte:02X}").expect("writing to a String cannot fail");
        }
    }
    uri.push('?');
    uri.push_str(parameters);
    PathBuf::from(uri)
}
