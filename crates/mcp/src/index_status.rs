//! The tool `index_status`: how much of the archive is searched, and how much of that was thought.

use afterthought::index::FORMAT;
use afterthought::search::IndexState;
use afterthought::text::FINGERPRINT;
use afterthought::{Origin, Result, Status};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::json;

use crate::answer::{Answer, push_notes};
use crate::arguments::read;
use afterthought_hermes::LazyEngine;

pub(crate) const NAME: &str = "index_status";

/// There are none.
#[derive(Deserialize)]
struct Arguments {}

pub(crate) fn call(engine: &LazyEngine, schema: &JsonObject, given: JsonObject) -> Result<Answer> {
    let Arguments {} = read(schema, given)?;
    let (status, warnings) = engine.fresh(|ready| Ok((ready.engine.status()?, ready.warnings()?)))?;
    let structured = json!({
        "schema_version": 1,
        "archive": status.archive,
        "index": status.index,
        "sessions": status.sessions,
        "thought_rows": thoughts(&status),
        "audited_at": status.audited_at,
        "versions": {"aft": env!("CARGO_PKG_VERSION"), "index_format": FORMAT, "analyzer": FINGERPRINT},
        "warnings": warnings,
    });
    let mut text = as_text(&status);
    push_notes(&mut text, &warnings);
    Ok(Answer { structured, text })
}

fn thoughts(status: &Status) -> u64 {
    status.rows_by_origin.get(&Origin::Thought).copied().unwrap_or(0)
}

fn as_text(status: &Status) -> String {
    let index = &status.index;
    let state = match index.state {
        IndexState::Ready => "ready: every row is searched".to_owned(),
        IndexState::Building => {
            format!("building: {} % of the rows are searched, the newest sessions first", index.percent)
        }
        IndexState::Stale => format!("stale: {} rows are not searched yet", index.rows_behind),
    };
    let thoughts = thoughts(status);
    let share = thoughts * 100 / index.rows.max(1);
    let or_never = |time: &Option<String>| time.clone().unwrap_or_else(|| "never".to_owned());
    format!(
        "{state}\n{} messages in {} sessions; {} of them, {share} %, with reasoning\nlast sync {}, last full \
         comparison {}\narchive {}\naft {}, index format {FORMAT}, analyzer {FINGERPRINT}\n",
        index.rows,
        status.sessions,
        thoughts,
        or_never(&index.last_sync),
        or_never(&index.checked_at),
        status.archive,
        env!("CARGO_PKG_VERSION"),
    )
}
