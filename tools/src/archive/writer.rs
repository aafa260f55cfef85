//! Appends sessions and messages to an archive file. Never opens it the agent's way: no
//! migration, no healing, no search table that was not asked for.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Statement, ToSql};

use super::row::EPOCH;
use super::{Cell, Fts, Message, Session, Shape};

const SESSION_COLUMNS_SET: &[&str] = &[
    "id",
    "source",
    "title",
    "user_id",
    "model",
    "model_config",
    "parent_session_id",
    "cwd",
    "git_branch",
    "git_repo_root",
    "archived",
    "started_at",
    "ended_at",
    "end_reason",
];

const MESSAGE_COLUMNS_SET: &[&str] = &[
    "id",
    "session_id",
    "role",
    "content",
    "tool_name",
    "tool_calls",
    "tool_call_id",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
    "timestamp",
    "active",
    "compacted",
    "display_kind",
];

/// An archive open for writing.
///
/// Each call commits on its own, as the agent's does; [`Writer::transaction`] makes one commit
/// of many.
#[derive(Debug)]
pub struct Writer {
    pub(super) connection: Connection,
    shape: Shape,
    session_columns: Vec<&'static str>,
    message_columns: Vec<&'static str>,
    session_insert: String,
    message_insert: String,
    /// The time of the row written last; a row without one comes a second later.
    clock: f64,
}

impl Writer {
    /// Creates the archive at `path`, in WAL mode. Fails if it already holds these tables.
    pub fn create(path: &Path, shape: Shape, fts: Fts) -> rusqlite::Result<Writer> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        Writer::with_tables(connection, shape, fts)
    }

    /// Opens the archive at `path` and reads its shape from its columns. Fails if there is none.
    pub fn open(path: &Path) -> rusqlite::Result<Writer> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let shape = Shape::of(&connection)?;
        Writer::over(connection, shape)
    }

    #[cfg(test)]
    pub(crate) fn memory(shape: Shape, fts: Fts) -> rusqlite::Result<Writer> {
        Writer::with_tables(Connection::open_in_memory()?, shape, fts)
    }

    fn with_tables(connection: Connection, shape: Shape, fts: Fts) -> rusqlite::Result<Writer> {
        shape.create(&connection, fts)?;
        Writer::over(connection, shape)
    }

    fn over(connection: Connection, shape: Shape) -> rusqlite::Result<Writer> {
        // As in the agent: a parent must exist, unless a test turns this off to write orphans.
        connection.pragma_update(None, "foreign_keys", true)?;
        let clock = connection.query_row(
            "SELECT COALESCE(MAX(timestamp), ?1) FROM messages WHERE typeof(timestamp) = 'real'",
            [EPOCH],
            |row| row.get(0),
        )?;
        let session_columns = present(SESSION_COLUMNS_SET, &shape.session_columns());
        let message_columns = present(MESSAGE_COLUMNS_SET, &shape.message_columns());
        let session_insert = insert("sessions", &session_columns);
        let message_insert = insert("messages", &message_columns);
        Ok(Writer {
            connection,
            shape,
            session_columns,
            message_columns,
            session_insert,
            message_insert,
            clock,
        })
    }

    /// Returns the shape the file was created with or found to have.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the connection, for the odd statement no method here stands for.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Inserts a session. Fails on a taken id or title, or a parent that is not there.
    pub fn session(&mut self, session: &Session) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(&self.session_insert)?;
        for (index, column) in self.session_columns.iter().enumerate() {
            bind_session(&mut statement, index + 1, column, session)?;
        }
        statement.raw_execute()?;
        self.clock = self.clock.max(session.started_at);
        Ok(())
    }

    /// Appends a message, counts it in its session and returns its row id.
    pub fn message(&mut self, session_id: &str, message: &Message) -> rusqlite::Result<i64> {
        self.transaction(|writer| {
            let id = writer.insert(session_id, message)?;
            let mut count = writer.connection.prepare_cached(
                "UPDATE sessions SET message_count = message_count + 1,
                 tool_call_count = tool_call_count + ?2 WHERE id = ?1",
            )?;
            count.execute((session_id, i64::try_from(message.calls_count()).unwrap_or(i64::MAX)))?;
            Ok(id)
        })
    }

    /// Runs `work` in one transaction, rolled back if it fails; inside another, joins it.
    pub fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Writer) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        if !self.connection.is_autocommit() {
            return work(self);
        }
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let done = work(self);
        if done.is_ok() {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
        } else if !self.connection.is_autocommit() {
            // Some errors (a full disk) roll back by themselves; then there is nothing to undo.
            self.connection.prepare_cached("ROLLBACK")?.execute([])?;
        }
        done
    }

    /// Moves the WAL into the file and closes it. Leaves no `-wal` or `-shm` behind, unless
    /// someone else has the archive open.
    pub fn close(self) -> rusqlite::Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        self.connection.close().map_err(|(_, error)| error)
    }

    /// Sets what a session says it holds.
    pub(crate) fn set_counts(&mut self, session_id: &str, messages: u64, calls: u64) -> rusqlite::Result<()> {
        let mut update = self
            .connection
            .prepare_cached("UPDATE sessions SET message_count = ?2, tool_call_count = ?3 WHERE id = ?1")?;
        let stored = |count| i64::try_from(count).unwrap_or(i64::MAX);
        update.execute((session_id, stored(messages), stored(calls)))?;
        Ok(())
    }

    /// Inserts the row alone; who counts it in `sessions` differs between append and rewrite.
    pub(crate) fn insert(&mut self, session_id: &str, message: &Message) -> rusqlite::Result<i64> {
        let time = message.timestamp.clone().unwrap_or_else(|| Cell::from(self.clock + 1.0));
        let mut statement = self.connection.prepare_cached(&self.message_insert)?;
        for (index, column) in self.message_columns.iter().enumerate() {
            bind_message(&mut statement, index + 1, column, (session_id, message, &time))?;
        }
        statement.raw_execute()?;
        if let Cell::Value(rusqlite::types::Value::Real(time)) = time {
            self.clock = time;
        }
        Ok(self.connection.last_insert_rowid())
    }
}

