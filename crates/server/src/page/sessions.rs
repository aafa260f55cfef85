//! The conversations, the latest first, and one of them from its beginning.

use afterthought::{SessionList, SessionMessages, SessionView};
use maud::{Markup, html};

use super::address::{Address, by_id};
use super::layout::warnings;
use super::reader::{Reading, messages, session_head};
use super::text::{counted, grouped, maybe_moment};

/// Messages on a page of a conversation, and conversations on a page of their list.
pub(super) const PAGE: usize = 50;

/// Lists conversations.
pub(super) fn list(list: &SessionList) -> Markup {
    html! {
        (warnings(&list.warnings))
        ol.sessions { @for session in &list.sessions { li { (entry(session)) } } }
    }
}

pub(super) fn listed(address: &Address, found: &SessionList) -> Markup {
    let shown = found.offset + found.sessions.len();
    html! {
        div.summary { h1 #total { (counted(found.total, "conversation", "conversations")) } }
        (list(found))
        (pager(address, "offset", found.offset, shown, found.total))
    }
}

fn entry(session: &SessionView) -> Markup {
    html! {
        article id={ "session-" (session.id) } class="hit titled" {
            h2 {
                a.open href=(by_id("sessions", &session.id)) {
                    span.title { (session.title.as_deref().unwrap_or("Untitled conversation")) }
                }
            }
            p.facts.quiet {
                (maybe_moment(session.last_activity.as_deref()))
                span { (counted(session.messages, "message", "messages")) }
                span { (session.source) }
                @if let Some(model) = &session.model { span { (model) } }
                @if let Some(folder) = &session.cwd { code { (folder) } }
            }
        }
    }
}

/// Shows a part of a conversation, from the message of a number.
pub(super) fn conversation(address: &Address, shown: &SessionMessages, from: usize) -> Markup {
    let id = &shown.session.id;
    html! {
        (session_head(&shown.session))
        form.inside action="/" method="get" role="search" aria-label="Search in this conversation" {
            input type="hidden" name="session" value=(id);
            input type="search" name="q" aria-label="Search in this conversation" placeholder="Search in this conversation";
            button { "Search" }
        }
        (warnings(&shown.warnings))
        (messages(&shown.messages, &Reading { id: None, words: &[], origin: None }))
        (pager(address, "from", from, from + shown.messages.len(), shown.session.messages))
    }
}

fn pager(address: &Address, parameter: &str, from: usize, to: usize, all: u64) -> Markup {
    let before = from.saturating_sub(PAGE);
    html! {
        @if from > 0 || (to as u64) < all {
            nav.pager aria-label="Pages" {
                @if from > 0 {
                    a rel="prev" href=(if before == 0 { address.without(&[parameter]) } else { address.with(parameter, before) }) { "← Before" }
                }
                span.quiet { (grouped(from as u64 + 1)) "–" (grouped(to as u64)) " of " (grouped(all)) }
                @if (to as u64) < all { a rel="next" href=(address.with(parameter, to)) { "Further →" } }
            }
        }
    }
}
