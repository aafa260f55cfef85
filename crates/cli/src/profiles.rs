//! The archives that have names: those of the configuration file, and the profiles of the agent.

use std::collections::HashSet;
use std::path::PathBuf;

use afterthought::{Error, ErrorKind, Layout, Options};
use afterthought_hermes::{Config, profiles_below};

use crate::args::Global;
use crate::config::{default_archive, named_archives, settings, where_names_stand};
use crate::fail::{Failure, quoted};

/// An archive and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) archive: PathBuf,
    /// How it is laid out, where the configuration file says so: a name, or the path of a file.
    pub(crate) layout: Option<PathBuf>,
}

impl Named {
    /// Returns how to open it, all else as in `options`, whose layout is of those that have none of their own.
    pub(crate) fn options(&self, options: &Options) -> Result<Options, Error> {
        let own = self.layout.as_deref().map(Layout::find).transpose()?;
        let layout = own.or_else(|| options.layout.clone());
        Ok(Options { archive: self.archive.clone(), name: self.name.clone(), layout, ..options.clone() })
    }
}

/// Returns every archive that has a name, in the order of names: the configuration file's, and the agent's
/// profiles, of which one whose name the file has too is left out. Profiles without an archive are none.
pub(crate) fn all() -> Result<Vec<Named>, Failure> {
    Ok(all_beside(named_archives()?))
}

/// Returns the same beside these of a configuration file.
pub(crate) fn all_beside(mut all: Vec<Named>) -> Vec<Named> {
    let agent = default_archive().map(|archive| profiles_below(&Config::of_archive(archive, "").root));
    // Who has no home has no agent in it; the names of the file stand all the same.
    for (name, archive) in agent.unwrap_or_default() {
        let is_known = all.iter().any(|known| known.name == name || known.archive == archive);
        if archive.is_file() && !is_known {
            all.push(Named { name, archive, layout: None });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Returns the archive of a name. Fails with the names there are.
pub(crate) fn named(name: &str) -> Result<Named, Failure> {
    named_in(&all()?, name)
}

/// Returns the archive of a name among these.
pub(crate) fn named_in(all: &[Named], name: &str) -> Result<Named, Failure> {
    if let Some(found) = all.iter().find(|known| known.name == name) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
    let there = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
    let refused = Error::new(ErrorKind::Usage, "find profile", quoted(name))
        .because(format!("there is none of that name; profiles: {there}"))
        .hint(format!(
            "name an archive in {}: {} = \"/path/to/state.db\"",
            where_names_stand(),
            toml_key(name)
        ));
    Err(refused.into())
}

/// Writes a name as a key of TOML.
fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { format!("{name:?}") }
}

/// Fails where one archive is named beside `--all` or `--profiles`, which name several.
pub(crate) fn alone(global: &Global, flag: &str) -> Result<(), Failure> {
    match (&global.archive, &global.profile) {
        (None, None) => Ok(()),
        (Some(_), _) => Err(Failure::Usage(format!("{flag} names several archives, and --archive one"))),
        (_, Some(_)) => Err(Failure::Usage(format!("{flag} names several archives, and --profile one"))),
    }
}

/// Returns these archives, or all that have a name. Fails with the names there are, or if there are none.
pub(crate) fn several(names: &[String], is_all: bool) -> Result<Vec<Named>, Failure> {
    if !is_all {
        let all = all()?;
        return names.iter().map(|name| named_in(&all, name)).collect();
    }
    match all()? {
        none if none.is_empty() => {
            let gives = where_names_stand();
            Err(Failure::Usage(format!("no archive has a name; {gives} gives some")))
        }
        mut all => {
            // One that has two names is searched once, by the first.
            let mut seen = HashSet::new();
            all.retain(|one| seen.insert(one.archive.canonicalize().unwrap_or_else(|_| one.archive.clone())));
            Ok(all)
        }
    }
}

/// Says of what was not found that an id belongs to one archive, where there are others.
pub(crate) fn elsewhere(global: &Global, failure: Failure) -> Failure {
    let Failure::Library(error) = failure else { return failure };
    let asked = settings(global).map(|[archive, _]| archive.value);
    let others = match (error.kind(), asked, all()) {
        (ErrorKind::NotFound, Ok(asked), Ok(all)) => {
            all.into_iter().filter(|one| one.archive != asked).collect()
        }
        _ => Vec::new(),
    };
    if others.is_empty() {
        return Failure::Library(error);
    }
    let names: Vec<String> = others.into_iter().map(|other| other.name).collect();
    let hint = format!("an id is one archive's; another is asked with --profile: {}", names.join(", "));
    Failure::Library(error.hint(hint))
}
