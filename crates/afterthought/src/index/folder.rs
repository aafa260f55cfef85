//! Where an index lives: a folder for each archive, a folder inside it for each generation, and
//! pointers that say what the generations are for, swapped by rename.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tantivy::directory::error::OpenDirectoryError;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, ErrorKind, Result, quoted};
use crate::limits::{LOCK_POLL_MS, LOCK_WAIT_MS_MAX, STAGE_AGE_S_MAX};

use super::storage::{Disk, Place, Storage};

/// What a generation is for. Each use has a file that names its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// The one that answers.
    Live,
    /// The one that is being built to take its place.
    Staged,
    /// The one that answered before.
    Previous,
}

/// The file that is locked by who changes pointers.
pub(super) const LOCK: &str = "lock";
/// The file whose lock is the right to build beside the live generation.
pub(super) const STAGE_LOCK: &str = "reindex.lock";

impl Use {
    const ALL: [Use; 3] = [Use::Live, Use::Staged, Use::Previous];

    fn pointer(self) -> &'static str {
        match self {
            Use::Live => "current",
            Use::Staged => "next",
            Use::Previous => "previous",
        }
    }
}

/// The folder of one archive's index.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    storage: Arc<dyn Storage>,
}

impl Folder {
    /// Names the folder of an archive below an index root. Touches nothing.
    #[must_use]
    pub fn of(root: &Path, archive: &Path) -> Self {
        let hash = xxh3_64(archive.as_os_str().as_encoded_bytes());
        let slug: String = archive
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default()
            .to_string_lossy()
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_')
            .take(32)
            .collect();
        let path = root.join(format!("{slug}-{hash:016x}").trim_start_matches('-'));
        Self { path, storage: Arc::new(Disk) }
    }

    /// Keeps the files of its generations in another place than on disk.
    #[must_use]
    pub fn over(self, storage: Arc<dyn Storage>) -> Self {
        Self { storage, ..self }
    }

    /// Opens the place of a generation's files.
    pub(super) fn open(&self, generation: &Path) -> std::result::Result<Place, OpenDirectoryError> {
        Place::open(&self.storage, generation)
    }

    /// Returns the folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the live generation's path; `None` if there is none yet.
    pub fn live(&self) -> Result<Option<PathBuf>> {
        self.named(Use::Live)
    }

    /// Returns the path of the generation that is being built beside the live one; `None` if none is.
    pub(super) fn staged(&self) -> Result<Option<PathBuf>> {
        self.named(Use::Staged)
    }

    fn named(&self, usage: Use) -> Result<Option<PathBuf>> {
        match fs::read_to_string(self.path.join(usage.pointer())) {
            Ok(name) if is_generation(name.trim()) => Ok(Some(self.path.join(name.trim()))),
            Ok(name) => Err(Error::new(ErrorKind::IndexDamaged, "open index", self.path.display())
                .because(format!(
                    "its file {} says \"{}\", which is no generation",
                    usage.pointer(),
                    name.trim()
                ))
                .hint("run: aft reindex")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unavailable(error)),
        }
    }

