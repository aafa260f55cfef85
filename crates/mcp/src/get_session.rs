//! The tool `get_session`: a conversation, a part of it, or what matches in it.

use afterthought::{
    Context, ContextPage, ContextQuery, MessageView, Result, SessionView, Warning, slice_bounds,
};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::json;

use crate::answer::{Answer, as_json, push_notes};
use crate::arguments::{read, wrong};
use crate::budget::{
    BARE, Budget, Cut, HITS, LEAST, LEVELS, Level, MESSAGES, clip, clip_snippet, clip_warnings, largest,
};
use crate::messages::{Messages, named, push_session};
use afterthought_hermes::LazyEngine;

pub(crate) const NAME: &str = "get_session";

/// The parameters, as `schema/mcp.json` describes them.
#[derive(Deserialize)]
struct Arguments {
    id: String,
    slice: Option<String>,
    roles: Vec<String>,
    search: Option<String>,
    limit: i64,
    offset: usize,
    max_tokens: usize,
}

pub(crate) fn call(engine: &LazyEngine, schema: &JsonObject, given: JsonObject) -> Result<Answer> {
    let arguments: Arguments = read(schema, given)?;
    let Arguments { id, slice, roles, search, limit, offset, max_tokens } = arguments;
    let bounds = slice.as_deref().map(slice_bounds).transpose().map_err(|why| wrong("slice", why))?;
    if bounds.is_some() && search.is_some() {
        return Err(wrong("search", "it looks through the whole session: give slice or search, not both"));
    }
    let ((session, context), mut warnings) = engine.fresh(|ready| {
        let warnings = ready.warnings()?;
        Ok((ready.found(ready.engine.session(&id))?, warnings))
    })?;
    let (session, budget) = (named(session), Budget::of(max_tokens));
    if let Some(query) = search {
        let mut page = context.search(&ContextQuery { query, roles, offset, limit: Some(limit) })?;
        page.warnings.append(&mut warnings);
        return hits(&session, &page, budget);
    }
    part(&session, &context.filter(&roles), bounds.unwrap_or_default(), warnings, budget)
}

/// Shows a part of the messages of the roles asked for.
fn part(
    session: &SessionView,
    context: &Context,
    (start, end): (Option<i64>, Option<i64>),
    mut warnings: Vec<Warning>,
    budget: Budget,
) -> Result<Answer> {
    let sliced = context.slice(start, end);
    // Where the part begins, counted from the start.
    let from = start.map_or(0, |start| context.slice(None, Some(start)).len());
    let to = from + sliced.len();
    if sliced.is_empty() {
        let message = format!("no message is there; the session has {}", session.messages);
        warnings.push(Warning::new("no-match", message));
    }
    let views = sliced.entries().iter().map(MessageView::of).collect();
    Messages::in_order(views).fit(budget, |part| {
        let (messages, truncated) = part.structured()?;
        let next = (part.cut.left_out > 0).then(|| format!("{}:{to}", from + part.shown.len()));
        let structured = json!({
            "schema_version": 1, "session": session, "messages": messages, "next_slice": next,
            "truncated": truncated, "warnings": warnings,
        });
        let mut text = String::new();
        push_session(&mut text, session);
        push_notes(&mut text, &warnings);
        part.cut.push(&mut text, MESSAGES, budget);
        part.push(&mut text);
        if let Some(next) = next {
            text += &format!("\nmore with slice {next}, and everything else as it was\n");
        }
        Ok(Answer { structured, text })
    })
}

/// Shows what matches in the session, best first.
fn hits(session: &SessionView, page: &ContextPage, budget: Budget) -> Result<Answer> {
    let write = |level: Level, hits: usize| write_hits(session, page, level, hits, budget);
    for level in LEVELS {
        let answer = write(level, usize::MAX)?;
        if budget.holds(&answer.text, &answer.structured) {
            return Ok(answer);
        }
    }
    let holds =
        |hits: usize| write(LEAST, hits).is_ok_and(|answer| budget.holds(&answer.text, &answer.structured));
    match largest(page.results.len(), holds) {
        Some(hits) => write(LEAST, hits),
        None => write(BARE, 0),
    }
}

fn write_hits(
    session: &SessionView,
    page: &ContextPage,
    level: Level,
    hits: usize,
    budget: Budget,
) -> Result<Answer> {
    let mut page = page.clone();
    let (asked, mut shortened) = (page.results.len(), 0);
    page.results.truncate(hits);
    clip(&mut page.query, level.text.saturating_mul(2));
    let rest = if clip_warnings(&mut page.warnings, level) { vec!["warnings"] } else { Vec::new() };
    for hit in &mut page.results {
        let terms = level.list.max(1);
        let is_cut = clip_snippet(&mut hit.snippet, &mut hit.highlights, level.snippet)
            | clip(&mut hit.role, level.text)
            | (hit.matched_terms.len() > terms);
        hit.matched_terms.truncate(terms);
        shortened += usize::from(is_cut);
    }
    let left_out = asked - page.results.len();
    let mut structured = as_json(&page)?;
    structured["schema_version"] = json!(1);
    structured["session"] = as_json(session)?;
    let cut = Cut { left_out, shortened, rest };
    structured["truncated"] = cut.structured(HITS);
    Ok(Answer { text: as_text(session, &page, &cut, budget), structured })
}

fn as_text(session: &SessionView, page: &ContextPage, cut: &Cut, budget: Budget) -> String {
    let mut text = String::new();
    push_session(&mut text, session);
    let to = page.offset + page.results.len();
    text += &match page.results.len() {
        0 => format!("no hits shown of {} in this session\n", page.total),
        _ => format!("hits {} to {to} of {} in this session\n", page.offset + 1, page.total),
    };
    push_notes(&mut text, &page.warnings);
    cut.push(&mut text, HITS, budget);
    for (rank, hit) in (page.offset + 1..).zip(&page.results) {
        let time = hit.timestamp.as_deref().unwrap_or("at an unknown time");
        let facts = format!("{} {} {time} #{}", hit.origin.name(), hit.role, hit.message_id);
        text += &format!("\n{rank}. [{}] {facts}\n   {}\n", hit.index, hit.snippet);
    }
    if to > page.offset && (to as u64) < page.total {
        text += &format!("\nmore with offset {to}\n");
    }
    text
}
