//! `aft doctor`: what is wrong is found, said with a next step, and nothing is changed by looking.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use afterthought::archive::Stamp;
use afterthought::index::Folder;
use afterthought_tests::{Fixture, Ran, aft, root, run};
use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Returns the report of a run that must have ended with `code`, valid against its schema.
#[track_caller]
fn report(ran: &Ran, code: i32) -> Value {
    assert_eq!((ran.code, ran.stderr.as_str()), (code, ""), "{ran:?}");
    let text = fs::read(root().join("schema/doctor.schema.json")).expect("a schema");
    let contract = serde_json::from_slice(&text).expect("a schema");
    let validator = jsonschema::draft202012::new(&contract).expect("a schema");
    let report = ran.json();
    let breaches: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(breaches.is_empty(), "{breaches:#?}\n{report:#}");
    report
}

/// Returns the checks of the first archive by name.
fn checks(report: &Value) -> BTreeMap<String, Value> {
    let checks = report["archives"][0]["checks"].as_array().expect("checks");
    checks.iter().map(|check| (text(&check["name"]).to_owned(), check.clone())).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Fails unless a check found something of this kind, first of all, and says what to do.
#[track_caller]
fn found(report: &Value, name: &str, state: &str, finding: &str, next: &str) {
    let check = &report["archives"][0]["checks"][0];
    assert_eq!((text(&check["name"]), text(&check["state"])), (name, state), "{report:#}");
    assert!(text(&check["finding"]).contains(finding), "{check:#}");
    assert!(text(&check["next"]).contains(next), "{check:#}");
    assert_eq!(report["state"], state, "{report:#}");
}

fn harbor(rows: usize) -> Fixture {
    Fixture::with(Shape::V30, |writer| {
        writer.session(&Session::new("s"))?;
        for row in 0..rows {
            writer.message("s", &Message::user(&format!("The ferry of pier {row} is late again.")))?;
        }
        Ok(())
    })
}

fn indexed() -> Fixture {
    let fixture = harbor(3);
    assert_eq!(fixture.aft(&["index"]).code, 0);
    fixture
}

fn folder(fixture: &Fixture) -> Folder {
    Folder::of(&fixture.index(), &fixture.archive().canonicalize().expect("an archive"))
}

fn live(fixture: &Fixture) -> PathBuf {
    folder(fixture).live().expect("a pointer").expect("an index")
}

/// Everything that could change about a folder and all in it.
fn seen(folder: &Path) -> BTreeMap<PathBuf, (u32, u64, i64, i64, Vec<u8>)> {
    let mut seen = BTreeMap::new();
    let mut paths = vec![folder.to_owned()];
    while let Some(path) = paths.pop() {
        let metadata = path.metadata().expect("a file");
        let bytes = if path.is_dir() {
            paths.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
            Vec::new()
        } else {
            fs::read(&path).expect("a file")
        };
        let state = (metadata.mode(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), bytes);
        seen.insert(path, state);
    }
    seen
}

#[test]
fn what_is_well_is_said_piece_by_piece() {
    let fixture = indexed();
    let shallow = report(&fixture.aft(&["--json", "doctor"]), 0);
    assert_eq!(shallow["state"], "ok", "{shallow:#}");
    let names = [
        "archive",
        "archive disk",
        "archive log",
        "generations",
        "index",
        "index folder",
        "layout",
        "locks",
        "permissions",
        "rows",
        "space",
    ];
    assert_eq!(checks(&shallow).keys().collect::<Vec<_>>(), names);
    assert!(text(&checks(&shallow)["rows"]["finding"]).contains("3 in both; compared"), "{shallow:#}");
    let deep = report(&fixture.aft(&["doctor", "--deep", "--format", "json"]), 0);
    let more = ["archive pages", "index bytes", "texts"];
    assert!(more.iter().all(|name| checks(&deep)[*name]["state"] == "ok"), "{deep:#}");
    assert_eq!(deep["state"], "ok", "{deep:#}");
    let told = fixture.aft(&["doctor"]).stdout;
    for name in names {
        assert!(told.contains(&format!("\n  ok      {name} ")), "{name}: {told}");
    }
    assert!(told.contains("0 faults, 0 warnings, 13 ok"), "{told}");
}

#[test]
fn looking_changes_nothing() {
    let states: [fn() -> Fixture; 4] = [
        || harbor(3),
        indexed,
        || {
            let fixture = indexed();
            fixture.change(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'new', 1)",
            );
            // As an index that was copied: it has no lock files yet.
            for name in [".tantivy-meta.lock", ".tantivy-writer.lock"] {
                fs::remove_file(live(&fixture).join(name)).ok();
            }
            fixture
        },
        || {
            let fixture = indexed();
            fs::write(live(&fixture).join("meta.json"), "{").expect("a file");
            fixture
        },
    ];
    for state in states {
        let fixture = state();
        let home = fixture.archive().parent().and_then(Path::parent).expect("a folder").to_owned();
        let before = seen(&home);
        for args in [&["doctor"][..], &["doctor", "--deep"]] {
            let ran = fixture.aft(args);
            assert!(ran.stdout.contains("\n  "), "{ran:?}");
            assert!(seen(&home) == before, "{args:?} changed something: {ran:?}");
        }
    }
}

