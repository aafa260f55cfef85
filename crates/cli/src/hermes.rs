//! `aft hermes session-search`: a call of the agent's own tool, answered here.

use std::io::{self, BufRead, Read, stdin};
use std::time::Duration;

use afterthought_hermes::{Config, Recall};
use serde_json::{Map, Value, json};

use crate::args::{Global, SessionSearch};
use crate::config::settings;
use crate::fail::Failure;
use crate::stdout::print_json;

/// Longest line that is read as a call, in bytes.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Characters of what is wrong with a call that is none.
const WHY_CHARS_MAX: usize = 300;

pub(crate) fn session_search(global: &Global, call: &SessionSearch) -> Result<u8, Failure> {
    let [archive, index] = settings(global)?;
    let recall = Recall::new(Config {
        user: call.user.clone(),
        current_session: call.current_session.clone(),
        wait: Duration::try_from_secs_f64(call.wait).unwrap_or(Duration::MAX),
        allow_copy: global.allow_copy,
        ..Config::of_archive(archive.value, index.value)
    });
    if call.lines {
        let mut input = stdin().lock();
        while let Some(line) = next_line(&mut input)? {
            let read = line.and_then(|line| merged(call, Some(&line)));
            // A caller that counts lines gets as many answers.
            let refused = |why| json!({"error": why, "success": false});
            print_json(&read.map_or_else(refused, |arguments| recall.call(&arguments)))?;
        }
        return Ok(0);
    }
    let given = match call.args.as_deref() {
        Some("-") => {
            let mut text = String::new();
            stdin().lock().read_to_string(&mut text)?;
            Some(text)
        }
        other => other.map(str::to_owned),
    };
    let arguments = merged(call, given.as_deref()).map_err(Failure::Usage)?;
    print_json(&recall.call(&arguments))?;
    Ok(0)
}

/// Reads a line: `None` at the end of input, and what is wrong with one that no call can be.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, String>>> {
    let mut line = Vec::new();
    input.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() > LINE_BYTES_MAX && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Some(Err(format!("read the arguments: the line is longer than {LINE_BYTES_MAX} bytes"))));
    }
    Ok(Some(String::from_utf8(line).map_err(|_| "read the arguments: the line is no UTF-8".to_owned())))
}

/// Returns the arguments of a call: those in JSON, and the flags over them. Fails with what is wrong.
fn merged(call: &SessionSearch, json: Option<&str>) -> Result<Map<String, Value>, String> {
    let mut arguments = match json.map(str::trim).filter(|json| !json.is_empty()) {
        Some(json) => serde_json::from_str(json).map_err(|error| {
            let why: String = error.to_string().chars().take(WHY_CHARS_MAX).collect();
            format!("read the arguments: {why}; give one JSON object")
        })?,
        None => Map::new(),
    };
    for (name, value) in [
        ("query", &call.query),
        ("limit", &call.limit),
        ("sort", &call.sort),
        ("session_id", &call.session_id),
        ("around_message_id", &call.around_message_id),
        ("window", &call.window),
        ("role_filter", &call.role_filter),
        ("profile", &call.profile),
        ("detail", &call.detail),
        ("after", &call.after),
        ("before", &call.before),
        ("exclude_session_ids", &call.exclude_session_ids),
    ] {
        if let Some(value) = value {
            arguments.insert(name.to_owned(), value.as_str().into());
        }
    }
    if call.include_reasoning {
        arguments.insert("include_reasoning".to_owned(), true.into());
    }
    Ok(arguments)
}
