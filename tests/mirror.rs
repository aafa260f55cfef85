//! Every change that an agent makes to its archive reaches the index, at the cost the change
//! deserves. Work is counted, never timed.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use afterthought::index::Disk;
use afterthought::{Depth, Engine, ErrorKind, Freshness, Level, Options, SearchRequest, SyncReport};
use afterthought_tests::faults::Faulty;
use afterthought_tests::{Fixture, ids, search, sync};
use afterthought_tools::archive::{Message, Session, Shape, Writer};

/// Two sessions of three messages each: ids 1 to 3 and 4 to 6.
fn two_sessions(writer: &mut Writer) -> rusqlite::Result<()> {
    for (session, words) in [("a", ["apple", "basil", "cedar"]), ("b", ["delta", "ember", "fjord"])] {
        writer.session(&Session { title: Some(format!("about {session}")), ..Session::new(session) })?;
        for word in words {
            writer.message(session, &Message::user(&format!("the {word} of {session}")))?;
        }
    }
    Ok(())
}

struct Mirrored {
    fixture: Fixture,
    engine: Engine,
}

impl Mirrored {
    fn new() -> Self {
        let fixture = Fixture::with(Shape::V22, two_sessions);
        let engine = fixture.engine();
        sync(&engine);
        Self { fixture, engine }
    }

    /// Changes the archive, syncs, and checks that index and archive then agree.
    fn after(&self, change: impl FnOnce(&mut Writer) -> rusqlite::Result<()>) -> SyncReport {
        let mut writer = self.fixture.writer();
        change(&mut writer).expect("the change");
        writer.close().expect("a clean close");
        let report = sync(&self.engine);
        let verdict = self.engine.verify(Depth::Text).expect("a verdict");
        assert!(verdict.equal, "{verdict:?}");
        report
    }

    #[track_caller]
    fn check(&self, query: &str, expected: &[i64]) {
        assert_eq!(ids(&search(&self.engine, query)), expected, "{query}");
    }
}

#[test]
fn the_first_build_takes_every_row() {
    let mirrored = Mirrored::new();
    let verdict = mirrored.engine.verify(Depth::Text).expect("a verdict");
    assert!(verdict.equal && verdict.archive_rows == 6, "{verdict:?}");
    mirrored.check("cedar", &[3]);
}

#[test]
fn an_unchanged_archive_is_not_opened() {
    let mirrored = Mirrored::new();
    // A file written just now could be written again within the same tick of the file system's clock.
    let hour_ago = SystemTime::now() - Duration::from_hours(1);
    let file = File::options().write(true).open(mirrored.fixture.archive()).expect("the archive");
    file.set_modified(hour_ago).expect("a time in the past");
    sync(&mirrored.engine);
    for (level, unchanged) in [(Level::Quick, true), (Level::Full, true), (Level::Deep, false)] {
        match mirrored.engine.freshen(level, Duration::MAX, |_| {}).expect("a sync") {
            Freshness::Fresh(report) => assert_eq!(report.unchanged, unchanged, "{level:?} {report:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_append_costs_one_row() {
    let mirrored = Mirrored::new();
    let report = mirrored.after(|writer| writer.message("a", &Message::user("a grape")).map(drop));
    assert_eq!((report.stats.rows_read, report.stats.docs_added, report.stats.docs_removed), (1, 1, 0));
    mirrored.check("grape", &[7]);
}

/// An engine whose storage counts.
fn counted(fixture: &Fixture) -> (Engine, Faulty) {
    let counter = Faulty::over(Arc::new(Disk));
    let mut options = Options::new(fixture.archive(), fixture.index());
    options.storage = Arc::new(counter.clone());
    (Engine::open(&options).expect("an engine"), counter)
}

#[test]
fn many_small_syncs_pile_up_neither_segments_nor_writing() {
    const SYNCS: u64 = 150;
    let fixture = Fixture::with(Shape::V22, two_sessions);
    let (engine, counter) = counted(&fixture);
    sync(&engine);
    let mut writer = fixture.writer();
    for number in 0..SYNCS {
        writer.message("a", &Message::user(&format!("grape number {number}"))).expect("a row");
        sync(&engine);
        let segments = engine.status().expect("a status").segments;
        assert!(segments < 20, "{segments} segments after {number} syncs");
    }
    writer.close().expect("a clean close");
    // Merges that are still under way are counted too.
    drop(engine);
    let each = counter.written() / SYNCS;
    assert!(each < 50_000, "{each} bytes written a sync");
    let mut all = SearchRequest::new("grape");
    all.limit = 1_000;
    assert_eq!(fixture.engine().search(all).expect("a page").results.len(), 150);
}

#[test]
fn a_new_title_writes_few_bytes_whatever_the_session_holds() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("a"))?;
        let long = "a long report on everything that was tried ".repeat(2_000);
        (0..20).try_for_each(|_| writer.message("a", &Message::user(&long)).map(drop))
    });
    let (engine, counter) = counted(&fixture);
    sync(&engine);
    let before = counter.written();
    let mut writer = fixture.writer();
    writer.set_title("a", "quince").expect("a title");
    writer.close().expect("a clean close");
    sync(&engine);
    drop(engine);
    assert!(counter.written() - before < 20_000, "{} bytes", counter.written() - before);
}

