//! A job of many archives: a broken one stops no other, a killed one goes on, and the way back. Also:
//!
//! ```text
//! KILLS=40 cargo test --release --workspace --test jobs -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use afterthought::index::Folder;
use afterthought::jobs::{Job, Settings, Target, Which};
use afterthought::limits::{REBUILD_BESIDE_BYTES, WRITER_BYTES_MAX};
use afterthought::search::IndexState;
use afterthought::{Depth, Engine, Freshness, Level, Opening, Options, Pace, Reindex, SearchRequest};
use afterthought_tests::{Fixture, Ran, aft, ids, root, run, search, setting, sync};
use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
use afterthought_tools::corpus::{self, Plan};
use afterthought_tools::random::Random;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Several archives, each in a folder of its own, and one place for their indexes.
struct Fleet {
    folder: TempDir,
}

impl Fleet {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder")
    }

    fn index(&self) -> PathBuf {
        self.path().join("index")
    }

    fn archive(&self, name: &str) -> PathBuf {
        self.path().join(name).join("state.db")
    }

    fn small(&self, name: &str) {
        fs::create_dir_all(self.path().join(name)).expect("a folder");
        let mut writer = Writer::create(&self.archive(name), Shape::V22, Fts::None).expect("an archive");
        writer.session(&Session::new("s")).expect("a session");
        for word in ["apple", "basil", "cedar"] {
            writer.message("s", &Message::user(&format!("the {word}"))).expect("a message");
        }
        writer.close().expect("a clean close");
    }

    fn large(&self, name: &str, rows: u64) {
        fs::create_dir_all(self.path().join(name)).expect("a folder");
        corpus::write(&self.archive(name), &Plan::new(rows, rows), |_| {}).expect("an archive");
    }

    fn options(&self, name: &str) -> Options {
        Options::new(self.archive(name), self.index())
    }

    fn folder_of(&self, name: &str) -> Folder {
        Folder::of(&self.index(), &self.archive(name))
    }

    fn live(&self, name: &str) -> Option<PathBuf> {
        self.folder_of(name).live().expect("a pointer")
    }

    /// The command that reindexes some archives with some flags.
    fn job(&self, names: &[&str], flags: &[&str]) -> Command {
        let mut command = aft();
        command
            .arg("--json")
            .arg("--index")
            .arg(self.index())
            .arg("reindex")
            .args(["--nice", "0"])
            .args(flags);
        command.args(names.iter().map(|name| self.archive(name)));
        command
    }

    fn run(&self, names: &[&str], flags: &[&str]) -> Ran {
        run(&mut self.job(names, flags))
    }

    /// The one journal there is; `None` before it is there.
    fn journal_path(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.index().join("jobs")).ok()?;
        let mut paths = entries.map(|entry| entry.expect("an entry").path());
        paths.find(|path| path.extension().is_some_and(|end| end == "json"))
    }

    /// What it says.
    fn journal(&self) -> Option<Value> {
        let path = self.journal_path()?;
        // Replaced in one step: whenever it is read, it is whole.
        Some(serde_json::from_slice(&fs::read(path).expect("a journal")).expect("a whole journal"))
    }
}

/// Returns the answer of a run that ended with `code`, valid against its schema.
#[track_caller]
fn answer(schema: &str, ran: &Ran, code: i32) -> Value {
    assert_eq!(ran.code, code, "{ran:?}");
    let text = fs::read(root().join(format!("schema/{schema}.schema.json"))).expect("a schema");
    let contract = serde_json::from_slice(&text).expect("a schema");
    let validator = jsonschema::draft202012::new(&contract).expect("a schema");
    let value = ran.json();
    let breaches: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(breaches.is_empty(), "{breaches:#?}\n{value:#}");
    value
}

fn entries(report: &Value) -> BTreeMap<String, Value> {
    let archives = report["archives"].as_array().expect("a list");
    archives.iter().map(|entry| (entry["name"].as_str().expect("a name").to_owned(), entry.clone())).collect()
}

