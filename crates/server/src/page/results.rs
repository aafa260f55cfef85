//! The hits of a search: what was found, where, how far to trust it, and how it was ranked.

use afterthought::search::{Diagnosis, UnknownTerm};
use afterthought::{Explanation, Hit, How, Origin, Page, Sort, Warning};
use maud::{Markup, html};

use super::address::{AFTER, Address, BEFORE, OPEN, by_id};
use super::layout::warnings;
use super::text::{badge, counted, grouped, marked, maybe_moment};

/// Deepest hit that pages by number reach.
const DEPTH: usize = afterthought::limits::PAGE_DEPTH_MAX;

pub(super) fn results(address: &Address, page: &Page) -> Markup {
    html! {
        (summary(address, page))
        (warnings(&unsaid(page)))
        @if let Some(diagnosis) = &page.diagnosis { (suggestions(address, diagnosis)) }
        ol.hits start=(page.offset + 1) { @for hit in &page.results { li { (article(address, hit)) } } }
        (pager(address, page))
    }
}

/// Returns the warnings that no suggestion says.
fn unsaid(page: &Page) -> Vec<Warning> {
    let is_said = |warning: &Warning| match (warning.kind, &page.diagnosis) {
        ("unknown-term", Some(_)) => true,
        ("filtered-out", Some(diagnosis)) => !diagnosis.left_out.is_empty(),
        ("found-elsewhere", Some(diagnosis)) => !diagnosis.elsewhere.is_empty(),
        _ => false,
    };
    page.warnings.iter().filter(|warning| !is_said(warning)).cloned().collect()
}

fn summary(address: &Address, page: &Page) -> Markup {
    let at_least = if page.total.relation == "eq" { "" } else { "at least " };
    let total = match page.total_messages {
        Some(messages) => format!(
            "{at_least}{} with {}",
            counted(page.total.value, "conversation", "conversations"),
            counted(messages.value, "hit", "hits")
        ),
        None => format!("{at_least}{}", counted(page.total.value, "hit", "hits")),
    };
    html! {
        div.summary {
            h1 #total { (total) }
            p #took.quiet { (format!("{:.0} ms", page.elapsed_ms)) }
            p.orders role="group" aria-label="Order" {
                @for (order, label) in [(Sort::Relevance, "best"), (Sort::Newest, "newest"), (Sort::Oldest, "oldest")] {
                    (order_link(address, order, label))
                }
            }
        }
    }
}

fn order_link(address: &Address, order: Sort, label: &str) -> Markup {
    let name = match order {
        Sort::Relevance => "relevance",
        Sort::Newest => "newest",
        Sort::Oldest => "oldest",
    };
    let is_set = address.get("sort").unwrap_or("relevance") == name;
    let there = address.without(&["offset", "cursor"]);
    let there = if order == Sort::Relevance { there.without(&["sort"]) } else { there.with("sort", name) };
    html! { a href=(there) aria-current=[is_set.then_some("true")] { (label) } }
}

/// Shows what to ask instead, where words are known nowhere or a filter left everything out.
fn suggestions(address: &Address, diagnosis: &Diagnosis) -> Markup {
    let instead = |term: &UnknownTerm, near: &str| {
        let query = address.text("q").replacen(&term.term, near, 1);
        address.with("q", query).without(&["offset", OPEN])
    };
    let near = diagnosis.unknown_terms.iter().map(|term| {
        html! {
            em { (term.term) } " stands nowhere in what was searched"
            @if !term.nearest.is_empty() { "; instead: " }
            @for near in &term.nearest { a.choice href=(instead(term, near)) { (near) } " " }
        }
    });
    let lifted = diagnosis.left_out.iter().filter_map(|left| {
        let there = lifted(address, left.filter)?;
        Some(html! { a.choice href=(there) { "Without the filter " em { (left.filter) } ": " (grouped(left.matches)) } })
    });
    let elsewhere = diagnosis.elsewhere.iter().map(|there| {
        let address = address.without(&["in", "role", "offset"]).with("in", there.origin.name());
        html! {
            a.choice href=(address) {
                (grouped(there.matches)) " where it was " em { (there.origin.name()) }
                @if let Some(role) = &there.role { " by " em { (role) } }
            }
        }
    });
    let suggestions: Vec<Markup> = near.chain(lifted).chain(elsewhere).collect();
    html! {
        @if !suggestions.is_empty() {
            ul.suggestions { @for suggestion in &suggestions { li { (suggestion) } } }
        }
    }
}

/// Returns an address without a filter, by the library's name for it; `None` where nobody set it.
fn lifted(address: &Address, filter: &str) -> Option<Address> {
    let address = address.without(&["offset"]);
    let parameters: &[&str] = match filter {
        "inactive" => return Some(address.with("include-inactive", true)),
        "copies" => return Some(address.with("include-copies", true)),
        "time" => &["since", "until"],
        "roles" => &["role"],
        "tools" => &["tool"],
        "sources" => &["source"],
        "exclude_sources" => &["exclude-source"],
        "sessions" => &["session"],
        "exclude_sessions" => &["exclude-session"],
        "users" => &["user"],
        "models" => &["model"],
        // A branch is one of a workspace.
        "workspace" => &["workspace", "branch"],
        "branches" => &["branch"],
        "current_session" => &["current-session"],
        _ => return None,
    };
    Some(address.without(parameters)).filter(|without| *without != address)
}

