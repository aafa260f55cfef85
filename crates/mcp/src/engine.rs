//! The engine behind the tools. Opened at the first call, so that a client meets its tools also where
//! there is nothing to open yet; whatever fails is tried again at the next call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use afterthought::{Engine, ErrorKind, Level, Options, Page, Result, SearchRequest};
use parking_lot::Mutex;

/// Longest wait for the index to come up to date before a search.
const SYNC_WAIT: Duration = Duration::from_secs(2);

pub(crate) struct LazyEngine {
    options: Options,
    open: Mutex<Option<Arc<Engine>>>,
}

impl LazyEngine {
    pub(crate) fn new(options: Options) -> Self {
        Self { options, open: Mutex::new(None) }
    }

    /// Brings the index up to date and answers a search. Blocks.
    pub(crate) fn search(&self, request: SearchRequest) -> Result<Page> {
        let engine = self.engine()?;
        let page = search(&engine, request);
        if let Err(error) = &page
            && is_about_index(error.kind())
        {
            self.forget(&engine);
        }
        page
    }

    fn engine(&self) -> Result<Arc<Engine>> {
        let mut open = self.open.lock();
        if let Some(engine) = &*open {
            return Ok(Arc::clone(engine));
        }
        let engine = Arc::new(Engine::open(&self.options)?);
        *open = Some(Arc::clone(&engine));
        Ok(engine)
    }

    /// Lets the next call open an index that was mended or built again meanwhile.
    fn forget(&self, broken: &Arc<Engine>) {
        let taken = self.open.lock().take_if(|engine| Arc::ptr_eq(engine, broken));
        drop(taken);
    }
}

fn search(engine: &Engine, request: SearchRequest) -> Result<Page> {
    // What a cursor continues stays as it was.
    if request.cursor.is_some() {
        return engine.search(request);
    }
    let began = Instant::now();
    let freshness = engine.freshen(Level::Quick, SYNC_WAIT, |_| {})?;
    let sync_ms = began.elapsed().as_secs_f64() * 1_000.0;
    let mut page = engine.search(request)?;
    page.sync_ms = sync_ms;
    page.warnings.extend(freshness.warning());
    Ok(page)
}

fn is_about_index(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::IndexMissing
            | ErrorKind::IndexUnavailable
            | ErrorKind::IndexIncompatible
            | ErrorKind::IndexDamaged
            | ErrorKind::Internal
    )
}
