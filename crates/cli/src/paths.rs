//! Turns settings into what the library opens.

use afterthought::{Layout, Options};

use crate::args::Global;
use crate::config::{layout, settings};
use crate::fail::Failure;

/// Returns what to open.
pub(crate) fn options(global: &Global) -> Result<Options, Failure> {
    let [archive, index] = settings(global)?;
    let mut options = Options::new(archive.value, index.value);
    options.allow_copy = global.allow_copy;
    options.layout = layout(global)?.map(|layout| Layout::find(&layout.value)).transpose()?;
    if let Some(profile) = &global.profile {
        options.name.clone_from(profile);
    }
    Ok(options)
}
