//! The audit of the archive, which reads all of it: taken when somebody asks, one at a time, and kept while
//! nothing is written.

use std::sync::Arc;

use afterthought::time::{now_ms, rfc3339};
use afterthought::{Audit, Engine, Error, ErrorKind, Result, WordAudit};
use parking_lot::Mutex;

#[derive(Default)]
pub(crate) struct Audits {
    kept: Mutex<Option<Kept>>,
    under_way: Mutex<()>,
}

/// An audit, and what it is of.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) audit: Arc<Audit>,
    /// When it was taken, RFC 3339 in UTC.
    pub(crate) at: Option<String>,
    /// What it was taken of; `None` while the archive was being written.
    state: Option<u64>,
}

impl Audits {
    /// Returns the last audit, however old it is.
    pub(crate) fn last(&self) -> Option<Kept> {
        self.kept.lock().clone()
    }

    /// Audits the archive, unless the last audit is of what it is now. Fails as busy while another is taken.
    pub(crate) fn take(&self, engine: &Engine) -> Result<Kept> {
        if engine.built_so_far()?.is_some() {
            // What is only unread would be called unsaid.
            return Err(Error::new(ErrorKind::Busy, "audit", "the archive")
                .because("the index is still being built")
                .hint("try again when /api/v1/status says that it is ready"));
        }
        let state = engine.fingerprint()?;
        let is_valid = |kept: &Kept| state.is_some() && kept.state == state;
        if let Some(kept) = self.last().filter(is_valid) {
            return Ok(kept);
        }
        let _one = self.under_way.try_lock().ok_or_else(busy)?;
        let kept = Kept { audit: Arc::new(engine.audit()?), at: rfc3339(now_ms()), state };
        *self.kept.lock() = Some(kept.clone());
        Ok(kept)
    }

    /// Audits a word. Fails as busy while another audit is taken.
    pub(crate) fn word(&self, engine: &Engine, word: &str) -> Result<WordAudit> {
        let _one = self.under_way.try_lock().ok_or_else(busy)?;
        engine.audit_word(word)
    }
}

fn busy() -> Error {
    Error::new(ErrorKind::Busy, "audit", "the archive")
        .because("an audit is under way")
        .hint("try again when it has ended")
}
