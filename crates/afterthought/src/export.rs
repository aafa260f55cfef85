//! Walks through an archive's messages in one consistent state, for whoever takes them elsewhere. Needs no
//! index, holds one message at a time, and leaves the writing to its caller.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde::Serialize;

use crate::archive::{Archive, Signature, View};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::copies_in;
use crate::model::{Message, Origin, Session};
use crate::time::rfc3339;

/// Which messages to take; by default everything that a search can show, so also rows of `session_meta`.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Of these sessions only, by id or the beginning of one; of all if empty.
    pub sessions: Vec<String>,
    /// Of sessions from these sources only; from all if empty.
    pub sources: Vec<String>,
    /// Of these roles only; of all if empty.
    pub roles: Vec<String>,
    /// These parts of messages only, and no message that has none of them; all parts if empty.
    pub parts: Vec<Origin>,
    /// Not before, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Before, likewise.
    pub until_ms: Option<i64>,
    /// Also messages that were taken back or hidden.
    pub include_inactive: bool,
    /// Also rows that repeat a message.
    pub include_copies: bool,
}

/// A step of the walk.
#[derive(Debug)]
pub enum Step<'a> {
    /// It begins, over so many rows; again, where the archive changed meanwhile: what came before is void.
    Begin(u64),
    /// A message.
    Message(&'a Exported<'a>),
    /// A row that is not taken.
    LeftOut,
}

/// What was passed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Sessions with a message that was taken.
    pub sessions: u64,
    /// Messages that were taken.
    pub messages: u64,
    /// Rows left out for nothing else but that they were taken back or hidden,
    pub inactive: u64,
    /// or that they repeat a message.
    pub copies: u64,
    /// Messages of which only a part could be read.
    pub damaged: u64,
}

/// A message with what is known of its session; `schema/export.schema.json` states it.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "what a row says of itself, one bool each")]
pub struct Exported<'a> {
    /// Version of this shape.
    pub schema_version: u32,
    /// Its session.
    pub session: &'a ExportedSession,
    /// The message id.
    pub message_id: i64,
    /// Its place among the session's visible messages, from 0; `None` if it is none of them.
    pub index: Option<usize>,
    /// Who wrote it.
    pub role: String,
    /// When, RFC 3339 in UTC.
    pub timestamp: Option<String>,
    /// What was said, or a tool's output.
    pub content: String,
    /// What the model thought.
    pub reasoning: String,
    /// The tool that answered.
    pub tool_name: String,
    /// The tools called: name and arguments, one a line.
    pub tool_calls: String,
    /// Part of the live conversation.
    pub active: bool,
    /// Summarised away by compaction.
    pub compacted: bool,
    /// Never seen by a person.
    pub hidden: bool,
    /// Repeats another row.
    pub copy: bool,
    /// Only a part of the row could be read.
    pub damaged: bool,
}

/// A session as its messages bring it along.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportedSession {
    /// The archive's id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Where it came from.
    pub source: String,
    /// The person it belongs to.
    pub user: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The session it continues, branched from, or was delegated by.
    pub parent_id: Option<String>,
    /// Working folder.
    pub cwd: Option<String>,
    /// Root of the git checkout.
    pub git_root: Option<String>,
    /// Git branch.
    pub git_branch: Option<String>,
    /// When it started, RFC 3339 in UTC.
    pub started: Option<String>,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// Put away by the person.
    pub archived: bool,
}

/// Hands on every selected message, session by session in the order of their start (unknown ones last), then
/// of their ids, and inside a session by message id. All come from one state of the archive. Ends early, and
/// without an error, where `take` breaks off.
///
/// Fails if the archive cannot be read, changes faster than it can be read, or has no session of a given
/// id. Costs the selected sessions' text; memory for every session and one session's rows.
pub fn export(
    archive: &Archive,
    selection: &Selection,
    mut take: impl FnMut(Step<'_>) -> ControlFlow<()>,
) -> Result<Walked> {
    archive.read(|view| {
        let mut walked = Walked::default();
        let sessions = selected(view, selection)?;
        let rows = sessions.iter().map(|(_, rows)| rows.rows).sum();
        if take(Step::Begin(rows)).is_break() {
            return Ok(walked);
        }
        for (session, rows) in sessions {
            if walk(view, selection, &ExportedSession::of(session), &rows, &mut walked, &mut take)?.is_break()
            {
                break;
            }
        }
        Ok(walked)
    })
}

/// Returns the sessions that have rows, and pass, in order.
fn selected(view: &View<'_>, selection: &Selection) -> Result<Vec<(Session, Signature)>> {
    let mut known: HashMap<String, Session> =
        view.sessions()?.into_iter().map(|session| (session.id.clone(), session)).collect();
    let mut sessions: Vec<(Session, Signature)> = Vec::new();
    for rows in view.signatures()? {
        let session = known.remove(&rows.session_id).unwrap_or_else(|| Session {
            id: rows.session_id.clone(),
            source: "unknown".to_owned(),
            ..Session::default()
        });
        sessions.push((session, rows));
    }
    if !selection.sessions.is_empty() {
        let ids: Vec<&str> = sessions.iter().map(|(session, _)| session.id.as_str()).collect();
        let named = selection.sessions.iter().map(|asked| find(&ids, asked).map(str::to_owned));
        let named: Vec<String> = named.collect::<Result<_>>()?;
        sessions.retain(|(session, _)| named.contains(&session.id));
    }
    let sources = &selection.sources;
    sessions.retain(|(session, _)| sources.is_empty() || sources.contains(&session.source));
    sessions.sort_by(|(a, _), (b, _)| {
        let key = |session: &Session| session.started_ms.unwrap_or(i64::MAX);
        key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
    });
    Ok(sessions)
}

/// Finds the session of an id, or the only one whose id begins so.
fn find<'a>(ids: &[&'a str], asked: &str) -> Result<&'a str> {
    if let Some(found) = ids.iter().find(|id| **id == asked) {
        return Ok(found);
    }
    let alike: Vec<&str> =
        ids.iter().filter(|id| !asked.is_empty() && id.starts_with(asked)).copied().collect();
    let refused = |kind, why: String| {
        Error::new(kind, "find session", asked)
            .because(why)
            .hint("aft sessions lists the sessions and their ids")
    };
    match alike.as_slice() {
        [only] => Ok(only),
        [] => Err(refused(ErrorKind::NotFound, "no messages of a session of that id are there".to_owned())),
        more => Err(refused(ErrorKind::Usage, format!("{} sessions begin like that", more.len()))),
    }
}

