//! `aft export`: every row once, from one state, and nothing that a row holds breaks out of its place.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use afterthought::archive::Archive;
use afterthought::export::{Selection, Step, export};
use afterthought_tests::{Fixture, Ran, aft, root};
use afterthought_tools::archive::{Cell, Message, Session, Shape, Writer};
use afterthought_tools::demo;
use rusqlite::Connection;
use serde_json::{Value, json};

/// Returns the lines of an export, each valid against the schema.
#[track_caller]
fn lines(text: &str) -> Vec<Value> {
    let contract = fs::read(root().join("schema/export.schema.json")).expect("a schema");
    let contract = serde_json::from_slice(&contract).expect("a schema");
    let validator = jsonschema::draft202012::new(&contract).expect("a schema");
    let line = |line: &str| {
        let value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let breaches: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(breaches.is_empty(), "{breaches:#?}\n{value:#}");
        value
    };
    text.lines().map(line).collect()
}

#[track_caller]
fn exported(fixture: &Fixture, arguments: &[&str]) -> Vec<Value> {
    let ran = fixture.aft(&[&["export"], arguments].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    lines(&ran.stdout)
}

fn ids(lines: &[Value]) -> Vec<i64> {
    lines.iter().filter_map(|line| line["message_id"].as_i64()).collect()
}

/// Two sessions: parts of every kind, a row taken back, one hidden, one that repeats another.
fn harbor() -> Fixture {
    Fixture::with(Shape::V30, |writer| {
        let late =
            Session { started_at: 2_000_000_000.0, source: "cron".to_owned(), ..Session::new("a-late") };
        writer.session(&late)?;
        writer.message("a-late", &Message::user("The weir.").at(2_000_000_001.0))?;
        writer.session(&Session {
            title: Some("The\n# ferry *is* <late>".to_owned()),
            ..Session::new("z-early")
        })?;
        let look = Message::thought("Perhaps it drifted.").with_call("terminal", &json!({"command": "look"}));
        for message in [
            Message::user("Where is the ferry?").at(1_000_000.0),
            look.clone().at(1_000_001.0),
            Message::tool("terminal", "fog").answering(&look).at(1_000_002.0),
            Message { active: false, ..Message::user("Forget it.").at(1_000_003.0) },
            Message { display_kind: Some("hidden".to_owned()), ..Message::user("Scaffold.").at(1_000_004.0) },
            Message::assistant("It is late.").at(1_000_005.0),
            Message::assistant("It is late.").at(1_000_005.0),
        ] {
            writer.message("z-early", &message)?;
        }
        Ok(())
    })
}

#[test]
fn every_row_comes_once() {
    let fixture = Fixture::new();
    demo::write(&fixture.archive(), Shape::V22).expect("the demo's archive");
    let all = exported(&fixture, &["--include-inactive", "--include-copies"]);
    let connection = Connection::open(fixture.archive()).expect("the archive");
    let order = "SELECT m.id FROM messages m JOIN sessions s ON s.id = m.session_id ORDER BY s.started_at, s.id, m.id";
    let mut rows = connection.prepare(order).expect("a statement");
    let rows = rows.query_map([], |row| row.get(0)).expect("rows");
    let rows: Vec<i64> = rows.collect::<rusqlite::Result<_>>().expect("rows");
    assert!(rows.len() > 3_000);
    assert_eq!(ids(&all), rows);
    // What they say, where a column holds plain text.
    let said = "SELECT id, content FROM messages WHERE role = 'user' AND substr(CAST(content AS BLOB), 1, 1) <> x'00' ORDER BY id";
    let mut said = connection.prepare(said).expect("a statement");
    let said = said.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    let said: Vec<(i64, String)> = said.collect::<rusqlite::Result<_>>().expect("rows");
    assert!(said.len() > 500);
    let by_id = |id: i64| all.iter().find(|line| line["message_id"] == id).expect("its line");
    assert!(said.iter().all(|(id, content)| by_id(*id)["content"] == content.as_str()));
    assert!(!fixture.index().exists(), "no index is needed, and none is made");
}

#[test]
fn what_a_search_shows_is_what_is_taken() {
    let fixture = harbor();
    assert_eq!(ids(&exported(&fixture, &[])), [2, 3, 4, 8, 1]);
    assert_eq!(ids(&exported(&fixture, &["--include-inactive"])), [2, 3, 4, 5, 6, 8, 1]);
    assert_eq!(ids(&exported(&fixture, &["--include-copies"])), [2, 3, 4, 7, 8, 1]);
    let told = fixture.aft(&["export"]).stderr;
    assert!(told.contains("5 messages of 2 sessions; 2 taken back or hidden"), "{told}");
    assert!(told.contains("1 repeat another, left out: --include-copies"), "{told}");
    // As aft session has them, member by member, place by place.
    assert_eq!(fixture.aft(&["index"]).code, 0);
    let session = fixture.aft(&["--json", "session", "z-early"]).json();
    let shown = session["messages"].as_array().expect("messages");
    let taken = exported(&fixture, &["--session", "z-ea"]);
    assert_eq!(shown.len(), taken.len());
    for (shown, taken) in shown.iter().zip(&taken) {
        assert!(
            shown.as_object().expect("an object").iter().all(|(name, value)| taken[name] == *value),
            "{shown}\n{taken}"
        );
    }
    for member in
        ["id", "title", "source", "user", "model", "parent_id", "cwd", "git_branch", "started", "archived"]
    {
        assert_eq!(session["session"][member], taken[0]["session"][member], "{member}");
    }
}

#[test]
fn filters_are_those_of_a_search() {
    let fixture = harbor();
    for (arguments, expected) in [
        (&["--role", "user"][..], &[2, 1][..]),
        (&["--role", "tool,assistant"], &[3, 4, 8]),
        (&["--source", "cron"], &[1]),
        (&["--session", "a-late,z-early", "--role", "tool"], &[4]),
        (&["--session", "a-late", "--session", "z-early", "--role", "tool"], &[4]),
        (&["--since", "2000"], &[]),
        (&["--after", "2030-01-01"], &[1]),
        (&["--before", "2030-01-01"], &[2, 3, 4, 8]),
        (&["--in", "said"], &[2, 8, 1]),
        (&["--in", "thought"], &[3]),
        (&["--in", "did,saw"], &[3, 4]),
    ] {
        if arguments == ["--since", "2000"] {
            assert_eq!(fixture.aft(&[&["export"], arguments].concat()).code, 2);
            continue;
        }
        assert_eq!(ids(&exported(&fixture, arguments)), expected, "{arguments:?}");
    }
    let thought = &exported(&fixture, &["--in", "thought"])[0];
    assert_eq!((&thought["reasoning"], &thought["tool_calls"]), (&json!("Perhaps it drifted."), &json!("")));
    let gone = fixture.aft(&["--json", "export", "--session", "z-never"]);
    assert_eq!((gone.code, gone.stdout.as_str()), (1, ""));
    assert_eq!(fixture.aft(&["export", "--in", "titled"]).code, 2);
    let both = Fixture::with(Shape::V22, |writer| {
        for id in ["s-1", "s-2"] {
            writer.session(&Session::new(id))?;
            writer.message(id, &Message::user("x"))?;
        }
        Ok(())
    });
    assert_eq!(both.aft(&["export", "--session", "s-"]).code, 2, "two begin like that");
}

/// Rows that would break out of whatever is put around them.
fn hostile() -> Fixture {
    Fixture::with(Shape::V30, |writer| {
        writer.session(&Session {
            title: Some("# <b>\r\n```".to_owned()),
            cwd: Some("/a`b\n# c".to_owned()),
            ..Session::new("s`")
        })?;
        let breaks = [
            "# a heading\r## another\n---\n</details>",
            "```\nnever closed",
            "`````\n````text\n```",
            "> quoted\n\n    code\n<!-- a comment",
            "<script>alert(1)</script></blockquote>",
            "a\u{0}b\u{1b}[2J\u{85}c\u{2028}d",
        ];
        for text in breaks {
            writer.message("s`", &Message::user(text))?;
            writer.message("s`", &Message::thought(text).with_call("run", &json!({"command": text})))?;
            writer.message("s`", &Message::tool(text, text))?;
        }
        writer.message("s`", &Message::new("# user", Cell::RawText(b"cut \xC3 here".to_vec())))?;
        let parts = json!([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]);
        writer.message("s`", &Message::user("").with_parts(&parts))?;
        writer.message("s`", &Message::tool("terminal", &"```\n0123456789 ".repeat(700_000)))?;
        Ok(())
    })
}

#[test]
fn nothing_breaks_out_of_its_line() {
    let fixture = hostile();
    let all = exported(&fixture, &[]);
    assert_eq!(ids(&all), (1..=21).collect::<Vec<_>>());
    assert_eq!(all[0]["content"], "# a heading\r## another\n---\n</details>");
    assert_eq!((&all[18]["content"], &all[18]["damaged"]), (&json!("cut \u{fffd} here"), &json!(true)));
    let parts = all[19]["content"].as_str().expect("text");
    assert!(parts.starts_with("see") && !parts.contains("AAAA"), "{parts}");
    assert!(all[20]["content"].as_str().expect("text").len() > 9_000_000, "a huge row is whole");
}

#[test]
fn nothing_breaks_out_of_its_block() {
    let ran = hostile().aft(&["export", "--format", "markdown"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.stdout.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    let (mut fence, mut outside): (Option<usize>, Vec<&str>) = (None, Vec::new());
    for line in ran.stdout.split('\n') {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if ticks >= open && line.trim_end().len() == ticks => fence = None,
            Some(_) => {}
            None if ticks >= 3 => fence = Some(ticks),
            None if line.starts_with('>') || line.is_empty() => {}
            None => outside.push(line),
        }
    }
    assert_eq!(fence, None, "every fence is closed");
    let is_ours = |line: &&str| {
        let folded = line.starts_with("<details><summary>") && line.ends_with("</summary>");
        folded
            || *line == "</details>"
            || *line == "**did**"
            || line.starts_with("## ")
            || line.starts_with("# ")
    };
    let foreign: Vec<&&str> = outside.iter().filter(|line| !is_ours(line)).collect();
    assert_eq!(foreign.len(), 1, "one line of facts: {foreign:#?}");
    assert!(foreign[0].starts_with("`` s` `` · cli · "), "{foreign:#?}");
    assert_eq!(outside.iter().filter(|line| line.starts_with("## ")).count(), 21);
    assert_eq!(outside.iter().filter(|line| line.starts_with("# ")).count(), 1);
    let folded = outside.iter().filter(|line| line.starts_with("<details>")).count();
    assert_eq!((folded, outside.iter().filter(|line| **line == "</details>").count()), (13, 13));
    let quoted = |line: &&str| line.starts_with('>') && line.contains("<script>");
    let at = ran.stdout.lines().position(|line| quoted(&line)).expect("what was said");
    assert_eq!(ran.stdout.lines().nth(at - 1), Some("> ```text"), "HTML is shown and not run");
}

#[test]
fn a_transcript_keeps_apart_who_said_thought_and_did_what() {
    let text = harbor()
        .aft(&["export", "--format", "markdown", "--session", "z-early", "--include-inactive"])
        .stdout;
    let expected = "# The \\# ferry \\*is\\* \\<late\\>\n\n`z-early` · cli · ";
    assert!(text.starts_with(expected), "{text}");
    for piece in [
        "\n\n## user · 1970-01-12T13:46:40Z · \\#2\n\n> Where is the ferry?\n\n",
        "<details><summary>thought</summary>\n\n```text\nPerhaps it drifted.\n```\n\n</details>\n\n",
        "**did**\n\n```text\nterminal(look)\n```\n\n",
        "<details><summary>saw terminal</summary>\n\n```text\nfog\n```\n\n</details>\n\n",
        "\\#5 · taken back\n",
        "\\#6 · hidden\n",
    ] {
        assert!(text.contains(piece), "{piece}\n{text}");
    }
}

#[test]
fn a_file_appears_whole_for_its_owner_only_and_replaces_none_unasked() {
    let fixture = harbor();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.jsonl");
    let write = |more: &[&str]| {
        fixture.aft(&[&["export", "--output", file.to_str().expect("a path")], more].concat())
    };
    let names = || fs::read_dir(folder.path()).expect("a folder").count();
    let ran = write(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert_eq!(file.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    assert_eq!(lines(&fs::read_to_string(&file).expect("a file")).len(), 5);
    let again = write(&[]);
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.stderr.contains("--force"), "{again:?}");
    assert_eq!(write(&["--force", "--role", "tool"]).code, 0);
    assert_eq!(lines(&fs::read_to_string(&file).expect("a file")).len(), 1);
    assert_eq!(write(&["--force", "--session", "none"]).code, 1);
    assert_eq!(lines(&fs::read_to_string(&file).expect("a file")).len(), 1, "what failed replaces nothing");
    assert_eq!(names(), 1, "and leaves nothing behind");
}

#[test]
fn the_archives_own_files_are_never_written() {
    let fixture = harbor();
    let archive = fixture.archive();
    let before = fs::read(&archive).expect("the archive");
    let link = archive.with_file_name("link.db");
    symlink(&archive, &link).expect("a link");
    fs::hard_link(&archive, archive.with_file_name("hard.db")).expect("a link");
    for name in [
        "state.db",
        "state.db-wal",
        "state.db-shm",
        "state.db-journal",
        "link.db",
        "hard.db",
        "../agent/state.db",
    ] {
        let path = archive.with_file_name(name);
        let ran = fixture.aft(&["export", "--force", "--output", path.to_str().expect("a path")]);
        assert_eq!(ran.code, 2, "{name}: {ran:?}");
        assert!(ran.stderr.contains("the archive's own"), "{name}: {ran:?}");
    }
    assert_eq!(fs::read(&archive).expect("the archive"), before);
    assert!(link.is_symlink());
    for folder in [archive.parent().expect("a folder"), Path::new("/nowhere/at/all.jsonl")] {
        assert_eq!(fixture.aft(&["export", "--force", "-o", folder.to_str().expect("a path")]).code, 2);
    }
}

// --- an agent at work meanwhile

/// More than pipes and buffers hold.
fn large() -> Fixture {
    Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        writer.transaction(|writer| {
            for row in 0..400 {
                writer.message("s", &Message::user(&format!("old {row} {}", "the weir ".repeat(1_000))))?;
            }
            Ok(())
        })
    })
}

/// Starts an export, and waits until it prints.
fn printing(fixture: &Fixture) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let mut command: Command = aft();
    command.arg("--archive").arg(fixture.archive()).args(["--json", "export"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("aft starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    out.read_line(&mut first).expect("a line");
    (child, out, first)
}

fn ended(child: Child, mut out: BufReader<std::process::ChildStdout>, first: &str) -> Ran {
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    let output = child.wait_with_output().expect("an end");
    let stderr = String::from_utf8(output.stderr).expect("text");
    Ran { code: output.status.code().unwrap_or(-1), stdout: first.to_owned() + &rest, stderr }
}

fn write_over(writer: &mut Writer) {
    writer
        .connection()
        .execute_batch("UPDATE messages SET content = 'new'; DELETE FROM messages WHERE id % 2 = 0")
        .expect("a write");
    writer.message("s", &Message::user("new")).expect("a row");
}

#[test]
fn a_writer_meanwhile_is_not_seen() {
    let fixture = large();
    let mut writer = fixture.writer();
    writer.message("s", &Message::user("old, in the log")).expect("a row");
    let (child, out, first) = printing(&fixture);
    write_over(&mut writer);
    let ran = ended(child, out, &first);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let all = lines(&ran.stdout);
    assert_eq!(ids(&all), (1..=401).collect::<Vec<_>>());
    assert!(all.iter().all(|line| line["content"].as_str().is_some_and(|text| text.starts_with("old"))));
}

#[test]
fn a_writer_that_shares_a_lock_waits_for_no_reader_of_ours() {
    let fixture = large();
    let mut writer = fixture.writer();
    writer.connection().pragma_update(None, "journal_mode", "DELETE").expect("another format");
    let (child, out, first) = printing(&fixture);
    writer.connection().busy_timeout(std::time::Duration::ZERO).expect("a timeout");
    write_over(&mut writer);
    let ran = ended(child, out, &first);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ids(&lines(&ran.stdout)), (1..=400).collect::<Vec<_>>());
}

#[test]
fn what_was_printed_of_a_state_that_is_gone_is_said() {
    let fixture = large();
    let (child, out, first) = printing(&fixture);
    let mut writer = fixture.writer();
    write_over(&mut writer);
    writer.close().expect("a clean close");
    let ran = ended(child, out, &first);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("archive-unsteady") && ran.stderr.contains("--output"), "{}", ran.stderr);
}

#[test]
fn what_can_be_begun_again_is() {
    let fixture = large();
    let archive = Archive::at(&fixture.archive(), false).expect("an archive");
    let (mut begun, mut texts) = (0, Vec::new());
    export(&archive, &Selection::default(), |step| {
        match step {
            Step::Begin(_) => {
                begun += 1;
                texts.clear();
            }
            Step::Message(message) => {
                texts.push(message.content.clone());
                if begun == 1 && texts.len() == 1 {
                    let mut writer = fixture.writer();
                    write_over(&mut writer);
                    writer.close().expect("a clean close");
                }
            }
            Step::LeftOut => {}
        }
        ControlFlow::Continue(())
    })
    .expect("an export");
    assert_eq!((begun, texts.len()), (2, 201));
    assert!(texts.iter().all(|text| text == "new"));
}

#[test]
fn nobody_listening_is_no_failure() {
    let fixture = large();
    let (mut child, out, _) = printing(&fixture);
    drop(out);
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
    assert_eq!((child.wait().expect("an end").code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_stop_leaves_nothing_half_done() {
    let fixture = large();
    let folder = tempfile::tempdir().expect("a folder");
    let names = || -> Vec<_> {
        fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect()
    };
    let mut command = aft();
    command
        .arg("--archive")
        .arg(fixture.archive())
        .arg("export")
        .arg("-o")
        .arg(folder.path().join("out.jsonl"));
    let mut child = command.stderr(Stdio::null()).spawn().expect("aft starts");
    while names().is_empty() {
        assert_eq!(child.try_wait().expect("a state"), None);
    }
    let stop = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status();
    assert!(stop.expect("a shell").success());
    // It may be over before the stop comes.
    match child.wait().expect("an end").code() {
        Some(130) => assert!(names().is_empty(), "{:?}", names()),
        code => assert_eq!((code, names()), (Some(0), vec!["out.jsonl".into()])),
    }
}
