//! Reads an agent's SQLite archive and never writes to it: no byte, size, time or sidecar of it
//! changes. The only room that knows SQLite.

mod audit;
mod columns;
mod condition;
mod copy;
mod decode;
mod layout;
mod layout_file;
mod open;
mod read;
mod stamp;
mod stored;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

pub use audit::{Figures, RouteCounts, Routes};
pub use columns::signature_term;
pub use condition::{Condition, Reading, sqlite_version};
pub use layout::Layout;
pub use read::{RawId, RowHead, Signature, View};
pub use stamp::Stamp;
pub use stored::{RowOutline, StoredMessage, StoredSession};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{ARCHIVE_COPY_BYTES_MAX, ARCHIVE_IDLE_MAX, BATCH_RETRIES_MAX};
use crate::model::Message;
use crate::time::now_ms;

use columns::Columns;
use open::{Mode, Opened, SharedCopy};

/// One archive, as one thread reads it. Cheap to make and to clone. A connection that locks anything lives
/// as long as one read, so no lock of ours outlives it; one that locks nothing is kept for as long as the
/// files' stamp proves that they are what it read.
#[derive(Clone)]
pub struct Archive {
    path: PathBuf,
    /// How it is laid out, where that is not left to its tables.
    layout: Option<Layout>,
    copy_bytes_max: u64,
    copy: SharedCopy,
    idle: Arc<Mutex<Vec<Idle>>>,
    /// The columns of the last schema that was read, by its hash.
    columns: Arc<Mutex<LastColumns>>,
}

type LastColumns = Option<(u64, Arc<Columns>)>;

/// A connection that waits for the next read, and what the files were like when it was opened.
struct Idle {
    stamp: Stamp,
    opened: Opened,
    columns: Arc<Columns>,
}

impl Archive {
    /// Names an archive. Fails if no file is there; opens nothing yet.
    pub fn at(path: &Path, allow_copy: bool) -> Result<Self> {
        let path = path.canonicalize().map_err(|error| {
            Error::new(ErrorKind::ArchiveUnavailable, "open archive", path.display())
                .because(error)
                .hint("give its path with --archive, or try: aft demo")
        })?;
        if !path.is_file() {
            // Opening a pipe would wait for who writes into it.
            let (what, hint) = if path.is_dir() {
                ("it is a folder", "give the path of the state.db inside it")
            } else {
                ("it is no regular file", "give the path of an agent's state.db with --archive")
            };
            return Err(Error::new(ErrorKind::ArchiveUnrecognized, "open archive", path.display())
                .because(what)
                .hint(hint));
        }
        let copy_bytes_max = if allow_copy { u64::MAX } else { ARCHIVE_COPY_BYTES_MAX };
        Ok(Self {
            path,
            layout: None,
            copy_bytes_max,
            copy: SharedCopy::default(),
            idle: Arc::default(),
            columns: Arc::default(),
        })
    }

    /// Reads it by a layout that is given, whatever its tables look like.
    #[must_use]
    pub fn laid_out(self, layout: Option<Layout>) -> Self {
        Self { layout, ..self }
    }

    /// Returns the archive's canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how the archive is laid out: the name of a layout, or `hermes`.
    pub fn layout(&self) -> Result<String> {
        self.read(|view| Ok(view.layout().to_owned()))
    }

    /// Fails if the archive is not Hermes': other agents have no search of their own to compare with, and
    /// no tool of that name to answer for.
    pub fn must_be_hermes(&self, act: &'static str) -> Result<()> {
        let layout = self.layout()?;
        if layout == layout::HERMES {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Usage, act, self.path.display())
            .because(format!("its layout is \"{layout}\", and only a Hermes archive has what this needs"))
            .hint("aft search, sessions, session and show read it"))
    }

    /// Takes the stamp of the archive's files, read by its layout.
    pub fn stamp(&self) -> Result<Stamp> {
        let layout = self.layout.as_ref().map_or(0, Layout::mark);
        Stamp::take(&self.path).map(|stamp| stamp.read_by(layout)).map_err(|error| {
            Error::new(ErrorKind::ArchiveUnavailable, "read archive", self.path.display())
                .because(error)
                .hint("check that the file is there, and the permissions of it and its folder")
        })
    }

    /// Runs `read` over one consistent state of the archive, in one read transaction.
    ///
    /// Where the files cannot be locked without a trace, the result counts only if nothing changed
    /// meanwhile; else `read` runs again, so it must not have effects of its own.
    ///
    /// Fails if the archive is gone, unreadable, or changes faster than `read` can finish. Opening
    /// costs a quarter of a millisecond, and nothing while the files stay as they are and no log of a
    /// writer stands beside them.
    pub fn read<T>(&self, mut read: impl FnMut(&View<'_>) -> Result<T>) -> Result<T> {
        for _ in 0..BATCH_RETRIES_MAX {
            let (stamp, stamped_ms) = (self.stamp()?, now_ms());
            let result = self.read_once(&stamp, &mut read);
            let mode = result.as_ref().ok().map(|(_, used)| used.opened.mode);
            if mode.is_some_and(Mode::follows) || self.stamp().is_ok_and(|after| after == stamp) {
                let (value, used) = result?;
                // A write of the same tick would not show in a later stamp.
                if used.opened.mode.rests() && stamp.is_settled(stamped_ms) {
                    self.keep_idle(used);
                }
                return Ok(value);
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
    ) -> Result<(T, Idle)> {
        let used = self.take_idle(stamp).map_or_else(|| self.open(stamp), Ok)?;
        let value = View::within(&used.opened.connection, &used.columns, &self.path, read)?;
        Ok((value, used))
    }

    fn open(&self, stamp: &Stamp) -> Result<Idle> {
        let opened = open::open(&self.path, stamp, self.copy_bytes_max, &self.copy)?;
        let columns = self.columns_of(&opened)?;
        Ok(Idle { stamp: stamp.clone(), opened, columns })
    }

    fn columns_of(&self, opened: &Opened) -> Result<Arc<Columns>> {
        let mut last = self.columns.lock();
        if let Some((_, columns)) = last.as_ref().filter(|(schema, _)| *schema == opened.schema) {
            // Views are the connection's own.
            if !columns.views.is_empty() {
                layout::lay(&opened.connection, &columns.views)
                    .map_err(|error| open::unread("read archive", &self.path, error))?;
            }
            return Ok(Arc::clone(columns));
        }
        let columns = Arc::new(Columns::of(&opened.connection, &self.path, self.layout.as_ref())?);
        *last = Some((opened.schema, Arc::clone(&columns)));
        Ok(columns)
    }

    /// Returns a connection to the files as they are, and closes those to what they were.
    fn take_idle(&self, stamp: &Stamp) -> Option<Idle> {
        let mut idle = self.idle.lock();
        idle.retain(|idle| idle.stamp == *stamp);
        idle.pop()
    }

    /// Closes the connections that wait and removes the private copy, for a process that is about to end.
    pub(crate) fn let_go(&self) {
        self.idle.lock().clear();
        *self.copy.lock() = None;
    }

    fn keep_idle(&self, one: Idle) {
        let mut idle = self.idle.lock();
        if idle.len() < ARCHIVE_IDLE_MAX {
            idle.push(one);
        }
    }

    /// Returns messages by id from one consistent state, in the order of the ids; `None` where no row
    /// has the id or none was given.
    pub fn messages(&self, ids: &[Option<i64>]) -> Result<Vec<Option<Message>>> {
        self.read(|view| ids.iter().map(|id| id.map_or(Ok(None), |id| view.message(id))).collect())
    }
}
