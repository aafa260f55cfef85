//! What an archive holds in figures, and what the agent's own search finds in it. The statements
//! stand in `schema/audit.sql`, for people to run by hand.

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use tempfile::TempDir;

use crate::error::{Error, ErrorKind, Result};

use super::read::View;

const STATEMENTS: &str = include_str!("../../../../schema/audit.sql");

/// An archive in figures; `schema/audit.sql` says what each counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Message rows.
    pub rows: u64,
    /// Rows with a reasoning column that is not blank.
    pub rows_with_reasoning: u64,
    /// Their share of the rows, 0 to 1.
    pub reasoning_share: f64,
    /// Rows with reasoning and nothing said.
    pub empty_content_with_reasoning: u64,
    /// Characters of content.
    pub chars_content: u64,
    /// Characters of reasoning, each text of a row once.
    pub chars_reasoning: u64,
    /// What reasoning adds to the content's characters, as a share of them.
    pub added_share: f64,
    /// Rows by role, the most first.
    pub by_role: Vec<(String, u64)>,
    /// Rows by the source of their session, the most first.
    pub by_source: Vec<(String, u64)>,
}

impl View<'_> {
    /// Counts the figures. Reads the whole archive about twice.
    pub fn figures(&self) -> Result<Figures> {
        let one = |name: &str| -> Result<u64> {
            let read = || self.connection.query_row(&self.statement(name), [], |row| row.get::<_, i64>(0));
            read().map(i64::unsigned_abs).map_err(|error| self.failed(error))
        };
        let pairs = |name: &str| -> Result<Vec<(String, u64)>> {
            self.all(&self.statement(name), [], |row| {
                let label = super::read::text(row.get_ref(0)?).into_owned();
                Ok((label, row.get::<_, i64>(1)?.unsigned_abs()))
            })
        };
        let (rows, with) = (one("rows")?, one("rows_with_reasoning")?);
        let (content, reasoning) = (one("chars_content")?, one("chars_reasoning")?);
        Ok(Figures {
            rows,
            rows_with_reasoning: with,
            reasoning_share: share(with, rows),
            empty_content_with_reasoning: one("empty_content_with_reasoning")?,
            chars_content: content,
            chars_reasoning: reasoning,
            added_share: share(reasoning, content),
            by_role: pairs("by_role")?,
            by_source: pairs("by_source")?,
        })
    }

    /// Returns a statement over tables that have every column: absent ones are NULL.
    fn statement(&self, name: &str) -> String {
        format!("{} {}", self.columns.complete_tables, statement(name))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns a statement of `schema/audit.sql` by its name.
fn statement(name: &str) -> &'static str {
    let marker = format!("-- name: {name}\n");
    let after = STATEMENTS.split_once(&marker).expect("every figure has its statement").1;
    after.split_once(';').expect("every statement ends").0
}

/// What the agent's own search finds for a word, by route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RouteCounts {
    /// Rows in the word index.
    pub words: u64,
    /// Rows in the trigram index; `None` for a word of fewer than three characters.
    pub trigrams: Option<u64>,
    /// Rows in the scan over content, tool names and tool calls.
    pub scan: u64,
}

/// The agent's own search routes over one archive.
///
/// Its FTS5 tables are read where the archive has them, and rebuilt in a private file where not.
pub struct Routes {
    rebuilt: Option<(Connection, TempDir)>,
    words: bool,
    trigrams: bool,
}

/// What both of the agent's tables index of a row.
const INDEXED: &str =
    "coalesce(content, '') || ' ' || coalesce(tool_name, '') || ' ' || coalesce(tool_calls, '')";

