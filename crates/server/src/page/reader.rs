//! Messages as they were written, to read on around a hit: what was thought folds, long texts are cut and
//! lead to the whole.

use afterthought::{MessageView, Origin, SessionView, Shown};
use maud::{Markup, html};

use super::address::{AFTER, Address, BEFORE, OPEN, by_id};
use super::text::{badge, counted, maybe_moment, with_words};

/// Neighbours on each side, unless the address says more.
pub(super) const NEIGHBOURS: usize = 3;
/// Further neighbours that one step brings.
const STEP: usize = 10;
/// Letters of a text that is shown among others.
const LETTERS: usize = 4_000;

/// What a reader is shown for.
pub(super) struct Reading<'a> {
    /// The message that was opened.
    pub(super) id: Option<i64>,
    /// Words to mark.
    pub(super) words: &'a [String],
    /// What the hit was found in, which is not folded.
    pub(super) origin: Option<Origin>,
}

/// Shows a message between its neighbours. `from` is the address it stands at, which can ask for more.
pub(super) fn reader(
    from: &Address,
    shown: &Shown,
    reading: &Reading<'_>,
    (before, after): (usize, usize),
) -> Markup {
    let at = shown.messages.iter().position(|message| message.message_id == shown.message_id).unwrap_or(0);
    let first = shown.messages.first().and_then(|message| message.index).unwrap_or(0);
    let last = shown.messages.last().and_then(|message| message.index);
    let is_more = last.is_some_and(|last| (last as u64) + 1 < shown.session.messages);
    let around = |name: &str, number: usize| format!("{}#m{}", from.with(name, number), shown.message_id);
    html! {
        (session_head(&shown.session))
        @if first > 0 && shown.messages[at].index.is_some() {
            a.further data-keep href=(around(BEFORE, before + STEP)) { "↑ " (STEP.min(first)) " earlier" }
        }
        (messages(&shown.messages, reading))
        @if is_more { a.further data-keep href=(around(AFTER, after + STEP)) { "↓ Read on" } }
        p.facts {
            a href=(whole(shown)) { "The whole conversation" }
            @if let Some(query) = Some(from.text("q")).filter(|query| !query.is_empty() && from.get("session") != Some(&shown.session.id)) {
                a href=(Address::search(query).with("session", &shown.session.id)) { "Only hits in this conversation" }
            }
        }
    }
}

/// Leads to the page of the conversation on which the message stands.
fn whole(shown: &Shown) -> String {
    let place = shown.messages.iter().find(|message| message.message_id == shown.message_id);
    let place = place.and_then(|message| message.index).unwrap_or(0);
    let from = place - place % super::sessions::PAGE;
    let address = by_id("sessions", &shown.session.id);
    let query = if from > 0 { format!("?from={from}") } else { String::new() };
    format!("{address}{query}#m{}", shown.message_id)
}

/// Says whose conversation this is, when, and where.
pub(super) fn session_head(session: &SessionView) -> Markup {
    let facts = [Some(session.source.as_str()), session.model.as_deref(), session.user.as_deref()];
    let place = [session.cwd.as_deref(), session.git_branch.as_deref()];
    html! {
        header.session {
            h2 { a href=(by_id("sessions", &session.id)) { (session.title.as_deref().unwrap_or("Untitled conversation")) } }
            p.facts.quiet {
                (maybe_moment(session.started.as_deref()))
                span { (counted(session.messages, "message", "messages")) }
                @for fact in facts.into_iter().flatten() { span { (fact) } }
                @for place in place.into_iter().flatten() { code { (place) } }
                @if session.archived { span { "archived" } }
                @if let Some(parent) = &session.parent_id { a href=(by_id("sessions", parent)) { "goes on from another" } }
                code.id { (session.id) }
            }
        }
    }
}

pub(super) fn messages(messages: &[MessageView], reading: &Reading<'_>) -> Markup {
    html! {
        ol.messages { @for message in messages { li { (one(message, reading)) } } }
    }
}

fn one(message: &MessageView, reading: &Reading<'_>) -> Markup {
    let id = message.message_id;
    let is_open = reading.id == Some(id);
    let unfolds = |origin: Origin| is_open && reading.origin.is_none_or(|found| found == origin);
    let show = |text: &str| {
        let shown = if is_open { text } else { beginning(text) };
        html! {
            (blocks(shown, reading.words))
            @if shown.len() < text.len() {
                p { a href=(format!("/messages/{id}")) { (counted((text.len() - shown.len()) as u64, "byte", "bytes")) " more" } }
            }
        }
    };
    let is_tool = message.role == "tool";
    html! {
        article id={ "m" (id) } class={ "message " (message.role) } tabindex="-1" aria-current=[is_open.then_some("true")] {
            p.facts {
                b { (message.role) }
                (maybe_moment(message.timestamp.as_deref()))
                a.quiet href={ "/messages/" (id) } aria-label={ "Message " (id) } { "#" (id) }
                @if message.index.is_none() { span.quiet { "outside its conversation's list" } }
            }
            @if !message.reasoning.is_empty() {
                details.part.thought id={ "thought-" (id) } open[unfolds(Origin::Thought)] {
                    summary { (badge(Origin::Thought)) span.quiet { (first_line(&message.reasoning)) } }
                    div.text { (show(&message.reasoning)) }
                }
            }
            @if !message.content.is_empty() {
                @if is_tool {
                    details.part.saw id={ "saw-" (id) } open[unfolds(Origin::Saw)] {
                        summary { (badge(Origin::Saw)) code { (message.tool_name) } span.quiet { (first_line(&message.content)) } }
                        pre tabindex="0" { (show(&message.content)) }
                    }
                } @else {
                    div.part.said { div.text { (show(&message.content)) } }
                }
            }
            @if !message.tool_calls.is_empty() {
                details.part.did id={ "did-" (id) } open[unfolds(Origin::Did)] {
                    summary { (badge(Origin::Did)) span.quiet { (first_line(&message.tool_calls)) } }
                    pre tabindex="0" { (show(&message.tool_calls)) }
                }
            }
        }
    }
}

/// Shows what stands between fences as code, and all else as it was written.
fn blocks(text: &str, words: &[String]) -> Markup {
    let mut is_code = false;
    let mut parts: Vec<(bool, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        match parts.last_mut().filter(|(code, _)| *code == is_code) {
            Some((_, part)) => part.push_str(line),
            None => parts.push((is_code, line.to_owned())),
        }
    }
    html! {
        @for (is_code, part) in &parts {
            @if *is_code { code.block { (with_words(part, words)) } } @else { (with_words(part.trim_matches('\n'), words)) }
        }
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(120).collect()
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(LETTERS).map_or(text, |(end, _)| &text[..end])
}

/// Shows where a message would be, and why it is not there.
pub(super) fn missing(address: &Address, why: &str) -> Markup {
    html! { p.weak { (why) } p { a href=(address.without(&[OPEN, BEFORE, AFTER])) { "Close" } } }
}
