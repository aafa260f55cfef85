//! Archives of other agents: what is read of small files of every layout, that a handle follows them, and
//! that reading them leaves no trace.

use std::fs;
use std::path::Path;

use afterthought::{Depth, Engine};
use afterthought_tests::{Fixture, Trace, ids, search, sync};
use rusqlite::Connection;
use serde_json::Value;

/// Layouts, what makes a small file of each, and what an agent appends to it: a comet.
const FILES: [(&str, &str, &str); 3] = [
    (
        "openai-agents",
        include_str!("layouts/openai-agents.sql"),
        r#"INSERT INTO agent_messages (session_id, message_data, created_at)
           VALUES ('harbor', '{"role": "user", "content": "a comet"}', '2026-01-02 03:05:00')"#,
    ),
    (
        "llm",
        include_str!("layouts/llm.sql"),
        "INSERT INTO messages VALUES ('h6', 'h5', 'user', NULL), ('h7', 'h6', 'assistant', NULL);
         INSERT INTO parts (message_hash, position, type, text) VALUES
             ('h6', 0, 'text', 'a comet'), ('h7', 0, 'text', 'so it is');
         INSERT INTO turns VALUES ('t3', 'harbor', 'h6', 'h7', 'echo', '2026-01-02T03:05:00+00:00')",
    ),
    (
        "llm-responses",
        include_str!("layouts/llm-responses.sql"),
        "INSERT INTO responses (id, model, prompt, response, conversation_id, datetime_utc)
         VALUES ('r3', 'echo', 'a comet', 'so it is', 'harbor', '2026-01-02T03:05:00+00:00')",
    ),
];

fn file(sql: &str, mode: &str) -> Fixture {
    let fixture = Fixture::new();
    let connection = connect(&fixture.archive());
    connection.execute_batch(&format!("PRAGMA journal_mode = {mode}; {sql}")).expect("statements that run");
    connection.close().expect("a clean close");
    fixture
}

fn connect(path: &Path) -> Connection {
    Connection::open(path).expect("a database")
}

/// Returns where each word stands, as origin, role, time and session of its one hit.
fn places(engine: &Engine, words: &[&str]) -> Vec<String> {
    let place = |word: &&str| {
        let page = serde_json::to_value(search(engine, word)).expect("a page");
        let hits = page["results"].as_array().expect("hits");
        assert_eq!(hits.len(), 1, "{word}: {page}");
        let text = |name: &str| hits[0][name].as_str().unwrap_or_default().to_owned();
        format!("{word}: {} {} {} {}", text("origin"), text("role"), text("timestamp"), text("session_id"))
    };
    words.iter().map(place).collect()
}

/// Every layout tells the same story.
fn check_story(name: &str, sql: &str, times: [&str; 5]) {
    let fixture = file(sql, "WAL");
    let engine = fixture.engine();
    sync(&engine);
    let words = ["lantern", "buoy", "anchor", "sextant", "pier"];
    let story = [
        ("said", "user"),
        ("thought", "assistant"),
        ("did", "assistant"),
        ("saw", "tool"),
        ("said", "assistant"),
    ];
    let expected: Vec<_> = (words.iter().zip(story).zip(times))
        .map(|((word, (origin, role)), time)| {
            format!("{word}: {origin} {role} 2026-01-02T03:04:{time} harbor")
        })
        .collect();
    assert_eq!(places(&engine, &words), expected, "{name}");
    assert_eq!(engine.status().expect("figures").layout, name);
    assert!(engine.verify(Depth::Text).expect("a proof").equal, "{name}");
}

#[test]
fn sessions_of_the_openai_agents_sdk_are_read() {
    check_story("openai-agents", FILES[0].1, ["05Z", "06Z", "06Z", "07Z", "08Z"]);
}

#[test]
fn turns_of_llm_are_read() {
    check_story("llm", FILES[1].1, ["05.25Z", "05.25Z", "05.25Z", "06.5Z", "06.5Z"]);
}

#[test]
fn responses_of_llm_are_read() {
    check_story("llm-responses", FILES[2].1, ["05.25Z", "05.25Z", "05.25Z", "06.5Z", "06.5Z"]);
}

#[test]
fn a_row_that_is_no_json_is_read_as_it_stands() {
    let fixture = file(FILES[0].1, "WAL");
    let engine = fixture.engine();
    sync(&engine);
    assert_eq!(ids(&search(&engine, "tide table")), [6]);
}

#[test]
fn a_file_of_an_older_version_is_read_by_what_it_has() {
    let older = "DROP TABLE tool_calls; DROP TABLE tool_results; ALTER TABLE responses DROP COLUMN reasoning";
    let fixture = file(&format!("{}; {older}", FILES[2].1), "WAL");
    let engine = fixture.engine();
    sync(&engine);
    assert_eq!(places(&engine, &["lantern"]), ["lantern: said user 2026-01-02T03:04:05.25Z harbor"]);
    assert!(ids(&search(&engine, "buoy OR sextant")).is_empty());
}

