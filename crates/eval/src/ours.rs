//! Our answers: the engine, asked as any door asks it.

use std::collections::HashMap;

use afterthought::{Engine, Filters, Group, Page, Result, SearchRequest, Weights};

use crate::catalogue::{Scope, Task, Unit};
use crate::data::{Query, Set};
use crate::metrics;

/// Units of a ranking: what every figure looks at.
const UNITS: usize = 10;

/// Answers every query of a task: rankings in the order of the queries.
pub(crate) fn rankings(
    set: &Set,
    task: Task,
    queries: &[&Query],
    engine: &Engine,
    weights: &Weights,
) -> Result<Vec<Vec<metrics::Unit>>> {
    let ords = set.sessions.iter().map(|talk| talk.session.id.as_str()).zip(0..).collect();
    queries.iter().map(|query| ranking(set, task, query, engine, weights, &ords)).collect()
}

/// Ranks units for one query. Here alone is decided how sessions are ranked.
fn ranking(
    set: &Set,
    task: Task,
    query: &Query,
    engine: &Engine,
    weights: &Weights,
    ords: &HashMap<&str, metrics::Unit>,
) -> Result<Vec<metrics::Unit>> {
    if task.unit == Unit::Message {
        return Ok(messages(&engine.search(request(set, task, query, UNITS, weights))?));
    }
    let page = engine
        .search(SearchRequest { group: Group::Session, ..request(set, task, query, UNITS, weights) })?;
    Ok(page.results.iter().filter_map(|hit| ords.get(hit.session_id.as_str()).copied()).collect())
}

fn request(set: &Set, task: Task, query: &Query, limit: usize, weights: &Weights) -> SearchRequest {
    let own = query.own.as_ref().filter(|_| task.scope == Scope::Own);
    let sessions = own.map_or(&[][..], |own| &set.sessions[own.start as usize..own.end as usize]);
    let sessions = sessions.iter().map(|talk| talk.session.id.clone()).collect();
    SearchRequest {
        limit,
        weights: weights.clone(),
        filters: Filters { sessions, ..Filters::default() },
        ..SearchRequest::new(query.text.as_str())
    }
}

/// Returns the numbers of the messages found: rows of the archive count from 1.
fn messages(page: &Page) -> Vec<metrics::Unit> {
    let ids = page.results.iter().filter_map(|hit| hit.message_id);
    ids.filter_map(|id| metrics::Unit::try_from(id - 1).ok()).collect()
}

/// Leaves out what came before.
pub(crate) fn firsts(units: impl Iterator<Item = metrics::Unit>) -> Vec<metrics::Unit> {
    let mut seen = std::collections::HashSet::new();
    units.filter(|unit| seen.insert(*unit)).collect()
}
