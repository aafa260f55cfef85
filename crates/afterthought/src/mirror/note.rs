//! What the last check saw, kept beside the index without a commit: a new process that finds the
//! same stamp need not open the archive at all. Losing the note costs one comparison.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::archive::Stamp;
use crate::index::replace_file;
use crate::limits::{SIGNATURES_AGE_FACTOR, SIGNATURES_AGE_S_MAX, SIGNATURES_CHEAP_MS};
use crate::model::Checkpoint;

/// What the last check saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The archive's files before the check read them.
    pub stamp: Stamp,
    /// When the stamp was taken, in milliseconds since 1970.
    pub stamped_ms: i64,
    /// The commit that the check compared with or made.
    pub committed_ms: i64,
    /// When every session's rows were last compared, in milliseconds since 1970.
    pub compared_ms: i64,
    /// How long that took, in milliseconds.
    pub compare_took_ms: u64,
    /// The last check compared every session's rows.
    pub full: bool,
    /// When what every row says was last read and compared, in milliseconds since 1970; 0 for never.
    #[serde(default)]
    pub audited_ms: i64,
}

impl Note {
    /// Reads the note; `None` if there is none, or none that this version understands.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// Writes the note in one step. It is a shortcut: failing to write it is only logged.
    pub(super) fn write(&self, path: &Path) {
        let written =
            serde_json::to_vec(self).map_err(std::io::Error::from).and_then(|json| replace_file(path, &json));
        if let Err(error) = written {
            tracing::debug!(%error, path = %path.display(), "the note of the last check was not written");
        }
    }

    /// Tells whether nothing can have changed since the check.
    pub(crate) fn still_true(&self, stamp: &Stamp, checkpoint: &Checkpoint) -> bool {
        self.stamp == *stamp
            && self.stamp.is_settled(self.stamped_ms)
            && self.committed_ms == checkpoint.committed_ms
            && checkpoint.complete
    }

    /// Tells whether a search should compare every session's rows.
    pub(super) fn comparison_due(&self, now_ms: i64) -> bool {
        let rest_ms = self.compare_took_ms.saturating_mul(SIGNATURES_AGE_FACTOR);
        let age_ms_max = i64::try_from(rest_ms).unwrap_or(i64::MAX).max(SIGNATURES_AGE_S_MAX * 1_000);
        self.compare_took_ms < SIGNATURES_CHEAP_MS || now_ms.saturating_sub(self.compared_ms) > age_ms_max
    }
}
