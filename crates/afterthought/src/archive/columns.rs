//! Which of the columns we read does this archive have? Archives of every version are read by
//! the columns that exist, never by their version number: files lag and lead it.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::Connection;

use crate::error::{Error, ErrorKind, Result};

use super::layout::{self, HERMES, Layout, Mapping, Refusal};
use super::open::unread;

/// Columns of `messages` that we read where they exist.
pub(super) const MESSAGE_OPTIONAL: [&str; 10] = [
    "tool_calls",
    "tool_name",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
    "active",
    "compacted",
    "display_kind",
];
pub(super) const MESSAGE_REQUIRED: [&str; 5] = ["id", "session_id", "role", "content", "timestamp"];
/// Columns of `messages` that are only handed on, where they exist.
pub(super) const MESSAGE_STORED: [&str; 1] = ["tool_call_id"];
pub(super) const SESSION_REQUIRED: [&str; 3] = ["id", "source", "started_at"];

/// The columns of one archive, turned into the statements that read it.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// One message by id, every column in the fixed order of `read`.
    pub(super) message: String,
    /// The heads of one session's rows, from a covering index where there is one.
    pub(super) heads: String,
    /// What hides the rows of one session and is in no index.
    pub(super) states: String,
    /// Count, highest id and mixed sum of every session.
    pub(super) signatures: String,
    /// The light columns of every session.
    pub(super) sessions: String,
    /// How many rows above an id are of one person's sessions.
    pub(super) rows_of_person: String,
    /// One message by id as it is stored, every column in the fixed order of `stored`.
    pub(super) stored_message: String,
    /// One session's rows by id, without their text.
    pub(super) outline: String,
    /// What is read of a session as it is stored, in the fixed order of `stored`.
    pub(super) stored_session: String,
    /// Sessions may have parents,
    pub(super) has_parents: bool,
    /// and titles.
    pub(super) has_titles: bool,
    /// A name for `messages` in which no column is missing; stands before a `SELECT`.
    pub(super) complete_tables: String,
    /// The condition on a row of `messages` that a search shows it.
    pub(super) visible: String,
    /// The ids above an id, each with its session.
    pub(super) tail: String,
    /// How many rows are above an id.
    pub(super) rows_above: String,
    /// The name of the layout,
    pub(super) layout: String,
    /// and what makes its views; empty where the file's own tables are read.
    pub(super) views: Vec<String>,
}

/// Where the tables are that statements read.
struct Tables {
    layout: String,
    schema: &'static str,
    views: Vec<String>,
    /// How many message ids a row of the file has; `None` where a message is a row.
    stride: Option<i64>,
}

impl Tables {
    /// The condition that rows of the file are those of an id: SQLite knows no index for an id that is
    /// computed.
    fn rows_at(&self) -> String {
        self.stride.map_or_else(String::new, |stride| {
            // Division rounds towards zero, so that a negative id may be of the row before.
            format!(" AND source_row BETWEEN ?1 / {stride} - (?1 < 0) AND ?1 / {stride}")
        })
    }

    /// The same for all ids from one on.
    fn rows_from(&self) -> String {
        self.stride.map_or_else(String::new, |stride| format!(" AND source_row >= ?1 / {stride} - (?1 < 0)"))
    }
}

impl Columns {
    /// Reads the archive's layout, unless one is given, and makes its views on the connection. Fails if it is
    /// of none, or not of the one that is given.
    pub(super) fn of(connection: &Connection, path: &Path, given: Option<&Layout>) -> Result<Self> {
        let read = |error: rusqlite::Error| unread("read archive", path, error);
        if let Some(Layout(layout)) = given {
            return match layout.lacks(connection).map_err(read)? {
                None => Self::of_layout(connection, path, layout),
                Some(what) => Err(unmapped(path, layout, &format!("it needs {what}"))),
            };
        }
        let hermes = Tables { layout: HERMES.to_owned(), schema: "main", views: Vec::new(), stride: None };
        let refused = match Self::of_tables(connection, path, hermes) {
            Err(error) if error.kind() == ErrorKind::ArchiveUnrecognized => error,
            other => return other,
        };
        match layout::find(connection).map_err(read)? {
            Ok(layout) => Self::of_layout(connection, path, layout),
            Err(lacking) => Err(refused.hint(format!(
                "give the path of an agent's state.db with --archive, or map the tables of this one with \
                 --layout, or give another archive of a known layout: {}",
                lacking.join("; ")
            ))),
        }
    }

