//! `aft hermes session-search`: a call of the agent's own tool, answered here.

use std::io::{BufRead, Read, stdin};
use std::time::Duration;

use afterthought_hermes::{Config, Recall};
use serde_json::{Map, Value};

use crate::args::{Global, SessionSearch};
use crate::config::settings;
use crate::fail::Failure;
use crate::stdout::print_json;

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
        for line in stdin().lock().lines() {
            print_json(&recall.call(&merged(call, Some(&line?))?))?;
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
    print_json(&recall.call(&merged(call, given.as_deref())?))?;
    Ok(0)
}

/// Returns the arguments of a call: those in JSON, and the flags over them.
fn merged(call: &SessionSearch, json: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let mut arguments = match json.map(str::trim).filter(|json| !json.is_empty()) {
        Some(json) => serde_json::from_str(json)
            .map_err(|error| Failure::Usage(format!("read the arguments: {error}; give one JSON object")))?,
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
