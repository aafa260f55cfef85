//! The tool `search_messages`: arguments to a request, a page to text.

use afterthought::search::{IndexState, facet_line, workspace_path};
use afterthought::time::bound_now;
use afterthought::{
    Error, ErrorKind, Facet, Filters, Group, Hit, Match, Origin, Page, Result, SearchRequest, Sort, Weights,
};
use rmcp::model::JsonObject;
use serde::Deserialize;

use crate::answer::Answer;
use crate::arguments::{read, wrong};
use crate::engine::LazyEngine;

pub(crate) const NAME: &str = "search_messages";

/// The parameters, as `schema/mcp.json` describes them.
#[derive(Deserialize)]
struct Arguments {
    query: String,
    #[serde(rename = "in")]
    origins: Vec<Origin>,
    roles: Vec<String>,
    sources: Vec<String>,
    exclude_sources: Vec<String>,
    sessions: Vec<String>,
    exclude_sessions: Vec<String>,
    current_session: Option<String>,
    users: Vec<String>,
    models: Vec<String>,
    workspace: Option<String>,
    branches: Vec<String>,
    tools: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    #[serde(rename = "match")]
    matching: Match,
    weights: String,
    sort: Sort,
    group: Group,
    cursor: Option<String>,
    limit: usize,
    offset: usize,
    facets: Vec<Facet>,
    include_inactive: bool,
    include_copies: bool,
}

pub(crate) fn call(engine: &LazyEngine, schema: &JsonObject, given: JsonObject) -> Result<Answer> {
    let page = engine.search(request(read(schema, given)?)?)?;
    // By way of text: turned into a value at once, a score would have digits that it has nowhere else.
    let structured = serde_json::to_string(&page)
        .and_then(|text| serde_json::from_str(&text))
        .map_err(|error| Error::new(ErrorKind::Internal, "write", "the page").because(error))?;
    Ok(Answer { structured, text: as_text(&page) })
}

fn request(arguments: Arguments) -> Result<SearchRequest> {
    let bound = |name: &str, text: Option<&str>| {
        text.map(|text| bound_now(text).map_err(|why| wrong(name, format!("\"{text}\" is {why}"))))
            .transpose()
    };
    if !arguments.branches.is_empty() && arguments.workspace.is_none() {
        return Err(wrong("branches", "a branch is a name inside a workspace: give workspace as well"));
    }
    let workspace = arguments.workspace.as_deref().map(workspace_path).transpose();
    let no_set = || wrong("weights", format!("there is no set \"{}\"", arguments.weights));
    let weights = Weights::named(&arguments.weights).ok_or_else(no_set)?;
    let mut request = SearchRequest::new(arguments.query);
    request.origins = arguments.origins;
    request.matching = arguments.matching;
    request.weights = weights;
    request.sort = arguments.sort;
    request.group = arguments.group;
    request.cursor = arguments.cursor;
    request.offset = arguments.offset;
    request.limit = arguments.limit;
    request.facets = arguments.facets;
    request.filters = Filters {
        roles: arguments.roles,
        sources: arguments.sources,
        exclude_sources: arguments.exclude_sources,
        sessions: arguments.sessions,
        exclude_sessions: arguments.exclude_sessions,
        current_session: arguments.current_session,
        users: arguments.users,
        models: arguments.models,
        workspace: workspace.map_err(|why| wrong("workspace", why))?,
        branches: arguments.branches,
        tools: arguments.tools,
        since_ms: bound("since", arguments.since.as_deref())?,
        until_ms: bound("until", arguments.until.as_deref())?,
        include_inactive: arguments.include_inactive,
        include_copies: arguments.include_copies,
    };
    Ok(request)
}

/// Writes a page for a model: how many there are and how true that is, then each hit in two lines.
fn as_text(page: &Page) -> String {
    let (from, to) = (page.offset + 1, page.offset + page.results.len());
    let in_all = match page.total_messages {
        Some(messages) => format!("{} groups of {} messages in total", page.total.value, messages.value),
        None => format!("{} in total", page.total.value),
    };
    let mut text = match page.results.len() {
        0 => format!("no results shown of {in_all}\n"),
        _ => format!("results {from} to {to} of {in_all}\n"),
    };
    for warning in &page.warnings {
        text += &format!("note: {}\n", warning.message);
    }
    if page.index.state == IndexState::Stale {
        text += &format!("note: {} rows of the archive are not indexed yet\n", page.index.rows_behind);
    }
    for (place, hit) in page.results.iter().enumerate() {
        push_hit(&mut text, from + place, hit);
    }
    for (facet, values) in page.facets.iter().flatten() {
        let more = page.facets_more.as_ref().and_then(|more| more.get(facet)).copied().unwrap_or(0);
        text += &format!("\n{}: {}", facet.name(), facet_line(values, more));
    }
    if page.facets.is_some() {
        text.push('\n');
    }
    if to > page.offset && (to as u64) < page.total.value {
        text += &format!("\nmore with offset {to}");
        if let Some(cursor) = &page.next_cursor {
            text += &format!(", or without gap or repetition with cursor {cursor}");
        }
        text.push('\n');
    }
    text
}

fn push_hit(text: &mut String, rank: usize, hit: &Hit) {
    let id = hit.message_id.map(|id| format!("#{id}"));
    let facts = [
        hit.role.as_deref(),
        hit.timestamp.as_deref(),
        Some(hit.source.as_str()),
        id.as_deref(),
        Some("in session"),
        Some(hit.session_id.as_str()),
    ];
    let facts: Vec<&str> = facts.into_iter().flatten().filter(|fact| !fact.is_empty()).collect();
    *text += &format!("\n{rank}. {} {}", hit.origin.name(), facts.join(" "));
    // The snippet of a hit in the title is the title.
    if let Some(title) =
        hit.title.as_deref().filter(|title| hit.origin != Origin::Titled && !title.is_empty())
    {
        *text += &format!(" \"{title}\"");
    }
    if let Some(tier) = hit.tier {
        *text += &format!(" ({})", tier.name());
    }
    *text += &format!("\n   {}\n", hit.snippet);
    if let Some(more @ 1..) = hit.more_in_session {
        *text += &format!("   {more} more of this group\n");
    }
}
