//! What stands in an index folder, by looking alone: generations and what they are for, and who holds a
//! lock. Creates nothing, writes nothing, waits for nobody.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tantivy::directory::INDEX_WRITER_LOCK;

use crate::error::{Error, ErrorKind, Result};

use super::folder::{Folder, LOCK, STAGE_LOCK};
use super::store::generation_bytes;

/// What stands in an index folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The generations, the oldest first.
    pub generations: Vec<Generation>,
    /// What others are doing there now.
    pub at_work: Vec<Work>,
}

/// A generation on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its folder.
    pub path: PathBuf,
    /// What it is for.
    pub role: Role,
    /// Its size, in bytes.
    pub bytes: u64,
}

/// What a generation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It answers.
    Live,
    /// It is being built, or was left unfinished.
    Staged,
    /// It answered before, and is kept.
    Previous,
    /// Nothing: the next sync that prunes removes it.
    Unused,
}

/// What a lock says that another process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Writing the live generation.
    Writing,
    /// Building beside it.
    Rebuilding,
    /// Changing what generations there are.
    Changing,
}

impl Folder {
    /// Looks at what stands there; `None` where there is no folder. Fails if it cannot be read, or if a
    /// pointer names no generation. A lock that nobody has is taken for an instant to tell.
    pub fn survey(&self) -> Result<Option<Survey>> {
        let mut numbers = match self.generations() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            numbers => numbers.map_err(|error| self.unseen(error))?,
        };
        numbers.sort_unstable();
        let (live, staged, previous) = (self.live()?, self.staged()?, self.previous()?);
        let mut generations = Vec::new();
        for path in numbers.into_iter().map(|number| self.generation(number)).filter(|path| path.is_dir()) {
            let is = |named: &Option<PathBuf>| named.as_ref() == Some(&path);
            let role = match () {
                () if is(&live) => Role::Live,
                () if is(&staged) => Role::Staged,
                () if is(&previous) => Role::Previous,
                () => Role::Unused,
            };
            generations.push(Generation { role, bytes: generation_bytes(&path), path });
        }
        let mut at_work = Vec::new();
        let writer_lock = live.map(|live| live.join(&INDEX_WRITER_LOCK.filepath));
        for (lock, work) in [
            (writer_lock, Work::Writing),
            (Some(self.path().join(STAGE_LOCK)), Work::Rebuilding),
            (Some(self.path().join(LOCK)), Work::Changing),
        ] {
            if let Some(lock) = lock
                && is_held(&lock).map_err(|error| self.unseen(error))?
            {
                at_work.push(work);
            }
        }
        Ok(Some(Survey { generations, at_work }))
    }

    fn unseen(&self, error: io::Error) -> Error {
        Error::new(ErrorKind::IndexUnavailable, "look at index", self.path().display())
            .because(error)
            .hint("check the folder's permissions, or name another with --index")
    }
}

/// Tells whether another process holds a lock. A lock for readers is asked for: it is refused where a
/// writer has the file, and two who look do not take each other for one.
fn is_held(lock: &Path) -> io::Result<bool> {
    let file = match fs::File::open(lock) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(fs::TryLockError::WouldBlock) => Ok(true),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}
