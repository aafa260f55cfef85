//! Rows and sessions as they are stored, for a door that hands them on as the agent itself would:
//! values stay what they are. Searches nothing and hides nothing: what may be shown is its caller's to say.

use std::borrow::Cow;

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row};
use serde_json::{Number, Value};

use crate::error::Result;
use crate::model::RowState;

use super::decode;
use super::read::{View, flag, is_hidden, readable_id, text};

/// A message as its row holds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredMessage {
    /// The row's id.
    pub id: i64,
    /// Its session.
    pub session_id: String,
    /// Who wrote it.
    pub role: String,
    /// Text, or the list of parts that the agent encoded as JSON, or null.
    pub content: Value,
    /// A number, or whatever else stands there.
    pub timestamp: Value,
    /// The tool that answered.
    pub tool_name: Option<String>,
    /// The calls, decoded; an empty list where they are broken JSON; null where there are none.
    pub tool_calls: Value,
    /// The call that is answered.
    pub tool_call_id: Option<String>,
    /// Whether the row is live, compacted, hidden.
    pub state: RowState,
}

impl StoredMessage {
    /// Returns the content as a person could read it: a list as the text of its parts, payloads as
    /// placeholders, without a terminal's control sequences.
    #[must_use]
    pub fn readable(&self) -> Cow<'_, str> {
        match &self.content {
            Value::Null => Cow::Borrowed(""),
            Value::String(text) => decode::readable(text),
            parts => Cow::Owned(decode::parts(parts)),
        }
    }
}

/// What is known of a row without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct RowOutline {
    /// The row's id.
    pub id: i64,
    /// Who wrote it.
    pub role: String,
    /// Whether the row is live, compacted, hidden.
    pub state: RowState,
    /// It has content.
    pub says: bool,
}

/// A session as its row holds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredSession {
    /// Its id.
    pub id: String,
    /// Where it came from.
    pub source: Option<String>,
    /// The person it belongs to.
    pub user: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The session it continues, branched from or was delegated by.
    pub parent_id: Option<String>,
    /// When it started: a number, or whatever else stands there.
    pub started: Value,
    /// When it ended, likewise.
    pub ended: Value,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// Put away by the person.
    pub archived: bool,
    /// Its messages as the agent counts them.
    pub message_count: i64,
    /// It began as a copy of another session's messages.
    pub branched: bool,
    /// Another session had it done.
    pub delegated: bool,
}

impl View<'_> {
    /// Returns one row as it is stored; `None` if no row has the id.
    pub fn stored_message(&self, id: i64) -> Result<Option<StoredMessage>> {
        let sql = &self.columns.stored_message;
        let read = || self.connection.prepare_cached(sql)?.query_row([id], stored_message).optional();
        read().map_err(|error| self.failed(error))
    }

    /// Returns the outlines of a session's rows by id, taken-back ones too. Reads no text.
    pub fn outline(&self, session_id: &str) -> Result<Vec<RowOutline>> {
        self.all(&self.columns.outline, [session_id], |row| {
            Ok(RowOutline {
                id: row.get(0)?,
                role: text(row.get_ref(1)?).into_owned(),
                state: state(row, 2)?,
                says: row.get::<_, Option<i64>>(5)?.unwrap_or(0) > 0,
            })
        })
    }

    /// Returns a session as it is stored; `None` if no row has the id.
    pub fn stored_session(&self, id: &str) -> Result<Option<StoredSession>> {
        let sql = format!("SELECT {} FROM sessions WHERE id = ?1", self.columns.stored_session);
        Ok(self.all(&sql, [id], stored_session)?.into_iter().next())
    }

    /// Returns the sessions whose parent this is.
    pub fn stored_children(&self, id: &str) -> Result<Vec<StoredSession>> {
        let sql =
            format!("SELECT {} FROM sessions WHERE parent_session_id = ?1", self.columns.stored_session);
        if self.columns.has_parents { self.all(&sql, [id], stored_session) } else { Ok(Vec::new()) }
    }

    /// Returns the sessions of a title that the agent numbered on (`title #2`), the latest start first,
    /// then the one of the title itself.
    pub fn stored_titled(&self, title: &str) -> Result<Vec<StoredSession>> {
        if !self.columns.has_titles {
            return Ok(Vec::new());
        }
        let pattern = format!("{} #%", title.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        let sessions = format!("SELECT {} FROM sessions", self.columns.stored_session);
        let numbered = format!("{sessions} WHERE title LIKE ?1 ESCAPE '\\' ORDER BY started_at DESC");
        let mut found = self.all(&numbered, [pattern.as_str()], stored_session)?;
        found.extend(self.all(&format!("{sessions} WHERE title = ?1"), [title], stored_session)?);
        Ok(found)
    }

    /// Returns every session, each with the time of its last message as it is stored; null where it has
    /// none. One step into an index for each.
    pub fn stored_sessions(&self) -> Result<Vec<(StoredSession, Value)>> {
        let last = "(SELECT max(timestamp) FROM messages WHERE messages.session_id = sessions.id)";
        let sql = format!("SELECT {}, {last} FROM sessions", self.columns.stored_session);
        self.all(&sql, [], |row| Ok((stored_session(row)?, value(row.get_ref(STORED_SESSION_COLUMNS)?))))
    }
}

