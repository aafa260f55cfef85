//! The profiles of an agent: which there are, and each one's archive and index, opened when first asked
//! for. A profile that cannot be opened is tried again at the next call, and the others answer.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use afterthought::archive::Archive;
use afterthought::{Options, Page, SearchRequest, Warning};
use parking_lot::Mutex;

use crate::lazy::{LazyEngine, Waits};
use crate::sight::Sight;
use crate::{Config, Refusal};

/// The name of the profile at the root.
const DEFAULT: &str = "default";
/// The file of a profile's archive.
const ARCHIVE: &str = "state.db";
/// Longest name of a profile, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Every profile below one root.
pub(crate) struct Profiles {
    archive: PathBuf,
    root: PathBuf,
    index_root: PathBuf,
    waits: Waits,
    allow_copy: bool,
    /// The only person who asks. What other profiles there are is not for them.
    user: Option<String>,
    /// The engine of the archive that asks, where others ask it as well.
    own: Option<Arc<LazyEngine>>,
    open: Mutex<HashMap<PathBuf, Arc<Profile>>>,
}

impl Profiles {
    pub(crate) fn new(config: &Config, own: Option<Arc<LazyEngine>>) -> Self {
        Self {
            archive: config.archive.clone(),
            root: config.root.clone(),
            index_root: config.index_root.clone(),
            waits: Waits { fresh: config.wait, first: config.wait },
            allow_copy: config.allow_copy,
            user: config.user.clone(),
            own,
            open: Mutex::default(),
        }
    }

    /// Returns a profile by its name, or the one that asks. Fails if there is none of that name, or it
    /// has no archive.
    pub(crate) fn profile(&self, name: Option<&str>) -> Result<Arc<Profile>, Refusal> {
        let path = match name {
            Some(name) => self.path(name)?,
            None => self.archive.clone(),
        };
        let mut open = self.open.lock();
        if let Some(profile) = open.get(&path) {
            return Ok(Arc::clone(profile));
        }
        if !path.is_file() {
            if let (Some(name), true) = (name, self.user.is_some()) {
                return Err(self.absent(name));
            }
            let what = name.map_or_else(|| "the profile".to_owned(), |name| format!("profile \"{name}\""));
            let message = format!("{what} has no archive: {} is not there", path.display());
            return Err(Refusal::new(message).or_hint(|| self.hint()));
        }
        let archive = Archive::at(&path, self.allow_copy)?;
        let shared = self.own.as_ref().filter(|_| path == self.archive).cloned();
        let engine = shared.unwrap_or_else(|| self.engine(&path));
        let profile = Arc::new(Profile { archive, engine });
        open.insert(path, Arc::clone(&profile));
        Ok(profile)
    }

    fn engine(&self, path: &Path) -> Arc<LazyEngine> {
        let mut options = Options::new(path, &self.index_root);
        options.allow_copy = self.allow_copy;
        options.user.clone_from(&self.user);
        Arc::new(LazyEngine::new(options, self.waits))
    }

    /// Says which other profiles there are, if any, to who may know of them.
    pub(crate) fn hint(&self) -> Option<String> {
        if self.user.is_some() {
            return None;
        }
        let names = self.names();
        (names.len() > 1).then(|| {
            format!("what another profile holds is read with profile; there are: {}", names.join(", "))
        })
    }

    fn path(&self, name: &str) -> Result<PathBuf, Refusal> {
        let canonical = name.trim().to_lowercase();
        let own = self.archive.parent();
        let home = if canonical == DEFAULT {
            self.root.clone()
        } else {
            self.root.join("profiles").join(&canonical)
        };
        // The archive that was given stands for its profile, whatever its file is called.
        if own == Some(home.as_path()) {
            return Ok(self.archive.clone());
        }
        if canonical == DEFAULT || (is_name(&canonical) && home.is_dir()) {
            return Ok(home.join(ARCHIVE));
        }
        Err(self.absent(name))
    }

    fn absent(&self, name: &str) -> Refusal {
        let there = if self.user.is_some() {
            String::new()
        } else {
            format!("profiles: {}; ", self.names().join(", "))
        };
        Refusal::new(format!("profile \"{name}\" is not there"))
            .hint(format!("{there}leave profile out for the one that asks"))
    }

    fn names(&self) -> Vec<String> {
        profiles_below(&self.root).into_iter().map(|(name, _)| name).collect()
    }
}

/// Returns the profiles below an agent's root, each with the path of its archive, which may not be there:
/// `default` first, then the others by name.
#[must_use]
pub fn profiles_below(root: &Path) -> Vec<(String, PathBuf)> {
    let folders = fs::read_dir(root.join("profiles")).into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.path().is_dir());
    let named = folders.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    let mut profiles: Vec<(String, PathBuf)> = named
        .filter(|(name, _)| is_name(name) && name != DEFAULT)
        .map(|(name, home)| (name, home.join(ARCHIVE)))
        .collect();
    profiles.sort_unstable();
    profiles.insert(0, (DEFAULT.to_owned(), root.join(ARCHIVE)));
    profiles
}

/// Tells whether a folder can be a profile's: nothing that leads elsewhere can.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let starts = name.bytes().next().is_some_and(plain);
    starts && name.len() <= NAME_BYTES_MAX && name.bytes().all(|byte| plain(byte) || b"_-".contains(&byte))
}

/// One profile's archive, and its index once a query asked for it.
pub(crate) struct Profile {
    archive: Archive,
    engine: Arc<LazyEngine>,
}

impl Profile {
    /// Reads one consistent state of the archive, as far as `user` may see it.
    pub(crate) fn read<T>(
        &self,
        user: Option<&str>,
        mut read: impl FnMut(&Sight<'_>) -> afterthought::Result<T>,
    ) -> afterthought::Result<T> {
        self.archive.read(|view| read(&Sight::new(view, user)))
    }

    /// Brings the index up to date, and returns what there is to say about that. Waits for a while at
    /// most; what is missing then is said by every page.
    pub(crate) fn freshen(&self) -> afterthought::Result<Option<Warning>> {
        self.engine.freshen()
    }

    /// Answers a search from the last commit.
    pub(crate) fn search(&self, request: SearchRequest) -> afterthought::Result<Page> {
        self.engine.with(|engine| engine.search(request))
    }
}
