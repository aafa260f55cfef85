//! What every command but `aft search` prints when it succeeds: valid against its schema, and true.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use afterthought_tests::{Fixture, Ran, aft, root, run};
use afterthought_tools::archive::{Message, Session, Shape, Writer};
use serde_json::{Value, json};

use crate::failures::error_of;
use crate::fixtures::{Scene, harbor, listed};
use crate::pages::{kinds, problems_of};
use crate::{answer, assert_none, breaches, contract, has_escapes, schema};

/// The ids of `show`'s messages.
fn ids(shown: &Value) -> Vec<i64> {
    let messages = shown["messages"].as_array().into_iter().flatten();
    messages.filter_map(|message| message["message_id"].as_i64()).collect()
}

/// Archive and index of [`harbor`], up to date.
fn indexed_harbor() -> Fixture {
    let fixture = harbor();
    assert_eq!(fixture.aft(&["index"]).code, 0);
    fixture
}

#[test]
fn a_message_is_shown_with_its_listed_neighbours() {
    let fixture = indexed_harbor();
    let show = |args: &[&str]| answer("show", &fixture.aft(&[&["--json", "show"], args].concat()), 0);
    let alone = show(&["3"]);
    assert_eq!(
        alone["session"],
        json!({
            "id": "s-lock", "title": "Lock order in the scheduler", "source": "cli", "user": "ada",
            "model": "m-large", "parent_id": null, "cwd": "/src/harbor/web", "git_branch": "fix/lock",
            "started": "2026-01-01T00:00:00Z", "last_activity": "2026-01-01T00:00:09Z", "messages": 7,
            "archived": true,
        })
    );
    assert_eq!(
        alone["messages"],
        json!([{
            "message_id": 3, "index": 2, "role": "assistant", "content": "Let me look at the scheduler.",
            "reasoning": "", "tool_name": "",
            "tool_calls": "terminal(rg -n lock_order src/scheduler.rs, 部署)",
            "timestamp": "2026-01-01T00:00:03Z",
        }])
    );
    // 6 was taken back and 7 was never seen: both are passed over.
    assert_eq!(ids(&show(&["5", "-C", "1"])), [4, 5, 8]);
    assert_eq!(ids(&show(&["1", "-C", "2"])), [1, 2, 3]);
    assert_eq!(ids(&show(&["9", "--context", "1"])), [8, 9]);
}

#[test]
fn a_message_that_is_not_listed_is_shown_alone() {
    let fixture = indexed_harbor();
    // Taken back, hidden, a repetition.
    for id in ["6", "7", "13"] {
        let shown = answer("show", &fixture.aft(&["--json", "show", id, "-C", "1"]), 0);
        assert_eq!(ids(&shown), [id.parse::<i64>().expect("a number")]);
        assert_eq!(shown["messages"][0]["index"], Value::Null);
    }
}

#[test]
fn a_message_that_is_not_indexed_yet_is_shown() {
    let fixture = Scene::of(&["archive", "index", "sessions t1 and t2"]).fixture;
    let shown = answer("show", &fixture.aft(&["--json", "show", "3"]), 0);
    assert_eq!((ids(&shown), &shown["messages"][0]["index"]), (vec![3], &Value::Null));
    assert_eq!((&shown["session"]["id"], &shown["session"]["source"]), (&json!("t1"), &json!("unknown")));
}

#[test]
fn a_message_is_shown_as_far_as_it_can_be_read() {
    let fixture = indexed_harbor();
    let show = |id: &str| answer("show", &fixture.aft(&["--json", "show", id]), 0);
    assert_eq!(show("17")["messages"][0]["content"], "The halyard was cut off h\u{fffd}");
    assert_eq!(show("19")["messages"][0]["timestamp"], Value::Null);
    for (id, session) in [("19", "s-odd"), ("21", "s-gone")] {
        let shown = show(id);
        let session_view = &shown["session"];
        assert_eq!((&session_view["id"], &session_view["source"]), (&json!(session), &json!("unknown")));
        assert_eq!((&session_view["title"], &session_view["user"]), (&Value::Null, &Value::Null));
    }
    assert_eq!(show("21")["session"]["started"], Value::Null);
}

