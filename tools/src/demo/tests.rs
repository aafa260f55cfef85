//! The demo is what its description says, and its questions are honest.

use std::path::PathBuf;

use rusqlite::Connection;

use super::*;
use crate::archive::hermes_search;

fn demo(name: &str, shape: Shape) -> (PathBuf, Summary) {
    let path = std::env::temp_dir().join(format!("afterthought-{}-{name}.db", std::process::id()));
    // A run that was killed may have left the file of a process that had this number.
    if path.exists() {
        std::fs::remove_file(&path).expect("remove the old file");
    }
    let summary = write(&path, shape).expect("write");
    (path, summary)
}

fn remove(path: PathBuf) {
    for sidecar in ["db-wal", "db-shm"] {
        assert!(!path.with_extension(sidecar).exists());
    }
    std::fs::remove_file(path).expect("remove");
}

fn count(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).expect(sql)
}

#[test]
fn shares_are_those_of_a_real_archive() {
    let (path, summary) = demo("shares", Shape::V22);
    remove(path);
    let per_mille = |count: u64| count * 1_000 / summary.messages;
    assert!((55..=65).contains(&summary.sessions), "{summary:?}");
    assert!((3_000..=4_000).contains(&summary.messages), "{summary:?}");
    assert!((206..=216).contains(&per_mille(summary.with_reasoning)), "{summary:?}");
    assert!((70..=80).contains(&per_mille(summary.reasoning_only)), "{summary:?}");
}

#[test]
fn same_bytes_every_time() {
    let (one, first) = demo("one", Shape::V22);
    let (two, second) = demo("two", Shape::V22);
    assert_eq!(first, second);
    assert!(std::fs::read(&one).expect("read") == std::fs::read(&two).expect("read"));
    remove(one);
    remove(two);
}

#[test]
fn every_shape_can_hold_it() {
    for shape in Shape::ALL {
        let (path, summary) = demo(&format!("{shape:?}"), shape);
        assert!(summary.messages > 3_000);
        remove(path);
    }
}

#[test]
fn questions_are_answered_in_a_row_the_agent_does_not_find() {
    let (path, _) = demo("questions", Shape::V22);
    let connection = Connection::open(&path).expect("open");
    for question in QUESTIONS {
        let found = hermes_search(&connection, question.query, 10).expect("search");
        assert!(found.is_empty(), "{}: {found:?}", question.query);
        assert!(stands_in(&connection, question), "{}", question.query);
    }
    drop(connection);
    remove(path);
}

/// Whether a row of the session holds the answer, in its text or its decoded arguments.
fn stands_in(connection: &Connection, question: &Question) -> bool {
    let mut rows = connection
        .prepare(
            "SELECT COALESCE(content, '') || COALESCE(reasoning, ''), tool_calls FROM messages
             WHERE session_id = ?1 AND active = 1",
        )
        .expect("prepare");
    let rows = rows.query_map([question.session], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.expect("query").any(|row| {
        let (text, calls): (String, Option<String>) = row.expect("row");
        let arguments = calls.map(|calls| decoded(&calls)).unwrap_or_default();
        text.contains(question.answer) || arguments.contains(question.answer)
    })
}

fn decoded(calls: &str) -> String {
    let calls: serde_json::Value = serde_json::from_str(calls).expect("calls are JSON");
    let arguments = calls[0]["function"]["arguments"].as_str().expect("arguments are text");
    let arguments: serde_json::Value = serde_json::from_str(arguments).expect("and JSON inside");
    arguments.to_string()
}

#[test]
fn it_has_one_of_everything() {
    let (path, _) = demo("everything", Shape::V22);
    let connection = Connection::open(&path).expect("open");
    for (fact, sql) in [
        ("cron sessions", "SELECT count(*) FROM sessions WHERE source = 'cron'"),
        ("delegates", "SELECT count(*) FROM sessions WHERE model_config LIKE '%_delegate_from%'"),
        ("a branch", "SELECT count(*) FROM sessions WHERE model_config LIKE '%_branched_from%'"),
        ("a continuation", "SELECT count(*) FROM sessions WHERE end_reason = 'compression'"),
        ("an archived session", "SELECT count(*) FROM sessions WHERE archived"),
        ("rows taken back", "SELECT count(*) FROM messages WHERE NOT active AND NOT compacted"),
        ("rows summarized", "SELECT count(*) FROM messages WHERE NOT active AND compacted"),
        ("a summary", "SELECT count(*) FROM messages WHERE content LIKE '[CONTEXT COMPACTION%'"),
        ("a photo", "SELECT count(*) FROM messages WHERE instr(content, 'json:') = 2"),
        ("Korean", "SELECT count(*) FROM messages WHERE content GLOB '*[가-힣]*'"),
        ("Japanese", "SELECT count(*) FROM messages WHERE content GLOB '*[ぁ-ん]*'"),
        ("Russian", "SELECT count(*) FROM messages WHERE content GLOB '*[а-я]*'"),
        ("emoji", "SELECT count(*) FROM messages WHERE instr(content, '🔥')"),
    ] {
        assert!(count(&connection, sql) > 0, "no {fact}");
    }
    let open = "SELECT count(*) FROM messages WHERE content || COALESCE(tool_calls, '') LIKE '%{{%'";
    assert_eq!(count(&connection, open), 0);
    assert_eq!(count(&connection, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    drop(connection);
    remove(path);
}
