//! The engine behind a door's tools, one for each archive: two over one index would wait for each other's
//! writer. Opened at the first call, so that a client meets its tools also where there is nothing to open
//! yet; whatever fails is tried again at the next call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use afterthought::{Engine, ErrorKind, Freshness, Level, Options, Page, Result, SearchRequest, Warning};
use parking_lot::Mutex;

/// How long a call waits for the index.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// For an index that was whole once to come up to date.
    pub fresh: Duration,
    /// For a first build, by the call that begins it or goes on with it: small archives are whole by then,
    /// and others have their newest sessions. Calls after it do not wait for the build.
    pub first: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { fresh: Duration::from_secs(2), first: Duration::from_millis(500) }
    }
}

/// An engine that is opened when it is first asked for, and again after what its index cannot survive.
pub struct LazyEngine {
    options: Options,
    waits: Waits,
    open: Mutex<Option<Arc<Engine>>>,
    /// Whoever opened it keeps it open, whatever happens.
    is_given: bool,
}

/// The engine, and how fresh its index is.
pub struct Ready {
    /// The engine.
    pub engine: Arc<Engine>,
    /// How long the call waited for its index, in milliseconds.
    pub sync_ms: f64,
    /// What the reader of an answer should know.
    pub warning: Option<Warning>,
}

impl Ready {
    /// Returns the same for answers that say nothing of the index: also that it is still being built.
    /// Fails if the index cannot be read.
    pub fn warnings(&self) -> Result<Vec<Warning>> {
        let building = self.engine.built_so_far()?.map(|rows| {
            let message = format!("the index is still being built: {rows} rows are in it, the newest first");
            Warning::new("building", message)
        });
        Ok(building.into_iter().chain(self.warning.clone()).collect())
    }

    /// Adds to what was not found that it may be found later, where that is so. Fails as `found` did.
    pub fn found<T>(&self, found: Result<T>) -> Result<T> {
        match found {
            Err(error) if error.kind() == ErrorKind::NotFound && self.engine.built_so_far()?.is_some() => {
                Err(error.hint("the index is still being built: try again a little later"))
            }
            found => found,
        }
    }
}

impl LazyEngine {
    /// Takes what to open. Opens nothing yet.
    #[must_use]
    pub fn new(options: Options, waits: Waits) -> Self {
        Self { options, waits, open: Mutex::new(None), is_given: false }
    }

    /// Stands for an engine that is open already; `options` are those that it was opened with.
    #[must_use]
    pub fn given(engine: Arc<Engine>, options: Options, waits: Waits) -> Self {
        Self { options, waits, open: Mutex::new(Some(engine)), is_given: true }
    }

    /// Runs what reads the index, after it was brought up to date. Blocks, for as long as the index is
    /// waited for and the work takes. Fails if there is nothing to open, and as `read` does.
    pub fn fresh<T>(&self, read: impl FnOnce(Ready) -> Result<T>) -> Result<T> {
        self.with(|engine| {
            let began = Instant::now();
            let warning = self.freshened(&engine)?.warning();
            let sync_ms = began.elapsed().as_secs_f64() * 1_000.0;
            read(Ready { engine, sync_ms, warning })
        })
    }

    /// Brings the index up to date as [`LazyEngine::fresh`] does, and returns what there is to say about
    /// that.
    pub fn freshen(&self) -> Result<Option<Warning>> {
        self.with(|engine| Ok(self.freshened(&engine)?.warning()))
    }

    /// Runs what reads the index as it is. Blocks. Fails if there is nothing to open, and as `read` does.
    pub fn with<T>(&self, read: impl FnOnce(Arc<Engine>) -> Result<T>) -> Result<T> {
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
    /// Fails as [`Engine::search`] does.
    pub fn search(&self, request: SearchRequest) -> Result<Page> {
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
        let is_broken = |engine: &mut Arc<Engine>| !self.is_given && Arc::ptr_eq(engine, broken);
        let taken = self.open.lock().take_if(is_broken);
        drop(taken);
    }

    fn freshened(&self, engine: &Engine) -> Result<Freshness> {
        let wait = match engine.built_so_far()? {
            None => self.waits.fresh,
            // One build is enough; more would wait behind it.
            Some(rows) if rows > 0 && engine.is_syncing() => return Ok(Freshness::Pending),
            Some(_) => self.waits.first,
        };
        engine.freshen(Level::Quick, wait, |_| {})
    }
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
