//! `aft status`: how true the index is.

use afterthought::{Engine, Error, ErrorKind, ErrorView, Opening, Options, Status};
use serde_json::{Value, json};

use crate::args::{self, Global};
use crate::config::where_names_stand;
use crate::fail::{EXIT_DRIFT, Failure, quoted};
use crate::paths;
use crate::profiles::{self, Named};
use crate::search::flags;
use crate::stdout::{grouped, print_json, print_text, size};

pub(crate) fn run(global: &Global, args: &args::Status) -> Result<u8, Failure> {
    if args.all {
        profiles::alone(global, "--all")?;
        return all(global, &Options { index: Opening::Existing, ..paths::options_of_several(global)? });
    }
    let options = Options { index: Opening::Existing, ..paths::options(global)? };
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
        text += &format!("built       {} %; to go on: aft{} index\n", index.percent, flags(global, None));
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

/// Shows every archive that has a name. One that cannot be opened says why and keeps no other from being shown.
fn all(global: &Global, options: &Options) -> Result<u8, Failure> {
    let archives = profiles::all()?;
    let status = |one: &Named| -> Result<Status, Error> {
        let status = Engine::open(&one.options(options)?).and_then(|engine| engine.status());
        // Names of the file are as wrong as it is.
        status.map_err(|error| match error.kind() {
            ErrorKind::ArchiveUnavailable | ErrorKind::ArchiveUnrecognized if !one.archive.is_file() => {
                error.hint(format!("mend its path in {}", where_names_stand()))
            }
            _ => error,
        })
    };
    let all: Vec<_> = archives.iter().map(|one| (one, status(one))).collect();
    // What nobody has asked yet is no trouble.
    let is_fine = |status: &Result<Status, Error>| {
        status.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::IndexMissing)
    };
    let code = if all.iter().all(|(_, status)| is_fine(status)) { 0 } else { EXIT_DRIFT };
    if global.json {
        let archives: Vec<Value> = all
            .iter()
            .map(|(one, status)| {
                json!({
                    "name": one.name,
                    "archive": one.archive.display().to_string(),
                    "status": status.as_ref().ok(),
                    "error": status.as_ref().err().map(ErrorView::from),
                })
            })
            .collect();
        print_json(&json!({"schema_version": 1, "archives": archives}))?;
        return Ok(code);
    }
    if all.is_empty() {
        print_text(&format!("no archive has a name; {} gives some\n", where_names_stand()))?;
        return Ok(code);
    }
    let width = all.iter().map(|(one, _)| one.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (one, status) in &all {
        let name = &one.name;
        text += &match status {
            Ok(status) => line(status, name, width),
            Err(error) if error.kind() == ErrorKind::IndexMissing => {
                format!("{name:width$}  not indexed yet; to begin: aft --profile {} index\n", quoted(name))
            }
            Err(error) => {
                let hint =
                    error.next_step().map_or_else(String::new, |hint| format!("{:width$}  {hint}\n", ""));
                format!("{name:width$}  {error}\n{hint}")
            }
        };
    }
    print_text(&text)?;
    Ok(code)
}

fn line(status: &Status, name: &str, width: usize) -> String {
    let index = &status.index;
    let state = if index.percent < 100 {
        format!("built to {} %", index.percent)
    } else if index.rows_behind > 0 {
        format!("{} rows behind", grouped(index.rows_behind))
    } else {
        "ready".to_owned()
    };
    format!(
        "{name:width$}  {state}, {} messages in {} sessions, archive {}, index {}, {}\n",
        grouped(index.rows),
        grouped(status.sessions as u64),
        size(status.archive_bytes),
        size(status.index_bytes),
        status.archive,
    )
}
