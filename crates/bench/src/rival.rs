//! The rival: the same rows in `SQLite`, with reasoning as a fourth column of the agent's newest FTS5
//! layout, and the scan that needs no index. Both answer what we answer: ten whole rows with
//! snippets, and the total.
//!
//! What favours FTS5 is done: `optimize` after the build, a log instead of a journal, ids and flags
//! before the large texts, statements prepared once, a cache as large as is useful.

use std::path::Path;
use std::time::{Duration, Instant};

use afterthought::Result;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use serde::Serialize;

use crate::failed;
use crate::question::{Condition, PAGE_HITS, Question};

/// The agent's view of what FTS5 indexes, tool rows cut at 8,192 characters, with reasoning as one
/// more column; and the trigger that keeps the index true to an insert.
const LAYOUT: &str = "
    CREATE VIEW messages_fts_src AS SELECT id,
        CASE WHEN role = 'tool' THEN substr(coalesce(content, ''), 1, 8192) ELSE content END AS content,
        tool_name, tool_calls,
        nullif(trim(coalesce(reasoning, '') || CASE
            WHEN coalesce(reasoning_content, '') = coalesce(reasoning, '') THEN ''
            ELSE ' ' || coalesce(reasoning_content, '') END), '') AS reasoning
    FROM messages;
    CREATE VIRTUAL TABLE messages_fts USING fts5(
        content, tool_name, tool_calls, reasoning, content = 'messages_fts_src', content_rowid = 'id');
    CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
        INSERT INTO messages_fts(rowid, content, tool_name, tool_calls, reasoning)
        SELECT id, content, tool_name, tool_calls, reasoning FROM messages_fts_src WHERE id = new.id;
    END;";

/// What a search shows. Flags are 0 or 1 in the copy.
const VISIBLE: &str = "(m.active = 1 OR m.compacted = 1) AND m.display_kind IS NOT 'hidden' \
    AND m.role <> 'session_meta'";

/// What a hit shows, besides its snippet.
const SHOWN: &str = "m.id, m.session_id, m.role, m.timestamp, s.source, s.title, m.content, m.tool_calls, \
    m.reasoning, m.reasoning_content";

/// How much of the database a connection keeps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// 2 MB: `SQLite`'s own default, and what the agent runs with.
    Shipped,
    /// 256 MB.
    Large,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// How many messages match; `None` where it was not asked.
    pub total: Option<u64>,
    /// The page, best first.
    pub hits: Vec<Found>,
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

/// A connection that answers as FTS5 or by scanning.
pub struct Rival {
    connection: Connection,
}

impl Rival {
    /// Builds the FTS5 index in a copy of an archive. Fails if there is one.
    pub fn build(path: &Path) -> Result<Self> {
        let rival = Self::open(path, Cache::Large)?;
        let built = rival.connection.execute_batch(LAYOUT).and_then(|()| rival.fts5_command("rebuild"));
        built.map_err(failed("build FTS5 index in", path.display()))?;
        Ok(rival)
    }

    /// Merges the FTS5 index into its smallest form. Returns the seconds that took.
    pub fn optimize(&self) -> Result<f64> {
        let began = Instant::now();
        self.fts5_command("optimize").map_err(failed("optimize", "the FTS5 index"))?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// Runs a command of FTS5 until its outcome stands in the database.
    fn fts5_command(&self, command: &str) -> rusqlite::Result<()> {
        self.connection.execute("INSERT INTO messages_fts(messages_fts) VALUES (?1)", [command])?;
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Returns how many bytes the pages of the FTS5 index take. Reads every page of the database.
    pub fn index_bytes(&self) -> Result<u64> {
        let sql = "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'messages_fts%' AND aggregate = TRUE";
        let bytes = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        bytes.map(i64::unsigned_abs).map_err(failed("measure", "the FTS5 index"))
    }

    /// Opens a copy of an archive, as an agent would.
    pub fn open(path: &Path, cache: Cache) -> Result<Self> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.busy_timeout(Duration::from_secs(10))?;
            connection.set_prepared_statement_cache_capacity(64);
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            if cache == Cache::Large {
                connection.pragma_update(None, "cache_size", -262_144)?;
            }
            Ok(connection)
        };
        Ok(Self { connection: open().map_err(failed("open the rival's database", path.display()))? })
    }

