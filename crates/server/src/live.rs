//! What happens to the index while it is served: the latest syncs, and a stream that tells of each.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use afterthought::limits::{SERVE_STREAMS_MAX, SERVE_SYNCS_KEPT_MAX};
use afterthought::time::{now_ms, rfc3339};
use afterthought::{Engine, Error, ErrorKind, Result, SyncReport};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, StreamExt, unfold};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// While a build is under way, it is told of this often.
const PROGRESS: Duration = Duration::from_secs(1);
/// Seconds between two lines that keep a stream open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon a client asks again when a stream broke.
const RETRY: Duration = Duration::from_secs(1);

/// One sync that changed something.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SyncView {
    /// When it had ended, RFC 3339 in UTC.
    pub(crate) at: Option<String>,
    pub(crate) took_ms: f64,
    pub(crate) docs_added: u64,
    pub(crate) docs_removed: u64,
    pub(crate) sessions_written: u64,
    pub(crate) rows_read: u64,
    pub(crate) text_bytes: u64,
    pub(crate) commits: u64,
}

/// The syncs of a server, the latest first.
#[derive(Serialize)]
pub(crate) struct Syncs {
    schema_version: u32,
    pub(crate) syncs: Vec<SyncView>,
}

pub(crate) struct Live {
    is_open: bool,
    began_ms: i64,
    recent: Mutex<VecDeque<SyncView>>,
    /// How often the index has changed.
    changes: watch::Sender<u64>,
    told: Mutex<Instant>,
    streams: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Live {
    /// `is_open` tells whether whoever asks may know how much was written.
    pub(crate) fn new(stop: CancellationToken, is_open: bool) -> Self {
        Self {
            is_open,
            began_ms: now_ms(),
            recent: Mutex::default(),
            changes: watch::Sender::new(0),
            told: Mutex::new(Instant::now()),
            streams: Arc::new(Semaphore::new(SERVE_STREAMS_MAX)),
            stop,
        }
    }

    /// Takes note of a sync that changed something.
    pub(crate) fn synced(&self, report: &SyncReport, took: Duration) {
        let stats = report.stats;
        if self.is_open {
            let mut recent = self.recent.lock();
            recent.truncate(SERVE_SYNCS_KEPT_MAX - 1);
            recent.push_front(SyncView {
                at: rfc3339(now_ms()),
                took_ms: took.as_secs_f64() * 1_000.0,
                docs_added: stats.docs_added,
                docs_removed: stats.docs_removed,
                sessions_written: stats.sessions_written,
                rows_read: stats.rows_read,
                text_bytes: stats.text_bytes,
                commits: stats.commits,
            });
        }
        self.changed();
    }

    /// Takes note of a sync under way.
    pub(crate) fn progressed(&self) {
        if self.told.lock().elapsed() >= PROGRESS {
            self.changed();
        }
    }

    /// Tells every stream that the index is not what it was.
    pub(crate) fn changed(&self) {
        *self.told.lock() = Instant::now();
        self.changes.send_modify(|changes| *changes += 1);
    }

    pub(crate) fn recent(&self) -> Syncs {
        Syncs { schema_version: 1, syncs: self.recent.lock().iter().cloned().collect() }
    }

    /// Opens a stream of the states of the index: the present one, then each new one. Fails as busy where
    /// too many are open.
    pub(crate) fn stream(
        &self,
        engine: &Arc<Engine>,
    ) -> Result<Sse<impl Stream<Item = std::result::Result<Event, Infallible>> + use<>>> {
        let place = Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            Error::new(ErrorKind::Busy, "open", "a stream of events")
                .because(format!("{SERVE_STREAMS_MAX} are open already"))
                .hint("close one, or ask /api/v1/status now and then")
        })?;
        let mut changes = self.changes.subscribe();
        changes.mark_changed();
        let following =
            Following { engine: Arc::clone(engine), began_ms: self.began_ms, changes, _place: place };
        let events = unfold(following, Following::next).take_until(self.stop.clone().cancelled_owned());
        Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
    }
}

/// One client that listens.
struct Following {
    engine: Arc<Engine>,
    began_ms: i64,
    changes: watch::Receiver<u64>,
    _place: OwnedSemaphorePermit,
}

impl Following {
    /// Waits for a change and tells the state after it. What comes meanwhile is one change.
    async fn next(mut self) -> Option<(std::result::Result<Event, Infallible>, Self)> {
        loop {
            self.changes.changed().await.ok()?;
            let change = *self.changes.borrow_and_update();
            let engine = Arc::clone(&self.engine);
            let index = tokio::task::spawn_blocking(move || engine.index()).await;
            let data = index.map(|index| index.map(|index| serde_json::to_string(&index)));
            match data {
                Ok(Ok(Ok(data))) => {
                    // Another process begins to count anew.
                    let id = format!("{:x}-{change}", self.began_ms);
                    let event = Event::default().event("index").id(id).retry(RETRY).data(data);
                    return Some((Ok(event), self));
                }
                // The next change tells more.
                Ok(Err(error)) => tracing::warn!(%error, "the index was not described"),
                Ok(Ok(Err(error))) => tracing::error!(%error, "the index was not described"),
                Err(error) => tracing::error!(%error, "the index was not described"),
            }
        }
    }
}
