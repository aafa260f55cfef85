//! Answers of searches: a page, or several merged into one, as text and as JSON, within a budget.
//! Snippets are shortened first, then hits left out from the end; both forms say so.

use afterthought::limits::QUERY_MERGED_HITS;
use afterthought::search::{Diagnosis, IndexState, facet_line};
use afterthought::{Hit, Origin, Page, Result, SearchRequest};
use serde_json::{Value, json};

use crate::answer::{Answer, as_json, push_notes};
use crate::budget::{
    BARE, Budget, Cut, HITS, LEAST, LEVELS, Level, clip, clip_snippet, clip_warnings, largest,
};
use crate::merge::{Asked, merge};
use afterthought_hermes::LazyEngine;

/// Answers one query.
pub(crate) fn one(engine: &LazyEngine, request: SearchRequest, budget: Budget) -> Result<Answer> {
    let page = engine.search(request.clone())?;
    let asked = page.results.len();
    let mut found = Found::of(page);
    loop {
        let room = match found.fit(budget)? {
            Fit::Whole(answer) => return Ok(answer),
            Fit::Room(room) => room,
        };
        if room == 0 {
            found.page.results.clear();
            found.page.next_cursor = request.cursor;
            found.left_out = asked;
            return found.barest(budget);
        }
        // Asked again for as many as there is room for, so that the cursor continues behind them. Every
        // round asks for fewer.
        let page = engine.search(SearchRequest { limit: room, ..request.clone() })?;
        let left_out = asked.saturating_sub(page.results.len());
        found = Found { left_out, ..Found::of(Page { limit: request.limit, ..page }) };
    }
}

/// Answers several queries as one.
pub(crate) fn several(
    engine: &LazyEngine,
    request: &SearchRequest,
    queries: Vec<String>,
    budget: Budget,
) -> Result<Answer> {
    let each = queries.into_iter().map(|query| {
        engine.search(SearchRequest { query, offset: 0, limit: QUERY_MERGED_HITS, ..request.clone() })
    });
    let merged = merge(each.collect::<Result<_>>()?, request.group, request.offset, request.limit);
    let mut found = Found::of(merged.page);
    found.merged = Some((merged.queries, merged.found_by));
    match found.fit(budget)? {
        Fit::Whole(answer) => Ok(answer),
        Fit::Room(room) => {
            found.left_out = found.page.results.len() - room;
            found.page.results.truncate(room);
            if room == 0 { found.barest(budget) } else { found.render(LEAST, usize::MAX, budget) }
        }
    }
}

struct Found {
    page: Page,
    merged: Option<Merges>,
    /// Hits that were left out before.
    left_out: usize,
}

enum Fit {
    Whole(Answer),
    /// This many hits fit when they are shortened as much as they may be.
    Room(usize),
}

impl Found {
    fn of(page: Page) -> Self {
        Self { page, merged: None, left_out: 0 }
    }

    fn fit(&self, budget: Budget) -> Result<Fit> {
        for level in LEVELS {
            let answer = self.render(level, usize::MAX, budget)?;
            if budget.holds(&answer.text, &answer.structured) {
                return Ok(Fit::Whole(answer));
            }
        }
        let holds = |hits: usize| {
            let answer = self.render(LEAST, hits, budget);
            answer.is_ok_and(|answer| budget.holds(&answer.text, &answer.structured))
        };
        Ok(Fit::Room(largest(self.page.results.len().saturating_sub(1), holds).unwrap_or(0)))
    }

    /// Writes an answer for which nothing else is left to cut.
    fn barest(&self, budget: Budget) -> Result<Answer> {
        let answer = self.render(LEAST, 0, budget)?;
        if budget.holds(&answer.text, &answer.structured) { Ok(answer) } else { self.render(BARE, 0, budget) }
    }

    /// Writes the first hits of the page, shortened to a level.
    fn render(&self, level: Level, hits: usize, budget: Budget) -> Result<Answer> {
        let mut page = self.page.clone();
        page.results.truncate(hits);
        let left_out = self.left_out + self.page.results.len() - page.results.len();
        let mut cut = Cut { left_out, ..Cut::default() };
        shorten(&mut page, level, &mut cut);
        let mut merged = self.merged.clone();
        if let Some((queries, _)) = &mut merged {
            // Where even they are too long, their results are none.
            if level.list == 0 {
                cut.rest.push("queries");
                queries.clear();
            }
            for asked in queries {
                clip(&mut asked.query, level.text);
            }
        }
        let structured = structured(&page, merged.as_ref(), &cut)?;
        Ok(Answer { structured, text: as_text(&page, merged.as_ref(), &cut, budget) })
    }
}

/// What several queries add to a page: each of them, and which of them found each hit.
type Merges = (Vec<Asked>, Vec<Vec<usize>>);

fn structured(page: &Page, merged: Option<&Merges>, cut: &Cut) -> Result<Value> {
    let mut structured = as_json(page)?;
    if let Some((queries, found_by)) = merged {
        let hits = structured["results"].as_array_mut().into_iter().flatten();
        for (hit, found_by) in hits.zip(found_by) {
            hit["found_by"] = json!(found_by);
        }
        if !queries.is_empty() {
            structured["queries"] = as_json(queries)?;
        }
    }
    structured["truncated"] = cut.structured(HITS);
    Ok(structured)
}