    /// Appends a row as an agent does, with all that its trigger does.
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

    /// Answers by FTS5: its ten best by its own rank, and the total.
    pub fn fts5(&self, question: &Question) -> Result<Answer> {
        let mut answer = self.fts5_page(question)?;
        let condition = fts5_condition(question);
        let sql = format!(
            "SELECT count(*) FROM messages_fts JOIN messages m ON m.id = messages_fts.rowid WHERE {}",
            condition.sql
        );
        answer.total = Some(self.count(&sql, &condition)?);
        Ok(answer)
    }

    /// Answers by FTS5 without the total, which is the dearer half of a common word.
    pub fn fts5_page(&self, question: &Question) -> Result<Answer> {
        let condition = fts5_condition(question);
        let sql = page_sql(&condition);
        let hits = self.rows(&sql, &condition, |row, texts| {
            let snippet = text(row.get_ref(SHOWN_COLUMNS)?);
            found(row, texts, snippet)
        })?;
        Ok(Answer { total: None, hits })
    }

    /// Answers by scanning: the ten newest, and the total. Newest by id, which lets the page end
    /// early; by time, as proposed, every row has to be looked at twice.
    pub fn scan(&self, question: &Question) -> Result<Answer> {
        let condition = visible_and(question.scan(), question);
        let sql = format!(
            "SELECT {SHOWN} FROM messages m LEFT JOIN sessions s ON s.id = m.session_id \
             WHERE {} ORDER BY m.id DESC LIMIT {PAGE_HITS}",
            condition.sql
        );
        let words = question.first_words().to_lowercase();
        let hits = self.rows(&sql, &condition, |row, texts| {
            let snippet = texts.iter().find_map(|text| cut(text, &words)).unwrap_or_default();
            found(row, texts, snippet)
        })?;
        let sql = format!("SELECT count(*) FROM messages m WHERE {}", condition.sql);
        Ok(Answer { total: Some(self.count(&sql, &condition)?), hits })
    }

    fn count(&self, sql: &str, condition: &Condition) -> Result<u64> {
        let count = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_row(params_from_iter(&condition.values), |row| row.get::<_, i64>(0))
        };
        count().map(i64::unsigned_abs).map_err(failed("count with", sql))
    }

    fn rows(
        &self,
        sql: &str,
        condition: &Condition,
        mut found: impl FnMut(&Row<'_>, &[String]) -> rusqlite::Result<Found>,
    ) -> Result<Vec<Found>> {
        let mut read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params_from_iter(&condition.values))?;
            let mut hits = Vec::with_capacity(PAGE_HITS);
            while let Some(row) = rows.next()? {
                // Whole, as every page here reads them: content, tool calls, reasoning.
                let texts: Vec<String> = (SHOWN_HEAD..SHOWN_COLUMNS)
                    .map(|column| row.get_ref(column).map(text))
                    .collect::<rusqlite::Result<_>>()?;
                hits.push(found(row, &texts)?);
            }
            Ok(hits)
        };
        read().map_err(failed::<rusqlite::Error>("search with", sql))
    }
}

/// Columns of [`SHOWN`] that come before the texts, and all of them.
const SHOWN_HEAD: usize = 6;
const SHOWN_COLUMNS: usize = 10;