#[test]
fn a_sync_waits_for_no_merge() {
    let fixture = Fixture::with(Shape::V22, two_sessions);
    let (engine, faults) = counted(&fixture);
    faults.hold_merges();
    let mut writer = fixture.writer();
    for number in 0..20 {
        writer.message("a", &Message::user(&format!("grape number {number}"))).expect("a row");
        match engine.freshen(Level::Quick, Duration::from_mins(1), |_| {}).expect("a writer thread") {
            Freshness::Fresh(report) => assert_eq!(report.stats.commits, 1),
            other => panic!("sync {number} ended as {other:?}"),
        }
    }
    writer.close().expect("a clean close");
    let held = engine.status().expect("a status").segments;
    assert!(held >= 20, "{held} segments: no merge was under way");
    faults.heal();
    drop(engine);
    let engine = fixture.engine();
    assert!(engine.status().expect("a status").segments < 10);
    assert!(engine.verify(Depth::Text).expect("a verdict").equal);
}

#[test]
fn a_quick_sync_sees_appends_and_new_sessions() {
    let mirrored = Mirrored::new();
    let mut writer = mirrored.fixture.writer();
    writer.session(&Session::new("c")).expect("a session");
    writer.message("c", &Message::user("a grape")).expect("a row");
    writer.close().expect("a clean close");
    mirrored.engine.freshen(Level::Quick, Duration::MAX, |_| {}).expect("a sync");
    mirrored.check("grape", &[7]);
}

#[test]
fn a_rewind_hides_rows_and_a_restore_brings_them_back() {
    let mirrored = Mirrored::new();
    let report = mirrored.after(|writer| writer.rewind("a", 2).map(drop));
    assert_eq!((report.stats.rows_read, report.stats.docs_added, report.stats.docs_removed), (2, 2, 2));
    mirrored.check("basil cedar", &[]);
    let mut request = SearchRequest::new("cedar");
    request.filters.include_inactive = true;
    assert_eq!(ids(&mirrored.engine.search(request).expect("a page")), [3]);
    mirrored.after(|writer| writer.restore("a", 2).map(drop));
    mirrored.check("cedar", &[3]);
}

#[test]
fn equal_sized_swaps_of_visibility_are_seen() {
    let mirrored = Mirrored::new();
    mirrored.after(|writer| writer.rewind("a", 3).map(drop));
    mirrored.after(|writer| {
        let swap = "UPDATE messages SET active = 1 - active WHERE id IN (2, 3)";
        writer.connection().execute(swap, []).map(drop)
    });
    mirrored.check("basil", &[]);
    mirrored.check("cedar", &[3]);
}

#[test]
fn compaction_keeps_one_copy_of_a_kept_row() {
    let mirrored = Mirrored::new();
    mirrored.after(|writer| {
        let time = "SELECT timestamp FROM messages WHERE id = 3";
        let time: f64 = writer.connection().query_row(time, [], |row| row.get(0))?;
        let kept = Message::user("the cedar of a").at(time);
        writer.compact("a", &[Message::user("[CONTEXT COMPACTION] so far: apples"), kept]).map(drop)
    });
    // Row 3 was compacted, row 8 is the live copy: one message, one result.
    mirrored.check("cedar", &[8]);
    mirrored.check("\"apple\"", &[1]);
    let mut request = SearchRequest::new("cedar");
    request.filters.include_copies = true;
    assert_eq!(ids(&mirrored.engine.search(request).expect("a page")), [8, 3]);
    // The original comes back when its live copy goes.
    mirrored.after(|writer| writer.connection().execute("DELETE FROM messages WHERE id = 8", []).map(drop));
    mirrored.check("cedar", &[3]);
}

