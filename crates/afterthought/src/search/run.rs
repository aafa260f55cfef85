//! One search from request to page: read the query, plan, collect, hydrate, and say what the
//! caller should know.

use std::time::Instant;

use crate::error::Result;
use crate::index::Snapshot;
use crate::limits::PAGE_REFILLS_MAX;
use crate::model::Warning;
use crate::query::{Query, parse};

use super::collect::{Collected, Ranked, collect};
use super::explain::Work;
use super::filter::Filter;
use super::hydrate::{Fetch, hydrate};
use super::page::{Count, IndexView, Page};
use super::plan::{Plan, Reading};
use super::request::SearchRequest;

/// Answers a request from one snapshot; `fetch` reads the messages that are shown. Fails on a
/// request out of bounds, at the deadline, and when a message cannot be read; a query never fails.
pub fn search(
    snapshot: &Snapshot,
    fetch: Fetch<'_>,
    request: &SearchRequest,
    deadline: Instant,
) -> Result<Page> {
    let began = Instant::now();
    request.check()?;
    let query = parse(&request.query);
    let mut filter = Filter::of(snapshot, &request.filters)?;
    let mut page = answer(snapshot, fetch, request, &query, Reading::Strict, &mut filter, deadline)?;
    if let Outcome::Empty { can_relax: true } = page.1 {
        let relaxed = answer(snapshot, fetch, request, &query, Reading::Relaxed, &mut filter, deadline)?;
        if relaxed.0.total.value > 0 {
            page = relaxed;
            let message = "nothing holds the query as it stands; its words were searched one by one";
            page.0.warnings.push(Warning::new("relaxed", message));
        }
    }
    page.0.elapsed_ms = began.elapsed().as_secs_f64() * 1_000.0;
    Ok(page.0)
}

enum Outcome {
    Found,
    Empty { can_relax: bool },
}

fn answer(
    snapshot: &Snapshot,
    fetch: Fetch<'_>,
    request: &SearchRequest,
    query: &Query,
    reading: Reading,
    filter: &mut Filter,
    deadline: Instant,
) -> Result<(Page, Outcome)> {
    let plan = Plan::of(query, request, reading);
    let ranked = Ranked::of(snapshot, &plan, request.prune)?;
    let mut work = Work::default();
    let mut stale = 0;
    let mut rounds = 0;
    let (collected, hits) = loop {
        let depth = request.offset + request.limit;
        let mut collected = collect(snapshot, &ranked, filter, depth, deadline, &mut work)?;
        let page = collected.found.split_off(request.offset.min(collected.found.len()));
        let hydrated = hydrate(snapshot, fetch, &ranked, &page, deadline, &mut work)?;
        stale += hydrated.stale.len();
        rounds += 1;
        if hydrated.stale.is_empty() || rounds > PAGE_REFILLS_MAX {
            collected.total -= hydrated.stale.len() as u64;
            let mut hits = hydrated.hits;
            if !request.explain {
                for hit in &mut hits {
                    hit.explain = None;
                }
            }
            break (collected, hits);
        }
        filter.stale.extend(hydrated.stale);
    };
    let outcome =
        if collected.total > 0 { Outcome::Found } else { Outcome::Empty { can_relax: plan.can_relax } };
    let page = Page {
        schema_version: 1,
        query: request.query.clone(),
        total: Count { value: collected.total, relation: "eq" },
        offset: request.offset,
        limit: request.limit,
        warnings: warnings(&plan, &ranked, &collected, stale, request),
        results: hits,
        next_cursor: None,
        facets: None,
        index: IndexView::default(),
        elapsed_ms: 0.0,
        sync_ms: 0.0,
        work: request.explain.then_some(work),
    };
    Ok((page, outcome))
}

/// Says how the query was read and, of an empty answer, why it is empty.
fn warnings(
    plan: &Plan,
    ranked: &Ranked<'_>,
    collected: &Collected,
    stale: usize,
    request: &SearchRequest,
) -> Vec<Warning> {
    let mut warnings = plan.warnings.clone();
    let mut warn = |kind, message: String| warnings.push(Warning::new(kind, message));
    if stale > 0 {
        let message = format!(
            "{stale} {} left out, of rows that changed since they were indexed; where a sync does not take \
             them in: aft verify --deep --repair",
            if stale == 1 { "hit was" } else { "hits were" }
        );
        warn("rows-changed", message);
    }
    if plan.terms.is_empty() {
        warn("empty-query", "the query holds nothing to search for".to_owned());
        return warnings;
    }
    if plan.fields.is_empty() {
        warn("nothing-searched", "every field asked for has a boost of 0".to_owned());
    }
    for (bit, term) in plan.terms.iter().enumerate() {
        if ranked.unknown >> bit & 1 == 1 {
            warn("unknown-term", format!("\"{}\" stands nowhere in what was searched", term.label));
        }
    }
    if collected.total > 0 {
        if request.offset as u64 >= collected.total {
            warn(
                "past-the-end",
                format!("offset {} lies behind the last of {} hits", request.offset, collected.total),
            );
        }
        return warnings;
    }
    let filtered = collected.matched.saturating_sub(stale as u64);
    if filtered > 0 {
        warn(
            "filtered-out",
            format!("{filtered} matches were left out by the filters, or are hidden or repeated rows"),
        );
    } else if stale > 0 {
        // Said already.
    } else if !plan.required.is_empty() {
        let labels: Vec<_> = plan.terms.iter().map(|term| format!("\"{}\"", term.label)).collect();
        warn("no-match", format!("no message holds all that is required among {}", labels.join(", ")));
    } else if ranked.unknown == 0 {
        warn("no-match", "no message holds any of these words".to_owned());
    }
    warnings
}
