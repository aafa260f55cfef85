//! Copies an archive's messages and sessions, value by value, into a database of its own: what is
//! damaged there is as damaged here. For measurements that need tables they may write to.

use std::path::Path;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, Row, Statement, params_from_iter};

use crate::error::{Error, ErrorKind, Result};

use super::Archive;
use super::columns::{MESSAGE_OPTIONAL, MESSAGE_REQUIRED, SESSION_LIGHT, SESSION_REQUIRED};
use super::read::View;

/// Rows of one read transaction: an agent's log is not held longer than that.
const COPY_ROWS_MAX: i64 = 5_000;

/// The columns that decide whether a row is shown. They stand before the texts, so that reading
/// them never walks through a large text.
const FIRST: [&str; 6] = ["id", "session_id", "role", "active", "compacted", "display_kind"];

impl Archive {
    /// Writes every session and message into a new database at `into`, with the columns that are read
    /// here and no others; absent ones are NULL, and visibility is spelled out in `active` and
    /// `compacted`. Rows that are written meanwhile may be in it or not.
    ///
    /// Fails if the archive cannot be read, or the new database cannot be written. Reads the whole
    /// archive once, in short transactions; `watch` hears how many messages are copied, and a failure
    /// of its own ends it.
    pub fn copy_rows(&self, into: &Path, mut watch: impl FnMut(u64) -> Result<()>) -> Result<()> {
        let refused = |error| {
            Error::new(ErrorKind::IndexUnavailable, "copy the archive's rows to", into.display())
                .because(error)
                .hint("check the folder's permissions and free space")
        };
        let columns = message_columns();
        let copy = Connection::open(into).map_err(refused)?;
        copy.execute_batch(&layout(&columns)).map_err(refused)?;
        self.read(|view| {
            copy.execute_batch("DELETE FROM sessions").map_err(refused)?;
            let names: Vec<&str> = SESSION_REQUIRED.into_iter().chain(SESSION_LIGHT).collect();
            let mut insert = copy.prepare(&insertion("sessions", &names)).map_err(refused)?;
            let insert = |row: &Row<'_>| insert_row(&mut insert, row, names.len()).map_err(refused);
            copy_rows(view, &view.columns.sessions, [], insert).map(drop)
        })?;
        let (mut next, mut copied) = (Some(i64::MIN), 0);
        while let Some(first) = next {
            // A read that has to be repeated drops its transaction, and with it what it wrote.
            let (last, rows, transaction) = self.read(|view| {
                let transaction = copy.unchecked_transaction().map_err(refused)?;
                let mut insert = copy.prepare_cached(&insertion("messages", &columns)).map_err(refused)?;
                let sql = selection(view, &columns);
                let insert = |row: &Row<'_>| insert_row(&mut insert, row, columns.len()).map_err(refused);
                let (last, rows) = copy_rows(view, &sql, [first, COPY_ROWS_MAX], insert)?;
                Ok((last, rows, transaction))
            })?;
            transaction.commit().map_err(refused)?;
            copied += rows;
            watch(copied)?;
            next = last.and_then(|last| last.checked_add(1));
        }
        copy.execute_batch(FINISH).map_err(refused)
    }

    /// Returns how many bytes the values hold that [`Archive::copy_rows`] copies. Reads lengths only.
    pub fn stored_bytes(&self) -> Result<u64> {
        let length = |name| format!("coalesce(octet_length({name}), 0)");
        let lengths = message_columns().into_iter().map(length).collect::<Vec<_>>().join(" + ");
        self.read(|view| {
            let tables = &view.columns.complete_tables;
            let sql = format!("{tables} SELECT coalesce(sum({lengths}), 0) FROM messages");
            let bytes = view.connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
            bytes.map(i64::unsigned_abs).map_err(|error| view.failed(error))
        })
    }
}

fn message_columns() -> Vec<&'static str> {
    let all = MESSAGE_REQUIRED.into_iter().chain(MESSAGE_OPTIONAL);
    FIRST.into_iter().chain(all.filter(|name| !FIRST.contains(name))).collect()
}

/// No column but the key has a type: every value stays what it was.
fn layout(columns: &[&str]) -> String {
    let sessions: Vec<&str> = SESSION_REQUIRED.into_iter().chain(SESSION_LIGHT).collect();
    format!(
        "PRAGMA page_size = 4096; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; \
         CREATE TABLE messages ({} INTEGER PRIMARY KEY, {}); CREATE TABLE sessions ({});",
        columns[0],
        columns[1..].join(", "),
        sessions.join(", ")
    )
}

/// The indexes that the agent's own tables have for the two questions asked here.
const FINISH: &str = "CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
    CREATE INDEX idx_sessions_id ON sessions(id);
    PRAGMA journal_mode = WAL;";

fn selection(view: &View<'_>, columns: &[&str]) -> String {
    let value = |name: &&str| match *name {
        // What is no number says nothing, here as where messages are read.
        "active" => "coalesce(active, 1) <> 0".to_owned(),
        "compacted" => "typeof(compacted) IN ('integer', 'real') AND compacted <> 0".to_owned(),
        other => other.to_owned(),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!(
        "{} SELECT {} FROM messages WHERE id >= ?1 ORDER BY id LIMIT ?2",
        view.columns.complete_tables,
        values.join(", ")
    )
}

fn insertion(table: &str, columns: &[&str]) -> String {
    let places = vec!["?"; columns.len()].join(", ");
    // A table made by a query has no key, and may hold an id twice.
    format!("INSERT OR IGNORE INTO {table} ({}) VALUES ({places})", columns.join(", "))
}

/// Hands out the rows of a query. Returns the last row's first value, where it is a number, and how
/// many rows there were. Fails as the archive does, or as `insert` does.
fn copy_rows(
    view: &View<'_>,
    sql: &str,
    parameters: impl rusqlite::Params,
    mut insert: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<(Option<i64>, u64)> {
    let unread = |error| view.failed(error);
    let mut select = view.connection.prepare_cached(sql).map_err(unread)?;
    let mut rows = select.query(parameters).map_err(unread)?;
    let (mut last, mut count) = (None, 0);
    while let Some(row) = rows.next().map_err(unread)? {
        insert(row)?;
        last = row.get::<_, i64>(0).ok();
        count += 1;
    }
    Ok((last, count))
}

fn insert_row(insert: &mut Statement<'_>, row: &Row<'_>, columns: usize) -> rusqlite::Result<()> {
    let value = |column| Ok(ToSqlOutput::Borrowed(row.get_ref(column)?));
    let values = (0..columns).map(value).collect::<rusqlite::Result<Vec<_>>>()?;
    insert.execute(params_from_iter(values)).map(drop)
}
