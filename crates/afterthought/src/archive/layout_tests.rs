//! Reads small files of every layout by its own statements, and asks SQLite how it would find the rows.

use std::path::Path;

use rusqlite::Connection;

use super::super::columns::{
    Columns, MESSAGE_OPTIONAL, MESSAGE_REQUIRED, MESSAGE_STORED, SESSION_LIGHT, SESSION_REQUIRED,
    SESSION_STORED,
};
use super::{HERMES, LAYOUTS, Layout};

const FILES: [(&str, &str); 3] = [
    ("llm", include_str!("../../../../tests/layouts/llm.sql")),
    ("llm-responses", include_str!("../../../../tests/layouts/llm-responses.sql")),
    ("openai-agents", include_str!("../../../../tests/layouts/openai-agents.sql")),
];

fn file(sql: &str) -> (Connection, Columns) {
    let connection = Connection::open_in_memory().expect("memory");
    connection.execute_batch(sql).expect("statements that run");
    connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA query_only = 1;").expect("settings");
    let columns = Columns::of(&connection, Path::new("file"), None).expect("a known layout");
    (connection, columns)
}

/// Returns the steps of a statement, one a line.
fn plan(connection: &Connection, sql: &str, parameters: &[&dyn rusqlite::ToSql]) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a statement");
    let steps = statement.query_map(parameters, |row| row.get(3)).expect("a plan");
    steps.collect::<rusqlite::Result<_>>().expect("a plan")
}

/// Tells whether a step reads the whole of a table that grows with the file. Tool calls and results of
/// old files of llm have no index to be found by; what a view gives out is no table.
fn is_scan(step: &str) -> bool {
    let table = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
    table.is_some_and(|table| !["messages", "a", "c"].contains(&table)) && !step.contains("VIRTUAL TABLE")
}

#[test]
fn every_layout_is_recognised_and_maps_only_columns_that_are_read() {
    assert_eq!(Layout::names().collect::<Vec<_>>(), FILES.map(|(name, _)| name));
    for (Layout(layout), (name, sql)) in LAYOUTS.iter().zip(FILES) {
        assert_ne!(name, HERMES);
        assert_eq!(file(sql).1.layout, name);
        let sources = layout.messages.iter().flat_map(|source| source.columns.keys());
        for column in sources.chain(layout.shared.keys()).map(String::as_str) {
            let known = MESSAGE_REQUIRED.iter().chain(&MESSAGE_OPTIONAL).chain(&MESSAGE_STORED);
            assert!(column != "id" && known.into_iter().any(|known| *known == column), "{name}: {column}");
        }
        for column in layout.sessions.columns.keys().map(String::as_str) {
            let known = SESSION_REQUIRED.iter().chain(&SESSION_LIGHT).chain(&SESSION_STORED);
            assert!(known.into_iter().any(|known| *known == column), "{name}: {column}");
        }
        assert!(
            usize::try_from(*layout.stride.get_ref()).is_ok_and(|stride| stride >= layout.messages.len()),
            "{name}"
        );
    }
}

#[test]
fn every_expression_is_answered_by_a_file_that_has_all() {
    for (Layout(layout), (name, sql)) in LAYOUTS.iter().zip(FILES) {
        let (connection, _) = file(sql);
        let prepare = |value: &str, from: &str| {
            let read = connection.prepare(&format!("SELECT {value} FROM {from}")).map(drop);
            read.unwrap_or_else(|error| panic!("{name}: {value}: {error}"));
        };
        for value in layout.sessions.columns.values() {
            prepare(value.get_ref(), layout.sessions.from.get_ref());
        }
        for source in &layout.messages {
            for value in layout.shared.values().chain(source.columns.values()) {
                prepare(value.get_ref(), source.from.get_ref());
            }
        }
    }
}

#[test]
fn views_are_not_written_to_the_file() {
    for (name, sql) in FILES {
        let (connection, _) = file(sql);
        let count = |schema: &str| {
            let sql = format!("SELECT count(*) FROM {schema}.sqlite_schema WHERE type = 'view'");
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).expect("a count")
        };
        assert_eq!((count("main"), count("temp")), (0, 2), "{name}");
        assert!(connection.execute_batch("CREATE TABLE main.trace (x)").is_err(), "{name} may be written");
    }
}

#[test]
fn rows_are_found_by_their_numbers() {
    for (name, sql) in FILES {
        let (connection, columns) = file(sql);
        for sql in [&columns.message, &columns.stored_message, &columns.tail, &columns.rows_above] {
            let steps = plan(&connection, sql, &[&9]);
            let scans: Vec<_> = steps.iter().filter(|step| is_scan(step)).collect();
            assert!(scans.is_empty(), "{name}: {sql}\n{scans:?} of {steps:#?}");
            assert!(steps.iter().any(|step| step.contains("rowid")), "{name}: {sql}\n{steps:#?}");
        }
    }
}

#[test]
fn sessions_are_found_by_the_indexes_that_the_file_has() {
    for (name, sql) in FILES.into_iter().filter(|(name, _)| *name != "llm-responses") {
        let (connection, columns) = file(sql);
        for sql in [&columns.heads, &columns.states, &columns.outline] {
            let steps = plan(&connection, sql, &[&"harbor"]);
            assert!(
                steps.iter().any(|step| step.contains("session_id=") || step.contains("thread_id=")),
                "{name}: {sql}\n{steps:#?}"
            );
            assert!(!steps.iter().any(|step| is_scan(step)), "{name}: {sql}\n{steps:#?}");
        }
    }
}

#[test]
fn ids_below_zero_are_found_too() {
    let (connection, columns) = file(FILES[1].1);
    connection
        .execute_batch("PRAGMA query_only = 0; UPDATE responses SET rowid = -rowid")
        .expect("an update");
    let ids = |sql: &str, id: i64| -> Vec<i64> {
        let mut statement = connection.prepare(sql).expect("a statement");
        let ids = statement.query_map([id], |row| row.get(0)).expect("ids");
        ids.collect::<rusqlite::Result<_>>().expect("ids")
    };
    let mut all = ids(&columns.tail, i64::MIN);
    all.sort_unstable();
    assert_eq!(all, [-7, -5, -4, -2, -1]);
    for id in all {
        assert_eq!(ids(&columns.message, id), [id]);
        assert_eq!(
            ids(&columns.tail, id).len(),
            ids(&columns.tail, i64::MIN).iter().filter(|other| **other > id).count()
        );
    }
}

#[test]
fn a_file_of_an_older_version_is_read_by_what_it_has() {
    let (connection, _) = file(FILES[1].1);
    connection
        .execute_batch(
            "PRAGMA query_only = 0; DROP VIEW temp.messages; DROP VIEW temp.sessions; DROP TABLE tool_calls; \
             DROP TABLE tool_results; ALTER TABLE responses DROP COLUMN reasoning",
        )
        .expect("an older file");
    let columns = Columns::of(&connection, Path::new("file"), None).expect("a known layout");
    let count: i64 =
        connection.query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).expect("a count");
    assert_eq!((columns.layout.as_str(), count), ("llm-responses", 4));
}
