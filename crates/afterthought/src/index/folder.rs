//! Where an index lives: a folder for each archive, a folder inside it for each generation, and
//! a pointer to the live one that is swapped by rename.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, ErrorKind, Result};

/// The file that names the live generation.
const POINTER: &str = "current";
/// What was last found true without a commit; see the mirror.
const NOTE: &str = "checked.json";

/// The folder of one archive's index.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
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
        Self { path: root.join(format!("{slug}-{hash:016x}").trim_start_matches('-')) }
    }

    /// Returns the folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file for what was last checked.
    #[must_use]
    pub fn note(&self) -> PathBuf {
        self.path.join(NOTE)
    }

    /// Returns the live generation's path; `None` if there is none yet.
    pub fn live(&self) -> Result<Option<PathBuf>> {
        match fs::read_to_string(self.path.join(POINTER)) {
            Ok(name) if is_generation(name.trim()) => Ok(Some(self.path.join(name.trim()))),
            Ok(name) => Err(Error::new(ErrorKind::IndexDamaged, "open index", self.path.display())
                .because(format!("\"{}\" names no generation", name.trim()))
                .hint("delete the folder: the next search builds it again")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unavailable(error)),
        }
    }

    /// Creates the folder, and a generation above every one that is there.
    pub fn new_generation(&self) -> Result<PathBuf> {
        let create = || -> io::Result<PathBuf> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            let number = self.generations()?.into_iter().max().unwrap_or(0) + 1;
            let path = self.path.join(format!("g{number}"));
            fs::DirBuilder::new().mode(0o700).create(&path)?;
            Ok(path)
        };
        create().map_err(|error| self.unavailable(error))
    }

    /// Makes a generation the live one.
    pub fn point_to(&self, generation: &Path) -> Result<()> {
        let point = || -> io::Result<()> {
            let name = generation.file_name().unwrap_or_default();
            replace_file(&self.path.join(POINTER), name.as_encoded_bytes())
        };
        point().map_err(|error| self.unavailable(error))
    }

    /// Removes every generation but the live one. Returns how many there were.
    pub fn drop_others(&self) -> Result<usize> {
        // Another process may be between making a generation and pointing to it.
        let _lock = self.lock()?;
        let live = self.live()?;
        let drop = || -> io::Result<usize> {
            let others = self.generations()?.into_iter().map(|number| self.path.join(format!("g{number}")));
            let others: Vec<_> = others.filter(|path| Some(path) != live.as_ref()).collect();
            others.iter().try_for_each(fs::remove_dir_all)?;
            Ok(others.len())
        };
        drop().map_err(|error| self.unavailable(error))
    }

    /// Keeps other processes from creating a generation meanwhile. Lasts as long as the file is open;
    /// a crash cannot leave it behind.
    pub(super) fn lock(&self) -> Result<fs::File> {
        let lock = || -> io::Result<fs::File> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            let file = fs::OpenOptions::new().create(true).append(true).open(self.path.join("lock"))?;
            file.lock()?;
            Ok(file)
        };
        lock().map_err(|error| self.unavailable(error))
    }

    fn generations(&self) -> io::Result<Vec<u64>> {
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

fn is_generation(name: &str) -> bool {
    generation_number(name).is_some()
}

fn generation_number(name: &str) -> Option<u64> {
    name.strip_prefix('g')?.parse().ok()
}

/// Replaces a small file in one step, readable by its owner only.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file =
        tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o600)).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
