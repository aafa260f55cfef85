//! The tool `search_messages`: arguments to a request, or to several whose answers are merged.

use afterthought::limits::QUERY_MERGED_HITS;
use afterthought::search::workspace_path;
use afterthought::{Error, Facet, Filters, Group, Match, Origin, Result, SearchRequest, Sort, Weights};
use rmcp::model::JsonObject;
use serde::Deserialize;

use crate::answer::Answer;
use crate::arguments::{bound, missing, read, wrong};
use crate::budget::Budget;
use crate::found;
use afterthought_hermes::LazyEngine;

pub(crate) const NAME: &str = "search_messages";

/// The parameters, as `schema/mcp.json` describes them.
#[derive(Deserialize)]
struct Arguments {
    query: Option<String>,
    queries: Vec<String>,
    #[serde(rename = "in")]
    origins: Vec<Origin>,
    include_reasoning: bool,
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
    max_tokens: usize,
}

pub(crate) fn call(engine: &LazyEngine, schema: &JsonObject, given: JsonObject) -> Result<Answer> {
    let mut arguments: Arguments = read(schema, given)?;
    let budget = Budget::of(arguments.max_tokens);
    let (query, queries) = (arguments.query.take(), std::mem::take(&mut arguments.queries));
    match (query, queries.is_empty()) {
        (Some(query), true) => found::one(engine, request(arguments, query)?, budget),
        (None, false) => {
            check_merged(&arguments)?;
            found::several(engine, &request(arguments, String::new())?, queries, budget)
        }
        (Some(_), false) => Err(wrong("queries", "give query or queries, not both")),
        (None, true) => Err(missing(schema, "query")),
    }
}

/// Refuses what has no meaning for a merged list.
fn check_merged(arguments: &Arguments) -> Result<()> {
    let refuse = |name: &str, why: &str| -> Result<()> {
        Err(wrong(name, why).hint("give one query instead of queries".to_owned()))
    };
    if arguments.cursor.is_some() {
        return refuse("cursor", "several queries are merged into one list, whose pages go by offset");
    }
    if !arguments.facets.is_empty() {
        return refuse("facets", "they count the hits of one query");
    }
    if arguments.sort != Sort::Relevance {
        return refuse("sort", "several queries are merged by their ranks, so by relevance");
    }
    if arguments.offset + arguments.limit > QUERY_MERGED_HITS {
        let why = format!("offset + limit must not exceed {QUERY_MERGED_HITS} with queries");
        return refuse("offset", &why);
    }
    Ok(())
}

fn request(arguments: Arguments, query: String) -> Result<SearchRequest> {
    if !arguments.branches.is_empty() && arguments.workspace.is_none() {
        return Err(wrong("branches", "a branch is a name inside a workspace: give workspace as well"));
    }
    let workspace = arguments.workspace.as_deref().map(workspace_path).transpose();
    let no_set = || wrong("weights", format!("there is no set \"{}\"", arguments.weights));
    let weights = Weights::named(&arguments.weights).ok_or_else(no_set)?;
    let mut request = SearchRequest::new(query);
    request.origins = origins(arguments.origins, arguments.include_reasoning)?;
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
        ..Filters::default()
    };
    Ok(request)
}

/// Returns where a match may stand; empty means everywhere.
fn origins(asked: Vec<Origin>, include_reasoning: bool) -> Result<Vec<Origin>> {
    if include_reasoning {
        return Ok(asked);
    }
    let some = if asked.is_empty() { Origin::ALL.to_vec() } else { asked };
    let rest: Vec<Origin> = some.into_iter().filter(|origin| *origin != Origin::Thought).collect();
    if rest.is_empty() {
        let error: Error = wrong("include_reasoning", "in asks for thought alone, and this leaves it out");
        return Err(error.hint("leave one of the two out".to_owned()));
    }
    Ok(rest)
}
