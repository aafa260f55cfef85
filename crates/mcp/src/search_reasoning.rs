//! The tool `search_reasoning`: what was thought and not said.

use afterthought::{Filters, Origin, Result, SearchRequest};
use rmcp::model::JsonObject;
use serde::Deserialize;

use crate::answer::Answer;
use crate::arguments::{bound, read};
use crate::budget::Budget;
use crate::found;
use afterthought_hermes::LazyEngine;

pub(crate) const NAME: &str = "search_reasoning";

/// The parameters, as `schema/mcp.json` describes them.
#[derive(Deserialize)]
struct Arguments {
    query: String,
    sources: Vec<String>,
    sessions: Vec<String>,
    users: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    limit: usize,
    cursor: Option<String>,
    max_tokens: usize,
}

pub(crate) fn call(engine: &LazyEngine, schema: &JsonObject, given: JsonObject) -> Result<Answer> {
    let arguments: Arguments = read(schema, given)?;
    let filters = Filters {
        sources: arguments.sources,
        sessions: arguments.sessions,
        users: arguments.users,
        since_ms: bound("since", arguments.since.as_deref())?,
        until_ms: bound("until", arguments.until.as_deref())?,
        ..Filters::default()
    };
    let request = SearchRequest {
        origins: vec![Origin::Thought],
        filters,
        limit: arguments.limit,
        cursor: arguments.cursor,
        ..SearchRequest::new(arguments.query)
    };
    found::one(engine, request, Budget::of(arguments.max_tokens))
}