fn found(row: &Row<'_>, texts: &[String], snippet: String) -> rusqlite::Result<Found> {
    let head = (1..SHOWN_HEAD).map(|column| row.get_ref(column).map(text));
    Ok(Found {
        id: row.get(0)?,
        head: head.collect::<rusqlite::Result<_>>()?,
        snippet,
        text_bytes: texts.iter().map(String::len).sum(),
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

fn page_sql(condition: &Condition) -> String {
    format!(
        "SELECT {SHOWN}, snippet(messages_fts, -1, '>>>', '<<<', '...', 40) FROM messages_fts \
         JOIN messages m ON m.id = messages_fts.rowid LEFT JOIN sessions s ON s.id = m.session_id \
         WHERE {} ORDER BY rank LIMIT {PAGE_HITS}",
        condition.sql
    )
}

fn fts5_condition(question: &Question) -> Condition {
    let matches =
        Condition { sql: "messages_fts MATCH ?1".to_owned(), values: vec![Value::Text(question.fts5())] };
    visible_and(matches, question)
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
    use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
    use tempfile::TempDir;

    use super::*;

    /// Returns an archive's copy with both indexes, and who answers from them.
    fn sides(write: impl FnOnce(&mut Writer) -> rusqlite::Result<()>) -> (TempDir, Rival, Engine) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (state, copy) = (folder.path().join("state.db"), folder.path().join("copy.db"));
        let mut writer = Writer::create(&state, Shape::V22, Fts::None).expect("a new archive");
        writer.session(&Session::new("s")).expect("a session");
        write(&mut writer).expect("rows");
        writer.close().expect("a clean close");
        Archive::at(&state, false).and_then(|archive| archive.copy_rows(&copy, |_| Ok(()))).expect("a copy");
        Rival::build(&copy).expect("an FTS5 index");
        let rival = Rival::open(&copy, Cache::Shipped).expect("a rival");
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

    #[test]
    fn work_is_equal_on_plain_words() {
        let (_folder, rival, engine) = sides(talk);
        for (question, expect) in [
            (Question::any("lock"), vec![1, 2, 4, 6]),
            (Question::any("lease wrong"), vec![1, 2, 3]),
            (Question::all("lease first"), vec![2]),
            (Question::any("\"lock order\""), vec![1, 6]),
            (Question::any("lock").of_role("user"), vec![1, 6]),
            (Question::any("+lock NOT wrong"), vec![2, 4, 6]),
            (Question::any("cormorant"), vec![3]),
            (Question::any("heron"), vec![]),
        ] {
            let page = engine.search(question.request()).expect("a page");
            let mut ours: Vec<i64> = page.results.iter().filter_map(|hit| hit.message_id).collect();
            ours.sort_unstable();
            let (fts5, scan) = (rival.fts5(&question).expect("FTS5"), rival.scan(&question).expect("a scan"));
            assert_eq!((&ours, &ids(&fts5), &ids(&scan)), (&expect, &expect, &expect), "{question:?}");
            let total = Some(expect.len() as u64);
            assert_eq!((Some(page.total.value), fts5.total, scan.total), (total, total, total));
        }
    }

    #[test]
    fn a_hit_is_read_whole_and_shows_where_it_matched() {
        let (_folder, rival, _) = sides(talk);
        let fts5 = rival.fts5(&Question::any("cormorant")).expect("FTS5");
        assert_eq!(fts5.hits[0].snippet, "only a >>>cormorant<<< knows the lease");
        assert_eq!(fts5.hits[0].head[..2], ["s", "assistant"]);
        let scan = rival.scan(&Question::any("cormorant")).expect("a scan");
        assert_eq!(scan.hits[0].snippet, "only a cormorant knows the lease");
        assert_eq!(rival.fts5_page(&Question::any("lock")).expect("FTS5").total, None);
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
        assert_eq!(rival.scan(&question).expect("a scan").total, Some(1));
        assert_eq!(engine.search(question.request()).expect("a page").total.value, 1);
    }

    #[test]
    fn an_appended_row_is_found() {
        let (_folder, rival, _) = sides(|_| Ok(()));
        rival.append("s", "a heron").expect("a row");
        assert_eq!(rival.fts5(&Question::any("heron")).expect("FTS5").total, Some(1));
    }

    #[test]
    fn fts5_ranks_by_itself_and_only_for_the_page() {
        let (_folder, rival, _) = sides(talk);
        let sql = format!("EXPLAIN QUERY PLAN {}", page_sql(&fts5_condition(&Question::any("lock"))));
        let mut explain = rival.connection.prepare(&sql).expect("a statement");
        let steps =
            explain.query_map([fts5_condition(&Question::any("lock")).values[0].clone()], |row| row.get(3));
        let steps: Vec<String> = steps.and_then(Iterator::collect).expect("a plan");
        assert!(steps[0].starts_with("SCAN messages_fts VIRTUAL TABLE"), "{steps:?}");
        assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "nothing sorts but FTS5: {steps:?}");
    }
}
