//! Any bytes as a database, and as the log beside it: read or refused, alike each time, and left as
//! they were. An input is a database file, as long as its header says, and then its log: a write-ahead
//! log or a rollback journal, as the header says too.

#![no_main]

use std::fs;
use std::sync::LazyLock;

use afterthought_fuzz::Place;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rusqlite::Connection;

const MAGIC: &[u8] = b"SQLite format 3\0";

fuzz_target!(|input: &[u8]| {
    let (database, log) = input.split_at(database_bytes(input));
    let place = Place::emptied();
    fs::write(place.archive(), database).expect("a database");
    if log.is_empty() {
        drop(place.read());
        return;
    }
    let is_wal = database[18] == 2;
    fs::write(place.sidecar(if is_wal { "-wal" } else { "-journal" }), log).expect("a log");
    let by_copy = place.read();
    if is_wal {
        fs::write(place.sidecar("-shm"), vec![0; 32 * 1024]).expect("shared memory that nobody shares");
        assert_eq!(place.read(), by_copy, "both ways to read a log read the same");
    }
});

/// Returns the length of the database: its pages, as far as they are there.
fn database_bytes(input: &[u8]) -> usize {
    if input.len() < 100 || !input.starts_with(MAGIC) {
        return input.len();
    }
    let page_bytes = usize::from(u16::from_be_bytes([input[16], input[17]]));
    let pages = u32::from_be_bytes([input[28], input[29], input[30], input[31]]) as usize;
    (page_bytes * pages).clamp(100, input.len())
}

// Without a valid beginning nothing but refusals would be met.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if data[..size].starts_with(MAGIC) {
        return fuzzer_mutate(data, size, max_size);
    }
    let sound = &SOUND[seed as usize % SOUND.len()];
    let size = sound.len().min(max_size);
    data[..size].copy_from_slice(&sound[..size]);
    size
});

/// Sound inputs: with no log, with a write-ahead log, with a journal to roll back.
static SOUND: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let modes = [("DELETE", "COMMIT", "-none"), ("WAL", "COMMIT", "-wal"), ("DELETE", "", "-journal")];
    modes.map(|(mode, end, log)| sound(mode, end, log).expect("a sound archive")).to_vec()
});

fn sound(mode: &str, end: &str, log: &str) -> rusqlite::Result<Vec<u8>> {
    let place = Place::emptied();
    let connection = Connection::open(place.archive())?;
    connection.execute_batch(&format!(
        "PRAGMA page_size = 512; PRAGMA synchronous = OFF; PRAGMA journal_mode = {mode};
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content, timestamp, active, tool_calls);
         CREATE TABLE sessions (id, source, started_at, title);
         CREATE INDEX of_session ON messages (session_id, active, timestamp);
         INSERT INTO sessions VALUES ('s', 'cli', 1.5, 'a title'), (2, x'00', 'never', NULL);
         INSERT INTO messages VALUES
             (1, 's', 'user', 'a word', 1767225600.5, 1, NULL), (2, 's', 'tool', x'ff', 1767225601, 0, '[{{}}]'),
             (3, 2, 'assistant', char(0) || 'json:[{{\"text\": \"' || hex(zeroblob(600)) || '\"}}]', 2, NULL, '');
         PRAGMA wal_checkpoint;
         BEGIN; UPDATE messages SET session_id = 's', content = 'another word'; {end}"
    ))?;
    let mut bytes = fs::read(place.archive()).expect("a database");
    bytes.extend(fs::read(place.sidecar(log)).unwrap_or_default());
    Ok(bytes)
}