fn article(address: &Address, hit: &Hit) -> Markup {
    let key = hit.message_id.map_or_else(|| format!("title-{}", hit.session_id), |id| format!("hit-{id}"));
    let is_open = hit.message_id.is_some_and(|id| address.get(OPEN) == Some(&id.to_string()));
    let title = hit.title.as_deref().filter(|title| !title.is_empty()).unwrap_or("Untitled conversation");
    html! {
        article id=(key) class={ "hit " (hit.origin.name()) } aria-current=[is_open.then_some("true")] {
            p.facts {
                (badge(hit.origin))
                @if let Some(role) = &hit.role { span { (role) } }
                (maybe_moment(hit.timestamp.as_deref()))
                span.quiet { (hit.source) }
                @if let Some(tier) = hit.tier.filter(|tier| tier.name() != hit.source) { span.quiet { (tier.name()) } }
                @if let Some(id) = hit.message_id { span.quiet { "#" (id) } }
            }
            h2 { a.open href=(opened(address, hit)) { span.title { (title) } } }
            @if hit.origin != Origin::Titled || hit.snippet != title {
                p.snippet { (marked(&hit.snippet, &hit.highlights)) }
            }
            p.facts.quiet {
                @if hit.terms_total > 0 {
                    span title={ "found: " (hit.matched_terms.join(", ")) } {
                        (hit.matched_terms.len()) " of " (counted(hit.terms_total as u64, "word", "words"))
                    }
                    @if hit.terms_total > 1 { meter min="0" max="1" value=(hit.coverage) aria-label="Share of the query" {} }
                }
                @if let Some(more @ 1..) = hit.more_in_session {
                    a href=(address.without(&["group", "offset", OPEN]).with("session", &hit.session_id)) {
                        (grouped(more)) " more in this conversation"
                    }
                }
            }
            @if let Some(explanation) = &hit.explain {
                details.explain id={ "why-" (key) } {
                    summary { "Score " (format!("{:.2}", explanation.score)) }
                    ul { (tree(explanation, explanation.score)) }
                }
            }
        }
    }
}

/// Leads to a hit: a message beside the hits, a title to its conversation.
fn opened(address: &Address, hit: &Hit) -> String {
    match hit.message_id {
        Some(id) => address.without(&[BEFORE, AFTER]).with(OPEN, id).to_string(),
        None => by_id("sessions", &hit.session_id),
    }
}

/// Shows how a number comes about, each with its share of the whole.
fn tree(explanation: &Explanation, whole: f32) -> Markup {
    let share = if whole > 0.0 { (explanation.score / whole).clamp(0.0, 1.0) } else { 0.0 };
    let how = match explanation.how {
        How::Sum => " is the sum of",
        How::Best => " is the best of",
        How::Value => "",
    };
    html! {
        li {
            meter min="0" max="1" value=(share) aria-hidden="true" {}
            b { (format!("{:.3}", explanation.score)) } " " (explanation.what)
            @if !explanation.of.is_empty() { span.quiet { (how) } }
            @if let Some(part) = &explanation.part {
                span.quiet {
                    " in " (part.field.name()) ": boost " (format!("{:.2}", part.boost))
                    ", rarity " (format!("{:.2}", part.idf)) ", " (format!("{:.1}", part.frequency)) " times in "
                    (part.length) " words (on average " (format!("{:.0}", part.average_length)) ")"
                }
            }
            @if !explanation.of.is_empty() { ul { @for below in &explanation.of { (tree(below, whole)) } } }
        }
    }
}

fn pager(address: &Address, page: &Page) -> Markup {
    let shown = page.offset + page.results.len();
    let before = (page.offset > 0).then(|| page.offset.saturating_sub(page.limit));
    let is_more = page.next_cursor.is_some() && shown + page.limit <= DEPTH;
    let at = |offset: usize| address.without(&[OPEN, BEFORE, AFTER, "cursor"]).with("offset", offset);
    html! {
        @if before.is_some() || page.next_cursor.is_some() {
            nav.pager aria-label="Pages of hits" {
                @if let Some(before) = before {
                    a rel="prev" href=(if before == 0 { at(0).without(&["offset"]) } else { at(before) }) { "← Before" }
                }
                span.quiet { (grouped(page.offset as u64 + 1)) "–" (grouped(shown as u64)) }
                @if is_more { a rel="next" href=(at(shown)) { "Further →" } }
                @else if page.next_cursor.is_some() { span.quiet { "more than pages reach: narrow the search" } }
            }
        }
    }
}
