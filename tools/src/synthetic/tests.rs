//! The stream keeps the published shares, and its plants stand where it says.

use std::path::PathBuf;

use rusqlite::Connection;

use super::*;

fn file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("afterthought-{}-{name}.db", std::process::id()));
    // A run that was killed may have left the file of a process that had this number.
    if path.exists() {
        std::fs::remove_file(&path).expect("remove the old file");
    }
    path
}

fn dump(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).expect("open");
    let mut rows = connection
        .prepare(
            "SELECT concat_ws('|', id, session_id, role, content, tool_calls, tool_name, reasoning,
             timestamp) FROM messages
             UNION ALL SELECT concat_ws('|', id, source, title, cwd, started_at) FROM sessions",
        )
        .expect("prepare");
    let rows = rows.query_map([], |row| row.get(0)).expect("query");
    rows.collect::<rusqlite::Result<_>>().expect("rows")
}

#[test]
fn same_seed_same_rows() {
    let (one, two, other) = (file("one"), file("two"), file("other"));
    let first = write(&one, Shape::V22, 600, 7).expect("write");
    let second = write(&two, Shape::V22, 600, 7).expect("write");
    write(&other, Shape::V22, 600, 8).expect("write");
    assert_eq!(first, second);
    assert_eq!(std::fs::read(&one).expect("read"), std::fs::read(&two).expect("read"));
    assert_eq!(dump(&one), dump(&two));
    assert_ne!(dump(&one), dump(&other));
    for path in [one, two, other] {
        assert!(!path.with_extension("db-wal").exists());
        std::fs::remove_file(path).expect("remove");
    }
}

#[test]
fn shares_are_the_published_ones() {
    let path = file("shares");
    let summary = write(&path, Shape::V11, 8_000, 7).expect("write");
    std::fs::remove_file(path).expect("remove");
    assert_eq!(summary.messages, 8_000);
    let per_mille = |count: u64| count * 1_000 / summary.messages;
    assert!((209..=213).contains(&per_mille(summary.with_reasoning)), "{summary:?}");
    assert!((76..=80).contains(&per_mille(summary.reasoning_only)), "{summary:?}");
    let content = summary.chars_content / summary.messages;
    let reasoning = summary.chars_reasoning / summary.messages;
    assert!((900..1_250).contains(&content), "{content}");
    assert!((280..380).contains(&reasoning), "{reasoning}");
}

#[test]
fn plants_stand_in_one_field_of_one_row() {
    let path = file("planted");
    let summary = write(&path, Shape::V6, 1_500, 7).expect("write");
    let connection = Connection::open(&path).expect("open");
    assert!(summary.planted.iter().any(|planted| planted.in_reasoning));
    assert!(summary.planted.iter().any(|planted| !planted.in_reasoning));
    for planted in &summary.planted {
        let fields = ["reasoning", "content"];
        let here = fields[usize::from(!planted.in_reasoning)];
        let there = fields[usize::from(planted.in_reasoning)];
        let sql = format!(
            "SELECT group_concat(id) FROM messages WHERE instr({here}, ?1)
             AND NOT COALESCE(instr({there}, ?1), 0)"
        );
        let ids: String = connection.query_row(&sql, [&planted.token], |row| row.get(0)).expect("ids");
        assert_eq!(ids, planted.message_id.to_string());
    }
    drop(connection);
    std::fs::remove_file(path).expect("remove");
}
