//! One search from request to page: read the query, plan, collect, hydrate, and say what the
//! caller should know.

use std::time::Instant;

use crate::error::Result;
use crate::index::Snapshot;
use crate::limits::{
    CONFIDENT_MESSAGE_MIN, CONFIDENT_SESSION_MIN, CONFIDENT_UNKNOWN_MIN, CURSOR_STALE_ROWS_MAX,
    PAGE_REFILLS_MAX,
};
use crate::model::Warning;
use crate::query::{Query, parse};

use super::collect::{Collected, Ranked, Watch, collect};
use super::cursor::{Place, request_hash};
use super::deadline::Deadline;
use super::diagnosis::{Outcome, diagnose};
use super::dictionaries::Dictionaries;
use super::explain::Work;
use super::facets::FacetCounts;
use super::filter::Filter;
use super::gather::Gathered;
use super::hydrate::{Fetch, hydrate};
use super::order::{Key, Order};
use super::page::{Confidence, Count, Hit, IndexView, Page};
use super::plan::{Plan, Reading};
use super::request::SearchRequest;

/// Answers a request from one snapshot; `fetch` reads the messages that are shown. Fails on a
/// request out of bounds, at the deadline or when nobody waits, and when a message cannot be read; a query never fails.
pub fn search(
    snapshot: &Snapshot,
    fetch: Fetch<'_>,
    request: &SearchRequest,
    deadline: &Deadline,
) -> Result<Page> {
    let began = Instant::now();
    request.check()?;
    let query = parse(&request.query);
    let place = request.cursor.as_deref().map(|cursor| Place::of(cursor, request, snapshot)).transpose()?;
    let mut filters = request.filters.clone();
    if let Some(place) = &place {
        (filters.since_ms, filters.until_ms) = (place.since_ms, place.until_ms);
    }
    let mut filter = Filter::of(snapshot, &filters)?;
    filter.stale.extend(place.iter().flat_map(|place| &place.stale));
    let from = From::of(request, place.as_ref());
    let asked = Asked { snapshot, request, query: &query, from, deadline };
    let mut reading = Reading::Strict;
    let mut answered = answer(&asked, fetch, reading, &mut filter)?;
    if answered.outcome.total == 0 && answered.can_relax {
        let relaxed = answer(&asked, fetch, Reading::Relaxed, &mut filter)?;
        if relaxed.outcome.total > 0 {
            (answered, reading) = (relaxed, Reading::Relaxed);
            let message = "no hit holds the query as it stands; its words were searched one by one";
            answered.page.warnings.push(Warning::new("relaxed", message));
        }
    }
    let mut page = answered.page;
    page.warnings.append(&mut filter.warnings);
    // What is missing is missing from every page: the first one says it.
    if request.cursor.is_none()
        && let Some((diagnosis, warnings)) = diagnose(&asked, reading, &filter, &answered.outcome)?
    {
        page.diagnosis = Some(diagnosis);
        page.warnings.extend(warnings);
    }
    page.elapsed_ms = began.elapsed().as_secs_f64() * 1_000.0;
    Ok(page)
}

/// What is the same in every reading of a request.
pub(super) struct Asked<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) request: &'a SearchRequest,
    pub(super) query: &'a Query,
    from: From,
    pub(super) deadline: &'a Deadline,
}

/// Where a page begins.
struct From {
    /// The rank of its first hit.
    rank: usize,
    /// Documents to rank and pass over.
    skip: usize,
    /// The key that its hits are behind.
    after: Option<Key>,
}

impl From {
    fn of(request: &SearchRequest, place: Option<&Place>) -> Self {
        match place {
            Some(place) => Self {
                rank: usize::try_from(place.depth).unwrap_or(usize::MAX),
                skip: 0,
                after: Some(place.after),
            },
            None => Self { rank: request.offset, skip: request.offset, after: None },
        }
    }
}

/// A page, and what there is to know about it.
struct Answered {
    page: Page,
    outcome: Outcome,
    can_relax: bool,
}

fn answer(asked: &Asked<'_>, fetch: Fetch<'_>, reading: Reading, filter: &mut Filter) -> Result<Answered> {
    let request = asked.request;
    let mut plan = Plan::of(asked.query, request, reading);
    let dictionaries = Dictionaries::of(asked.snapshot);
    plan.expand(&dictionaries, filter)?;
    let order = Order::of(asked.snapshot, request)?;
    let ranked = Ranked::of(&dictionaries, &plan, order, request)?;
    let mut work = Work::default();
    let Filled { collected, hits, last, stale, watch } = fill(asked, fetch, &ranked, filter, &mut work)?;
    let next = next_place(asked, &collected, hits.len(), last, filter);
    let outcome = Outcome {
        total: collected.total,
        current: watch.current,
        stale: stale as u64,
        unknown: ranked.unknown(asked.snapshot, filter)?,
    };
    let counts = (!request.facets.is_empty()).then(|| watch.facets.facets(asked.snapshot)).transpose()?;
    let (facets, facets_more) = counts.unzip();
    let confidence = confidence(&ranked, &collected, outcome.unknown);
    // Words of a prefix that were not searched may have more.
    let is_cut = plan.warnings.iter().any(|warning| warning.kind == "forms-cut");
    let relation = if is_cut { "gte" } else { "eq" };
    let page = Page {
        schema_version: 1,
        query: request.query.clone(),
        total: Count { value: collected.total, relation },
        confidence,
        total_messages: collected.messages.map(|value| Count { value, relation }),
        offset: asked.from.rank,
        limit: request.limit,
        warnings: warnings(&plan, &collected, confidence, stale, asked.from.rank, filter),
        results: hits,
        next_cursor: next.map(|place| place.write()),
        facets,
        facets_more,
        diagnosis: None,
        index: IndexView::default(),
        elapsed_ms: 0.0,
        sync_ms: 0.0,
        work: request.explain.then_some(work),
    };
    Ok(Answered { page, outcome, can_relax: plan.can_relax })
}