    /// Creates the folder, and a generation above every one that is there.
    pub(super) fn new_generation(&self) -> Result<PathBuf> {
        let create = || -> io::Result<PathBuf> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            let number = self.generations()?.into_iter().max().unwrap_or(0) + 1;
            let path = self.generation(number);
            fs::DirBuilder::new().mode(0o700).create(&path)?;
            Ok(path)
        };
        create().map_err(|error| self.unavailable(error))
    }

    /// Makes a generation the live one.
    pub(super) fn make_live(&self, generation: &Path) -> Result<()> {
        self.point(Use::Live, generation).map_err(|error| self.unavailable(error))
    }

    /// Says that a generation is being built to take the live one's place.
    pub(super) fn stage(&self, generation: &Path) -> Result<()> {
        self.point(Use::Staged, generation).map_err(|error| self.unavailable(error))
    }

    /// Makes the staged generation the live one, and the live one the previous one, whose path is
    /// returned; older ones go. A crash at any point leaves one of the two live, whole.
    pub fn swap(&self) -> Result<Option<PathBuf>> {
        let _lock = self.lock()?;
        let staged = self.staged()?.ok_or_else(|| self.nothing_staged())?;
        // A pointer that names nothing is replaced like any other.
        let before = self.live().ok().flatten().filter(|path| path.is_dir() && *path != staged);
        let swap = || -> io::Result<()> {
            match &before {
                Some(before) => self.point(Use::Previous, before)?,
                None => self.unpoint(Use::Previous)?,
            }
            self.point(Use::Live, &staged)?;
            self.unpoint(Use::Staged)
        };
        swap().map_err(|error| self.unavailable(error))?;
        if let Err(error) = self.prune_locked() {
            // Another process may still write there; a later sync removes it.
            tracing::warn!(%error, "an older generation of the index stays on disk");
        }
        Ok(before)
    }

    /// Returns the path of the generation that answered before; `None` if none is kept.
    pub(crate) fn previous(&self) -> Result<Option<PathBuf>> {
        self.named(Use::Previous)
    }

    /// Makes the previous generation the live one, and the live one the previous. The caller holds the
    /// right to build; what was left unfinished goes. A crash at any point leaves one of the two live,
    /// whole, and the other on disk: as the previous one, or to be gone on with by the next rebuild, which
    /// compares what it holds.
    pub(crate) fn swap_back(&self, _nobody_builds: &fs::File) -> Result<()> {
        let _lock = self.lock()?;
        let back = self.previous()?.ok_or_else(|| self.nothing_previous())?;
        // A pointer that names nothing is replaced like any other.
        let before = self.live().ok().flatten().filter(|path| path.is_dir() && *path != back);
        let swap = || -> io::Result<()> {
            let Some(before) = &before else {
                self.point(Use::Live, &back)?;
                return self.unpoint(Use::Previous);
            };
            self.point(Use::Staged, before)?;
            self.point(Use::Live, &back)?;
            self.point(Use::Previous, before)?;
            self.unpoint(Use::Staged)
        };
        swap().map_err(|error| self.unavailable(error))
    }

    /// Says that no generation is kept to go back to.
    pub(crate) fn nothing_previous(&self) -> Error {
        Error::new(ErrorKind::IndexMissing, "roll back index", self.path.display())
            .because("no generation before the live one is kept: none was replaced since, or rows left the archive, and it went with them")
            .hint("run: aft reindex")
    }

    /// Removes every generation that has no use any more. A stage that nobody builds has none once it
    /// is older than [`STAGE_AGE_S_MAX`]. Fails as locked while another process changes the folder.
    pub fn prune(&self) -> Result<()> {
        // Another process may be between making a generation and pointing to it. Nobody waits for it: what
        // is old can go later.
        let _lock = self.lock_within(Duration::ZERO)?;
        if self.is_stage_old()
            && let Ok(_nobody_builds) = self.lock_stage()
        {
            self.unpoint(Use::Staged).map_err(|error| self.unavailable(error))?;
        }
        self.prune_locked()
    }

    /// Removes every generation but the live one, and one that is being built. Fails as locked if another
    /// process keeps the folder from being changed.
    pub fn forget_kept(&self) -> Result<()> {
        let _lock = self.lock()?;
        let _nobody_builds = match self.lock_stage() {
            Ok(lock) => {
                self.unpoint(Use::Staged).map_err(|error| self.unavailable(error))?;
                Some(lock)
            }
            Err(error) if error.kind() == ErrorKind::IndexLocked => None,
            Err(error) => return Err(error),
        };
        self.unpoint(Use::Previous).map_err(|error| self.unavailable(error))?;
        self.prune_locked()
    }

    fn is_stage_old(&self) -> bool {
        let touched = fs::metadata(self.path.join(Use::Staged.pointer())).and_then(|file| file.modified());
        let age = touched.ok().and_then(|touched| touched.elapsed().ok());
        age.is_some_and(|age| age.as_secs() > STAGE_AGE_S_MAX.unsigned_abs())
    }

    /// Removes every generation that no pointer names, where the folder is locked.
    pub(super) fn prune_locked(&self) -> Result<()> {
        let mut used = Vec::new();
        for usage in Use::ALL {
            used.extend(self.named(usage)?);
        }
        let prune = || -> io::Result<()> {
            let paths = self.generations()?.into_iter().map(|number| self.generation(number));
            paths.filter(|path| !used.contains(path)).try_for_each(fs::remove_dir_all)
        };
        prune().map_err(|error| self.unavailable(error))
    }

    fn point(&self, usage: Use, generation: &Path) -> io::Result<()> {
        let name = generation.file_name().unwrap_or_default();
        let file = new_file(&self.path, name.as_encoded_bytes())?;
        file.as_file().sync_data()?;
        file.persist(self.path.join(usage.pointer()))?;
        Ok(())
    }

    fn unpoint(&self, usage: Use) -> io::Result<()> {
        match fs::remove_file(self.path.join(usage.pointer())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Keeps other processes from creating a generation meanwhile. Lasts as long as the file is open;
    /// a crash cannot leave it behind. Fails as locked if somebody else has it for [`LOCK_WAIT_MS_MAX`],
    /// which none of our own processes does.
    pub(super) fn lock(&self) -> Result<fs::File> {
        self.lock_within(Duration::from_millis(LOCK_WAIT_MS_MAX))
    }

    fn lock_within(&self, wait: Duration) -> Result<fs::File> {
        let open = || -> io::Result<fs::File> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            self.lock_file(LOCK)
        };
        let file = open().map_err(|error| self.unavailable(error))?;
        let taken = taken_within(wait, || match file.try_lock() {
            Ok(()) => Ok(Some(())),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        });
        match taken.map_err(|error| self.unavailable(error))? {
            Some(()) => Ok(file),
            None => Err(Error::new(ErrorKind::IndexLocked, "lock index", self.path.display())
                .because(format!("another process holds its file \"{LOCK}\""))
                .hint(format!(
                    "try again; if it lasts, see which process that is: lsof {}",
                    quoted(&self.path.join(LOCK))
                ))),
        }
    }

    /// Takes the right to build beside the live generation, for as long as the file is open. Fails
    /// with `index-locked` if somebody has it.
    pub fn lock_stage(&self) -> Result<fs::File> {
        let open = || -> io::Result<fs::File> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            self.lock_file(STAGE_LOCK)
        };
        let file = open().map_err(|error| self.unavailable(error))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => {
                Err(Error::new(ErrorKind::IndexLocked, "reindex into", self.path.display())
                    .because("another process is building there")
                    .hint("wait for it to finish; searches work meanwhile"))
            }
            Err(fs::TryLockError::Error(error)) => Err(self.unavailable(error)),
        }
    }

    fn lock_file(&self, name: &str) -> io::Result<fs::File> {
        fs::OpenOptions::new().create(true).append(true).mode(0o600).open(self.path.join(name))
    }

    /// Returns the folder of a generation.
    pub(super) fn generation(&self, number: u64) -> PathBuf {
        self.path.join(format!("g{number}"))
    }

    fn nothing_staged(&self) -> Error {
        Error::new(ErrorKind::Internal, "swap index", self.path.display())
            .because("no generation is being built beside it")
            .hint("run: aft reindex")
    }

    /// Returns the numbers of the generations on disk, in no order.
    pub(super) fn generations(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            numbers.extend(name.to_str().and_then(generation_number));
        }
        Ok(numbers)
    }

    fn unavailable(&self, error: io::Error) -> Error {
        Error::new(ErrorKind::IndexUnavailable, "open index", self.path.display())
            .because(error)
            .hint("name another folder with --index")
    }
}

