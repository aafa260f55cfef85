//! A layout of somebody's own: the file that `--layout` names, read and checked before an archive is opened
//! by it. What is wrong with it is said with its line.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::LAYOUT_STRIDE_MAX;

use super::columns::{
    MESSAGE_OPTIONAL, MESSAGE_REQUIRED, MESSAGE_STORED, SESSION_LIGHT, SESSION_REQUIRED, SESSION_STORED,
};
use super::layout::{Expressions, File, HERMES, LAYOUTS, Layout, Mapping};

impl Layout {
    /// Finds a layout by its name, else reads the file of that path. Fails as usage if neither is there, or if
    /// the file cannot be understood.
    pub fn find(name: &Path) -> Result<Self> {
        if let Some(known) = Self::named(name) {
            return Ok(known);
        }
        let refused = |why: String| {
            let names: Vec<&str> = Self::names().collect();
            Error::new(ErrorKind::Usage, "read layout", name.display())
                .because(why)
                .hint(format!("give the path of a file, or one of: {}", names.join(", ")))
        };
        let text = std::fs::read_to_string(name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                refused("there is no such file, and no layout of that name".to_owned())
            }
            _ => refused(error.to_string()),
        })?;
        Self::read(File { path: name.to_owned(), text })
    }

    /// Returns the names of the layouts that are compiled in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        LAYOUTS.iter().map(|Self(mapping)| mapping.name.as_str())
    }

    /// Tells whether this is the name of one that is compiled in.
    #[must_use]
    pub fn is_name(name: &Path) -> bool {
        Self::named(name).is_some()
    }

    fn named(name: &Path) -> Option<Self> {
        LAYOUTS.iter().find(|Self(mapping)| Path::new(&mapping.name) == name).cloned()
    }

    /// Returns a number that is another one where a layout maps otherwise.
    pub(super) fn mark(&self) -> u64 {
        let Self(mapping) = self;
        xxh3_64(mapping.file.as_ref().map_or(&mapping.name, |file| &file.text).as_bytes())
    }

    fn read(file: File) -> Result<Self> {
        let mut mapping: Mapping = toml::from_str(&file.text).map_err(|error| {
            file.refused(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        check(&mapping, &file)?;
        mapping.file = Some(file);
        Ok(Self(Arc::new(mapping)))
    }
}

impl File {
    /// Names a place in the file: its path and the line.
    pub(super) fn place(&self, offset: usize) -> impl fmt::Display + use<> {
        let line = 1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        format!("{}:{line}", self.path.display())
    }

    fn refused(&self, offset: usize, why: String) -> Error {
        Error::new(ErrorKind::Usage, "read layout", self.place(offset))
            .because(why)
            .hint("what a layout says, key by key, stands in schema/layouts/README.md")
    }
}

/// Fails if a layout maps what nobody reads, or leaves out what everybody needs.
fn check(mapping: &Mapping, file: &File) -> Result<()> {
    let stride = &mapping.stride;
    if mapping.name == HERMES || Layout::is_name(Path::new(&mapping.name)) {
        return Err(file.refused(0, format!("its name \"{}\" is another layout's", mapping.name)));
    }
    if mapping.messages.is_empty() {
        return Err(file.refused(0, "it has no [[messages]]".to_owned()));
    }
    if usize::try_from(*stride.get_ref()).map_or(true, |stride| stride < mapping.messages.len()) {
        let why = format!("stride is less than the number of [[messages]], {}", mapping.messages.len());
        return Err(file.refused(stride.span().start, why));
    }
    if *stride.get_ref() > LAYOUT_STRIDE_MAX {
        let why = format!("stride is more than {LAYOUT_STRIDE_MAX}: ids would not be whole numbers");
        return Err(file.refused(stride.span().start, why));
    }
    let from = mapping.sessions.from.span().start;
    let known = [&SESSION_REQUIRED[..], &SESSION_LIGHT, &SESSION_STORED].concat();
    check_columns(file, from, &[&mapping.sessions.columns], &SESSION_REQUIRED, &known)?;
    let known = [&MESSAGE_REQUIRED[1..], &MESSAGE_OPTIONAL, &MESSAGE_STORED].concat();
    mapping.messages.iter().try_for_each(|source| {
        let columns = [&mapping.shared, &source.columns];
        check_columns(file, source.from.span().start, &columns, &MESSAGE_REQUIRED[1..], &known)
    })
}

fn check_columns(
    file: &File,
    offset: usize,
    columns: &[&Expressions],
    required: &[&str],
    known: &[&str],
) -> Result<()> {
    for (name, value) in columns.iter().copied().flatten() {
        if !known.contains(&name.as_str()) {
            let why = format!("there is no column \"{name}\" to map; there are {}", known.join(", "));
            return Err(file.refused(value.span().start, why));
        }
    }
    match required.iter().find(|name| !columns.iter().any(|columns| columns.contains_key(**name))) {
        Some(name) => Err(file.refused(offset, format!("what is read from here needs a column \"{name}\""))),
        None => Ok(()),
    }
}
