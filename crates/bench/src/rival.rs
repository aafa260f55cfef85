//! The rivals: the same rows in `SQLite`, asked through one of FTS5's layouts or by a scan. All answer
//! what we answer: ten whole rows with snippets, the total, and sessions or counts where they are
//! asked for.
//!
//! What favours FTS5 is done: `optimize` after the build, a log instead of a journal, ids and flags
//! before the large texts, statements prepared once, FTS5 first in every join, a cache as large as is
//! useful; and where one pass read by the program beats two statements, that is a way to ask as well.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use afterthought::{Error, ErrorKind, Result};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::failed;
use crate::layout::{FLAGS, Piece, Table};
use crate::question::{Condition, PAGE_HITS, Question, Shape};

/// What a search shows. Flags are 0 or 1 in the copy.
const VISIBLE: &str = "(m.active = 1 OR m.compacted = 1) AND m.display_kind IS NOT 'hidden' \
    AND m.role <> 'session_meta'";

/// What a hit shows, besides its snippet.
const SHOWN: &str = "f.id, f.session_id, f.role, f.timestamp, s.source, s.title, f.content, f.tool_calls, \
    f.reasoning, f.reasoning_content";

/// Columns of [`SHOWN`] that come before the texts, and all of them.
const SHOWN_HEAD: usize = 6;
const SHOWN_COLUMNS: usize = 10;

/// What words weigh in each column where weights are given: as here, what was said counts most.
const BM25_WEIGHTS: &str = "2.0, 1.0, 1.0, 1.0";

/// Rows that the agent's own search reads before it groups them.
pub(crate) const AGENT_ROWS: usize = 300;

/// How much of the database a connection keeps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cache {
    /// 2 MB: `SQLite`'s own default, and what the agent runs with.
    Shipped,
    /// 256 MB, and the file mapped into memory.
    Large,
}

/// Where matches come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Route {
    /// A table of FTS5.
    Match(Table),
    /// Every row's texts.
    Scan,
}

/// How the page is found among the matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// By SQL: FTS5's own rank, the time, or groups.
    Rank,
    /// The same with explicit weights in FTS5's rank.
    Weights,
    /// Every match once with `bm25()`; the program keeps the ten best, the total and the counts.
    OnePass,
    /// The highest ids first, which FTS5 has in order. Only where they are the newest.
    RowId,
}

/// One way to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Where matches come from.
    pub route: Route,
    /// How the page is found.
    pub order: Order,
    /// Whether flags come from an index of their own.
    pub flags: bool,
    /// Whether the total is wanted.
    pub total: bool,
    /// Hits of the page.
    pub rows: usize,
}

impl Way {
    /// Asks a table for a page in FTS5's own order, and for the total.
    #[must_use]
    pub fn rank(table: Table) -> Self {
        Self { route: Route::Match(table), order: Order::Rank, flags: false, total: true, rows: PAGE_HITS }
    }

    /// Scans.
    #[must_use]
    pub fn scan() -> Self {
        Self { route: Route::Scan, order: Order::OnePass, ..Self::rank(Table::BestWords) }
    }

    fn table(self) -> Option<&'static str> {
        match self.route {
            Route::Match(table) => Some(table.name()),
            Route::Scan => None,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(table) = self.table() else { return out.write_str("LIKE over every row") };
        let how = match self.order {
            Order::Rank => "ORDER BY rank",
            Order::Weights => "ORDER BY rank with weights",
            Order::OnePass => "bm25() with weights in one pass",
            Order::RowId => "ORDER BY rowid",
        };
        let grams = if table.ends_with("grams") { "trigrams, " } else { "" };
        write!(out, "{grams}{how}{}", if self.flags { ", flags from an index" } else { "" })
    }
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// How many messages match, or sessions; `None` where it was not asked.
    pub total: Option<u64>,
    /// The page, best first.
    pub hits: Vec<Found>,
    /// How many of all that match have which role and source, where that was asked.
    pub counts: Vec<(String, String, u64)>,
}

/// One hit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The message.
    pub id: i64,
    /// Its session's source and title, its role and time, and the rest that a page shows.
    pub head: Vec<String>,
    /// The text around the match.
    pub snippet: String,
    /// Bytes of the texts that were read to show it.
    pub text_bytes: usize,
}

