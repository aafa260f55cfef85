//! What every page has: its head, the box to search in, and ways to elsewhere.

use afterthought::Warning;
use afterthought::search::{IndexState, IndexView};
use maud::{DOCTYPE, Markup, html};

use super::text::{grouped, moment};

/// Which page this is. The script changes regions of the page it is on, and all of it where it goes to another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Search,
    Message,
    Sessions,
    Session,
    Status,
    Error,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Message => "message",
            Self::Sessions => "sessions",
            Self::Session => "session",
            Self::Status => "status",
            Self::Error => "error",
        }
    }
}

/// Puts a page together. `query` stands in the box; `index` says how true the page is.
pub(super) fn document(
    kind: Kind,
    title: &str,
    query: &str,
    index: Option<&IndexView>,
    body: &Markup,
) -> Markup {
    let here = |of: Kind| (kind == of).then_some("page");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/style.css";
                script src="/script.js" defer {}
            }
            body data-page=(kind.name()) {
                a.skip href="#main" { "Skip to the results" }
                header.top {
                    a.brand href="/" { "Afterthought" }
                    form #query role="search" action="/" method="get" {
                        input #q type="search" name="q" value=(query) autocomplete="off" spellcheck="false"
                            aria-label="Search what was said, thought and done"
                            placeholder="Said, thought or done";
                        button type="submit" { "Search" }
                    }
                    nav aria-label="Pages" {
                        a href="/sessions" aria-current=[here(Kind::Sessions)] { "Conversations" }
                        a href="/status" aria-current=[here(Kind::Status)] { "Status" }
                        button #help-button type="button" hidden aria-label="Keys" { "?" }
                    }
                }
                div #page { (body) }
                footer #freshness data-region { @if let Some(index) = index { (freshness(index)) } }
                p #said.unseen role="status" {}
                (keys())
            }
        }
    }
}

/// Says how the index stands to the archive.
pub(super) fn freshness(index: &IndexView) -> Markup {
    let rows = grouped(index.rows);
    html! {
        @match index.state {
            IndexState::Ready => { span.dot.ready {} (rows) " messages, every one searched" },
            IndexState::Building => {
                span.dot.building {} "Being built: " (index.percent) " % searched, "
                (grouped(index.rows_behind)) " messages to come"
            },
            IndexState::Stale => {
                span.dot.building {} (rows) " messages searched, " (grouped(index.rows_behind)) " to come"
            },
        }
        @if let Some(at) = &index.last_sync { span.quiet { " · last change taken in " (moment(at)) } }
    }
}

/// Says what the reader of a page should know of it.
pub(super) fn warnings(warnings: &[Warning]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            ul.notes { @for warning in warnings { li { (warning.message) } } }
        }
    }
}

/// What the keyboard does, shown when asked for.
fn keys() -> Markup {
    const KEYS: [(&str, &str); 7] = [
        ("/", "to the search box"),
        ("j", "next hit or message"),
        ("k", "the one before"),
        ("enter", "open it beside the hits"),
        ("esc", "close, or leave the box"),
        ("n p", "next page, page before"),
        ("?", "this list"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl { @for (key, act) in KEYS { dt { @for key in key.split(' ') { kbd { (key) } } } dd { (act) } } }
            form method="dialog" { button { "Close" } }
        }
    }
}
