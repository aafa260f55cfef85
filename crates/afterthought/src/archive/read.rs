//! The questions we ask an archive, each one statement. Bad values are read lossily and marked,
//! never an error: an archive is written by many versions and many tools.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::limits::{FIELD_TEXT_BYTES_MAX, SESSION_ID_BYTES_MAX};
use crate::model::{Message, RowState, Session};
use crate::time::iso_ms;

use super::columns::Columns;
use super::decode::{self, ReasoningColumns};
use super::open::unread;

/// One consistent state of an archive.
pub struct View<'a> {
    pub(super) connection: &'a Connection,
    pub(super) columns: &'a Columns,
    path: &'a Path,
}

/// A session id as it is stored. Ids are text, but nothing stops a tool from storing a BLOB, a
/// number, or text that is cut in the middle of a character.
#[derive(Clone, Debug, PartialEq)]
pub enum RawId {
    /// Text, whether or not it can be read whole.
    Text(Vec<u8>),
    /// Anything else.
    Other(Value),
}

impl RawId {
    fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Text(bytes) => Self::Text(bytes.to_vec()),
            ValueRef::Null => Self::Other(Value::Null),
            ValueRef::Integer(number) => Self::Other(Value::Integer(number)),
            ValueRef::Real(number) => Self::Other(Value::Real(number)),
            ValueRef::Blob(bytes) => Self::Other(Value::Blob(bytes.to_vec())),
        }
    }
}

impl ToSql for RawId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Text(bytes) => ToSqlOutput::Borrowed(ValueRef::Text(bytes)),
            Self::Other(value) => ToSqlOutput::Borrowed(value.into()),
        })
    }
}

/// What tells two states of one session's rows apart, at the cost of a covering index.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The session, as far as its id can be read.
    pub session_id: String,
    /// The stored ids that read like that: one, unless ids are damaged.
    pub raw_ids: Vec<RawId>,
    /// How many rows it has.
    pub rows: u64,
    /// The highest message id.
    pub id_max: i64,
    /// The sum of [`super::signature_term`] over its rows.
    pub sum: i64,
}

/// The head of one row, without its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowHead {
    /// The message id.
    pub id: i64,
    /// Part of the live conversation.
    pub active: bool,
    /// The stored time as bits, for equality only; `None` where it is no number.
    pub time_bits: Option<u64>,
}

impl<'a> View<'a> {
    pub(super) fn within<T>(
        connection: &'a Connection,
        columns: &'a Columns,
        path: &'a Path,
        read: &mut impl FnMut(&Self) -> Result<T>,
    ) -> Result<T> {
        let view = Self { connection, columns, path };
        let transaction = connection.unchecked_transaction().map_err(|error| view.failed(error))?;
        let result = read(&view);
        transaction.finish().map_err(|error| view.failed(error))?;
        result
    }

    /// Returns the signature of every session that has rows. One pass over a covering index.
    pub fn signatures(&self) -> Result<Vec<Signature>> {
        let stored = self.all(&self.columns.signatures, [], |row| {
            Ok(Signature {
                session_id: readable_id(row.get_ref(0)?),
                raw_ids: vec![RawId::of(row.get_ref(0)?)],
                rows: row.get::<_, i64>(1)?.unsigned_abs(),
                id_max: row.get(2)?,
                sum: row.get(3)?,
            })
        })?;
        let mut by_id: HashMap<String, Signature> = HashMap::with_capacity(stored.len());
        for signature in stored {
            match by_id.entry(signature.session_id.clone()) {
                Entry::Vacant(place) => {
                    place.insert(signature);
                }
                Entry::Occupied(mut place) => place.get_mut().merge(signature),
            }
        }
        Ok(by_id.into_values().collect())
    }

    /// Returns every session row's light columns.
    pub fn sessions(&self) -> Result<Vec<Session>> {
        let mut sessions = self.all(&self.columns.sessions, [], session)?;
        // Of rows whose ids read alike, the first of the table stands.
        let mut seen = HashSet::with_capacity(sessions.len());
        sessions.retain(|session| seen.insert(session.id.clone()));
        Ok(sessions)
    }

    /// Returns the heads of one session's rows, by its stored ids. Reads no text.
    pub fn heads(&self, raw_ids: &[RawId]) -> Result<Vec<RowHead>> {
        let mut heads = Vec::new();
        for raw_id in raw_ids {
            heads.extend(self.heads_of(raw_id)?);
        }
        Ok(heads)
    }

    fn heads_of(&self, raw_id: &RawId) -> Result<Vec<RowHead>> {
        self.all(&self.columns.heads, [raw_id], |row| {
            let time_bits = match row.get_ref(2)? {
                ValueRef::Real(seconds) => Some(seconds.to_bits()),
                #[expect(clippy::cast_precision_loss, reason = "as SQLite itself compares them")]
                ValueRef::Integer(seconds) => Some((seconds as f64).to_bits()),
                _ => None,
            };
            Ok(RowHead { id: row.get(0)?, active: row.get(1)?, time_bits })
        })
    }