/// A connection that answers through FTS5 or by scanning.
pub struct Rival {
    connection: Connection,
}

impl Rival {
    /// Builds FTS5's strongest table of words in a copy of an archive. Fails if there is one.
    pub fn build(path: &Path) -> Result<Self> {
        let rival = Self::open(path, Cache::Large)?;
        rival.build_piece(Piece::Best)?;
        Ok(rival)
    }

    /// Builds one piece. Fails if it is there. Returns when it stands in the database's own file.
    pub fn build_piece(&self, piece: Piece) -> Result<()> {
        let sql = format!("BEGIN; {} COMMIT; PRAGMA wal_checkpoint(TRUNCATE);", piece.build_sql());
        self.connection.execute_batch(&sql).map_err(failed("build", piece.name()))
    }

    /// Merges the strongest table of words into its smallest form. Returns the seconds that took.
    pub fn optimize(&self) -> Result<f64> {
        self.optimize_piece(Piece::Best)
    }

    /// Merges a piece into its smallest form. Returns the seconds that took.
    pub fn optimize_piece(&self, piece: Piece) -> Result<f64> {
        let began = Instant::now();
        for table in piece.tables() {
            let sql =
                format!("INSERT INTO {table}({table}) VALUES ('optimize'); PRAGMA wal_checkpoint(TRUNCATE);");
            self.connection.execute_batch(&sql).map_err(failed("optimize", piece.name()))?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// Leaves the database as an archive is that nobody holds open, its log gone. Fails if others hold it open.
    pub(crate) fn lay_to_rest(&self) -> Result<()> {
        self.journal("DELETE")
    }

    /// Writes by a log again, as the agent does.
    pub(crate) fn wake(&self) -> Result<()> {
        self.journal("WAL")
    }

    fn journal(&self, mode: &str) -> Result<()> {
        let set = self.connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0));
        let set: String = set.map_err(failed("set the journal of", "the copy"))?;
        if set.eq_ignore_ascii_case(mode) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Internal, "set the journal of", "the copy")
            .because(format!("it stays {set}")))
    }

    /// Returns how many bytes the pages of a piece take. Reads every page of the database.
    pub fn index_bytes(&self, piece: Piece) -> Result<u64> {
        let bytes = |part: &&str| {
            let sql = "SELECT coalesce(sum(pgsize), 0) FROM dbstat \
                WHERE (name = ?1 OR name LIKE ?1 || '\\_%' ESCAPE '\\') AND aggregate = TRUE";
            let bytes = self.connection.query_row(sql, [part], |row| row.get::<_, i64>(0));
            bytes.map(i64::unsigned_abs).map_err(failed("measure", part))
        };
        piece.parts().iter().map(bytes).sum()
    }

    /// Opens a copy of an archive, as an agent would.
    pub fn open(path: &Path, cache: Cache) -> Result<Self> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.busy_timeout(Duration::from_secs(10))?;
            connection.set_prepared_statement_cache_capacity(128);
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            if cache == Cache::Large {
                connection.pragma_update(None, "cache_size", -262_144)?;
                // As much as SQLite maps at all.
                connection.query_row("PRAGMA mmap_size = 2147418112", [], |_| Ok(()))?;
            }
            Ok(connection)
        };
        Ok(Self { connection: open().map_err(failed("open the rival's database", path.display()))? })
    }

    /// Makes inserts keep a piece true, or leaves that again.
    pub(crate) fn follow_inserts(&self, piece: Piece, follow: bool) -> Result<()> {
        let sql = if follow { piece.insert_triggers() } else { piece.drop_triggers() };
        self.connection.execute_batch(&sql).map_err(failed("change the triggers of", piece.name()))
    }

    /// Appends a row as an agent does, with all that the triggers do.
    pub fn append(&self, session_id: &str, content: &str) -> Result<()> {
        let sql = "INSERT INTO messages (session_id, role, active, compacted, content, timestamp) \
            VALUES (?1, 'user', 1, 0, ?2, 1.8e9)";
        let insert = || self.connection.prepare_cached(sql)?.execute([session_id, content]);
        insert().map(drop).map_err(failed::<rusqlite::Error>("append to", session_id))
    }

    /// Returns the connection, for statistics.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Answers by the strongest table of words: its ten best by its own rank, and the total.
    pub fn fts5(&self, question: &Question) -> Result<Answer> {
        self.ask(question, Way::rank(Table::BestWords))
    }

    /// Answers by scanning: the ten newest, and the total.
    pub fn scan(&self, question: &Question) -> Result<Answer> {
        self.ask(question, Way::scan())
    }

    /// Answers in one way.
    pub fn ask(&self, question: &Question, way: Way) -> Result<Answer> {
        let matches = Matches::of(question, way);
        if way.order == Order::OnePass {
            return self.one_pass(question, &matches);
        }
        let mut answer = match (question.shape, way.order) {
            (Shape::BySession, _) => return self.by_session(question, &matches),
            (Shape::Newest, Order::RowId) => self.sorted(question, &matches, "m.id DESC")?,
            (Shape::Newest, _) => self.sorted(question, &matches, "m.timestamp DESC, m.id DESC")?,
            _ => self.ranked(question, &matches)?,
        };
        if question.shape == Shape::Facets {
            answer.counts = self.counts(&matches)?;
            answer.total = Some(answer.counts.iter().map(|(_, _, count)| count).sum());
        } else if way.total {
            answer.total = Some(self.total(&matches)?);
        }
        Ok(answer)
    }

    /// Returns the ids of all that match, ascending.
    pub(crate) fn ids(&self, question: &Question, way: Way) -> Result<Vec<i64>> {
        let matches = Matches::of(question, way);
        let sql = format!("SELECT m.id FROM {} ORDER BY m.id", matches.from);
        self.each(&sql, &matches, |row| row.get(0))
    }

    fn total(&self, matches: &Matches) -> Result<u64> {
        let sql = format!("SELECT count(*) FROM {}", matches.from);
        let count = self.each(&sql, matches, |row| row.get::<_, i64>(0))?;
        Ok(count.first().copied().unwrap_or_default().unsigned_abs())
    }

    fn counts(&self, matches: &Matches) -> Result<Vec<(String, String, u64)>> {
        let sql = format!(
            "SELECT m.role, (SELECT source FROM sessions WHERE id = m.session_id), count(*) \
             FROM {} GROUP BY 1, 2 ORDER BY 1, 2",
            matches.from
        );
        self.each(&sql, matches, |row| {
            let count = row.get::<_, i64>(2)?.unsigned_abs();
            Ok((text(row.get_ref(0)?), text(row.get_ref(1)?), count))
        })
    }

    /// Reads a page in FTS5's own order: FTS5 sorts, and only what is shown is looked up.
    fn ranked(&self, question: &Question, matches: &Matches) -> Result<Answer> {
        let sql = ranked_sql(question, matches);
        let hits = self.each(&sql, matches, |row| {
            let snippet = text(row.get_ref(SHOWN_COLUMNS)?);
            found(row, |_| snippet)
        })?;
        Ok(Answer { hits, ..Answer::default() })
    }

    fn sorted(&self, question: &Question, matches: &Matches, order: &str) -> Result<Answer> {
        let sql = format!("SELECT m.id FROM {} ORDER BY {order} LIMIT {}", matches.from, matches.way.rows);
        let ids: Vec<i64> = self.each(&sql, matches, |row| row.get(0))?;
        Ok(Answer { hits: self.shown(question, matches, &ids)?, ..Answer::default() })
    }

    fn by_session(&self, question: &Question, matches: &Matches) -> Result<Answer> {
        // FTS5 ranks only outside of an aggregate; of the row that is least, SQLite takes the id.
        let sql = format!(
            "WITH hits AS MATERIALIZED (SELECT m.id AS id, {table}.rank AS score, m.session_id AS session \
             FROM {from}) SELECT id, min(score) AS score, count(*) OVER () FROM hits GROUP BY session \
             ORDER BY score, id DESC LIMIT {rows}",
            table = matches.way.table().unwrap_or_default(),
            from = matches.from,
            rows = matches.way.rows
        );
        let groups: Vec<(i64, i64)> = self.each(&sql, matches, |row| Ok((row.get(0)?, row.get(2)?)))?;
        let ids: Vec<i64> = groups.iter().map(|(id, _)| *id).collect();
        let total = groups.first().map_or(0, |(_, total)| total.unsigned_abs());
        let hits = self.shown(question, matches, &ids)?;
        Ok(Answer { total: Some(total), hits, counts: Vec::new() })
    }

    /// Reads every match once and keeps what the answer needs.
    fn one_pass(&self, question: &Question, matches: &Matches) -> Result<Answer> {
        let sql = one_pass_sql(question.shape, matches);
        let mut pass = Pass::default();
        self.each(&sql, matches, |row| pass.take(row, question.shape))?;
        let (total, ids) = pass.page(question.shape.offset(), matches.way.rows);
        let counts = pass.counts.into_iter().map(|((role, source), count)| (role, source, count));
        Ok(Answer {
            total: Some(total),
            hits: self.shown(question, matches, &ids)?,
            counts: counts.collect(),
        })
    }

    /// Reads messages whole, each with its snippet.
    fn shown(&self, question: &Question, matches: &Matches, ids: &[i64]) -> Result<Vec<Found>> {
        let Some(table) = matches.way.table() else { return self.scanned(question, ids) };
        let sql = format!(
            "SELECT {SHOWN}, {snippet} FROM {table} CROSS JOIN messages f ON f.id = {table}.rowid \
             LEFT JOIN sessions s ON s.id = f.session_id WHERE {table} MATCH ?1 AND {table}.rowid = ?2",
            snippet = snippet(table)
        );
        let mut hits = Vec::with_capacity(ids.len());
        for id in ids {
            let values = vec![Value::Text(question.fts5()), Value::Integer(*id)];
            let one = Matches { values, ..matches.clone() };
            hits.extend(self.each(&sql, &one, |row| {
                let snippet = text(row.get_ref(SHOWN_COLUMNS)?);
                found(row, |_| snippet)
            })?);
        }
        Ok(hits)
    }

    fn scanned(&self, question: &Question, ids: &[i64]) -> Result<Vec<Found>> {
        let sql = format!(
            "SELECT {SHOWN} FROM messages f LEFT JOIN sessions s ON s.id = f.session_id WHERE f.id = ?1"
        );
        let words: Vec<String> = question.words().iter().map(|word| word.to_lowercase()).collect();
        let cut_out = |texts: &[String]| {
            let cuts = words.iter().find_map(|word| texts.iter().find_map(|text| cut(text, word)));
            cuts.unwrap_or_default()
        };
        let mut hits = Vec::with_capacity(ids.len());
        for id in ids {
            let one = Matches { values: vec![Value::Integer(*id)], ..Matches::of(question, Way::scan()) };
            hits.extend(self.each(&sql, &one, |row| found(row, cut_out))?);
        }
        Ok(hits)
    }

    fn each<T>(
        &self,
        sql: &str,
        matches: &Matches,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params_from_iter(&matches.values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(read(row)?);
            }
            Ok(found)
        };
        all().map_err(failed::<rusqlite::Error>("search with", sql))
    }
}