/// Asks for a lock until it is had, or until the wait is over: `None`. Nobody is waited for without end.
pub(super) fn taken_within<T, E>(
    wait: Duration,
    mut take: impl FnMut() -> std::result::Result<Option<T>, E>,
) -> std::result::Result<Option<T>, E> {
    let began = Instant::now();
    loop {
        match take()? {
            None if began.elapsed() < wait => std::thread::sleep(Duration::from_millis(LOCK_POLL_MS)),
            taken => return Ok(taken),
        }
    }
}

fn is_generation(name: &str) -> bool {
    generation_number(name).is_some()
}

fn generation_number(name: &str) -> Option<u64> {
    name.strip_prefix('g')?.parse().ok()
}

/// Replaces a small file in one step, which a power cut does not undo afterwards. Fails if the folder cannot
/// be written.
pub(crate) fn replace_file_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let file = new_file(folder, bytes)?;
    file.as_file().sync_data()?;
    file.persist(path)?;
    fs::File::open(folder)?.sync_all()
}

/// Replaces a small file in one step, readable by its owner only. After a power cut it may be the old
/// one, or hold nothing.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    new_file(path.parent().unwrap_or(Path::new(".")), bytes)?.persist(path)?;
    Ok(())
}

fn new_file(folder: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    use std::io::Write;
    let mut file =
        tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o600)).tempfile_in(folder)?;
    file.write_all(bytes)?;
    Ok(file)
}
