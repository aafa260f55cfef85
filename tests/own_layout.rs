//! A person's own schema, mapped by a file that `--layout` names: read, followed and proven as any archive, and
//! told with its line where it is wrong.

use std::fs;
use std::path::PathBuf;

use afterthought_tests::{Fixture, Ran, Trace, aft, root, run};
use rusqlite::Connection;
use serde_json::{Value, json};

const SQL: &str = include_str!("layouts/own.sql");
const LAYOUT: &str = include_str!("layouts/own.toml");

/// An archive of the schema, with the layout's file beside its folder.
struct Own {
    fixture: Fixture,
    layout: PathBuf,
}

impl Own {
    fn new(layout: &str) -> Self {
        let fixture = Fixture::new();
        Connection::open(fixture.archive()).expect("a database").execute_batch(SQL).expect("tables");
        let path = fixture.archive().parent().expect("a folder").with_file_name("talks.toml");
        fs::write(&path, layout).expect("a layout");
        Self { fixture, layout: path }
    }

    fn aft(&self, arguments: &[&str]) -> Ran {
        let layout = self.layout.to_str().expect("UTF-8");
        self.fixture.aft(&[&["--json", "--layout", layout], arguments].concat())
    }

    fn found(&self, word: &str) -> Vec<Value> {
        let page = self.aft(&["search", word]).json();
        page["results"].as_array().expect("hits").clone()
    }
}

#[test]
fn a_schema_of_ones_own_is_read_followed_and_proven() {
    let own = Own::new(LAYOUT);
    let folder = own.fixture.archive().parent().expect("a folder").to_owned();
    let before = Trace::of(&folder);
    for (word, origin, id) in [("lantern", "said", 2), ("buoy", "thought", 4), ("pier", "said", 4)] {
        let [hit] = &own.found(word)[..] else { panic!("{word}: one hit") };
        let place = (&hit["origin"], &hit["message_id"], &hit["session_id"]);
        assert_eq!(place, (&json!(origin), &json!(id), &json!("talk-1")), "{hit}");
    }
    assert_eq!(own.aft(&["status"]).json()["layout"], "talks");
    assert_eq!(own.aft(&["verify", "--deep"]).code, 0);
    assert_eq!(own.aft(&["session", "talk-1"]).json()["session"]["title"], "a talk in the evening");
    // As one job: the journal tells the next run of the layout.
    let archive = own.fixture.archive().display().to_string();
    let layout = own.layout.display().to_string();
    let mut job = aft();
    job.arg("--json")
        .arg("--index")
        .arg(own.fixture.index())
        .args(["--layout", &layout, "reindex", &archive]);
    let report = run(&mut job).json();
    assert_eq!((&report["outcome"], &report["archives"][0]["layout"]), (&json!("done"), &json!(layout)));
    assert_eq!(Trace::of(&folder), before, "reading left a trace");
    let agent = Connection::open(own.fixture.archive()).expect("a database");
    agent
        .execute("INSERT INTO line VALUES (3, 1, 'guest', 'a comet', NULL, 1767323047)", [])
        .expect("a line");
    assert_eq!(own.found("comet")[0]["message_id"], 6);
}

#[test]
fn the_layout_of_these_tests_is_the_one_that_is_explained() {
    let told = fs::read_to_string(root().join("schema/layouts/README.md")).expect("the explanation");
    assert!(told.contains(&format!("```toml\n{LAYOUT}```")));
}

#[test]
fn without_its_layout_the_file_is_of_none_and_the_way_is_told() {
    let own = Own::new(LAYOUT);
    let ran = own.fixture.aft(&["search", "lantern"]);
    assert!(ran.code == 3 && ran.stderr.contains("--layout"), "{ran:?}");
}

#[test]
fn what_a_layout_maps_otherwise_is_read_anew() {
    let own = Own::new(LAYOUT);
    assert_eq!(own.found("buoy")[0]["origin"], "thought");
    let swapped = LAYOUT.replace("content = \"l.words\"", "content = \"l.words || coalesce(l.musing, '')\"");
    fs::write(&own.layout, swapped.replace("reasoning = \"l.musing\"\n", "")).expect("a layout");
    assert_eq!(own.found("buoy")[0]["origin"], "said");
    assert_eq!(own.aft(&["verify", "--deep"]).code, 0);
}

