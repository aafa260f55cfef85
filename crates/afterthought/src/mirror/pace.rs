//! How fast text is read: a rate that several syncs share, so that whatever else the disk serves goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Longest sleep between two looks at whether the caller stopped it.
const NAP: Duration = Duration::from_millis(50);

/// A pace; without a bound by default. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Pace(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    bytes_per_s: f64,
    /// When everything that was read until now has had its time.
    due: Mutex<Instant>,
}

impl Pace {
    /// Makes a pace of so many bytes a second; one at least.
    #[must_use]
    pub fn of(bytes_per_s: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let bytes_per_s = bytes_per_s.max(1) as f64;
        Self(Some(Arc::new(Shared { bytes_per_s, due: Mutex::new(Instant::now()) })))
    }

    /// Waits until `bytes` that were just read have had their time, or until `stopped`.
    pub(super) fn wait(&self, bytes: u64, stopped: impl Fn() -> bool) {
        let Some(shared) = &self.0 else { return };
        let due = shared.take(bytes);
        while !stopped() {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}

impl Shared {
    /// Gives `bytes` the next stretch of time, and returns its end. Time that nobody used is not saved up.
    fn take(&self, bytes: u64) -> Instant {
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let stretch = Duration::try_from_secs_f64(bytes as f64 / self.bytes_per_s).unwrap_or(Duration::MAX);
        let mut due = self.due.lock();
        let from = (*due).max(Instant::now());
        *due = from.checked_add(stretch).unwrap_or(from);
        *due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_all_clones_follow_one_another() {
        let pace = Pace::of(1_000);
        let (one, other) = (pace.clone(), pace);
        let shared = |pace: &Pace| pace.0.as_ref().map(Arc::clone).expect("a bound");
        let first = shared(&one).take(500_000);
        let second = shared(&other).take(1_000);
        assert_eq!(second - first, Duration::from_secs(1));
    }

    #[test]
    fn who_is_stopped_waits_no_longer() {
        Pace::of(1).wait(u64::MAX, || true);
    }
}