fn present(wanted: &[&'static str], shape: &[&'static str]) -> Vec<&'static str> {
    wanted.iter().copied().filter(|name| shape.contains(name)).collect()
}

fn insert(table: &str, columns: &[&str]) -> String {
    let marks = vec!["?"; columns.len()].join(", ");
    format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", "))
}

fn bind_session(
    statement: &mut Statement<'_>,
    index: usize,
    column: &str,
    session: &Session,
) -> rusqlite::Result<()> {
    let value: &dyn ToSql = match column {
        "id" => &session.id,
        "source" => &session.source,
        "title" => &session.title,
        "user_id" => &session.user_id,
        "model" => &session.model,
        "model_config" => &session.model_config,
        "parent_session_id" => &session.parent_session_id,
        "cwd" => &session.cwd,
        "git_branch" => &session.git_branch,
        "git_repo_root" => &session.git_repo_root,
        "archived" => &session.archived,
        "started_at" => &session.started_at,
        "ended_at" => &session.ended_at,
        "end_reason" => &session.end_reason,
        _ => unreachable!("every column of SESSION_COLUMNS_SET has its arm"),
    };
    statement.raw_bind_parameter(index, value)
}

fn bind_message(
    statement: &mut Statement<'_>,
    index: usize,
    column: &str,
    (session_id, message, time): (&str, &Message, &Cell),
) -> rusqlite::Result<()> {
    let value: &dyn ToSql = match column {
        "id" => &message.id,
        "session_id" => &session_id,
        "role" => &message.role,
        "content" => &message.content,
        "tool_name" => &message.tool_name,
        "tool_calls" => &message.tool_calls,
        "tool_call_id" => &message.tool_call_id,
        "reasoning" => &message.reasoning,
        "reasoning_content" => &message.reasoning_content,
        "reasoning_details" => &message.reasoning_details,
        "codex_reasoning_items" => &message.codex_reasoning_items,
        "codex_message_items" => &message.codex_message_items,
        "timestamp" => time,
        "active" => &message.active,
        "compacted" => &message.compacted,
        "display_kind" => &message.display_kind,
        _ => unreachable!("every column of MESSAGE_COLUMNS_SET has its arm"),
    };
    statement.raw_bind_parameter(index, value)
}

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;

    use super::*;

    fn scalar<T: rusqlite::types::FromSql>(writer: &Writer, sql: &str) -> T {
        writer.connection().query_row(sql, [], |row| row.get(0)).expect(sql)
    }

    #[test]
    fn every_shape_takes_every_row() {
        for shape in Shape::ALL {
            let mut writer = Writer::memory(shape, Fts::Hermes).expect("create");
            writer.session(&Session::new("s")).expect("session");
            let call = Message::assistant("look").with_call("terminal", &serde_json::json!({}));
            for message in [Message::user("hi"), Message::thought("hm"), call] {
                writer.message("s", &message).expect("message");
            }
            let counts = "SELECT message_count * 10 + tool_call_count FROM sessions";
            assert_eq!(scalar::<i64>(&writer, counts), 31, "{shape:?}");
        }
    }

    #[test]
    fn odd_values_are_stored_as_they_are() {
        let mut writer = Writer::memory(Shape::V22, Fts::None).expect("create");
        writer.session(&Session::new("s")).expect("session");
        let cut = Message::new("user", Cell::RawText(vec![0x68, 0xC3]));
        writer.message("s", &cut).expect("cut text");
        let blob =
            Message { timestamp: Some("2026-04-09T12:00:00".into()), ..Message::new("user", vec![0, 255]) };
        writer.message("s", &blob).expect("blob");
        let kinds = "SELECT group_concat(typeof(content) || ' ' || typeof(timestamp)) FROM messages";
        assert_eq!(scalar::<String>(&writer, kinds), "text real,blob text");
        let cut: Value = scalar(&writer, "SELECT CAST(content AS BLOB) FROM messages WHERE id = 1");
        assert_eq!(cut, Value::Blob(vec![0x68, 0xC3]));
    }

    #[test]
    fn rows_without_a_time_follow_by_a_second() {
        let mut writer = Writer::memory(Shape::V22, Fts::None).expect("create");
        writer.session(&Session::new("s")).expect("session");
        writer.message("s", &Message::user("a").at(EPOCH + 50.0)).expect("message");
        writer.message("s", &Message::user("b")).expect("message");
        let last: f64 = scalar(&writer, "SELECT timestamp FROM messages WHERE id = 2");
        assert!((last - EPOCH - 51.0).abs() < 1e-6);
    }

    #[test]
    fn failed_work_leaves_nothing() {
        let mut writer = Writer::memory(Shape::V22, Fts::None).expect("create");
        writer.session(&Session::new("s")).expect("session");
        let failed = writer.transaction(|writer| {
            writer.message("s", &Message::user("kept?"))?;
            writer.message("no such session", &Message::user("x"))
        });
        assert!(failed.is_err());
        assert_eq!(scalar::<i64>(&writer, "SELECT count(*) FROM messages"), 0);
    }

    #[test]
    fn closed_file_is_one_file_and_opens_in_its_shape() {
        for shape in Shape::ALL {
            let folder = tempfile::tempdir().expect("folder");
            let path = folder.path().join("state.db");
            let mut writer = Writer::create(&path, shape, Fts::Hermes).expect("create");
            writer.session(&Session::new("s")).expect("session");
            writer.message("s", &Message::user("one").at(EPOCH + 9.0)).expect("message");
            writer.close().expect("close");
            assert!(!path.with_extension("db-wal").exists());
            assert!(!path.with_extension("db-shm").exists());

            let mut writer = Writer::open(&path).expect("open");
            assert_eq!(writer.shape(), shape);
            assert_eq!(writer.message("s", &Message::user("two")).expect("message"), 2);
            let last: f64 = scalar(&writer, "SELECT MAX(timestamp) FROM messages");
            assert!((last - EPOCH - 10.0).abs() < 1e-6);
            writer.close().expect("close");
            assert!(Writer::create(&path, shape, Fts::None).is_err());
        }
    }
}
