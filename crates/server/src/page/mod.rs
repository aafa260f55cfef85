//! The page: the API's answers as HTML, whole without a script. The script in `page/` only saves the reload:
//! it fetches the next address and puts in what differs.

mod address;
mod assets;
mod filters;
mod layout;
mod reader;
mod results;
mod sent;
mod sessions;
mod status;
mod text;

use std::sync::Arc;

use afterthought::limits::SERVE_NEIGHBOURS_MAX;
use afterthought::{Engine, Error, ErrorKind, Filters, Hit, Origin, Page, Result, SearchRequest, Shown};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};

use crate::answer::{Answer, Refusal};
use crate::parameters::{read, wrong};
use crate::requests::{Fresh, Search};
use crate::routes::{Asked, Freshened, Needs, SEARCH, Served, found};

use address::{AFTER, Address, BEFORE, OPEN};
use layout::{Kind, document};
use reader::{NEIGHBOURS, Reading, reader};
use sent::{Html, sent, sent_search};

pub(crate) use sent::nowhere;

/// Hits on a page, unless the address says otherwise.
const HITS: &str = "20";
/// Seconds that a page waits for what was just written.
const PATIENCE: f64 = 1.0;
/// Conversations that the first page shows.
const LATEST: usize = 10;

type Shared = State<Arc<Served>>;

pub(crate) fn routes() -> Router<Arc<Served>> {
    Router::new()
        .route("/", get(search))
        .route("/messages/{id}", get(message))
        .route("/sessions", get(list))
        .route("/sessions/{id}", get(session))
        .route("/status", get(state))
        .merge(assets::routes())
}

fn written(page: Markup) -> Vec<u8> {
    page.into_string().into_bytes()
}

fn fresh() -> Fresh {
    Fresh { no_sync: false, wait: PATIENCE }
}

/// What is shown beside the hits.
struct Open {
    id: i64,
    before: usize,
    after: usize,
}

impl Open {
    fn of(address: &Address, id: &str) -> Result<Self> {
        let number = |name: &str| {
            let Some(text) = address.get(name) else { return Ok(NEIGHBOURS) };
            let number: usize =
                text.parse().map_err(|_| wrong(name, format!("\"{text}\" is no whole number")))?;
            Ok(number.min(SERVE_NEIGHBOURS_MAX))
        };
        let id = id.parse().map_err(|_| wrong(OPEN, format!("\"{id}\" is no whole number")))?;
        Ok(Self { id, before: number(BEFORE)?, after: number(AFTER)? })
    }

    fn shown(&self, engine: &Engine) -> Result<Shown> {
        engine.show_between(self.id, self.before, self.after)
    }
}

async fn search(State(served): Shared, uri: Uri, headers: HeaderMap) -> Html {
    let address = Address::of(&uri);
    sent_search(&address, answer_search(&served, &address, &uri, &headers).await)
}

async fn answer_search(
    served: &Served,
    address: &Address,
    uri: &Uri,
    headers: &HeaderMap,
) -> std::result::Result<Answer, Refusal> {
    let asked = Asked::of(uri, headers);
    let open = address.get(OPEN).map(|id| Open::of(address, id)).transpose()?;
    if address.query().is_empty() && open.is_none() {
        let needs = Needs { fresh: Some(fresh()), stays: true };
        return served.answer(&asked, needs, |engine, _| first(engine)).await;
    }
    let facets = filters::FACETS.map(afterthought::Facet::name).join(",");
    let mut whole =
        address.without(&["facets", "wait", "cursor"]).with("facets", facets).with("wait", PATIENCE);
    if whole.get("limit").is_none() {
        whole = whole.with("limit", HITS);
    }
    let parameters: Search = read(SEARCH, Some(&whole.query()))?;
    let needs = Needs { fresh: Some(parameters.fresh()), stays: !parameters.span.moves() };
    let request = parameters.request()?;
    let address = address.clone();
    let work = move |engine: &Engine, freshened: Freshened| {
        hits(engine, &address, request, open.as_ref(), freshened)
    };
    served.answer(&asked, needs, work).await
}