#[test]
fn a_session_is_its_listed_messages() {
    let fixture = indexed_harbor();
    let listed = listed(&fixture.archive());
    let sessions = answer("sessions", &fixture.aft(&["--json", "sessions"]), 0);
    assert_eq!(sessions["total"], 7);
    for view in sessions["sessions"].as_array().into_iter().flatten() {
        let session = answer("session", &fixture.aft(&["--json", "session", text(&view["id"])]), 0);
        assert_eq!(session["session"], *view);
        let rows: Vec<i64> =
            listed.iter().filter(|(session, _)| view["id"] == session.as_str()).map(|(_, id)| *id).collect();
        assert_eq!(ids(&session), rows);
        assert_eq!(view["messages"], rows.len());
        let places = session["messages"].as_array().into_iter().flatten().map(|message| &message["index"]);
        assert!(places.eq((0..rows.len()).map(Value::from).collect::<Vec<_>>().iter()), "{session}");
    }
    assert_eq!(contract("archive.json")["rows"]["shown"], "(active or compacted) and not hidden");
}

#[test]
fn a_part_of_a_session_keeps_its_numbers() {
    let fixture = indexed_harbor();
    let session =
        |args: &[&str]| answer("session", &fixture.aft(&[&["--json", "session"], args].concat()), 0);
    let part = session(&["s-lock", "--slice", "2:4"]);
    assert_eq!((ids(&part), &part["messages"][0]["index"]), (vec![3, 4], &json!(2)));
    let roles = session(&["s-loc", "--role", "assistant", "--slice", "-1:"]);
    assert_eq!((ids(&roles), &roles["messages"][0]["index"]), (vec![5], &json!(4)));
    assert_eq!(roles["session"]["messages"], 7);
    assert_eq!(ids(&session(&["s-lock", "--slice", "90:"])), Vec::<i64>::new());
}

#[test]
fn a_search_inside_a_session_is_valid_and_true() {
    let fixture = indexed_harbor();
    let listed = listed(&fixture.archive());
    let search = |session: &str, query: &str| {
        answer("session-search", &fixture.aft(&["--json", "session", session, "--search", query]), 0)
    };
    for (session, query, total) in [
        ("s-lock", "lock order", 5),
        ("s-lock", "naive", 1),
        ("s-han", "时区", 1),
        ("s-odd", "lighthouse", 1),
    ] {
        let page = search(session, query);
        assert_eq!(page["total"], total, "{query}: {page}");
        for hit in page["results"].as_array().into_iter().flatten() {
            let mut hit = hit.clone();
            hit["session_id"] = json!(session);
            assert_none(&problems_of(&hit, query, &listed));
        }
    }
    assert_eq!(kinds(&search("s-lock", "")), ["empty-query"]);
    assert_eq!(kinds(&search("s-lock", "gearbox")), ["unknown-term"]);
}

#[test]
fn sessions_are_listed_latest_first() {
    let fixture = indexed_harbor();
    let sessions =
        |args: &[&str]| answer("sessions", &fixture.aft(&[&["--json", "sessions"], args].concat()), 0);
    let names = |list: &Value| -> Vec<String> {
        let list = list["sessions"].as_array().into_iter().flatten();
        list.map(|session| text(&session["id"]).to_owned()).collect()
    };
    assert_eq!(names(&sessions(&["--limit", "1"])), ["s-gone"]);
    assert_eq!(names(&sessions(&["--source", "cron"])), ["s-copy"]);
    assert_eq!(names(&sessions(&["--workspace", "/src/harbor"])), ["s-lock"]);
    assert_eq!(names(&sessions(&["--user", "ada"])), ["s-lock"]);
    assert_eq!(names(&sessions(&["--model", "m-large", "--user", "ada"])), ["s-lock"]);
    let strange = sessions(&["--user", "Ada"]);
    assert_eq!(names(&strange), Vec::<String>::new());
    assert_eq!(strange["warnings"][0]["kind"], "unknown-filter");
    let page = sessions(&["--limit", "2", "--offset", "6"]);
    assert_eq!((names(&page).len(), &page["total"]), (1, &json!(7)));
    assert_eq!(names(&sessions(&["--source", "none"])), Vec::<String>::new());
}

