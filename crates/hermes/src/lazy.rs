//! The engine behind the tools. Opened at the first call, so that a client meets its tools also where
//! there is nothing to open yet; whatever fails is tried again at the next call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use afterthought::{Engine, ErrorKind, Freshness, Level, Options, Page, Result, SearchRequest, Warning};
use parking_lot::Mutex;

/// Longest wait for the index to come up to date before an answer.
const SYNC_WAIT: Duration = Duration::from_secs(2);
/// Longest wait of the call that begins a first build: small archives are whole by then, and others
/// have their newest sessions. Calls after it do not wait for the build.
const FIRST_WAIT: Duration = Duration::from_millis(500);

pub(crate) struct LazyEngine {
    options: Options,
    open: Mutex<Option<Arc<Engine>>>,
}

/// The engine, and how fresh its index is.
pub(crate) struct Ready {
    pub(crate) engine: Arc<Engine>,
    pub(crate) sync_ms: f64,
    /// What the reader of an answer should know.
    pub(crate) warning: Option<Warning>,
}

impl Ready {
    /// Returns the same for answers that say nothing of the index: also that it is still being built.
    pub(crate) fn warnings(&self) -> Result<Vec<Warning>> {
        let building = self.engine.built_so_far()?.map(|rows| {
            let message = format!("the index is still being built: {rows} rows are in it, the newest first");
            Warning::new("building", message)
        });
        Ok(building.into_iter().chain(self.warning.clone()).collect())
    }

    /// Adds to what was not found that it may be found later, where that is so.
    pub(crate) fn found<T>(&self, found: Result<T>) -> Result<T> {
        match found {
            Err(error) if error.kind() == ErrorKind::NotFound && self.engine.built_so_far()?.is_some() => {
                Err(error.hint("the index is still being built: try again a little later"))
            }
            found => found,
        }
    }
}

impl LazyEngine {
    pub(crate) fn new(options: Options) -> Self {
        Self { options, open: Mutex::new(None) }
    }

    /// Runs what reads the index, after it was brought up to date. Blocks.
    pub(crate) fn fresh<T>(&self, read: impl FnOnce(Ready) -> Result<T>) -> Result<T> {
        self.with(|engine| {
            let began = Instant::now();
            let warning = freshen(&engine)?.warning();
            let sync_ms = began.elapsed().as_secs_f64() * 1_000.0;
            read(Ready { engine, sync_ms, warning })
        })
    }

    /// Runs what reads the index as it is. Blocks.
    pub(crate) fn with<T>(&self, read: impl FnOnce(Arc<Engine>) -> Result<T>) -> Result<T> {
        let engine = self.engine()?;
        let answer = read(Arc::clone(&engine));
        if let Err(error) = &answer
            && is_about_index(error.kind())
        {
            self.forget(&engine);
        }
        answer
    }

    /// Answers a search; what a cursor continues stays as it was, anything else is brought up to date.
    pub(crate) fn search(&self, request: SearchRequest) -> Result<Page> {
        if request.cursor.is_some() {
            return self.with(|engine| engine.search(request));
        }
        self.fresh(|ready| {
            let mut page = ready.engine.search(request)?;
            page.sync_ms = ready.sync_ms;
            page.warnings.extend(ready.warning);
            Ok(page)
        })
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

fn freshen(engine: &Engine) -> Result<Freshness> {
    let wait = match engine.built_so_far()? {
        None => SYNC_WAIT,
        Some(0) => FIRST_WAIT,
        // One build is enough; more would wait behind it.
        Some(_) if engine.is_syncing() => return Ok(Freshness::Pending),
        Some(_) => Duration::ZERO,
    };
    engine.freshen(Level::Quick, wait, |_| {})
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
