//! A rebuild never shows: the live index answers and follows until the new one is proven, and stays
//! whatever stops the rebuild.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use afterthought::index::{Folder, Store};
use afterthought::model::SyncStats;
use afterthought::search::IndexState;
use afterthought::{Depth, ErrorKind, Options, Outcome, Progress, Reindex, Reindexed};
use afterthought_tests::{Fixture, ids, search, sync};
use afterthought_tools::archive::{Message, Session, Shape, Writer};
use afterthought_tools::corpus::{self, Plan};

/// Enough that a build takes several batches and can be stopped in the middle.
const ROWS: u64 = 20_000;

fn small() -> Fixture {
    Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        for word in ["apple", "basil", "cedar"] {
            writer.message("s", &Message::user(&format!("the {word}")))?;
        }
        Ok(())
    })
}

fn large() -> Fixture {
    let fixture = Fixture::new();
    corpus::write(&fixture.archive(), &Plan::new(ROWS, 7), |_| {}).expect("an archive");
    fixture
}

fn options(fixture: &Fixture) -> Options {
    Options::new(fixture.archive(), fixture.index())
}

fn folder(fixture: &Fixture) -> Folder {
    Folder::of(&fixture.index(), &fixture.archive().canonicalize().expect("an archive"))
}

fn live(fixture: &Fixture) -> PathBuf {
    folder(fixture).live().expect("a pointer").expect("an index")
}

