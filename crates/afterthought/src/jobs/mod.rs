//! Rebuilds the indexes of many archives: some at a time, under one budget, each whatever becomes of the
//! others. A journal keeps how far a job came, so that one that was killed goes on, and stays as its report.

mod forecast;
mod journal;
mod report;
mod run;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::archive::Layout;
use crate::engine::Options;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{REBUILD_BESIDE_BYTES, WRITER_BYTES_MIN};
use crate::mirror::Pace;
use crate::reindex::Means;

pub use forecast::{Forecast, Forecasts};
pub use journal::last;
pub use report::{Entry, Report, State, Totals, Verdict};
pub use run::{Job, Told, Which};

/// An archive of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What reports call it.
    pub name: String,
    /// Its path, canonical where it is there.
    path: String,
    /// The layout that it is read by, where that is not left to its tables: a name, or a whole path.
    layout: Option<String>,
}

impl Target {
    /// Names an archive; without a name, by its folder. It need not be there. Fails if its path is not
    /// UTF-8, as reports are.
    pub fn new(path: &Path, name: Option<&str>) -> Result<Self> {
        let whole = whole(path);
        let text = as_text(&whole)?;
        let folder = whole.parent().and_then(Path::file_name).or(whole.file_name());
        let folder = folder.unwrap_or_default().to_string_lossy();
        Ok(Self { name: name.map_or_else(|| folder.into_owned(), str::to_owned), path: text, layout: None })
    }

    /// Reads it by a layout that is given: a name, or the path of a file. Fails if that is not UTF-8.
    pub fn laid_out(self, layout: Option<&Path>) -> Result<Self> {
        let named = |layout: &Path| {
            if Layout::is_name(layout) { as_text(layout) } else { as_text(&whole(layout)) }
        };
        Ok(Self { layout: layout.map(named).transpose()?, ..self })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        Path::new(&self.path)
    }
}

fn whole(path: &Path) -> PathBuf {
    let whole = path.canonicalize().or_else(|_| std::path::absolute(path));
    whole.unwrap_or_else(|_| path.to_owned())
}

fn as_text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::new(ErrorKind::Usage, "reindex", path.display())
            .because("its path is not UTF-8, as reports are")
            .hint("reindex it by itself with --archive")
    })
}

/// Leaves out archives that are named twice, and tells apart those whose names are the same.
#[must_use]
pub fn told_apart(targets: Vec<Target>) -> Vec<Target> {
    let (mut paths, mut names) = (HashSet::new(), HashSet::new());
    let mut apart = Vec::new();
    for mut target in targets {
        if !paths.insert(target.path.clone()) {
            continue;
        }
        let name = std::mem::take(&mut target.name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
        target.name = free.expect("numbers do not end");
        names.insert(target.name.clone());
        apart.push(target);
    }
    apart
}

/// What a job may take.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder below which every archive's index has a folder of its own.
    pub index_root: PathBuf,
    /// Copy archives of any size where they cannot be read in place.
    pub allow_copy: bool,
    /// Archives at a time.
    pub workers: usize,
    /// Memory of all of it together, in bytes: of the writers, and [`REBUILD_BESIDE_BYTES`] beside each.
    pub memory_bytes: usize,
    /// How fast text is read, by all of them together.
    pub pace: Pace,
}

impl Settings {
    fn options(&self, archive: &Path, layout: Option<&str>) -> Result<Options> {
        let layout = layout.map(|layout| Layout::find(Path::new(layout))).transpose()?;
        Ok(Options { allow_copy: self.allow_copy, layout, ..Options::new(archive, &self.index_root) })
    }

    /// Returns what each of so many rebuilds at a time may take.
    #[must_use]
    pub fn means_of_each(&self, workers: usize) -> Means {
        let share = self.memory_bytes / workers.max(1);
        Means { writer_bytes: share.saturating_sub(REBUILD_BESIDE_BYTES), pace: self.pace.clone() }
    }

    /// Fails if nobody would work, or if the memory is too little for that many writers.
    pub fn check(&self) -> Result<()> {
        if self.workers == 0 {
            return Err(
                Error::new(ErrorKind::Usage, "reindex", "no archive at a time").hint("give 1 or more")
            );
        }
        let least = self.workers.saturating_mul(WRITER_BYTES_MIN + REBUILD_BESIDE_BYTES);
        if self.memory_bytes < least {
            let (given, least) = (self.memory_bytes / 1_000_000, least.div_ceil(1_000_000));
            return Err(Error::new(ErrorKind::Usage, "reindex within", format!("{given} MB"))
                .because(format!("{} at a time need {least} MB at least", self.workers))
                .hint("give more memory, or fewer at a time"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_named_once_and_apart() {
        let target = |path: &str, name| Target::new(Path::new(path), name).expect("a path");
        let targets = vec![
            target("/x/a/state.db", None),
            target("/y/a/state.db", None),
            target("/x/a/state.db", Some("again")),
            target("/z/b/state.db", Some("a-2")),
        ];
        let apart = told_apart(targets);
        let names: Vec<&str> = apart.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["a", "a-2", "a-2-2"]);
    }
}
