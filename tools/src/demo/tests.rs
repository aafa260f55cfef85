//! The demo is what its description says, and its questions are honest.

use std::path::PathBuf;

use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use super::*;
use crate::archive::hermes_search;

/// A demo in a folder of its own, which goes with the handle.
fn demo(shape: Shape) -> (TempDir, PathBuf, Summary) {
    let folder = tempdir().expect("folder");
    let path = folder.path().join("state.db");
    let summary = write(&path, shape).expect("write");
    for sidecar in ["db-wal", "db-shm"] {
        assert!(!path.with_extension(sidecar).exists());
    }
    (folder, path, summary)
}

fn count(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).expect(sql)
}

#[test]
fn shares_are_those_of_a_real_archive() {
    let (_folder, _, summary) = demo(Shape::V22);
    let per_mille = |count: u64| count * 1_000 / summary.messages;
    assert!((55..=65).contains(&summary.sessions), "{summary:?}");
    assert!((3_000..=4_000).contains(&summary.messages), "{summary:?}");
    assert!((206..=216).contains(&per_mille(summary.with_reasoning)), "{summary:?}");
    assert!((70..=80).contains(&per_mille(summary.reasoning_only)), "{summary:?}");
}

#[test]
fn same_bytes_every_time() {
    let (_one, one, first) = demo(Shape::V22);
    let (_two, two, second) = demo(Shape::V22);
    assert_eq!(first, second);
    assert!(std::fs::read(&one).expect("read") == std::fs::read(&two).expect("read"));
}

#[test]
fn every_shape_can_hold_it() {
    for shape in Shape::ALL {
        let (_folder, _, summary) = demo(shape);
        assert!(summary.messages > 3_000);
    }
}

#[test]
fn questions_are_answered_in_a_row_the_agent_does_not_find() {
    let (_folder, path, _) = demo(Shape::V22);
    let connection = Connection::open(&path).expect("open");
    for question in QUESTIONS {
        let found = hermes_search(&connection, question.query, 10).expect("search");
        assert!(found.is_empty(), "{}: {found:?}", question.query);
        assert!(stands_in(&connection, question), "{}", question.query);
    }
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
    let (_folder, path, _) = demo(Shape::V22);
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
}
