//! How true the index is, what it costs, and what the archive holds that its agent's own search cannot find.

use afterthought::Status;
use maud::{Markup, html};

use super::layout::freshness;
use super::text::{badge, grouped, maybe_moment, size};

pub(super) fn status(status: &Status) -> Markup {
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
    }
}
