//! The routes of `schema/openapi.json`: each reads its parameters, waits for its turn, and asks the engine
//! on a thread that may block.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use afterthought::limits::SEARCH_WALL_MS_MAX;
use afterthought::search::Deadline;
use afterthought::{
    Engine, Error, ErrorKind, Freshness, Level, Page, Result, SearchRequest, SessionList, Shown, Warning,
};
use afterthought_mcp::Http;
use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tower_http::compression::CompressionLayer;

use crate::Settings;
use crate::answer::{Answer, Refusal, as_json, write};
use crate::audits::Audits;
use crate::contract::openapi;
use crate::counted::Counted;
use crate::guard::guard;
use crate::live::Live;
use crate::mcp::MCP;
use crate::metrics::Metrics;
use crate::parameters::{read, wrong};
use crate::queue::Queue;
use crate::requests::{Facets, Fresh, List, Neighbours, Nothing, OfSession, Search, Session, Word};

pub(crate) const SEARCH: &str = "/api/v1/search";
const FACETS: &str = "/api/v1/facets";
const MESSAGE: &str = "/api/v1/messages/{id}";
const SESSIONS: &str = "/api/v1/sessions";
const SESSION: &str = "/api/v1/sessions/{id}";
const STATUS: &str = "/api/v1/status";
const SYNCS: &str = "/api/v1/syncs";
const EVENTS: &str = "/api/v1/events";
const AUDIT: &str = "/api/v1/audit";
/// Asked by whatever watches the process, without a token.
pub(crate) const HEALTH: &str = "/healthz";
const METRICS: &str = "/metrics";
const CONTRACT: &str = "/openapi.json";

/// What every request shares.
pub(crate) struct Served {
    pub(crate) engine: Arc<Engine>,
    pub(crate) live: Arc<Live>,
    pub(crate) audits: Arc<Audits>,
    pub(crate) settings: Settings,
    pub(crate) queue: Queue,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) mcp: Http,
}

type Shared = State<Arc<Served>>;
/// The part of the path that is an id.
type Id = std::result::Result<Path<String>, PathRejection>;
type Answered = std::result::Result<Answer, Refusal>;

pub(crate) fn router(served: Arc<Served>) -> Router {
    // Further doors of the same server, a page or another protocol, are routes here: the guard stands
    // before them too.
    Router::new()
        .route(SEARCH, get(search))
        .route(FACETS, get(facets))
        .route(MESSAGE, get(message))
        .route(SESSIONS, get(sessions))
        .route(SESSION, get(session))
        .route(STATUS, get(status))
        .route(SYNCS, get(syncs))
        .route(EVENTS, get(events))
        .route(AUDIT, get(audit))
        .route(HEALTH, get(health))
        .route(METRICS, get(metrics))
        .route(CONTRACT, get(contract))
        .route(MCP, post(crate::mcp::answer).fallback(crate::mcp::only_posted))
        .merge(crate::page::routes())
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_method)
        .layer(CompressionLayer::new())
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&served), guard))
        .with_state(served)
}

/// How an answer came to be as fresh as it is, and whether anybody waits for it.
pub(crate) struct Freshened {
    pub(crate) warning: Option<Warning>,
    sync_ms: f64,
    gone: Arc<AtomicBool>,
}

/// Set when it is dropped: with the request that a client waited for.
#[derive(Default)]
struct Waits(Arc<AtomicBool>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What an answer depends on beside what its request says.
pub(crate) struct Needs {
    /// How fresh the index must be; `None` where it is not asked.
    pub(crate) fresh: Option<Fresh>,
    /// Stays the same until something is written.
    pub(crate) stays: bool,
}

impl Served {
    pub(crate) fn new(engine: Arc<Engine>, settings: Settings, live: Live, mcp: Http) -> Self {
        let queue = Queue::new(settings.running, settings.waiting, settings.turn);
        let (live, audits) = (Arc::new(live), Arc::default());
        let told = Arc::clone(&live);
        engine.on_synced(move |report, took| told.synced(report, took));
        Self { engine, live, audits, settings, queue, metrics: Arc::default(), mcp }
    }

    /// Waits for a turn and works, where blocking hurts nobody. Whoever goes away while waiting leaves the
    /// line, and a search that is under way for them ends.
    pub(crate) async fn answer(
        &self,
        asked: &Asked,
        needs: Needs,
        work: impl FnOnce(&Engine, Freshened) -> Result<Vec<u8>> + Send + 'static,
    ) -> Answered {
        let turn = self.queue.turn().await?;
        let (engine, asked) = (Arc::clone(&self.engine), asked.clone());
        let metrics = Arc::clone(&self.metrics);
        let waits = Waits::default();
        let gone = Arc::clone(&waits.0);
        let answered = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let freshened = freshen(&engine, needs.fresh, gone)?;
            let state = if needs.stays && freshened.warning.is_none() { engine.fingerprint()? } else { None };
            let tag = state.map(|state| asked.tag(state));
            if tag.as_ref().is_some_and(|tag| asked.known.contains(tag)) {
                return Ok(Answer { body: None, tag });
            }
            let body = work(&engine, freshened).inspect_err(|error| metrics.ended_early(error.kind()))?;
            Ok(Answer { body: Some(body), tag })
        });
        match answered.await {
            Ok(answer) => answer.map_err(|error: Error| error.into()),
            Err(panicked) => {
                let error = Error::new(ErrorKind::Internal, "answer", "the request").because(panicked);
                Err(error.into())
            }
        }
    }
}