    /// Returns which rows of one session are compacted and which are hidden, by id. Reads no text, and
    /// yet every row: these columns stand in no index.
    pub fn states(&self, raw_ids: &[RawId]) -> Result<Vec<(i64, bool, bool)>> {
        let mut states = Vec::new();
        for raw_id in raw_ids {
            states.extend(self.all(&self.columns.states, [raw_id], |row| {
                Ok((row.get(0)?, flag(row.get_ref(1)?, false), is_hidden(row.get_ref(2)?)))
            })?);
        }
        Ok(states)
    }

    /// Returns the ids above `id`, each with its session as it can be read and as it is stored.
    pub fn tail(&self, id: i64) -> Result<Vec<(i64, String, RawId)>> {
        self.all(&self.columns.tail, [id], |row| {
            let session_id = row.get_ref(1)?;
            Ok((row.get(0)?, readable_id(session_id), RawId::of(session_id)))
        })
    }

    /// Counts the rows above `id`. Costs a walk over that part of the key; all rows are counted by an index.
    pub fn rows_above(&self, id: i64) -> Result<u64> {
        let count = |sql: &str, parameters: &[i64]| {
            self.connection
                .prepare_cached(sql)?
                .query_row(rusqlite::params_from_iter(parameters), |row| row.get::<_, i64>(0))
        };
        // A bound on the key would have SQLite walk the table itself, ten times the bytes.
        let counted = match id {
            i64::MIN => count("SELECT count(*) FROM messages", &[]),
            id => count(&self.columns.rows_above, &[id]),
        };
        counted.map(i64::unsigned_abs).map_err(|error| self.failed(error))
    }

    /// Counts the rows above `id` in the sessions of one person. Costs a walk over that part of the key.
    pub fn rows_above_of(&self, id: i64, person: &str) -> Result<u64> {
        let count = |connection: &Connection| {
            connection
                .prepare_cached(&self.columns.rows_of_person)?
                .query_row((id, person), |row| row.get::<_, i64>(0))
        };
        count(self.connection).map(i64::unsigned_abs).map_err(|error| self.failed(error))
    }

    /// Returns one message, decoded; `None` if no row has the id.
    pub fn message(&self, id: i64) -> Result<Option<Message>> {
        let read =
            || self.connection.prepare_cached(&self.columns.message)?.query_row([id], message).optional();
        read().map_err(|error| self.failed(error))
    }

    /// Returns the name of the archive's layout: a file of `schema/layouts/`, or `hermes`.
    #[must_use]
    pub fn layout(&self) -> &str {
        &self.columns.layout
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let read = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare_cached(sql)?.query_map(parameters, row)?.collect()
        };
        read().map_err(|error| self.failed(error))
    }

    pub(super) fn failed(&self, error: rusqlite::Error) -> Error {
        unread("read archive", self.path, error)
    }
}

impl Signature {
    fn merge(&mut self, other: Self) {
        self.raw_ids.extend(other.raw_ids);
        self.rows += other.rows;
        self.id_max = self.id_max.max(other.id_max);
        self.sum += other.sum;
    }
}

fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    let optional = |column: usize| -> rusqlite::Result<Option<String>> {
        let value = text(row.get_ref(column)?);
        Ok(if value.trim().is_empty() { None } else { Some(value.into_owned()) })
    };
    Ok(Session {
        id: readable_id(row.get_ref(0)?),
        source: optional(1)?.unwrap_or_else(|| "unknown".to_owned()),
        started_ms: timestamp_ms(row.get_ref(2)?),
        // Titles are made of what was typed, and that may be a terminal's own output.
        title: optional(3)?.map(|title| decode::content(&title).text),
        user: optional(4)?,
        model: optional(5)?,
        parent_id: optional(6)?,
        cwd: optional(7)?,
        git_root: optional(8)?,
        git_branch: optional(9)?,
        archived: matches!(row.get_ref(10)?, ValueRef::Integer(flag) if flag != 0),
        end_reason: optional(11)?,
        orphan: false,
    })
}

