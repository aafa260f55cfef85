//! `aft status`: how true the index is.

use afterthought::{Engine, Opening};

use crate::args::Global;
use crate::fail::Failure;
use crate::paths;
use crate::stdout::{grouped, print_json, print_text, size};

pub(crate) fn run(global: &Global) -> Result<u8, Failure> {
    let mut options = paths::options(global)?;
    options.index = Opening::Existing;
    let status = Engine::open(&options)?.status()?;
    if global.json {
        print_json(&status)?;
        return Ok(0);
    }
    let index = &status.index;
    let state = serde_json::to_value(index.state).map_err(std::io::Error::from)?;
    let state = state.as_str().unwrap_or_default();
    let by_origin = status.rows_by_origin.iter();
    let by_origin: Vec<_> =
        by_origin.map(|(origin, rows)| format!("{} {}", origin.name(), grouped(*rows))).collect();
    let mut text = format!(
        "archive     {} ({})\nlayout      {}\nindex       {} ({}, {} segments)\nstate       {state}\nmessages    {} in {} sessions\nof them     {}\n",
        status.archive,
        size(status.archive_bytes),
        status.layout,
        status.index_folder,
        size(status.index_bytes),
        status.segments,
        grouped(index.rows),
        grouped(status.sessions as u64),
        by_origin.join(", "),
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
    text += &format!(
        "last commit {}\ncompared    {}\naudited     {}\n",
        or_never(&index.last_sync),
        or_never(&index.checked_at),
        or_never(&status.audited_at)
    );
    if status.damaged_rows > 0 {
        let ids: Vec<_> = status.damaged_ids.iter().map(|id| format!("#{id}")).collect();
        text += &format!("read partly {} rows: {}\n", grouped(status.damaged_rows), ids.join(" "));
    }
    print_text(&text)?;
    Ok(0)
}
