//! Archives by name: those of the configuration file, and the agent's profiles.

use std::fs;
use std::path::Path;

use afterthought_tests::{Ran, aft, run};
use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home with the agent's folder, a named archive elsewhere, and a profile whose archive is no database.
fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a folder");
    let at = |path: &str| home.path().join(path);
    for (path, id, text) in [
        (".hermes/state.db", "s-root", "the weir of the root"),
        (".hermes/profiles/office/state.db", "s-office", "the weir of the office"),
        ("elsewhere/laptop.db", "s-laptop", "the weir of the laptop"),
    ] {
        write(&at(path), id, text);
    }
    fs::create_dir_all(at(".hermes/profiles/empty")).expect("a folder");
    fs::create_dir_all(at(".config/afterthought")).expect("a folder");
    fs::write(at(".config/afterthought/config.toml"), "[archives]\nlaptop = \"~/elsewhere/laptop.db\"\n")
        .expect("a file");
    home
}

fn write(path: &Path, id: &str, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let mut writer = Writer::create(path, Shape::V30, Fts::None).expect("an archive");
    writer.session(&Session::new(id)).expect("a session");
    writer.message(id, &Message::user(text)).expect("a row");
    writer.close().expect("a clean close");
}

fn ask(home: &TempDir, arguments: &[&str]) -> Ran {
    let mut command = aft();
    for variable in
        ["HERMES_HOME", "AFTERTHOUGHT_ARCHIVE", "AFTERTHOUGHT_INDEX", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]
    {
        command.env_remove(variable);
    }
    run(command.env("HOME", home.path()).args(arguments))
}

#[test]
fn a_profile_is_asked_by_its_name_alone() {
    let home = home();
    for (name, text) in [("default", "root"), ("office", "office"), ("laptop", "laptop")] {
        let found = ask(&home, &["--json", "--profile", name, "search", "weir"]).json();
        assert_eq!(found["total"]["value"], 1, "{found:#}");
        let snippet = found["results"][0]["snippet"].as_str().expect("a snippet");
        assert!(snippet.ends_with(text), "{snippet}");
        assert_eq!(found["results"][0]["archive"], *name);
        let told = ask(&home, &["--profile", name, "search", "weir"]).stderr;
        assert!(told.contains(&format!("aft --profile {name} show 1 -C 3")), "{told}");
    }
    let unknown = ask(&home, &["--profile", "empty", "search", "weir"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("profiles: default, laptop, office"), "{}", unknown.stderr);
    let both = ask(&home, &["--profile", "office", "--archive", "state.db", "search", "weir"]);
    assert_eq!(both.code, 2);
}

#[test]
fn an_id_of_another_profile_is_a_miss_that_says_where_to_look() {
    let home = home();
    for name in ["default", "office"] {
        assert_eq!(ask(&home, &["--profile", name, "search", "weir"]).code, 0);
    }
    for arguments in [["session", "s-office"], ["show", "99"]] {
        let missed = ask(&home, &[&["--profile", "default"][..], &arguments[..]].concat());
        assert_eq!(missed.code, 1);
        assert!(missed.stderr.contains("with --profile: laptop, office"), "{}", missed.stderr);
    }
    assert_eq!(ask(&home, &["--profile", "office", "session", "s-office"]).code, 0);
}

#[test]
fn the_status_of_all_shows_what_can_be_opened_and_why_the_rest_cannot() {
    let home = home();
    for name in ["default", "office", "laptop"] {
        assert_eq!(ask(&home, &["--profile", name, "index"]).code, 0);
    }
    let all = ask(&home, &["--json", "status", "--all"]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    let names: Vec<Value> =
        all.json()["archives"].as_array().expect("a list").iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["default", "laptop", "office"]);
    fs::write(home.path().join("elsewhere/laptop.db"), "no database").expect("a file");
    let all = ask(&home, &["--json", "status", "--all"]);
    assert_eq!(all.code, 7);
    let all = all.json();
    assert_eq!(all["archives"][0]["status"]["index"]["rows"], json!(1));
    assert_eq!(all["archives"][1]["status"], Value::Null);
    assert!(all["archives"][1]["error"]["message"].is_string(), "{all:#}");
    let text = ask(&home, &["status", "--all"]).stdout;
    assert!(text.contains("office   ready, 1 messages in 1 sessions"), "{text}");
}

#[test]
fn several_archives_are_searched_as_one() {
    let home = home();
    let found = ask(&home, &["--json", "search", "--all", "weir"]).json();
    assert_eq!(found["total"]["value"], 3, "{found:#}");
    let names = |page: &Value, of: &str, name: &str| -> Vec<String> {
        let list = page[of].as_array().expect("a list").iter();
        list.map(|one| one[name].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&found, "archives", "name"), ["default", "laptop", "office"]);
    let two = ask(&home, &["--json", "search", "--profiles", "office,laptop", "weir", "-n", "1"]).json();
    assert_eq!(names(&two, "archives", "name"), ["office", "laptop"]);
    let cursor = two["next_cursor"].as_str().expect("a cursor");
    let next = ["--json", "search", "--profiles", "office,laptop", "weir", "-n", "1", "--cursor", cursor];
    let next = ask(&home, &next).json();
    let mut shown = [names(&two, "results", "archive"), names(&next, "results", "archive")].concat();
    shown.sort();
    assert_eq!(shown, ["laptop", "office"]);

    fs::write(home.path().join("elsewhere/laptop.db"), "no database").expect("a file");
    let rest = ask(&home, &["search", "--all", "weir"]);
    assert_eq!(rest.code, 0, "{}", rest.stderr);
    assert!(rest.stderr.contains("note: laptop was left out: "), "{}", rest.stderr);
    assert!(rest.stderr.contains("aft --profile default show 1 -C 3"), "{}", rest.stderr);
    assert!(rest.stdout.contains("office  cli  #1"), "{}", rest.stdout);
    let unknown = ask(&home, &["search", "--profiles", "office,attic", "weir"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("profiles: default, laptop, office"), "{}", unknown.stderr);
}