/// Every file and folder below one, with its size and time.
fn traces(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let metadata = fs::metadata(&path).expect("metadata");
        found.insert(path.clone(), (metadata.len(), metadata.modified().expect("a time")));
        if metadata.is_dir() {
            found.extend(traces(&path));
        }
    }
    found
}

/// Waits until something holds while a process is at work. Where it ends before that, it never will.
#[track_caller]
fn wait_for(child: &mut Child, mut holds: impl FnMut() -> bool) {
    while !holds() {
        let ended = child.try_wait().expect("a process");
        assert!(ended.is_none(), "it ended before: {ended:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Tells whether what an archive's entry says is being built has a commit of rows.
fn has_commit(entry: &Value) -> bool {
    let generation = entry["index_folder"].as_str().map(Path::new);
    let commit = generation.and_then(|generation| fs::read(generation.join("meta.json")).ok());
    let commit = commit.and_then(|commit| serde_json::from_slice::<Value>(&commit).ok());
    commit.is_some_and(|commit| commit["segments"].as_array().is_some_and(|segments| !segments.is_empty()))
}

/// Locks a file as another process would, until it is dropped.
fn hold(path: &Path) -> fs::File {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let file = fs::File::create(path).expect("a file");
    file.lock().expect("a lock");
    file
}

#[test]
fn a_broken_archive_stops_no_other() {
    let fleet = Fleet::new();
    let names =
        ["sound", "corrupt", "missing", "letter", "locked", "held", "unwritable", "sealed", "pipe", "last"];
    for name in names.iter().filter(|name| **name != "missing") {
        fleet.small(name);
    }
    let mut bytes = fs::read(fleet.archive("corrupt")).expect("an archive");
    bytes[100..].fill(0xFF);
    fs::write(fleet.archive("corrupt"), bytes).expect("an archive");
    fs::write(fleet.archive("letter"), "Dear Ada, this is no archive.").expect("a letter");
    // A folder that cannot be made, whoever runs the test: a file stands in its place.
    fs::create_dir(fleet.index()).expect("a folder");
    fs::remove_file(fleet.archive("pipe")).expect("a file");
    let pipe = Command::new("mkfifo").arg(fleet.archive("pipe")).status();
    assert!(pipe.expect("mkfifo").success());
    fs::write(fleet.folder_of("unwritable").path(), "").expect("a file");
    // Reading needs no leave to write.
    let sealed = fs::Permissions::from_mode(0o555);
    fs::set_permissions(fleet.path().join("sealed"), sealed).expect("permissions");
    let locked = Reindex::start(&fleet.options("locked")).expect("a start");

    // Whoever holds the lock of a folder that is to be changed, and never lets go.
    let held = hold(&fleet.folder_of("held").path().join("lock"));

    let report = answer("reindex-job", &fleet.run(&names, &["--jobs", "2"]), 7);
    drop(held);
    assert_eq!(report["outcome"], "some-failed");
    let entries = entries(&report);
    for (name, state, kind) in [
        ("sound", "done", None),
        ("corrupt", "failed", Some("archive-unavailable")),
        ("missing", "missing", Some("archive-unavailable")),
        ("letter", "failed", Some("archive-unrecognized")),
        ("locked", "failed", Some("index-locked")),
        ("held", "failed", Some("index-locked")),
        ("pipe", "failed", Some("archive-unrecognized")),
        ("unwritable", "failed", Some("index-unavailable")),
        ("sealed", "done", None),
        ("last", "done", None),
    ] {
        let entry = &entries[name];
        assert_eq!(
            (entry["state"].as_str(), entry["error"]["kind"].as_str()),
            (Some(state), kind),
            "{entry}"
        );
        assert_eq!(entry["error"]["hint"].is_string(), kind.is_some(), "the next step: {entry}");
        if state == "done" {
            assert_eq!((&entry["rows"], &entry["rows_written"]), (&json!(3), &json!(3)), "{entry}");
            let engine = Engine::open(&fleet.options(name)).expect("an engine");
            assert_eq!(ids(&search(&engine, "basil")), [2]);
        }
    }
    let totals = &report["totals"];
    assert_eq!((&totals["done"], &totals["failed"], &totals["missing"]), (&json!(3), &json!(6), &json!(1)));
    assert_eq!(totals["rows"], 9);
    drop(locked);

    // For people: every archive has a line, and every failure its reason.
    let mut command = aft();
    command.arg("--index").arg(fleet.index()).arg("reindex");
    command.args(names.iter().map(|name| fleet.archive(name)));
    let ran = run(&mut command);
    assert_eq!(ran.code, 7, "{ran:?}");
    for line in ["sound ", "corrupt: ", "missing: ", "letter: ", "5 of 10 done, 5 failed", "--since-failed"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    let none = fleet.run(&["missing", "letter"], &[]);
    assert_eq!(answer("reindex-job", &none, 3)["outcome"], "all-failed");
}

#[test]
fn a_killed_job_goes_on_and_repeats_nothing() {
    let fleet = Fleet::new();
    let names = ["one", "two", "three", "four"];
    for (name, rows) in names.iter().zip([2_000, 4_000, 3_000, 1_000]) {
        fleet.large(name, rows);
    }
    let began = Instant::now();
    answer("reindex-job", &fleet.run(&names, &["--jobs", "2"]), 0);
    let took = began.elapsed();
    let mut random = Random::new(setting("SEED", 1));
    let (done, mut repeated_none, mut cut_short) = (AtomicBool::new(false), 0, 0);
    let answered = std::thread::scope(|scope| {
        let searcher = scope.spawn(|| ask_all(&fleet, &names, &done));
        let at_the_end = Sets(&done);
        for _ in 0..setting("KILLS", 4) {
            let share = f64::from(u32::try_from(random.below(1_000)).expect("small")) / 1_000.0;
            let mut command = fleet.job(&names, &["--jobs", "2"]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
            std::thread::sleep(took.mul_f64(share));
            child.kill().expect("a process that can be killed");
            child.wait().expect("a process that ended");
            let journal = fleet.journal().expect("a journal");
            let live: Vec<_> = names.iter().map(|name| fleet.live(name)).collect();
            let report = answer("reindex-job", &fleet.run(&names, &["--jobs", "2"]), 0);
            // Else it had not begun, or had ended: the next run is a job of its own.
            if !journal["ended_ms"].is_null() {
                continue;
            }
            cut_short += 1;
            assert_eq!(report["started_ms"], journal["started_ms"]);
            let (before, after) = (entries(&journal), entries(&report));
            for (name, live) in names.iter().zip(live) {
                // What was swapped in and not written down any more is done too.
                let built = before[*name]["index_folder"].as_str().map(Path::new);
                let was_done = built.is_some() && built == live.as_deref();
                assert!(was_done || before[*name]["state"] != "done", "{name}: {journal:#}");
                assert_eq!(after[*name]["ran"], !was_done, "{name}: {journal:#}");
                if was_done {
                    assert_eq!(fleet.live(name), live, "{name} was not rebuilt again");
                    repeated_none += 1;
                }
            }
        }
        drop(at_the_end);
        searcher.join().expect("every search is answered")
    });
    println!("{cut_short} jobs cut short, {repeated_none} archives done before the kill; {answered} answers");
    assert!(answered > 0);
    for name in names {
        let verdict = Engine::open(&fleet.options(name)).and_then(|engine| engine.verify(Depth::Text));
        assert!(verdict.expect("a verdict").equal, "{name}");
    }
}

/// Sets a flag when it goes, also where a test fails: whoever waits for it ends.
struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Searches every archive as a new process would, over and over. Each answer must be whole.
fn ask_all(fleet: &Fleet, names: &[&str], done: &AtomicBool) -> u64 {
    let total = |name: &str| {
        let options = Options { index: Opening::Existing, ..fleet.options(name) };
        let page = Engine::open(&options).and_then(|engine| engine.search(SearchRequest::new("the")));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(page.index.state, IndexState::Ready, "{name}");
        page.total.value
    };
    let totals: Vec<u64> = names.iter().map(|name| total(name)).collect();
    let mut answers = 0;
    while !done.load(Ordering::Relaxed) {
        for (name, expected) in names.iter().zip(&totals) {
            assert_eq!(total(name), *expected, "{name}");
            answers += 1;
        }
    }
    answers
}

#[test]
fn an_archive_that_was_done_is_not_repeated_after_a_kill() {
    let fleet = Fleet::new();
    fleet.small("first");
    fleet.large("second", 20_000);
    // Read slowly, so that the second is under way for long.
    let names = ["first", "second"];
    let mut command = fleet.job(&names, &["--jobs", "1", "--max-mb-per-s", "1"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
    wait_for(&mut child, || {
        let journal = fleet.journal();
        journal.is_some_and(|journal| entries(&journal)["second"]["state"] == "running")
    });
    child.kill().expect("a process that can be killed");
    child.wait().expect("a process that ended");
    let live = fleet.live("first");
    assert!(live.is_some());
    let report = answer("reindex-job", &fleet.run(&names, &[]), 0);
    let entries = entries(&report);
    assert_eq!((&entries["first"]["ran"], &entries["second"]["ran"]), (&json!(false), &json!(true)));
    assert_eq!(fleet.live("first"), live);
    // Other archives are another job, and one that has ended is not gone on with.
    assert_eq!(answer("reindex-job", &fleet.run(&["first"], &[]), 0)["archives"][0]["ran"], true);
}

#[test]
fn an_archive_that_was_swapped_and_not_written_down_is_not_repeated() {
    let fleet = Fleet::new();
    fleet.small("first");
    fleet.large("second", 20_000);
    let names = ["first", "second"];
    let running = |journal: &Value| {
        let second = &entries(journal)["second"];
        second["state"] == "running" && second["index_folder"].is_string()
    };
    let mut command = fleet.job(&names, &["--jobs", "1"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
    let mut journal = Value::Null;
    wait_for(&mut child, || {
        journal = fleet.journal().unwrap_or_default();
        journal.is_object() && running(&journal)
    });
    assert!(child.wait().expect("a process that ended").success());
    // As a kill leaves it that comes right after the swap.
    let path = fleet.journal_path().expect("a journal");
    let put_back = || fs::write(&path, journal.to_string()).expect("a journal");
    put_back();
    let live = names.map(|name| fleet.live(name));
    let report = answer("reindex-job", &fleet.run(&names, &[]), 0);
    let ended = entries(&report);
    assert_eq!((report["outcome"].as_str(), &ended["second"]["ran"]), (Some("done"), &json!(false)));
    assert_eq!((&ended["second"]["rows"], &ended["second"]["rows_written"]), (&json!(20_000), &Value::Null));
    assert_eq!(names.map(|name| fleet.live(name)), live, "none was built again");
    // Where another generation is live, or none can be read, it is built.
    put_back();
    let back = run(aft()
        .arg("--archive")
        .arg(fleet.archive("second"))
        .arg("--index")
        .arg(fleet.index())
        .args(["reindex"]));
    assert_eq!(back.code, 0, "{back:?}");
    let report = answer("reindex-job", &fleet.run(&names, &[]), 0);
    assert_eq!(entries(&report)["second"]["ran"], true);
}

#[test]
fn a_stopped_job_ends_in_good_order_and_goes_on() {
    let fleet = Fleet::new();
    fleet.large("slow", 20_000);
    fleet.small("next");
    let names = ["slow", "next"];
    let flags = ["--jobs", "1", "--max-mb-per-s", "1", "--progress", "json"];
    let child = fleet.job(&names, &flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("a process");
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut told =
        lines.map(|line| serde_json::from_str::<Value>(&line.expect("text")).expect("a JSON line"));
    let progress = told.find(|line| line["event"] == "progress").expect("a line of progress");
    // What is committed by then is what a stopped job leaves.
    wait_for(&mut child, || fleet.journal().is_some_and(|journal| has_commit(&entries(&journal)["slow"])));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    let output = child.wait_with_output().expect("a process that ended");
    assert!(told.all(|line| line["event"].is_string()), "lines of JSON to the end");
    let ran = Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::new(),
    };
    let report = answer("reindex-job", &ran, 130);
    assert_eq!((&report["outcome"], &report["totals"]["waiting"]), (&json!("unfinished"), &json!(2)));
    let again = Ran { code: 0, stdout: progress.to_string(), stderr: String::new() };
    assert_eq!(answer("reindex-progress", &again, 0)["archive"], "slow");
    let report = answer("reindex-job", &fleet.run(&names, &[]), 0);
    let written = entries(&report)["slow"]["rows_written"].as_u64();
    assert!(written.is_some_and(|written| written < 20_000), "it went on: {report}");
}

#[test]
fn since_failed_runs_those_alone() {
    let fleet = Fleet::new();
    let ran = fleet.run(&[], &["--since-failed"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    fleet.small("here");
    answer("reindex-job", &fleet.run(&["here", "late"], &[]), 7);
    let live = fleet.live("here");
    fleet.small("late");
    let report = answer("reindex-job", &fleet.run(&[], &["--since-failed"]), 0);
    let ran = entries(&report);
    assert_eq!((&ran["here"]["ran"], &ran["late"]["ran"]), (&json!(false), &json!(true)));
    assert_eq!(fleet.live("here"), live);
    let late = fleet.live("late");
    let again = answer("reindex-job", &fleet.run(&["late", "here"], &["--since-failed"]), 0);
    assert!(entries(&again).values().all(|entry| entry["ran"] == false), "{again}");
    assert_eq!((fleet.live("here"), fleet.live("late")), (live, late));
}

#[test]
fn a_manifest_names_archives_and_their_names() {
    let fleet = Fleet::new();
    fleet.small("a");
    fleet.small("b");
    let manifest = fleet.path().join("jobs.toml");
    let text = "[[archive]]\npath = \"a/state.db\"\nname = \"mine\"\n[[archive]]\npath = \"b/state.db\"\n";
    fs::write(&manifest, text).expect("a manifest");
    let flags = ["--manifest", manifest.to_str().expect("UTF-8")];
    let report = answer("reindex-job", &fleet.run(&[], &flags), 0);
    assert_eq!(entries(&report).keys().collect::<Vec<_>>(), ["b", "mine"]);
    for (text, says) in [("", "archive"), ("archive = []", "no archive"), ("[[archive]]\nfile = 1", "file")] {
        fs::write(&manifest, text).expect("a manifest");
        let ran = fleet.run(&[], &flags);
        assert!(ran.code == 2 && ran.stderr.contains(says), "{text}: {ran:?}");
    }
    let cramped = fleet.run(&["a", "b"], &["--jobs", "4", "--memory", "400"]);
    assert!(cramped.code == 2 && cramped.stderr.contains("715 MB"), "{cramped:?}");
    answer("reindex-job", &fleet.run(&["a", "b"], &["--jobs", "2", "--memory", "400"]), 0);
}

#[test]
fn every_named_archive_is_one_job() {
    let fleet = Fleet::new();
    for name in ["hermes", "hermes/profiles/work"] {
        fleet.small(name);
    }
    let mut command = fleet.job(&[], &["--all"]);
    let report = answer("reindex-job", &run(command.env("HERMES_HOME", fleet.path().join("hermes"))), 0);
    assert_eq!(entries(&report).keys().collect::<Vec<_>>(), ["default", "work"]);
}

#[test]
fn one_process_runs_a_job() {
    let fleet = Fleet::new();
    fleet.small("a");
    let settings = Settings {
        index_root: fleet.index(),
        allow_copy: false,
        workers: 1,
        memory_bytes: WRITER_BYTES_MAX + REBUILD_BESIDE_BYTES,
        pace: Pace::default(),
    };
    let target = Target::new(&fleet.archive("a"), None).expect("a path");
    let job = Job::new(settings, &[target], Which::All).expect("a job");
    assert_eq!(fleet.run(&["a"], &[]).code, 6);
    drop(job);
    assert_eq!(fleet.run(&["a"], &[]).code, 0);
}

#[test]
fn a_dry_run_touches_nothing() {
    let fleet = Fleet::new();
    fleet.large("big", 2_000);
    fleet.small("tiny");
    let names = ["big", "tiny"];
    let before = traces(&fleet.path());
    let forecast = answer("reindex-forecast", &fleet.run(&names, &["--dry-run"]), 0);
    assert_eq!(traces(&fleet.path()), before, "nothing was there before, and nothing is now");
    assert_eq!(forecast["rows"], 2_003);
    assert_eq!(forecast["archives"][0]["measured"], false);
    answer("reindex-job", &fleet.run(&names, &[]), 0);
    let before = traces(&fleet.path());
    let forecast = answer("reindex-forecast", &fleet.run(&names, &["--dry-run"]), 0);
    assert_eq!(forecast["archives"][0]["measured"], true);
    assert!(forecast["archives"][0]["index_bytes"].as_u64() > Some(0), "{forecast}");
    let missing = answer("reindex-forecast", &fleet.run(&["tiny", "gone"], &["--dry-run"]), 7);
    assert_eq!(missing["archives"][1]["error"]["kind"], "archive-unavailable");
    answer("reindex-forecast", &fleet.run(&["gone"], &["--dry-run"]), 3);
    assert_eq!(traces(&fleet.path()), before);
    // A hole: the file is larger than any disk, and holds nothing.
    fleet.small("huge");
    let file = fs::File::options().write(true).open(fleet.archive("huge")).expect("the archive");
    file.set_len(8 << 40).expect("a large file");
    let forecast = answer("reindex-forecast", &fleet.run(&["huge"], &["--dry-run"]), 7);
    assert_eq!(forecast["fits"], false);
}

#[test]
fn a_writer_at_work_meanwhile_leaves_every_index_true() {
    let fleet = Fleet::new();
    let names = ["busy", "calm"];
    for name in names {
        fleet.large(name, 6_000);
        sync(&Engine::open(&fleet.options(name)).expect("an engine"));
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let agent = scope.spawn(|| {
            let mut writer = Writer::open(&fleet.archive("busy")).expect("an archive");
            writer.session(&Session::new("live")).expect("a session");
            let mut rounds = 0;
            while !done.load(Ordering::Relaxed) {
                let (kept, taken) = (Message::user("it stays"), Message::assistant("it is taken back"));
                writer.message("live", &kept).expect("a message");
                let id = writer.message("live", &taken).expect("a message");
                writer.rewind("live", id).expect("a rewind");
                if rounds % 5 == 0 {
                    writer.clear("live").expect("a deletion");
                }
                rounds += 1;
                std::thread::sleep(Duration::from_millis(200));
            }
            writer.close().expect("a clean close");
            rounds
        });
        let at_the_end = Sets(&done);
        let report = answer("reindex-job", &fleet.run(&names, &["--jobs", "2"]), 0);
        drop(at_the_end);
        assert!(agent.join().expect("the agent's work") > 1, "{report}");
    });
    for name in names {
        // What came after the proof is taken in by any search.
        let aft = |arguments: &[&str]| {
            let mut command = aft();
            command.arg("--archive").arg(fleet.archive(name)).arg("--index").arg(fleet.index());
            run(command.args(arguments))
        };
        assert_eq!(aft(&["search", "stays"]).code, 0);
        let proven = aft(&["verify", "--deep"]);
        assert_eq!(proven.code, 0, "{name}: {proven:?}");
    }
}

// ---- the way back ----

fn herbs() -> Fixture {
    Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        for word in ["apple", "basil", "cedar"] {
            writer.message("s", &Message::user(&format!("the {word}")))?;
        }
        Ok(())
    })
}

fn live(fixture: &Fixture) -> PathBuf {
    let archive = fixture.archive().canonicalize().expect("an archive");
    Folder::of(&fixture.index(), &archive).live().expect("a pointer").expect("an index")
}

#[test]
fn the_index_before_answers_again_and_takes_in_what_came_since() {
    let fixture = herbs();
    sync(&fixture.engine());
    let first = live(&fixture);
    assert_eq!(fixture.aft(&["reindex"]).code, 0);
    let second = live(&fixture);
    let mut writer = fixture.writer();
    writer.message("s", &Message::user("the delta")).expect("a message");
    // Taken back at once: only a comparison of all rows sees it in the index before.
    writer.rewind("s", 3).expect("a rewind");
    writer.message("s", &Message::user("the ember")).expect("a message");
    writer.close().expect("a clean close");
    sync(&fixture.engine());
    let back = answer("reindex-rollback", &fixture.aft(&["--json", "reindex", "--rollback"]), 0);
    assert_eq!((back["index_folder"].as_str(), back["index_rows"].as_u64()), (first.to_str(), Some(3)));
    assert_eq!(back["previous_folder"].as_str(), second.to_str());
    assert_eq!(live(&fixture), first);
    // A search by itself, and by a new process.
    let page = fixture.aft(&["--json", "search", "cedar", "delta", "ember"]).json();
    let found: Vec<_> =
        page["results"].as_array().expect("hits").iter().map(|hit| &hit["message_id"]).collect();
    assert_eq!(found, [5]);
    assert_eq!(fixture.aft(&["verify", "--deep"]).code, 0);
    // And forth again.
    assert_eq!(fixture.aft(&["reindex", "--rollback"]).code, 0);
    assert_eq!(live(&fixture), second);
    assert_eq!(ids(&search(&fixture.engine(), "ember")), [5]);
}

#[test]
fn searches_go_on_while_generations_change_places() {
    let fixture = herbs();
    let engine = fixture.engine();
    sync(&engine);
    assert_eq!(fixture.aft(&["reindex"]).code, 0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let open = scope.spawn(|| {
            let mut answered = 0;
            while !done.load(Ordering::Relaxed) {
                let fresh = engine.freshen(Level::Quick, Duration::MAX, |_| {}).expect("a sync");
                // The generation that is not live any more may be the one that was just written.
                assert!(matches!(fresh, Freshness::Fresh(_) | Freshness::Behind(_)), "{fresh:?}");
                assert_eq!(ids(&search(&engine, "basil")), [2]);
                answered += 1;
            }
            answered
        });
        let anew = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(ids(&search(&fixture.engine(), "basil")), [2]);
            }
        });
        let at_the_end = Sets(&done);
        for _ in 0..8 {
            let ran = fixture.aft(&["reindex", "--rollback"]);
            assert_eq!(ran.code, 0, "{ran:?}");
        }
        drop(at_the_end);
        assert!(open.join().expect("every search is answered") > 0);
        anew.join().expect("every search is answered");
    });
}

#[test]
fn without_a_sound_index_before_the_live_one_stays() {
    let fixture = herbs();
    let refused = fixture.aft(&["reindex", "--rollback"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(!fixture.index().exists(), "a refusal makes nothing");
    sync(&fixture.engine());
    let refused = fixture.aft(&["--json", "reindex", "--rollback"]);
    assert!(refused.code == 3 && refused.stderr.contains("index-missing"), "{refused:?}");
    let first = live(&fixture);
    assert_eq!(fixture.aft(&["reindex"]).code, 0);
    let second = live(&fixture);
    let builder = Reindex::start(&Options::new(fixture.archive(), fixture.index())).expect("a start");
    assert_eq!(fixture.aft(&["reindex", "--rollback"]).code, 6);
    drop(builder);
    let segment = fs::read_dir(&first).expect("a folder").map(|entry| entry.expect("an entry").path());
    let segment = segment.filter(|path| path.extension().is_some_and(|end| end == "term")).min();
    let segment = segment.expect("a file of a segment");
    let mut bytes = fs::read(&segment).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xFF;
    fs::write(&segment, bytes).expect("a file");
    let refused = fixture.aft(&["reindex", "--rollback"]);
    assert_eq!(refused.code, 5, "{refused:?}");
    assert_eq!(live(&fixture), second);
    // What left the archive is in no generation that is kept.
    fixture.writer().clear("s").expect("a deletion");
    sync(&fixture.engine());
    assert_eq!(fixture.aft(&["reindex", "--rollback"]).code, 3);
}