#[test]
fn an_archive_that_is_none_is_a_fault() {
    let fixture = Fixture::new();
    let missing = report(&fixture.aft(&["--json", "doctor"]), 3);
    found(&missing, "archive", "fault", "No such file", "--archive");
    assert_eq!(missing["archives"][0]["index_folder"], Value::Null);
    assert!(!fixture.index().exists());
    fs::write(fixture.archive(), "Dear diary,\n".repeat(100)).expect("a file");
    let foreign = report(&fixture.aft(&["--json", "doctor"]), 3);
    found(&foreign, "layout", "fault", "is not an SQLite database", "--archive");
    fs::write(fixture.archive(), "").expect("a file");
    found(&report(&fixture.aft(&["--json", "doctor"]), 3), "layout", "fault", "is empty", "--archive");
}

#[test]
fn damaged_pages_are_found_by_looking_at_each() {
    let fixture = harbor(2_000);
    assert_eq!(fixture.aft(&["index"]).code, 0);
    let archive = File::options().write(true).open(fixture.archive()).expect("the archive");
    let pages = archive.metadata().expect("metadata").len() / 4_096;
    archive.write_all_at(&[0xA5; 2_000], (pages / 2) * 4_096).expect("other bytes");
    let deep = report(&fixture.aft(&["--json", "doctor", "--deep"]), 3);
    let pages = &checks(&deep)["archive pages"];
    assert_eq!(pages["state"], "fault", "{deep:#}");
    assert!(text(&pages["next"]).contains("backup"), "{pages:#}");
}

#[test]
fn no_index_yet_is_no_fault() {
    let fixture = harbor(1);
    let report = report(&fixture.aft(&["--json", "doctor"]), 0);
    found(&report, "index", "warning", "none yet", "the first search builds it, or: aft");
    assert!(!fixture.index().exists(), "and none is made");
}

/// Runs `aft` as somebody whom permissions bind, though the tests may run as root.
fn as_nobody(fixture: &Fixture, arguments: &[&str]) -> Ran {
    let home = fixture.archive().parent().and_then(Path::parent).expect("a folder").to_owned();
    let program = home.join("aft");
    let mut command = aft();
    if home.metadata().expect("a folder").uid() == 0 {
        fs::copy(command.get_program(), &program).expect("a program");
        fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("a mode");
        fs::set_permissions(&home, Permissions::from_mode(0o755)).expect("a mode");
        command = Command::new(&program);
        command.stdin(Stdio::null()).env_clear().env("HOME", "/nonexistent").uid(65_534).gid(65_534);
    }
    run(command.arg("--archive").arg(fixture.archive()).arg("--index").arg(fixture.index()).args(arguments))
}

