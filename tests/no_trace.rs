//! Proves that reading leaves no trace: every command, on every state in which an agent can leave
//! its files. The agent is a process of its own, as SQLite's locks belong to a process, and any
//! file closed by a process drops that process's locks on it.

#[path = "no_trace/place.rs"]
mod place;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};

use afterthought::ErrorKind;
use afterthought::archive::Archive;
use afterthought_tests::Ran;

use place::Place;

/// Every archive here begins with these rows, checkpointed: a word and the row that has it.
const ROWS: [(&str, i64); 3] = [("lantern", 1), ("buoy", 2), ("anchor", 3)];
/// What an agent commits.
const COMET: &str =
    "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'a comet', 1767225700)";
const COMET_ID: i64 = 4;
/// What an agent does not commit, or loses.
const GHOST: &str =
    "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'a ghost', 1767225701)";
/// A change larger than the cache: its pages leave the process before the commit that never comes.
const GHOSTS: &str = "PRAGMA cache_size = 5; PRAGMA cache_spill = 5; BEGIN IMMEDIATE; \
    UPDATE messages SET content = 'a ghost' WHERE id = 1; \
    WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500) \
    INSERT INTO messages (session_id, role, content, timestamp) \
    SELECT 's', 'user', 'ghost ' || hex(zeroblob(1000)), 1767225800 + i FROM n";

// ---- write-ahead log ----

#[test]
fn closed_archive_gets_no_sidecar() {
    check(&Place::new(), "state.db", &[]);
}

#[test]
fn format_is_the_one_that_readers_are_told() {
    for (for_writers, for_readers) in [(1, 2), (0, 2), (2, 1)] {
        let place = Place::new();
        let archive = fs::File::options().write(true).open(&place.archive).expect("the archive");
        archive.write_all_at(&[for_writers, for_readers], 18).expect("other versions in its header");
        check(&place, "state.db", &[]);
    }
}

#[test]
fn journal_may_be_left_beside_a_log_format() {
    for journal in [vec![0; 512], vec![0x5A; 512]] {
        let place = Place::new();
        fs::write(place.folder.join("state.db-journal"), journal).expect("a journal");
        check(&place, "state.db state.db-journal", &[]);
    }
}

#[test]
fn rows_only_in_a_live_log_are_found() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does(COMET);
    check(&place, "state.db state.db-shm state.db-wal", &["comet"]);
}

#[test]
fn newborn_archive_is_all_log() {
    let place = Place::new();
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::rename(place.folder.join(file), place.home.path().join(file)).ok();
    }
    let mut agent = place.agent();
    agent.does("PRAGMA journal_mode = WAL");
    agent.does(&format!("ATTACH '{}' AS old", place.home.path().join("state.db").display()));
    for table in ["sessions", "messages"] {
        agent.does(&format!("CREATE TABLE {table} AS SELECT * FROM old.{table}"));
    }
    // A table made by a query has no key that counts by itself.
    agent.does(&COMET.replace("(session_id", "(id, session_id").replace("('s'", "(4, 's'"));
    check(&place, "state.db state.db-shm state.db-wal", &["comet"]);
}

#[test]
fn live_log_may_be_empty() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does(COMET);
    agent.does("PRAGMA wal_checkpoint(TRUNCATE)");
    assert_eq!(place.bytes("state.db-wal"), 0);
    check(&place, "state.db state.db-shm state.db-wal", &["comet"]);
}

#[test]
fn live_log_may_have_begun_anew() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("UPDATE messages SET content = content || ' ' || hex(zeroblob(20000)) WHERE id = 1");
    agent.does("PRAGMA wal_checkpoint(RESTART)");
    let bytes = place.bytes("state.db-wal");
    agent.does(COMET);
    assert_eq!(place.bytes("state.db-wal"), bytes, "the log is written over from its start");
    check(&place, "state.db state.db-shm state.db-wal", &["comet"]);
}