/// What is asked, and which answers to it the client has.
#[derive(Clone)]
pub(crate) struct Asked {
    address: u64,
    known: Vec<String>,
}

impl Asked {
    pub(crate) fn of(uri: &Uri, headers: &HeaderMap) -> Self {
        let mut hasher = DefaultHasher::new();
        uri.path().hash(&mut hasher);
        uri.query().hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
        let known = known.flat_map(|tags| tags.split(',')).map(|tag| tag.trim().to_owned()).collect();
        Self { address: hasher.finish(), known }
    }

    /// Names the answer to this in one state of things. Weak: how long the work took differs.
    fn tag(&self, state: u64) -> String {
        format!("W/\"{:016x}{state:016x}\"", self.address)
    }
}

fn freshen(engine: &Engine, fresh: Option<Fresh>, gone: Arc<AtomicBool>) -> Result<Freshened> {
    let Some(fresh) = fresh.filter(|fresh| !fresh.no_sync) else {
        return Ok(Freshened { warning: None, sync_ms: 0.0, gone });
    };
    let began = Instant::now();
    let wait = Duration::try_from_secs_f64(fresh.wait).unwrap_or_default();
    let freshness: Freshness = engine.freshen(Level::Quick, wait, |_| {})?;
    Ok(Freshened { warning: freshness.warning(), sync_ms: began.elapsed().as_secs_f64() * 1_000.0, gone })
}

async fn search(State(served): Shared, uri: Uri, headers: HeaderMap) -> Answered {
    let parameters: Search = read(SEARCH, uri.query())?;
    let needs = Needs { fresh: Some(parameters.fresh()), stays: !parameters.span.moves() };
    let request = parameters.request()?;
    served
        .answer(&Asked::of(&uri, &headers), needs, |engine, freshened| page(engine, request, freshened))
        .await
}

async fn facets(State(served): Shared, uri: Uri, headers: HeaderMap) -> Answered {
    let parameters: Facets = read(FACETS, uri.query())?;
    let needs = Needs { fresh: Some(parameters.fresh), stays: !parameters.span.moves() };
    let request = parameters.request()?;
    let work =
        |engine: &Engine, freshened: Freshened| write(&Counted::from(found(engine, request, freshened)?));
    served.answer(&Asked::of(&uri, &headers), needs, work).await
}

fn page(engine: &Engine, request: SearchRequest, freshened: Freshened) -> Result<Vec<u8>> {
    write(&found(engine, request, freshened)?)
}

pub(crate) fn found(engine: &Engine, request: SearchRequest, freshened: Freshened) -> Result<Page> {
    let deadline = Deadline::after(Duration::from_millis(SEARCH_WALL_MS_MAX)).or_when(freshened.gone);
    let mut page = engine.search_until(request, deadline)?;
    page.sync_ms = freshened.sync_ms;
    page.warnings.extend(freshened.warning);
    Ok(page)
}

async fn message(State(served): Shared, id: Id, uri: Uri, headers: HeaderMap) -> Answered {
    let neighbours: Neighbours = read(MESSAGE, uri.query())?;
    let id: i64 = text(id)?.parse().map_err(|_| wrong("id", "it is no whole number"))?;
    let needs = Needs { fresh: None, stays: true };
    let work = move |engine: &Engine, _| write(&shown(engine, id, &neighbours)?);
    served.answer(&Asked::of(&uri, &headers), needs, work).await
}

fn text(id: Id) -> Result<String> {
    id.map(|Path(id)| id).map_err(|_| wrong("id", "it is no text in UTF-8"))
}

/// Returns a message with as many neighbours on each side as asked for.
fn shown(engine: &Engine, id: i64, neighbours: &Neighbours) -> Result<Shown> {
    let mut shown = engine.show(id, neighbours.before.max(neighbours.after))?;
    let at = shown.messages.iter().position(|message| message.message_id == id).unwrap_or_default();
    shown.messages.truncate(at.saturating_add(neighbours.after).saturating_add(1));
    shown.messages.drain(..at.saturating_sub(neighbours.before));
    Ok(shown)
}

