//! An index whose disk is full, whose folder may only be read, whose bytes are not what was written:
//! said clearly, answered from the last good commit where there is one, mended from the archive alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use afterthought::index::{Disk, Folder};
use afterthought::{
    Depth, Engine, Error, ErrorKind, Freshness, Level, Options, Outcome, Reindex, SearchRequest,
};
use afterthought_tests::faults::Faulty;
use afterthought_tests::{Fixture, aft, ids, run, search, sync};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::Value;

fn archive() -> Fixture {
    Fixture::with(Shape::V22, |writer| {
        writer.session(&Session { title: Some("herbs".to_owned()), ..Session::new("s") })?;
        for word in ["apple", "basil", "cedar", "delta"] {
            let message = Message::assistant(&format!("the {word}")).with_reasoning("think of the herbs");
            writer.message("s", &message)?;
        }
        Ok(())
    })
}

fn append(fixture: &Fixture, text: &str) {
    let mut writer = fixture.writer();
    writer.message("s", &Message::user(text)).expect("a row");
    writer.close().expect("a clean close");
}

fn live(fixture: &Fixture) -> PathBuf {
    let archive = fixture.archive().canonicalize().expect("an archive");
    Folder::of(&fixture.index(), &archive).live().expect("a pointer").expect("an index")
}

/// Opens the engine on a disk that can fail.
fn faulty(fixture: &Fixture) -> (Engine, Faulty) {
    let faults = Faulty::over(Arc::new(Disk));
    let mut options = Options::new(fixture.archive(), fixture.index());
    options.storage = Arc::new(faults.clone());
    (Engine::open(&options).expect("an engine"), faults)
}

fn behind(engine: &Engine) -> Error {
    match engine.freshen(Level::Full, Duration::MAX, |_| {}).expect("a writer thread") {
        Freshness::Behind(error) => error,
        other => panic!("the sync ended as {other:?}"),
    }
}

#[test]
fn a_full_disk_is_said_and_the_last_commit_answers() {
    let fixture = archive();
    let (engine, faults) = faulty(&fixture);
    sync(&engine);
    append(&fixture, "the ember");
    // Wherever in a sync it fills up.
    for bytes in [0, 300, 1_000, 2_000, 4_000] {
        faults.fill_up_after(bytes);
        let error = behind(&engine);
        assert_eq!(error.kind(), ErrorKind::IndexUnavailable, "after {bytes}: {error}");
        assert!(error.to_string().starts_with("write index"), "after {bytes}: {error}");
        assert!(error.next_step().is_some_and(|hint| hint.contains("free space")), "after {bytes}: {error}");
        assert_eq!(ids(&search(&engine, "cedar")), [3], "after {bytes}");
        faults.heal();
    }
    assert_eq!(sync(&engine).stats.docs_added, 1);
    assert_eq!(ids(&search(&engine, "ember")), [5]);
    assert!(engine.verify(Depth::Text).expect("a verdict").equal);
}

#[test]
fn a_file_that_cannot_be_read_is_said() {
    let fixture = archive();
    sync(&fixture.engine());
    let (engine, faults) = faulty(&fixture);
    append(&fixture, "the ember");
    faults.stop_reading();
    let error = behind(&engine);
    assert!(error.to_string().contains("Input/output error"), "{error}");
    faults.heal();
    sync(&engine);
    assert_eq!(ids(&search(&engine, "ember")), [5]);
}

#[test]
fn a_folder_that_may_only_be_read_is_searched() {
    let fixture = archive();
    sync(&fixture.engine());
    append(&fixture, "the ember");
    let faults = Faulty::over(Arc::new(Disk));
    faults.forbid_writing();
    let mut options = Options::new(fixture.archive(), fixture.index());
    options.storage = Arc::new(faults.clone());
    let engine = Engine::open(&options).expect("an engine");
    assert_eq!(ids(&search(&engine, "cedar")), [3]);
    let error = behind(&engine);
    assert_eq!(error.kind(), ErrorKind::IndexUnavailable, "{error}");
    assert!(error.to_string().contains("only be read"), "{error}");
    assert_eq!(search(&engine, "cedar").index.rows_behind, 1);
}

