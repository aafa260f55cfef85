//! Layouts: how the tables of other agents become `messages` and `sessions`. Each is a file of
//! `schema/layouts/` that maps our columns to SQL over theirs; what it maps stands on a connection as two
//! temporary views, which live in memory, so that every statement reads them as it reads Hermes' tables.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rusqlite::{Connection, Error, ErrorCode};
use serde::Deserialize;

use super::columns::{MESSAGE_REQUIRED, SESSION_REQUIRED};

/// The name of the layout that needs no mapping.
pub(super) const HERMES: &str = "hermes";

/// The layouts that are compiled in; of those that fit a file, the first is its own.
static LAYOUTS: LazyLock<Vec<Layout>> = LazyLock::new(|| {
    let files = [
        include_str!("../../../../schema/layouts/llm.toml"),
        include_str!("../../../../schema/layouts/llm-responses.toml"),
        include_str!("../../../../schema/layouts/openai-agents.toml"),
    ];
    files
        .map(|file| toml::from_str(file).expect("a layout that is compiled in has been read by tests"))
        .into()
});

/// One way to lay out conversations in `SQLite`; `schema/layouts/README.md` says what each key means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layout {
    pub(super) name: String,
    about: String,
    /// Message ids are a row's number times this, and the number of its source.
    pub(super) stride: i64,
    tables: BTreeMap<String, Vec<String>>,
    sessions: Sessions,
    #[serde(default)]
    shared: Expressions,
    messages: Vec<Source>,
}

/// SQL expressions by the name of the column that they stand for.
type Expressions = BTreeMap<String, String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sessions {
    from: String,
    columns: Expressions,
}

/// One of the messages that a row of the file holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    from: String,
    /// The row's number, which grows with time and has an index: a rowid.
    row: String,
    #[serde(rename = "where")]
    filter: Option<String>,
    /// Left out where the file has not what it names.
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    columns: Expressions,
}

/// Returns the layout that a file is of, or what it lacks to be of each: one line a layout.
pub(super) fn find(connection: &Connection) -> rusqlite::Result<Result<&'static Layout, Vec<String>>> {
    let mut lacking = Vec::new();
    for layout in LAYOUTS.iter() {
        match layout.lacks(connection)? {
            None => return Ok(Ok(layout)),
            Some(what) => lacking.push(format!("{} ({}) needs {what}", layout.name, layout.about)),
        }
    }
    Ok(Err(lacking))
}

impl Layout {
    /// Says what a file lacks to be of this layout.
    fn lacks(&self, connection: &Connection) -> rusqlite::Result<Option<String>> {
        for (table, columns) in &self.tables {
            let there = columns_of(connection, "main", table)?;
            if there.is_empty() {
                return Ok(Some(format!("a table \"{table}\"")));
            }
            if let Some(column) = columns.iter().find(|column| !there.contains(column)) {
                return Ok(Some(format!("a column \"{column}\" in its table \"{table}\"")));
            }
        }
        Ok(None)
    }

    /// Returns the statements that make the two views. Fails if the file lacks what they must have.
    pub(super) fn views(&self, connection: &Connection) -> rusqlite::Result<String> {
        let sessions = selection(connection, &self.sessions.from, &self.sessions.columns, &SESSION_REQUIRED)?;
        let mut sources = Vec::new();
        let mut columns = Vec::new();
        for (number, source) in self.messages.iter().enumerate() {
            let Some(found) = self.found(connection, source)? else { continue };
            columns.extend(found.keys().cloned());
            sources.push((number, source, found));
        }
        columns.sort_unstable();
        columns.dedup();
        let sources: Vec<_> = sources
            .iter()
            .map(|(number, source, found)| self.source(*number, source, found, &columns))
            .collect();
        Ok(format!(
            "CREATE TEMP VIEW IF NOT EXISTS sessions AS {sessions}; \
             CREATE TEMP VIEW IF NOT EXISTS messages AS {}",
            sources.join(" UNION ALL ")
        ))
    }

    /// Returns the expressions of a source that the file can answer; `None` if it can do without the source.
    fn found(&self, connection: &Connection, source: &Source) -> rusqlite::Result<Option<Expressions>> {
        let condition = source.filter.as_deref().unwrap_or("1");
        let whole = format!("SELECT {} FROM {} WHERE {condition}", source.row, source.from);
        if source.optional && !is_answered(connection, &whole)? {
            return Ok(None);
        }
        let mut columns = self.shared.clone();
        columns.extend(source.columns.clone());
        let required = MESSAGE_REQUIRED.iter().filter(|name| **name != "id").copied().collect::<Vec<_>>();
        answered(connection, &source.from, columns, &required).map(Some)
    }

    fn source(&self, number: usize, source: &Source, found: &Expressions, columns: &[String]) -> String {
        let values: Vec<_> = columns
            .iter()
            .map(|name| format!("{} AS \"{name}\"", found.get(name).map_or("NULL", String::as_str)))
            .collect();
        let (row, stride, from) = (&source.row, self.stride, &source.from);
        let condition = source.filter.as_ref().map(|filter| format!(" WHERE {filter}")).unwrap_or_default();
        format!(
            "SELECT {row} * {stride} + {number} AS id, {row} AS source_row, {} FROM {from}{condition}",
            values.join(", ")
        )
    }
}

/// Makes a layout's views on a connection; nothing else is ever written there.
pub(super) fn lay(connection: &Connection, views: &str) -> rusqlite::Result<()> {
    // SQLite forbids temporary objects too where it forbids changes.
    connection.execute_batch(&format!("PRAGMA query_only = 0; {views}; PRAGMA query_only = 1;"))
}

fn selection(
    connection: &Connection,
    from: &str,
    columns: &Expressions,
    required: &[&str],
) -> rusqlite::Result<String> {
    let columns = answered(connection, from, columns.clone(), required)?;
    let columns: Vec<_> = columns.iter().map(|(name, value)| format!("{value} AS \"{name}\"")).collect();
    Ok(format!("SELECT {} FROM {from}", columns.join(", ")))
}

/// Leaves out the expressions that name what the file has not: like Hermes', these files are read by the
/// columns that exist. Fails if a required one is among them.
fn answered(
    connection: &Connection,
    from: &str,
    mut columns: Expressions,
    required: &[&str],
) -> rusqlite::Result<Expressions> {
    let mut absent = Vec::new();
    for (name, value) in &columns {
        let sql = format!("SELECT {value} FROM {from}");
        if required.contains(&name.as_str()) {
            connection.prepare(&sql)?;
        } else if !is_answered(connection, &sql)? {
            absent.push(name.clone());
        }
    }
    columns.retain(|name, _| !absent.contains(name));
    Ok(columns)
}

/// Tells whether the file has everything that a statement names. Fails where it cannot be asked.
fn is_answered(connection: &Connection, sql: &str) -> rusqlite::Result<bool> {
    let Err(error) = connection.prepare(sql) else { return Ok(true) };
    // What SQLite calls an error without a kind is a name that it does not know.
    match &error {
        Error::SqliteFailure(cause, _) | Error::SqlInputError { error: cause, .. }
            if cause.code == ErrorCode::Unknown =>
        {
            Ok(false)
        }
        _ => Err(error),
    }
}

/// Returns the columns of a table or view; none if it is not there.
pub(super) fn columns_of(
    connection: &Connection,
    schema: &str,
    table: &str,
) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT name FROM pragma_table_info(?1, ?2)")?
        .query_map([table, schema], |row| row.get(0))?
        .collect()
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
