//! A sound database whose columns and values are any: every row is read, and every question about it
//! has one answer.

#![no_main]

use std::collections::BTreeMap;
use std::path::Path;

use afterthought::archive::signature_term;
use afterthought_fuzz::{Cell, Contents, Place};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use rusqlite::{Connection, params_from_iter};

#[derive(Arbitrary, Debug)]
struct Input {
    encoding: Encoding,
    /// Columns have the types that agents give them, which turn some values into others.
    typed: bool,
    indexed: bool,
    /// Columns of messages that are not there, by bit.
    absent: u16,
    /// Rows by id; of equal ids the first one stands.
    messages: Vec<(i64, [Cell; MESSAGES.len()])>,
    sessions: Vec<[Cell; SESSIONS.len()]>,
}

#[derive(Arbitrary, Debug)]
enum Encoding {
    Utf8,
    Utf16le,
    Utf16be,
}

/// Columns and their types. The first three and the last must be there.
const MESSAGES: [(&str, &str); 14] = [
    ("session_id", "TEXT"),
    ("role", "TEXT"),
    ("content", "TEXT"),
    ("tool_calls", "TEXT"),
    ("tool_name", "TEXT"),
    ("reasoning", "TEXT"),
    ("reasoning_content", "TEXT"),
    ("reasoning_details", "TEXT"),
    ("codex_reasoning_items", "TEXT"),
    ("codex_message_items", "TEXT"),
    ("active", "INTEGER"),
    ("compacted", "INTEGER"),
    ("display_kind", "TEXT"),
    ("timestamp", "REAL"),
];
const SESSIONS: [(&str, &str); 11] = [
    ("id", "TEXT"),
    ("source", "TEXT"),
    ("started_at", "REAL"),
    ("title", "TEXT"),
    ("user_id", "TEXT"),
    ("model", "TEXT"),
    ("parent_session_id", "TEXT"),
    ("cwd", "TEXT"),
    ("git_repo_root", "TEXT"),
    ("git_branch", "TEXT"),
    ("archived", "INTEGER"),
];
/// Bytes of a row's texts that come from no value: signs around the names of tools.
const SIGNS_BYTES_MAX: usize = 64;

fuzz_target!(|input: Input| {
    let place = Place::emptied();
    write(&place.archive(), &input).expect("a sound archive");
    let contents = place.read().expect("a sound archive is read");
    check_rows(&contents);
    check_texts(&contents, &input);
});

fn write(path: &Path, input: &Input) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    let encoding = match input.encoding {
        Encoding::Utf8 => "UTF-8",
        Encoding::Utf16le => "UTF-16le",
        Encoding::Utf16be => "UTF-16be",
    };
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA encoding = '{encoding}'; BEGIN;
         CREATE TABLE messages (id INTEGER PRIMARY KEY, {}); CREATE TABLE sessions ({});",
        definitions(&MESSAGES, input.typed),
        definitions(&SESSIONS, input.typed),
    ))?;
    if input.indexed {
        connection.execute_batch("CREATE INDEX of_session ON messages (session_id, active, timestamp)")?;
    }
    // Rows are listed above an id, and the lowest stands above none.
    for (id, cells) in input.messages.iter().filter(|(id, _)| *id > i64::MIN) {
        let insert = format!("INSERT OR IGNORE INTO messages VALUES ({id}{})", ", ?".repeat(cells.len()));
        connection.execute(&insert, params_from_iter(cells))?;
    }
    for cells in &input.sessions {
        let insert = format!("INSERT INTO sessions VALUES (?{})", ", ?".repeat(cells.len() - 1));
        connection.execute(&insert, params_from_iter(cells))?;
    }
    connection.execute_batch("COMMIT")?;
    // An index keeps its column there.
    let optional = if input.indexed { &MESSAGES[3..10] } else { &MESSAGES[3..13] };
    for (bit, (name, _)) in optional.iter().enumerate() {
        if input.absent >> bit & 1 == 1 {
            connection.execute_batch(&format!("ALTER TABLE messages DROP COLUMN {name}"))?;
        }
    }
    Ok(())
}

fn definitions(columns: &[(&str, &str)], typed: bool) -> String {
    let definition = |(name, kind): &(&str, &str)| format!("{name} {}", if typed { kind } else { "" });
    columns.iter().map(definition).collect::<Vec<_>>().join(", ")
}

/// Checks that signatures, heads, states, the tail and the rows themselves say the same.
fn check_rows(contents: &Contents) {
    let tail = contents.tail.as_ref().expect("the rows are listed");
    assert_eq!(contents.rows, Some(tail.len() as u64));
    assert!(contents.sessions.is_some());
    let mut states = BTreeMap::new();
    for rows in contents.rows_by_session.as_ref().expect("the sessions are listed") {
        let heads = rows.heads.as_ref().expect("heads are read");
        assert_eq!(rows.signature.rows, heads.len() as u64, "{rows:?}");
        assert_eq!(Some(rows.signature.id_max), heads.iter().map(|head| head.id).max(), "{rows:?}");
        let sum: i64 = heads.iter().map(|head| signature_term(head.id, head.active)).sum();
        assert_eq!(rows.signature.sum, sum, "{rows:?}");
        let active: BTreeMap<i64, bool> = heads.iter().map(|head| (head.id, head.active)).collect();
        for (id, compacted, hidden) in rows.states.as_ref().expect("states are read") {
            states.insert(*id, (rows.signature.session_id.clone(), active[id], *compacted, *hidden));
        }
    }
    assert_eq!(states.len(), tail.len(), "each row has one session");
    for ((id, session_id, _), message) in tail.iter().zip(&contents.messages) {
        let message = message.as_ref().and_then(Option::as_ref).expect("a row that is listed is read");
        let state = message.state;
        let own = (message.session_id.clone(), state.active, state.compacted, state.hidden);
        assert_eq!((message.id, &message.session_id), (*id, session_id));
        assert_eq!(states[id], own, "{message:?}");
    }
}

/// Checks that no row reads as much more than it holds.
fn check_texts(contents: &Contents, input: &Input) {
    for message in contents.messages.iter().flatten().flatten() {
        let (_, cells) = input.messages.iter().find(|(id, _)| *id == message.id).expect("its cells");
        let bytes_max: usize = cells.iter().map(Cell::text_bytes_max).sum();
        assert!(message.text_bytes() <= bytes_max + SIGNS_BYTES_MAX, "{message:?}");
    }
}
