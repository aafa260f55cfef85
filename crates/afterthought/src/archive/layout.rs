//! Layouts: how the tables of other agents become `messages` and `sessions`. Each is a file of
//! `schema/layouts/` that maps our columns to SQL over theirs; what it maps stands on a connection as two
//! temporary views, which live in memory, so that every statement reads them as it reads Hermes' tables. A
//! file of one's own is read by `layout_file`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use rusqlite::{Connection, Error, ErrorCode};
use serde::Deserialize;
use toml::Spanned;

use super::columns::{MESSAGE_REQUIRED, SESSION_REQUIRED};

/// The name of the layout that needs no mapping.
pub(super) const HERMES: &str = "hermes";

/// The layouts that are compiled in; of those that fit a file, the first is its own.
pub(super) static LAYOUTS: LazyLock<Vec<Layout>> = LazyLock::new(|| {
    let files = [
        include_str!("../../../../schema/layouts/llm.toml"),
        include_str!("../../../../schema/layouts/llm-responses.toml"),
        include_str!("../../../../schema/layouts/openai-agents.toml"),
    ];
    let read = |file| toml::from_str(file).expect("a layout that is compiled in has been read by tests");
    files.map(|file| Layout(Arc::new(read(file)))).into()
});

/// One way to lay out conversations in `SQLite`. Clones are one.
#[derive(Clone, Debug)]
pub struct Layout(pub(super) Arc<Mapping>);

/// What a layout's file says; `schema/layouts/README.md` says what each key means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mapping {
    pub(super) name: String,
    pub(super) about: String,
    /// Message ids are a row's number times this, and the number of its source.
    pub(super) stride: Spanned<i64>,
    pub(super) tables: BTreeMap<String, Spanned<Vec<String>>>,
    pub(super) sessions: Sessions,
    #[serde(default)]
    pub(super) shared: Expressions,
    pub(super) messages: Vec<Source>,
    /// The file of somebody's own that it was read from.
    #[serde(skip)]
    pub(super) file: Option<File>,
}

/// A layout's file and its text.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// SQL, and where it stands.
type Sql = Spanned<String>;

/// SQL expressions by the name of the column that they stand for.
pub(super) type Expressions = BTreeMap<String, Sql>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sessions {
    pub(super) from: Sql,
    pub(super) columns: Expressions,
}

/// One of the messages that a row of the file holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    pub(super) from: Sql,
    /// The row's number, which grows with time and has an index: a rowid.
    pub(super) row: Sql,
    #[serde(rename = "where")]
    pub(super) filter: Option<Sql>,
    /// Left out where the file has not what it names.
    #[serde(default)]
    pub(super) optional: bool,
    #[serde(default)]
    pub(super) columns: Expressions,
}

/// Why a file cannot be read by a layout.
pub(super) enum Refusal {
    /// `SQLite` could not be asked.
    Sqlite(Error),
    /// The layout names what the file has not, or is no SQL.
    Layout(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Returns the layout that a file is of, or what it lacks to be of each: one line a layout.
pub(super) fn find(connection: &Connection) -> rusqlite::Result<Result<&'static Mapping, Vec<String>>> {
    let mut lacking = Vec::new();
    for Layout(layout) in LAYOUTS.iter() {
        match layout.lacks(connection)? {
            None => return Ok(Ok(layout)),
            Some(what) => lacking.push(format!("{} ({}) needs {what}", layout.name, layout.about)),
        }
    }
    Ok(Err(lacking))
}

impl Mapping {
    /// Says what a file lacks to be of this layout.
    pub(super) fn lacks(&self, connection: &Connection) -> rusqlite::Result<Option<String>> {
        for (table, columns) in &self.tables {
            let there = columns_of(connection, "main", table)?;
            if there.is_empty() {
                return Ok(Some(self.placed(columns, &format!("a table \"{table}\""))));
            }
            if let Some(column) = columns.get_ref().iter().find(|column| !there.contains(column)) {
                let what = format!("a column \"{column}\" in its table \"{table}\"");
                return Ok(Some(self.placed(columns, &what)));
            }
        }
        Ok(None)
    }

    /// Returns the statements that make the two views. Fails if the file lacks what they must have.
    pub(super) fn views(&self, connection: &Connection) -> Result<[String; 2], Refusal> {
        let Sessions { from, columns } = &self.sessions;
        self.must_answer(connection, from, "1", from)?;
        let sessions = self.answered(connection, from, columns.clone(), &SESSION_REQUIRED)?;
        let sessions: Vec<_> =
            sessions.iter().map(|(name, value)| format!("{} AS \"{name}\"", value.get_ref())).collect();
        let mut sources = Vec::new();
        let mut columns = Vec::new();
        for (number, source) in self.messages.iter().enumerate() {
            let Some(found) = self.found(connection, source)? else { continue };
            columns.extend(found.keys().cloned());
            sources.push((number, source, found));
        }
        if sources.is_empty() {
            return Err(Refusal::Layout(
                "it has none of the tables that [[messages]] are read from".to_owned(),
            ));
        }
        columns.sort_unstable();
        columns.dedup();
        let sources: Vec<_> = sources
            .iter()
            .map(|(number, source, found)| self.source(*number, source, found, &columns))
            .collect();
        Ok([
            format!(
                "CREATE TEMP VIEW IF NOT EXISTS sessions AS SELECT {} FROM {}",
                sessions.join(", "),
                from.get_ref()
            ),
            format!("CREATE TEMP VIEW IF NOT EXISTS messages AS {}", sources.join(" UNION ALL ")),
        ])
    }