#[test]
fn replaced_messages_are_gone_under_their_old_ids() {
    let mirrored = Mirrored::new();
    mirrored.after(|writer| writer.replace("a", &[Message::user("only grape")]).map(drop));
    mirrored.check("apple basil cedar", &[]);
    mirrored.check("grape", &[7]);
}

#[test]
fn a_deleted_session_takes_its_rows_and_its_title_along() {
    let mirrored = Mirrored::new();
    let report = mirrored.after(|writer| writer.delete_session("a").map(drop));
    assert_eq!((report.stats.rows_read, report.stats.docs_removed), (0, 3));
    mirrored.check("apple basil cedar", &[]);
    assert!(search(&mirrored.engine, "about").results.iter().all(|hit| hit.session_id == "b"));
}

#[test]
fn a_quick_sync_sees_a_deleted_session() {
    let mirrored = Mirrored::new();
    let mut writer = mirrored.fixture.writer();
    writer.delete_session("b").expect("a deletion");
    writer.close().expect("a clean close");
    mirrored.engine.freshen(Level::Quick, Duration::MAX, |_| {}).expect("a sync");
    mirrored.check("delta", &[]);
}

#[test]
fn rows_without_their_session_stay_and_are_found() {
    let mirrored = Mirrored::new();
    mirrored.after(|writer| {
        writer.connection().execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM sessions WHERE id = 'a'")
    });
    mirrored.check("cedar", &[3]);
    assert_eq!(search(&mirrored.engine, "cedar").results[0].source, "unknown");
}

#[test]
fn a_cleared_session_keeps_its_title() {
    let mirrored = Mirrored::new();
    mirrored.after(|writer| writer.clear("a"));
    mirrored.check("apple", &[]);
    assert_eq!(search(&mirrored.engine, "about").total.value, 2);
}

#[test]
fn a_new_title_rewrites_no_text() {
    let mirrored = Mirrored::new();
    let report = mirrored.after(|writer| writer.set_title("a", "quince orchard"));
    assert_eq!((report.stats.rows_read, report.stats.docs_added, report.stats.sessions_written), (0, 0, 1));
    let page = search(&mirrored.engine, "quince");
    assert_eq!((page.results[0].message_id, page.results[0].session_id.as_str()), (None, "a"));
    assert_eq!(search(&mirrored.engine, "about").total.value, 1);
}

#[test]
fn the_highest_rows_deleted_and_new_ones_written_are_seen() {
    let mirrored = Mirrored::new();
    mirrored.after(|writer| {
        writer.connection().execute("DELETE FROM messages WHERE id = 6", [])?;
        writer.message("b", &Message::user("a grape")).map(drop)
    });
    mirrored.check("fjord", &[]);
    mirrored.check("grape", &[7]);
}

#[test]
fn a_vacuumed_archive_needs_no_new_text() {
    let mirrored = Mirrored::new();
    let report = mirrored.after(|writer| writer.connection().execute_batch("VACUUM"));
    assert_eq!((report.stats.rows_read, report.stats.docs_added), (0, 0));
}

#[test]
fn another_file_under_the_path_is_mirrored_row_by_row() {
    let mirrored = Mirrored::new();
    let other = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("a"))?;
        writer.message("a", &Message::user("a grape")).map(drop)
    });
    std::fs::rename(other.archive(), mirrored.fixture.archive()).expect("the swap");
    sync(&mirrored.engine);
    assert!(mirrored.engine.verify(Depth::Text).expect("a verdict").equal);
    mirrored.check("basil", &[]);
}

#[test]
fn another_archive_over_the_same_bytes_is_noticed() {
    let mirrored = Mirrored::new();
    // Its ids, counts and times are the same.
    let other = Fixture::with(Shape::V22, |writer| {
        two_sessions(writer)?;
        writer.connection().execute_batch("UPDATE messages SET content = replace(content, 'the', 'a plum,')")
    });
    std::fs::copy(other.archive(), mirrored.fixture.archive()).expect("a copy");
    let report = sync(&mirrored.engine);
    assert_eq!((report.stats.rows_sampled > 0, report.stats.docs_added), (true, 6));
    assert!(mirrored.engine.verify(Depth::Text).expect("a verdict").equal);
    mirrored.check("the", &[]);
    assert_eq!(search(&mirrored.engine, "plum").total.value, 6);
}

