//! Failures of `aft`: one JSON line for programs, a sentence and the next step for people, an exit
//! code for both, and nothing on standard output. The cases are data.

use std::collections::BTreeSet;
use std::process::Stdio;

use afterthought_tests::{Ran, aft, run};
use serde::Deserialize;
use serde_json::Value;

use crate::fixtures::Scene;
use crate::{assert_none, breaches, contract, has_escapes, schema};

#[derive(Deserialize)]
struct Failures {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Steps of [`Scene::of`].
    #[serde(default)]
    scene: Vec<String>,
    /// `CURSOR` stands for that of the scene's page.
    args: Vec<String>,
    /// Runs without the flags that name archive and index.
    #[serde(default)]
    bare: bool,
    kind: String,
    exit: i32,
    /// Texts that the message holds.
    message: Vec<String>,
    /// Texts that the hint holds.
    #[serde(default)]
    hint: Vec<String>,
}

impl Case {
    fn run(&self, flags: &[&str]) -> Ran {
        // Every run has a scene of its own: what one leaves behind is not the other's business.
        let scene = Scene::of(&self.scene);
        let own = self.args.iter().map(|arg| if arg == "CURSOR" { &scene.cursor } else { arg });
        let args: Vec<&str> = flags.iter().copied().chain(own.map(String::as_str)).collect();
        if self.bare {
            return run(aft().args(args));
        }
        let mut ran = scene.fixture.aft(&args);
        // Commands that are told name the scene's archive, which no case can.
        ran.stderr = ran.stderr.replace(&scene.fixture.flags(), "");
        ran
    }
}

fn cases() -> Vec<Case> {
    let failures: Failures = toml::from_str(include_str!("failures.toml")).expect("failures.toml");
    failures.case
}

/// Returns an error's row of `errors.json`.
fn row<'a>(table: &'a Value, kind: &str) -> Option<&'a Value> {
    table["errors"].as_array()?.iter().find(|row| row["kind"] == kind)
}

#[test]
fn every_failure_is_said_to_programs() {
    let (schema, table) = (schema("error"), contract("errors.json"));
    let mut problems = Vec::new();
    for case in cases() {
        let ran = case.run(&["--json"]);
        let mut must = |holds: bool, what: &str| {
            if !holds {
                problems.push(format!("{}: {what}: {ran:?}", case.name));
            }
        };
        must(ran.code == case.exit, "the exit code");
        must(ran.stdout.is_empty(), "standard output is empty");
        must(ran.stderr.lines().count() == 1 && ran.stderr.ends_with('\n'), "one line on standard error");
        let Ok(value) = serde_json::from_str::<Value>(&ran.stderr) else {
            must(false, "the line is JSON");
            continue;
        };
        for breach in breaches(&schema, &value) {
            must(false, &breach);
        }
        let error = &value["error"];
        must(error["kind"] == case.kind.as_str(), "the kind");
        let row = row(&table, &case.kind).unwrap_or(&Value::Null);
        must(row["exit"] == ran.code, "errors.json has the exit code");
        must(row["retryable"] == error["retryable"], "errors.json has retryable");
        let holds = |text: &Value, piece: &String| text.as_str().is_some_and(|text| text.contains(piece));
        for piece in &case.message {
            must(holds(&error["message"], piece), &format!("the message holds {piece:?}"));
        }
        for piece in &case.hint {
            must(holds(&error["hint"], piece), &format!("the hint holds {piece:?}"));
        }
    }
    assert_none(&problems);
}

#[test]
fn every_failure_is_said_to_people() {
    let mut problems = Vec::new();
    for case in cases() {
        let ran = case.run(&[]);
        let mut must = |holds: bool, what: &str| {
            if !holds {
                problems.push(format!("{}: {what}: {ran:?}", case.name));
            }
        };
        must(ran.code == case.exit, "the exit code");
        must(ran.stdout.is_empty(), "standard output is empty");
        must(ran.stderr.starts_with("aft: ") || ran.stderr.starts_with("error: "), "it begins as an error");
        must(!has_escapes(&ran.stderr), "a pipe gets no colours");
        must(!ran.stderr.contains("panicked"), "nothing panicked");
        for piece in case.message.iter().chain(&case.hint) {
            must(ran.stderr.contains(piece), &format!("it holds {piece:?}"));
        }
    }
    assert_none(&problems);
}

#[test]
fn a_query_that_looks_like_a_flag_gets_the_line_to_type() {
    let ran = run(aft().args(["search", "git", "commit", "--amend"]));
    let line = ran.stderr.lines().last().unwrap_or_default();
    assert_eq!(line.trim_start(), "to search for it, type: aft search -- git commit --amend");
}

#[test]
fn every_kind_that_can_be_brought_about_has_a_case() {
    let with_case: BTreeSet<String> = cases().into_iter().map(|case| case.kind).collect();
    let table = contract("errors.json");
    let kinds = table["errors"].as_array().into_iter().flatten().filter_map(|row| row["kind"].as_str());
    let without: Vec<&str> = kinds.filter(|kind| !with_case.contains(*kind)).collect();
    // Each of these needs a clock, a crowd or a defect.
    assert_eq!(without, ["archive-unsteady", "busy", "timeout", "interrupted", "internal"]);
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

/// Returns the error of a line on standard error.
pub(crate) fn error_of(line: &str) -> Value {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    value["error"].clone()
}
