//! The audit's figures against SQL run by hand, and the words that it calls unsaid against the rows.

use afterthought_tests::Fixture;
use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
use afterthought_tools::corpus::{self, Plan};
use afterthought_tools::demo;
use rusqlite::Connection;
use serde_json::{Value, json};

/// The statements of the audit, written a second time: by row, in plain words of SQL.
const BY_HAND: [(&str, &str); 5] = [
    ("rows", "SELECT count(id) FROM messages"),
    (
        "rows_with_reasoning",
        "SELECT count(*) FROM messages WHERE length(trim(ifnull(reasoning, '') || ifnull(reasoning_content, '') \
         || ifnull(reasoning_details, '') || ifnull(codex_reasoning_items, ''), ' ' || char(9, 10, 13))) > 0",
    ),
    (
        "empty_content_with_reasoning",
        "SELECT count(*) FROM messages WHERE (content IS NULL OR CAST(content AS BLOB) = x'' \
         OR length(trim(replace(replace(replace(content, char(9), ''), char(10), ''), char(13), ''))) = 0 \
            AND instr(CAST(content AS BLOB), x'00') = 0) \
         AND length(trim(ifnull(reasoning, '') || ifnull(reasoning_content, '') || ifnull(reasoning_details, '') \
         || ifnull(codex_reasoning_items, ''), ' ' || char(9, 10, 13))) > 0",
    ),
    (
        "chars_content",
        "SELECT total(CASE WHEN instr(CAST(content AS BLOB), x'00') = 0 THEN length(content) \
         ELSE length(CAST(content AS BLOB)) END) FROM messages",
    ),
    (
        "chars_reasoning",
        "SELECT total(length(trim(reasoning, ' ' || char(9, 10, 13)))) + total(CASE \
         WHEN trim(reasoning_content, ' ' || char(9, 10, 13)) IS NOT trim(ifnull(reasoning, ''), ' ' || char(9, 10, 13)) \
         THEN length(trim(reasoning_content, ' ' || char(9, 10, 13))) END) FROM messages",
    ),
];

fn by_hand(archive: &std::path::Path) -> Vec<(&'static str, f64)> {
    let connection = Connection::open(archive).expect("the archive");
    let run = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, f64>(0)).expect("a figure");
    BY_HAND.iter().map(|(name, sql)| (*name, run(sql))).collect()
}

fn audit(fixture: &Fixture) -> Value {
    let ran = fixture.aft(&["audit", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

fn check_figures(fixture: &Fixture) -> Value {
    let figures = audit(fixture);
    for (name, expected) in by_hand(&fixture.archive()) {
        assert_eq!(figures[name].as_f64(), Some(expected), "{name}");
    }
    figures
}

#[test]
fn figures_of_the_published_shape_are_those_of_its_sql() {
    let fixture = Fixture::new();
    corpus::write(&fixture.archive(), &Plan::new(5_000, 7), |_| {}).expect("an archive");
    let figures = check_figures(&fixture);
    let share = |name: &str| figures[name].as_f64().unwrap_or_default();
    assert!((share("reasoning_share") - 0.211).abs() < 0.01, "{figures}");
    assert!((share("empty_content_with_reasoning") / share("rows") - 0.078).abs() < 0.01, "{figures}");
}

#[test]
fn words_called_unsaid_stand_in_reasoning_alone() {
    let fixture = Fixture::new();
    demo::write(&fixture.archive(), Shape::V22).expect("an archive");
    let figures = check_figures(&fixture);
    let words = figures["only_in_reasoning"].as_array().expect("a list");
    assert_eq!(words.len(), 20);
    let connection = Connection::open(fixture.archive()).expect("the archive");
    for word in words {
        let (text, first) = (word["word"].as_str().expect("a word"), word["message_ids"][0].as_i64());
        let thought =
            "SELECT min(id) FROM messages WHERE reasoning LIKE '%' || ?1 || '%' AND (active OR compacted)";
        let said = "SELECT count(*) FROM messages WHERE (content LIKE '%' || ?1 || '%' OR tool_name LIKE '%' || ?1 \
                    || '%' OR tool_calls LIKE '%' || ?1 || '%') AND (active OR compacted)";
        let thought_in: i64 = connection.query_row(thought, [text], |row| row.get(0)).expect("an id");
        let said_in: i64 = connection.query_row(said, [text], |row| row.get(0)).expect("a count");
        assert!(Some(thought_in) <= first && said_in == 0, "{word}");
        assert_eq!(word["fts"], json!({"words": 0, "trigrams": 0, "scan": 0}));
    }
}

#[test]
fn a_word_is_counted_by_every_route() {
    let fixture = Fixture::new();
    let mut writer = Writer::create(&fixture.archive(), Shape::V22, Fts::Hermes).expect("an archive");
    writer.session(&Session::new("s")).expect("a session");
    for message in [
        Message::user("the cedars"),
        Message::user("a cedar"),
        Message::thought("cedar"),
        Message::user("cedar").with_reasoning("cedar"),
    ] {
        writer.message("s", &message).expect("a row");
    }
    writer.rewind("s", 4).expect("a rewind");
    writer.close().expect("a clean close");
    let word = |word: &str| fixture.aft(&["audit", "--json", word]).json();
    let counts = word("cedar");
    assert_eq!(counts["fts"], json!({"words": 1, "trigrams": 2, "scan": 2}));
    // Cedars are found too.
    assert_eq!((&counts["ours"], &counts["ours_in_reasoning"]), (&json!(3), &json!(1)));
    assert_eq!(word("ce")["fts"]["trigrams"], Value::Null);
    let zero = fixture.engine().audit_word("cedar\0s").expect("counts");
    assert_eq!(json!(zero.fts), json!({"words": 0, "trigrams": 0, "scan": 0}));
}

#[test]
fn routes_are_rebuilt_where_the_archive_has_none() {
    for shape in Shape::ALL {
        let fixture = Fixture::with(shape, |writer| {
            writer.session(&Session::new("s"))?;
            writer.message("s", &Message::user("a cedar"))?;
            writer.message("s", &Message::user("the cedars").with_reasoning("elder")).map(drop)
        });
        let counts = fixture.aft(&["audit", "--json", "cedar"]).json();
        assert_eq!(counts["fts"], json!({"words": 1, "trigrams": 2, "scan": 2}), "{shape:?}");
        assert_eq!(audit(&fixture)["rows_with_reasoning"], 1, "{shape:?}");
    }
}
