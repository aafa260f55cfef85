//! Chooses what to ask, by a seed and the words and counts of the FTS5 index: what FTS5 cannot find
//! is never asked for, and our index is not consulted.

use std::collections::{BTreeSet, HashMap};

use afterthought::Result;
use afterthought_tools::random::Random;
use rusqlite::{Connection, OptionalExtension};

use crate::failed;
use crate::layout::Table;
use crate::question::{Question, Shape, is_han};
use crate::rival::{Rival, text};

/// A kind of query, and the query that stands for it here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class {
    pub(crate) name: String,
    /// What was chosen, and by which rule.
    pub(crate) about: String,
    pub(crate) question: Question,
}

/// The classes that an archive can be asked, and why others are left out.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Mix {
    pub(crate) classes: Vec<Class>,
    pub(crate) left_out: Vec<String>,
}

impl Mix {
    fn push(&mut self, name: &str, about: String, question: Question) {
        self.classes.push(Class { name: name.to_owned(), about, question });
    }
}

/// Names the keys that a tool call is stored with: they stand in FTS5's index and mean nothing.
const KEYS: [&str; 9] =
    ["id", "call", "call_id", "response_item_id", "type", "function", "name", "arguments", "extra_content"];

/// Returns the given queries, one a line, as classes.
pub(crate) fn given(text: &str) -> Mix {
    let mut mix = Mix::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let question = Question::any(line);
        if question.first_words().is_empty() {
            mix.left_out.push(format!("{line}: it asks for nothing"));
        } else {
            mix.push("given query", "from the file of queries".to_owned(), question);
        }
    }
    mix
}

/// Chooses one query of each class, by the words of one of FTS5's tables. Reads its whole vocabulary
/// once.
pub(crate) fn choose(rival: &Rival, table: Table, rows: u64, seed: u64) -> Result<Mix> {
    let chooser = Chooser { connection: rival.connection(), table: table.name() };
    chooser.mix(rows, seed).map_err(failed("choose queries from", "the archive's vocabulary"))
}

/// Returns queries of words that stand together in some message, to compare answers by.
pub(crate) fn to_compare(rival: &Rival, table: Table, rows: u64, seed: u64) -> Result<Vec<Question>> {
    let chooser = Chooser { connection: rival.connection(), table: table.name() };
    let choose = || {
        let mut random = Random::new(seed ^ COMPARED_SEED);
        let words = chooser.vocabulary(rows, &mut random)?;
        let mut questions = Vec::new();
        for count in [2, 2, 2, 3, 3, 1, 1, 1] {
            questions
                .extend(chooser.together(&words, count, &mut random)?.map(|words| Question::all(&words)));
        }
        questions.dedup();
        Ok(questions)
    };
    choose().map_err(failed::<rusqlite::Error>("choose queries from", "the archive's vocabulary"))
}

/// Makes the words compared others than those measured.
const COMPARED_SEED: u64 = 0x5eed;

/// Returns the role that speaks most, tools left out.
pub(crate) fn role(rival: &Rival) -> Result<Option<String>> {
    most_talkative(rival.connection()).map_err(failed("count in", "the copy"))
}

fn most_talkative(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT role FROM messages WHERE role NOT IN ('tool', 'session_meta') GROUP BY role \
        ORDER BY count(*) DESC LIMIT 1";
    connection.query_row(sql, [], |row| row.get_ref(0).map(text)).optional()
}

/// Where queries are chosen from.
struct Chooser<'a> {
    connection: &'a Connection,
    table: &'a str,
}