/// Gives everybody the right to read what is below a folder, and nobody that to write.
fn open_to_read(folder: &Path) {
    for path in seen(folder).into_keys() {
        let mode = if path.is_dir() { 0o555 } else { 0o444 };
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    }
}

#[test]
fn a_folder_that_may_only_be_read_is_said() {
    let fixture = indexed();
    open_to_read(&fixture.index());
    let held = report(&as_nobody(&fixture, &["--json", "doctor"]), 0);
    let folder = &checks(&held)["index folder"];
    assert_eq!(folder["state"], "warning", "{held:#}");
    assert!(text(&folder["finding"]).contains("nothing brings it up to date"), "{folder:#}");
    assert_eq!(checks(&held)["rows"]["state"], "ok", "it answers all the same: {held:#}");

    let without = harbor(1);
    fs::create_dir(without.index()).expect("a folder");
    open_to_read(&without.index());
    let none = report(&as_nobody(&without, &["--json", "doctor"]), 3);
    found(&none, "index folder", "fault", "no index can be made", "--index");
}

#[test]
fn an_index_of_somebody_else_is_said() {
    let fixture = indexed();
    for path in seen(&fixture.index()).into_keys() {
        fs::set_permissions(path, Permissions::from_mode(0o777)).expect("a mode");
    }
    // The folder is root's, or ours where the tests are not root's.
    let is_theirs = fixture.index().metadata().expect("a folder").uid() == 0;
    let report = report(&as_nobody(&fixture, &["--json", "doctor"]), 0);
    let finding = text(&checks(&report)["index folder"]["finding"]).to_owned();
    assert_eq!(finding.contains("belongs to user 0 and you are user 65534"), is_theirs, "{report:#}");
}

#[test]
fn a_disk_that_is_too_small_to_build_on_is_said() {
    let fixture = harbor(1);
    // Sparse: it takes no room.
    let archive = File::options().write(true).open(fixture.archive()).expect("the archive");
    archive.set_len(8 << 40).expect("a large file");
    let report = report(&fixture.aft(&["--json", "doctor"]), 0);
    let space = &checks(&report)["space"];
    assert_eq!(space["state"], "warning", "{report:#}");
    assert!(text(&space["finding"]).contains("may need 10555.3"), "{space:#}");
}

#[test]
fn logs_that_grow_or_were_left_are_said() {
    let fixture = indexed();
    let writer = fixture.writer();
    let log = |sql: &str| writer.connection().execute_batch(sql).expect("statements");
    log("PRAGMA wal_autocheckpoint = 0; UPDATE messages SET content = content || '!' WHERE id = 1");
    let small = report(&fixture.aft(&["--json", "doctor"]), 0);
    assert!(text(&checks(&small)["archive log"]["finding"]).contains("has it open"), "{small:#}");
    log("CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(66000000))");
    let large = report(&fixture.aft(&["--json", "doctor"]), 0);
    let check = &checks(&large)["archive log"];
    assert_eq!(check["state"], "warning", "{large:#}");
    assert!(text(&check["finding"]).starts_with("66."), "{check:#}");

    // The files as a machine leaves them that went down: without what only lives in memory.
    let left = Fixture::new();
    for suffix in ["", "-wal"] {
        let name = |fixture: &Fixture| fixture.archive().with_file_name(format!("state.db{suffix}"));
        fs::copy(name(&fixture), name(&left)).expect("a copy");
    }
    let left = report(&left.aft(&["--json", "doctor"]), 0);
    let check = &checks(&left)["archive log"];
    assert_eq!(check["state"], "warning", "{left:#}");
    assert!(text(&check["finding"]).contains("private copy of 66."), "{check:#}");
}

