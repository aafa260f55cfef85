//! `aft watch` follows its archive wherever that goes, says so line by line, and ends in good order.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};

use afterthought_tests::{Fixture, aft, root, run};
use afterthought_tools::archive::{Message, Session, Shape, Writer};
use serde_json::{Value, json};

fn archive() -> Fixture {
    Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        for word in ["apple", "basil", "cedar"] {
            writer.message("s", &Message::user(&format!("the {word}")))?;
        }
        Ok(())
    })
}

/// A watch under way. Reading its next line waits for what it says next, however long that takes.
struct Watch<'a> {
    fixture: &'a Fixture,
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl<'a> Watch<'a> {
    fn of(fixture: &'a Fixture) -> Self {
        let mut command = aft();
        command.arg("--archive").arg(fixture.archive()).arg("--index").arg(fixture.index());
        command.args(["--json", "watch"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a process");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { fixture, child, lines }
    }

    #[track_caller]
    fn next(&mut self, event: &str) -> Value {
        let line = self.lines.next().expect("another line").expect("text");
        let value: Value = serde_json::from_str(&line).expect("JSON");
        let schema = std::fs::read(root().join("schema/watch.schema.json")).expect("a schema");
        let schema = serde_json::from_slice(&schema).expect("JSON");
        assert!(jsonschema::draft202012::is_valid(&schema, &value), "{value:#}");
        assert_eq!(value["event"], event, "{value:#}");
        value
    }

    fn change(&self, change: impl FnOnce(&mut Writer) -> rusqlite::Result<()>) {
        let mut writer = self.fixture.writer();
        change(&mut writer).expect("the change");
        writer.close().expect("a clean close");
    }

    /// Counts the hits of a query without bringing anything up to date.
    fn hits(&self, query: &str) -> Value {
        let ran = self.fixture.aft(&["--json", "search", "--no-sync", query]);
        ran.json()["total"]["value"].clone()
    }

    /// Asks it to end as a service manager would. Returns its exit code.
    fn stop(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert_eq!(run(std::process::Command::new("kill").args(["-TERM", &pid])).code, 0);
        assert!(self.lines.next().is_none(), "nothing is said at the end");
        self.child.wait().expect("a process that ends").code()
    }
}

#[test]
fn changes_of_every_kind_are_followed() {
    let fixture = archive();
    let mut watch = Watch::of(&fixture);
    assert_eq!(watch.next("synced")["work"]["docs_added"], 3);
    watch.change(|writer| writer.message("s", &Message::user("the delta")).map(drop));
    let synced = watch.next("synced");
    assert_eq!((&synced["work"]["docs_added"], &synced["index"]["rows"]), (&json!(1), &json!(4)));
    // Readers in other processes see the commit.
    assert_eq!(watch.hits("delta"), 1);
    // No row is new: found by comparing every session.
    watch.change(|writer| writer.rewind("s", 3).map(drop));
    assert_eq!(watch.next("synced")["work"]["docs_removed"], 2);
    assert_eq!(watch.hits("cedar delta"), 0);
    watch.change(|writer| writer.set_title("s", "a grape"));
    assert_eq!(watch.next("synced")["work"]["docs_added"], 0);
    assert_eq!(watch.hits("grape"), 1);
    watch.change(|writer| writer.delete_session("s").map(drop));
    assert_eq!(watch.next("synced")["index"]["rows"], 0);
    assert_eq!(watch.stop(), Some(0));
}

#[test]
fn an_archive_that_goes_and_comes_back_is_followed_on() {
    let fixture = archive();
    let mut watch = Watch::of(&fixture);
    watch.next("synced");
    let away = fixture.archive().with_file_name("away.db");
    std::fs::rename(fixture.archive(), &away).expect("a move");
    assert_eq!(watch.next("behind")["error"]["kind"], "archive-unavailable");
    // What was indexed still answers.
    std::fs::rename(&away, fixture.archive()).expect("a move back");
    watch.next("recovered");
    watch.change(|writer| writer.message("s", &Message::user("the delta")).map(drop));
    assert_eq!(watch.next("synced")["index"]["rows"], 4);
    assert_eq!(watch.stop(), Some(0));
}

#[test]
fn another_file_under_the_path_is_compared_row_by_row() {
    let fixture = archive();
    let mut watch = Watch::of(&fixture);
    watch.next("synced");
    let other = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        ["grape", "basil", "cedar"]
            .iter()
            .try_for_each(|word| writer.message("s", &Message::user(&format!("the {word}"))).map(drop))
    });
    std::fs::rename(other.archive(), fixture.archive()).expect("the swap");
    assert_eq!(watch.next("synced")["work"]["docs_added"], 1, "two of three rows are the same");
    assert_eq!((watch.hits("grape"), watch.hits("apple")), (json!(1), json!(0)));
    assert_eq!(watch.stop(), Some(0));
}

#[test]
fn what_no_signature_holds_is_found_when_the_archive_has_been_quiet() {
    let fixture = archive();
    assert_eq!(fixture.aft(&["index"]).code, 0);
    assert_ne!(fixture.aft(&["--json", "status"]).json()["audited_at"], Value::Null);
    // The last audit is long ago.
    let folder = fixture.aft(&["--json", "status"]).json()["index_folder"].as_str().map(PathBuf::from);
    let note = folder.expect("a folder").join("checked.json");
    let mut noted: Value = serde_json::from_slice(&fs::read(&note).expect("a note")).expect("JSON");
    noted["audited_ms"] = json!(1);
    fs::write(&note, noted.to_string()).expect("a note");
    let mut watch = Watch::of(&fixture);
    watch
        .change(|writer| writer.connection().execute_batch("UPDATE messages SET compacted = 1 WHERE id = 2"));
    let synced = watch.next("synced");
    assert_eq!((&synced["work"]["rows_read"], &synced["work"]["docs_added"]), (&json!(3 + 1), &json!(1)));
    assert_eq!(watch.stop(), Some(0));
    assert_eq!(fixture.aft(&["verify", "--deep"]).code, 0);
}

#[test]
fn a_rebuild_of_another_process_is_followed() {
    let fixture = archive();
    let mut watch = Watch::of(&fixture);
    watch.next("synced");
    assert_eq!(fixture.aft(&["reindex"]).code, 0);
    watch.change(|writer| writer.message("s", &Message::user("the delta")).map(drop));
    watch.next("synced");
    assert_eq!(watch.hits("delta"), 1);
    assert_eq!(watch.stop(), Some(0));
}
