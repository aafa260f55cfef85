//! Settings: a flag, else the environment, else the configuration file, else the default.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use afterthought::{Error, ErrorKind};
use etcetera::BaseStrategy;
use serde::Deserialize;
use serde_json::json;

use crate::args::Global;
use crate::fail::Failure;
use crate::profiles::{self, Named};
use crate::stdout::{print_json, print_text};

/// The variable that says how the archive is laid out.
const LAYOUT: &str = "AFTERTHOUGHT_LAYOUT";

/// The configuration file, `afterthought/config.toml` in the user's configuration folder.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    archive: Option<PathBuf>,
    /// How that archive is laid out.
    layout: Option<PathBuf>,
    index: Option<PathBuf>,
    /// Archives by the name that `--profile` takes.
    #[serde(default)]
    archives: BTreeMap<String, Listed>,
}

/// An archive that has a name: its path, or a table with its layout too.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a path, or a table with path and layout")]
enum Listed {
    Path(PathBuf),
    Table(Table),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    path: PathBuf,
    layout: Option<PathBuf>,
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

/// Returns the same by what a file says, and by the profile that was named.
pub(crate) fn settings_of(
    global: &Global,
    file: &File,
    profile: Option<&Named>,
) -> Result<[Setting; 2], Failure> {
    let (archive, index) = (file.archive.clone(), file.index.clone());
    let asked = profile.map(|named| &named.archive).or(global.archive.as_ref());
    let archive = match first(asked, "AFTERTHOUGHT_ARCHIVE", archive) {
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

/// Returns how the archive is laid out, where that is said: a name, or the path of a file. What the
/// configuration file says is of the archive that it stands beside, and of a named one the last word.
pub(crate) fn layout(global: &Global) -> Result<Option<Setting>, Failure> {
    let file = read_file()?;
    let profile = global.profile.as_deref().map(profiles::named).transpose()?;
    Ok(layout_of(global, &file, profile.as_ref()))
}

/// Returns the same by what a file says, and by the profile that was named.
pub(crate) fn layout_of(global: &Global, file: &File, profile: Option<&Named>) -> Option<Setting> {
    let found = match profile {
        Some(Named { layout: Some(own), .. }) => Some((own.clone(), Origin::File)),
        Some(_) => first(global.layout.as_ref(), LAYOUT, None),
        None if first(global.archive.as_ref(), "AFTERTHOUGHT_ARCHIVE", None).is_some() => {
            first(global.layout.as_ref(), LAYOUT, None)
        }
        None => first(global.layout.as_ref(), LAYOUT, file.layout.as_deref().map(at_home)),
    };
    found.map(|(value, origin)| Setting { name: "layout", value, origin })
}

/// Returns the layout of archives that have none of their own in the configuration file, among several.
pub(crate) fn layout_of_others(global: &Global) -> Option<PathBuf> {
    first(global.layout.as_ref(), LAYOUT, None).map(|(layout, _)| layout)
}

pub(crate) fn first(
    flag: Option<&PathBuf>,
    variable: &str,
    file: Option<PathBuf>,
) -> Option<(PathBuf, Origin)> {
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

/// Puts the home folder in the place of a leading `~`.
pub(crate) fn at_home(path: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(inside) => etcetera::home_dir().map_or_else(|_| path.to_owned(), |home| home.join(inside)),
        Err(_) => path.to_owned(),
    }
}

/// Returns the archives that the configuration file gives names to.
pub(crate) fn named_archives() -> Result<Vec<Named>, Failure> {
    Ok(read_file()?.named_archives())
}

impl File {
    pub(crate) fn named_archives(&self) -> Vec<Named> {
        let named = |(name, listed): (&String, &Listed)| {
            let (archive, layout) = match listed {
                Listed::Path(path) => (path, None),
                Listed::Table(table) => (&table.path, table.layout.as_deref()),
            };
            Named { name: name.clone(), archive: at_home(archive), layout: layout.map(at_home) }
        };
        self.archives.iter().map(named).collect()
    }
}

/// Says where a name is given to an archive.
pub(crate) fn where_names_stand() -> String {
    let file =
        file_path().map_or_else(|| "the configuration file".to_owned(), |path| path.display().to_string());
    format!("[archives] of {file}")
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
    let settings: Vec<Setting> = settings(global)?.into_iter().chain(layout(global)?).collect();
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
    for Named { name, archive, layout } in named_archives()? {
        let origin = if with_origin { "  (file)" } else { "" };
        let layout =
            layout.map_or_else(String::new, |layout| format!(", by the layout {}", layout.display()));
        text += &format!("archives.{name} = {}{layout}{origin}\n", archive.display());
    }
    if let Some(file) = file.filter(|_| with_origin) {
        let there = if file.exists() { "" } else { ", which is not there" };
        text += &format!("file: {}{there}\n", file.display());
    }
    print_text(&text)?;
    Ok(0)
}