/// Says how far to trust that the archive holds what was asked for, by the conversation that holds most of
/// it: words that no message has weigh most.
fn confidence(ranked: &Ranked<'_>, collected: &Collected, unknown: u64) -> Confidence {
    if collected.total == 0 {
        return Confidence::None;
    }
    let of_sessions = collected.evidence.sessions().map(|best| ranked.coverage(ranked.terms_of(best)));
    // A word that stands nowhere may be the very subject, and common words of questions meet in any long
    // conversation.
    let of_session_min = if unknown == 0 { CONFIDENT_SESSION_MIN } else { CONFIDENT_UNKNOWN_MIN };
    let is_confident =
        collected.coverage >= CONFIDENT_MESSAGE_MIN && of_sessions.fold(0.0, f32::max) >= of_session_min;
    if is_confident { Confidence::Confident } else { Confidence::Weak }
}

/// A page's hits, and what they were chosen from.
struct Filled {
    collected: Collected,
    hits: Vec<Hit>,
    /// The key of the last document of a full page.
    last: Option<Key>,
    /// Messages left out, as they are no longer what was indexed.
    stale: usize,
    watch: Watch,
}

/// Collects and shows, again after hits that the archive no longer holds.
fn fill(
    asked: &Asked<'_>,
    fetch: Fetch<'_>,
    ranked: &Ranked<'_>,
    filter: &mut Filter,
    work: &mut Work,
) -> Result<Filled> {
    let Asked { snapshot, request, ref from, deadline, .. } = *asked;
    let (mut stale, mut rounds) = (0, 0);
    loop {
        let gathered = Gathered::new(snapshot, request, from.skip + request.limit, from.after)?;
        let mut watch = Watch { facets: FacetCounts::of(&request.facets), ..Watch::default() };
        let mut collected = collect(snapshot, ranked, filter, gathered, deadline, work, &mut watch)?;
        let page = collected.found.split_off(from.skip.min(collected.found.len()));
        let hydrated = hydrate(snapshot, fetch, ranked, &collected.evidence, &page, deadline, work)?;
        stale += hydrated.stale.len();
        rounds += 1;
        filter.stale.extend(&hydrated.stale);
        if hydrated.stale.is_empty() || rounds > PAGE_REFILLS_MAX {
            collected.leave_out(&page, &hydrated.stale);
            let last = page.last().filter(|_| page.len() == request.limit).map(|found| found.key);
            return Ok(Filled { collected, hits: hydrated.hits, last, stale, watch });
        }
    }
}

/// Returns where the next page begins; `None` at the end.
fn next_place(
    asked: &Asked<'_>,
    collected: &Collected,
    hits: usize,
    last: Option<Key>,
    filter: &Filter,
) -> Option<Place> {
    let depth = asked.from.rank.saturating_add(hits) as u64;
    if depth >= collected.total || filter.stale.len() > CURSOR_STALE_ROWS_MAX {
        return None;
    }
    let mut stale: Vec<i64> = filter.stale.iter().copied().collect();
    stale.sort_unstable();
    Some(Place {
        request: request_hash(asked.request),
        commit: asked.snapshot.identity(),
        depth,
        since_ms: filter.since_ms,
        until_ms: filter.until_ms,
        after: last?,
        stale,
    })
}

/// Says how far to trust the answer and how the query was read. What is missing is the diagnosis's to say.
fn warnings(
    plan: &Plan,
    collected: &Collected,
    confidence: Confidence,
    stale: usize,
    rank: usize,
    filter: &Filter,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if confidence == Confidence::Weak && (rank as u64) < collected.total {
        let message = "weak answer: no conversation that was searched holds most of this query; it may not be answered there";
        warnings.push(Warning::new("weak", message));
    }
    warnings.extend_from_slice(&plan.warnings);
    let mut warn = |kind, message: String| warnings.push(Warning::new(kind, message));
    if stale > 0 {
        let mut message = format!(
            "{stale} {} left out, of rows that changed since they were indexed; where a sync does not take \
             them in: aft verify --deep --repair",
            if stale == 1 { "hit was" } else { "hits were" }
        );
        if filter.stale.len() > CURSOR_STALE_ROWS_MAX {
            message += "; there are too many for a cursor to the next page";
        }
        warn("rows-changed", message);
    }
    if plan.terms.is_empty() {
        warn("empty-query", "the query holds nothing to search for".to_owned());
        return warnings;
    }
    if plan.fields.is_empty() {
        warn("nothing-searched", "every field asked for has a boost of 0".to_owned());
    }
    if collected.total > 0 && rank as u64 >= collected.total {
        warn("past-the-end", format!("offset {rank} lies behind the last of {} hits", collected.total));
    }
    warnings
}