/// What matches, as what stands behind FROM, and the values it needs.
#[derive(Clone)]
struct Matches {
    way: Way,
    from: String,
    values: Vec<Value>,
}

impl Matches {
    fn of(question: &Question, way: Way) -> Self {
        let Some(table) = way.table() else {
            let condition = visible_and(question.scan(), question);
            let from = format!("messages m WHERE {}", condition.sql);
            return Self { way, from, values: condition.values };
        };
        let weighed = if way.order == Order::Weights && question.shape != Shape::Newest {
            format!(" AND {table}.rank MATCH 'bm25({BM25_WEIGHTS})'")
        } else {
            String::new()
        };
        let matched = Condition {
            sql: format!("{table} MATCH ?1{weighed}"),
            values: vec![Value::Text(question.fts5())],
        };
        let condition = visible_and(matched, question);
        let by_flags = if way.flags { format!(" INDEXED BY {FLAGS}") } else { String::new() };
        let from = format!(
            "{table} CROSS JOIN messages m{by_flags} ON m.id = {table}.rowid WHERE {}",
            condition.sql
        );
        Self { way, from, values: condition.values }
    }
}

fn snippet(table: &str) -> String {
    format!("snippet({table}, -1, '>>>', '<<<', '...', 40)")
}

fn ranked_sql(question: &Question, matches: &Matches) -> String {
    let table = matches.way.table().unwrap_or_default();
    let (from, condition) = matches.from.split_once(" WHERE ").unwrap_or((&matches.from, "TRUE"));
    format!(
        "SELECT {SHOWN}, {snippet} FROM {from} CROSS JOIN messages f ON f.id = {table}.rowid \
         LEFT JOIN sessions s ON s.id = f.session_id WHERE {condition} ORDER BY {table}.rank \
         LIMIT {} OFFSET {}",
        matches.way.rows,
        question.shape.offset(),
        snippet = snippet(table),
    )
}

