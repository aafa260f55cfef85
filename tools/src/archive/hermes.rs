//! Answers a query as the agent's own search (0.19.0) would, so that a demo can put the two
//! side by side. Reads only; repairs none of its faults, they are the point.

use rusqlite::{Connection, ToSql, params_from_iter};

use super::shape::columns_of;

const QUERY_CHARS_MAX: usize = 2_048;
const OPERATORS: [&str; 3] = ["AND", "OR", "NOT"];

/// Returns the messages the agent's `session_search` finds, best first, before it groups them by
/// session: user and assistant rows, not from sources it hides, not taken back.
///
/// Words go to `messages_fts` by bm25, Chinese, Japanese and Korean to the trigram table, or to
/// a scan if one of their words is short. A query FTS5 cannot parse finds nothing, silently, as
/// in the agent. Costs a scan of all rows on the last route. Left out: the step that compares
/// the whole query with session titles, which finds sessions and no messages.
pub fn hermes_search(connection: &Connection, query: &str, limit: u32) -> rusqlite::Result<Vec<i64>> {
    let query = clean(query);
    if query.is_empty() {
        return Ok(Vec::new());
    }
    let visible = visible_condition(connection)?;
    if !query.chars().any(is_cjk) {
        return Ok(ranked(connection, "messages_fts", &query, visible, limit).unwrap_or_default());
    }
    let raw = query.trim_matches('"').trim();
    if trigram_can_match(raw) {
        let found = ranked(connection, "messages_fts_trigram", &quote_words(raw), visible, limit);
        if let Ok(found) = found {
            return Ok(found);
        }
    }
    scan(connection, raw, limit)
}

/// Older archives cannot take rows back; there every row is visible.
fn visible_condition(connection: &Connection) -> rusqlite::Result<&'static str> {
    let columns = columns_of(connection, "messages")?;
    let has = |name: &str| columns.iter().any(|column| column == name);
    Ok(if has("active") && has("compacted") { "(m.active = 1 OR m.compacted = 1)" } else { "TRUE" })
}

fn ranked(
    connection: &Connection,
    table: &str,
    query: &str,
    visible: &str,
    limit: u32,
) -> rusqlite::Result<Vec<i64>> {
    let sql = format!(
        "SELECT m.id FROM {table} JOIN messages m ON m.id = {table}.rowid
         JOIN sessions s ON s.id = m.session_id
         WHERE {table} MATCH ? AND {visible} AND {SCOPE} ORDER BY rank LIMIT ?"
    );
    let mut statement = connection.prepare(&sql)?;
    statement.query_map((query, limit), |row| row.get(0))?.collect()
}

const SCOPE: &str = "s.source NOT IN ('subagent', 'tool') AND m.role IN ('user', 'assistant')";

/// The scan ORs its words, whatever the operators said, and shows rows that were taken back.
fn scan(connection: &Connection, raw: &str, limit: u32) -> rusqlite::Result<Vec<i64>> {
    let words: Vec<&str> = raw.split_whitespace().filter(|word| !is_operator(word)).collect();
    let words = if words.is_empty() { vec![raw] } else { words };
    let patterns: Vec<String> = words.iter().map(|word| format!("%{}%", escape(word))).collect();
    let any: Vec<String> = (1..=patterns.len())
        .map(|at| {
            let like = |column| format!("m.{column} LIKE ?{at} ESCAPE '\\'");
            format!("{} OR {} OR {}", like("content"), like("tool_name"), like("tool_calls"))
        })
        .collect();
    let sql = format!(
        "SELECT m.id FROM messages m JOIN sessions s ON s.id = m.session_id
         WHERE ({}) AND {SCOPE} ORDER BY m.timestamp DESC LIMIT ?{}",
        any.join(" OR "),
        patterns.len() + 1
    );
    let values = patterns.iter().map(|pattern| pattern as &dyn ToSql);
    let mut statement = connection.prepare(&sql)?;
    let rows =
        statement.query_map(params_from_iter(values.chain([&limit as &dyn ToSql])), |row| row.get(0))?;
    rows.collect()
}

fn escape(word: &str) -> String {
    word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

fn is_operator(word: &str) -> bool {
    OPERATORS.iter().any(|operator| word.eq_ignore_ascii_case(operator))
}

/// Han, kana, their punctuation, Hangul syllables; what the agent counts as CJK.
fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{3000}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7AF}' | '\u{20000}'..='\u{2A6DF}')
}

/// A trigram needs three characters: one shorter CJK word sends the whole query to the scan.
fn trigram_can_match(raw: &str) -> bool {
    let counts = raw
        .split_whitespace()
        .map(|word| word.chars().filter(|character| is_cjk(*character)).count())
        .filter(|count| *count > 0);
    counts.min().is_some_and(|shortest| shortest >= 3)
}

