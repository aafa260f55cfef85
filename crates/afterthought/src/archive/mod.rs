//! Reads an agent's SQLite archive and never writes to it: no byte, size, time or sidecar of it
//! changes. The only room that knows SQLite.

mod audit;
mod columns;
mod decode;
mod open;
mod read;
mod stamp;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use audit::{Figures, RouteCounts, Routes};
pub use columns::signature_term;
pub use read::{RowHead, Signature, View};
pub use stamp::Stamp;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{ARCHIVE_COPY_BYTES_MAX, BATCH_RETRIES_MAX};
use crate::model::Message;

use columns::Columns;
use open::{Mode, Opened, SharedCopy};

/// One archive, as one thread reads it. The connection is opened on first use, reopened when the
/// files' state asks for it, and holds no transaction between reads.
pub struct Archive {
    path: PathBuf,
    copy_bytes_max: u64,
    copy: SharedCopy,
    opened: Option<(Opened, Columns)>,
}

impl Archive {
    /// Names an archive. Fails if no file is there; opens nothing yet.
    pub fn at(path: &Path, allow_copy: bool) -> Result<Self> {
        let path = path.canonicalize().map_err(|error| {
            Error::new(ErrorKind::ArchiveUnavailable, "open archive", path.display())
                .because(error)
                .hint("give its path with --archive, or try: aft demo")
        })?;
        if path.is_dir() {
            return Err(Error::new(ErrorKind::ArchiveUnrecognized, "open archive", path.display())
                .because("it is a folder")
                .hint("give the path of the state.db inside it"));
        }
        let copy_bytes_max = if allow_copy { u64::MAX } else { ARCHIVE_COPY_BYTES_MAX };
        Ok(Self { path, copy_bytes_max, copy: SharedCopy::default(), opened: None })
    }

    /// Returns another handle to the same archive, for another thread.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            path: self.path.clone(),
            copy_bytes_max: self.copy_bytes_max,
            copy: Arc::clone(&self.copy),
            opened: None,
        }
    }

    /// Returns the archive's canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the stamp of the archive's files.
    pub fn stamp(&self) -> Result<Stamp> {
        Stamp::take(&self.path).map_err(|error| {
            Error::new(ErrorKind::ArchiveUnavailable, "read archive", self.path.display()).because(error)
        })
    }

    /// Closes the connection, and with it every lock on the files.
    pub fn close(&mut self) {
        self.opened = None;
    }

    /// Runs `read` over one consistent state of the archive, in one read transaction.
    ///
    /// Where the files cannot be locked without a trace, the result counts only if nothing changed
    /// meanwhile; else `read` runs again, so it must not have effects of its own.
    ///
    /// Fails if the archive is gone, unreadable, or changes faster than `read` can finish.
    pub fn read<T>(&mut self, mut read: impl FnMut(&View<'_>) -> Result<T>) -> Result<T> {
        for _ in 0..BATCH_RETRIES_MAX {
            let path = self.path.clone();
            let (opened, columns) = self.current()?;
            let result = View::within(&opened.connection, columns, &path, &mut read);
            if opened.mode.follows() {
                return result;
            }
            if Stamp::take(&path).is_ok_and(|after| after == opened.stamp) {
                return result;
            }
            self.opened = None;
        }
        Err(Error::new(ErrorKind::ArchiveUnsteady, "read archive", self.path.display())
            .because("it changed during every attempt")
            .hint("try again when the agent is idle"))
    }

    /// Returns messages by id from one consistent state, in the order of the ids; `None` where no row
    /// has the id or none was given.
    pub fn messages(&mut self, ids: &[Option<i64>]) -> Result<Vec<Option<Message>>> {
        self.read(|view| ids.iter().map(|id| id.map_or(Ok(None), |id| view.message(id))).collect())
    }

    /// Returns a connection that fits the present state of the files.
    fn current(&mut self) -> Result<(&Opened, &Columns)> {
        let stamp = self.stamp()?;
        let fits = self.opened.as_ref().is_some_and(|(opened, _)| {
            opened.stamp == stamp
                || (opened.mode.follows()
                    && opened.mode == Mode::of(&stamp)
                    && opened.stamp.same_file(&stamp))
        });
        if !fits {
            self.opened = None;
            let opened = open::open(&self.path, stamp, self.copy_bytes_max, &self.copy)?;
            let columns = Columns::of(&opened.connection, &self.path)?;
            self.opened = Some((opened, columns));
        }
        let (opened, columns) = self.opened.as_ref().expect("opened just above");
        Ok((opened, columns))
    }
}
