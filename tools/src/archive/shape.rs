//! Knows which columns each version of the archive has and creates its tables.
//!
//! One list per table, each column with the shape that brought it: an older archive is the same
//! list with fewer lines. Seen in the packages 0.13.0 (V11) and 0.19.0 (V22), in the project's
//! own migration table (V6) and in the sources of 0.21.0 (V30).

use rusqlite::Connection;

/// The versions of the archive that tell mirrors apart, oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// Reasoning exists, `reasoning_content` does not; nothing can be taken back.
    V6,
    /// The packages 0.13.0 and 0.14.0: 15 columns, still no `active`.
    V11,
    /// The package 0.19.0: `active`, `compacted`, working folder and branch.
    #[default]
    V22,
    /// Newer than 0.19.0: rows may be summaries, or hidden from people.
    V30,
}

/// The agent's own full-text tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fts {
    /// None, as in an archive made without FTS5.
    None,
    /// What the agent builds: up to V6 one external-content table over `content`, from then on
    /// two inline tables (words and trigrams) over content, tool name and tool calls. V30 gets
    /// the V22 layout too: the comparison is with 0.19.0's search, which needs it.
    Hermes,
}

use Shape::{V6, V11, V22, V30};

type Column = (Shape, &'static str, &'static str);

const MESSAGES: &[Column] = &[
    (V6, "id", "INTEGER PRIMARY KEY AUTOINCREMENT"),
    (V6, "session_id", "TEXT NOT NULL REFERENCES sessions(id)"),
    (V6, "role", "TEXT NOT NULL"),
    (V6, "content", "TEXT"),
    (V6, "tool_call_id", "TEXT"),
    (V6, "tool_calls", "TEXT"),
    (V6, "tool_name", "TEXT"),
    (V22, "effect_disposition", "TEXT"),
    (V6, "timestamp", "REAL NOT NULL"),
    (V6, "token_count", "INTEGER"),
    (V6, "finish_reason", "TEXT"),
    (V6, "reasoning", "TEXT"),
    (V11, "reasoning_content", "TEXT"),
    (V6, "reasoning_details", "TEXT"),
    (V6, "codex_reasoning_items", "TEXT"),
    (V11, "codex_message_items", "TEXT"),
    (V22, "platform_message_id", "TEXT"),
    (V22, "observed", "INTEGER DEFAULT 0"),
    (V30, "_compressed_summary", "INTEGER NOT NULL DEFAULT 0"),
    (V22, "active", "INTEGER NOT NULL DEFAULT 1"),
    (V22, "compacted", "INTEGER NOT NULL DEFAULT 0"),
    (V22, "api_content", "TEXT"),
    (V30, "display_kind", "TEXT"),
    (V30, "display_metadata", "TEXT"),
    (V30, "display_identity", "BLOB"),
    (V30, "display_order", "INTEGER"),
];

const SESSIONS: &[Column] = &[
    (V6, "id", "TEXT PRIMARY KEY"),
    (V6, "source", "TEXT NOT NULL"),
    (V6, "user_id", "TEXT"),
    (V22, "session_key", "TEXT"),
    (V22, "chat_id", "TEXT"),
    (V22, "chat_type", "TEXT"),
    (V22, "thread_id", "TEXT"),
    (V22, "display_name", "TEXT"),
    (V22, "origin_json", "TEXT"),
    (V22, "expiry_finalized", "INTEGER DEFAULT 0"),
    (V6, "model", "TEXT"),
    (V6, "model_config", "TEXT"),
    (V6, "system_prompt", "TEXT"),
    (V30, "system_prompt_hash", "TEXT REFERENCES system_prompts(hash)"),
    (V6, "parent_session_id", "TEXT REFERENCES sessions(id)"),
    (V6, "started_at", "REAL NOT NULL"),
    (V6, "ended_at", "REAL"),
    (V6, "end_reason", "TEXT"),
    (V6, "message_count", "INTEGER DEFAULT 0"),
    (V6, "tool_call_count", "INTEGER DEFAULT 0"),
    (V6, "input_tokens", "INTEGER DEFAULT 0"),
    (V6, "output_tokens", "INTEGER DEFAULT 0"),
    (V6, "cache_read_tokens", "INTEGER DEFAULT 0"),
    (V6, "cache_write_tokens", "INTEGER DEFAULT 0"),
    (V6, "reasoning_tokens", "INTEGER DEFAULT 0"),
    (V22, "cwd", "TEXT"),
    (V22, "git_branch", "TEXT"),
    (V22, "git_repo_root", "TEXT"),
    (V30, "git_metadata_generation", "INTEGER NOT NULL DEFAULT 0"),
    (V6, "billing_provider", "TEXT"),
    (V6, "billing_base_url", "TEXT"),
    (V6, "billing_mode", "TEXT"),
    (V6, "estimated_cost_usd", "REAL"),
    (V6, "actual_cost_usd", "REAL"),
    (V6, "cost_status", "TEXT"),
    (V6, "cost_source", "TEXT"),
    (V6, "pricing_version", "TEXT"),
    (V6, "title", "TEXT"),
    (V30, "title_source", "TEXT"),
    (V30, "last_activity_at", "REAL"),
    (V30, "last_activity_description", "TEXT"),
    (V30, "last_activity_provenance", "TEXT"),
    (V11, "api_call_count", "INTEGER DEFAULT 0"),
    (V11, "handoff_state", "TEXT"),
    (V11, "handoff_platform", "TEXT"),
    (V11, "handoff_error", "TEXT"),
    (V22, "compression_failure_cooldown_until", "REAL"),
    (V22, "compression_failure_error", "TEXT"),
    (V22, "compression_fallback_streak", "INTEGER NOT NULL DEFAULT 0"),
    (V30, "compression_ineffective_count", "INTEGER NOT NULL DEFAULT 0"),
    (V30, "compression_recovery_deadline", "REAL"),
    (V22, "profile_name", "TEXT"),
    (V22, "rewind_count", "INTEGER NOT NULL DEFAULT 0"),
    (V22, "archived", "INTEGER NOT NULL DEFAULT 0"),
    (V30, "pinned", "INTEGER NOT NULL DEFAULT 0"),
    (V30, "hidden", "INTEGER NOT NULL DEFAULT 0"),
    (V30, "last_read_at", "REAL"),
    (V30, "tool_names", "TEXT"),
];

