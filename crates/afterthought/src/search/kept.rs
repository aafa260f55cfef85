//! Keeps the states of an index that cursors continue, for a while: pages that follow each other
//! then join, however much is indexed meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::index::Snapshot;
use crate::limits::{CURSOR_AGE_S_MAX, CURSOR_SNAPSHOTS_MAX};

/// Snapshots, those used last at the end. Each holds its files open, also those that the index no longer
/// has; so none is kept longer than [`CURSOR_AGE_S_MAX`] after its last use.
#[derive(Default)]
pub struct Kept {
    snapshots: Mutex<Vec<One>>,
}

struct One {
    identity: u64,
    snapshot: Arc<Snapshot>,
    used: Instant,
}

impl Kept {
    /// Keeps a snapshot from now on; the one that was not used for longest goes if there are too many.
    pub fn keep(&self, snapshot: &Arc<Snapshot>) {
        self.used(One {
            identity: snapshot.identity(),
            snapshot: Arc::clone(snapshot),
            used: Instant::now(),
        });
    }

    /// Returns the snapshot of an identity if it is kept, and keeps it from now on.
    pub fn find(&self, identity: u64) -> Option<Arc<Snapshot>> {
        self.sweep();
        let snapshots = self.snapshots.lock();
        let snapshot = snapshots.iter().find(|one| one.identity == identity)?.snapshot.clone();
        drop(snapshots);
        self.used(One { identity, snapshot: Arc::clone(&snapshot), used: Instant::now() });
        Some(snapshot)
    }

    /// Lets go of what has not been used for too long.
    pub fn sweep(&self) {
        let is_young = |one: &One| one.used.elapsed() < Duration::from_secs(CURSOR_AGE_S_MAX);
        self.snapshots.lock().retain(is_young);
    }

    fn used(&self, one: One) {
        let mut snapshots = self.snapshots.lock();
        snapshots.retain(|other| other.identity != one.identity);
        snapshots.push(one);
        let surplus = snapshots.len().saturating_sub(CURSOR_SNAPSHOTS_MAX);
        snapshots.drain(..surplus);
    }
}
