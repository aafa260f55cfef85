//! Facts that do not hold yet. Each test fails until its defect is mended, and then moves to the
//! file of its kind.

use std::process::Stdio;

use afterthought_tests::{aft, run};
use afterthought_tools::archive::Session;
use serde_json::{Value, json};

use crate::fixtures::Scene;
use crate::pages::kinds;
use crate::{answer, assert_none};

#[test]
fn the_demo_can_be_run_twice() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for _ in 0..2 {
        let ran = run(aft().args(["demo", "--dir"]).arg(folder.path()));
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

#[test]
fn a_demo_without_a_place_names_the_place() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let ran = run(aft().args(["--json", "demo", "--dir"]).arg(file.path()));
    let error = error_of(&ran.stderr);
    let path = file.path().to_str().expect("a path of UTF-8");
    assert!(error["message"].as_str().is_some_and(|message| message.contains(path)), "{error}");
    assert_ne!(error["kind"], "internal", "{error}");
}

fn error_of(line: &str) -> Value {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    value["error"].clone()
}

#[test]
fn a_score_is_finite_whatever_the_boosts() {
    let scene = Scene::of(&["archive", "index"]);
    for boosts in [&["--boost", "content=3e38"][..], &["--phrase-boost", "3e38"]] {
        let ran = scene.fixture.aft(&[&["--json", "search", "the", "lock"], boosts].concat());
        assert!(ran.code == 0 || ran.code == 2, "{boosts:?}: {ran:?}");
        if ran.code == 0 {
            answer("search", &ran, 0);
        }
    }
}

#[test]
fn a_usage_error_tells_programs_what_it_tells_people() {
    let mut problems = Vec::new();
    for (args, piece) in [
        (&["search"][..], "<QUERY>"),
        (&["show"], "<ID>"),
        (&["search", "--in", "nowhere", "x"], "thought"),
        (&["index", "--progress", "loud"], "json"),
    ] {
        let error = error_of(&run(aft().arg("--json").args(args)).stderr);
        if !error["message"].as_str().is_some_and(|message| message.contains(piece)) {
            problems.push(format!("{args:?} lacks {piece}: {error}"));
        }
    }
    assert_none(&problems);
}

#[test]
fn a_line_to_type_can_be_typed() {
    let scene = Scene::of(&["archive", "index"]);
    let mut problems = Vec::new();
    for args in [
        &["search", "--wait", "-1", "lock"][..],
        &["search", "--limit", "-1", "lock"],
        &["search", "-n1", "lock", "--amend"],
        &["--amend", "search", "lock"],
    ] {
        let ran = scene.fixture.aft(args);
        let Some((_, line)) = ran.stderr.split_once("to search for it, type: aft ") else { continue };
        let words: Vec<&str> = line.split_whitespace().collect();
        let typed = run(aft().args(&words));
        // A short flag in one word with its value is one of ours, and no text.
        if typed.code != 0 || words.iter().skip_while(|word| **word != "--").any(|word| *word == "-n1") {
            problems.push(format!("{args:?}: {line}{typed:?}"));
        }
    }
    assert_none(&problems);
}

#[test]
fn an_exit_code_does_not_depend_on_standard_error() {
    let mut problems = Vec::new();
    for args in
        [&["search", "--bogus"][..], &["--json", "search", "--bogus"], &["--archive", "/none", "status"]]
    {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let open = run(aft().args(args)).code;
        let output = aft().args(args).stdout(Stdio::piped()).stderr(writer).output().expect("aft runs");
        if output.status.code() != Some(open) {
            problems.push(format!("{args:?}: {:?}, not {open}", output.status.code()));
        }
    }
    assert_none(&problems);
}

#[test]
fn damage_is_told_in_one_short_line() {
    for damage in ["meta is cut", "meta is gone", "columns are cut", "terms are gone"] {
        let scene = Scene::of(&["archive", "index", damage]);
        let error = error_of(&scene.fixture.aft(&["--json", "search", "lock"]).stderr);
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            !message.contains('\n') && message.len() < 400,
            "{damage}: {} bytes: {message}",
            message.len()
        );
        assert!(
            !message.contains("IoError {") && !message.contains("FileDoesNotExist("),
            "{damage}: {message}"
        );
    }
}

#[test]
fn documents_without_a_checkpoint_are_damage() {
    let scene = Scene::of(&["archive", "index", "no checkpoint"]);
    let ran = scene.fixture.aft(&["--json", "search", "lock"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert_eq!(error_of(&ran.stderr)["kind"], "index-damaged");
}

#[test]
fn an_empty_page_tells_people_of_the_rows_behind() {
    let scene = Scene::of(&["archive", "index", "another row"]);
    let ran = scene.fixture.aft(&["search", "--no-sync", "another"]);
    assert!(ran.stderr.contains("no hits") && ran.stderr.contains("1 rows"), "{ran:?}");
}

#[test]
fn a_page_behind_the_last_hit_says_so() {
    let scene = Scene::of(&["archive", "index"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "--offset", "50", "lock"]), 0);
    assert_eq!(page["total"]["value"], 2);
    assert_eq!(page["results"], json!([]));
    assert_eq!(kinds(&page), ["past-the-end"]);
}

#[test]
fn a_session_that_is_behind_says_so_to_programs() {
    let scene = Scene::of(&["archive", "index", "another row", "writer lock is held"]);
    for args in [&["session", "s"][..], &["sessions"]] {
        let ran = scene.fixture.aft(&[&["--json"], args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains("not-synced"), "{ran:?}");
    }
}

#[test]
fn a_session_without_messages_looks_the_same_alone_and_in_the_list() {
    let fixture = Scene::of(&["archive"]).fixture;
    let mut writer = fixture.writer();
    writer.session(&Session { started_at: 1_780_000_000.0, ..Session::new("empty") }).expect("a session");
    writer.close().expect("a clean close");
    let listed = answer("sessions", &fixture.aft(&["--json", "sessions", "--limit", "1"]), 0);
    let alone = answer("session", &fixture.aft(&["--json", "session", "empty"]), 0);
    assert_eq!(listed["sessions"][0], alone["session"]);
}
