//! Whether two sides give the same messages, and if not, why: looks at some of the messages that only
//! one of them finds, and names what in the row explains it. Never a guess where nothing explains it.

use std::collections::{BTreeMap, BTreeSet};

use afterthought::archive::Archive;
use afterthought::model::Message;
use afterthought::{Engine, Result, Sort};
use rusqlite::{Connection, OptionalExtension};

use crate::failed;
use crate::layout::Table;
use crate::question::{Question, is_han};
use crate::report::{Agreement, Reason};
use crate::rival::{Rival, Way, text};

/// Messages of an answer that are compared at most.
const COMPARED_MAX: u64 = 20_000;
/// Differing messages of one side that are looked at.
const EXAMINED_MAX: usize = 40;
/// Hits of one of our pages on the way.
const PAGE: usize = 1_000;

/// Compares our answer to a query with FTS5's, to the last message where there are not too many.
///
/// Reads every message that we find, and those that are looked at. Fails as searches do.
pub(crate) fn compare(
    engine: &Engine,
    rival: &Rival,
    archive: &Archive,
    question: &Question,
) -> Result<Agreement> {
    let way = Way::rank(Table::BestWords);
    let fts5 = rival.ids(question, way)?;
    let total = engine.search(question.request())?.total.value;
    let mut agreement = Agreement {
        query: question.query.clone(),
        ours: total,
        fts5: fts5.len() as u64,
        compared: total.max(fts5.len() as u64) <= COMPARED_MAX,
        only_ours: 0,
        only_fts5: 0,
        examined: 0,
        reasons: Vec::new(),
    };
    if !agreement.compared {
        return Ok(agreement);
    }
    let (ours, fts5) = (our_ids(engine, question)?, fts5.into_iter().collect::<BTreeSet<i64>>());
    let only_ours: Vec<i64> = ours.difference(&fts5).copied().collect();
    let only_fts5: Vec<i64> = fts5.difference(&ours).copied().collect();
    agreement.only_ours = only_ours.len() as u64;
    agreement.only_fts5 = only_fts5.len() as u64;
    let words: Vec<String> = question.words().iter().map(|word| word.to_lowercase()).collect();
    for (side, ids) in [("ours", only_ours), ("fts5", only_fts5)] {
        let ids = spread(&ids);
        agreement.examined += ids.len() as u64;
        agreement.reasons.extend(reasons(side, &ids, &words, rival.connection(), archive)?);
    }
    Ok(agreement)
}

fn our_ids(engine: &Engine, question: &Question) -> Result<BTreeSet<i64>> {
    let (mut ids, mut cursor) = (BTreeSet::new(), None);
    loop {
        let mut request = question.request();
        (request.limit, request.sort, request.cursor) = (PAGE, Sort::Newest, cursor);
        let page = engine.search(request)?;
        ids.extend(page.results.iter().filter_map(|hit| hit.message_id));
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(ids),
        }
    }
}

/// Takes ids from all over a list.
fn spread(ids: &[i64]) -> Vec<i64> {
    ids.iter().step_by(ids.len().div_ceil(EXAMINED_MAX).max(1)).copied().collect()
}

fn reasons(
    side: &str,
    ids: &[i64],
    words: &[String],
    copy: &Connection,
    archive: &Archive,
) -> Result<Vec<Reason>> {
    let mut counted: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
    let asked: Vec<Option<i64>> = ids.iter().map(|id| Some(*id)).collect();
    for (id, decoded) in ids.iter().zip(archive.messages(&asked)?) {
        let stored = Stored::read(copy, *id).map_err(failed("read from", "the copy"))?;
        let reason = match (stored, decoded) {
            (Some(stored), Some(decoded)) if side == "ours" => why_fts5_misses(&stored, &decoded, words),
            (Some(stored), Some(decoded)) => why_we_miss(&stored, &decoded, words),
            _ => OTHER,
        };
        counted.entry(reason).or_insert((0, *id)).0 += 1;
    }
    let mut reasons: Vec<Reason> = counted
        .into_iter()
        .map(|(reason, (rows, example))| Reason {
            side: side.to_owned(),
            why: reason.to_owned(),
            rows,
            example,
        })
        .collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.rows));
    Ok(reasons)
}

const IDENTIFIER: &str = "a part of an identifier";
const HAN: &str = "Han inside a run";
const LONG: &str = "text beyond 8,192 characters";
const ENCODED: &str = "encoded JSON";
const REASONING: &str = "reasoning elsewhere";
const FOLDING: &str = "folding";
const OTHER: &str = "other";

/// A row as SQL sees it.
#[derive(Default)]
struct Stored {
    /// The columns that FTS5's strongest layout indexes.
    indexed: [String; 4],
    /// Content and both reasoning columns, whole.
    content: String,
    reasoning: [String; 2],
}

impl Stored {
    fn read(copy: &Connection, id: i64) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT b.content, b.tool_name, b.tool_calls, b.reasoning, \
            m.content, m.reasoning, m.reasoning_content \
            FROM best_src b JOIN messages m ON m.id = b.id WHERE m.id = ?1";
        let mut select = copy.prepare_cached(sql)?;
        select
            .query_row([id], |row| {
                let column = |at| row.get_ref(at).map(text);
                Ok(Self {
                    indexed: [column(0)?, column(1)?, column(2)?, column(3)?],
                    content: column(4)?,
                    reasoning: [column(5)?, column(6)?],
                })
            })
            .optional()
    }
}