#[test]
fn appended_rows_are_found() {
    for (name, sql, comet) in FILES {
        let fixture = file(sql, "WAL");
        let engine = fixture.engine();
        sync(&engine);
        assert!(ids(&search(&engine, "comet")).is_empty(), "{name}");
        let agent = connect(&fixture.archive());
        agent.execute_batch(comet).expect("an append");
        let page = fixture.aft(&["--json", "search", "comet"]).json();
        assert_eq!(page["results"][0]["session_id"], "harbor", "{name}: {page}");
        assert!(engine.verify(Depth::Text).expect("a proof").equal, "{name}");
    }
}

/// Runs commands over a file that an agent has open, or not any more, and compares its folder.
fn check_trace(name: &str, fixture: &Fixture, word: &str) {
    let archive = fixture.archive();
    let folder = archive.parent().expect("a folder");
    let before = Trace::of(folder);
    for arguments in [
        &["--json", "search", word][..],
        &["--json", "index"],
        &["--json", "status"],
        &["--json", "sessions"],
        &["--json", "session", "harbor"],
        &["--json", "verify", "--deep"],
        &["--json", "reindex"],
    ] {
        let ran = fixture.aft(arguments);
        assert_eq!(ran.code, 0, "{name}: {arguments:?}: {ran:?}");
        assert_eq!(Trace::of(folder), before, "{name}: aft {arguments:?} left a trace");
        if arguments[1] == "search" {
            assert_eq!(ran.json()["total"]["value"], 1, "{name}: {ran:?}");
        }
    }
}

#[test]
fn reading_leaves_no_trace_in_either_format() {
    for (name, sql, comet) in FILES {
        for mode in ["WAL", "DELETE"] {
            let closed = file(sql, mode);
            check_trace(name, &closed, "lantern");
            let fixture = file(sql, mode);
            let agent = connect(&fixture.archive());
            agent.execute_batch(comet).expect("an append");
            check_trace(name, &fixture, "comet");
            // An open change is not seen, and its journal or log stays what it is.
            agent
                .execute_batch(&format!(
                    "BEGIN IMMEDIATE; {}",
                    comet
                        .replace("comet", "ghost")
                        .replace("h6", "g6")
                        .replace("h7", "g7")
                        .replace("'t3'", "'t4'")
                        .replace("'r3'", "'r4'")
                ))
                .expect("an open transaction");
            check_trace(name, &fixture, "comet");
        }
    }
}

#[test]
fn what_only_hermes_has_is_refused_by_name() {
    for (name, sql, _) in FILES {
        let fixture = file(sql, "WAL");
        for arguments in [&["audit"][..], &["audit", "lantern"], &["bench", "--runs", "1"]] {
            let ran = fixture.aft(arguments);
            assert_eq!(ran.code, 2, "{ran:?}");
            assert!(ran.stderr.contains(name) && ran.stderr.contains("Hermes"), "{ran:?}");
        }
        let answer: Value = fixture.aft(&["hermes", "session-search", "--query", "lantern"]).json();
        assert_eq!(answer["success"], false, "{answer}");
        assert!(answer["error"].to_string().contains("Hermes"), "{answer}");
    }
}

#[test]
fn a_file_of_no_known_layout_names_those_there_are() {
    let fixture = file("CREATE TABLE agent_sessions (session_id)", "WAL");
    let ran = fixture.aft(&["status"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    for (name, ..) in FILES {
        assert!(ran.stderr.contains(&format!("{name} (")), "{ran:?}");
    }
    assert!(ran.stderr.contains("needs a table \"agent_messages\""), "{ran:?}");
}

#[test]
fn every_layout_has_a_file_here() {
    let files = fs::read_dir(afterthought_tests::root().join("schema/layouts")).expect("a folder");
    let mut names: Vec<_> = files
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort_unstable();
    let mut tested = FILES.map(|(name, ..)| name);
    tested.sort_unstable();
    assert_eq!(names, tested);
}

#[test]
fn archives_of_every_layout_are_looked_at_and_exported() {
    for (name, sql, _) in FILES {
        for mode in ["WAL", "DELETE"] {
            let fixture = file(sql, mode);
            let before = Trace::of(fixture.archive().parent().expect("a folder"));
            let report = fixture.aft(&["--json", "doctor", "--deep"]);
            assert_eq!(report.code, 0, "{report:?}");
            let is_layout = |check: &Value| check["name"] == "layout" && check["finding"] == name;
            let checks = report.json()["archives"][0]["checks"].clone();
            assert!(checks.as_array().expect("checks").iter().any(is_layout), "{checks:#}");
            let exported = fixture.aft(&["export", "--include-inactive", "--include-copies"]);
            assert_eq!(exported.code, 0, "{exported:?}");
            assert_eq!(before, Trace::of(fixture.archive().parent().expect("a folder")), "{name} {mode}");
            let engine = fixture.engine();
            sync(&engine);
            let rows = engine.status().expect("figures").index.rows;
            assert_eq!(exported.stdout.lines().count() as u64, rows, "{name} {mode}");
        }
    }
}