/// Walks through one session.
fn walk(
    view: &View<'_>,
    selection: &Selection,
    session: &ExportedSession,
    rows: &Signature,
    walked: &mut Walked,
    take: &mut impl FnMut(Step<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let mut heads = view.heads(&rows.raw_ids)?;
    heads.sort_unstable_by_key(|head| head.id);
    let copies = copies_in(view, &heads)?;
    let (mut listed, taken_before) = (0, walked.messages);
    for head in &heads {
        let Some(message) = view.message(head.id)? else { continue };
        let copy = copies.contains(&head.id);
        let index = (message.state.visible() && !copy).then_some(listed);
        listed += usize::from(index.is_some());
        let step = match selection.of(message) {
            Some(message) if !message.state.visible() && !selection.include_inactive => {
                walked.inactive += 1;
                take(Step::LeftOut)
            }
            Some(_) if copy && !selection.include_copies => {
                walked.copies += 1;
                take(Step::LeftOut)
            }
            Some(message) => {
                walked.messages += 1;
                walked.damaged += u64::from(message.damaged);
                take(Step::Message(&Exported::of(session, message, index, copy)))
            }
            None => take(Step::LeftOut),
        };
        if step.is_break() {
            return Ok(step);
        }
    }
    walked.sessions += u64::from(walked.messages > taken_before);
    Ok(ControlFlow::Continue(()))
}

impl Selection {
    /// Returns a message with the parts that are asked for; `None` if it does not pass or has none of them.
    fn of(&self, mut message: Message) -> Option<Message> {
        let passes_role = self.roles.is_empty() || self.roles.contains(&message.role);
        // A message of unknown time is in no span of time.
        let time = message.timestamp_ms;
        let passes_time = self.since_ms.is_none_or(|since| time.is_some_and(|time| time >= since))
            && self.until_ms.is_none_or(|until| time.is_some_and(|time| time < until));
        if !passes_role || !passes_time {
            return None;
        }
        if self.parts.is_empty() {
            return Some(message);
        }
        let has = |origin| self.parts.contains(&origin);
        let output = if message.role == "tool" { Origin::Saw } else { Origin::Said };
        if !has(output) {
            message.content.clear();
        }
        if !has(Origin::Thought) {
            message.reasoning.clear();
        }
        if !has(Origin::Did) {
            message.tool_calls.clear();
        }
        let is_empty =
            message.content.is_empty() && message.reasoning.is_empty() && message.tool_calls.is_empty();
        (!is_empty).then_some(message)
    }
}

impl<'a> Exported<'a> {
    fn of(session: &'a ExportedSession, message: Message, index: Option<usize>, copy: bool) -> Self {
        Self {
            schema_version: 1,
            session,
            message_id: message.id,
            index,
            role: message.role,
            timestamp: message.timestamp_ms.and_then(rfc3339),
            content: message.content,
            reasoning: message.reasoning,
            tool_name: message.tool_name,
            tool_calls: message.tool_calls,
            active: message.state.active,
            compacted: message.state.compacted,
            hidden: message.state.hidden,
            copy,
            damaged: message.damaged,
        }
    }
}

impl ExportedSession {
    fn of(session: Session) -> Self {
        Self {
            id: session.id,
            title: session.title,
            source: session.source,
            user: session.user,
            model: session.model,
            parent_id: session.parent_id,
            cwd: session.cwd,
            git_root: session.git_root,
            git_branch: session.git_branch,
            started: session.started_ms.and_then(rfc3339),
            end_reason: session.end_reason,
            archived: session.archived,
        }
    }
}
