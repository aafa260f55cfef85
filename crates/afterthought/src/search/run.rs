//! One search from request to page: read the query, plan, collect, hydrate, and say what the
//! caller should know. One archive or several make no difference but in numbers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::index::Snapshot;
use crate::limits::{
    CONFIDENT_MESSAGE_MIN, CONFIDENT_SESSION_MIN, CONFIDENT_UNKNOWN_MIN, CURSOR_STALE_ROWS_MAX,
    PAGE_REFILLS_MAX,
};
use crate::model::Warning;
use crate::query::{Query, parse};

use super::collect::{Ranked, Watch, collect, threads};
use super::cursor::{Place, request_hash};
use super::deadline::Deadline;
use super::diagnosis::{Outcome, diagnose};
use super::dictionaries::Corpus;
use super::evidence::Evidence;
use super::explain::Work;
use super::facets::{FacetCounts, ValueCounts};
use super::filter::Filter;
use super::gather::{Found, Gathered};
use super::hydrate::{Source, hydrate};
use super::order::Key;
use super::page::{Confidence, Count, Hit, IndexView, Page};
use super::plan::{Plan, Reading};
use super::request::SearchRequest;
use super::threads::share_out;

/// Answers a request from the snapshots of one archive or several, `None` for one that is left out: ranked as if
/// all stood in one. Fails on a request out of bounds, at the deadline or when nobody waits, and when a message
/// cannot be read; a query never fails.
pub fn search(
    sources: &mut [Option<Source<'_>>],
    request: &SearchRequest,
    deadline: &Deadline,
) -> Result<Page> {
    // Garbled index files can make tantivy panic: that is one failed search, and the thread goes on.
    catch_unwind(AssertUnwindSafe(|| searched(sources, request, deadline))).unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Internal, "search", "the index")
            .because("a reader panicked; the index's files may be damaged")
            .hint("run: aft verify"))
    })
}