#[test]
fn a_lock_that_somebody_holds_is_said() {
    for (lock, finding) in [
        (".tantivy-writer.lock", "writes the index"),
        ("../reindex.lock", "builds a new one beside it"),
        ("../lock", "makes or removes a generation"),
    ] {
        let fixture = indexed();
        let file = File::options().append(true).create(true).open(live(&fixture).join(lock)).expect("a file");
        fs::set_permissions(live(&fixture).join(lock), Permissions::from_mode(0o600)).expect("a mode");
        file.lock().expect("a lock that nobody has");
        found(&report(&fixture.aft(&["--json", "doctor"]), 0), "locks", "warning", finding, "lsof");
        // Closing it would leave it to another test's fork for a moment.
        file.unlock().expect("a lock to give back");
        assert_eq!(report(&fixture.aft(&["--json", "doctor"]), 0)["state"], "ok");
    }
}

#[test]
fn what_others_may_read_is_said() {
    let fixture = indexed();
    fs::set_permissions(live(&fixture).join("meta.json"), Permissions::from_mode(0o644)).expect("a mode");
    let one = report(&fixture.aft(&["--json", "doctor"]), 0);
    found(&one, "permissions", "warning", "meta.json, and", "chmod -R go= ");
    fs::set_permissions(folder(&fixture).path(), Permissions::from_mode(0o755)).expect("a mode");
    found(&report(&fixture.aft(&["--json", "doctor"]), 0), "permissions", "warning", " and 1 more", "chmod");
    let next = text(&checks(&one)["permissions"]["next"]).to_owned();
    assert!(Command::new("sh").arg("-c").arg(next).status().expect("a shell").success());
    assert_eq!(report(&fixture.aft(&["--json", "doctor"]), 0)["state"], "ok", "what it says mends it");
}

#[test]
fn rows_that_are_not_indexed_yet_are_no_fault() {
    let fixture = indexed();
    fixture
        .change("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'new', 1)");
    let behind = report(&fixture.aft(&["--json", "doctor"]), 0);
    found(&behind, "rows", "warning", "4 in the archive, 3 in the index, 1 of them newer", "index");
    let deep = report(&fixture.aft(&["--json", "doctor", "--deep"]), 0);
    assert_eq!(checks(&deep)["texts"]["state"], "warning", "{deep:#}");
    assert_eq!(fixture.aft(&["index"]).code, 0);
    assert_eq!(report(&fixture.aft(&["--json", "doctor", "--deep"]), 0)["state"], "ok");
}

#[test]
fn a_text_that_was_edited_in_place_is_found_by_reading() {
    let fixture = indexed();
    fixture.change("UPDATE messages SET content = 'The ferry was never late.' WHERE id = 2");
    let shallow = report(&fixture.aft(&["--json", "doctor"]), 0);
    assert!(
        text(&checks(&shallow)["rows"]["finding"]).contains("looks whether anything changed"),
        "{shallow:#}"
    );
    let deep = report(&fixture.aft(&["--json", "doctor", "--deep"]), 7);
    found(&deep, "texts", "fault", "different: 1 text", "verify --deep --repair");
}

#[test]
fn an_index_that_claims_what_it_does_not_hold_is_a_fault() {
    let fixture = indexed();
    fixture.change("DELETE FROM messages WHERE id = 2");
    let gone = report(&fixture.aft(&["--json", "doctor"]), 0);
    found(&gone, "rows", "warning", "2 in the archive, 3 in the index", "index");
    // The note of the last check is made to say that it saw the files as they are now.
    let note = live(&fixture).join("checked.json");
    let mut claim: Value = serde_json::from_slice(&fs::read(&note).expect("a note")).expect("JSON");
    let stamp = Stamp::take(&fixture.archive()).expect("a stamp");
    claim["stamp"] = serde_json::to_value(stamp).expect("JSON");
    claim["stamped_ms"] = json!(i64::MAX);
    fs::write(&note, claim.to_string()).expect("a file");
    let lie = report(&fixture.aft(&["--json", "doctor"]), 7);
    found(&lie, "rows", "fault", "nothing was written since they were found equal", "verify --deep --repair");
    assert_eq!(fixture.aft(&["verify", "--deep", "--repair"]).code, 0);
    assert_eq!(
        report(&fixture.aft(&["--json", "doctor", "--deep"]), 0)["state"],
        "ok",
        "what it says mends it"
    );
}

