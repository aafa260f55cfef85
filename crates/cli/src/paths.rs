//! Turns settings into what the library opens.

use std::path::Path;

use afterthought::{Layout, Options};

use crate::args::Global;
use crate::config::{layout, layout_of_others, settings};
use crate::fail::Failure;

/// Returns what to open.
pub(crate) fn options(global: &Global) -> Result<Options, Failure> {
    let layout = layout(global)?.map(|layout| layout.value);
    let mut options = laid_out(global, layout.as_deref())?;
    if let Some(profile) = &global.profile {
        options.name.clone_from(profile);
    }
    Ok(options)
}

/// Returns how to open several archives that have names, but for what is each one's own.
pub(crate) fn options_of_several(global: &Global) -> Result<Options, Failure> {
    laid_out(global, layout_of_others(global).as_deref())
}

fn laid_out(global: &Global, layout: Option<&Path>) -> Result<Options, Failure> {
    let [archive, index] = settings(global)?;
    let mut options = Options::new(archive.value, index.value);
    options.allow_copy = global.allow_copy;
    options.layout = layout.map(Layout::find).transpose()?;
    Ok(options)
}