/// Least first: a rank, or the time or the id turned round.
fn one_pass_sql(shape: Shape, matches: &Matches) -> String {
    let key = match (matches.way.table(), shape) {
        (_, Shape::Newest) => "-CAST(m.timestamp AS REAL)".to_owned(),
        (Some(table), _) => format!("bm25({table}, {BM25_WEIGHTS})"),
        (None, _) => "-CAST(m.id AS REAL)".to_owned(),
    };
    let more = match shape {
        Shape::BySession => "m.session_id, NULL",
        Shape::Facets => "m.role, (SELECT source FROM sessions WHERE id = m.session_id)",
        Shape::Best | Shape::Newest | Shape::After1000 => "NULL, NULL",
    };
    format!("SELECT m.id, {key}, {more} FROM {}", matches.from)
}

/// What one pass over the matches keeps.
#[derive(Default)]
struct Pass {
    keys: Vec<(f64, i64)>,
    sessions: HashMap<String, (f64, i64)>,
    counts: BTreeMap<(String, String), u64>,
}

impl Pass {
    fn take(&mut self, row: &Row<'_>, shape: Shape) -> rusqlite::Result<()> {
        // A time that is no number comes last.
        let key = (row.get::<_, Option<f64>>(1)?.unwrap_or(f64::MAX), row.get(0)?);
        match shape {
            Shape::BySession => {
                let session = text(row.get_ref(2)?);
                let best = self.sessions.entry(session).or_insert(key);
                if key.0 < best.0 {
                    *best = key;
                }
            }
            Shape::Facets => {
                let counted = (text(row.get_ref(2)?), text(row.get_ref(3)?));
                *self.counts.entry(counted).or_default() += 1;
                self.keys.push(key);
            }
            Shape::Best | Shape::Newest | Shape::After1000 => self.keys.push(key),
        }
        Ok(())
    }

