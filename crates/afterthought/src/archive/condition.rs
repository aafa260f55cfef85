//! How an archive's files stand, and what `SQLite` finds wrong inside them: for who looks after them.
//! Like all reading, it leaves no trace.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rusqlite::OptionalExtension;

use crate::error::Result;

use super::open::Mode;
use super::stamp::sidecar;
use super::{Archive, View};

/// How an archive's files stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Size of the database with its log and journal, in bytes.
    pub bytes: u64,
    /// Size of the write-ahead log, in bytes; `None` where there is none.
    pub log_bytes: Option<u64>,
    /// The last write to any of them, in milliseconds since 1970.
    pub written_ms: i64,
    /// How their state makes us read them.
    pub reading: Reading,
}

/// How the state of its files makes us read an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Beside a writer's log, without holding anybody up.
    BesideLog,
    /// As files that nobody has open.
    AtRest,
    /// Under a lock for readers, which a writer waits for.
    Locked,
    /// From a private copy.
    Copied,
}

impl Archive {
    /// Looks at the archive's files from outside. Fails if they are not there or cannot be read.
    pub fn condition(&self) -> Result<Condition> {
        let stamp = self.stamp()?;
        let files = ["", "-wal", "-journal"].map(|suffix| std::fs::metadata(sidecar(&self.path, suffix)));
        let written_ms = |file: &Metadata| {
            file.mtime().saturating_mul(1_000).saturating_add(file.mtime_nsec() / 1_000_000)
        };
        Ok(Condition {
            bytes: stamp.bytes(),
            log_bytes: stamp.wal_bytes(),
            written_ms: files.iter().flatten().map(written_ms).max().unwrap_or(0),
            reading: match Mode::of(&stamp) {
                Mode::Shared => Reading::BesideLog,
                Mode::Immutable => Reading::AtRest,
                Mode::Plain | Mode::Journal => Reading::Locked,
                Mode::Copy => Reading::Copied,
            },
        })
    }
}

impl View<'_> {
    /// Has `SQLite` look through the file; returns what it finds wrong, at most so many things. Reads every
    /// page, and compares no index with its table.
    pub fn quick_check(&self, findings_max: usize) -> Result<Vec<String>> {
        let sql = format!("PRAGMA main.quick_check({findings_max})");
        let mut findings: Vec<String> = self.all(&sql, [], |row| row.get(0))?;
        findings.retain(|finding| finding != "ok");
        Ok(findings)
    }

    /// Returns the number that the agent gives the archive's version; `None` where it gives none.
    pub fn version(&self) -> Result<Option<i64>> {
        let known = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version'";
        let read = || -> rusqlite::Result<Option<i64>> {
            if self.connection.query_row(known, [], |_| Ok(())).optional()?.is_none() {
                return Ok(None);
            }
            // The number may lag or lead, and may be none.
            let number = "SELECT CAST(version AS INTEGER) FROM schema_version";
            Ok(self.connection.query_row(number, [], |row| row.get(0)).optional()?.flatten())
        };
        read().map_err(|error| self.failed(error))
    }
}

/// Returns the version of the `SQLite` that reads archives.
#[must_use]
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}