#[test]
fn facets_are_counted_for_people_too() {
    let fixture = indexed_harbor();
    let ran = fixture.aft(&["search", "--in", "said", "--facets", "role,user,session", "lock"]);
    assert!(ran.stdout.contains("role       assistant 1, user 1\n"), "{ran:?}");
    assert!(ran.stdout.contains("user       ada 2\n"), "{ran:?}");
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
fn an_audit_counts_what_its_statements_count() {
    let fixture = indexed_harbor();
    let audit = answer("audit", &fixture.aft(&["--json", "audit"]), 0);
    assert_eq!(audit["rows"], 21);
    assert_eq!(audit["rows_with_reasoning"], 2);
    let words = audit["only_in_reasoning"].as_array().into_iter().flatten();
    let words: Vec<&str> = words.map(|word| text(&word["word"])).collect();
    assert!(words.contains(&"differs") && !words.contains(&"lock"), "{words:?}");
    let connection = rusqlite::Connection::open(fixture.archive()).expect("an archive");
    let statements = std::fs::read_to_string(root().join("schema/audit.sql")).expect("audit.sql");
    let mut counted = 0;
    for named in statements.split("-- name: ").skip(1) {
        let (name, statement) = named.split_once('\n').expect("a name and a statement");
        let mut statement = connection.prepare(statement).unwrap_or_else(|error| panic!("{name}: {error}"));
        let value = if name.starts_with("by_") {
            let rows =
                statement.query_map([], |row| Ok(json!([row.get::<_, String>(0)?, row.get::<_, i64>(1)?])));
            rows.and_then(Iterator::collect::<rusqlite::Result<Value>>)
        } else {
            statement.query_row([], |row| row.get::<_, i64>(0).map(Value::from))
        };
        assert_eq!(audit[name], value.unwrap_or_else(|error| panic!("{name}: {error}")), "{name}");
        counted += 1;
    }
    assert_eq!(counted, 7);
}

#[test]
fn an_audit_of_a_word_puts_both_searches_side_by_side() {
    let fixture = indexed_harbor();
    let audit = |word: &str| answer("audit-word", &fixture.aft(&["--json", "audit", word]), 0);
    let lock = audit("differs");
    assert_eq!(lock["fts"], json!({"words": 0, "trigrams": 0, "scan": 0}));
    assert_eq!((&lock["ours"], &lock["ours_in_reasoning"]), (&json!(1), &json!(1)));
    assert_eq!(audit("时区")["fts"]["trigrams"], Value::Null);
}

#[test]
fn an_evaluation_measures_the_bundled_set() {
    let work = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| work.path().join(name).display().to_string();
    let saved = path("scores.json");
    let eval = |args: &[&str]| {
        let work = path("work");
        answer("eval", &run(aft().args(["--json", "eval", "--work", &work]).args(args)), 0)
    };
    let first = eval(&["--absent", "--save", &saved]);
    assert_eq!((&first["rows"][0]["set"], &first["missing"]), (&json!("bundled"), &json!([])));
    assert_eq!(first["absent"][0]["subjects"], 200);
    let again = eval(&["--against", &saved, "--weights", "thought", "--boost", "phrase=0"]);
    assert_eq!((&again["weights"]["phrase"], &again["weights"]["reasoning"]), (&json!(0.0), &json!(2.0)));
    let (then, now) = (&first["rows"][0]["ours"]["ndcg_10"], &again["rows"][0]["against"]);
    let apart = then.as_f64().zip(now.as_f64()).map(|(then, now)| (then - now).abs());
    assert!(apart.is_some_and(|apart| apart < 1e-9), "{then} {now}");
    let text = run(aft().args(["eval", "--work", &path("work")]));
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 100), "{}", text.stdout);
    let wrong = run(aft().args(["--json", "eval", "--work", &path("work"), "--sets", "heron"]));
    assert_eq!(error_of(&wrong.stderr)["kind"], "usage");
}

