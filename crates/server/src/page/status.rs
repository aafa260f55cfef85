//! How true the index is, what it costs, and what the archive holds that its agent's own search cannot find.

use afterthought::Status;
use maud::{Markup, html};

use crate::audits::Kept;
use crate::live::Syncs;

use super::address::Address;
use super::layout::freshness;
use super::text::{badge, grouped, maybe_moment, moment, size};

pub(super) fn status(status: &Status, recent: &Syncs) -> Markup {
    let most = status.rows_by_origin.values().copied().max().unwrap_or(0).max(1);
    html! {
        h1 #total { "Status" }
        section.card aria-labelledby="fresh" {
            h2 #fresh { "Freshness" }
            p { (freshness(&status.index)) }
            dl.figures {
                dt { "Every session compared" } dd { (maybe_moment(status.index.checked_at.as_deref())) }
                dt { "Every row's text compared" } dd { (maybe_moment(status.audited_at.as_deref())) }
                dt { "Rows read only in part" } dd { (grouped(status.damaged_rows)) }
            }
        }
        section.card aria-labelledby="sizes" {
            h2 #sizes { "Sizes" }
            dl.figures {
                dt { "Archive" } dd { (size(status.archive_bytes)) " " code { (status.archive) } }
                dt { "Index" } dd { (size(status.index_bytes)) " " code { (status.index_folder) } }
                dt { "Segments" } dd { (status.segments) }
                dt { "Conversations" } dd { (grouped(status.sessions as u64)) }
                dt { "Messages" } dd { (grouped(status.index.rows)) }
            }
        }
        section.card aria-labelledby="origins" {
            h2 #origins { "Messages by origin" }
            table {
                thead.unseen { tr { th scope="col" { "Origin" } th scope="col" { "Share" } th scope="col" { "Messages" } } }
                tbody {
                    @for (origin, rows) in &status.rows_by_origin {
                        tr {
                            th scope="row" { (badge(*origin)) }
                            td.wide { meter class=(origin.name()) min="0" max=(most) value=(rows) aria-hidden="true" {} }
                            td.number { (grouped(*rows)) }
                        }
                    }
                }
            }
        }
        (syncs(recent))
    }
}

fn syncs(recent: &Syncs) -> Markup {
    html! {
        section.card aria-labelledby="syncs" {
            h2 #syncs { "Latest syncs" }
            @if recent.syncs.is_empty() {
                p.quiet { "Nothing was written since this server began." }
            } @else {
                div.scroll tabindex="0" role="region" aria-labelledby="syncs" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "When" }
                                th.number scope="col" { "Added" }
                                th.number scope="col" { "Removed" }
                                th.number scope="col" { "Sessions" }
                                th.number scope="col" { "Read" }
                                th.number scope="col" { "Took" }
                            }
                        }
                        tbody {
                            @for sync in &recent.syncs {
                                tr {
                                    th scope="row" { (maybe_moment(sync.at.as_deref())) }
                                    td.number { (grouped(sync.docs_added)) }
                                    td.number { (grouped(sync.docs_removed)) }
                                    td.number { (grouped(sync.sessions_written)) }
                                    td.number { (size(sync.text_bytes)) }
                                    td.number { (format!("{:.0} ms", sync.took_ms)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Shows what the archive holds that its agent's own search cannot find, as of the last audit.
pub(super) fn audited(audit: Option<&Kept>) -> Markup {
    html! {
        section.card aria-labelledby="audit" {
            h2 #audit { "What the agent's own search cannot find" }
            @if let Some(Kept { audit, at, .. }) = audit {
                @let figures = &audit.figures;
                dl.figures {
                    dt { "Messages with reasoning" }
                    dd { (grouped(figures.rows_with_reasoning)) " of " (grouped(figures.rows)) " (" (percent(figures.reasoning_share)) ")" }
                    dt { "With nothing but reasoning" } dd { (grouped(figures.empty_content_with_reasoning)) }
                    dt { "Text in reasoning" } dd { (grouped(figures.chars_reasoning)) " characters, " (percent(figures.added_share)) " beside the content" }
                }
                @if !audit.only_in_reasoning.is_empty() {
                    p { "Words that only thoughts hold:" }
                    p.quick {
                        @for word in &audit.only_in_reasoning {
                            a.choice href=(Address::search(&word.word)) { (word.word) " " span.quiet { (grouped(word.messages)) } }
                        }
                    }
                }
                p.quiet { "As of " (at.as_deref().map_or_else(|| html! { "an unknown time" }, moment)) ". " a href="/status?audit=true" { "Audit anew" } }
            } @else {
                p {
                    a href="/status?audit=true" { "Audit the archive" } span.quiet { ": reads all of it, which may take minutes where it is large" }
                }
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