fn quote_words(raw: &str) -> String {
    let words = raw.split_whitespace().map(|word| {
        if is_operator(word) { word.to_owned() } else { format!("\"{}\"", word.replace('"', "\"\"")) }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Prepares a query for FTS5 as the agent does: keeps phrases, blanks the syntax it fears,
/// drops operators and stars that lead nowhere, quotes words joined by `.`, `_` or `-`.
fn clean(query: &str) -> String {
    let query: String = query.chars().take(QUERY_CHARS_MAX).collect();
    let (bare, phrases) = lift_phrases(&query);
    let blanked: String = bare.chars().map(|c| if "+{}():\"^".contains(c) { ' ' } else { c }).collect();
    let starred = drop_stray_stars(&blanked);
    let trimmed = drop_outer_operators(starred.trim());
    let mut cleaned = quote_compounds(trimmed);
    for (index, phrase) in phrases.iter().enumerate() {
        cleaned = cleaned.replace(&placeholder(index), phrase);
    }
    cleaned.trim().to_owned()
}

/// Stands for a lifted phrase; NUL cannot be typed into a query.
fn placeholder(index: usize) -> String {
    format!("\0{index}\0")
}

fn lift_phrases(query: &str) -> (String, Vec<&str>) {
    let (mut bare, mut phrases, mut rest) = (String::new(), Vec::new(), query);
    while let Some(open) = rest.find('"') {
        bare.push_str(&rest[..open]);
        let Some(length) = rest[open + 1..].find('"') else {
            bare.push(' ');
            rest = &rest[open + 1..];
            continue;
        };
        let close = open + 1 + length;
        bare.push_str(&placeholder(phrases.len()));
        phrases.push(&rest[open..=close]);
        rest = &rest[close + 1..];
    }
    bare.push_str(rest);
    (bare, phrases)
}

/// A star makes a prefix of the word before it; without one, or doubled, it is an error.
fn drop_stray_stars(text: &str) -> String {
    let mut kept = String::new();
    for character in text.chars() {
        let after_word = kept.chars().last().is_some_and(|last| last != '*' && !last.is_whitespace());
        if character != '*' || after_word {
            kept.push(character);
        }
    }
    kept
}

fn drop_outer_operators(text: &str) -> &str {
    let first = text.split(|c| !is_word(c)).next().unwrap_or_default();
    let text = if is_operator(first) { text[first.len()..].trim() } else { text };
    match text.rsplit_once(char::is_whitespace) {
        Some((before, last)) if is_operator(last) => before.trim(),
        _ => text,
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn quote_compounds(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let (mut quoted, mut at) = (String::new(), 0);
    while at < characters.len() {
        if !is_word(characters[at]) {
            quoted.push(characters[at]);
            at += 1;
            continue;
        }
        let end = compound_end(&characters, at);
        let compound: String = characters[at..end].iter().collect();
        let mark = if is_compound(&characters[at..end]) { "\"" } else { "" };
        quoted.extend([mark, compound.as_str(), mark]);
        at = end;
    }
    quoted
}

/// Where the word that starts at `at` ends, single dots and hyphens inside it included.
fn compound_end(characters: &[char], at: usize) -> usize {
    let word_at = |index: usize| characters.get(index).is_some_and(|c| is_word(*c));
    let mut end = at;
    while word_at(end) || (matches!(characters.get(end), Some('.' | '-')) && word_at(end + 1)) {
        end += 1;
    }
    end
}

/// An underscore at either end joins nothing.
fn is_compound(word: &[char]) -> bool {
    word.len() >= 3 && word[1..word.len() - 1].iter().any(|c| matches!(c, '.' | '-' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{Fts, Message, Session, Shape, Writer};

    fn check(rows: &[Message], query: &str, expect: &[i64]) {
        let mut writer = Writer::memory(Shape::V22, Fts::Hermes).expect("create");
        writer.session(&Session::new("s")).expect("session");
        for row in rows {
            writer.message("s", row).expect("message");
        }
        writer.rewind("s", i64::try_from(rows.len()).expect("few rows")).expect("rewind");
        let found = hermes_search(writer.connection(), query, 20).expect("search");
        assert_eq!(found, expect, "{query}");
    }

    fn users(texts: &[&str]) -> Vec<Message> {
        let rows = texts.iter().map(|text| Message::user(text));
        rows.chain([Message::user("taken back")]).collect()
    }

    #[test]
    fn cleaning_is_the_agents() {
        // Each pair was printed by the package itself.
        for (query, expect) in [
            ("TODO: fix", "TODO  fix"),
            ("\"a b\" my-app.config.ts", "\"a b\" \"my-app.config.ts\""),
            ("open \"quote", "open  quote"),
            ("AND x OR", "x"),
            ("*** sp_new**", "\"sp_new\"*"),
            ("_private a..b x-", "_private a..b x-"),
            ("__init__", "\"__init__\""),
        ] {
            assert_eq!(clean(query), expect);
        }
    }

    #[test]
    fn words_are_ranked_and_all_wanted() {
        let rows = users(&["a disk and so much more besides", "disk full", "full"]);
        check(&rows, "disk", &[2, 1]);
        check(&rows, "disk full", &[2]);
        check(&rows, "disk OR full", &[2, 3, 1]);
        check(&rows, "taken", &[]);
    }

    #[test]
    fn unparsable_is_silently_nothing() {
        let rows = users(&["it's the parser"]);
        check(&rows, "it's", &[]);
        check(&rows, "parser OR OR parser", &[]);
    }

    #[test]
    fn long_cjk_takes_trigrams_and_short_takes_the_scan() {
        let rows = users(&["今天部署失败了", "今天 100%"]);
        check(&rows, "部署失败", &[1]);
        check(&rows, "今天", &[2, 1]);
        check(&rows, "0%今", &[]);
    }

    #[test]
    fn tool_rows_and_reasoning_stay_unseen() {
        let rows = [Message::tool("t", "disk"), Message::thought("disk"), Message::user("x")];
        check(&rows, "disk", &[]);
    }
}
