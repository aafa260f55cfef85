//! Settings: a flag, else the environment, else the configuration file, else the default.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use afterthought::{Error, ErrorKind};
use etcetera::BaseStrategy;
use serde::Deserialize;
use serde_json::json;

use crate::args::Global;
use crate::fail::Failure;
use crate::profiles;
use crate::stdout::{print_json, print_text};

/// The configuration file, `afterthought/config.toml` in the user's configuration folder.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    archive: Option<PathBuf>,
    index: Option<PathBuf>,
    /// Archives by the name that `--profile` takes.
    #[serde(default)]
    archives: BTreeMap<String, PathBuf>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag,
    Environment,
    File,
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
        })
    }
}

/// A setting and where it comes from.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) value: PathBuf,
    pub(crate) origin: Origin,
}

/// Returns the archive and the folder for indexes.
pub(crate) fn settings(global: &Global) -> Result<[Setting; 2], Failure> {
    let file = read_file()?;
    let profile = global.profile.as_deref().map(profiles::named).transpose()?;
    settings_of(global, &file, profile.as_ref())
}

/// Returns the same by what a file says, and by the archive of the profile that was named.
pub(crate) fn settings_of(
    global: &Global,
    file: &File,
    profile: Option<&PathBuf>,
) -> Result<[Setting; 2], Failure> {
    let (archive, index) = (file.archive.clone(), file.index.clone());
    let archive = match first(profile.or(global.archive.as_ref()), "AFTERTHOUGHT_ARCHIVE", archive) {
        Some(found) => found,
        None => (default_archive()?, Origin::Default),
    };
    let index = match first(global.index.as_ref(), "AFTERTHOUGHT_INDEX", index) {
        Some(found) => found,
        None => (default_index()?, Origin::Default),
    };
    Ok([("archive", archive), ("index", index)].map(|(name, (value, origin))| Setting {
        name,
        value,
        origin,
    }))
}

fn first(flag: Option<&PathBuf>, variable: &str, file: Option<PathBuf>) -> Option<(PathBuf, Origin)> {
    let environment = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let flag = flag.map(|path| (path.clone(), Origin::Flag));
    flag.or(environment.map(|path| (path, Origin::Environment))).or(file.map(|path| (path, Origin::File)))
}

/// Reads the configuration file; what stands where there is none.
pub(crate) fn read_file() -> Result<File, Failure> {
    let Some(path) = file_path() else { return Ok(File::default()) };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            // Often another user's home: no reason to refuse, and a reason to say so.
            tell!("aft: note: read {}: {error}; its settings are not used", path.display());
            return Ok(File::default());
        }
        Err(error) => return Err(Failure::Usage(format!("read {}: {error}", path.display()))),
    };
    toml::from_str(&text)
        .map_err(|error| Failure::Usage(format!("read {}: {}", path.display(), error.to_string().trim_end())))
}

/// Returns where the configuration file is or would be.
pub(crate) fn file_path() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("afterthought").join("config.toml"))
}

/// Returns the archives that the configuration file gives names to.
pub(crate) fn named_archives() -> Result<BTreeMap<String, PathBuf>, Failure> {
    Ok(read_file()?.named_archives())
}

impl File {
    pub(crate) fn named_archives(&self) -> BTreeMap<String, PathBuf> {
        let at_home = |path: &PathBuf| match path.strip_prefix("~") {
            Ok(inside) => etcetera::home_dir().map_or_else(|_| path.clone(), |home| home.join(inside)),
            Err(_) => path.clone(),
        };
        self.archives.iter().map(|(name, path)| (name.clone(), at_home(path))).collect()
    }
}

pub(crate) fn default_archive() -> Result<PathBuf, Failure> {
    if let Some(home) = std::env::var_os("HERMES_HOME").filter(|home| !home.is_empty()) {
        return Ok(PathBuf::from(home).join("state.db"));
    }
    let home = etcetera::home_dir().map_err(|error| {
        Error::new(ErrorKind::ArchiveUnavailable, "find", "the archive")
            .because(error)
            .hint("name it with --archive, or try: aft demo")
    })?;
    Ok(home.join(".hermes").join("state.db"))
}

fn default_index() -> Result<PathBuf, Failure> {
    let strategy = etcetera::choose_base_strategy().map_err(|error| {
        Error::new(ErrorKind::IndexUnavailable, "find", "a folder for the index")
            .because(error)
            .hint("name one with --index")
    })?;
    Ok(strategy.data_dir().join("afterthought"))
}

/// `aft config show`.
pub(crate) fn show(global: &Global, with_origin: bool) -> Result<u8, Failure> {
    let settings = settings(global)?;
    let file = file_path();
    if global.json {
        let settings: Vec<_> = settings
            .iter()
            .map(|setting| json!({"name": setting.name, "value": setting.value.display().to_string(), "origin": setting.origin.to_string()}))
            .collect();
        print_json(
            &json!({"schema_version": 1, "file": file.map(|file| file.display().to_string()), "settings": settings}),
        )?;
        return Ok(0);
    }
    let mut text = String::new();
    for setting in &settings {
        let origin = if with_origin { format!("  ({})", setting.origin) } else { String::new() };
        text += &format!("{} = {}{origin}\n", setting.name, setting.value.display());
    }
    for (name, archive) in named_archives()? {
        let origin = if with_origin { "  (file)" } else { "" };
        text += &format!("archives.{name} = {}{origin}\n", archive.display());
    }
    if let Some(file) = file.filter(|_| with_origin) {
        let there = if file.exists() { "" } else { ", which is not there" };
        text += &format!("file: {}{there}\n", file.display());
    }
    print_text(&text)?;
    Ok(0)
}