#[test]
fn open_transaction_of_a_live_log_is_not_seen() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does(COMET);
    agent.does(GHOSTS);
    assert!(place.bytes("state.db-wal") > 500_000, "the change has left the agent's process");
    check(&place, "state.db state.db-shm state.db-wal", &["comet"]);
}

#[test]
fn crashed_log_keeps_its_rows() {
    let place = Place::new();
    crash_in_log(&place);
    check(&place, "state.db state.db-shm state.db-wal", &["comet"]);
}

#[test]
fn crashed_transaction_of_a_log_is_not_seen() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does(COMET);
    agent.does(GHOSTS);
    agent.crash();
    check(&place, "state.db state.db-shm state.db-wal", &["comet"]);
}

#[test]
fn shared_memory_may_be_empty_or_garbage() {
    for shm in [Vec::new(), vec![0x5A; 32 * 1024]] {
        let place = Place::new();
        crash_in_log(&place);
        fs::write(place.folder.join("state.db-shm"), shm).expect("another -shm");
        check(&place, "state.db state.db-shm state.db-wal", &["comet"]);
    }
}

#[test]
fn log_may_be_garbage() {
    for files in ["state.db state.db-shm state.db-wal", "state.db state.db-wal"] {
        let place = Place::new();
        for name in files.split(' ').skip(1) {
            fs::write(place.folder.join(name), vec![0x5A; 32 * 1024]).expect("garbage");
        }
        check(&place, files, &[]);
    }
}

#[test]
fn torn_end_of_a_log_is_not_read() {
    for with_shm in [true, false] {
        let place = Place::new();
        let mut agent = place.agent();
        agent.does(COMET);
        let whole = place.bytes("state.db-wal");
        agent.does(GHOST);
        agent.crash();
        let log = fs::File::options().write(true).open(place.folder.join("state.db-wal")).expect("the log");
        assert!(place.bytes("state.db-wal") > whole + 100);
        log.set_len(whole + 100).expect("a shorter log");
        if with_shm {
            // What is in shared memory is as old as the machine's last boot: it went with it.
            fs::write(place.folder.join("state.db-shm"), "").expect("an empty -shm");
        } else {
            place.lose("state.db-shm");
        }
        let files = if with_shm { "state.db state.db-shm state.db-wal" } else { "state.db state.db-wal" };
        check(&place, files, &["comet"]);
    }
}

#[test]
fn log_without_shared_memory_is_read_from_a_copy() {
    let place = Place::new();
    crash_in_log(&place);
    place.lose("state.db-shm");
    check(&place, "state.db state.db-wal", &["comet"]);
}

#[test]
fn writer_that_shares_nothing_is_read_from_a_copy() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("PRAGMA locking_mode = EXCLUSIVE");
    agent.does(COMET);
    check(&place, "state.db state.db-wal", &["comet"]);
}

#[test]
fn leftover_empty_log_stays() {
    let place = Place::new();
    fs::write(place.folder.join("state.db-wal"), "").expect("an empty log");
    check(&place, "state.db state.db-wal", &[]);
}

#[test]
fn shared_memory_without_a_log_stays() {
    let place = Place::new();
    crash_in_log(&place);
    place.lose("state.db-wal");
    check(&place, "state.db state.db-shm", &[]);
}

// ---- rollback journal ----

#[test]
fn closed_rollback_archive_gets_no_sidecar() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("PRAGMA journal_mode = DELETE");
    agent.does(COMET);
    agent.leave();
    check(&place, "state.db", &["comet"]);
}

#[test]
fn idle_rollback_agent_is_not_disturbed() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("PRAGMA journal_mode = DELETE");
    agent.does(COMET);
    check(&place, "state.db", &["comet"]);
}