#[test]
fn flipped_bytes_are_noticed_and_mended_from_the_archive() {
    let fixture = archive();
    sync(&fixture.engine());
    append(&fixture, "the ember");
    // A second segment, with a row of the first taken back.
    let mut writer = fixture.writer();
    writer.rewind("s", 4).expect("a rewind");
    writer.close().expect("a clean close");
    sync(&fixture.engine());
    let (mut flipped, mut noticed) = (0, 0);
    for path in files(&live(&fixture)) {
        let whole = fs::read(&path).expect("a file");
        for place in (0..whole.len()).step_by((whole.len() / 8).max(1)) {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x55;
            replace(&path, &bytes);
            flipped += 1;
            noticed += u64::from(is_noticed(&fixture, &path, place));
        }
        replace(&path, &whole);
    }
    assert!(noticed * 10 > flipped * 9, "{noticed} of {flipped} flips were noticed");
    // Whatever it is, one command mends it.
    let broken = live(&fixture);
    for path in files(&broken) {
        let bytes: Vec<u8> = fs::read(&path).expect("a file").iter().map(|byte| byte ^ 0x55).collect();
        replace(&path, &bytes);
    }
    let ran = fixture.aft(&["--json", "verify", "--deep", "--repair"]);
    assert_eq!((ran.code, &ran.json()["equal"]), (0, &true.into()), "{ran:?}");
    assert_ne!(live(&fixture), broken);
}

/// Replaces a file as a new one: pages of the old one may still be mapped.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("a removal");
    fs::write(path, bytes).expect("a file");
}

/// Tells whether a flip is noticed when the index is opened, searched or verified. One that is not
/// must not matter.
fn is_noticed(fixture: &Fixture, path: &Path, place: usize) -> bool {
    let asked = Engine::open(&Options::new(fixture.archive(), fixture.index())).and_then(|engine| {
        engine.status()?;
        let found: Vec<_> = ["cedar", "herbs", "ember"].map(SearchRequest::new).into();
        let pages = found.into_iter().map(|request| engine.search(request)).collect::<Result<Vec<_>, _>>()?;
        let verdict = engine.verify(Depth::Text)?;
        Ok((pages.iter().map(|page| page.total.value).collect::<Vec<_>>(), verdict.equal))
    });
    match asked {
        Ok((totals, equal)) => {
            if equal {
                assert_eq!(totals, [1, 4, 0], "{} at {place}", path.display());
            }
            !equal
        }
        Err(error) => {
            let kinds = [ErrorKind::IndexDamaged, ErrorKind::IndexIncompatible];
            assert!(kinds.contains(&error.kind()), "{} at {place}: {error}", path.display());
            true
        }
    }
}

/// Returns what a commit consists of: neither locks nor notes.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = entries
        .filter(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            !name.starts_with('.') && name != "checked.json"
        })
        .collect();
    files.sort();
    files
}

#[test]
fn everything_of_an_index_is_its_owners_alone() {
    let fixture = archive();
    let mut command = Command::new("sh");
    let aft = aft();
    command.args(["-c", "umask 0; exec \"$0\" --archive \"$1\" --index \"$2\" reindex"]);
    command.arg(aft.get_program()).arg(fixture.archive()).arg(fixture.index());
    assert_eq!(run(&mut command).code, 0);
    let mut folders = vec![fixture.index()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let metadata = entry.metadata().expect("metadata");
            let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
            let mode = metadata.permissions().mode() & 0o777;
            assert_eq!(mode, expected, "{} is {mode:o}", entry.path().display());
            seen += 1;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    assert!(seen > 10);
}

#[test]
fn what_was_deleted_leaves_the_disk_with_every_generation_that_held_it() {
    let fixture = archive();
    append(&fixture, "the secret zanzibar");
    sync(&fixture.engine());
    let rebuilt = Reindex::start(&Options::new(fixture.archive(), fixture.index())).expect("a start");
    assert!(matches!(rebuilt.run(|_, _| {}).expect("a run"), Outcome::Swapped(_)));
    // One that was begun and left.
    drop(Reindex::start(&Options::new(fixture.archive(), fixture.index())).expect("a start"));
    assert_eq!(generations(&fixture), 3);
    let writer = fixture.writer();
    writer.connection().execute("DELETE FROM messages WHERE id >= 4", []).expect("a deletion");
    writer.close().expect("a clean close");
    let engine = fixture.engine();
    sync(&engine);
    // Its merges end with it.
    drop(engine);
    assert_eq!(generations(&fixture), 1);
    let commit = fs::read(live(&fixture).join("meta.json")).expect("a commit");
    let commit: Value = serde_json::from_slice(&commit).expect("JSON");
    let segments = commit["segments"].as_array().expect("segments");
    assert!(segments.iter().all(|segment| segment["deletes"].is_null()), "{commit:#}");
    let written: u64 = segments.iter().filter_map(|segment| segment["max_doc"].as_u64()).sum();
    assert_eq!(written, 3 + 1, "three messages and their session");
    assert_eq!(ids(&search(&fixture.engine(), "cedar")), [3]);
}

fn generations(fixture: &Fixture) -> usize {
    let folder = live(fixture).parent().expect("a folder").to_owned();
    fs::read_dir(folder)
        .expect("a folder")
        .filter(|entry| entry.as_ref().expect("an entry").path().is_dir())
        .count()
}