impl Routes {
    /// Prepares the routes. Where a table has to be rebuilt, this reads the whole archive.
    pub fn over(view: &View<'_>) -> Result<Self> {
        let has = |name: &str| -> rusqlite::Result<bool> {
            let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
            Ok(view.connection.query_row(sql, [name], |_| Ok(())).optional()?.is_some())
        };
        let found = || Ok((has("messages_fts")?, has("messages_fts_trigram")?));
        let (words, trigrams) = found().map_err(|error| view.failed(error))?;
        let mut routes = Self { rebuilt: None, words, trigrams };
        if !(words && trigrams) {
            routes.rebuilt = Some(rebuild(view)?);
        }
        Ok(routes)
    }

    /// Counts the visible rows that each route finds for a word.
    pub fn count(&self, view: &View<'_>, word: &str) -> Result<RouteCounts> {
        // SQLite reads a query, and a pattern, up to the first zero byte: cut there, it would be another one.
        let word = word.replace('\0', " ");
        let quoted = format!("\"{}\"", word.replace('"', "\"\""));
        let pattern = format!("%{}%", word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        let count = |connection: &Connection, sql: &str, word: &str| {
            connection
                .prepare_cached(sql)?
                .query_row([word], |row| row.get::<_, i64>(0))
                .map(i64::unsigned_abs)
        };
        let route = |in_archive: bool, table: &str| match &self.rebuilt {
            Some((connection, _)) if !in_archive => {
                count(connection, &format!("SELECT count(*) FROM {table} WHERE {table} MATCH ?1"), &quoted)
            }
            _ => {
                let visible = view.columns.visible.as_str();
                let sql = format!(
                    "SELECT count(*) FROM {table} JOIN messages ON messages.id = {table}.rowid \
                     WHERE {table} MATCH ?1 AND {visible}"
                );
                count(view.connection, &sql, &quoted)
            }
        };
        let counts = || -> rusqlite::Result<RouteCounts> {
            let long = word.chars().count() >= 3;
            let scan = format!(
                "{} SELECT count(*) FROM messages WHERE {} AND (content LIKE ?1 ESCAPE '\\' \
                 OR tool_name LIKE ?1 ESCAPE '\\' OR tool_calls LIKE ?1 ESCAPE '\\')",
                view.columns.complete_tables, view.columns.visible
            );
            Ok(RouteCounts {
                words: route(self.words, "messages_fts")?,
                trigrams: if long { Some(route(self.trigrams, "messages_fts_trigram")?) } else { None },
                scan: count(view.connection, &scan, &pattern)?,
            })
        };
        counts().map_err(|error| view.failed(error))
    }
}

/// Builds both of the agent's tables over the visible rows, in a private file, without their text.
fn rebuild(view: &View<'_>) -> Result<(Connection, TempDir)> {
    let folder = tempfile::Builder::new().prefix("afterthought-").tempdir().map_err(|error| {
        Error::new(ErrorKind::Internal, "make", "a private folder for the agent's search tables")
            .because(error)
    })?;
    let build = || -> rusqlite::Result<Connection> {
        let mut connection = Connection::open(folder.path().join("routes.db"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
             CREATE VIRTUAL TABLE messages_fts USING fts5(content, content='');
             CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(content, content='', tokenize='trigram');",
        )?;
        let transaction = connection.transaction()?;
        {
            let sql = format!(
                "{} SELECT id, {INDEXED} FROM messages WHERE {}",
                view.columns.complete_tables, view.columns.visible
            );
            let mut read = view.connection.prepare(&sql)?;
            let mut words =
                transaction.prepare("INSERT INTO messages_fts(rowid, content) VALUES (?1, ?2)")?;
            let mut trigrams =
                transaction.prepare("INSERT INTO messages_fts_trigram(rowid, content) VALUES (?1, ?2)")?;
            let mut rows = read.query([])?;
            while let Some(row) = rows.next()? {
                let (id, text) = (row.get::<_, i64>(0)?, super::read::text(row.get_ref(1)?));
                words.execute((id, &text))?;
                trigrams.execute((id, &text))?;
            }
        }
        transaction.commit()?;
        Ok(connection)
    };
    let connection = build().map_err(|error| view.failed(error))?;
    Ok((connection, folder))
}
