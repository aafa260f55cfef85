//! Browse: the sessions of people, the latest activity first. A chain of compressions is one
//! conversation, shown as its last link.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use afterthought::archive::StoredSession;
use serde_json::{Value, json};

use crate::limits::{CHAIN_MAX, PREVIEW_CHARS_MAX};
use crate::message::{name, short};
use crate::profiles::Profile;
use crate::sight::{COMPRESSION, HIDDEN_SOURCES, Sight};
use crate::{Asker, Refusal, message};

/// A session and when its last message was written.
type Row = (StoredSession, Value);

/// Answers a browse.
pub(crate) fn browse(profile: &Profile, asker: Asker<'_>, limit: usize) -> Result<Value, Refusal> {
    let results = profile.read(asker.user, |sight| {
        let current_root = asker.current.map(|current| sight.root(current)).transpose()?;
        let sessions = sight.sessions()?;
        let known = Known::of(&sessions);
        let mut listed: Vec<(Value, &Row)> = Vec::new();
        for row in sessions.iter().filter(|(session, _)| is_listed(session)) {
            let is_current = current_root.as_ref() == Some(&row.0.id);
            if !is_current {
                listed.push((known.last_active_of_chain(row), row));
            }
        }
        listed.sort_by(|(a_last, (a, _)), (b_last, (b, _))| {
            order(b_last, a_last).then_with(|| order(&b.started, &a.started)).then_with(|| b.id.cmp(&a.id))
        });
        let mut results = Vec::new();
        for (_, row) in listed.into_iter().take(limit) {
            results.push(entry(sight, row, known.tip(row))?);
        }
        Ok(results)
    })?;
    let count = results.len();
    let message = format!(
        "{count} sessions, the latest activity first. query searches all of them; session_id reads one"
    );
    Ok(json!({"success": true, "mode": "browse", "results": results, "count": count, "message": message}))
}

fn entry(sight: &Sight<'_>, root: &Row, tip: &Row) -> afterthought::Result<Value> {
    let (session, last_active) = tip;
    let last_active = if last_active.is_null() { &session.started } else { last_active };
    let title = session.title.as_deref().filter(|title| !title.is_empty());
    Ok(json!({
        "session_id": message::session_id(&session.id),
        "title": title.map(name),
        "source": root.0.source.as_deref().map(name),
        "started_at": short(&root.0.started),
        "last_active": short(last_active),
        "message_count": session.message_count,
        "preview": preview(sight, &session.id)?,
    }))
}

/// Returns the beginning of the first thing a person said.
fn preview(sight: &Sight<'_>, session_id: &str) -> afterthought::Result<String> {
    let rows = sight.visible(session_id)?;
    let Some(first) = rows.iter().find(|row| row.role == "user" && row.says) else {
        return Ok(String::new());
    };
    let messages = sight.messages(std::slice::from_ref(first))?;
    let text = messages.first().map(|message| message.readable()).unwrap_or_default();
    // Three more than are shown, so that what ends there is not said to go on.
    let line: String =
        text.chars().take(PREVIEW_CHARS_MAX + 3).map(|c| if "\r\n".contains(c) { ' ' } else { c }).collect();
    let line = line.trim();
    Ok(match line.char_indices().nth(PREVIEW_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    })
}

/// Tells whether a session begins a conversation of a person's that was not put away.
fn is_listed(session: &StoredSession) -> bool {
    let is_hidden = session.source.as_deref().is_none_or(|source| HIDDEN_SOURCES.contains(&source));
    session.parent_id.is_none() && !session.delegated && !is_hidden && !session.archived
}

/// Sessions by their parents.
struct Known<'a> {
    children: HashMap<&'a str, Vec<&'a Row>>,
}

impl<'a> Known<'a> {
    fn of(sessions: &'a [Row]) -> Self {
        let mut children: HashMap<&str, Vec<&Row>> = HashMap::new();
        for row in sessions {
            if let Some(parent) = &row.0.parent_id {
                children.entry(parent).or_default().push(row);
            }
        }
        Self { children }
    }

    /// Returns the sessions that go on with one that was compressed.
    fn continuations(&self, row: &Row) -> impl Iterator<Item = &'a Row> {
        let is_compressed = row.0.end_reason.as_deref() == Some(COMPRESSION);
        let children = self.children.get(row.0.id.as_str()).filter(|_| is_compressed);
        let goes_on =
            |row: &&&Row| !row.0.branched && !row.0.delegated && row.0.source.as_deref() != Some("tool");
        children.into_iter().flatten().filter(goes_on).copied()
    }

    fn last_active_of_chain(&self, root: &'a Row) -> Value {
        let (mut open, mut seen, mut last) = (vec![root], HashSet::new(), Value::Null);
        while let Some(row) = open.pop() {
            if seen.insert(&row.0.id) {
                let own = if row.1.is_null() { &row.0.started } else { &row.1 };
                if order(own, &last) == Ordering::Greater {
                    last = own.clone();
                }
                open.extend(self.continuations(row));
            }
        }
        last
    }

    /// Follows a chain to its last link: by those that went on again, then by those that have not ended,
    /// then by the latest activity.
    fn tip(&self, root: &'a Row) -> &'a Row {
        let (mut at, mut seen) = (root, HashSet::from([&root.0.id]));
        while seen.len() <= CHAIN_MAX {
            let rank = |row: &Row| match &row.0.end_reason {
                Some(reason) if reason == COMPRESSION => 0,
                _ if row.0.ended.is_null() => 1,
                _ => 2,
            };
            let last = |row: &'a Row| if row.1.is_null() { &row.0.started } else { &row.1 };
            let better = |a: &&'a Row, b: &&'a Row| {
                rank(a)
                    .cmp(&rank(b))
                    .then_with(|| order(last(b), last(a)))
                    .then_with(|| order(&b.0.started, &a.0.started))
                    .then_with(|| b.0.id.cmp(&a.0.id))
            };
            match self.continuations(at).min_by(better) {
                Some(next) if seen.insert(&next.0.id) => at = next,
                _ => break,
            }
        }
        at
    }
}

/// Orders stored values as SQLite does: nothing, numbers, text.
fn order(a: &Value, b: &Value) -> Ordering {
    let class = |value: &Value| match value {
        Value::Null => 0,
        Value::Number(_) => 1,
        _ => 2,
    };
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Value::String(a), Value::String(b)) => a.cmp(b),
        _ => class(a).cmp(&class(b)),
    }
}