#[test]
fn spent_journals_stay() {
    for mode in ["PERSIST", "TRUNCATE"] {
        let place = Place::new();
        let mut agent = place.agent();
        agent.does("PRAGMA journal_mode = DELETE");
        agent.does(&format!("PRAGMA journal_mode = {mode}"));
        agent.does(COMET);
        check(&place, "state.db state.db-journal", &["comet"]);
        agent.leave();
    }
}

#[test]
fn open_transaction_of_a_rollback_archive_is_not_seen() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("PRAGMA journal_mode = DELETE");
    agent.does(COMET);
    agent.does("BEGIN IMMEDIATE");
    agent.does(GHOST);
    assert!(place.bytes("state.db-journal") > 0);
    check(&place, "state.db state.db-journal", &["comet"]);
}

#[test]
fn hot_journal_is_rolled_back_in_a_copy() {
    let place = Place::new();
    crash_in_journal(&place);
    check(&place, "state.db state.db-journal", &["comet"]);
}

#[test]
fn locked_archive_is_refused_without_a_trace() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("PRAGMA journal_mode = DELETE");
    assert_eq!(place.aft(&["index"]).code, 0);
    agent.does(GHOSTS);
    let before = place.seen();
    for arguments in [&["index"][..], &["search", "lantern"], &["status"]] {
        let ran = place.aft(arguments);
        assert_eq!((ran.code, error_kind(&ran)), (3, "archive-unsteady".to_owned()), "{arguments:?}");
        assert_eq!(place.seen(), before, "{arguments:?}");
    }
    agent.does("ROLLBACK");
    check(&place, "state.db", &[]);
}

#[test]
fn rollback_archive_beside_a_leftover_log_stays() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("PRAGMA journal_mode = DELETE");
    agent.does(COMET);
    agent.leave();
    fs::write(place.folder.join("state.db-wal"), "").expect("an empty log");
    check(&place, "state.db state.db-wal", &["comet"]);
}

// ---- paths and rights ----

#[test]
fn every_path_is_a_path() {
    for (folder, file) in [
        ("a b", "my state.db"),
        ("what?mode=rw#x%41&y=z", "state?immutable=0#.db"),
        ("it's \"quoted\"; \\ back", "'\".db"),
        ("größe 文件夹 🚀", "состояние.db"),
        ("two\nlines", "-dash.db"),
        ("file:", ":memory:"),
    ] {
        let place = Place::at(folder.as_ref(), file.as_ref());
        let mut agent = place.agent();
        agent.does(COMET);
        check(&place, &format!("{file} {file}-shm {file}-wal"), &["comet"]);
        agent.leave();
        check(&place, file, &["comet"]);
    }
}

#[test]
fn path_need_not_be_utf8() {
    let place = Place::at(OsStr::from_bytes(b"caf\xe9"), "state.db".as_ref());
    check(&place, "state.db", &[]);
}

#[test]
fn symlinks_lead_to_the_archive_and_its_log() {
    let mut place = Place::new();
    let mut agent = place.agent();
    agent.does(COMET);
    let links = place.home.path().join("links");
    fs::create_dir(&links).expect("a folder for links");
    symlink(&place.archive, links.join("file.db")).expect("a link to the file");
    symlink(&place.folder, links.join("folder")).expect("a link to the folder");
    for link in [links.join("file.db"), links.join("folder").join("state.db")] {
        place.archive = link;
        check(&place, "state.db state.db-shm state.db-wal", &["comet"]);
    }
    let names: Vec<_> = fs::read_dir(&links).expect("links").collect();
    assert_eq!(names.len(), 2, "nothing appears beside a link");
}

#[test]
fn files_that_may_not_be_written_are_read() {
    check(&Place::new().forbid(), "state.db", &[]);

    let place = Place::new();
    crash_in_log(&place);
    check(&place.forbid(), "state.db state.db-shm state.db-wal", &["comet"]);

    let place = Place::new();
    crash_in_log(&place);
    place.lose("state.db-shm");
    check(&place.forbid(), "state.db state.db-wal", &["comet"]);
}

