//! Prints what tools print when nobody asked for that much: log lines and test lists. Most of a
//! real archive is made of these, and a search has to find its way between them.

use super::world::Project;
use crate::archive::calendar;
use crate::random::Random;

const EVENTS: &[(&str, &str)] = &[
    ("INFO", "{fn} started, {n} rows from {table}"),
    ("INFO", "{fn} finished in {n} ms"),
    ("INFO", "GET /api/{table}?after={n} 200 {n} ms"),
    ("INFO", "POST /api/{table} 201 {n} ms"),
    ("INFO", "config reloaded from /etc/{svc}/{svc}.toml"),
    ("INFO", "connection from 10.0.3.17 accepted, {n} open"),
    ("INFO", "snapshot of {table} written, {n} kB"),
    ("INFO", "worker-2 idle after {n} jobs"),
    ("DEBUG", "{fn}: cache hit for {table}:{n}"),
    ("DEBUG", "{fn}: cache miss for {table}:{n}"),
    ("DEBUG", "{file}: parsed {n} lines"),
    ("DEBUG", "lease on {table} renewed for {n} s"),
    ("WARN", "{fn} took 1{n} ms, limit is 100"),
    ("WARN", "{table}:{n} has no owner, skipped"),
    ("WARN", "clock moved by {n} ms"),
    ("WARN", "{file}: deprecated key 'interval', use 'every'"),
    ("ERROR", "{fn}: {table}:{n} not found"),
    ("ERROR", "{fn}: connection reset by peer after {n} ms"),
];

const CASES: &[&str] = &[
    "keeps_order",
    "empty_input",
    "one_row",
    "many_rows",
    "unknown_key",
    "twice_is_once",
    "large_number",
    "old_format",
    "without_owner",
    "after_restart",
    "two_writers",
    "bad_header",
    "long_name",
    "leap_day",
    "zero_rows",
    "unicode_name",
    "closed_early",
    "same_stamp",
];

/// Some seconds of a log, oldest line first, up to the moment `now`.
pub(super) fn log(random: &mut Random, project: &Project, now: u64) -> String {
    let lines = random.between(6, 26);
    let mut at = now - 90;
    let lines = (0..lines).map(|_| {
        at += random.below(4);
        let [_, _, _, hour, minute, second] = calendar(at);
        let (level, event) = random.pick(EVENTS);
        let event = filled(random, project, event);
        format!("{hour:02}:{minute:02}:{second:02} {level} {}[{}]: {event}", project.name, 811)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A list of tests, all of them passed; half of the lists in colour, as terminals record them.
pub(super) fn tests(random: &mut Random, project: &Project) -> String {
    let passed = if random.percent(50) { "\u{1b}[32mok\u{1b}[0m" } else { "ok" };
    let lines = (0..random.between(8, 22)).map(|_| {
        let function = random.pick(&project.functions);
        format!("test {function}::{} ... {passed}", random.pick(CASES))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn filled(random: &mut Random, project: &Project, event: &str) -> String {
    let mut event = event
        .replace("{fn}", random.pick(&project.functions))
        .replace("{table}", random.pick(&project.tables))
        .replace("{file}", random.pick(&project.files))
        .replace("{svc}", project.name);
    while event.contains("{n}") {
        event = event.replacen("{n}", &random.between(2, 980).to_string(), 1);
    }
    event
}
