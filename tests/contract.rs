//! Compares every file of `schema/` with the code: the schemas with what `aft` really prints, the
//! tables with the constants and the layouts they repeat. Never asserts a time.

use std::fs;

use afterthought_tests::{Ran, root};
use jsonschema::Validator;
use serde_json::Value;

#[path = "contract/answers.rs"]
mod answers;
#[path = "contract/defects.rs"]
mod defects;
#[path = "contract/failures.rs"]
mod failures;
#[path = "contract/fixtures.rs"]
mod fixtures;
#[path = "contract/pages.rs"]
mod pages;
#[path = "contract/tables.rs"]
mod tables;

/// Every JSON Schema of `schema/`.
const SCHEMAS: [&str; 24] = [
    "search",
    "status",
    "show",
    "session",
    "session-search",
    "sessions",
    "verify",
    "doctor",
    "export",
    "audit",
    "audit-word",
    "bench",
    "eval",
    "index",
    "reindex",
    "reindex-job",
    "reindex-forecast",
    "reindex-rollback",
    "reindex-progress",
    "watch",
    "demo",
    "config",
    "error",
    "progress",
];

/// A change to an answer.
type Change = fn(&mut Value);

/// Reads a file of `schema/`.
fn contract(name: &str) -> Value {
    let text = fs::read(root().join("schema").join(name)).expect("a file of schema/");
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the schema of a command's JSON.
fn schema(name: &str) -> Validator {
    let schema = contract(&format!("{name}.schema.json"));
    jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns where a value breaks its schema; empty if nowhere.
fn breaches(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Returns the JSON of a run that must have ended with `code`, valid against its schema.
#[track_caller]
fn answer(schema_name: &str, ran: &Ran, code: i32) -> Value {
    assert_eq!(ran.code, code, "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 1, "an answer is one line: {ran:?}");
    let value = ran.json();
    let breaches = breaches(&schema(schema_name), &value);
    assert!(breaches.is_empty(), "{schema_name}: {breaches:#?}\n{value:#}");
    value
}

/// Tells whether a text would steer a terminal.
fn has_escapes(text: &str) -> bool {
    text.contains('\u{1b}')
}

/// Fails with every problem found, one a line.
#[track_caller]
fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}
