//! FTS5 twice: as the agent searches with it, and at its best.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use afterthought::Result;
use afterthought_tools::archive::hermes_search;
use rusqlite::Connection;

use crate::catalogue::{Scope, Task, Unit};
use crate::data::{Query, Set, session_of};
use crate::failed;
use crate::metrics;
use crate::ours::firsts;
use crate::plain::calls;

/// Messages that the agent's search is asked for; its answer is cut to the conversation afterwards,
/// since it has no filter for that.
const AGENT_HITS: u32 = 20_000;

/// Messages of which sessions are taken in the order of their first, as with our own answer.
const HITS: u32 = 300;

/// Answers as the agent's own `session_search`: all words must be in one message, tool output and
/// reasoning are not searched, and what FTS5 cannot parse finds nothing.
pub(crate) fn agents(
    archive: &Path,
    set: &Set,
    task: Task,
    queries: &[&Query],
) -> Result<Vec<Vec<metrics::Unit>>> {
    let connection = Connection::open(archive).map_err(failed("open", archive.display()))?;
    let answer = |query: &&Query| {
        let found = hermes_search(&connection, &query.text, AGENT_HITS)
            .map_err(failed("ask the agent's search", &query.text))?;
        Ok(units(set, task, query, &found))
    };
    queries.iter().map(answer).collect()
}

/// What FTS5 cuts texts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tokenizer {
    /// Words without accents.
    Words,
    /// And English suffixes cut off.
    Porter,
    /// Every three characters.
    Trigrams,
}

impl Tokenizer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Words => "unicode61",
            Self::Porter => "porter",
            Self::Trigrams => "trigram",
        }
    }

    fn options(self) -> &'static str {
        match self {
            Self::Words => "unicode61 remove_diacritics 2",
            Self::Porter => "porter unicode61 remove_diacritics 2",
            Self::Trigrams => "trigram",
        }
    }
}

/// An FTS5 table of content, tool name, decoded tool calls and reasoning.
pub(crate) struct Table {
    connection: Connection,
    tokenizer: Tokenizer,
}

impl Table {
    /// Builds the table in a file of its own, which goes with it.
    pub(crate) fn build(set: &Set, tokenizer: Tokenizer, path: &Path) -> Result<Self> {
        // What a run left that was stopped; mostly there is none.
        let _ = fs::remove_file(path);
        let build = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.pragma_update(None, "journal_mode", "OFF")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            connection.execute_batch(&format!(
                "CREATE VIRTUAL TABLE best USING fts5(content, tool_name, tool_calls, reasoning, \
                 content = '', tokenize = '{}'); BEGIN",
                tokenizer.options()
            ))?;
            {
                let mut insert = connection.prepare(
                    "INSERT INTO best(rowid, content, tool_name, tool_calls, reasoning) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?;
                for talk in &set.sessions {
                    for (id, message) in (i64::from(talk.first) + 1..).zip(&talk.messages) {
                        let (content, calls) = (message.content.text(), calls(message));
                        insert.execute((id, content, &message.tool_name, calls, &message.reasoning))?;
                    }
                }
            }
            connection.execute_batch("COMMIT; INSERT INTO best(best) VALUES ('optimize')")?;
            Ok(connection)
        };
        let connection = build().map_err(failed("build FTS5 table in", path.display()))?;
        // Its name is not needed any more; the file lives as long as the connection.
        fs::remove_file(path).map_err(failed("remove", path.display()))?;
        Ok(Self { connection, tokenizer })
    }

    /// Answers every query of a task: any word, by `bm25` with these weights of the columns.
    pub(crate) fn rankings(
        &self,
        set: &Set,
        task: Task,
        queries: &[&Query],
        weights: [f64; 4],
    ) -> Result<Vec<Vec<metrics::Unit>>> {
        let answer = |query: &&Query| {
            let found = self.search(set, task, query, weights).map_err(failed("ask FTS5", &query.text))?;
            Ok(units(set, task, query, &found))
        };
        queries.iter().map(answer).collect()
    }

    fn search(
        &self,
        set: &Set,
        task: Task,
        query: &Query,
        [content, tool_name, tool_calls, reasoning]: [f64; 4],
    ) -> rusqlite::Result<Vec<i64>> {
        let asked = self.asked(&query.text);
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let (from, to) = rows(set, task, query);
        let sql = format!(
            "SELECT rowid FROM best WHERE best MATCH ?1 AND rowid BETWEEN {from} AND {to} \
             ORDER BY bm25(best, {content:?}, {tool_name:?}, {tool_calls:?}, {reasoning:?}) LIMIT {HITS}"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement.query_map([asked], |row| row.get(0))?.collect()
    }

    /// Writes a query as alternatives, each once.
    fn asked(&self, text: &str) -> String {
        let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
        let parts: Vec<String> = match self.tokenizer {
            Tokenizer::Words | Tokenizer::Porter => runs.map(str::to_lowercase).collect(),
            Tokenizer::Trigrams => {
                let three = |run: &str| {
                    let characters: Vec<char> = run.to_lowercase().chars().collect();
                    characters.windows(3).map(|three| three.iter().collect()).collect::<Vec<String>>()
                };
                runs.flat_map(three).collect()
            }
        };
        let mut seen = HashSet::new();
        let parts = parts.into_iter().filter(|part| seen.insert(part.clone()));
        parts.map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(" OR ")
    }
}

/// Returns the first and last row that a query looks at.
fn rows(set: &Set, task: Task, query: &Query) -> (i64, i64) {
    let Some(own) = query.own.as_ref().filter(|_| task.scope == Scope::Own) else { return (0, i64::MAX) };
    let first = set.sessions.get(own.start as usize).map_or(0, |talk| i64::from(talk.first) + 1);
    let after = set.sessions.get(own.end as usize).map_or(i64::MAX, |talk| i64::from(talk.first));
    (first, after)
}

/// Turns rows found, best first, into the units of a task, within what the query looks at.
fn units(set: &Set, task: Task, query: &Query, found: &[i64]) -> Vec<metrics::Unit> {
    let (from, to) = rows(set, task, query);
    let found = found.iter().filter(|id| (from..=to).contains(*id));
    let messages = found.filter_map(|id| metrics::Unit::try_from(id - 1).ok());
    match task.unit {
        Unit::Message => messages.take(50).collect(),
        Unit::Session => firsts(messages.map(|message| session_of(&set.sessions, message))),
    }
}