#[test]
fn an_index_of_another_version_is_built_anew_and_a_damaged_one_is_a_fault() {
    let fixture = indexed();
    let meta = live(&fixture).join("meta.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&meta).expect("a file")).expect("JSON");
    let mut checkpoint: Value = serde_json::from_str(text(&value["payload"])).expect("JSON");
    checkpoint["format"] = json!(1);
    value["payload"] = json!(checkpoint.to_string());
    fs::write(&meta, value.to_string()).expect("a file");
    let old = report(&fixture.aft(&["--json", "doctor"]), 0);
    found(&old, "index", "warning", "its format is 1", "builds it anew");
    assert_eq!(fixture.aft(&["index"]).code, 0);
    assert_eq!(report(&fixture.aft(&["--json", "doctor"]), 0)["state"], "ok");

    fs::write(live(&fixture).join("meta.json"), "{").expect("a file");
    found(&report(&fixture.aft(&["--json", "doctor"]), 5), "index", "fault", "open index", "reindex");
    fs::write(folder(&fixture).path().join("current"), "g77").expect("a file");
    found(
        &report(&fixture.aft(&["--json", "doctor"]), 5),
        "index",
        "fault",
        "g77, which is not there",
        "reindex",
    );
    fs::write(folder(&fixture).path().join("current"), "noise").expect("a file");
    found(
        &report(&fixture.aft(&["--json", "doctor"]), 5),
        "generations",
        "fault",
        "no generation",
        "reindex",
    );
}

#[test]
fn flipped_bytes_of_an_index_are_found_by_reading() {
    // So many that the middle of the file is no footer, which is read when an index is opened.
    let fixture = harbor(500);
    assert_eq!(fixture.aft(&["index"]).code, 0);
    let files = fs::read_dir(live(&fixture)).expect("a folder").map(|file| file.expect("a file").path());
    // Nothing reads positions before a phrase is asked for.
    let positions = files.filter(|path| path.extension().is_some_and(|end| end == "pos"));
    // Of several segments the largest: a small one may be little but its footer.
    let positions = positions.max_by_key(|path| path.metadata().expect("a file").len()).expect("positions");
    let mut bytes = fs::read(&positions).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xFF;
    fs::write(&positions, bytes).expect("a file");
    let deep = report(&fixture.aft(&["--json", "doctor", "--deep"]), 5);
    assert_eq!(checks(&deep)["index bytes"]["state"], "fault", "{deep:#}");
}

#[test]
fn generations_without_a_use_are_said_with_their_size() {
    let fixture = indexed();
    let unused = folder(&fixture).path().join("g99");
    fs::create_dir(&unused).expect("a folder");
    fs::write(unused.join("left"), [0; 1_500]).expect("a file");
    for (path, mode) in [(&unused, 0o700), (&unused.join("left"), 0o600)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    }
    let left = report(&fixture.aft(&["--json", "doctor"]), 0);
    found(&left, "generations", "warning", "g99 is of no use (1.5 KB)", "removed when");
    fs::write(folder(&fixture).path().join("next"), "g99").expect("a file");
    fs::set_permissions(folder(&fixture).path().join("next"), Permissions::from_mode(0o600)).expect("a mode");
    let staged = report(&fixture.aft(&["--json", "doctor"]), 0);
    found(&staged, "generations", "warning", "g99 was left unfinished", "to go on with it");
}

#[test]
fn a_version_that_is_newer_than_any_known_is_said() {
    let known: Value =
        serde_json::from_slice(&fs::read(root().join("schema/archive.json")).expect("a file")).expect("JSON");
    let versions = known["versions"].as_array().expect("a list").iter();
    let newest = versions.filter_map(|version| version["version"].as_i64()).max().expect("a version");
    let fixture = indexed();
    for (version, state) in [(newest, "ok"), (newest + 1, "warning")] {
        fixture.change(&format!("UPDATE schema_version SET version = {version}"));
        assert_eq!(fixture.aft(&["index"]).code, 0);
        let layout = checks(&report(&fixture.aft(&["--json", "doctor"]), 0))["layout"].clone();
        assert_eq!(layout["state"], state, "{layout:#}");
        assert!(text(&layout["finding"]).starts_with(&format!("hermes, version {version}")), "{layout:#}");
    }
}

// --- settings, and several archives

fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a folder");
    for path in [".hermes/state.db", ".hermes/profiles/office/state.db"] {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let mut writer = Writer::create(&path, Shape::V30, Fts::None).expect("an archive");
        writer.session(&Session::new("s")).expect("a session");
        writer.message("s", &Message::user("the weir")).expect("a row");
        writer.close().expect("a clean close");
    }
    fs::create_dir_all(home.path().join(".config/afterthought")).expect("a folder");
    home
}