    fn of_layout(connection: &Connection, path: &Path, layout: &Mapping) -> Result<Self> {
        let views = layout.views(connection).map_err(|refusal| match refusal {
            Refusal::Sqlite(error) => unread("read archive", path, error),
            Refusal::Layout(why) => unmapped(path, layout, &why),
        })?;
        layout::lay(connection, &views).map_err(|error| unmapped(path, layout, &error.to_string()))?;
        let (layout, stride) = (layout.name.clone(), Some(*layout.stride.get_ref()));
        Self::of_tables(connection, path, Tables { layout, schema: "temp", views: views.into(), stride })
    }

    fn of_tables(connection: &Connection, path: &Path, tables: Tables) -> Result<Self> {
        let messages = table(connection, tables.schema, "messages", &MESSAGE_REQUIRED, path)?;
        let sessions = table(connection, tables.schema, "sessions", &SESSION_REQUIRED, path)?;
        Ok(Self::statements(&messages, &sessions, tables))
    }

    fn statements(messages: &HashSet<String>, sessions: &HashSet<String>, tables: Tables) -> Self {
        let (rows_at, rows_from, schema) = (tables.rows_at(), tables.rows_from(), tables.schema);
        let or = |columns: &HashSet<String>, name: &str, absent: &str| {
            if columns.contains(name) { format!("\"{name}\"") } else { absent.to_owned() }
        };
        let optional: Vec<_> = MESSAGE_OPTIONAL.iter().map(|name| or(messages, name, "NULL")).collect();
        // The agent's own repair turns a NULL into 1, so that is what it means.
        let active = if messages.contains("active") { "coalesce(active, 1)" } else { "1" };
        // A square in a prime field: equal-size swaps of `active` between rows change the sum, and
        // no product leaves 63 bits.
        let key = format!("((id % 2147483647 * 2 + ({active} <> 0)) % 2147483647)");
        let compacted = if messages.contains("compacted") { "coalesce(compacted, 0)" } else { "0" };
        let hidden = or(messages, "display_kind", "NULL");
        let complete = |columns: &HashSet<String>, names: &[&str]| {
            names
                .iter()
                .map(|name| format!("{} AS \"{name}\"", or(columns, name, "NULL")))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let marks =
            format!("{}, {}, {hidden}", or(messages, "active", "NULL"), or(messages, "compacted", "NULL"));
        let [call_id] = MESSAGE_STORED.map(|name| or(messages, name, "NULL"));
        let handed_on = ["title", "user_id", "model", "parent_session_id", "archived", "end_reason"];
        let handed_on: Vec<_> =
            handed_on.iter().chain(&SESSION_STORED).map(|name| or(sessions, name, "NULL")).collect();
        let light: Vec<_> = SESSION_LIGHT.iter().map(|name| or(sessions, name, "NULL")).collect();
        Self {
            message: format!(
                "SELECT id, session_id, role, content, timestamp, {} FROM messages WHERE id = ?1{rows_at}",
                optional.join(", ")
            ),
            heads: format!("SELECT id, {active} <> 0, timestamp FROM messages WHERE session_id IS ?1"),
            states: format!(
                "SELECT id, {}, {hidden} FROM messages WHERE session_id IS ?1",
                or(messages, "compacted", "NULL")
            ),
            signatures: format!(
                "SELECT session_id, count(*), max(id), sum({key} * {key} % 4294967291) FROM messages GROUP BY session_id"
            ),
            sessions: format!("SELECT id, source, started_at, {} FROM sessions", light.join(", ")),
            rows_of_person: format!(
                "SELECT count(*) FROM messages WHERE id > ?1{rows_from} AND session_id IN \
                 (SELECT id FROM sessions WHERE CAST({} AS TEXT) = ?2)",
                or(sessions, "user_id", "NULL")
            ),
            stored_message: format!(
                "SELECT id, session_id, role, content, timestamp, {}, {}, {call_id}, {marks} FROM messages WHERE id = ?1{rows_at}",
                or(messages, "tool_name", "NULL"),
                or(messages, "tool_calls", "NULL")
            ),
            outline: format!(
                "SELECT id, role, {marks}, octet_length(content) FROM messages WHERE session_id = ?1 ORDER BY id"
            ),
            stored_session: format!("id, source, started_at, {}", handed_on.join(", ")),
            has_parents: sessions.contains("parent_session_id"),
            has_titles: sessions.contains("title"),
            complete_tables: format!(
                "WITH messages AS (SELECT {}, {} FROM {schema}.messages)",
                MESSAGE_REQUIRED.join(", "),
                complete(messages, &MESSAGE_OPTIONAL)
            ),
            visible: format!("({active} <> 0 OR {compacted} <> 0) AND coalesce({hidden}, '') <> 'hidden'"),
            tail: format!("SELECT id, session_id FROM messages WHERE id > ?1{rows_from}"),
            rows_above: format!("SELECT count(*) FROM messages WHERE id > ?1{rows_from}"),
            layout: tables.layout,
            views: tables.views,
        }
    }
}

/// Columns of `sessions` that we read where they exist, in the order of `read`.
pub(super) const SESSION_LIGHT: [&str; 9] = [
    "title",
    "user_id",
    "model",
    "parent_session_id",
    "cwd",
    "git_repo_root",
    "git_branch",
    "archived",
    "end_reason",
];

/// Columns of `sessions` that are only handed on, where they exist.
pub(super) const SESSION_STORED: [&str; 3] = ["ended_at", "message_count", "model_config"];

/// Returns what a row adds to its session's signature; the same sum as the statement's.
#[must_use]
pub fn signature_term(id: i64, active: bool) -> i64 {
    let key = (id % 2_147_483_647 * 2 + i64::from(active)) % 2_147_483_647;
    key * key % 4_294_967_291
}

fn table(
    connection: &Connection,
    schema: &str,
    name: &str,
    required: &[&str],
    path: &Path,
) -> Result<HashSet<String>> {
    let read = layout::columns_of(connection, schema, name);
    let columns: HashSet<_> =
        read.map_err(|error| unread("read archive", path, error))?.into_iter().collect();
    if columns.is_empty() {
        return Err(unrecognized(path, format!("it has no table \"{name}\"")));
    }
    match required.iter().find(|column| !columns.contains(**column)) {
        None => Ok(columns),
        Some(missing) => Err(unrecognized(path, format!("its table \"{name}\" has no column \"{missing}\""))),
    }
}

/// Says why a layout does not fit a file.
fn unmapped(path: &Path, layout: &Mapping, why: &str) -> Error {
    let hint = if layout.file.is_some() {
        "mend the layout's file, or give another archive"
    } else {
        "give another archive, or no --layout: a known one is recognised by its tables"
    };
    Error::new(ErrorKind::ArchiveUnrecognized, "read archive", path.display())
        .because(format!("by the layout \"{}\" {why}", layout.name))
        .hint(hint)
}

fn unrecognized(path: &Path, why: String) -> Error {
    Error::new(ErrorKind::ArchiveUnrecognized, "read archive", path.display())
        .because(why)
        .hint("give the path of an agent's state.db with --archive")
}
