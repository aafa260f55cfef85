//! Reads an agent's SQLite archive and never writes to it: no byte, size, time or sidecar of it
//! changes. The only room that knows SQLite.

mod audit;
mod columns;
mod copy;
mod decode;
mod open;
mod read;
mod stamp;

use std::path::{Path, PathBuf};

pub use audit::{Figures, RouteCounts, Routes};
pub use columns::signature_term;
pub use read::{RawId, RowHead, Signature, View};
pub use stamp::Stamp;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{ARCHIVE_COPY_BYTES_MAX, BATCH_RETRIES_MAX};
use crate::model::Message;

use columns::Columns;
use open::{Mode, SharedCopy};

/// One archive, as one thread reads it. Cheap to make and to clone: a connection lives as long as
/// one read, so no lock of ours outlives it, and every read finds the files as they are then.
#[derive(Clone)]
pub struct Archive {
    path: PathBuf,
    copy_bytes_max: u64,
    copy: SharedCopy,
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
        Ok(Self { path, copy_bytes_max, copy: SharedCopy::default() })
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

    /// Runs `read` over one consistent state of the archive, in one read transaction.
    ///
    /// Where the files cannot be locked without a trace, the result counts only if nothing changed
    /// meanwhile; else `read` runs again, so it must not have effects of its own.
    ///
    /// Fails if the archive is gone, unreadable, or changes faster than `read` can finish. Opening
    /// costs about half a millisecond.
    pub fn read<T>(&self, mut read: impl FnMut(&View<'_>) -> Result<T>) -> Result<T> {
        for _ in 0..BATCH_RETRIES_MAX {
            let stamp = self.stamp()?;
            let result = self.read_once(&stamp, &mut read);
            let is_locked = matches!(&result, Ok((_, mode)) if mode.follows());
            if is_locked || Stamp::take(&self.path).is_ok_and(|after| after == stamp) {
                return result.map(|(value, _)| value);
            }
        }
        Err(Error::new(ErrorKind::ArchiveUnsteady, "read archive", self.path.display())
            .because("it changed during every attempt")
            .hint("try again when the agent is idle"))
    }

    fn read_once<T>(
        &self,
        stamp: &Stamp,
        read: &mut impl FnMut(&View<'_>) -> Result<T>,
    ) -> Result<(T, Mode)> {
        let opened = open::open(&self.path, stamp, self.copy_bytes_max, &self.copy)?;
        let columns = Columns::of(&opened.connection, &self.path)?;
        let value = View::within(&opened.connection, &columns, &self.path, read)?;
        Ok((value, opened.mode))
    }

    /// Returns messages by id from one consistent state, in the order of the ids; `None` where no row
    /// has the id or none was given.
    pub fn messages(&self, ids: &[Option<i64>]) -> Result<Vec<Option<Message>>> {
        self.read(|view| ids.iter().map(|id| id.map_or(Ok(None), |id| view.message(id))).collect())
    }
}
