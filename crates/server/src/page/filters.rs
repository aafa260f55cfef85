//! What a search is narrowed and weighed by: one form with the box, and links where one step is all.

use afterthought::search::{FacetValue, Facets};
use afterthought::{Facet, Field, Origin, Weights};
use maud::{Markup, html};

use super::address::{Address, OPEN};
use super::text::grouped;

/// The facets that a page asks for.
pub(super) const FACETS: [Facet; 6] =
    [Facet::Role, Facet::Source, Facet::Tool, Facet::Model, Facet::Workspace, Facet::Month];
/// Values of a facet that are shown at once; the others unfold.
const VALUES: usize = 6;
/// Most months that the chart shows, the latest ones.
const MONTHS: usize = 60;
/// Parameters that the form has no field for, kept while they are set.
const KEPT: [&str; 12] = [
    "sort",
    "exclude-source",
    "session",
    "exclude-session",
    "current-session",
    "user",
    "branch",
    "no-tiers",
    "limit",
    "include-inactive",
    "include-copies",
    "weights",
];

/// Shows the filters; without facets, those that need no counts.
pub(super) fn filters(address: &Address, facets: Option<&Facets>) -> Markup {
    let facet = |facet: Facet| facets.and_then(|facets| facets.get(&facet)).map_or(&[][..], Vec::as_slice);
    html! {
        details #filters-fold.filters {
            summary { "Filters" }
            (kept(address, facets.is_none()))
            (origins(address))
            (time(address, facet(Facet::Month)))
            (choices(address, "role", "Who", facet(Facet::Role)))
            (choices(address, "source", "Source", facet(Facet::Source)))
            (choices(address, "tool", "Tool", facet(Facet::Tool)))
            (choices(address, "model", "Model", facet(Facet::Model)))
            (workspaces(address, facet(Facet::Workspace)))
            (ways(address))
            (weights(address))
            // The script applies what is chosen at once.
            button.apply type="submit" form="query" { "Apply" }
        }
    }
}

/// Shows what is set and has no field of its own, each with a way to take it back; `all` also what has links
/// beside the hits, where there are none.
fn kept(address: &Address, all: bool) -> Markup {
    let set: Vec<(&str, &str)> = address.pairs().filter(|(name, _)| KEPT.contains(name)).collect();
    let shown = set.iter().filter(|(name, _)| all || !["sort", "weights"].contains(name));
    html! {
        @for (name, value) in &set { input type="hidden" form="query" name=(name) value=(value); }
        p.set {
            @for (name, value) in shown {
                a.choice href=(address.without(&[name, "offset", OPEN])) aria-label={ "Take back " (name) " " (value) } {
                    (name) " " em { (value) } " ×"
                }
            }
        }
    }
}

fn origins(address: &Address) -> Markup {
    html! {
        fieldset.origins {
            legend { "How it came about" }
            @for origin in Origin::ALL {
                label class={ "chip " (origin.name()) } {
                    input type="checkbox" form="query" name="in" value=(origin.name())
                        checked[address.has("in", origin.name())];
                    (origin.name())
                }
            }
        }
    }
}

/// Shows when hits were written, month by month, and takes bounds.
fn time(address: &Address, months: &[FacetValue]) -> Markup {
    let mut months: Vec<(&str, u64)> =
        months.iter().filter_map(|month| Some((month.value.as_deref()?, month.count))).collect();
    months.sort_unstable();
    months.drain(..months.len().saturating_sub(MONTHS));
    let most = months.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let open = address.without(&["since", "until", "offset", OPEN]);
    let width = 240 / months.len().max(1);
    html! {
        fieldset {
            legend { "When" }
            @if months.len() > 1 {
                svg.months viewBox={ "0 0 " (width * months.len()) " 48" } preserveAspectRatio="none" role="group"
                    aria-label="Hits by month" {
                    @for (place, (month, count)) in months.iter().enumerate() {
                        @let height = (count * 44).div_ceil(most);
                        a href=(open.with("since", month).with("until", next(month))) aria-label={ (month) ": " (grouped(*count)) } {
                            title { (month) ": " (grouped(*count)) }
                            rect.area x=(place * width) y="0" width=(width) height="48" {}
                            rect.bar x=(place * width) y=(48 - height) width=(width.saturating_sub(1).max(1)) height=(height) {}
                        }
                    }
                }
                @if let [(first, _), .., (last, _)] = months.as_slice() {
                    p.ends.quiet aria-hidden="true" { span { (first) } span { (last) } }
                }
            }
            div.bounds {
                label { "from" input form="query" name="since" value=(address.text("since")) placeholder="7d, 2026-03" size="10"; }
                label { "to" input form="query" name="until" value=(address.text("until")) placeholder="2026-04" size="10"; }
            }
            p.quick {
                @for (bound, label) in [("1d", "a day"), ("7d", "a week"), ("30d", "30 days"), ("365d", "a year")] {
                    a.choice href=(open.with("since", bound)) aria-current=[(address.get("since") == Some(bound)).then_some("true")] { (label) }
                }
                @if address.get("since").or(address.get("until")).is_some() { a.choice href=(open) { "any time" } }
            }
        }
    }
}