const INDEXES: &[(Shape, &str)] = &[
    (V6, "INDEX idx_sessions_source ON sessions(source)"),
    (V6, "INDEX idx_sessions_parent ON sessions(parent_session_id)"),
    (V6, "INDEX idx_sessions_started ON sessions(started_at DESC)"),
    (V6, "UNIQUE INDEX idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL"),
    (V6, "INDEX idx_messages_session ON messages(session_id, timestamp)"),
    (V22, "INDEX idx_messages_session_active ON messages(session_id, active, timestamp)"),
    (V22, "INDEX idx_messages_active_null ON messages(active) WHERE active IS NULL"),
    (V30, "INDEX idx_messages_session_id ON messages(session_id, id)"),
];

impl Shape {
    /// Every shape, oldest first, for a test that runs over all of them.
    pub const ALL: [Shape; 4] = [V6, V11, V22, V30];

    /// Returns the number in `schema_version`.
    #[must_use]
    pub fn version(self) -> i64 {
        match self {
            V6 => 6,
            V11 => 11,
            V22 => 22,
            V30 => 30,
        }
    }

    /// Returns the columns of `messages`, in table order.
    #[must_use]
    pub fn message_columns(self) -> Vec<&'static str> {
        names(self, MESSAGES)
    }

    /// Returns the columns of `sessions`, in table order.
    #[must_use]
    pub fn session_columns(self) -> Vec<&'static str> {
        names(self, SESSIONS)
    }

    /// Reads the shape from a file's columns, not from its version number: columns are added by
    /// comparison, so the number may lead or lag. Returns the newest shape the file fully has.
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Shape> {
        let messages = columns_of(connection, "messages")?;
        let sessions = columns_of(connection, "sessions")?;
        let has_all = |shape: &Shape| {
            let has = |file: &[String], name| file.iter().any(|column| column == name);
            shape.message_columns().iter().all(|name| has(&messages, *name))
                && shape.session_columns().iter().all(|name| has(&sessions, *name))
        };
        Ok(Shape::ALL.into_iter().rev().find(has_all).unwrap_or(V6))
    }

    pub(crate) fn create(self, connection: &Connection, fts: Fts) -> rusqlite::Result<()> {
        connection.execute_batch("CREATE TABLE schema_version (version INTEGER NOT NULL)")?;
        connection.execute("INSERT INTO schema_version VALUES (?1)", [self.version()])?;
        if self >= V30 {
            connection
                .execute_batch("CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL)")?;
        }
        connection.execute_batch(&table(self, "sessions", SESSIONS))?;
        connection.execute_batch(&table(self, "messages", MESSAGES))?;
        if self >= V11 {
            connection.execute_batch("CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT)")?;
        }
        for (since, index) in INDEXES {
            if *since <= self {
                connection.execute_batch(&format!("CREATE {index}"))?;
            }
        }
        match fts {
            Fts::None => Ok(()),
            Fts::Hermes if self < V11 => connection.execute_batch(CONTENT_ONLY),
            Fts::Hermes => {
                connection.execute_batch(&inline("messages_fts", ""))?;
                connection.execute_batch(&inline("messages_fts_trigram", ", tokenize='trigram'"))
            }
        }
    }
}

