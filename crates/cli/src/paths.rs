//! Where things are when nobody says so: flag, then environment, then default.

use std::path::PathBuf;

use afterthought::{Error, ErrorKind, Options};
use etcetera::BaseStrategy;

use crate::args::Global;
use crate::fail::Failure;

/// Returns what to open.
pub(crate) fn options(global: &Global) -> Result<Options, Failure> {
    let mut options = Options::new(archive(global)?, index_root(global)?);
    options.allow_copy = global.allow_copy;
    Ok(options)
}

fn archive(global: &Global) -> Result<PathBuf, Failure> {
    if let Some(path) = &global.archive {
        return Ok(path.clone());
    }
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

fn index_root(global: &Global) -> Result<PathBuf, Failure> {
    if let Some(path) = &global.index {
        return Ok(path.clone());
    }
    let strategy = etcetera::choose_base_strategy().map_err(|error| {
        Error::new(ErrorKind::IndexUnavailable, "find", "a folder for the index")
            .because(error)
            .hint("name one with --index")
    })?;
    Ok(strategy.data_dir().join("afterthought"))
}
