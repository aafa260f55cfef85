//! Bounds the text on its way to the indexing threads in bytes: tantivy's own queue is bounded
//! in documents, and 10,000 documents of 1 MB are 10 GB.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// One document of the largest size takes less than this to index.
const STALLED: Duration = Duration::from_mins(1);

/// Bytes that may be on their way at once.
#[derive(Clone)]
pub(super) struct Budget {
    shared: Arc<Shared>,
    bytes_max: usize,
}

struct Shared {
    in_flight: Mutex<usize>,
    freed: Condvar,
}

/// Bytes taken from a budget, given back on drop.
pub(super) struct Permit {
    shared: Arc<Shared>,
    bytes: usize,
}

impl Budget {
    pub(super) fn new(bytes_max: usize) -> Self {
        let shared = Shared { in_flight: Mutex::new(0), freed: Condvar::new() };
        Self { shared: Arc::new(shared), bytes_max }
    }

    /// Waits until the bytes fit. One item larger than the whole budget passes alone.
    pub(super) fn take(&self, bytes: usize) -> Permit {
        let mut in_flight = self.shared.in_flight.lock();
        while *in_flight > 0 && *in_flight + bytes > self.bytes_max {
            // If nothing is consumed any more, the indexing threads have died: the item passes, and
            // handing it over says so.
            if self.shared.freed.wait_for(&mut in_flight, STALLED).timed_out() {
                break;
            }
        }
        *in_flight += bytes;
        Permit { shared: Arc::clone(&self.shared), bytes }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.shared.in_flight.lock() -= self.bytes;
        self.shared.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn an_oversized_item_passes_alone_and_the_next_waits() {
        let budget = Budget::new(10);
        let large = budget.take(1_000);
        let passed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _small = budget.take(1);
                passed.store(true, Ordering::SeqCst);
            });
            assert!(!passed.load(Ordering::SeqCst) || *budget.shared.in_flight.lock() == 0);
            drop(large);
        });
        assert!(passed.load(Ordering::SeqCst));
        assert_eq!(*budget.shared.in_flight.lock(), 0);
    }
}