/// Decodes one row of `Columns::message`, column by column in its order.
fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let mut damaged = false;
    let mut column = |at: usize| -> rusqlite::Result<Cow<'_, str>> {
        let value = row.get_ref(at)?;
        damaged |= is_damaged(value);
        Ok(bounded(text(value)))
    };
    let mut said = decode::content(&column(3)?);
    let calls = decode::tool_calls(&column(5)?);
    let columns = ReasoningColumns {
        reasoning: column(7)?,
        content: column(8)?,
        details: column(9)?,
        codex_items: column(10)?,
    };
    let thoughts = decode::reasoning(&columns, &said.thoughts);
    let mut output_damaged = false;
    if said.text.is_empty() {
        let output = decode::output_items(&column(11)?);
        (said.text, output_damaged) = (output.text, output.damaged);
    }
    let (session_id, role) = (readable_id(row.get_ref(1)?), column(2)?.into_owned());
    let id_damaged = is_damaged(row.get_ref(1)?) || text(row.get_ref(1)?) != session_id.as_str();
    let tool_name = column(6)?.into_owned();
    let mut tools = calls.names;
    if !tool_name.is_empty() && !tools.contains(&tool_name) {
        tools.push(tool_name.clone());
    }
    let timestamp_ms = timestamp_ms(row.get_ref(4)?);
    Ok(Message {
        id: row.get(0)?,
        session_id,
        role,
        content: said.text,
        reasoning: thoughts.text,
        tool_name,
        tool_calls: calls.text,
        tools,
        timestamp_ms,
        state: RowState {
            active: flag(row.get_ref(12)?, true),
            compacted: flag(row.get_ref(13)?, false),
            hidden: is_hidden(row.get_ref(14)?),
        },
        damaged: damaged
            || id_damaged
            || said.damaged
            || calls.damaged
            || thoughts.damaged
            || output_damaged
            || timestamp_ms.is_none(),
    })
}

pub(super) fn flag(value: ValueRef<'_>, absent: bool) -> bool {
    match value {
        ValueRef::Integer(flag) => flag != 0,
        ValueRef::Real(flag) => flag != 0.0,
        _ => absent,
    }
}

pub(super) fn is_hidden(display_kind: ValueRef<'_>) -> bool {
    text(display_kind) == "hidden"
}

/// Reads a session id. One too long to be a term is cut, and told apart by its hash.
pub(super) fn readable_id(value: ValueRef<'_>) -> String {
    let id = text(value);
    if id.len() <= SESSION_ID_BYTES_MAX {
        return id.into_owned();
    }
    let cut = &id[..id.floor_char_boundary(SESSION_ID_BYTES_MAX)];
    format!("{cut}…{:016x}", xxh3_64(id.as_bytes()))
}

/// Reads any SQLite value as text, as far as it is text.
pub(super) fn text(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => Cow::Borrowed(""),
        ValueRef::Integer(number) => Cow::Owned(number.to_string()),
        ValueRef::Real(number) => Cow::Owned(number.to_string()),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes),
        // Text that some tool stored as a BLOB is still text; anything else is not.
        ValueRef::Blob(bytes) => std::str::from_utf8(bytes).map_or(Cow::Borrowed(""), Cow::Borrowed),
    }
}

fn is_damaged(value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).is_err(),
        ValueRef::Blob(_) => true,
        _ => false,
    }
}

fn bounded(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= FIELD_TEXT_BYTES_MAX {
        return text;
    }
    let end = text.floor_char_boundary(FIELD_TEXT_BYTES_MAX);
    Cow::Owned(text[..end].to_owned())
}

/// Times that can be real: after 1970, before 2100, in seconds.
const SECONDS_MAX: f64 = 4_102_444_800.0;

/// Reads a stored time: seconds as a number or as text, or an ISO 8601 date, UTC where no zone
/// is given. Anything else is unknown.
fn timestamp_ms(value: ValueRef<'_>) -> Option<i64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "seconds up to 2100 are exact")]
        ValueRef::Integer(seconds) => seconds_ms(seconds as f64),
        ValueRef::Real(seconds) => seconds_ms(seconds),
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes).ok()?.trim();
            match text.parse::<f64>() {
                Ok(seconds) => seconds_ms(seconds),
                Err(_) => iso_ms(text),
            }
        }
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "bounded just before")]
fn seconds_ms(seconds: f64) -> Option<i64> {
    (seconds > 0.0 && seconds < SECONDS_MAX).then(|| (seconds * 1_000.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form_and_garbage_is_unknown() {
        let iso = |text: &'static str| timestamp_ms(ValueRef::Text(text.as_bytes()));
        assert_eq!(timestamp_ms(ValueRef::Real(1_760_000_000.25)), Some(1_760_000_000_250));
        assert_eq!(iso("2026-04-09T12:00:00"), Some(1_775_736_000_000));
        assert_eq!(iso("2026-04-09T14:00:00+02:00"), Some(1_775_736_000_000));
        assert_eq!(iso("2026-04-09 12:00:00.5"), Some(1_775_736_000_500));
        assert_eq!(iso("1760000000.25"), Some(1_760_000_000_250));
        for garbage in [f64::NAN, f64::INFINITY, -5.0, 1e300, 0.0] {
            assert_eq!(timestamp_ms(ValueRef::Real(garbage)), None);
        }
        assert_eq!(iso("yesterday"), None);
    }
}
