//! `aft session` and `aft sessions`: a conversation, and the list of them.

use std::time::Duration;

use afterthought::Warning;
use afterthought::{ContextQuery, Engine, Filters, Opening, SessionHits, SessionList, SessionView};

use crate::args::{Global, Session, Sessions};
use crate::fail::Failure;
use crate::paint::{BOLD, DIM, color, local_time, marked, printable, push_facts, push_lines, styled, width};
use crate::paths;
use crate::search::{bound, freshen, print_warnings, workspace};
use crate::show::push_message;
use crate::stdout::{grouped, print_json, print_text};

/// How long a list waits for an index that is not up to date.
const WAIT: Duration = Duration::from_secs(10);

/// Opens the engine and brings it up to date; tells what kept it from that.
fn open(global: &Global, no_sync: bool) -> Result<(Engine, Vec<Warning>), Failure> {
    let mut options = paths::options(global)?;
    if no_sync {
        options.index = Opening::Existing;
    }
    let engine = Engine::open(&options)?;
    let warning = if no_sync { None } else { freshen(&engine, WAIT)? };
    Ok((engine, warning.into_iter().collect()))
}

pub(crate) fn one(global: &Global, args: &Session) -> Result<u8, Failure> {
    let (engine, mut warnings) = open(global, args.no_sync)?;
    if let Some(query) = &args.search {
        let query = ContextQuery {
            query: query.clone(),
            roles: args.role.clone(),
            offset: args.offset,
            limit: args.limit,
        };
        let mut found = engine.session_hits(&args.id, &query)?;
        found.page.warnings.extend(warnings);
        return show_hits(global, &found);
    }
    let mut shown = engine.session_messages(&args.id, &args.role, args.slice.unwrap_or_default())?;
    warnings.append(&mut shown.warnings);
    shown.warnings = warnings;
    if global.json {
        print_json(&shown)?;
        return Ok(0);
    }
    let mut text = String::new();
    push_session(&mut text, &shown.session);
    for message in &shown.messages {
        push_message(&mut text, message, false);
    }
    print_text(&text)?;
    print_warnings(&shown.warnings);
    Ok(0)
}

fn show_hits(global: &Global, found: &SessionHits) -> Result<u8, Failure> {
    if global.json {
        print_json(found)?;
        return Ok(0);
    }
    let SessionHits { page, session, .. } = found;
    let mut text = String::new();
    push_session(&mut text, session);
    for hit in &page.results {
        let head = format!(
            "\n{} {} {}",
            styled(hit.origin.name(), color(hit.origin)),
            hit.role,
            styled(
                &format!("{}  [{}] #{}", local_time(hit.timestamp.as_deref()), hit.index, hit.message_id),
                DIM
            )
        );
        text += &format!("{head}\n");
        push_lines(&mut text, &marked(&hit.snippet, &hit.highlights), "    ", width());
    }
    print_text(&text)?;
    print_warnings(&page.warnings);
    let line = format!("{} of {} hits in this session", page.results.len(), grouped(page.total));
    tell!("{}", styled(&line, DIM));
    Ok(0)
}

/// Appends the head of a session.
pub(crate) fn push_session(text: &mut String, session: &SessionView) {
    let title = session.title.as_deref().unwrap_or("(no title)");
    push_lines(text, &styled(&printable(title), BOLD), "", width());
    let count = format!("{} messages", grouped(session.messages));
    let started = local_time(session.started.as_deref());
    let mut facts = vec![session.id.as_str(), &session.source, &count, &started];
    facts.extend([session.cwd.as_deref(), session.git_branch.as_deref()].into_iter().flatten());
    push_facts(text, &styled(&printable(&facts.join(" · ")), DIM), "", width());
}

pub(crate) fn list(global: &Global, args: &Sessions) -> Result<u8, Failure> {
    let filters = Filters {
        users: args.user.clone(),
        models: args.model.clone(),
        branches: args.branch.clone(),
        sources: args.source.clone(),
        exclude_sources: args.exclude_source.clone(),
        workspace: workspace(args.workspace.as_deref())?,
        since_ms: bound("--since", args.since.as_deref())?,
        until_ms: bound("--until", args.until.as_deref())?,
        ..Filters::default()
    };
    let (engine, mut warnings) = open(global, args.no_sync)?;
    let mut list = engine.sessions(&filters, args.offset, args.limit)?;
    warnings.append(&mut list.warnings);
    let list = SessionList { warnings, ..list }.telling_if_empty();
    if global.json {
        print_json(&list)?;
        return Ok(0);
    }
    print_text(&as_text(&list))?;
    print_warnings(&list.warnings);
    let shown_to = args.offset + list.sessions.len();
    let mut line = format!("{} of {} sessions", list.sessions.len(), grouped(list.total));
    if (shown_to as u64) < list.total && !list.sessions.is_empty() {
        line += &format!("; more with --offset {shown_to}");
    }
    tell!("{}", styled(&line, DIM));
    Ok(0)
}

fn as_text(list: &SessionList) -> String {
    let mut text = String::new();
    for session in &list.sessions {
        let title = session.title.as_deref().unwrap_or("(no title)");
        let facts = format!("{:>5} messages  {}  {}", grouped(session.messages), session.source, session.id);
        let when = local_time(session.last_activity.as_deref());
        push_lines(&mut text, &format!("{when}  {}", styled(&printable(title), BOLD)), "", width());
        push_facts(&mut text, &styled(&printable(&facts), DIM), "    ", width());
    }
    text
}