/// The page before anything is asked: what there is, and the latest conversations.
fn first(engine: &Engine) -> Result<Vec<u8>> {
    let status = engine.status()?;
    let latest = engine.sessions(&Filters::default(), 0, LATEST)?;
    let body = html! {
        main #main.alone tabindex="-1" data-region {
            h1 { "What your agent said, thought and did" }
            p.quiet {
                (text::counted(status.index.rows, "message", "messages")) " in "
                (text::counted(status.sessions as u64, "conversation", "conversations")) ", "
                (text::grouped(status.rows_by_origin.get(&Origin::Thought).copied().unwrap_or(0)))
                " messages with what the model thought."
            }
            h2 { "Latest conversations" }
            (sessions::list(&latest))
        }
    };
    Ok(written(document(Kind::Search, "Afterthought", "", Some(&status.index), &body)))
}

fn hits(
    engine: &Engine,
    address: &Address,
    request: SearchRequest,
    open: Option<&Open>,
    freshened: Freshened,
) -> Result<Vec<u8>> {
    let page = found(engine, request, freshened)?;
    let beside = open.map(|open| beside(engine, address, &page, open)).transpose()?;
    let title = if page.query.is_empty() {
        "Afterthought".to_owned()
    } else {
        format!("{} · Afterthought", page.query)
    };
    let body = html! {
        aside #filters aria-label="Filters" data-region { (filters::filters(address, page.facets.as_ref())) }
        main #main tabindex="-1" aria-label="Results" data-region { (results::results(address, &page)) }
        section #reader aria-label="Conversation" data-region {
            @if let Some(beside) = beside {
                a.close href=(address.without(&[OPEN, BEFORE, AFTER])) aria-label="Close the conversation" { "×" }
                (beside)
            }
        }
    };
    Ok(written(document(Kind::Search, &title, &page.query, Some(&page.index), &body)))
}

/// Shows the message that is open beside the hits, with the words that its snippet marks.
fn beside(engine: &Engine, address: &Address, page: &Page, open: &Open) -> Result<Markup> {
    let hit = page.results.iter().find(|hit| hit.message_id == Some(open.id));
    let words: Vec<String> = hit.map(words).unwrap_or_default();
    let reading = Reading { id: Some(open.id), words: &words, origin: hit.map(|hit| hit.origin) };
    match open.shown(engine) {
        Ok(shown) => Ok(reader(address, &shown, &reading, (open.before, open.after))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(reader::missing(address, &error.to_string())),
        Err(error) => Err(error),
    }
}

fn words(hit: &Hit) -> Vec<String> {
    text::words(&hit.snippet, &hit.highlights).collect()
}

async fn message(State(served): Shared, Path(id): Path<String>, uri: Uri, headers: HeaderMap) -> Html {
    let address = Address::of(&uri);
    let answered = async {
        let open = Open::of(&address, &id)?;
        let (address, asked) = (address.clone(), Asked::of(&uri, &headers));
        let work = move |engine: &Engine, _| {
            let shown = open.shown(engine)?;
            let reading = Reading { id: Some(open.id), words: &[], origin: None };
            let body = html! {
                main #main.alone.reader tabindex="-1" aria-label="Conversation" data-region {
                    h1 #total .unseen { "Conversation" }
                    (reader(&address, &shown, &reading, (open.before, open.after)))
                }
            };
            let title = format!("#{} · Afterthought", open.id);
            Ok(written(document(Kind::Message, &title, "", Some(&engine.index()?), &body)))
        };
        served.answer(&asked, Needs { fresh: None, stays: true }, work).await
    };
    sent("", answered.await)
}

