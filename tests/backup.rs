//! What becomes of an index when its archive is copied, moved, or restored from a backup: answers are the
//! archive's as it is now, whatever the index was made of.

use std::fs;
use std::path::{Path, PathBuf};

use afterthought::index::Folder;
use afterthought::limits::SIGNATURES_DEAR_MS;
use afterthought_tests::{Fixture, aft, run};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::{Value, json};

fn harbor() -> Fixture {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        for text in ["the lantern", "the buoy", "the anchor"] {
            writer.message("s", &Message::user(text))?;
        }
        Ok(())
    });
    assert_eq!(fixture.aft(&["index"]).code, 0);
    fixture
}

/// Makes a backup as README says.
fn backup(fixture: &Fixture) -> PathBuf {
    let path = fixture.archive().with_file_name("backup.db");
    fixture.change(&format!("VACUUM INTO '{}'", path.display()));
    path
}

/// Makes the archive another one: rows after the backup, one of its own gone, another edited.
fn go_on(fixture: &Fixture) {
    fixture.change("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'the comet', 1767225700);
         DELETE FROM messages WHERE content = 'the buoy';
         UPDATE messages SET content = 'the ghost' WHERE content = 'the anchor';",
    );
    assert_eq!(fixture.aft(&["verify", "--deep", "--repair"]).code, 0);
    assert_eq!(ask(&fixture.archive(), &fixture.index(), "ghost"), [3]);
}

fn json_of(archive: &Path, index: &Path, arguments: &[&str]) -> Value {
    let ran =
        run(aft().arg("--json").arg("--archive").arg(archive).arg("--index").arg(index).args(arguments));
    assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    ran.json()
}

fn ask(archive: &Path, index: &Path, word: &str) -> Vec<i64> {
    let page = json_of(archive, index, &["search", word]);
    let hits = page["results"].as_array().expect("hits").iter();
    hits.filter_map(|hit| hit["message_id"].as_i64()).collect()
}

/// Fails unless answers are those of the archive as the backup has it.
#[track_caller]
fn is_as_backed_up(archive: &Path, index: &Path) {
    for (word, found) in
        [("lantern", &[1][..]), ("buoy", &[2]), ("anchor", &[3]), ("comet", &[]), ("ghost", &[])]
    {
        assert_eq!(ask(archive, index, word), found, "{word}");
    }
    assert_eq!(json_of(archive, index, &["verify", "--deep"])["equal"], json!(true));
    assert_eq!(json_of(archive, index, &["doctor", "--deep"])["archives"][0]["state"], "ok");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copy = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else {
            fs::copy(&path, &copy).expect("a copy");
        }
    }
    fs::set_permissions(to, from.metadata().expect("a folder").permissions()).expect("a mode");
}

#[test]
fn an_older_archive_in_the_place_of_a_newer_one_is_noticed() {
    let fixture = harbor();
    let backup = backup(&fixture);
    go_on(&fixture);
    fs::rename(backup, fixture.archive()).expect("the backup in its place");
    is_as_backed_up(&fixture.archive(), &fixture.index());
}

#[test]
fn an_older_archive_copied_over_a_newer_one_is_noticed() {
    let fixture = harbor();
    let backup = backup(&fixture);
    go_on(&fixture);
    fs::copy(backup, fixture.archive()).expect("a copy");
    is_as_backed_up(&fixture.archive(), &fixture.index());
}

#[test]
fn a_look_at_new_rows_alone_leaves_an_older_archive_to_the_next_full_one() {
    let fixture = harbor();
    let backup = backup(&fixture);
    go_on(&fixture);
    // As where there are so many rows that no search waits until all are compared.
    let folder = Folder::of(&fixture.index(), &fixture.archive().canonicalize().expect("an archive"));
    let note = folder.live().expect("a pointer").expect("an index").join("checked.json");
    let mut dear: Value = serde_json::from_slice(&fs::read(&note).expect("a note")).expect("JSON");
    dear["compare_took_ms"] = json!(SIGNATURES_DEAR_MS);
    fs::write(&note, dear.to_string()).expect("a file");
    fs::copy(backup, fixture.archive()).expect("a copy");
    assert_eq!(ask(&fixture.archive(), &fixture.index(), "buoy"), Vec::<i64>::new(), "not looked at yet");
    assert_eq!(fixture.aft(&["index"]).code, 0);
    is_as_backed_up(&fixture.archive(), &fixture.index());
}

#[test]
fn an_index_that_was_copied_or_restored_is_brought_to_what_its_archive_is() {
    // At the path that it was made for: an index newer than its archive, and one older.
    let fixture = harbor();
    let (elsewhere, older) =
        (fixture.index().with_file_name("copy"), fixture.index().with_file_name("older"));
    copy_folder(&fixture.index(), &older);
    let backup = backup(&fixture);
    go_on(&fixture);
    copy_folder(&fixture.index(), &elsewhere);
    // As on another machine, where every inode is another one.
    fs::copy(fixture.archive(), fixture.archive().with_file_name("other.db")).expect("a copy");
    fs::rename(fixture.archive().with_file_name("other.db"), fixture.archive()).expect("another file");
    for index in [&elsewhere, &older] {
        assert_eq!(ask(&fixture.archive(), index, "ghost"), [3]);
        assert_eq!(ask(&fixture.archive(), index, "buoy"), Vec::<i64>::new());
        assert_eq!(json_of(&fixture.archive(), index, &["verify", "--deep"])["equal"], json!(true));
    }
    fs::rename(backup, fixture.archive()).expect("the backup in its place");
    is_as_backed_up(&fixture.archive(), &elsewhere);
}

#[test]
fn an_archive_that_moved_gets_an_index_of_its_own() {
    let fixture = harbor();
    let moved = fixture.archive().parent().expect("a folder").with_file_name("moved");
    fs::rename(fixture.archive().parent().expect("a folder"), &moved).expect("a move");
    let archive = moved.join("state.db");
    is_as_backed_up(&archive, &fixture.index());
    let folders = fs::read_dir(fixture.index()).expect("a folder").count();
    assert_eq!(folders, 2, "the one it had stays behind");
    let report = json_of(&archive, &fixture.index(), &["doctor"]);
    let indexes =
        report["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "indexes");
    let finding = indexes.expect("a check")["finding"].as_str().expect("text");
    assert!(finding.contains("that were moved: agent-"), "{finding}");
}

#[test]
fn a_backup_is_an_archive() {
    let fixture = harbor();
    let backup = backup(&fixture);
    is_as_backed_up(&backup, &fixture.index());
}
