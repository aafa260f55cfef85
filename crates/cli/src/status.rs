//! `aft status` and `aft verify`: how true the index is, and the proof.

use afterthought::{Engine, Opening, Verdict};
use serde_json::json;

use crate::args::Global;
use crate::fail::{EXIT_DRIFT, Failure};
use crate::paths;
use crate::stdout::{grouped, print_json, print_text, size};

fn open(global: &Global) -> Result<Engine, Failure> {
    let mut options = paths::options(global)?;
    options.index = Opening::Existing;
    Ok(Engine::open(&options)?)
}

pub(crate) fn status(global: &Global) -> Result<u8, Failure> {
    let status = open(global)?.status()?;
    if global.json {
        print_json(&status)?;
        return Ok(0);
    }
    let index = &status.index;
    let state = serde_json::to_value(index.state).map_err(std::io::Error::from)?;
    let state = state.as_str().unwrap_or_default();
    let mut text = format!(
        "archive     {} ({})\nindex       {} ({}, {} segments)\nstate       {state}\nmessages    {} in {} sessions\n",
        status.archive,
        size(status.archive_bytes),
        status.index_folder,
        size(status.index_bytes),
        status.segments,
        grouped(index.rows),
        grouped(status.sessions as u64),
    );
    if index.percent < 100 {
        text += &format!("built       {} %; to go on: aft index\n", index.percent);
    } else if index.rows_behind > 0 {
        text += &format!(
            "behind      {} rows; the next search or aft index takes them in\n",
            grouped(index.rows_behind)
        );
    }
    let or_never = |time: &Option<String>| time.clone().unwrap_or_else(|| "never".to_owned());
    text +=
        &format!("last commit {}\ncompared    {}\n", or_never(&index.last_sync), or_never(&index.checked_at));
    if status.damaged_rows > 0 {
        let ids: Vec<_> = status.damaged_ids.iter().map(|id| format!("#{id}")).collect();
        text += &format!("read partly {} rows: {}\n", grouped(status.damaged_rows), ids.join(" "));
    }
    print_text(&text)?;
    Ok(0)
}

pub(crate) fn verify(global: &Global) -> Result<u8, Failure> {
    let verdict = open(global)?.verify()?;
    if global.json {
        let mut value = serde_json::to_value(&verdict).map_err(std::io::Error::from)?;
        value["schema_version"] = json!(1);
        print_json(&value)?;
    } else {
        print_text(&as_text(&verdict))?;
    }
    Ok(if verdict.equal { 0 } else { EXIT_DRIFT })
}

fn as_text(verdict: &Verdict) -> String {
    if verdict.equal {
        return format!(
            "equal: {} messages in {} sessions, row by row\n",
            grouped(verdict.archive_rows),
            grouped(verdict.sessions_compared)
        );
    }
    let mut text = differences(verdict);
    text += "to mend it: aft index\n";
    text
}

/// Lists what differs, for people.
pub(crate) fn differences(verdict: &Verdict) -> String {
    let counts: Vec<_> =
        verdict.differing.iter().map(|(how, count)| format!("{} {how}", grouped(*count))).collect();
    let mut text = format!(
        "different: {} (archive {} rows, index {})\n",
        counts.join(", "),
        grouped(verdict.archive_rows),
        grouped(verdict.index_rows)
    );
    for drift in &verdict.drift {
        text += &format!("  #{} of session {}: {}\n", drift.message_id, drift.session_id, drift.how);
    }
    text
}