fn configure(home: &TempDir, text: &str) {
    fs::write(home.path().join(".config/afterthought/config.toml"), text).expect("a file");
}

fn ask(home: &TempDir, arguments: &[&str]) -> Ran {
    run(aft().env("HOME", home.path()).args(arguments))
}

#[test]
fn settings_that_cannot_be_read_keep_no_archive_from_being_looked_at() {
    let home = home();
    for (settings, why) in [("archve = \"x\"", "unknown field `archve`"), ("archive = ", "config.toml")] {
        configure(&home, settings);
        for arguments in [
            &["--json", "doctor"][..],
            &["--json", "doctor", "--all"],
            &["--json", "--profile", "office", "doctor"],
        ] {
            let report = report(&ask(&home, arguments), 2);
            let check = &report["checks"][0];
            assert_eq!((text(&check["name"]), text(&check["state"])), ("configuration", "fault"));
            assert!(text(&check["finding"]).contains(why), "{check:#}");
            assert!(text(&check["next"]).contains("config.toml"), "{check:#}");
            assert_eq!(report["archives"][0]["state"], "warning", "not indexed yet: {report:#}");
        }
        let told = ask(&home, &["doctor"]).stdout;
        let place = |what: &str| told.find(what).unwrap_or_else(|| panic!("{what}: {told}"));
        assert!(place("fault") < place("warning"), "what is wrong is read first: {told}");
    }
}

#[test]
fn one_archives_fault_keeps_no_other_from_being_looked_at() {
    let home = home();
    configure(&home, "[archives]\nlaptop = \"~/laptop.db\"\n");
    assert_eq!(ask(&home, &["index"]).code, 0);
    let all = report(&ask(&home, &["--json", "doctor", "--all"]), 7);
    let seen: Vec<(&str, &str)> = all["archives"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|archive| (text(&archive["name"]), text(&archive["state"])))
        .collect();
    assert_eq!(seen, [("laptop", "fault"), ("office", "warning"), ("default", "ok")]);
    let told = ask(&home, &["doctor", "--all"]).stdout;
    assert!(told.contains("aft --profile office index"), "{told}");
    assert!(told.contains("1 fault, 1 warning, "), "{told}");
    configure(&home, "");
    assert_eq!(ask(&home, &["--json", "doctor", "--all"]).code, 0);
}

#[test]
fn nobody_to_look_at_is_said() {
    let home = tempfile::tempdir().expect("a folder");
    let none = ask(&home, &["doctor", "--all"]);
    assert_eq!(none.code, 0);
    assert!(none.stdout.contains("no archive has a name"), "{none:?}");
    report(&ask(&home, &["--json", "doctor", "--all"]), 0);
}