    /// Returns the expressions of a source that the file can answer; `None` if it can do without the source.
    fn found(&self, connection: &Connection, source: &Source) -> Result<Option<Expressions>, Refusal> {
        let Source { from, row, filter, .. } = source;
        let condition = filter.as_ref().map_or("1", |filter| filter.get_ref());
        let whole = format!("SELECT {} FROM {} WHERE {condition}", row.get_ref(), from.get_ref());
        if source.optional && !is_answered(connection, &whole)? {
            return Ok(None);
        }
        self.must_answer(connection, from, "1", from)?;
        self.must_answer(connection, from, row.get_ref(), row)?;
        if let Some(filter) = filter {
            self.must_answer(connection, from, filter.get_ref(), filter)?;
        }
        let mut columns = self.shared.clone();
        columns.extend(source.columns.clone());
        let required = MESSAGE_REQUIRED.iter().filter(|name| **name != "id").copied().collect::<Vec<_>>();
        self.answered(connection, from, columns, &required).map(Some)
    }

    /// Leaves out the expressions that name what the file has not: like Hermes', these files are read by the
    /// columns that exist. Fails if a required one is among them, or any of a layout of somebody's own, where
    /// it is a slip.
    fn answered(
        &self,
        connection: &Connection,
        from: &Sql,
        mut columns: Expressions,
        required: &[&str],
    ) -> Result<Expressions, Refusal> {
        let mut absent = Vec::new();
        for (name, value) in &columns {
            if self.file.is_some() || required.contains(&name.as_str()) {
                self.must_answer(connection, from, value.get_ref(), value)?;
            } else if !is_answered(connection, &selection(value.get_ref(), from))? {
                absent.push(name.clone());
            }
        }
        columns.retain(|name, _| !absent.contains(name));
        Ok(columns)
    }

    /// Fails with SQLite's words and the place in the layout's file if the database cannot answer an expression.
    fn must_answer<T>(
        &self,
        connection: &Connection,
        from: &Sql,
        value: &str,
        place: &Spanned<T>,
    ) -> Result<(), Refusal> {
        match connection.prepare(&selection(value, from)) {
            Ok(_) => Ok(()),
            Err(Error::SqlInputError { error, msg, .. }) if error.code == ErrorCode::Unknown => {
                Err(Refusal::Layout(self.placed(place, &msg)))
            }
            Err(Error::SqliteFailure(error, Some(message))) if error.code == ErrorCode::Unknown => {
                Err(Refusal::Layout(self.placed(place, &message)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Says where in a layout of somebody's own something stands.
    fn placed<T>(&self, place: &Spanned<T>, what: &str) -> String {
        match &self.file {
            Some(file) => format!("{what} ({})", file.place(place.span().start)),
            None => what.to_owned(),
        }
    }

    fn source(&self, number: usize, source: &Source, found: &Expressions, columns: &[String]) -> String {
        let values: Vec<_> = columns
            .iter()
            .map(|name| format!("{} AS \"{name}\"", found.get(name).map_or("NULL", |value| value.get_ref())))
            .collect();
        let (row, stride, from) = (source.row.get_ref(), self.stride.get_ref(), source.from.get_ref());
        let condition = source.filter.as_ref().map(|filter| format!(" WHERE {}", filter.get_ref()));
        let condition = condition.unwrap_or_default();
        format!(
            "SELECT {row} * {stride} + {number} AS id, {row} AS source_row, {} FROM {from}{condition}",
            values.join(", ")
        )
    }
}

/// Makes a layout's views on a connection; nothing else is ever written there.
pub(super) fn lay(connection: &Connection, views: &[String]) -> rusqlite::Result<()> {
    // SQLite forbids temporary objects too where it forbids changes.
    connection.pragma_update(None, "query_only", 0)?;
    // One statement each: whatever else a layout's file holds is not run.
    let made = views.iter().try_for_each(|view| connection.prepare(view)?.execute([]).map(drop));
    connection.pragma_update(None, "query_only", 1)?;
    made
}

fn selection(value: &str, from: &Sql) -> String {
    format!("SELECT {value} FROM {}", from.get_ref())
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
