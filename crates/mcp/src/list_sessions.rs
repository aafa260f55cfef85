//! The tool `list_sessions`: conversations, the latest activity first.

use afterthought::search::workspace_path;
use afterthought::{Filters, Result, SessionList, Warning};
use rmcp::model::JsonObject;
use serde::Deserialize;

use crate::answer::{Answer, as_json, push_notes};
use crate::arguments::{bound, read, wrong};
use crate::budget::{BARE, Budget, Cut, LEAST, LEVELS, Level, SESSIONS, clip_warnings, largest};
use crate::messages::{clip_names, push_session};
use afterthought_hermes::LazyEngine;

pub(crate) const NAME: &str = "list_sessions";

/// The parameters, as `schema/mcp.json` describes them.
#[derive(Deserialize)]
struct Arguments {
    sources: Vec<String>,
    exclude_sources: Vec<String>,
    users: Vec<String>,
    models: Vec<String>,
    workspace: Option<String>,
    branches: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    limit: usize,
    offset: usize,
    max_tokens: usize,
}

pub(crate) fn call(engine: &LazyEngine, schema: &JsonObject, given: JsonObject) -> Result<Answer> {
    let arguments: Arguments = read(schema, given)?;
    let Arguments { limit, offset, max_tokens, .. } = arguments;
    let filters = filters(arguments)?;
    let list = engine.fresh(|ready| {
        let mut list = ready.engine.sessions(&filters, offset, limit)?;
        list.warnings.extend(ready.warnings()?);
        Ok(list)
    })?;
    within(list, Budget::of(max_tokens))
}

fn filters(arguments: Arguments) -> Result<Filters> {
    if !arguments.branches.is_empty() && arguments.workspace.is_none() {
        return Err(wrong("branches", "a branch is a name inside a workspace: give workspace as well"));
    }
    let workspace = arguments.workspace.as_deref().map(workspace_path).transpose();
    Ok(Filters {
        sources: arguments.sources,
        exclude_sources: arguments.exclude_sources,
        users: arguments.users,
        models: arguments.models,
        workspace: workspace.map_err(|why| wrong("workspace", why))?,
        branches: arguments.branches,
        since_ms: bound("since", arguments.since.as_deref())?,
        until_ms: bound("until", arguments.until.as_deref())?,
        ..Filters::default()
    })
}

fn within(mut list: SessionList, budget: Budget) -> Result<Answer> {
    if list.sessions.is_empty() {
        let message = format!("no session is there; {} pass the filters", list.total);
        list.warnings.push(Warning::new("no-match", message));
    }
    for level in LEVELS {
        let answer = write(&list, level, usize::MAX, budget)?;
        if budget.holds(&answer.text, &answer.structured) {
            return Ok(answer);
        }
    }
    let holds = |sessions: usize| {
        let answer = write(&list, LEAST, sessions, budget);
        answer.is_ok_and(|answer| budget.holds(&answer.text, &answer.structured))
    };
    match largest(list.sessions.len(), holds) {
        Some(sessions) => write(&list, LEAST, sessions, budget),
        None => write(&list, BARE, 0, budget),
    }
}

fn write(list: &SessionList, level: Level, sessions: usize, budget: Budget) -> Result<Answer> {
    let mut list = list.clone();
    let asked = list.sessions.len();
    list.sessions.truncate(sessions);
    let mut shortened = 0;
    for session in &mut list.sessions {
        shortened += usize::from(clip_names(session, level.text));
    }
    let rest = if clip_warnings(&mut list.warnings, level) { vec!["warnings"] } else { Vec::new() };
    let cut = Cut { left_out: asked - list.sessions.len(), shortened, rest };
    let mut structured = as_json(&list)?;
    structured["truncated"] = cut.structured(SESSIONS);
    Ok(Answer { text: as_text(&list, &cut, budget), structured })
}

fn as_text(list: &SessionList, cut: &Cut, budget: Budget) -> String {
    let to = list.offset + list.sessions.len();
    let mut text = match list.sessions.len() {
        0 => format!("no sessions shown of {}\n", list.total),
        _ => format!("sessions {} to {to} of {}, the latest activity first\n", list.offset + 1, list.total),
    };
    push_notes(&mut text, &list.warnings);
    cut.push(&mut text, SESSIONS, budget);
    list.sessions.iter().for_each(|session| push_session(&mut text, session));
    if to > list.offset && (to as u64) < list.total {
        text += &format!("more with offset {to}\n");
    }
    text
}