    /// Returns how many there are, and the ids of one page.
    fn page(&mut self, offset: usize, rows: usize) -> (u64, Vec<i64>) {
        self.keys.extend(self.sessions.drain().map(|(_, key)| key));
        let total = self.keys.len() as u64;
        let by_key = |a: &(f64, i64), b: &(f64, i64)| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1));
        let end = offset + rows;
        if end < self.keys.len() {
            self.keys.select_nth_unstable_by(end, by_key);
            self.keys.truncate(end);
        }
        self.keys.sort_unstable_by(by_key);
        (total, self.keys.iter().skip(offset).map(|(_, id)| *id).collect())
    }
}

fn found(row: &Row<'_>, snippet: impl FnOnce(&[String]) -> String) -> rusqlite::Result<Found> {
    let column = |at| row.get_ref(at).map(text);
    // Whole, as every page here reads them: content, tool calls, reasoning.
    let texts = (SHOWN_HEAD..SHOWN_COLUMNS).map(column).collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(Found {
        id: row.get(0)?,
        head: (1..SHOWN_HEAD).map(column).collect::<rusqlite::Result<_>>()?,
        text_bytes: texts.iter().map(String::len).sum(),
        snippet: snippet(&texts),
    })
}

/// Reads any value as text; what is damaged as far as it is whole.
pub(crate) fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn visible_and(mut condition: Condition, question: &Question) -> Condition {
    condition.sql += &format!(" AND {VISIBLE}");
    if let Some(role) = &question.role {
        condition.values.push(Value::Text(role.clone()));
        condition.sql += &format!(" AND m.role IN (?{})", condition.values.len());
    }
    condition
}

/// Characters of a scan's snippet, and how many of them stand before the word.
const SNIPPET_CHARS: usize = 120;
const SNIPPET_BEFORE: usize = 40;