/// Returns the columns a table has in this file, in table order; none if it has no such table.
pub(crate) fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut query = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    query.query_map([table], |row| row.get(0))?.collect()
}

fn names(shape: Shape, columns: &[Column]) -> Vec<&'static str> {
    columns.iter().filter(|(since, ..)| *since <= shape).map(|(_, name, _)| *name).collect()
}

fn table(shape: Shape, name: &str, columns: &[Column]) -> String {
    let columns = columns.iter().filter(|(since, ..)| *since <= shape);
    let columns: Vec<String> = columns.map(|(_, name, rest)| format!("{name} {rest}")).collect();
    format!("CREATE TABLE {name} ({})", columns.join(", "))
}

/// A table with its own copy of the text. The update trigger has no column list on purpose: in
/// the agent a flag flip re-indexes the row too, and a demo must not be kinder than that.
fn inline(name: &str, options: &str) -> String {
    let insert = format!(
        "INSERT INTO {name}(rowid, content) VALUES (new.id, COALESCE(new.content, '') || ' ' \
         || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, ''))"
    );
    let delete = format!("DELETE FROM {name} WHERE rowid = old.id");
    format!(
        "CREATE VIRTUAL TABLE {name} USING fts5(content{options});
         CREATE TRIGGER {name}_insert AFTER INSERT ON messages BEGIN {insert}; END;
         CREATE TRIGGER {name}_delete AFTER DELETE ON messages BEGIN {delete}; END;
         CREATE TRIGGER {name}_update AFTER UPDATE ON messages BEGIN {delete}; {insert}; END;"
    )
}

const CONTENT_ONLY: &str = "
    CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id);
    CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
        INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;
    CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, content)
        VALUES ('delete', old.id, old.content); END;
    CREATE TRIGGER messages_fts_update AFTER UPDATE ON messages BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, content)
        VALUES ('delete', old.id, old.content);
        INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Writer;

    fn check(shape: Shape, messages: &str, missing_sessions: &[&str]) {
        let writer = Writer::memory(shape, Fts::Hermes).expect("create");
        let columns = |table| columns_of(writer.connection(), table).expect("columns");
        assert_eq!(columns("messages").join(" "), messages);
        let sessions = columns("sessions");
        assert_eq!(sessions, shape.session_columns());
        for name in missing_sessions {
            assert!(!sessions.iter().any(|column| column == name), "{shape:?} has {name}");
        }
        let version: i64 = writer
            .connection()
            .query_row("SELECT version FROM schema_version", [], |row| row.get(0))
            .expect("version");
        assert_eq!(version, shape.version());
        assert_eq!(Shape::of(writer.connection()).expect("shape"), shape);
    }

    #[test]
    fn v6_is_the_documented_set() {
        check(
            V6,
            "id session_id role content tool_call_id tool_calls tool_name timestamp token_count \
             finish_reason reasoning reasoning_details codex_reasoning_items",
            &["api_call_count", "handoff_state", "cwd", "archived"],
        );
    }

    #[test]
    fn v11_is_the_documented_set() {
        let messages = "id session_id role content tool_call_id tool_calls tool_name timestamp \
             token_count finish_reason reasoning reasoning_content reasoning_details \
             codex_reasoning_items codex_message_items";
        assert_eq!(messages.split(' ').count(), 15);
        check(V11, messages, &["cwd", "archived", "rewind_count", "git_branch", "chat_id"]);
    }

    #[test]
    fn v22_is_the_documented_set() {
        check(
            V22,
            "id session_id role content tool_call_id tool_calls tool_name effect_disposition \
             timestamp token_count finish_reason reasoning reasoning_content reasoning_details \
             codex_reasoning_items codex_message_items platform_message_id observed active \
             compacted api_content",
            &["pinned", "title_source"],
        );
        assert_eq!(V22.session_columns().len(), 46);
    }

    #[test]
    fn v30_adds_summaries_and_display() {
        check(
            V30,
            "id session_id role content tool_call_id tool_calls tool_name effect_disposition \
             timestamp token_count finish_reason reasoning reasoning_content reasoning_details \
             codex_reasoning_items codex_message_items platform_message_id observed \
             _compressed_summary active compacted api_content display_kind display_metadata \
             display_identity display_order",
            &[],
        );
    }
}