async fn list(State(served): Shared, uri: Uri, headers: HeaderMap) -> Html {
    let address = Address::of(&uri);
    let answered = async {
        let offset = number(&address, "offset")?;
        let filters =
            Filters { sources: address.all("source").map(str::to_owned).collect(), ..Filters::default() };
        let (address, asked) = (address.clone(), Asked::of(&uri, &headers));
        let work = move |engine: &Engine, freshened: Freshened| {
            let mut found = engine.sessions(&filters, offset, sessions::PAGE)?;
            found.warnings.extend(freshened.warning);
            let body = html! {
                main #main.alone tabindex="-1" data-region { (sessions::listed(&address, &found.telling_if_empty())) }
            };
            Ok(written(document(
                Kind::Sessions,
                "Conversations · Afterthought",
                "",
                Some(&engine.index()?),
                &body,
            )))
        };
        served.answer(&asked, Needs { fresh: Some(fresh()), stays: true }, work).await
    };
    sent("", answered.await)
}

async fn session(State(served): Shared, Path(id): Path<String>, uri: Uri, headers: HeaderMap) -> Html {
    let address = Address::of(&uri);
    let answered = async {
        let from = number(&address, "from")?;
        let (address, asked) = (address.clone(), Asked::of(&uri, &headers));
        let work = move |engine: &Engine, freshened: Freshened| {
            let (start, end) = (i64::try_from(from).ok(), i64::try_from(from + sessions::PAGE).ok());
            let mut shown = engine.session_messages(&id, &[], (start, end))?;
            shown.warnings.splice(0..0, freshened.warning);
            let body = html! {
                main #main.alone.reader tabindex="-1" aria-label="Conversation" data-region {
                    h1 #total .unseen { "Conversation" }
                    (sessions::conversation(&address, &shown, from))
                }
            };
            let name = shown.session.title.as_deref().unwrap_or(&shown.session.id);
            let title = format!("{name} · Afterthought");
            Ok(written(document(Kind::Session, &title, "", Some(&engine.index()?), &body)))
        };
        served.answer(&asked, Needs { fresh: Some(fresh()), stays: true }, work).await
    };
    sent("", answered.await)
}

async fn state(State(served): Shared, uri: Uri, headers: HeaderMap) -> Html {
    if Address::of(&uri).get("audit").is_some() {
        return sent("", audited(&served).await);
    }
    let (recent, last) = (served.live.recent(), served.audits.last());
    let asked = Asked::of(&uri, &headers);
    let work = move |engine: &Engine, _| {
        let status = engine.status()?;
        let body = html! {
            main #main.alone tabindex="-1" data-region {
                (status::status(&status, &recent))
                @if engine.person().is_none() { (status::audited(last.as_ref())) }
            }
        };
        Ok(written(document(Kind::Status, "Status · Afterthought", "", Some(&status.index), &body)))
    };
    // What else it shows changes without the index.
    sent("", served.answer(&asked, Needs { fresh: Some(fresh()), stays: false }, work).await)
}

/// Takes an audit, which may be long, and goes back to where it is shown.
async fn audited(served: &Served) -> std::result::Result<Response, Refusal> {
    let (engine, audits) = (Arc::clone(&served.engine), Arc::clone(&served.audits));
    let taken = tokio::task::spawn_blocking(move || audits.take(&engine)).await;
    taken.map_err(|panicked| Error::new(ErrorKind::Internal, "audit", "the archive").because(panicked))??;
    Ok(Answer::elsewhere("/status#audit"))
}

/// Reads a place in a list; 0 where none is given.
fn number(address: &Address, name: &str) -> Result<usize> {
    /// Beyond it there is nothing.
    const MOST: usize = 1_000_000_000;
    let Some(text) = address.get(name) else { return Ok(0) };
    text.parse()
        .ok()
        .filter(|number| *number <= MOST)
        .ok_or_else(|| wrong(name, format!("\"{text}\" is no whole number up to {MOST}")))
}
