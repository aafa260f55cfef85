//! When a search must end: at a moment, and as soon as nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

/// When a search must end. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Deadline {
    at: Instant,
    gone: Option<Arc<AtomicBool>>,
}

impl Deadline {
    /// Ends so long from now.
    #[must_use]
    pub fn after(wall: Duration) -> Self {
        Self { at: Instant::now() + wall, gone: None }
    }

    /// Also ends when `gone` is set: whoever asked does not wait any more.
    #[must_use]
    pub fn or_when(self, gone: Arc<AtomicBool>) -> Self {
        Self { gone: Some(gone), ..self }
    }

    /// Fails at the deadline, saying `why` and what to do, or as interrupted where nobody waits.
    pub(crate) fn check(&self, why: &'static str, hint: &'static str) -> Result<()> {
        if self.gone.as_ref().is_some_and(|gone| gone.load(Ordering::Relaxed)) {
            return Err(Error::new(ErrorKind::Interrupted, "search", "the index")
                .because("whoever asked does not wait for the answer any more"));
        }
        if Instant::now() <= self.at {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Timeout, "search", "the index").because(why).hint(hint))
    }
}