impl Chooser<'_> {
    fn mix(&self, rows: u64, seed: u64) -> rusqlite::Result<Mix> {
        let mut random = Random::new(seed);
        let words = self.vocabulary(rows, &mut random)?;
        let mut mix = Mix::default();
        let role = most_talkative(self.connection)?;
        self.common(&words, role.as_deref(), &mut mix)?;
        let middling = "of one message; each in 2 rows at least and in 10 % at most".to_owned();
        match self.together(&words, 3, &mut random)? {
            Some(three) => {
                mix.push("three middling words, any", middling.clone(), Question::any(&three));
                mix.push("three words, all", middling, Question::all(&three));
            }
            None => mix.left_out.push("three words: no message holds three of middling frequency".to_owned()),
        }
        match self.phrase(&words, &mut random)? {
            Some((phrase, about)) => mix.push("phrase of two words", about, Question::any(&phrase)),
            None => mix.left_out.push("phrase: no two known words stand side by side".to_owned()),
        }
        self.rare(&words, &mut random, &mut mix)?;
        match words.han() {
            Some(word) => {
                let about = "begins the most runs of Han of all pairs".to_owned();
                mix.push("two Han characters", about, Question::any(&word));
            }
            None => mix.left_out.push("two Han characters: the archive holds no Han".to_owned()),
        }
        if let Some(run) = words.han_runs.first().map(|_| &words.han_runs[random.index(words.han_runs.len())])
        {
            let about = "begins a run of Han; by trigrams".to_owned();
            mix.push("four Han characters", about, Question::any(run));
        }
        Ok(mix)
    }

    /// Adds what is asked by the words that stand in most rows.
    fn common(&self, words: &Vocabulary, role: Option<&str>, mix: &mut Mix) -> rusqlite::Result<()> {
        let Some((word, share)) = words.common(self.connection)? else {
            mix.left_out.push("common word: the archive holds no word".to_owned());
            return Ok(());
        };
        let of_role = |question: Question| match role {
            Some(role) => question.of_role(role),
            None => question,
        };
        let common = Question::any(&word);
        mix.push("common word", share.clone(), common.clone());
        mix.push("common word of a role", share.clone(), of_role(common.clone()));
        let most = words.most_common(EIGHT);
        let about = format!("the {} that most rows hold", most.len());
        if most.len() >= 3 {
            let about = "the three that most rows hold".to_owned();
            mix.push(
                "three common words of a role, any",
                about,
                of_role(Question::any(&most[..3].join(" "))),
            );
        }
        if most.len() == EIGHT {
            mix.push("eight common words, any", about, Question::any(&most.join(" ")));
        } else {
            mix.left_out.push("eight common words: the archive does not hold as many".to_owned());
        }
        mix.push("newest first, common word of a role", share.clone(), of_role(common.shaped(Shape::Newest)));
        mix.push("by session, common word", share.clone(), common.shaped(Shape::BySession));
        mix.push("with facets, common word", share.clone(), common.shaped(Shape::Facets));
        if words.rows_of(&word) > AFTER_ROWS_MIN {
            mix.push("after 1,000 hits, common word", share, common.shaped(Shape::After1000));
        } else {
            mix.left_out.push("after 1,000 hits: no word has as many".to_owned());
        }
        Ok(())
    }

    /// Adds what is asked by words that few rows hold.
    fn rare(&self, words: &Vocabulary, random: &mut Random, mix: &mut Mix) -> rusqlite::Result<()> {
        match words.one_of(random, |rows| (2..=RARE_ROWS_MAX).contains(&rows)) {
            Some((word, rows)) => {
                mix.push("rare word", format!("in {rows} rows' content"), Question::any(&word));
            }
            None => mix.left_out.push("rare word: every word stands once, or often".to_owned()),
        }
        match words.one_of(random, |rows| rows >= 2) {
            Some((word, _)) => {
                let prefix: String = word.chars().take(PREFIX_CHARS).collect();
                let about = format!("begins \"{word}\", which was drawn");
                mix.push("prefix of three letters", about, Question::any(&format!("{prefix}*")));
            }
            None => mix.left_out.push("prefix: no word stands in two rows".to_owned()),
        }
        match words.needle(self, random)? {
            Some(needle) => {
                let about = "in one row, and there only in its reasoning".to_owned();
                mix.push("needle in reasoning", about, Question::any(&needle));
            }
            None => mix.left_out.push("needle: no word stands in one row's reasoning alone".to_owned()),
        }
        Ok(())
    }

    fn vocabulary(&self, rows: u64, random: &mut Random) -> rusqlite::Result<Vocabulary> {
        Vocabulary::read(self, rows, random)
    }
}

/// Words of the longest query.
const EIGHT: usize = 8;
/// Rows of a word that has a page after the first thousand hits, hidden ones allowed for.
const AFTER_ROWS_MIN: u64 = 1_200;
/// Rows of a rare word, at most.
const RARE_ROWS_MAX: u64 = 20;
/// Letters of a prefix.
const PREFIX_CHARS: usize = 3;

/// Words that stand only in one row's reasoning, kept to choose from.
const NEEDLES_MAX: u64 = 500;
/// Characters of a longer run of Han, and runs kept to choose from.
const HAN_RUN_CHARS: usize = 4;
const HAN_RUNS_MAX: usize = 500;
/// Tries to find a message that serves.
const SAMPLES_MAX: usize = 400;
/// Phrases to choose the commonest from.
const PHRASES_MAX: usize = 20;

