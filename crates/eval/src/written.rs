//! Judged sets as archives and questions alone, for measurements other than of quality.

use std::path::PathBuf;

use afterthought::Result;

use crate::data;
use crate::place::Place;
use crate::run::{Settings, wanted};

/// A judged set on disk.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its name.
    pub set: String,
    /// Its archive, below the work folder.
    pub archive: PathBuf,
    /// Its questions.
    pub queries: Vec<String>,
}

/// Writes every set that is there as an archive. Fails as [`crate::run()`] does.
pub fn written(settings: &Settings) -> Result<Vec<Written>> {
    let (specs, _) = wanted(settings)?;
    let write = |spec| {
        let data = settings.data.as_deref();
        let set = data::read(spec, data)?;
        let place = Place::of(&settings.work, spec.name, &data::made_from(spec, data).unwrap_or_default())?;
        place.write_archive(&set)?;
        let queries = set.queries.iter().map(|query| query.text.clone()).collect();
        Ok(Written { set: spec.name.to_owned(), archive: place.archive(), queries })
    };
    specs.iter().map(write).collect()
}