#[test]
fn a_bench_measures_every_side() {
    let fixture = harbor();
    let bench = |args: &[&str]| {
        answer("bench", &fixture.aft(&[&["--json", "bench", "--runs", "2"], args].concat()), 0)
    };
    let whole = bench(&["--against", "best,v30,shipped,scan", "--builds", "2"]);
    assert_eq!((&whole["archive"]["rows"], &whole["archive"]["sessions"]), (&json!(21), &json!(6)));
    assert_ne!(whole["cases"], json!([]));
    for case in whole["cases"].as_array().into_iter().flatten() {
        let sides = case["sides"].as_array().expect("sides");
        let names: Vec<&str> = sides.iter().map(|side| text(&side["side"])).collect();
        assert_eq!(names, ["ours", "best", "v30", "shipped", "scan"], "{case}");
        for side in sides {
            let runs = [&side["warm"]["runs"], &side["process"]["runs"]];
            assert_eq!(runs, [&json!(2), &json!(1)], "{case}");
        }
        assert_ne!(case["ways"], json!([]), "{case}");
    }
    let built = |at: usize, member: &str| whole["builds"][at][member].clone();
    assert_eq!((built(0, "side"), built(0, "builds")), (json!("ours"), json!(2)));
    assert_eq!(whole["builds"].as_array().map(Vec::len), Some(6));
    assert_eq!(whole["readers"].as_array().map(Vec::len), Some(10));
    assert_eq!(whole["appends"]["layouts"].as_array().map(Vec::len), Some(4));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let queries = folder.path().join("queries.txt");
    std::fs::write(&queries, "lock\n\n\"lock order\" NOT gyroscope\n").expect("a file of queries");
    let queries = queries.to_str().expect("a path of UTF-8");
    let dir = folder.path().to_str().expect("a path of UTF-8");
    let part = bench(&["--queries", queries, "--dir", dir, "--no-scan", "--no-whole-process"]);
    let cases = part["cases"].as_array().expect("cases");
    let asked: Vec<&str> = cases.iter().map(|case| text(&case["query"])).collect();
    let phrase = "\"lock order\" NOT gyroscope";
    assert_eq!(asked, ["lock", "lock", phrase, phrase]);
    for case in cases {
        assert_eq!(case["sides"].as_array().map(Vec::len), Some(2), "{case}");
        assert_eq!((&case["sides"][1]["process"], &case["sides"][1]["cold"]), (&Value::Null, &Value::Null));
    }
    assert_eq!(std::fs::read_dir(dir).expect("a folder").count(), 1, "nothing is left");
}

#[test]
fn a_bench_reports_as_it_is_asked_to() {
    let fixture = harbor();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let quick = ["bench", "--runs", "1", "--no-whole-process", "--against", "best"];
    let page = path("report.html");
    let told = fixture.aft(&[&quick[..], &["--report", "html", "-o", &page]].concat());
    assert_eq!((told.code, told.stdout.as_str()), (0, ""), "{told:?}");
    let page = std::fs::read_to_string(page).expect("a report");
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg"), "{page}");
    let text = fixture.aft(&quick);
    assert!(text.stdout.starts_with("# aft bench\n"), "{text:?}");
    assert!(text.stderr.contains("building our index"), "{text:?}");
    for (wrong, code, named) in [
        (vec!["--queries", "/missing/queries.txt"], 2, "--queries /missing/queries.txt"),
        (vec!["--against", "heron"], 2, "no rival \"heron\"; rivals: best, v30, shipped, scan"),
        (vec!["-o", "/missing/report.md"], 2, "--output /missing/report.md"),
        (vec!["--dir", "/missing"], 3, "--dir"),
    ] {
        let refused = fixture.aft(&[&quick[..4], &wrong].concat());
        assert_eq!(refused.code, code, "{refused:?}");
        assert!(refused.stderr.contains(named), "{refused:?}");
    }
    let (empty, report) = (path("empty.txt"), path("unwritten.md"));
    std::fs::write(&empty, "\n \n").expect("a file");
    let refused = fixture.aft(&["bench", "--queries", &empty, "-o", &report]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("it holds no query"), "{refused:?}");
    assert!(!std::path::Path::new(&report).exists(), "a report that is not written leaves no file");
    let missing = run(aft().args(["--archive", "/missing/state.db", "bench"]));
    assert_eq!(missing.code, 3, "{missing:?}");
}