/// What one pass over the FTS5 index's words leaves behind.
struct Vocabulary {
    rows: u64,
    /// Words of more than half of the rows with their rows; else the commonest.
    common: Vec<(String, u64)>,
    /// Words of at least two rows, with their rows.
    known: HashMap<String, u64>,
    needles: Vec<String>,
    /// Pairs of Han that begin a run, with their rows.
    han: HashMap<String, u64>,
    /// Four Han that begin a run of several rows; a few, to choose from.
    han_runs: Vec<String>,
}

impl Vocabulary {
    fn read(from: &Chooser<'_>, rows: u64, random: &mut Random) -> rusqlite::Result<Self> {
        let (connection, table) = (from.connection, from.table);
        connection.execute_batch(&format!(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab('main', '{table}', 'row');
             CREATE VIRTUAL TABLE IF NOT EXISTS temp.columns USING fts5vocab('main', '{table}', 'col');"
        ))?;
        let mut found = Self {
            rows,
            common: Vec::new(),
            known: HashMap::new(),
            needles: Vec::new(),
            han: HashMap::new(),
            han_runs: Vec::new(),
        };
        // What a model or person wrote decides: calls and tool names have words of their own.
        let sql = "SELECT term, sum(doc * (col = 'content')), sum(doc), max(col = 'reasoning') \
            FROM temp.columns GROUP BY term ORDER BY term";
        let mut select = connection.prepare(sql)?;
        let mut terms = select.query([])?;
        let mut needles_seen = 0;
        while let Some(row) = terms.next()? {
            let Ok(term) = row.get_ref(0)?.as_str() else { continue };
            let (content, all): (i64, i64) = (row.get(1)?, row.get(2)?);
            if all == 1 && row.get(3)? && is_needle(term) {
                needles_seen += 1;
                keep_one_of(&mut found.needles, needles_seen, term, random);
            }
            if is_word(term) {
                found.word(term, content.unsigned_abs());
            } else if let Some(pair) = han_pair(term) {
                *found.han.entry(pair).or_default() += all.unsigned_abs();
                let run: String = term.chars().take_while(|c| is_han(*c)).take(HAN_RUN_CHARS).collect();
                if run.chars().count() == HAN_RUN_CHARS && found.han_runs.len() < HAN_RUNS_MAX {
                    found.han_runs.push(run);
                }
            }
        }
        Ok(found)
    }

    fn word(&mut self, term: &str, rows: u64) {
        if KEYS.contains(&term) {
            return;
        }
        let is_commonest = self.common.first().is_none_or(|(_, most)| rows > *most);
        if rows * 2 > self.rows || is_commonest {
            // Where none is in half of the rows, one remains: the commonest.
            self.common.retain(|(_, other)| other * 2 > self.rows);
            self.common.push((term.to_owned(), rows));
            self.common.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        }
        if rows >= 2 {
            self.known.insert(term.to_owned(), rows);
        }
    }

    /// Tells whether a word stands in some rows, and in a tenth of them at most.
    fn is_middling(&self, word: &str) -> bool {
        self.known.get(word).is_some_and(|rows| rows * 10 <= self.rows)
    }

    /// Returns the rarest of the words that what was said holds in more than half of the rows, else the
    /// commonest.
    fn common(&self, connection: &Connection) -> rusqlite::Result<Option<(String, String)>> {
        let Some((word, said)) = self.common.last() else { return Ok(None) };
        let sql = "SELECT doc FROM temp.words WHERE term = ?1";
        let rows: i64 = connection.query_row(sql, [word], |row| row.get(0))?;
        let percent = rows.unsigned_abs() * 100 / self.rows.max(1);
        let is_common = said * 2 > self.rows;
        let rule = if is_common { "the rarest that is said in half of them" } else { "the commonest said" };
        Ok(Some((word.clone(), format!("in {percent} % of rows; {rule}"))))
    }

    /// Returns how many rows say a word.
    fn rows_of(&self, word: &str) -> u64 {
        self.known.get(word).copied().unwrap_or_default()
    }

    /// Returns the words that most rows say.
    fn most_common(&self, count: usize) -> Vec<&str> {
        let mut words: Vec<(&str, u64)> =
            self.known.iter().map(|(word, rows)| (word.as_str(), *rows)).collect();
        words.sort_unstable_by_key(|(word, rows)| (std::cmp::Reverse(*rows), *word));
        words.into_iter().take(count).map(|(word, _)| word).collect()
    }

    /// Draws a word among those of some frequency.
    fn one_of(&self, random: &mut Random, serves: impl Fn(u64) -> bool) -> Option<(String, u64)> {
        let is_ascii = |word: &str| word.is_ascii();
        let mut words: Vec<(&String, &u64)> =
            self.known.iter().filter(|(word, rows)| serves(**rows) && is_ascii(word)).collect();
        words.sort_unstable();
        let (word, rows) = words.get(random.index(words.len()))?;
        Some(((*word).clone(), **rows))
    }