fn searched(
    sources: &mut [Option<Source<'_>>],
    request: &SearchRequest,
    deadline: &Deadline,
) -> Result<Page> {
    let began = Instant::now();
    request.check()?;
    let query = parse(&request.query);
    let all: Vec<Option<&Snapshot>> =
        sources.iter().map(|source| source.as_ref().map(|source| source.snapshot)).collect();
    let place = request.cursor.as_deref().map(|cursor| Place::of(cursor, request, &all)).transpose()?;
    let mut filters = request.filters.clone();
    if let Some(place) = &place {
        (filters.since_ms, filters.until_ms) = (place.since_ms, place.until_ms);
    }
    let numbers: Vec<u8> =
        (0..).zip(&all).filter(|(_, snapshot)| snapshot.is_some()).map(|(number, _)| number).collect();
    let snapshots: Vec<&Snapshot> = all.iter().flatten().copied().collect();
    let (mut filters, unknown_filters) = Filter::of_each(&snapshots, &filters)?;
    for (number, filter) in numbers.iter().zip(&mut filters) {
        let stale = place.iter().flat_map(|place| &place.stale).filter(|(archive, _)| archive == number);
        filter.stale.extend(stale.map(|(_, id)| id));
    }
    let from = From::of(request, place.as_ref());
    let commits = all.iter().map(|snapshot| snapshot.map(Snapshot::identity)).collect();
    let asked = Asked { numbers, snapshots, commits, request, query: &query, from, deadline };
    let mut sources: Vec<&mut Source<'_>> = sources.iter_mut().flatten().collect();
    let mut reading = Reading::Strict;
    let mut answered = answer(&asked, &mut sources, reading, &mut filters)?;
    if answered.outcome.total == 0 && answered.can_relax {
        let relaxed = answer(&asked, &mut sources, Reading::Relaxed, &mut filters)?;
        if relaxed.outcome.total > 0 {
            (answered, reading) = (relaxed, Reading::Relaxed);
            let message = "no hit holds the query as it stands; its words were searched one by one";
            answered.page.warnings.push(Warning::new("relaxed", message));
        }
    }
    let mut page = answered.page;
    page.warnings.extend(unknown_filters);
    // What is missing is missing from every page: the first one says it.
    if request.cursor.is_none()
        && let Some((diagnosis, warnings)) = diagnose(&asked, reading, &filters, &answered.outcome)?
    {
        page.diagnosis = Some(diagnosis);
        page.warnings.extend(warnings);
    }
    page.elapsed_ms = began.elapsed().as_secs_f64() * 1_000.0;
    Ok(page)
}

/// What is the same in every reading of a request.
pub(super) struct Asked<'a> {
    /// The numbers of the archives that are searched, and their snapshots.
    pub(super) numbers: Vec<u8>,
    pub(super) snapshots: Vec<&'a Snapshot>,
    /// The identity of every archive's snapshot; `None` for one that is left out.
    commits: Vec<Option<u64>>,
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

fn answer(
    asked: &Asked<'_>,
    sources: &mut [&mut Source<'_>],
    reading: Reading,
    filters: &mut [Filter],
) -> Result<Answered> {
    let request = asked.request;
    let mut plan = Plan::of(asked.query, request, reading);
    let corpus = Corpus::of(&asked.snapshots);
    plan.expand(&corpus, filters)?;
    let ranked = Ranked::of_each(&corpus, &plan, &asked.numbers, request)?;
    let mut work = Work::default();
    let filled = fill(asked, sources, &ranked, filters, &mut work)?;
    let next = next_place(asked, &filled, filters);
    let mut unknown = u64::MAX;
    for (ranked, filter) in ranked.iter().zip(&*filters) {
        unknown &= ranked.unknown(filter)?;
    }
    let confidence = confidence(&ranked, &filled, unknown);
    let warnings = warnings(&plan, &filled, confidence, asked.from.rank, is_too_stale(filters));
    let Filled { hits, total, messages, stale, current, facets, .. } = filled;
    let outcome = Outcome { total, current, stale: stale as u64, unknown };
    let (facets, facets_more) = facets.map(ValueCounts::largest).unzip();
    // Words of a prefix that were not searched may have more.
    let is_cut = plan.warnings.iter().any(|warning| warning.kind == "forms-cut");
    let relation = if is_cut { "gte" } else { "eq" };
    let page = Page {
        schema_version: 1,
        query: request.query.clone(),
        total: Count { value: total, relation },
        confidence,
        total_messages: messages.map(|value| Count { value, relation }),
        offset: asked.from.rank,
        limit: request.limit,
        warnings,
        results: hits,
        next_cursor: next.map(|place| place.write()),
        facets,
        facets_more,
        diagnosis: None,
        index: IndexView::default(),
        archives: None,
        elapsed_ms: 0.0,
        sync_ms: 0.0,
        work: request.explain.then_some(work),
    };
    Ok(Answered { page, outcome, can_relax: plan.can_relax })
}

/// Says how far to trust that the archives hold what was asked for, by the conversation that holds most of
/// it: words that no message has weigh most.
fn confidence(ranked: &[Ranked<'_>], filled: &Filled, unknown: u64) -> Confidence {
    if filled.total == 0 {
        return Confidence::None;
    }
    let of_sessions = ranked.iter().zip(&filled.evidence).flat_map(|(ranked, evidence)| {
        evidence.sessions().map(|best| ranked.coverage(ranked.terms_of(best)))
    });
    // A word that stands nowhere may be the very subject, and common words of questions meet in any long
    // conversation.
    let of_session_min = if unknown == 0 { CONFIDENT_SESSION_MIN } else { CONFIDENT_UNKNOWN_MIN };
    let is_confident =
        filled.coverage >= CONFIDENT_MESSAGE_MIN && of_sessions.fold(0.0, f32::max) >= of_session_min;
    if is_confident { Confidence::Confident } else { Confidence::Weak }
}

/// A page's hits, and what they were chosen from.
#[derive(Default)]
struct Filled {
    hits: Vec<Hit>,
    /// Documents that match and pass the filters, or groups of them.
    total: u64,
    /// The documents, where they are grouped.
    messages: Option<u64>,
    /// The most of the query that one of these documents holds.
    coverage: f32,
    /// What the sessions of every archive hold.
    evidence: Vec<Evidence>,
    /// The key of the last document of a full page.
    last: Option<Key>,
    /// Messages left out, as they are no longer what was indexed.
    stale: usize,
    /// Hits in the conversation that asks.
    current: u64,
    facets: Option<ValueCounts>,
}

/// Collects and shows, again after hits that the archives no longer hold.
fn fill(
    asked: &Asked<'_>,
    sources: &mut [&mut Source<'_>],
    ranked: &[Ranked<'_>],
    filters: &mut [Filter],
    work: &mut Work,
) -> Result<Filled> {
    let (mut stale, mut rounds) = (0, 0);
    loop {
        let (mut filled, page) = collect_all(asked, ranked, filters, work)?;
        let mut hits = Vec::new();
        let mut gone: Vec<(u8, i64)> = Vec::new();
        for (at, number) in asked.numbers.iter().enumerate() {
            let own: Vec<Found> = page.iter().filter(|found| found.key.archive == *number).copied().collect();
            let (evidence, deadline) = (&filled.evidence[at], asked.deadline);
            let hydrated = hydrate(sources[at], &ranked[at], evidence, &own, deadline, work)?;
            hits.extend(hydrated.hits);
            filters[at].stale.extend(&hydrated.stale);
            gone.extend(hydrated.stale.iter().map(|id| (*number, *id)));
        }
        stale += gone.len();
        rounds += 1;
        if gone.is_empty() || rounds > PAGE_REFILLS_MAX {
            hits.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
            filled.hits = hits.into_iter().map(|(_, hit)| hit).collect();
            filled.leave_out(&page, &gone);
            filled.last = page.last().filter(|_| page.len() == asked.request.limit).map(|found| found.key);
            return Ok(Filled { stale, ..filled });
        }
    }
}

/// Collects from every archive. Returns the documents of the page, best first, and the rest but for the hits.
fn collect_all(
    asked: &Asked<'_>,
    ranked: &[Ranked<'_>],
    filters: &[Filter],
    work: &mut Work,
) -> Result<(Filled, Vec<Found>)> {
    let Asked { request, ref from, deadline, .. } = *asked;
    let archives: Vec<usize> = (0..ranked.len()).collect();
    let collect_one = |at: &usize, (all, work): &mut (Vec<_>, Work)| {
        let gathered = Gathered::new(asked.snapshots[*at], request, from.skip + request.limit, from.after)?;
        let mut watch = Watch { facets: FacetCounts::of(&request.facets), ..Watch::default() };
        let (snapshot, ranked, filter) = (asked.snapshots[*at], &ranked[*at], &filters[*at]);
        let collected = collect(snapshot, ranked, filter, gathered, deadline, work, &mut watch)?;
        all.push((*at, collected, watch));
        Ok(())
    };
    let shares = share_out(&archives, threads(ranked)?, Default::default, collect_one)?;
    let mut all = Vec::new();
    for (of_share, work_of_share) in shares {
        all.extend(of_share);
        work.add(work_of_share);
    }
    // The order in which threads came to them is nobody's concern.
    all.sort_unstable_by_key(|(at, ..)| *at);
    let (mut filled, mut page) = (Filled::default(), Vec::new());
    for ((_, collected, watch), snapshot) in all.into_iter().zip(&asked.snapshots) {
        page.extend(collected.found);
        filled.total += collected.total;
        filled.messages = collected.messages.map(|more| filled.messages.unwrap_or_default() + more);
        filled.coverage = filled.coverage.max(collected.coverage);
        filled.evidence.push(collected.evidence);
        filled.current += watch.current;
        if !request.facets.is_empty() {
            filled.facets.get_or_insert_default().merge(watch.facets.values(snapshot)?);
        }
    }
    page.sort_unstable_by(|a: &Found, b| b.cmp(a));
    let page = page.into_iter().skip(from.skip).take(request.limit).collect();
    Ok((filled, page))
}

impl Filled {
    /// Takes messages of a page out of the counts.
    fn leave_out(&mut self, page: &[Found], stale: &[(u8, i64)]) {
        let gone = |found: &&Found| !found.is_session && stale.contains(&(found.key.archive, found.id));
        // A group that has more is still one.
        let alone = page.iter().filter(gone).filter(|found| found.more.is_none_or(|more| more == 0)).count();
        self.total -= alone as u64;
        self.messages = self.messages.map(|messages| messages - stale.len() as u64);
    }
}

/// Returns where the next page begins; `None` at the end.
fn next_place(asked: &Asked<'_>, filled: &Filled, filters: &[Filter]) -> Option<Place> {
    let depth = asked.from.rank.saturating_add(filled.hits.len()) as u64;
    if depth >= filled.total || is_too_stale(filters) {
        return None;
    }
    let of_archive = |(number, filter): (&u8, &Filter)| {
        let mut ids: Vec<i64> = filter.stale.iter().copied().collect();
        ids.sort_unstable();
        ids.into_iter().map(|id| (*number, id)).collect::<Vec<_>>()
    };
    let filter = filters.first()?;
    Some(Place {
        request: request_hash(asked.request),
        commits: asked.commits.clone(),
        depth,
        since_ms: filter.since_ms,
        until_ms: filter.until_ms,
        after: filled.last?,
        stale: asked.numbers.iter().zip(filters).flat_map(of_archive).collect(),
    })
}

/// Tells whether so many messages changed that no cursor can name them.
fn is_too_stale(filters: &[Filter]) -> bool {
    filters.iter().map(|filter| filter.stale.len()).sum::<usize>() > CURSOR_STALE_ROWS_MAX
}

/// Says how far to trust the answer and how the query was read. What is missing is the diagnosis's to say.
fn warnings(
    plan: &Plan,
    filled: &Filled,
    confidence: Confidence,
    rank: usize,
    is_too_stale: bool,
) -> Vec<Warning> {
    let stale = filled.stale;
    let mut warnings = Vec::new();
    if confidence == Confidence::Weak && (rank as u64) < filled.total {
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
        if is_too_stale {
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
    if filled.total > 0 && rank as u64 >= filled.total {
        warn("past-the-end", format!("offset {rank} lies behind the last of {} hits", filled.total));
    }
    warnings
}