/// How many columns the statement for sessions has.
const STORED_SESSION_COLUMNS: usize = 12;

fn stored_session(row: &Row<'_>) -> rusqlite::Result<StoredSession> {
    let optional = |column: usize| -> rusqlite::Result<Option<String>> {
        Ok(match row.get_ref(column)? {
            ValueRef::Null => None,
            value => Some(text(value).into_owned()),
        })
    };
    // Broken JSON says nothing.
    let config: Value = serde_json::from_str(&text(row.get_ref(11)?)).unwrap_or_default();
    let marked = |mark: &str| config.get(mark).is_some_and(|value| !value.is_null());
    Ok(StoredSession {
        id: readable_id(row.get_ref(0)?),
        source: optional(1)?,
        started: value(row.get_ref(2)?),
        title: optional(3)?,
        user: optional(4)?,
        model: optional(5)?,
        parent_id: optional(6)?.filter(|parent| !parent.is_empty()),
        archived: flag(row.get_ref(7)?, false),
        end_reason: optional(8)?,
        ended: value(row.get_ref(9)?),
        message_count: row.get::<_, Option<i64>>(10).unwrap_or_default().unwrap_or(0),
        branched: marked("_branched_from"),
        delegated: marked("_delegate_from"),
    })
}

fn stored_message(row: &Row<'_>) -> rusqlite::Result<StoredMessage> {
    let optional = |column: usize| -> rusqlite::Result<Option<String>> {
        Ok(Some(text(row.get_ref(column)?).into_owned()).filter(|text| !text.is_empty()))
    };
    let calls = match row.get_ref(6)? {
        ValueRef::Null => Value::Null,
        stored => match &*text(stored) {
            "" => Value::Null,
            json => decode::parse(json).unwrap_or_else(|| Value::Array(Vec::new())),
        },
    };
    let content = match row.get_ref(3)? {
        ValueRef::Null => Value::Null,
        stored => decode::stored_content(&text(stored)),
    };
    Ok(StoredMessage {
        id: row.get(0)?,
        session_id: readable_id(row.get_ref(1)?),
        role: text(row.get_ref(2)?).into_owned(),
        content,
        timestamp: value(row.get_ref(4)?),
        tool_name: optional(5)?,
        tool_calls: calls,
        tool_call_id: optional(7)?,
        state: state(row, 8)?,
    })
}

/// Reads `active`, `compacted` and `display_kind`, which stand side by side from `at` on.
fn state(row: &Row<'_>, at: usize) -> rusqlite::Result<RowState> {
    Ok(RowState {
        active: flag(row.get_ref(at)?, true),
        compacted: flag(row.get_ref(at + 1)?, false),
        hidden: is_hidden(row.get_ref(at + 2)?),
    })
}

fn value(stored: ValueRef<'_>) -> Value {
    match stored {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        ValueRef::Text(_) | ValueRef::Blob(_) => Value::String(text(stored).into_owned()),
    }
}