#[test]
fn hot_journal_that_may_not_be_written_is_rolled_back_in_a_copy() {
    let place = Place::new();
    crash_in_journal(&place);
    check(&place.forbid(), "state.db state.db-journal", &["comet"]);
}

#[test]
fn what_is_no_archive_is_refused_without_a_trace() {
    let missing: Make = |place| fs::remove_file(&place.archive).expect("no archive");
    let folder = |place: &Place| {
        fs::remove_file(&place.archive).expect("no archive");
        fs::create_dir(&place.archive).expect("a folder");
    };
    let empty = |place: &Place| fs::write(&place.archive, "").expect("an empty file");
    let short = |place: &Place| fs::write(&place.archive, "SQLite format 3\0").expect("a short file");
    let text = |place: &Place| fs::write(&place.archive, "not a database ".repeat(500)).expect("a text");
    let foreign = |place: &Place| {
        place.agent().does("DROP TABLE messages");
    };
    let lacking = |place: &Place| {
        place.agent().does("DROP INDEX idx_sessions_source; ALTER TABLE sessions RENAME COLUMN source TO x");
    };
    let beside_empty_log = |place: &Place| {
        fs::write(&place.archive, "").expect("an empty file");
        fs::write(place.folder.join("state.db-wal"), "").expect("an empty log");
    };
    let states: [(&str, Make, &str); 8] = [
        ("missing", missing, "archive-unavailable"),
        ("a folder", folder, "archive-unrecognized"),
        ("empty", empty, "archive-unrecognized"),
        ("a header alone", short, "archive-unrecognized"),
        ("text", text, "archive-unrecognized"),
        ("another program's", foreign, "archive-unrecognized"),
        ("without a needed column", lacking, "archive-unrecognized"),
        ("cut to nothing beside an empty log", beside_empty_log, "archive-unrecognized"),
    ];
    let mut wrong = Vec::new();
    for (name, make, kind) in states {
        let place = Place::new();
        make(&place);
        for arguments in COMMANDS {
            let before = (place.names(), place.archive.is_file().then(|| place.seen()));
            let ran = place.aft(arguments);
            let after = (place.names(), place.archive.is_file().then(|| place.seen()));
            if ran.code != 3 || error_kind(&ran) != kind {
                wrong.push(format!("{name}: {arguments:?}: {ran:?}"));
            }
            if before != after {
                wrong.push(format!("{name}: {arguments:?}: {:?} became {:?}", before.0, after.0));
            }
            if place.index().exists() {
                wrong.push(format!("{name}: {arguments:?}: an index was made"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

type Make = fn(&Place);

/// The log may be all that is left of the rows; SQLite deletes one that stands beside an empty file.
#[test]
fn database_cut_to_nothing_keeps_its_log() {
    let place = Place::new();
    crash_in_log(&place);
    fs::write(&place.archive, "").expect("an empty file");
    let before = place.seen();
    for arguments in COMMANDS {
        let ran = place.aft(arguments);
        assert_eq!((ran.code, error_kind(&ran)), (3, "archive-unrecognized".to_owned()), "{arguments:?}");
        assert_eq!(place.seen(), before, "{arguments:?}: {:?}", place.names());
    }
}

const COMMANDS: [&[&str]; 8] = [
    &["search", "lantern"],
    &["search", "--no-sync", "lantern"],
    &["index"],
    &["reindex"],
    &["status"],
    &["show", "1"],
    &["verify"],
    &["export"],
];

#[test]
fn copy_above_two_gigabytes_needs_leave() {
    let place = Place::new();
    crash_in_log(&place);
    place.lose("state.db-shm");
    // A hole: the file is large and holds nothing.
    let file = fs::File::options().write(true).open(&place.archive).expect("the archive");
    file.set_len(2 * 1024 * 1024 * 1024).expect("a large file");
    let before = (place.names(), file.metadata().expect("metadata").modified().expect("a time"));
    let ran = place.aft(&["index"]);
    assert_eq!((ran.code, error_kind(&ran)), (3, "archive-needs-copy".to_owned()));
    assert!(ran.stderr.contains("--allow-copy"), "{ran:?}");
    let refused = Archive::at(&place.archive, false).expect("a file").read(|_| Ok(()));
    assert_eq!(refused.expect_err("a refusal").kind(), ErrorKind::ArchiveNeedsCopy);
    let after = (place.names(), file.metadata().expect("metadata").modified().expect("a time"));
    assert_eq!(before, after);
}

// ---- an agent at work ----

#[test]
fn committing_agent_never_fails_and_keeps_its_sidecars() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("PRAGMA wal_autocheckpoint = 0");
    agent.does(COMET);
    let sidecars = || ["state.db", "state.db-wal", "state.db-shm"].map(|name| place.inode(name));
    let before = sidecars();
    for round in 0..20 {
        let reading = place.start(if round % 2 == 0 { &["index"] } else { &["search", "comet"] });
        agent.does(&vec![COMET; 15].join("; "));
        match round % 4 {
            1 => agent.does("PRAGMA wal_checkpoint(PASSIVE)"),
            2 => agent.does("UPDATE messages SET active = 0 WHERE id = (SELECT max(id) FROM messages)"),
            _ => String::new(),
        };
        let ran = reading.wait_with_output().expect("aft ends");
        assert!(ran.status.success(), "round {round}: {}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(sidecars(), before, "round {round}");
    }
    assert_eq!(agent.does("SELECT count(*) FROM messages"), "304");
    settle(&place, 304);
}

#[test]
fn committing_rollback_agent_never_fails() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("PRAGMA journal_mode = DELETE");
    for round in 0..20 {
        let reading = place.start(if round % 2 == 0 { &["index"] } else { &["search", "comet"] });
        agent.does(&vec![COMET; 15].join("; "));
        let ran = reading.wait_with_output().expect("aft ends");
        assert!(ran.status.success(), "round {round}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    assert_eq!(agent.does("SELECT count(*) FROM messages"), "303");
    settle(&place, 303);
}

/// Without shared memory there is nothing to lock, so a copy may catch the agent between two files.
#[test]
fn committing_agent_that_shares_nothing_is_copied_whole_or_not() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does("PRAGMA locking_mode = EXCLUSIVE");
    agent.does("PRAGMA wal_autocheckpoint = 1; PRAGMA synchronous = OFF");
    // Large enough that a copy takes a while.
    agent.does(GHOSTS.split_once("; WITH").map(|(_, rows)| format!("WITH{rows}")).as_deref().expect("rows"));
    for round in 0..10 {
        let mut reading = place.start(&["index"]);
        while reading.try_wait().expect("aft runs").is_none() {
            agent
                .does("UPDATE messages SET content = hex(randomblob(1000)) WHERE id % 9 = abs(random()) % 9");
        }
        let ran = reading.wait_with_output().expect("aft ends");
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() || error.contains("archive-unsteady"), "round {round}: {error}");
    }
    settle(&place, 503);
}

/// Once the agent rests, one more sync makes index and archive equal.
fn settle(place: &Place, rows: u64) {
    assert_eq!(place.aft(&["index"]).code, 0);
    let verdict = place.aft(&["verify"]).json();
    assert_eq!((&verdict["equal"], verdict["archive_rows"].as_u64()), (&true.into(), Some(rows)));
}

#[test]
fn reader_keeps_its_snapshot_while_the_agent_writes() {
    for mode in ["WAL", "DELETE"] {
        keeps_its_snapshot(mode, |_| Ok(()));
    }
}

#[test]
fn reader_of_a_log_keeps_its_snapshot_while_another_handle_looks() {
    keeps_its_snapshot("WAL", |other| other.stamp().map(|_| ()));
}

#[test]
fn reader_of_a_rollback_archive_keeps_its_snapshot_while_another_handle_looks() {
    keeps_its_snapshot("DELETE", |other| other.stamp().map(|_| ()));
}

#[test]
fn reader_keeps_its_snapshot_while_another_handle_reads() {
    for mode in ["WAL", "DELETE"] {
        keeps_its_snapshot(mode, |other| other.read(|view| view.rows_above(0).map(|_| ())));
    }
}

/// Reads, does `meanwhile` on a second handle, lets the agent write, and reads on. A process has one
/// set of locks on a file, and closing any descriptor of that file drops them all.
#[track_caller]
fn keeps_its_snapshot(mode: &str, mut meanwhile: impl FnMut(&mut Archive) -> afterthought::Result<()>) {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does(&format!("PRAGMA journal_mode = {mode}"));
    // Long enough that the row's pages are read only when the row is asked for.
    agent.does(&format!("UPDATE messages SET content = '{}' WHERE id = 1", "old ".repeat(5_000)));
    let archive = Archive::at(&place.archive, false).expect("a file");
    let mut other = archive.clone();
    let seen = archive.read(|view| {
        view.rows_above(0)?;
        meanwhile(&mut other)?;
        // A writer has to wait for the reader, or to write where it does not look.
        let new = "new ".repeat(5_000);
        let _busy = agent.tries(&format!("UPDATE messages SET content = '{new}' WHERE id = 1"));
        let _busy = agent.tries("PRAGMA wal_checkpoint(TRUNCATE)");
        let _busy = agent.tries("DELETE FROM messages; VACUUM");
        Ok(view.message(1)?.map(|message| message.content))
    });
    let content = seen.expect("a state that can be read").expect("row 1, as when the read began");
    assert!(content.starts_with("old") && !content.contains("new"), "the reader saw {content:.40}");
}

#[test]
fn handle_follows_agents_that_come_and_go() {
    follows("WAL", true);
    follows("DELETE", true);
}

#[test]
fn handle_follows_agents_that_come_and_go_between_two_looks() {
    follows("DELETE", false);
    follows("WAL", false);
}

/// Four agents, one after another, each add two rows; one handle must see each row.
#[track_caller]
fn follows(mode: &str, looks_between: bool) {
    let place = Place::new();
    let archive = Archive::at(&place.archive, false).expect("a file");
    let seen = || archive.read(|view| view.rows_above(0)).expect("a count");
    for agents in 0..4 {
        let mut agent = place.agent();
        agent.does(&format!("PRAGMA journal_mode = {mode}"));
        agent.does(COMET);
        assert_eq!(seen(), 4 + 2 * agents, "{mode}");
        agent.does(COMET);
        assert_eq!(seen(), 5 + 2 * agents, "{mode}");
        agent.leave();
        assert!(!looks_between || seen() == 5 + 2 * agents, "{mode}");
    }
}

#[test]
fn idle_handle_lets_the_agent_close_its_log() {
    let place = Place::new();
    let mut agent = place.agent();
    agent.does(COMET);
    let archive = Archive::at(&place.archive, false).expect("a file");
    assert_eq!(archive.read(|view| view.rows_above(0)).expect("a count"), 4);
    agent.leave();
    assert_eq!(place.names(), ["state.db"]);
}

#[test]
fn handle_outlives_an_agent_that_crashes() {
    for mode in ["WAL", "DELETE"] {
        let place = Place::new();
        let mut agent = place.agent();
        agent.does(&format!("PRAGMA journal_mode = {mode}"));
        agent.does("BEGIN IMMEDIATE");
        agent.does(COMET);
        let archive = Archive::at(&place.archive, false).expect("a file");
        assert_eq!(archive.read(|view| view.rows_above(0)).expect("rows"), 3);
        agent.does("COMMIT");
        agent.does(GHOSTS);
        agent.crash();
        let before = place.seen();
        assert_eq!(archive.read(|view| view.rows_above(0)).expect("rows"), 4, "{mode}");
        assert_eq!(place.seen(), before, "{mode}");
    }
}

// ---- the check ----

/// Dies with [`COMET`] committed to the log alone.
fn crash_in_log(place: &Place) {
    let mut agent = place.agent();
    agent.does(COMET);
    agent.crash();
}

/// Dies with half a transaction in the file itself.
fn crash_in_journal(place: &Place) {
    let mut agent = place.agent();
    agent.does("PRAGMA journal_mode = DELETE");
    agent.does(COMET);
    let bytes = place.bytes("state.db");
    agent.does(GHOSTS);
    agent.crash();
    assert!(place.bytes("state.db") > bytes, "the file holds pages of the open transaction");
}

/// Runs every command on a state of the files and compares them before and after each.
///
/// `files` is the listing that makes the state; every archive has [`ROWS`], and `found` is what
/// else must be there. What stands in no commit must not.
#[track_caller]
fn check(place: &Place, files: &str, found: &[&str]) {
    assert_eq!(place.names().join(" "), files, "the files are in the state meant");
    let _forget = fs::remove_dir_all(place.index());
    let before = place.seen();
    let aft = |arguments: &[&str]| {
        let ran = place.aft(arguments);
        assert_eq!(place.seen(), before, "aft {arguments:?} left a trace: {ran:?}");
        assert_eq!(place.temporary(), 0, "aft {arguments:?} left its copy: {ran:?}");
        ran
    };
    for arguments in [&["status"][..], &["verify"], &["show", "1"], &["search", "--no-sync", "lantern"]] {
        let ran = aft(arguments);
        assert_eq!((ran.code, error_kind(&ran)), (3, "index-missing".to_owned()), "{ran:?}");
    }
    let comet = found.contains(&"comet").then_some(("comet", COMET_ID));
    let rows = ROWS.len() as u64 + u64::from(comet.is_some());
    for build in [&["search", "lantern"][..], &["index"], &["reindex"]] {
        let ran = aft(build);
        assert_eq!(ran.code, 0, "{build:?}: {ran:?}");
        for (word, id) in ROWS.into_iter().chain(comet) {
            for search in [&["search", word][..], &["search", "--no-sync", word]] {
                let page = aft(search).json();
                let ids: Vec<_> =
                    page["results"].as_array().expect("hits").iter().map(|hit| &hit["message_id"]).collect();
                assert_eq!(ids, [id], "{search:?}: {page}");
            }
            let shown = aft(&["show", &id.to_string()]).json();
            assert!(shown["messages"].to_string().contains(word), "{shown}");
        }
        for word in ["comet", "ghost"].into_iter().filter(|word| !found.contains(word)) {
            assert_eq!(aft(&["search", word]).json()["total"]["value"], 0, "{word}");
        }
        let status = aft(&["status"]).json();
        assert_eq!((&status["index"]["state"], &status["index"]["rows"]), (&"ready".into(), &rows.into()));
        let verdict = aft(&["verify"]).json();
        assert_eq!((&verdict["equal"], &verdict["archive_rows"]), (&true.into(), &rows.into()));
    }
    let doctor = aft(&["doctor", "--deep"]);
    assert_eq!(
        (doctor.code, doctor.json()["archives"][0]["checks"].to_string().contains("texts")),
        (0, true),
        "{doctor:?}"
    );
    let exported = aft(&["export"]);
    assert_eq!((exported.code, exported.stdout.lines().count() as u64), (0, rows), "{exported:?}");
    let bench = aft(&["bench", "--runs", "1", "--no-whole-process"]);
    assert_eq!(bench.json()["archive"]["rows"], rows, "{bench:?}");
}

fn error_kind(ran: &Ran) -> String {
    let error: serde_json::Value =
        serde_json::from_str(&ran.stderr).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    error["error"]["kind"].as_str().unwrap_or_default().to_owned()
}