#[test]
fn an_archive_that_was_cut_short_is_refused_or_mirrored_and_never_half_shown() {
    let mirrored = Mirrored::new();
    let bytes = std::fs::read(mirrored.fixture.archive()).expect("the archive");
    for length in [0, 50, 4_096, bytes.len() / 2, bytes.len() - 4_096] {
        std::fs::write(mirrored.fixture.archive(), &bytes[..length]).expect("a shorter file");
        match mirrored.engine.freshen(Level::Full, Duration::MAX, |_| {}).expect("a writer thread") {
            Freshness::Behind(error) => {
                let kinds = [ErrorKind::ArchiveUnrecognized, ErrorKind::ArchiveUnavailable];
                assert!(kinds.contains(&error.kind()), "{length}: {error}");
            }
            Freshness::Fresh(_) => {
                assert!(mirrored.engine.verify(Depth::Text).expect("a verdict").equal, "{length}");
            }
            Freshness::Pending => unreachable!("an endless wait"),
        }
    }
    std::fs::write(mirrored.fixture.archive(), &bytes).expect("the whole file");
    sync(&mirrored.engine);
    assert!(mirrored.engine.verify(Depth::Text).expect("a verdict").equal);
    mirrored.check("cedar", &[3]);
}

#[test]
fn an_archive_that_went_is_said_and_not_answered_for() {
    let mirrored = Mirrored::new();
    std::fs::remove_file(mirrored.fixture.archive()).expect("a removal");
    let search = mirrored.engine.search(SearchRequest::new("cedar"));
    assert_eq!(search.expect_err("no archive").kind(), ErrorKind::ArchiveUnavailable);
    let behind = mirrored.engine.freshen(Level::Quick, Duration::MAX, |_| {}).expect("a writer thread");
    assert!(matches!(behind, Freshness::Behind(error) if error.kind() == ErrorKind::ArchiveUnavailable));
}

#[test]
fn an_archive_that_its_agent_upgrades_meanwhile_is_followed() {
    let fixture = Fixture::with(Shape::V11, two_sessions);
    let engine = fixture.engine();
    sync(&engine);
    let writer = fixture.writer();
    let upgrade = "ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1; \
                   ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0; \
                   ALTER TABLE messages ADD COLUMN display_kind TEXT; \
                   UPDATE messages SET active = 0 WHERE id = 3";
    writer.connection().execute_batch(upgrade).expect("an upgrade");
    writer.close().expect("a clean close");
    let report = sync(&engine);
    // Only the session whose rows look different is read again.
    assert!(report.stats.rows_read <= 3, "{report:?}");
    assert!(engine.verify(Depth::Text).expect("a verdict").equal);
    assert_eq!(search(&engine, "cedar").total.value, 0);
}

#[test]
fn a_row_changed_in_place_is_never_shown_with_anothers_score() {
    let mirrored = Mirrored::new();
    mirrored.after(|writer| writer.message("a", &Message::user("another cedar")).map(drop));
    let writer = mirrored.fixture.writer();
    let edit = "UPDATE messages SET content = 'redacted' WHERE id = 3";
    writer.connection().execute(edit, []).expect("the edit");
    writer.close().expect("a clean close");
    let page = search(&mirrored.engine, "cedar");
    assert_eq!((ids(&page), page.total.value), (vec![7], 1));
    assert!(page.warnings.iter().any(|warning| warning.kind == "rows-changed"), "{:?}", page.warnings);
}

#[test]
fn a_row_hidden_since_the_last_sync_is_not_shown() {
    let mirrored = Mirrored::new();
    let mut writer = mirrored.fixture.writer();
    writer.rewind("a", 3).expect("a rewind");
    writer.close().expect("a clean close");
    let page = search(&mirrored.engine, "cedar");
    assert_eq!((ids(&page), page.total.value), (vec![], 0));
}