async fn sessions(State(served): Shared, uri: Uri, headers: HeaderMap) -> Answered {
    let list: List = read(SESSIONS, uri.query())?;
    let needs = Needs { fresh: Some(list.fresh), stays: !list.span.moves() };
    let (offset, limit) = (list.offset, list.limit);
    let filters = list.filters()?;
    let work = move |engine: &Engine, freshened: Freshened| {
        let list = engine.sessions(&filters, offset, limit)?;
        let warnings = freshened.warning.into_iter().chain(list.warnings).collect();
        write(&SessionList { warnings, ..list }.telling_if_empty())
    };
    served.answer(&Asked::of(&uri, &headers), needs, work).await
}

async fn session(State(served): Shared, id: Id, uri: Uri, headers: HeaderMap) -> Answered {
    let parameters: Session = read(SESSION, uri.query())?;
    let id = text(id)?;
    let needs = Needs { fresh: Some(parameters.fresh), stays: true };
    let asked = parameters.asked()?;
    let work = move |engine: &Engine, freshened: Freshened| match asked {
        OfSession::Messages { roles, slice } => {
            let mut page = engine.session_messages(&id, &roles, slice)?;
            page.warnings.splice(0..0, freshened.warning);
            write(&page)
        }
        OfSession::Hits(query) => {
            let mut found = engine.session_hits(&id, &query)?;
            found.page.warnings.extend(freshened.warning);
            write(&found)
        }
    };
    served.answer(&Asked::of(&uri, &headers), needs, work).await
}

async fn status(State(served): Shared, uri: Uri, headers: HeaderMap) -> Answered {
    let Nothing {} = read(STATUS, uri.query())?;
    let needs = Needs { fresh: None, stays: true };
    served.answer(&Asked::of(&uri, &headers), needs, |engine, _| write(&engine.status()?)).await
}

async fn syncs(State(served): Shared, uri: Uri) -> std::result::Result<Response, Refusal> {
    let Nothing {} = read(SYNCS, uri.query())?;
    Ok(as_json(write(&served.live.recent())?))
}

async fn events(State(served): Shared, uri: Uri) -> std::result::Result<Response, Refusal> {
    let Nothing {} = read(EVENTS, uri.query())?;
    Ok(served.live.stream(&served.engine)?.into_response())
}

async fn audit(State(served): Shared, uri: Uri) -> std::result::Result<Response, Refusal> {
    let Word { word } = read(AUDIT, uri.query())?;
    let (engine, audits) = (Arc::clone(&served.engine), Arc::clone(&served.audits));
    // It takes no turn: it may be long, and there is only one at a time.
    let taken = tokio::task::spawn_blocking(move || match word {
        Some(word) => write(&audits.word(&engine, &word)?),
        None => write(&*audits.take(&engine)?.audit),
    });
    let taken = taken
        .await
        .map_err(|panicked| Error::new(ErrorKind::Internal, "audit", "the archive").because(panicked))?;
    Ok(as_json(taken?))
}

async fn health(uri: Uri) -> std::result::Result<Response, Refusal> {
    let Nothing {} = read(HEALTH, uri.query())?;
    Ok("ok\n".into_response())
}

async fn metrics(State(served): Shared, uri: Uri) -> std::result::Result<Response, Refusal> {
    let Nothing {} = read(METRICS, uri.query())?;
    let engine = Arc::clone(&served.engine);
    let index = tokio::task::spawn_blocking(move || engine.index()).await;
    let index = match index {
        Ok(Ok(index)) => Some(index),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the index was not described");
            None
        }
        Err(error) => {
            tracing::error!(%error, "the index was not described");
            None
        }
    };
    let text = served.metrics.text(served.queue.counts(), index.as_ref());
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

async fn contract(uri: Uri) -> std::result::Result<Response, Refusal> {
    let Nothing {} = read(CONTRACT, uri.query())?;
    Ok(as_json(write(&openapi())?))
}

async fn nowhere(uri: Uri, headers: HeaderMap) -> Response {
    let hint = "/openapi.json lists what is there";
    let refusal = Refusal::http(StatusCode::NOT_FOUND, "find the address: nothing is there", hint);
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let is_browser = accept.contains("text/html") && !uri.path().starts_with("/api/");
    if is_browser { crate::page::nowhere() } else { refusal.into_response() }
}

async fn wrong_method() -> Refusal {
    let message = "answer the request: this address is only read";
    Refusal::http(StatusCode::METHOD_NOT_ALLOWED, message, "ask with GET")
}