/// Cuts a text as FTS5's default tokenizer does, accents left alone.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|token| token.to_lowercase() == word)
}

fn holds(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(word)
}

/// Names what hides the first word that FTS5 does not have from it.
fn why_fts5_misses(stored: &Stored, decoded: &Message, words: &[String]) -> &'static str {
    let missing = words.iter().find(|word| !stored.indexed.iter().any(|text| has_word(text, word)));
    let Some(word) = missing else { return OTHER };
    let decoded_has = |has: fn(&str, &str) -> bool| {
        [&decoded.content, &decoded.tool_calls, &decoded.tool_name].into_iter().any(|text| has(text, word))
    };
    if has_word(&stored.content, word) {
        LONG
    } else if decoded_has(has_word) {
        ENCODED
    } else if !stored.reasoning.iter().any(|text| holds(text, word)) && has_word(&decoded.reasoning, word) {
        REASONING
    } else if stored.indexed.iter().any(|text| holds(text, word)) {
        if word.chars().any(is_han) { HAN } else { IDENTIFIER }
    } else if holds(&stored.content, word) {
        LONG
    } else if decoded_has(holds) {
        ENCODED
    } else if holds(&decoded.reasoning, word) {
        REASONING
    } else {
        // Found all the same, and the letters nowhere: another case, width, accent or joined name.
        FOLDING
    }
}

/// Names what FTS5 has of the first word that we do not.
fn why_we_miss(stored: &Stored, decoded: &Message, words: &[String]) -> &'static str {
    let ours = [&decoded.content, &decoded.reasoning, &decoded.tool_calls, &decoded.tool_name];
    let missing = words.iter().find(|word| !ours.iter().any(|text| has_word(text, word)));
    let Some(word) = missing else { return OTHER };
    let encoded = [&stored.indexed[2], &stored.content];
    let is_encoded = |text: &str| text.starts_with(['\0', '[', '{']);
    if encoded.iter().any(|text| is_encoded(text) && has_word(text, word)) {
        ENCODED
    } else if stored.indexed.iter().any(|text| has_word(text, word)) {
        OTHER
    } else {
        FOLDING
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use afterthought::{Level, Options};
    use afterthought_tools::archive::{Fts, Message as Row, Session, Shape, Writer};

    use super::*;
    use crate::rival::Cache;

    #[track_caller]
    fn check(rows: &[Row], query: &str, expect: &[(&str, &str, u64)]) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (state, copy) = (folder.path().join("state.db"), folder.path().join("copy.db"));
        let mut writer = Writer::create(&state, Shape::V22, Fts::None).expect("a new archive");
        writer.session(&Session::new("s")).expect("a session");
        for row in rows {
            writer.message("s", row).expect("a row");
        }
        writer.close().expect("a clean close");
        let archive = Archive::at(&state, false).expect("an archive");
        archive.copy_rows(&copy, |_| Ok(())).expect("a copy");
        Rival::build(&copy).expect("an FTS5 index");
        let rival = Rival::open(&copy, Cache::Shipped).expect("a rival");
        let engine = Engine::open(&Options::new(&copy, folder.path().join("index"))).expect("an engine");
        engine.freshen(Level::Full, Duration::MAX, |_| {}).expect("a sync");
        let agreement = compare(&engine, &rival, &archive, &Question::all(query)).expect("an answer");
        let found: Vec<(&str, &str, u64)> = agreement
            .reasons
            .iter()
            .map(|reason| (reason.side.as_str(), reason.why.as_str(), reason.rows))
            .collect();
        assert_eq!(found, expect, "{agreement:?}");
        let counted = |side| expect.iter().filter(|(of, ..)| *of == side).map(|(.., rows)| rows).sum::<u64>();
        assert_eq!((agreement.only_ours, agreement.only_fts5), (counted("ours"), counted("fts5")));
    }

    #[test]
    fn equal_answers_need_no_reason() {
        check(&[Row::user("lock order"), Row::thought("order, lock")], "lock order", &[]);
    }

    #[test]
    fn what_fts5_cannot_find_is_named() {
        let long = format!("{}heron", "word ".repeat(2_000));
        check(&[Row::tool("terminal", &long), Row::user("heron")], "heron", &[("ours", LONG, 1)]);
        check(&[Row::user("call getHeronById")], "heron", &[("ours", IDENTIFIER, 1)]);
        check(&[Row::user("今天的聊天记录")], "聊天", &[("ours", HAN, 1)]);
        let encoded = "\0json:[{\"type\": \"text\", \"text\": \"a\\nheron\"}]";
        let encoded = Row { content: encoded.into(), ..Row::user("") };
        check(&[encoded], "heron", &[("ours", ENCODED, 1)]);
        check(&[Row::user("ＨＥＲＯＮ")], "heron", &[("ours", FOLDING, 1)]);
        let details = "[{\"type\": \"thinking\", \"thinking\": \"a heron\"}]";
        let elsewhere = Row { reasoning_details: Some(details.to_owned()), ..Row::assistant("so") };
        check(&[elsewhere], "heron", &[("ours", REASONING, 1)]);
    }

    #[test]
    fn what_only_fts5_finds_is_named() {
        let calls = "[{\"id\": \"heron\", \"function\": {\"name\": \"grep\", \"arguments\": \"{}\"}}]";
        let row = Row { tool_calls: Some(calls.to_owned()), ..Row::assistant("so") };
        check(&[row], "heron", &[("fts5", ENCODED, 1)]);
    }
}
