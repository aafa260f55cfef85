//! The archives that have names: those of the configuration file, and the profiles of the agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use afterthought::ErrorKind;
use afterthought_hermes::{Config, profiles_below};

use crate::args::Global;
use crate::config::{default_archive, named_archives, settings};
use crate::fail::{Failure, quoted};

/// An archive and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) archive: PathBuf,
}

/// Returns every archive that has a name, in the order of names: the configuration file's, and the agent's
/// profiles, of which one whose name the file has too is left out. Profiles without an archive are none.
pub(crate) fn all() -> Result<Vec<Named>, Failure> {
    Ok(all_beside(named_archives()?))
}

/// Returns the same beside these of a configuration file.
pub(crate) fn all_beside(named: BTreeMap<String, PathBuf>) -> Vec<Named> {
    let mut all: Vec<Named> = named.into_iter().map(|(name, archive)| Named { name, archive }).collect();
    let agent = default_archive().map(|archive| profiles_below(&Config::of_archive(archive, "").root));
    // Who has no home has no agent in it; the names of the file stand all the same.
    for (name, archive) in agent.unwrap_or_default() {
        let is_known = all.iter().any(|known| known.name == name || known.archive == archive);
        if archive.is_file() && !is_known {
            all.push(Named { name, archive });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Returns the archive of a name. Fails with the names there are.
pub(crate) fn named(name: &str) -> Result<PathBuf, Failure> {
    named_in(&all()?, name)
}

/// Returns the archive of a name among these.
pub(crate) fn named_in(all: &[Named], name: &str) -> Result<PathBuf, Failure> {
    if let Some(found) = all.iter().find(|known| known.name == name) {
        return Ok(found.archive.clone());
    }
    let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
    let there = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
    Err(Failure::Usage(format!("there is no profile {}; profiles: {there}", quoted(name))))
}

/// Returns these archives, or all that have a name. Fails with the names there are, or if there are none.
pub(crate) fn several(names: &[String], is_all: bool) -> Result<Vec<Named>, Failure> {
    if !is_all {
        let one = |name: &String| Ok(Named { name: name.clone(), archive: named(name)? });
        return names.iter().map(one).collect();
    }
    match all()? {
        none if none.is_empty() => {
            let why = "no archive has a name; [archives] in the configuration file gives some";
            Err(Failure::Usage(why.to_owned()))
        }
        all => Ok(all),
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