fn generations(fixture: &Fixture) -> BTreeSet<String> {
    let entries = fs::read_dir(folder(fixture).path()).expect("a folder");
    let folders = entries.map(|entry| entry.expect("an entry")).filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn reindex(fixture: &Fixture, watch: impl FnMut(&Reindex, Option<Progress>)) -> Outcome {
    Reindex::start(&options(fixture)).expect("a start").run(watch).expect("a run")
}

#[track_caller]
fn swapped(outcome: Outcome) -> Reindexed {
    match outcome {
        Outcome::Swapped(done) => done,
        other => panic!("{other:?}"),
    }
}

fn change(fixture: &Fixture, change: impl FnOnce(&mut Writer) -> rusqlite::Result<()>) {
    let mut writer = fixture.writer();
    change(&mut writer).expect("the change");
    writer.close().expect("a clean close");
}

#[test]
fn the_generation_before_is_kept_and_older_ones_go() {
    let fixture = small();
    sync(&fixture.engine());
    let first = live(&fixture);
    let done = swapped(reindex(&fixture, |_, _| {}));
    assert_eq!((done.work.docs_added, done.archive_rows, done.index_rows), (3, 3, 3));
    assert_eq!(done.previous_folder.as_deref(), first.to_str());
    assert_eq!(live(&fixture).to_str(), Some(done.index_folder.as_str()));
    swapped(reindex(&fixture, |_, _| {}));
    assert_eq!(generations(&fixture), BTreeSet::from(["g2".to_owned(), "g3".to_owned()]));
    // A later sync keeps it too.
    change(&fixture, |writer| writer.message("s", &Message::user("the delta")).map(drop));
    sync(&fixture.engine());
    assert_eq!(generations(&fixture).len(), 2);
    assert_eq!(ids(&search(&fixture.engine(), "delta")), [4]);
}

#[test]
fn an_archive_without_an_index_gets_one() {
    let fixture = small();
    let done = swapped(reindex(&fixture, |_, _| {}));
    assert_eq!(done.previous_folder, None);
    assert_eq!(ids(&search(&fixture.engine(), "basil")), [2]);
}

#[test]
fn searches_are_answered_whole_before_during_and_after() {
    let fixture = large();
    let engine = fixture.engine();
    sync(&engine);
    let (before, total) = (live(&fixture), search(&engine, "the").total.value);
    let done = AtomicBool::new(false);
    let answered = std::thread::scope(|scope| {
        let searches = scope.spawn(|| {
            let mut answered = 0;
            while !done.load(Ordering::Relaxed) {
                let page = search(&engine, "the");
                assert_eq!((page.index.state, page.total.value), (IndexState::Ready, total));
                answered += 1;
            }
            answered
        });
        let mut during = 0;
        let outcome = reindex(&fixture, |_, progress| {
            // A new process, and the handle that was opened long before.
            during += u64::from(progress.is_some_and(|progress| progress.rows_done < progress.rows_total));
            let page = fixture.aft(&["--json", "search", "-n", "1", "the"]).json();
            assert_eq!((&page["total"]["value"], &page["index"]["state"]), (&total.into(), &"ready".into()));
        });
        done.store(true, Ordering::Relaxed);
        assert!(during > 0, "a search ran while rows were read");
        assert_eq!(swapped(outcome).work.docs_added, ROWS);
        searches.join().expect("every search is answered")
    });
    assert!(answered > 0);
    // The old handle has followed the swap.
    let status = engine.status().expect("a status");
    assert_eq!(Some(status.index_folder.as_str()), live(&fixture).to_str());
    assert_ne!(live(&fixture), before);
    assert!(engine.verify(Depth::Text).expect("a verdict").equal);
}

#[test]
fn rows_that_come_and_go_meanwhile_are_right_at_the_swap() {
    let fixture = small();
    let engine = fixture.engine();
    sync(&engine);
    let mut rounds = 0;
    let outcome = reindex(&fixture, |_, progress| {
        if progress.is_some() {
            return;
        }
        rounds += 1;
        if rounds == 1 {
            change(&fixture, |writer| {
                writer.rewind("s", 3)?;
                writer.message("s", &Message::user("the delta")).map(drop)
            });
            // The live index follows at the same time.
            sync(&engine);
            assert_eq!(ids(&search(&engine, "cedar delta")), [4]);
        }
    });
    assert_eq!(swapped(outcome).index_rows, 4);
    assert_eq!(ids(&search(&engine, "cedar delta")), [4]);
    let verdict = engine.verify(Depth::Text).expect("a verdict");
    assert!(verdict.equal, "{verdict:?}");
}

#[test]
fn an_archive_that_never_holds_still_is_not_swapped_in() {
    let fixture = small();
    sync(&fixture.engine());
    let before = live(&fixture);
    let mut hidden = false;
    let outcome = reindex(&fixture, |_, progress| {
        if progress.is_none() {
            hidden = !hidden;
            change(&fixture, |writer| {
                if hidden { writer.rewind("s", 2) } else { writer.restore("s", 2) }.map(drop)
            });
        }
    });
    let Outcome::Drifted(verdict) = outcome else { panic!("{outcome:?}") };
    assert_eq!(verdict.differing, [("state", 2)].into());
    assert_eq!(live(&fixture), before);
}

#[test]
fn rows_added_during_the_proof_are_the_next_syncs() {
    let fixture = small();
    let outcome = reindex(&fixture, |_, progress| {
        if progress.is_none() {
            change(&fixture, |writer| writer.message("s", &Message::user("the delta")).map(drop));
        }
    });
    let done = swapped(outcome);
    assert_eq!((done.archive_rows, done.index_rows), (5, 4));
    let engine = fixture.engine();
    sync(&engine);
    assert_eq!(search(&engine, "delta").total.value, 2);
}

#[test]
fn a_stopped_rebuild_is_gone_on_with() {
    let fixture = large();
    sync(&fixture.engine());
    let before = live(&fixture);
    let outcome = reindex(&fixture, |reindex, progress| {
        if progress.is_some_and(|progress| progress.rows_done > 0) {
            reindex.interrupt();
        }
    });
    assert!(matches!(outcome, Outcome::Stopped), "{outcome:?}");
    assert_eq!(live(&fixture), before);
    // Edited after it was staged, in whichever half.
    let edit = "UPDATE messages SET content = 'zanzibar' WHERE id % 1000 = 1 AND content <> ''";
    change(&fixture, |writer| writer.transaction(|writer| writer.connection().execute_batch(edit)));
    let SyncStats { docs_added, .. } = swapped(reindex(&fixture, |_, _| {})).work;
    assert!((1..ROWS).contains(&docs_added), "{docs_added} of {ROWS} rows were left");
    let engine = fixture.engine();
    assert!(engine.verify(Depth::Text).expect("a verdict").equal);
    assert!(search(&engine, "zanzibar").total.value > 0);
}

#[test]
fn an_old_stage_is_not_gone_on_with() {
    let fixture = small();
    sync(&fixture.engine());
    let folder = folder(&fixture);
    let stage = |now_ms| Store::stage(&folder, now_ms).expect("a stage").0.path().to_owned();
    let start = stage(0);
    let day = Duration::from_hours(24).as_millis();
    let later = i64::try_from(day).expect("a day in milliseconds") + 1;
    assert_ne!(stage(later), start);
    // What a swap leaves that is cut off just before its last step: the live one is never built upon.
    let name = live(&fixture).file_name().expect("a name").to_owned();
    fs::write(folder.path().join("next"), name.as_encoded_bytes()).expect("a pointer");
    assert_ne!(stage(0), live(&fixture));
    swapped(reindex(&fixture, |_, _| {}));
}

#[test]
fn a_stage_that_nobody_builds_goes_when_it_is_old() {
    let fixture = small();
    sync(&fixture.engine());
    drop(Reindex::start(&options(&fixture)).expect("a start"));
    assert_eq!(generations(&fixture).len(), 2);
    folder(&fixture).prune().expect("a prune");
    assert_eq!(generations(&fixture).len(), 2, "it is young");
    let pointer = fs::File::options().write(true).open(folder(&fixture).path().join("next"));
    let two_days_ago = SystemTime::now() - Duration::from_hours(48);
    pointer.and_then(|file| file.set_modified(two_days_ago)).expect("a time in the past");
    folder(&fixture).prune().expect("a prune");
    assert_eq!(generations(&fixture), BTreeSet::from(["g1".to_owned()]));
}

#[test]
fn every_file_is_checked_whoever_wrote_it() {
    let fixture = small();
    let first = fixture.engine();
    sync(&first);
    let before = files(&fixture);
    change(&fixture, |writer| writer.message("s", &Message::user("the delta")).map(drop));
    sync(&fixture.engine());
    let written: Vec<PathBuf> = files(&fixture).difference(&before).cloned().collect();
    // The handle that knows nothing of those files commits too.
    change(&fixture, |writer| writer.message("s", &Message::user("the ember")).map(drop));
    sync(&first);
    let terms = written.iter().find(|path| path.extension().is_some_and(|end| end == "term"));
    let terms = terms.expect("the other handle wrote a segment");
    let mut bytes = fs::read(terms).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xFF;
    fs::write(terms, bytes).expect("a file");
    let error = first.verify(Depth::Rows).expect_err("a flipped byte").kind();
    assert_eq!(error, ErrorKind::IndexDamaged);
    assert_eq!(fixture.aft(&["verify"]).code, 5);
}

fn files(fixture: &Fixture) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(live(fixture)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn one_rebuild_at_a_time() {
    let fixture = small();
    let first = Reindex::start(&options(&fixture)).expect("a start");
    let second = Reindex::start(&options(&fixture)).err().map(|error| error.kind());
    assert_eq!(second, Some(ErrorKind::IndexLocked));
    assert_eq!(fixture.aft(&["reindex"]).code, 6);
    drop(first);
    assert_eq!(fixture.aft(&["reindex"]).code, 0);
}

#[test]
fn a_damaged_index_is_replaced() {
    let fixture = small();
    sync(&fixture.engine());
    fs::write(live(&fixture).join("meta.json"), "{").expect("a file");
    let refused = fixture.aft(&["search", "basil"]);
    assert_eq!(refused.code, 5, "{refused:?}");
    let told = format!("run: aft{} reindex", fixture.flags());
    assert!(refused.stderr.contains(&told), "{refused:?}");
    assert_eq!(fixture.aft(&["reindex"]).code, 0);
    assert_eq!(fixture.aft(&["--json", "search", "basil"]).json()["total"]["value"], 1);
}
