//! Several phrasings of one question as one list: reciprocal rank fusion (Cormack, Clarke and Büttcher,
//! SIGIR 2009). Only ranks count, since scores of different queries cannot be compared.

use std::collections::HashMap;

use afterthought::limits::QUERY_MERGED_HITS;
use afterthought::search::Count;
use afterthought::{Confidence, Group, Hit, Page, Warning};
use serde::Serialize;

/// Their constant: how little the very first ranks count more than those behind.
const K: f32 = 60.0;

/// One of the queries, and what it found by itself.
#[derive(Clone, Serialize)]
pub(crate) struct Asked {
    pub(crate) query: String,
    pub(crate) total: Count,
    pub(crate) confidence: Confidence,
}

/// A merged page.
pub(crate) struct Merged {
    pub(crate) page: Page,
    pub(crate) queries: Vec<Asked>,
    /// Which queries found each hit, from 1, in the order of the page.
    pub(crate) found_by: Vec<Vec<usize>>,
}

/// A hit of the merged list: as its best query shows it.
struct Candidate {
    hit: Hit,
    best_rank: usize,
    score: f32,
    found_by: Vec<usize>,
}

/// Merges the first pages of the queries, which hold [`QUERY_MERGED_HITS`] at most; shows a part of the
/// merged list. There is at least one page.
pub(crate) fn merge(pages: Vec<Page>, group: Group, offset: usize, limit: usize) -> Merged {
    let queries: Vec<Asked> = pages.iter().map(asked).collect();
    let merged = by_rank(&pages, group);
    let total = total(&pages, merged.len());
    let mut warnings = Vec::new();
    let mut pages = pages.into_iter();
    let mut page = pages.next().expect("the caller asks at least one query");
    let first = std::mem::take(&mut page.warnings);
    push_warnings(&mut warnings, 1, first);
    for (number, other) in (2..).zip(pages) {
        page.elapsed_ms += other.elapsed_ms;
        page.sync_ms += other.sync_ms;
        push_warnings(&mut warnings, number, other.warnings);
    }
    let (found_by, results) =
        merged.into_iter().skip(offset).take(limit).map(|one| (one.found_by, one.hit)).unzip();
    let texts: Vec<&str> = queries.iter().map(|asked| &*asked.query).collect();
    page.query = texts.join(" | ");
    page.confidence = confidence(&queries);
    let page = Page {
        total,
        offset,
        limit,
        results,
        warnings,
        total_messages: None,
        next_cursor: None,
        diagnosis: None,
        ..page
    };
    Merged { page, queries, found_by }
}

fn asked(page: &Page) -> Asked {
    Asked { query: page.query.clone(), total: page.total, confidence: page.confidence }
}

/// Returns the union of the pages, best first; of equals the one that a query ranks higher, then the one of
/// the earlier query.
fn by_rank(pages: &[Page], group: Group) -> Vec<Candidate> {
    let mut merged: Vec<Candidate> = Vec::new();
    let mut places = HashMap::new();
    for (number, page) in (1..).zip(pages) {
        for (rank, hit) in (1_usize..).zip(&page.results) {
            let place = *places.entry(identity(hit, group)).or_insert(merged.len());
            if place == merged.len() {
                merged.push(Candidate {
                    hit: hit.clone(),
                    best_rank: rank,
                    score: 0.0,
                    found_by: Vec::new(),
                });
            }
            let candidate = &mut merged[place];
            if rank < candidate.best_rank {
                (candidate.hit, candidate.best_rank) = (hit.clone(), rank);
            }
            #[expect(clippy::cast_precision_loss, reason = "ranks are small")]
            let share = 1.0 / (K + rank as f32);
            candidate.score += share;
            candidate.found_by.push(number);
        }
    }
    // Stable: equals stay in the order in which queries brought them.
    merged.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.best_rank.cmp(&b.best_rank)));
    for candidate in &mut merged {
        candidate.hit.score = candidate.score;
    }
    merged
}

/// What makes two hits the same one.
fn identity(hit: &Hit, group: Group) -> (Option<i64>, String) {
    match group {
        Group::None => (hit.message_id, hit.session_id.clone()),
        Group::Session => (None, hit.session_id.clone()),
        Group::Lineage => (None, hit.root_session_id.clone()),
    }
}

/// Counts the union: exact where every query's hits were merged to the last.
fn total(pages: &[Page], merged: usize) -> Count {
    let is_whole =
        pages.iter().all(|page| page.total.relation == "eq" && page.total.value <= QUERY_MERGED_HITS as u64);
    let most = pages.iter().map(|page| page.total.value).max().unwrap_or(0);
    if is_whole {
        Count { value: merged as u64, relation: "eq" }
    } else {
        Count { value: most.max(merged as u64), relation: "gte" }
    }
}

/// One query that found an answer is enough.
fn confidence(queries: &[Asked]) -> Confidence {
    let any = |confidence| queries.iter().any(|asked| asked.confidence == confidence);
    if any(Confidence::Confident) {
        Confidence::Confident
    } else if any(Confidence::Weak) {
        Confidence::Weak
    } else {
        Confidence::None
    }
}

/// What is said of the index is said once; the rest says of which query.
fn push_warnings(warnings: &mut Vec<Warning>, number: usize, more: Vec<Warning>) {
    for warning in more {
        if matches!(warning.kind, "building" | "not-synced") {
            if number == 1 {
                warnings.push(warning);
            }
            continue;
        }
        warnings.push(Warning::new(warning.kind, format!("query {number}: {}", warning.message)));
    }
}