/// Returns the month after one, both written as 2026-03.
fn next(month: &str) -> String {
    let parts =
        month.split_once('-').and_then(|(year, month)| Some((year.parse().ok()?, month.parse().ok()?)));
    // Counts by month are written so; what is not has no end.
    let Some((year, month)): Option<(u32, u32)> = parts else { return String::new() };
    if month == 12 { format!("{:04}-01", year + 1) } else { format!("{year:04}-{:02}", month + 1) }
}

fn choices(address: &Address, name: &str, label: &str, values: &[FacetValue]) -> Markup {
    let known = |value: &str| values.iter().any(|known| known.value.as_deref() == Some(value));
    let set = address.all(name).filter(|value| !known(value)).map(|value| (value, 0));
    let found = values.iter().filter_map(|found| Some((found.value.as_deref()?, found.count)));
    let all: Vec<(&str, u64)> = set.chain(found).collect();
    let (first, rest) = all.split_at(all.len().min(VALUES));
    let choice = |(value, count): &(&str, u64)| {
        html! {
            label.choice {
                input type="checkbox" form="query" name=(name) value=(value) checked[address.has(name, value)];
                span.value { (value) } span.count { (grouped(*count)) }
            }
        }
    };
    html! {
        @if !all.is_empty() {
            fieldset {
                legend { (label) }
                @for value in first { (choice(value)) }
                @if !rest.is_empty() {
                    details id={ "more-" (name) } {
                        summary { (rest.len()) " more" }
                        @for value in rest { (choice(value)) }
                    }
                }
            }
        }
    }
}

/// A folder is one value, so it is chosen from a list.
fn workspaces(address: &Address, values: &[FacetValue]) -> Markup {
    let set = address.get("workspace");
    let found: Vec<(&str, u64)> =
        values.iter().filter_map(|found| Some((found.value.as_deref()?, found.count))).collect();
    let is_listed = found.iter().any(|(value, _)| set == Some(value));
    html! {
        @if !found.is_empty() || set.is_some() {
            fieldset {
                legend { label for="workspace" { "Workspace" } }
                select #workspace form="query" name="workspace" {
                    option value="" { "any" }
                    @if let Some(set) = set.filter(|_| !is_listed) { option value=(set) selected { (set) } }
                    @for (value, count) in &found {
                        option value=(value) selected[set == Some(value)] { (value) " (" (grouped(*count)) ")" }
                    }
                }
            }
        }
    }
}

fn ways(address: &Address) -> Markup {
    let group = address.get("group").filter(|group| *group != "none");
    html! {
        fieldset {
            legend { "Show" }
            label.choice {
                input type="checkbox" form="query" name="group" value=(group.unwrap_or("session")) checked[group.is_some()];
                span.value { "one hit of a conversation" }
            }
            label.choice {
                input type="checkbox" form="query" name="match" value="all" checked[address.has("match", "all")];
                span.value { "only hits with every word" }
            }
            label.choice {
                input type="checkbox" form="query" name="explain" value="true" checked[address.pairs().any(|(name, _)| name == "explain")];
                span.value { "how scores come about" }
            }
        }
    }
}

/// Returns the origin whose colour a number's slider has.
fn of(number: &str) -> &'static str {
    match number {
        "phrase" | "session" => "",
        field => Field::named(field).map_or("", |field| field.origin().name()),
    }
}

/// Sets of weights as links, and a slider for each number that people turn.
fn weights(address: &Address) -> Markup {
    const NUMBERS: [(&str, &str); 8] = [
        ("content", "said"),
        ("reasoning", "thought"),
        ("tool_calls", "did"),
        ("tool_name", "tool names"),
        ("tool_output", "saw"),
        ("title", "titles"),
        ("phrase", "words side by side"),
        ("session", "rest of the conversation"),
    ];
    let set = address.get("weights").unwrap_or("balanced");
    let weights = Weights::named(set).unwrap_or_default();
    let is_turned = address.get("boost").is_some();
    let plain = address.without(&["weights", "boost", "phrase-boost", "offset"]);
    html! {
        details #weights.weights {
            summary { "Weights" }
            p.quick role="group" aria-label="Sets of weights" {
                @for name in Weights::SETS {
                    a.choice aria-current=[(name == set && !is_turned).then_some("true")]
                        href=(if name == "balanced" { plain.clone() } else { plain.with("weights", name) }) { (name) }
                }
            }
            @for (number, label) in NUMBERS {
                @let usual = weights.numbers().find(|(name, _)| *name == number).map_or(1.0, |(_, usual)| usual);
                @let value = address.boost(number).unwrap_or(usual);
                label class={ "slider " (of(number)) } {
                    span { (label) }
                    input type="range" form="query" name={ "boost." (number) } min="0" max="5" step="0.05"
                        value=(value) data-usual=(usual);
                    output { (format!("{value:.2}")) }
                }
            }
        }
    }
}