#[test]
fn settings_tell_where_they_come_from() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("config/afterthought");
    std::fs::create_dir_all(&folder).expect("a folder");
    let settings = |args: &[&str]| {
        let mut command = aft();
        command.env("HOME", home.path()).env("XDG_CONFIG_HOME", home.path().join("config"));
        let ran = run(command.env("AFTERTHOUGHT_INDEX", "").args(args).args(["--json", "config", "show"]));
        let config = answer("config", &ran, 0);
        assert_eq!(config["file"].as_str(), folder.join("config.toml").to_str());
        let settings = config["settings"].as_array().cloned().unwrap_or_default();
        settings.iter().map(|setting| text(&setting["origin"]).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(settings(&[]), ["default", "default"]);
    std::fs::write(folder.join("config.toml"), "archive = \"/a\"\nindex = \"/i\"\n").expect("a file");
    assert_eq!(settings(&[]), ["file", "file"]);
    assert_eq!(settings(&["--archive", "/b"]), ["flag", "file"]);
}

#[test]
fn a_shown_message_cannot_steer_a_terminal() {
    let fixture = indexed_harbor();
    let ran = fixture.aft(&["show", "20"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("Then the anchor broke the mast."), "{ran:?}");
    assert!(!has_escapes(&ran.stdout) && !ran.stdout.contains('\u{7}'), "{ran:?}");
}

#[test]
fn status_lists_the_damaged_rows() {
    let fixture = indexed_harbor();
    let status = answer("status", &fixture.aft(&["--json", "status"]), 0);
    assert_eq!(status["damaged_rows"], 3);
    assert_eq!(status["damaged_ids"], json!([17, 18, 19]));
    assert_eq!(status["index"]["state"], "ready");
    assert_eq!(status["index"]["rows"], 21);
    assert_eq!(status["sessions"], 7);
    let ran = fixture.aft(&["status"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("read partly 3 rows: #17 #18 #19"), "{ran:?}");
}

#[test]
fn status_tells_archive_and_index_apart() {
    let fixture = Scene::of(&["archive", "index", "another row"]).fixture;
    let status = answer("status", &fixture.aft(&["--json", "status"]), 0);
    let archive = fixture.archive().canonicalize().expect("an archive");
    assert_eq!(status["archive"].as_str(), archive.to_str());
    assert_eq!(status["archive_bytes"], std::fs::metadata(archive).expect("an archive").len());
    let live = crate::fixtures::generation(&fixture);
    assert_eq!(status["index_folder"].as_str(), live.to_str());
    assert_eq!(status["index"]["state"], "stale");
    assert_eq!(status["index"]["rows"], 2);
    assert_eq!(status["index"]["rows_behind"], 1);
    assert_eq!(status["damaged_ids"], json!([]));
}

#[test]
fn index_counts_its_work() {
    let fixture = harbor();
    let built = answer("index", &fixture.aft(&["--json", "index"]), 0);
    // 13 and 16 are of one time: they are read once more, to tell whether one repeats the other.
    assert_eq!(built["work"]["rows_read"], 21 + 2);
    assert_eq!(built["work"]["docs_added"], 21);
    assert_eq!(built["work"]["docs_removed"], 0);
    assert_eq!(built["work"]["sessions_written"], 7);
    assert_eq!(built["work"]["rows_damaged"], 3);
    assert_eq!(built["work"]["commits"], 1);
    assert_eq!(built["index"]["rows"], 21);
    let again = answer("index", &fixture.aft(&["--json", "index"]), 0);
    let none = again["work"].as_object().into_iter().flatten().all(|(_, count)| *count == 0);
    assert!(none, "nothing had changed: {}", again["work"]);
    fixture.writer().rewind("s-lock", 9).expect("a rewind");
    let rewound = answer("index", &fixture.aft(&["--json", "index"]), 0);
    assert_eq!((&rewound["work"]["docs_added"], &rewound["work"]["docs_removed"]), (&json!(1), &json!(1)));
    let anew = answer("reindex", &fixture.aft(&["--json", "reindex"]), 0);
    assert_eq!(anew["work"]["docs_added"], 21);
    assert_eq!((&anew["archive_rows"], &anew["index_rows"]), (&json!(21), &json!(21)));
}

#[test]
fn index_needs_no_lock_where_nothing_is_to_write() {
    let scene = Scene::of(&["archive", "index", "writer lock is held"]);
    let ran = scene.fixture.aft(&["--json", "index"]);
    assert_eq!(answer("index", &ran, 0)["work"]["commits"], 0);
}

#[test]
fn verify_proves_equal_rows() {
    let fixture = indexed_harbor();
    let verdict = answer("verify", &fixture.aft(&["--json", "verify"]), 0);
    assert_eq!(verdict["equal"], true);
    assert_eq!((&verdict["archive_rows"], &verdict["index_rows"]), (&json!(21), &json!(21)));
    assert_eq!(verdict["sessions_compared"], 7);
    let ran = fixture.aft(&["verify"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(
        ran.stdout,
        format!(
            "equal: 21 messages in 7 sessions, row by row; what they say: aft{} verify --deep\n",
            fixture.flags()
        )
    );
}

#[test]
fn verify_lists_every_kind_of_drift_and_index_mends_it() {
    let fixture = indexed_harbor();
    let mut writer = fixture.writer();
    writer.rewind("s-lock", 9).expect("a rewind");
    writer.delete_session("s-long").expect("a deleted session");
    writer.message("s-leaf", &Message::user("A new row.")).expect("a new row");
    writer.close().expect("a clean close");
    let verdict = answer("verify", &fixture.aft(&["--json", "verify"]), 7);
    assert_eq!(verdict["equal"], false);
    assert_eq!(verdict["differing"], json!({"missing": 1, "session": 1, "state": 1, "surplus": 1}));
    let drift = |id: Option<i64>, session, how| json!({"message_id": id, "session_id": session, "how": how});
    assert_eq!(
        verdict["drift"],
        json!([
            drift(Some(22), "s-leaf", "missing"),
            drift(Some(9), "s-lock", "state"),
            drift(Some(20), "s-long", "surplus"),
            drift(None, "s-long", "session")
        ])
    );
    let ran = fixture.aft(&["verify"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (7, ""), "drift is an answer: {ran:?}");
    for line in [
        "different: 1 missing, 1 session, 1 state, 1 surplus",
        "#9 of session s-lock: state",
        "session s-long: what is known of it",
        &format!("aft{} verify --repair", fixture.flags()),
    ] {
        assert!(ran.stdout.contains(line), "{line}: {ran:?}");
    }
    let repaired = answer("verify", &fixture.aft(&["--json", "verify", "--repair"]), 0);
    assert_eq!((&repaired["equal"], &repaired["repaired"]["docs_added"]), (&json!(true), &json!(2)));
    assert_eq!(answer("verify", &fixture.aft(&["--json", "verify"]), 0)["repaired"], Value::Null);
}

#[test]
fn verify_deep_sees_an_edit_in_place_and_repairs_it() {
    let fixture = indexed_harbor();
    let edit = "UPDATE messages SET content = 'Nothing of it.' WHERE id = 9";
    let mut writer = fixture.writer();
    writer.transaction(|writer| writer.connection().execute_batch(edit)).expect("an edit");
    writer.close().expect("a clean close");
    answer("verify", &fixture.aft(&["--json", "verify"]), 0);
    let verdict = answer("verify", &fixture.aft(&["--json", "verify", "--deep"]), 7);
    assert_eq!((&verdict["deep"], &verdict["differing"]), (&json!(true), &json!({"text": 1})));
    let told = format!("aft{} verify --deep --repair", fixture.flags());
    assert!(fixture.aft(&["verify", "--deep"]).stdout.contains(&told));
    let repaired = answer("verify", &fixture.aft(&["--json", "verify", "--deep", "--repair"]), 0);
    assert_eq!(repaired["repaired"]["docs_added"], 1);
    let ran = fixture.aft(&["verify", "--deep"]);
    assert_eq!(ran.stdout, "equal: 21 messages in 7 sessions, row by row, and all that they say\n");
}

#[test]
fn verify_repairs_a_damaged_index_from_the_archive_alone() {
    for damage in ["terms are flipped", "meta is cut", "another format"] {
        let scene = Scene::of(&["archive", "index", damage]);
        let repaired = answer("verify", &scene.fixture.aft(&["--json", "verify", "--repair"]), 0);
        assert_eq!(repaired["repaired"]["docs_added"], 2, "{damage}");
    }
}

#[test]
fn verify_lists_a_bounded_number_of_rows() {
    let fixture = Scene::of(&["archive", "index"]).fixture;
    let mut writer = fixture.writer();
    let rows = (0..150).map(|_| writer.message("s", &Message::user("More."))).collect::<Result<Vec<_>, _>>();
    assert_eq!(rows.map(|ids| ids.len()), Ok(150));
    writer.close().expect("a clean close");
    let verdict = answer("verify", &fixture.aft(&["--json", "verify"]), 7);
    assert_eq!(verdict["differing"], json!({"missing": 150}));
    assert_eq!(verdict["drift"].as_array().map(Vec::len), Some(100));
}

#[test]
fn the_demo_answers_what_the_agent_cannot() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().to_str().expect("a path of UTF-8");
    let demo = answer("demo", &run(aft().args(["--json", "demo", "--dir", dir])), 0);
    for answer in demo["answers"].as_array().into_iter().flatten() {
        assert_eq!(answer["fts5_hits"], 0, "{answer}");
        assert_ne!(answer["page"]["results"], json!([]), "{answer}");
    }
    let place = ["--archive", text(&demo["archive"]), "--index", text(&demo["index_root"])];
    let status = answer("status", &run(aft().args(place).args(["--json", "status"])), 0);
    assert_eq!(status["index"]["rows"], demo["messages"]);
    assert_eq!(status["sessions"], demo["sessions"]);
    answer("verify", &run(aft().args(place).args(["--json", "verify"])), 0);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

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

#[test]
fn the_demo_leaves_the_next_line_to_type() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = aft();
    // Cargo names itself to what it runs, and the demo answers in kind.
    let ran = run(command.env_remove("CARGO").args(["demo", "--dir"]).arg(folder.path()));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!has_escapes(&ran.stdout), "{ran:?}");
    let line = ran.stdout.lines().find(|line| line.contains("search --in thought")).expect("a line to type");
    let mut shell = Command::new("sh");
    let typed = run(shell.arg("-c").arg(line));
    assert_eq!(typed.code, 0, "{typed:?}");
    assert!(!typed.stdout.is_empty(), "{typed:?}");
}

#[test]
fn a_closed_standard_output_is_no_failure() {
    let fixture = indexed_harbor();
    for args in [
        &["search", "lock"][..],
        &["--json", "search", "lock"],
        &["--json", "status"],
        &["show", "1"],
        &["verify"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = aft();
        command.arg("--archive").arg(fixture.archive()).arg("--index").arg(fixture.index()).args(args);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().expect("aft runs");
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{args:?}: {output:?}");
    }
}

#[test]
fn help_and_version_are_answers() {
    for args in [&["--help"][..], &["--version"], &["search", "--help"], &["help", "index"]] {
        let ran = run(aft().args(args));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
        assert!(!ran.stdout.is_empty(), "{args:?}");
    }
}

/// Rows of distinct words, so that a sync of them takes more than a second on most machines.
fn large(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.session(&Session::new("s"))?;
    writer.transaction(|writer| {
        for row in 0..14_u64 {
            let words = (0..60_000).map(|word| format!("w{:x} ", (row * 60_000 + word) * 2_654_435_761));
            writer.message("s", &Message::user(&words.collect::<String>()))?;
        }
        Ok(())
    })
}

#[test]
fn a_long_sync_tells_its_progress_and_can_be_stopped() {
    let fixture = Fixture::with(Shape::V22, large);
    let mut command = aft();
    command.arg("--archive").arg(fixture.archive()).arg("--index").arg(fixture.index());
    command.args(["--json", "index", "--progress", "json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("aft starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = lines.next().map(|line| line.expect("text"));
    if first.is_some() {
        let stop = run(Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())));
        assert_eq!(stop.code, 0, "{stop:?}");
    }
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let mut stdout = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("text");
    let code = child.wait().expect("an end").code().unwrap_or(-1);
    let told: Vec<Value> = first.iter().chain(&rest).map(|line| parsed(line)).collect();
    let (lines, errors): (Vec<_>, Vec<_>) = told.into_iter().partition(|line| line["event"] == "progress");
    for line in &lines {
        assert_eq!(breaches(&schema("progress"), line), Vec::<String>::new(), "{line}");
        assert_eq!(line["rows_total"], 14);
        assert!(line["rows_done"].as_u64() <= Some(14), "{line}");
    }
    // A machine may be so fast that there is no line, or that the end comes before the stop.
    if code == 0 {
        answer("index", &Ran { code, stdout, stderr: String::new() }, 0);
    } else {
        assert_eq!((code, stdout.as_str()), (130, ""));
        assert!(errors.len() <= 1, "{errors:?}");
        for line in &errors {
            assert_eq!(breaches(&schema("error"), line), Vec::<String>::new(), "{line}");
            assert_eq!(line["error"]["kind"], "interrupted");
        }
    }
    assert_eq!(fixture.aft(&["index"]).code, 0, "the next run goes on");
    answer("verify", &fixture.aft(&["--json", "verify"]), 0);
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}
