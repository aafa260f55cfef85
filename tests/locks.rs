//! Locks that another process holds and never lets go: whoever needs one says so after a while, with the next
//! step, and nothing is lost.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use afterthought::index::Folder;
use afterthought::{Engine, ErrorKind, Freshness, Level, Options};
use afterthought_tests::{Fixture, Ran, ids, search, sync};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::Value;

/// An archive that was indexed and rebuilt, so that a generation before the live one is kept.
fn rebuilt() -> Fixture {
    let fixture = Fixture::with(Shape::V22, |writer| {
        for session in ["kept", "gone"] {
            writer.session(&Session::new(session))?;
            writer.message(session, &Message::user(&format!("the heron is {session}")))?;
        }
        Ok(())
    });
    sync(&fixture.engine());
    assert_eq!(fixture.aft(&["reindex"]).code, 0);
    fixture
}

fn folder(fixture: &Fixture) -> Folder {
    Folder::of(&fixture.index(), &fixture.archive().canonicalize().expect("an archive"))
}

fn generations(fixture: &Fixture) -> usize {
    let names = fs::read_dir(folder(fixture).path()).expect("a folder");
    names.filter(|name| name.as_ref().expect("an entry").file_name().as_encoded_bytes()[0] == b'g').count()
}

/// Holds a lock for as long as it lives: to `flock`, another descriptor is another process.
fn hold(path: &Path) -> File {
    let file = File::options().create(true).append(true).open(path).expect("a file");
    file.lock().expect("a lock");
    file
}

#[track_caller]
fn is_locked(ran: &Ran, file: &Path) {
    assert_eq!(ran.code, 6, "{ran:?}");
    let error: Value = serde_json::from_str(&ran.stderr).expect("a JSON line");
    let (kind, hint) = (&error["error"]["kind"], error["error"]["hint"].as_str().expect("the next step"));
    assert_eq!(kind, "index-locked");
    assert!(hint.contains(&format!("lsof {}", file.display())), "{hint}");
}

#[test]
fn who_changes_pointers_does_not_wait_without_end() {
    let fixture = rebuilt();
    let engine = fixture.engine();
    fixture.writer().clear("gone").expect("a deletion");
    let lock: PathBuf = folder(&fixture).path().join("lock");
    let held = hold(&lock);
    thread::scope(|scope| {
        let reindex = scope.spawn(|| fixture.aft(&["--json", "reindex"]));
        let synced = scope.spawn(|| engine.freshen(Level::Full, Duration::MAX, |_| {}).expect("an answer"));
        // What only reads needs no lock.
        assert_eq!(ids(&search(&engine, "kept")), [1]);
        is_locked(&reindex.join().expect("an end"), &lock);
        let synced = synced.join().expect("an end");
        let Freshness::Behind(error) = &synced else { panic!("{synced:?}") };
        assert_eq!(error.kind(), ErrorKind::IndexLocked);
    });
    is_locked(&fixture.aft(&["--json", "reindex", "--rollback"]), &lock);
    assert_eq!(generations(&fixture), 2, "what was deleted may still stand in the index before");
    drop(held);
    // The next sync finds the row gone again, and takes it out of both.
    sync(&engine);
    assert_eq!(generations(&fixture), 1);
    assert_eq!(ids(&search(&engine, "heron")), [1]);
}

#[test]
fn who_opens_segments_does_not_wait_without_end() {
    let fixture = rebuilt();
    let live = folder(&fixture).live().expect("a pointer").expect("an index");
    let held = hold(&live.join(".tantivy-meta.lock"));
    let refused = Engine::open(&Options::new(fixture.archive(), fixture.index())).err().expect("a refusal");
    assert_eq!(refused.kind(), ErrorKind::IndexLocked, "{refused}");
    assert!(refused.next_step().is_some_and(|hint| hint.contains("lsof")), "{refused:?}");
    drop(held);
    assert_eq!(ids(&search(&fixture.engine(), "kept")), [1]);
}