    fn needle(&self, from: &Chooser<'_>, random: &mut Random) -> rusqlite::Result<Option<String>> {
        // A row that no search shows is no place to look.
        let sql = format!(
            "SELECT 1 FROM {table} JOIN messages m ON m.id = {table}.rowid \
             WHERE {table} MATCH ?1 AND m.role = 'assistant' AND (m.active = 1 OR m.compacted = 1) \
             AND m.display_kind IS NOT 'hidden'",
            table = from.table
        );
        let mut shown = from.connection.prepare(&sql)?;
        let (before, after) = self.needles.split_at(random.index(self.needles.len()));
        for needle in after.iter().chain(before) {
            if shown.query_row([format!("\"{needle}\"")], |_| Ok(())).optional()?.is_some() {
                return Ok(Some(needle.clone()));
            }
        }
        Ok(None)
    }

    fn han(&self) -> Option<String> {
        let most = self.han.iter().max_by_key(|(pair, rows)| (**rows, (*pair).clone()));
        most.map(|(pair, _)| pair.clone())
    }
}

/// Keeps a fair sample of a stream whose length nobody knows (Vitter's algorithm R).
fn keep_one_of(kept: &mut Vec<String>, seen: u64, item: &str, random: &mut Random) {
    if seen <= NEEDLES_MAX {
        kept.push(item.to_owned());
    } else if let Some(place) = usize::try_from(random.below(seen)).ok().filter(|place| *place < kept.len()) {
        item.clone_into(&mut kept[place]);
    }
}

/// Tells whether every side reads a term as one plain word.
fn is_word(term: &str) -> bool {
    (3..=24).contains(&term.chars().count()) && term.chars().all(char::is_lowercase)
}

fn is_needle(term: &str) -> bool {
    (5..=24).contains(&term.len()) && term.chars().all(|c| c.is_ascii_alphanumeric())
}

fn han_pair(term: &str) -> Option<String> {
    let pair: Vec<char> = term.chars().take(2).collect();
    (pair.len() == 2 && pair.iter().all(|c| ('\u{4e00}'..='\u{9fff}').contains(c)))
        .then(|| pair.into_iter().collect())
}

impl Chooser<'_> {
    /// Returns some middling words of one message.
    fn together(
        &self,
        words: &Vocabulary,
        count: usize,
        random: &mut Random,
    ) -> rusqlite::Result<Option<String>> {
        for _ in 0..SAMPLES_MAX {
            let Some(text) = sample(self.connection, random)? else { return Ok(None) };
            let found: BTreeSet<&str> =
                text.split(|c: char| !c.is_alphanumeric()).filter(|word| words.is_middling(word)).collect();
            let mut found: Vec<&str> = found.into_iter().collect();
            if found.len() >= count {
                let some: Vec<&str> =
                    (0..count).map(|_| found.swap_remove(random.index(found.len()))).collect();
                return Ok(Some(some.join(" ")));
            }
        }
        Ok(None)
    }

    /// Returns the commonest of some pairs of words that stand side by side.
    fn phrase(&self, words: &Vocabulary, random: &mut Random) -> rusqlite::Result<Option<(String, String)>> {
        let sql = format!("SELECT count(*) FROM {table} WHERE {table} MATCH ?1", table = self.table);
        let mut count = self.connection.prepare(&sql)?;
        let common: BTreeSet<&str> = words.most_common(PHRASE_WORDS).into_iter().collect();
        let (mut tried, mut best) = (0, (1_i64, None));
        for _ in 0..SAMPLES_MAX {
            let Some(text) = sample(self.connection, random)? else { break };
            let blanks: Vec<&str> = text.split(' ').collect();
            let pairs: Vec<&[&str]> = blanks
                .windows(2)
                .filter(|pair| pair.iter().all(|word| common.contains(word)) && pair[0] != pair[1])
                .collect();
            if pairs.is_empty() {
                continue;
            }
            let phrase = format!("\"{}\"", pairs[random.index(pairs.len())].join(" "));
            let rows = count.query_row([&phrase], |row| row.get(0))?;
            if rows > best.0 {
                best = (rows, Some(phrase));
            }
            tried += 1;
            if tried == PHRASES_MAX {
                break;
            }
        }
        Ok(best.1.map(|phrase| (phrase, format!("the commonest of {tried} pairs taken from messages"))))
    }
}

/// A phrase is made of the commonest words, as many as these.
const PHRASE_WORDS: usize = 300;