#[test]
fn a_page_is_filled_up_again_after_rows_that_are_gone() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("a"))?;
        (0..30).try_for_each(|_| writer.message("a", &Message::user("cedar")).map(drop))
    });
    let engine = fixture.engine();
    sync(&engine);
    let writer = fixture.writer();
    writer.connection().execute("DELETE FROM messages WHERE id > 25", []).expect("a deletion");
    writer.close().expect("a clean close");
    let page = search(&engine, "cedar");
    assert_eq!((ids(&page), page.total.value), ((16..=25).rev().collect(), 25));
}

#[test]
fn a_stopped_build_is_searched_and_goes_on() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.transaction(|writer| {
            for session in 0..40 {
                let id = format!("s{session:02}");
                writer.session(&Session::new(&id))?;
                for _ in 0..100 {
                    writer.message(&id, &Message::user(&format!("cedar {}", "filler ".repeat(200))))?;
                }
            }
            Ok(())
        })
    });
    let engine = fixture.engine();
    // Stopped before its first batch, then built to the end by another engine.
    engine.interrupt();
    let stopped = sync(&engine);
    assert!(stopped.interrupted, "{stopped:?}");
    let page = search(&engine, "cedar");
    assert!(page.warnings.iter().any(|warning| warning.kind == "building"), "{:?}", page.warnings);
    drop(engine);
    let engine = fixture.engine();
    let report = sync(&engine);
    assert_eq!(stopped.stats.docs_added + report.stats.docs_added, 4_000);
    assert!(engine.verify(Depth::Text).expect("a verdict").equal);
    assert_eq!(search(&engine, "cedar").total.value, 4_000);
}

#[test]
fn another_engines_commits_are_seen() {
    let mirrored = Mirrored::new();
    let mut writer = mirrored.fixture.writer();
    writer.message("a", &Message::user("a grape")).expect("a row");
    writer.close().expect("a clean close");
    sync(&mirrored.fixture.engine());
    mirrored.check("grape", &[7]);
}

#[test]
fn an_index_of_another_state_of_the_file_is_not_trusted() {
    // The archive is rolled back to a backup: the index is ahead of it.
    let fixture = Fixture::with(Shape::V22, two_sessions);
    let backup = std::fs::read(fixture.archive()).expect("a backup");
    let engine = fixture.engine();
    let mut writer = fixture.writer();
    writer.message("a", &Message::user("a grape")).expect("a row");
    writer.close().expect("a clean close");
    sync(&engine);
    std::fs::write(fixture.archive(), backup).expect("the backup comes back");
    sync(&engine);
    assert!(engine.verify(Depth::Text).expect("a verdict").equal);
    assert_eq!(search(&engine, "grape").total.value, 0);
}

/// Two sessions of 1,500 rows each: more than one batch together.
fn long_sessions(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.transaction(|writer| {
        for session in ["x", "y"] {
            writer.session(&Session::new(session))?;
            for row in 0..1_500 {
                writer.message(session, &Message::user(&format!("cedar {row}")))?;
            }
        }
        Ok(())
    })
}

#[test]
fn rows_that_moved_to_another_session_are_neither_lost_nor_doubled() {
    let fixture = Fixture::with(Shape::V22, long_sessions);
    let engine = fixture.engine();
    sync(&engine);
    let writer = fixture.writer();
    let moved = "UPDATE messages SET session_id = 'y' WHERE id BETWEEN 1400 AND 1500";
    writer.connection().execute(moved, []).expect("the move");
    writer.close().expect("a clean close");
    sync(&engine);
    let verdict = engine.verify(Depth::Text).expect("a verdict");
    assert!(verdict.equal, "{verdict:?}");
    assert_eq!(search(&engine, "cedar").total.value, 3_000);
}

#[test]
fn an_interrupted_sync_takes_no_row_away_and_the_next_one_goes_on() {
    let fixture = Fixture::with(Shape::V22, long_sessions);
    let engine = fixture.engine();
    sync(&engine);
    let mut writer = fixture.writer();
    writer.rewind("x", 700).expect("a rewind");
    writer.close().expect("a clean close");
    engine.interrupt();
    assert!(sync(&engine).interrupted);
    let mut request = SearchRequest::new("cedar");
    request.filters.include_inactive = true;
    // Rows taken back since are left out of the page, which says so; none has gone from the index.
    assert_eq!(engine.verify(Depth::Text).expect("a verdict").index_rows, 3_000);
    assert!(!sync(&engine).interrupted);
    assert!(engine.verify(Depth::Text).expect("a verdict").equal);
    assert_eq!(engine.search(request).expect("a page").total.value, 3_000);
    assert_eq!(search(&engine, "cedar").total.value, 699 + 1_500);
}