/// Cuts a snippet around a word; `None` where the text does not hold it.
fn cut(text: &str, words: &str) -> Option<String> {
    let at = text.to_ascii_lowercase().find(words)?;
    let before = text[..at].chars().count().saturating_sub(SNIPPET_BEFORE);
    Some(text.chars().skip(before).take(SNIPPET_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use afterthought::archive::Archive;
    use afterthought::{Engine, Level, Options};
    use afterthought_tools::archive::{Cell, Fts, Message, Session, Shape as Schema, Writer};
    use tempfile::TempDir;

    use super::*;

    /// Returns an archive's copy with every index, and who answers from them.
    fn sides(write: impl FnOnce(&mut Writer) -> rusqlite::Result<()>) -> (TempDir, Rival, Engine) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (state, copy) = (folder.path().join("state.db"), folder.path().join("copy.db"));
        let mut writer = Writer::create(&state, Schema::V22, Fts::None).expect("a new archive");
        writer.session(&Session::new("s")).expect("a session");
        write(&mut writer).expect("rows");
        writer.close().expect("a clean close");
        Archive::at(&state, false).and_then(|archive| archive.copy_rows(&copy, |_| Ok(()))).expect("a copy");
        let rival = Rival::open(&copy, Cache::Shipped).expect("a rival");
        for piece in Piece::ALL {
            rival.build_piece(piece).expect("an index");
            rival.optimize_piece(piece).expect("a smaller one");
        }
        let engine = Engine::open(&Options::new(&copy, folder.path().join("index"))).expect("an engine");
        engine.freshen(Level::Full, Duration::MAX, |_| {}).expect("a sync");
        (folder, rival, engine)
    }

    fn talk(writer: &mut Writer) -> rusqlite::Result<()> {
        for message in [
            Message::user("the lock order is wrong"),
            Message::assistant("order the lock again").with_reasoning("the lease has the lock first"),
            Message::thought("only a cormorant knows the lease"),
            Message::tool("terminal", "lock lock lock and no order"),
            Message { active: false, ..Message::user("the lock order was taken back") },
            Message { active: false, compacted: true, ..Message::user("the lock order was summed up") },
            Message::new("session_meta", "the lock order of nobody"),
        ] {
            writer.message("s", &message)?;
        }
        Ok(())
    }

    fn ids(answer: &Answer) -> Vec<i64> {
        let mut ids: Vec<i64> = answer.hits.iter().map(|hit| hit.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Every way to ask the strongest layout.
    fn ways() -> Vec<Way> {
        let mut ways = vec![Way::scan()];
        for order in [Order::Rank, Order::Weights, Order::OnePass] {
            ways.extend([false, true].map(|flags| Way { order, flags, ..Way::rank(Table::BestWords) }));
        }
        ways
    }

    #[test]
    fn work_is_equal_on_plain_words() {
        let (_folder, rival, engine) = sides(talk);
        for (question, expect) in [
            (Question::any("lock"), vec![1, 2, 4, 6]),
            (Question::any("lease wrong"), vec![1, 2, 3]),
            (Question::all("lease first"), vec![2]),
            (Question::any("\"lock order\""), vec![1, 6]),
            (Question::any("lock").of_role("user"), vec![1, 6]),
            (Question::any("lock").shaped(Shape::Newest), vec![1, 2, 4, 6]),
            (Question::any("lock").shaped(Shape::Facets), vec![1, 2, 4, 6]),
            (Question::any("lea*"), vec![2, 3]),
            (Question::any("+lock NOT wrong"), vec![2, 4, 6]),
            (Question::any("cormorant"), vec![3]),
            (Question::any("heron"), vec![]),
        ] {
            let page = engine.search(question.request()).expect("a page");
            let mut ours: Vec<i64> = page.results.iter().filter_map(|hit| hit.message_id).collect();
            ours.sort_unstable();
            assert_eq!((&ours, page.total.value), (&expect, expect.len() as u64), "{question:?}");
            for way in ways() {
                let answer = rival.ask(&question, way).expect("an answer");
                assert_eq!(ids(&answer), expect, "{way} {question:?}");
                assert_eq!(answer.total, Some(expect.len() as u64), "{way} {question:?}");
                assert!(answer.hits.iter().all(|hit| !hit.snippet.is_empty()), "{way} {question:?}");
            }
        }
    }

    #[test]
    fn a_released_layout_finds_all_but_thoughts() {
        let (_folder, rival, _) = sides(talk);
        for table in [Table::ShippedWords, Table::V30Words] {
            let found = |query: &str| rival.ask(&Question::any(query), Way::rank(table)).expect("an answer");
            assert_eq!((ids(&found("lock")), found("lock").total), (vec![1, 2, 4, 6], Some(4)), "{table:?}");
            assert_eq!((ids(&found("cormorant")), found("cormorant").total), (vec![], Some(0)), "{table:?}");
            let asked_as_agent = Way { total: false, rows: AGENT_ROWS, ..Way::rank(table) };
            let page = rival.ask(&Question::any("lock"), asked_as_agent).expect("a page");
            assert_eq!((page.hits.len(), page.total), (4, None));
        }
    }

    #[test]
    fn trigrams_find_what_stands_inside_a_word() {
        let han = |writer: &mut Writer| {
            writer.message("s", &Message::user("今天的聊天记录很严重"))?;
            writer.message("s", &Message::thought("看聊天记录"))?;
            writer.message("s", &Message::tool("terminal", "聊天记录")).map(drop)
        };
        let (_folder, rival, engine) = sides(han);
        let question = Question::any("聊天记录");
        assert_eq!(engine.search(question.request()).expect("a page").total.value, 3);
        for (table, expect) in [
            (Table::BestGrams, vec![1, 2, 3]),
            (Table::ShippedGrams, vec![1, 3]),
            (Table::V30Grams, vec![1]),
            (Table::BestWords, vec![3]),
        ] {
            let answer = rival.ask(&question, Way::rank(table)).expect("an answer");
            assert_eq!(ids(&answer), expect, "{table:?}");
        }
        assert_eq!(ids(&rival.scan(&Question::any("聊天")).expect("a scan")), [1, 2, 3]);
    }

    #[test]
    fn sessions_and_counts_are_those_of_every_side() {
        let two = |writer: &mut Writer| {
            writer.session(&Session::new("t"))?;
            writer.message("s", &Message::user("lock"))?;
            writer.message("s", &Message::user("a lock among many other words that say nothing"))?;
            writer.message("t", &Message::assistant("lock and order"))?;
            writer.message("t", &Message::tool("terminal", "heron")).map(drop)
        };
        let (_folder, rival, engine) = sides(two);
        let question = Question::any("lock").shaped(Shape::BySession);
        let page = engine.search(question.request()).expect("a page");
        assert_eq!(page.total.value, 2);
        for way in ways().into_iter().filter(|way| way.route != Route::Scan) {
            let answer = rival.ask(&question, way).expect("an answer");
            assert_eq!((ids(&answer), answer.total), (vec![1, 3], Some(2)), "{way}");
        }
        assert_eq!(rival.scan(&question).expect("a scan").total, Some(2));
        for way in ways() {
            let answer = rival.ask(&Question::any("lock").shaped(Shape::Facets), way).expect("an answer");
            let counts: Vec<(&str, u64)> =
                answer.counts.iter().map(|(role, _, count)| (role.as_str(), *count)).collect();
            assert_eq!(counts, [("assistant", 1), ("user", 2)], "{way}");
        }
    }

    #[test]
    fn pages_after_the_first_thousand_and_newest_first_are_equal() {
        let many = |writer: &mut Writer| {
            for number in 0..1_015_u32 {
                let time = 1e9 + f64::from(number);
                let words = "word ".repeat(number as usize % 7);
                let message = Message::user(&format!("lock {words}"));
                writer.message("s", &Message { timestamp: Some(Cell::from(time)), ..message })?;
            }
            Ok(())
        };
        let (_folder, rival, engine) = sides(many);
        let newest = Question::any("lock").shaped(Shape::Newest);
        let ours = engine.search(newest.request()).expect("a page");
        let ours: Vec<i64> = ours.results.iter().filter_map(|hit| hit.message_id).collect();
        assert_eq!(ours, (1_006..=1_015).rev().collect::<Vec<i64>>());
        let by_id = Way { order: Order::RowId, ..Way::rank(Table::BestWords) };
        for way in ways().into_iter().chain([by_id]) {
            let answer = rival.ask(&newest, way).expect("an answer");
            assert_eq!(answer.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), ours, "{way}");
        }
        let deep = Question::any("lock").shaped(Shape::After1000);
        assert_eq!(engine.search(deep.request()).expect("a page").results.len(), 10);
        for way in ways() {
            let answer = rival.ask(&deep, way).expect("an answer");
            assert_eq!((answer.hits.len(), answer.total), (10, Some(1_015)), "{way}");
        }
    }

    #[test]
    fn a_hit_is_read_whole_and_shows_where_it_matched() {
        let (_folder, rival, _) = sides(talk);
        for way in ways().into_iter().filter(|way| way.route != Route::Scan) {
            let answer = rival.ask(&Question::any("cormorant"), way).expect("FTS5");
            assert_eq!(answer.hits[0].snippet, "only a >>>cormorant<<< knows the lease");
            assert_eq!(answer.hits[0].head[..2], ["s", "assistant"]);
        }
        let scan = rival.scan(&Question::any("cormorant")).expect("a scan");
        assert_eq!(scan.hits[0].snippet, "only a cormorant knows the lease");
    }

    #[test]
    fn tool_output_is_cut_where_the_agent_cuts_it() {
        let long = |writer: &mut Writer| {
            let output = format!("{}cormorant", "word ".repeat(2_000));
            writer.message("s", &Message::tool("terminal", &output)).map(drop)
        };
        let (_folder, rival, engine) = sides(long);
        let question = Question::any("cormorant");
        assert_eq!(rival.fts5(&question).expect("FTS5").total, Some(0));
        let shipped = rival.ask(&question, Way::rank(Table::ShippedWords)).expect("FTS5");
        assert_eq!(shipped.total, Some(1), "releases index it whole");
        assert_eq!(rival.scan(&question).expect("a scan").total, Some(1));
        assert_eq!(engine.search(question.request()).expect("a page").total.value, 1);
    }

    #[test]
    fn an_appended_row_is_found_by_whoever_follows() {
        let (_folder, rival, _) = sides(|_| Ok(()));
        let pieces = [Piece::Shipped, Piece::V30, Piece::Best, Piece::BestTrigram];
        for piece in pieces {
            rival.follow_inserts(piece, true).expect("triggers");
        }
        rival.append("s", "a heron").expect("a row");
        for table in [
            Table::ShippedWords,
            Table::ShippedGrams,
            Table::V30Words,
            Table::V30Grams,
            Table::BestWords,
            Table::BestGrams,
        ] {
            let answer = rival.ask(&Question::any("heron"), Way::rank(table)).expect("FTS5");
            assert_eq!(answer.total, Some(1), "{table:?}");
        }
        for piece in pieces {
            rival.follow_inserts(piece, false).expect("no triggers");
        }
        rival.append("s", "another heron").expect("a row");
        assert_eq!(rival.fts5(&Question::any("heron")).expect("FTS5").total, Some(1));
    }

    #[test]
    fn fts5_ranks_by_itself_and_only_for_the_page() {
        let (_folder, rival, _) = sides(talk);
        for way in ways().into_iter().filter(|way| matches!(way.order, Order::Rank | Order::Weights)) {
            let question = Question::any("lock");
            let matches = Matches::of(&question, way);
            let sql = format!("EXPLAIN QUERY PLAN {}", ranked_sql(&question, &matches));
            let steps = rival.each(&sql, &matches, |row| row.get::<_, String>(3)).expect("a plan");
            assert!(steps[0].starts_with("SCAN best_words VIRTUAL TABLE"), "{steps:?}");
            assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "only FTS5 sorts: {steps:?}");
            let looks_up = if way.flags { "USING COVERING INDEX best_flags" } else { "INTEGER PRIMARY KEY" };
            assert!(steps[1].contains(looks_up), "{steps:?}");
        }
    }

    #[test]
    fn every_piece_takes_pages_of_its_own() {
        let (_folder, rival, _) = sides(talk);
        for piece in Piece::ALL {
            assert!(rival.index_bytes(piece).expect("bytes") >= 4_096, "{piece:?}");
        }
    }
}