/// Returns what one of the people or models said in a random row that a search shows.
fn sample(connection: &Connection, random: &mut Random) -> rusqlite::Result<Option<String>> {
    let range = "SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM messages";
    let (first, last): (i64, i64) =
        connection.prepare_cached(range)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let offset = random.below(last.abs_diff(first).saturating_add(1));
    let sql = "SELECT content FROM messages WHERE id >= ?1 AND role IN ('user', 'assistant') \
        AND (active = 1 OR compacted = 1) AND content <> '' ORDER BY id LIMIT 1";
    let mut select = connection.prepare_cached(sql)?;
    let mut from = |id: i64| select.query_row([id], |row| row.get_ref(0).map(text)).optional();
    // Behind the last such row, begin again.
    match from(first.saturating_add_unsigned(offset))? {
        Some(text) => Ok(Some(text)),
        None => from(first),
    }
}

#[cfg(test)]
mod tests {
    use afterthought::archive::Archive;
    use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
    use tempfile::TempDir;

    use super::*;
    use crate::rival::Cache;

    fn rival(messages: &[Message]) -> (TempDir, Rival) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (state, copy) = (folder.path().join("state.db"), folder.path().join("copy.db"));
        let mut writer = Writer::create(&state, Shape::V22, Fts::None).expect("a new archive");
        writer.session(&Session::new("s")).expect("a session");
        for message in messages {
            writer.message("s", message).expect("a row");
        }
        writer.close().expect("a clean close");
        Archive::at(&state, false).and_then(|archive| archive.copy_rows(&copy, |_| Ok(()))).expect("a copy");
        Rival::build(&copy).expect("an FTS5 index");
        let rival = Rival::open(&copy, Cache::Shipped).expect("a rival");
        (folder, rival)
    }

    fn query<'a>(mix: &'a Mix, name: &str) -> Option<&'a str> {
        let class = mix.classes.iter().find(|class| class.name == name);
        class.map(|class| class.question.query.as_str())
    }

    #[test]
    fn a_needle_stands_in_one_row_and_only_in_its_reasoning() {
        let (_folder, rival) = rival(&[
            Message::user("heronry of every kind"),
            Message::assistant("a pelican").with_reasoning("cormorant and pelican and heronry"),
            Message { active: false, ..Message::thought("albatross") },
            Message::thought("pelican"),
        ]);
        for seed in 0..20 {
            let mix = choose(&rival, Table::BestWords, 4, seed).expect("a choice");
            assert_eq!(query(&mix, "needle in reasoning"), Some("cormorant"));
        }
    }

    #[test]
    fn han_is_asked_for_by_its_commonest_pair() {
        let messages = ["数据库连接", "数据 lost", "记忆断裂"].map(Message::user);
        let (_folder, rival) = rival(&messages);
        let mix = choose(&rival, Table::BestWords, 3, 7).expect("a choice");
        assert_eq!(query(&mix, "two Han characters"), Some("数据"));
    }

    #[test]
    fn words_come_from_one_message_and_phrases_stand_in_one() {
        let mut messages: Vec<Message> = (0..30).map(|_| Message::user("again the same")).collect();
        messages.extend((0..2).map(|_| Message::user("again heron, pelican; the cormorant")));
        let (_folder, rival) = rival(&messages);
        let mix = choose(&rival, Table::BestWords, 32, 7).expect("a choice");
        let mut three: Vec<&str> = query(&mix, "three words, all").expect("three words").split(' ').collect();
        three.sort_unstable();
        assert_eq!(three, ["cormorant", "heron", "pelican"]);
        let phrase = query(&mix, "phrase of two words").expect("a phrase");
        assert_eq!(rival.fts5(&Question::any(phrase)).expect("FTS5").total, Some(30), "{phrase}");
        assert_eq!(query(&mix, "common word"), Some("same"));
    }

    #[test]
    fn an_archive_without_words_is_asked_nothing() {
        let (_folder, rival) = rival(&[]);
        let mix = choose(&rival, Table::BestWords, 0, 7).expect("a choice");
        assert_eq!((mix.classes.len(), mix.left_out.len()), (0, 7), "{mix:?}");
    }

    #[test]
    fn given_queries_are_asked_as_they_stand() {
        let mix = given("lock order\n\n  \"a phrase\"  \n\"\"\n");
        assert_eq!(mix.left_out, ["\"\": it asks for nothing"]);
        let queries: Vec<&str> = mix.classes.iter().map(|class| class.question.query.as_str()).collect();
        assert_eq!(queries, ["lock order", "\"a phrase\""]);
    }
}
