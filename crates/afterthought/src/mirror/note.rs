//! What the last check saw, kept beside the index without a commit: a new process that finds the
//! same stamp need not open the archive at all. Losing the note costs one comparison.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::archive::Stamp;
use crate::index::replace_file;
use crate::limits::{
    SIGNATURES_AGE_S_MAX, SIGNATURES_CHEAP_MS, SIGNATURES_DEAR_AGE_S_MAX, SIGNATURES_DEAR_MS,
};
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
        let age_s_max = match self.compare_took_ms {
            ..SIGNATURES_CHEAP_MS => return true,
            SIGNATURES_CHEAP_MS..SIGNATURES_DEAR_MS => SIGNATURES_AGE_S_MAX,
            _ => SIGNATURES_DEAR_AGE_S_MAX,
        };
        now_ms.saturating_sub(self.compared_ms) > age_s_max * 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(took_ms: u64, age_s: i64, is_due: bool) {
        let json = serde_json::json!({
            "stamp": {"db": {"device": 0, "inode": 0, "bytes": 0, "modified_s": 0, "modified_ns": 0},
                      "db_header": [], "wal_header": []},
            "stamped_ms": 0, "committed_ms": 0, "compared_ms": 0, "compare_took_ms": took_ms, "full": true,
        });
        let note: Note = serde_json::from_value(json).expect("a note");
        assert_eq!(note.comparison_due(age_s * 1_000 + 1), is_due, "{took_ms} ms, {age_s} s ago");
    }

    #[test]
    fn what_is_dear_is_compared_seldom() {
        check(10, 0, true);
        check(100, 59, false);
        check(100, 60, true);
        check(2_000, 60 * 60, false);
        check(2_000, 24 * 60 * 60, true);
    }
}
