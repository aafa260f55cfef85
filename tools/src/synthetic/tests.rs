//! The stream keeps the published shares, and its plants stand where it says.

use rusqlite::Connection;
use tempfile::tempdir;

use super::*;

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
    let folder = tempdir().expect("folder");
    let [one, two, other] = ["one.db", "two.db", "other.db"].map(|name| folder.path().join(name));
    let first = write(&one, Shape::V22, 600, 7).expect("write");
    let second = write(&two, Shape::V22, 600, 7).expect("write");
    write(&other, Shape::V22, 600, 8).expect("write");
    assert_eq!(first, second);
    assert_eq!(std::fs::read(&one).expect("read"), std::fs::read(&two).expect("read"));
    assert_eq!(dump(&one), dump(&two));
    assert_ne!(dump(&one), dump(&other));
    for path in [one, two, other] {
        assert!(!path.with_extension("db-wal").exists());
    }
}

#[test]
fn shares_are_the_published_ones() {
    let folder = tempdir().expect("folder");
    let summary = write(&folder.path().join("state.db"), Shape::V11, 8_000, 7).expect("write");
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
    let folder = tempdir().expect("folder");
    let path = folder.path().join("state.db");
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
}
