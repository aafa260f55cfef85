//! What is kept between runs: a set's archive, its index, and what the rivals answered. None of it
//! depends on our weights, so a run with others only searches.
//!
//! A set's folder is named after what it was made from, and an index after its format and analyzer:
//! nothing old is ever taken for new. Old folders stay until the work folder is deleted.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use afterthought::index::FORMAT;
use afterthought::text::FINGERPRINT;
use afterthought::{Engine, Level, Options, Result};
use afterthought_tools::archive::{Fts, Shape, Writer};
use afterthought_tools::random;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::data::Set;
use crate::failed;

/// How sets become archives, and how rivals answer: a change here makes everything anew.
const CONVERSION: u32 = 1;

/// The folder of one set.
pub(crate) struct Place {
    folder: PathBuf,
}

impl Place {
    /// Names the folder of a set that was made from this, and makes it.
    pub(crate) fn of(work: &Path, name: &str, made_from: &str) -> Result<Self> {
        let folder = work.join(format!("{name}-{:016x}", random::seed(&format!("{CONVERSION}{made_from}"))));
        fs::create_dir_all(&folder).map_err(failed("make folder", folder.display()))?;
        Ok(Self { folder })
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.folder.join("archive.db")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes the archive, with the agent's own search tables, unless it is there.
    pub(crate) fn write_archive(&self, set: &Set) -> Result<()> {
        let (path, unfinished) = (self.archive(), self.file("archive.new.db"));
        if path.exists() {
            return Ok(());
        }
        // What a run left that was stopped; mostly there is none.
        let _ = fs::remove_file(&unfinished);
        let write = || -> rusqlite::Result<()> {
            let mut writer = Writer::create(&unfinished, Shape::V22, Fts::Hermes)?;
            // Sets list sessions in any order, delegates before those they worked for.
            writer.connection().pragma_update(None, "foreign_keys", false)?;
            writer.connection().pragma_update(None, "synchronous", "OFF")?;
            for talk in &set.sessions {
                writer.transaction(|writer| {
                    writer.session(&talk.session)?;
                    for message in &talk.messages {
                        writer.message(&talk.session.id, message)?;
                    }
                    Ok(())
                })?;
            }
            writer.close()
        };
        write().map_err(failed("write archive", unfinished.display()))?;
        fs::rename(&unfinished, &path).map_err(failed("write archive", path.display()))
    }

    /// Opens the archive with an index that holds all of it.
    pub(crate) fn engine(&self) -> Result<Engine> {
        let index = self.file(&format!("index-{FORMAT}-{:08x}", random::seed(FINGERPRINT) & 0xFFFF_FFFF));
        let options = Options { readers: 1, ..Options::new(self.archive(), index) };
        let engine = Engine::open(&options)?;
        engine.freshen(Level::Full, Duration::MAX, |_| {})?.ended()?;
        Ok(engine)
    }

    /// Returns what was kept under a name, or makes and keeps it.
    pub(crate) fn kept<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let path = self.file(&format!("{name}.json"));
        // What cannot be read is made anew.
        if let Some(kept) = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            return Ok(kept);
        }
        let made = make()?;
        let bytes = serde_json::to_vec(&made).map_err(failed("write", path.display()))?;
        let unfinished = self.file(&format!("{name}.new"));
        fs::write(&unfinished, bytes)
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(failed("write", path.display()))?;
        Ok(made)
    }
}