#[test]
fn a_configuration_names_archives_and_their_layouts() {
    let own = Own::new(LAYOUT);
    let home = own.layout.parent().expect("a folder");
    let (archive, layout) = (own.fixture.archive(), &own.layout);
    let (archive, layout) = (archive.display(), layout.display());
    fs::create_dir_all(home.join("afterthought")).expect("a folder");
    let ask = |settings: &str, arguments: &[&str]| {
        fs::write(home.join("afterthought/config.toml"), settings).expect("settings");
        let mut command = aft();
        for variable in ["AFTERTHOUGHT_ARCHIVE", "AFTERTHOUGHT_LAYOUT", "HERMES_HOME"] {
            command.env_remove(variable);
        }
        command.env("XDG_CONFIG_HOME", home).env("HOME", home).arg("--json");
        run(command.arg("--index").arg(own.fixture.index()).args(arguments))
    };
    let beside = format!("archive = \"{archive}\"\nlayout = \"{layout}\"\n");
    assert_eq!(ask(&beside, &["search", "lantern"]).json()["total"]["value"], 1);
    let settings = ask(&beside, &["config", "show"]).json();
    assert_eq!(settings["settings"][2]["name"], "layout", "{settings}");
    // It is of the archive that it stands beside, and of no other.
    let other = ask(&beside, &["--archive", &archive.to_string(), "status"]);
    assert!(other.code == 3 && other.stderr.contains("unrecognized"), "{other:?}");
    let named = format!("[archives]\nharbor = {{ path = \"{archive}\", layout = \"{layout}\" }}\n");
    assert_eq!(ask(&named, &["--profile", "harbor", "search", "lantern"]).json()["total"]["value"], 1);
    assert_eq!(ask(&named, &["reindex", "--all"]).json()["outcome"], "done");
    let all = ask(&named, &["status", "--all"]).json();
    assert_eq!(all["archives"][0]["status"]["layout"], "talks", "{all}");
    // What cannot be found says where names are given.
    let unknown = ask(&named, &["--profile", "quay", "status"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("[archives] of "), "{unknown:?}");
    let gone = ask("[archives]\nharbor = \"/nowhere/state.db\"\n", &["status", "--all"]);
    assert!(gone.code == 7 && gone.stdout.contains("[archives] of "), "{gone:?}");
}

/// Refuses a layout in which one thing was replaced, with its line and words.
#[track_caller]
fn check(replaced: &str, by: &str, code: i32, says: &[&str]) {
    let text = LAYOUT.replacen(replaced, by, 1);
    assert_ne!(text, LAYOUT, "{replaced} stands in the layout");
    let ran = Own::new(&text).aft(&["search", "lantern"]);
    assert_eq!(ran.code, code, "{ran:?}");
    let error: Value = serde_json::from_str(&ran.stderr).expect("a JSON line");
    let message = error["error"]["message"].as_str().expect("a message");
    assert!(says.iter().all(|says| message.contains(says)), "{says:?}: {message}");
    assert!(error["error"]["hint"].is_string(), "{error}");
}

#[test]
fn what_is_wrong_with_a_layout_is_told_with_its_line() {
    check("stride = 2", "stride =", 2, &["talks.toml:3"]);
    check("stride = 2", "stride = 0", 2, &["talks.toml:3", "stride"]);
    check("stride = 2", "strides = 2", 2, &["talks.toml:3", "strides"]);
    check("name = \"talks\"", "name = \"llm\"", 2, &["another layout's"]);
    check("reasoning =", "thoughts =", 2, &["talks.toml:24", "no column \"thoughts\" to map"]);
    check("timestamp = \"l.at\"", "", 2, &["talks.toml:18", "needs a column \"timestamp\""]);
    check("\"l.musing\"", "\"l.mutter\"", 3, &["talks.toml:24", "no such column: l.mutter"]);
    check("main.line AS l", "main.lines AS l", 3, &["talks.toml:18", "no such table: main.lines"]);
    check(
        "\"number\", \"begun\"",
        "\"number\", \"ended\"",
        3,
        &["talks.toml:6", "a column \"ended\" in its table \"talk\""],
    );
    check("l.words\"", "l.words FROM\"", 3, &["talks.toml:23", "syntax error"]);
    // Only its views are made of it, and nothing else is run.
    check("\"l.musing\"", "\"l.musing; CREATE TABLE main.trace (x)\"", 3, &["talks.toml:24"]);
}

#[test]
fn a_layout_that_is_not_there_names_those_that_are() {
    let own = Own::new(LAYOUT);
    let ran = own.fixture.aft(&["--layout", "llama", "status"]);
    assert!(ran.code == 2 && ran.stderr.contains("llm-responses, openai-agents"), "{ran:?}");
    let ran = own.fixture.aft(&["--layout", "llm", "status"]);
    assert!(ran.code == 3 && ran.stderr.contains("by the layout \"llm\" it needs a table"), "{ran:?}");
}