/// Shortens everything that a page says to a level.
fn shorten(page: &mut Page, level: Level, cut: &mut Cut) {
    // What the caller said itself is no loss.
    clip(&mut page.query, level.text.saturating_mul(2));
    // Nor are digits that nobody reads.
    for ms in [&mut page.elapsed_ms, &mut page.sync_ms] {
        *ms = (*ms * 100.0).round() / 100.0;
    }
    for hit in &mut page.results {
        cut.shortened += usize::from(shorten_hit(hit, level));
    }
    let rest = [
        ("warnings", clip_warnings(&mut page.warnings, level)),
        ("diagnosis", page.diagnosis.as_mut().is_some_and(|diagnosis| shorten_diagnosis(diagnosis, level))),
        ("facets", shorten_facets(page, level)),
    ];
    cut.rest.extend(rest.into_iter().filter(|(_, is_shortened)| *is_shortened).map(|(name, _)| name));
}

fn shorten_diagnosis(diagnosis: &mut Diagnosis, level: Level) -> bool {
    let mut shortened = diagnosis.unknown_terms.len().max(diagnosis.elsewhere.len()) > level.list;
    diagnosis.unknown_terms.truncate(level.list);
    diagnosis.elsewhere.truncate(level.list);
    let terms = diagnosis.unknown_terms.iter_mut().map(|unknown| &mut unknown.term);
    let roles = diagnosis.elsewhere.iter_mut().filter_map(|place| place.role.as_mut());
    for text in terms.chain(roles) {
        shortened |= clip(text, level.text);
    }
    shortened
}

/// Values that are left out count among those that are not shown.
fn shorten_facets(page: &mut Page, level: Level) -> bool {
    let mut shortened = false;
    for (facet, values) in page.facets.iter_mut().flatten() {
        if values.len() > level.list {
            let left_out = (values.len() - level.list) as u64;
            *page.facets_more.get_or_insert_default().entry(*facet).or_default() += left_out;
            values.truncate(level.list);
            shortened = true;
        }
        for value in values.iter_mut().filter_map(|value| value.value.as_mut()) {
            shortened |= clip(value, level.text);
        }
    }
    shortened
}

/// Shortens what a hit says, and never its ids. Tells whether anything was too long.
fn shorten_hit(hit: &mut Hit, level: Level) -> bool {
    let mut shortened = clip_snippet(&mut hit.snippet, &mut hit.highlights, level.snippet);
    for text in hit.title.iter_mut().chain(&mut hit.role).chain([&mut hit.source]) {
        shortened |= clip(text, level.text);
    }
    let terms = level.list.max(1);
    shortened |= hit.matched_terms.len() > terms;
    hit.matched_terms.truncate(terms);
    shortened
}

/// Writes a page for a model: how many there are and how true that is, then each hit in two lines.
fn as_text(page: &Page, merged: Option<&Merges>, cut: &Cut, budget: Budget) -> String {
    let (queries, found_by) = merged.map_or((&[][..], &[][..]), |(queries, found_by)| (queries, found_by));
    let (from, to) = (page.offset + 1, page.offset + page.results.len());
    let at_least = if page.total.relation == "gte" { "at least " } else { "" };
    let in_all = match page.total_messages {
        Some(messages) => format!("{} groups of {} messages in total", page.total.value, messages.value),
        None => format!("{at_least}{} in total", page.total.value),
    };
    let mut text = match page.results.len() {
        0 => format!("no results shown of {in_all}\n"),
        _ => format!("results {from} to {to} of {in_all}\n"),
    };
    for (number, asked) in (1..).zip(queries) {
        text += &format!("query {number}: {} in total: {}\n", asked.total.value, asked.query);
    }
    push_notes(&mut text, &page.warnings);
    match page.index.state {
        IndexState::Ready => {}
        IndexState::Building => {
            let rows = page.index.rows;
            text += &format!("note: {rows} rows are searched so far, the newest sessions first\n");
        }
        IndexState::Stale => {
            text += &format!("note: {} rows of the archive are not indexed yet\n", page.index.rows_behind);
        }
    }
    cut.push(&mut text, HITS, budget);
    for (place, hit) in page.results.iter().enumerate() {
        push_hit(&mut text, from + place, hit, found_by.get(place).map(|numbers| &**numbers));
    }
    for (facet, values) in page.facets.iter().flatten() {
        let more = page.facets_more.as_ref().and_then(|more| more.get(facet)).copied().unwrap_or(0);
        text += &format!("\n{}: {}", facet.name(), facet_line(values, more));
    }
    if page.facets.is_some() {
        text.push('\n');
    }
    if to > page.offset && (to as u64) < page.total.value {
        let left = if merged.is_none() { page.limit } else { QUERY_MERGED_HITS.saturating_sub(to) };
        text += &match left {
            0 => format!(
                "\nno more than {QUERY_MERGED_HITS} of merged queries; ask them one by one for the rest"
            ),
            left if left < page.limit => format!("\nmore with offset {to} and limit {left}"),
            _ => format!("\nmore with offset {to}"),
        };
        if let Some(cursor) = &page.next_cursor {
            text += &format!(", or without gap or repetition with cursor {cursor}");
        }
        text.push('\n');
    }
    text
}

fn push_hit(text: &mut String, rank: usize, hit: &Hit, found_by: Option<&[usize]>) {
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
    if let Some(numbers) = found_by {
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        *text += &format!(" by {}", numbers.join(", "));
    }
    *text += &format!("\n   {}\n", hit.snippet);
    if let Some(more @ 1..) = hit.more_in_session {
        *text += &format!("   {more} more of this group\n");
    }
}