/// What a full sync cannot see: rows keep their ids and stay active or not.
const EDITS: [(&str, &str); 6] = [
    ("text", "UPDATE messages SET content = 'the grape of a' WHERE id = 2"),
    ("text", "UPDATE messages SET role = 'assistant' WHERE id = 2"),
    ("text", "UPDATE messages SET timestamp = timestamp + 7200 WHERE id = 2"),
    ("text", "UPDATE messages SET reasoning = 'a grape' WHERE id = 2"),
    ("state", "UPDATE messages SET compacted = 1 WHERE id = 2"),
    ("state", "UPDATE messages SET display_kind = 'hidden' WHERE id = 2"),
];

#[test]
fn edits_in_place_are_proven_and_mended() {
    for (how, sql) in EDITS {
        let fixture = Fixture::with(Shape::V30, two_sessions);
        let engine = fixture.engine();
        sync(&engine);
        let mut writer = fixture.writer();
        writer.transaction(|writer| writer.connection().execute_batch(sql)).expect(sql);
        writer.close().expect("a clean close");

        assert!(engine.verify(Depth::Rows).expect("a verdict").equal, "{sql}");
        // Not mended yet, and not shown with what it no longer says.
        assert_eq!(ids(&search(&engine, "basil")), [0; 0], "{sql}");
        let verdict = engine.verify(Depth::Text).expect("a verdict");
        assert!(verdict.deep && !verdict.equal, "{sql}: {verdict:?}");
        assert_eq!(verdict.differing, [(how, 1)].into(), "{sql}");
        assert_eq!(verdict.drift[0].message_id, Some(2), "{sql}");

        let Freshness::Fresh(report) = engine.freshen(Level::Deep, Duration::MAX, |_| {}).expect("a sync")
        else {
            panic!("{sql}: the sync did not end")
        };
        // All six are read to compare, and the one that differs to be written.
        assert_eq!((report.stats.rows_read, report.stats.docs_added), (6 + 1, 1), "{sql}");
        let verdict = engine.verify(Depth::Text).expect("a verdict");
        assert!(verdict.equal, "{sql}: {verdict:?}");
    }
}

#[test]
fn a_compaction_that_leaves_active_as_it_was_is_seen() {
    let mirrored = Mirrored::new();
    mirrored.after(|writer| writer.rewind("a", 1).map(drop));
    mirrored.check("cedar", &[]);
    // Taken back, restored and summarized between two syncs: 0/0 became 0/1, and all that a signature
    // sees is the summary.
    mirrored.after(|writer| {
        writer.restore("a", 1)?;
        writer.compact("a", &[Message::user("[CONTEXT COMPACTION] so far")]).map(drop)
    });
    mirrored.check("cedar", &[3]);
}

#[test]
fn an_edit_makes_a_copy_a_message_of_its_own() {
    let mirrored = Mirrored::new();
    let again = |text: &str| Message::user(text).at(1_800_000_000.0);
    mirrored.after(|writer| writer.message("a", &again("the olive")).map(drop));
    mirrored.after(|writer| writer.message("a", &again("the olive")).map(drop));
    mirrored.check("olive", &[8]);
    let mut writer = mirrored.fixture.writer();
    let edit = "UPDATE messages SET content = 'the grape' WHERE id = 8";
    writer.transaction(|writer| writer.connection().execute_batch(edit)).expect("an edit");
    writer.close().expect("a clean close");
    mirrored.engine.freshen(Level::Deep, Duration::MAX, |_| {}).expect("a sync");
    mirrored.check("olive", &[7]);
    mirrored.check("grape", &[8]);
}

#[test]
fn a_session_row_that_differs_is_drift() {
    let mirrored = Mirrored::new();
    let mut writer = mirrored.fixture.writer();
    writer.set_title("b", "a grape").expect("a title");
    writer.close().expect("a clean close");
    let verdict = mirrored.engine.verify(Depth::Rows).expect("a verdict");
    assert_eq!(verdict.differing, [("session", 1)].into());
    assert_eq!((verdict.drift[0].message_id, verdict.drift[0].session_id.as_str()), (None, "b"));
    sync(&mirrored.engine);
    assert!(mirrored.engine.verify(Depth::Text).expect("a verdict").equal);
}
