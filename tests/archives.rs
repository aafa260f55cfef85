//! Every shape of archive and every odd row that archives were seen to hold: mirrored, searched,
//! proven equal. What can be read of an odd row is found, what cannot is counted, and no row keeps
//! another from being found.

use afterthought::archive::Archive;
use afterthought::{
    Depth, Engine, ErrorKind, Filters, Hit, Options, Origin, Page, SearchRequest, SyncReport,
};
use afterthought_tests::{Fixture, ids, search, sync};
use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
use serde_json::json;

// ---- shapes ----

#[test]
fn every_shape_is_mirrored() {
    for shape in Shape::ALL {
        let fixture = Fixture::with(shape, conversation);
        let engine = mirrored(&fixture, &format!("{shape:?}"));
        for (word, id) in CONVERSATION {
            assert_eq!(ids(&search(&engine, word)), [id], "{shape:?}: {word}");
        }
        assert_eq!(search(&engine, "harbor").results[0].origin, Origin::Titled, "{shape:?}");
    }
}

/// Words of [`conversation`], each with the row that alone has it.
const CONVERSATION: [(&str, i64); 5] =
    [("lantern", 1), ("buoy", 2), ("lighthouse", 2), ("terminal", 3), ("anchor", 3)];

fn conversation(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.session(&Session { title: Some("harbor survey".to_owned()), ..Session::new("s") })?;
    let call =
        Message::assistant("").with_call("look", &json!({"at": "lighthouse"})).with_reasoning("a buoy?");
    for message in [Message::user("the lantern"), call, Message::tool("terminal", "anchor dragging")] {
        writer.message("s", &message)?;
    }
    Ok(())
}

#[test]
fn text_may_be_stored_as_utf16() {
    for encoding in ["UTF-16le", "UTF-16be"] {
        let fixture = Fixture::new();
        let empty = rusqlite::Connection::open(fixture.archive()).expect("a new file");
        empty
            .execute_batch(&format!("PRAGMA encoding = '{encoding}'; CREATE TABLE first (x)"))
            .expect("a table");
        empty.close().expect("a clean close");
        let mut writer = Writer::create(&fixture.archive(), Shape::V22, Fts::None).expect("an archive");
        conversation(&mut writer).expect("rows");
        writer.message("s", &Message::user("请看 a kestrel 🚀")).expect("a row");
        writer.close().expect("a clean close");
        let engine = mirrored(&fixture, encoding);
        for (word, id) in CONVERSATION.into_iter().chain([("kestrel", 4), ("请看", 4), ("🚀", 4)]) {
            assert_eq!(ids(&search(&engine, word)), [id], "{encoding}: {word}");
        }
        assert_eq!(engine.status().expect("a status").damaged_rows, 0);
    }
}

#[test]
fn columns_may_lack() {
    let messages: [(&str, &[&str]); 11] = [
        ("tool_calls", &["lighthouse"]),
        ("tool_name", &["terminal"]),
        ("reasoning", &[]),
        ("reasoning_content", &[]),
        ("reasoning_details", &[]),
        ("codex_reasoning_items", &[]),
        ("codex_message_items", &[]),
        ("active", &[]),
        ("compacted", &[]),
        ("display_kind", &[]),
        ("tool_call_id", &[]),
    ];
    for (column, lost) in messages {
        check_altered(&format!("ALTER TABLE messages DROP COLUMN {column}"), lost);
    }
    for column in ["user_id", "model", "cwd", "git_repo_root", "git_branch", "archived"] {
        check_altered(&format!("ALTER TABLE sessions DROP COLUMN {column}"), &[]);
    }
    check_altered("ALTER TABLE sessions DROP COLUMN title", &["harbor"]);
}

#[test]
fn columns_may_be_more_or_stand_elsewhere() {
    check_altered("ALTER TABLE messages ADD COLUMN mood TEXT DEFAULT 'grim'", &[]);
    check_altered("ALTER TABLE messages ADD COLUMN \"order\" BLOB", &[]);
    check_altered("ALTER TABLE sessions ADD COLUMN secret TEXT GENERATED ALWAYS AS (id || 'x')", &[]);
    let reversed = |shape: Shape| shape.message_columns().into_iter().rev().collect::<Vec<_>>().join(", ");
    let columns = reversed(Shape::V30).replace(", id", ", id INTEGER PRIMARY KEY");
    check_altered(
        &format!(
            "ALTER TABLE messages RENAME TO old; CREATE TABLE messages ({columns}); \
             INSERT INTO messages ({names}) SELECT {names} FROM old; DROP TABLE old",
            names = reversed(Shape::V30)
        ),
        &[],
    );
}

#[test]
fn required_columns_are_enough() {
    check_altered(
        "CREATE TABLE m (timestamp, content, role, session_id, id INTEGER PRIMARY KEY); \
         INSERT INTO m SELECT timestamp, content, role, session_id, id FROM messages; \
         DROP TABLE messages; ALTER TABLE m RENAME TO messages; \
         CREATE TABLE s (started_at, source, id); INSERT INTO s SELECT started_at, source, id FROM sessions; \
         DROP TABLE sessions; ALTER TABLE s RENAME TO sessions",
        &["buoy", "lighthouse", "terminal", "harbor"],
    );
}

/// Alters an archive of the newest shape; all but what was lost with it must still be found.
#[track_caller]
fn check_altered(sql: &str, lost: &[&str]) {
    let fixture = Fixture::with(Shape::V30, |writer| {
        conversation(writer)?;
        writer.connection().execute_batch(&format!("PRAGMA foreign_keys = 0; {DROP_INDEXES}; {sql}"))
    });
    let engine = mirrored(&fixture, sql);
    for (word, id) in CONVERSATION {
        let found = if lost.contains(&word) { vec![] } else { vec![id] };
        assert_eq!(ids(&search(&engine, word)), found, "{sql}: {word}");
    }
    let titles = usize::from(!lost.contains(&"harbor"));
    assert_eq!(search(&engine, "harbor").results.len(), titles, "{sql}");
    assert_eq!(engine.status().expect("a status").damaged_rows, 0, "{sql}");
}

/// SQLite drops no column that an index names.
const DROP_INDEXES: &str = "DROP INDEX idx_messages_session_active; DROP INDEX idx_messages_active_null; \
    DROP INDEX idx_sessions_title_unique";

#[test]
fn each_required_column_is_named_when_it_lacks() {
    for (table, column) in [
        ("messages", "id"),
        ("messages", "session_id"),
        ("messages", "role"),
        ("messages", "content"),
        ("messages", "timestamp"),
        ("sessions", "id"),
        ("sessions", "source"),
        ("sessions", "started_at"),
    ] {
        let fixture = Fixture::with(Shape::V22, |writer| {
            conversation(writer)?;
            writer.connection().execute_batch(&format!("ALTER TABLE {table} RENAME COLUMN {column} TO x"))
        });
        let refused =
            Engine::open(&Options::new(fixture.archive(), fixture.index())).err().expect("a refusal");
        assert_eq!(refused.kind(), ErrorKind::ArchiveUnrecognized);
        assert!(
            refused.to_string().contains(&format!("\"{table}\" has no column \"{column}\"")),
            "{refused}"
        );
    }
}

#[test]
fn flags_of_every_kind_are_read() {
    let cases = [
        ("active = NULL", true),
        ("active = 2", true),
        ("active = -1", true),
        ("active = 'yes'", true),
        ("active = ''", true),
        ("active = 0.5", true),
        ("active = x'00'", true),
        ("active = 0", false),
        ("active = '0'", false),
        ("active = 0, compacted = 1", true),
        ("active = 0, compacted = 'x'", false),
        ("active = 1, display_kind = 'hidden'", false),
        ("active = 1, display_kind = 'steer'", true),
        ("active = 1, display_kind = x'ff'", true),
    ];
    for (set, visible) in cases {
        check_flags("INTEGER", set, visible);
    }
    // A column without a type keeps them as they are.
    for (set, visible) in [("active = 0.0", false), ("active = 1.0", true), ("active = '0'", true)] {
        check_flags("", set, visible);
    }
}

#[track_caller]
fn check_flags(kind: &str, set: &str, visible: bool) {
    let fixture = Fixture::with(Shape::V30, |writer| {
        conversation(writer)?;
        writer.connection().execute_batch(&format!(
            "{DROP_INDEXES}; ALTER TABLE messages RENAME COLUMN active TO was_active; \
             ALTER TABLE messages ADD COLUMN active {kind}; UPDATE messages SET active = was_active; \
             UPDATE messages SET {set} WHERE id = 1"
        ))
    });
    let engine = mirrored(&fixture, set);
    assert_eq!(ids(&search(&engine, "lantern")), if visible { vec![1] } else { vec![] }, "{set}");
    assert_eq!(ids(&with(&engine, "lantern", |filters| filters.include_inactive = true)), [1], "{set}");
    assert_eq!(ids(&search(&engine, "anchor")), [3], "{set}");
}

// ---- odd rows ----

/// An odd row: what makes it odd, a query that finds it all the same, whether it counts as read in
/// part. Row 2 is changed; a query of "" says that nothing of it can be found.
struct Odd(&'static str, String, &'static str, bool);

const READ: bool = false;
const DAMAGED: bool = true;

fn odd(name: &'static str, set: &str, query: &'static str, damaged: bool) -> Odd {
    Odd(name, set.to_owned(), query, damaged)
}

fn odd_rows() -> Vec<Odd> {
    let nested = |levels: usize| format!("{}\"kestrel\"{}", "[".repeat(levels), "]".repeat(levels));
    let call = |arguments: &str| format!(r#"[{{"function": {{"name": "look", "arguments": {arguments}}}}}]"#);
    let mut rows = content_rows();
    rows.extend(column_rows());
    rows.extend([
        Odd("nested content", format!("content = char(0) || 'json:{}'", nested(200)), "kestrel", DAMAGED),
        Odd(
            "very deep content",
            format!("content = char(0) || 'json:{}'", nested(50_000)),
            "kestrel",
            DAMAGED,
        ),
        Odd("nested calls", format!("tool_calls = '{}'", nested(200)), "kestrel", DAMAGED),
        Odd("nested arguments", format!("tool_calls = '{}'", call(&nested(100))), "kestrel", READ),
        Odd("very deep arguments", format!("tool_calls = '{}'", call(&nested(50_000))), "kestrel", DAMAGED),
        Odd("nested details", format!("reasoning_details = '{}'", nested(200)), "", DAMAGED),
        Odd("nested codex items", format!("codex_reasoning_items = '{}'", nested(200)), "", DAMAGED),
        Odd("a long line", format!("content = 'kestrel {}'", "x".repeat(1_000_000)), "kestrel", READ),
        Odd("a long line before", format!("content = '{}-kestrel'", "x=/".repeat(350_000)), "kestrel", READ),
        Odd("a long line of Han", format!("content = '{}红隼'", "大别山项目".repeat(70_000)), "红隼", READ),
        Odd(
            "a long line of base64",
            format!("content = '{} kestrel'", "aB3".repeat(350_000)),
            "kestrel",
            READ,
        ),
    ]);
    rows
}

fn content_rows() -> Vec<Odd> {
    vec![
        odd("a cut character", "content = CAST(x'6b65737472656c2068c3' AS TEXT)", "kestrel", DAMAGED),
        odd("a cut character alone", "content = CAST(x'68c3' AS TEXT)", "h", DAMAGED),
        odd("no UTF-8 at all", "content = CAST(x'fffe' AS TEXT)", "", DAMAGED),
        odd("Latin-1", "content = CAST(x'6b65737472656c20636166e9' AS TEXT)", "kestrel", DAMAGED),
        odd("text in a blob", "content = CAST('a kestrel' AS BLOB)", "kestrel", DAMAGED),
        odd("a binary blob", "content = x'00ff00fe'", "", DAMAGED),
        odd("an empty blob", "content = x''", "", DAMAGED),
        odd("an integer", "content = 4711", "4711", READ),
        odd("a real", "content = 2.75", "2.75", READ),
        odd("null", "content = NULL", "", READ),
        odd("empty", "content = ''", "", READ),
        odd("blank", "content = '  ' || char(10)", "", READ),
        odd("a NUL inside", "content = 'a' || char(0) || ' kestrel'", "kestrel", READ),
        odd(
            "controls",
            "content = char(27) || '[31mkes' || char(27) || '[0mtrel' || char(7)",
            "kestrel",
            READ,
        ),
        odd("JSON as text", r#"content = '[{"text": "kestrel'"#, "kestrel", READ),
        odd("JSON with a cut tail", r#"content = char(0) || 'json:[{"text": "kestrel'"#, "kestrel", DAMAGED),
        odd("JSON of nothing", "content = char(0) || 'json:'", "", DAMAGED),
        odd("JSON null", "content = char(0) || 'json:null'", "", READ),
        odd("a JSON string", r#"content = char(0) || 'json:"kestrel"'"#, "kestrel", READ),
        odd("a JSON object", r#"content = char(0) || 'json:{"text": "kestrel"}'"#, "kestrel", READ),
        odd("a lone high surrogate", r#"content = char(0) || 'json:["kestrel \ud83d"]'"#, "kestrel", READ),
        odd("a lone low surrogate", r#"content = char(0) || 'json:["\udE80 kestrel"]'"#, "kestrel", READ),
        odd("a cut escape", r#"content = char(0) || 'json:["kestrel \ud83'"#, "kestrel", DAMAGED),
    ]
}

fn column_rows() -> Vec<Odd> {
    vec![
        odd("reasoning cut", "reasoning = CAST(x'6b65737472656c2068c3' AS TEXT)", "kestrel", DAMAGED),
        odd("reasoning in a blob", "reasoning_content = CAST('kestrel' AS BLOB)", "kestrel", DAMAGED),
        odd("a binary reasoning", "reasoning = x'00ff'", "", DAMAGED),
        odd("a number as reasoning", "reasoning = 4711", "4711", READ),
        odd("a pad as reasoning", "reasoning_content = ' '", "", READ),
        odd("details cut", r#"reasoning_details = '[{"thinking": "kestrel'"#, "", DAMAGED),
        odd("details of text", "reasoning_details = 'kestrel'", "", DAMAGED),
        odd("details of a string", r#"reasoning_details = '"kestrel"'"#, "", READ),
        odd("details null", "reasoning_details = 'null'", "", READ),
        odd("details that hold none", r#"reasoning_details = '[1, null, [], {"text": null}]'"#, "", READ),
        odd("details alone", r#"reasoning_details = '[{"thinking": "kestrel"}]'"#, "kestrel", READ),
        odd("an object as details", r#"reasoning_details = '{"text": "kestrel"}'"#, "kestrel", READ),
        odd(
            "codex summaries",
            r#"codex_reasoning_items = '[{"summary": [{"text": "kestrel"}]}]'"#,
            "kestrel",
            READ,
        ),
        odd("codex items cut", r#"codex_reasoning_items = '[{"summary'"#, "", DAMAGED),
        odd("a cipher", r#"codex_reasoning_items = '[{"encrypted_content": "kestrel"}]'"#, "", READ),
        odd("a reply cut", r#"content = NULL, codex_message_items = '[{"text": "kestrel'"#, "", DAMAGED),
        odd("calls cut", r#"tool_calls = '[{"function": {"name": "kestrel'"#, "kestrel", DAMAGED),
        odd("calls of text", "tool_calls = '{oops kestrel'", "kestrel", DAMAGED),
        odd("calls of bytes", "tool_calls = CAST(x'5b226b65737472656cc3' AS TEXT)", "kestrel", DAMAGED),
        odd("calls null", "tool_calls = 'null'", "", READ),
        odd("calls empty", "tool_calls = '[]'", "", READ),
        odd("calls of nulls", r#"tool_calls = '[null, {"function": null}]'"#, "", READ),
        odd("an object as calls", r#"tool_calls = '{"name": "kestrel"}'"#, "kestrel", READ),
        odd(
            "arguments cut",
            r#"tool_calls = '[{"name": "x", "arguments": "{\"a\": \"kestrel"}]'"#,
            "kestrel",
            DAMAGED,
        ),
        odd(
            "arguments of text",
            r#"tool_calls = '[{"name": "x", "arguments": "a kestrel"}]'"#,
            "kestrel",
            READ,
        ),
        odd("arguments null", r#"tool_calls = '[{"name": "kestrel", "arguments": null}]'"#, "kestrel", READ),
        odd(
            "a lone surrogate",
            r#"tool_calls = '[{"name": "x", "arguments": {"a": "\ud83d kestrel"}}]'"#,
            "kestrel",
            READ,
        ),
        odd("a tool's name cut", "tool_name = CAST(x'6b65737472656c20c3' AS TEXT)", "kestrel", DAMAGED),
        odd("a role cut", "content = 'kestrel', role = CAST(x'75736572c3' AS TEXT)", "kestrel", DAMAGED),
        odd("a role of bytes", "content = 'kestrel', role = x'ff'", "kestrel", DAMAGED),
        odd("no role", "content = 'kestrel', role = ''", "kestrel", READ),
        odd("a strange role", "content = 'kestrel', role = 'développeur \"x\"'", "kestrel", READ),
    ]
}

#[test]
fn odd_row_keeps_no_other_from_being_found() {
    for Odd(name, set, query, damaged) in odd_rows() {
        let fixture = around(&[&set]);
        let engine = mirrored(&fixture, name);
        if !query.is_empty() {
            assert_eq!(ids(&search(&engine, query)), [2], "{name}: {query}");
        }
        assert_eq!(
            (ids(&search(&engine, "alpha")), ids(&search(&engine, "omega"))),
            (vec![1], vec![3]),
            "{name}"
        );
        let status = engine.status().expect("a status");
        assert_eq!(status.damaged_ids, if damaged { vec![2] } else { vec![] }, "{name}");
        let shown = engine.show(2, 1).expect("the row and its neighbours");
        assert_eq!(shown.messages.len(), 3, "{name}");
    }
}

#[test]
fn call_that_is_no_object_is_found_or_counted() {
    let fixture = around(&[r#"tool_calls = '["kestrel"]'"#]);
    let engine = mirrored(&fixture, "calls of strings");
    let counted = engine.status().expect("a status").damaged_ids == [2];
    assert!(counted || ids(&search(&engine, "kestrel")) == [2]);
}

#[test]
fn status_lists_what_was_read_in_part() {
    let rows = odd_rows();
    let sets: Vec<&str> = rows.iter().map(|Odd(_, set, ..)| set.as_str()).collect();
    let fixture = around(&sets);
    let damaged: Vec<usize> =
        rows.iter().enumerate().filter(|(_, Odd(.., damaged))| *damaged).map(|(at, _)| at + 2).collect();
    let indexed = fixture.aft(&["--json", "index"]);
    assert_eq!((indexed.code, &indexed.json()["work"]["rows_damaged"]), (0, &json!(damaged.len())));
    let status = fixture.aft(&["--json", "status"]).json();
    assert_eq!((&status["damaged_rows"], &status["damaged_ids"]), (&json!(damaged.len()), &json!(damaged)));
    let text = fixture.aft(&["status"]).stdout;
    assert!(text.contains(&format!("read partly {} rows: #{}", damaged.len(), damaged[0])), "{text}");
    assert_eq!(fixture.aft(&["verify"]).code, 0);
    // As many hits as rows with the word, whatever stands beside them.
    let all = SearchRequest { limit: 1_000, ..SearchRequest::new("kestrel") };
    let found = fixture.engine().search(all).expect("a page");
    let with_word = rows.iter().filter(|Odd(_, _, query, _)| *query == "kestrel").count();
    assert_eq!(found.results.len(), with_word);
}

/// Writes a good row, rows changed by `sets` from row 2 on, and a good row.
fn around(sets: &[&str]) -> Fixture {
    Fixture::with(Shape::V30, |writer| {
        writer.session(&Session::new("s"))?;
        writer.message("s", &Message::user("alpha"))?;
        for set in sets {
            let id = writer.message("s", &Message::assistant("plain"))?;
            writer.connection().execute(&format!("UPDATE messages SET {set} WHERE id = ?1"), [id])?;
        }
        writer.message("s", &Message::user("omega")).map(|_| ())
    })
}

#[test]
fn times_are_read_or_unknown() {
    let cases = [
        ("1767225600.25", Some("2026-01-01T00:00:00.25Z")),
        ("1767225600", Some("2026-01-01T00:00:00Z")),
        ("'1767225600'", Some("2026-01-01T00:00:00Z")),
        ("'2026-04-09T12:00:00'", Some("2026-04-09T12:00:00Z")),
        ("'2026-04-09T14:00:00+02:00'", Some("2026-04-09T12:00:00Z")),
        ("'2026-04-09 12:00:00.5'", Some("2026-04-09T12:00:00.5Z")),
        ("'2026-04-09'", Some("2026-04-09T00:00:00Z")),
        ("'yesterday'", None),
        ("'nan'", None),
        ("'inf'", None),
        ("''", None),
        ("NULL", None),
        ("0", None),
        ("-5", None),
        ("-1e300", None),
        ("9e999", None),
        ("-9e999", None),
        ("1e300", None),
        ("9223372036854775807", None),
        ("-9223372036854775808", None),
        ("x'00ff'", None),
        ("CAST(x'3230c3' AS TEXT)", None),
    ];
    for (value, time) in cases {
        let fixture = Fixture::with(Shape::V22, |writer| {
            conversation(writer)?;
            // Where the column was added, nothing forbids it to be NULL.
            writer.connection().execute_batch(&format!(
                "DROP INDEX idx_messages_session; DROP INDEX idx_messages_session_active; \
                 ALTER TABLE messages RENAME COLUMN timestamp TO old; ALTER TABLE messages ADD COLUMN timestamp REAL; \
                 UPDATE messages SET timestamp = old; ALTER TABLE messages DROP COLUMN old; \
                 UPDATE messages SET timestamp = {value} WHERE id = 1"
            ))
        });
        let engine = mirrored(&fixture, value);
        let page = search(&engine, "lantern");
        assert_eq!(ids(&page), [1], "{value}");
        assert_eq!(page.results[0].timestamp.as_deref(), time, "{value}");
        let damaged = engine.status().expect("a status").damaged_ids;
        assert_eq!(damaged, if time.is_none() { vec![1] } else { vec![] }, "{value}");
        // Not in any span of time, and in none of its borders either.
        let since = with(&engine, "lantern anchor", |filters| filters.since_ms = Some(1));
        assert_eq!(since.results.len(), 1 + usize::from(time.is_some()), "{value}");
        assert_eq!(ids(&search(&engine, "anchor")), [3], "{value}");
    }
}

#[test]
fn any_row_id_is_an_id() {
    for id in [0, -5, 1 << 53, (1 << 62) - 1] {
        check_row_id(id);
    }
}

#[test]
fn row_id_may_be_the_largest() {
    check_row_id(i64::MAX);
}

#[test]
fn row_id_may_be_too_large_to_double() {
    for id in [1 << 62, -(1 << 62) - 1, i64::MIN] {
        check_row_id(id);
    }
}

fn check_row_id(id: i64) {
    let fixture = Fixture::with(Shape::V22, |writer| {
        conversation(writer)?;
        writer.message("s", &Message { id: Some(id), ..Message::user("kestrel") }).map(|_| ())
    });
    let engine = mirrored(&fixture, &format!("id {id}"));
    assert_eq!(ids(&search(&engine, "kestrel")), [id]);
    assert_eq!(ids(&search(&engine, "anchor")), [3], "id {id}");
    assert_eq!(engine.show(id, 0).expect("the row").messages[0].content, "kestrel");
    let shown = fixture.aft(&["--json", "show", &id.to_string()]);
    assert_eq!((shown.code, &shown.json()["message_id"]), (0, &json!(id)), "{shown:?}");
}

#[test]
fn hundred_megabytes_are_one_row() {
    let line = "the quick brown fox jumps over the lazy dog and looks around 42 times\n";
    let fixture = Fixture::with(Shape::V22, |writer| {
        conversation(writer)?;
        let text = format!("{}kestrel", line.repeat(100_000_000 / line.len()));
        writer.message("s", &Message::assistant(&text)).map(|_| ())
    });
    let engine = mirrored(&fixture, "100 MB");
    let page = search(&engine, "kestrel");
    assert_eq!(ids(&page), [4]);
    assert!(page.results[0].snippet.len() < 4_096, "a snippet is short whatever the row");
    assert_eq!(ids(&search(&engine, "anchor")), [3]);
    assert_eq!(engine.status().expect("a status").damaged_rows, 0);
}

// ---- sessions ----

#[test]
fn any_session_id_is_an_id() {
    for id in ["", " ", "it's \"quoted\"", "a\nb", "-1", "日本語 🚀", "%_*?'; --", &"x".repeat(1_000)] {
        check_session_id(id);
    }
}

#[test]
fn session_id_may_be_longer_than_a_term_of_the_index() {
    // It is cut and told apart by its hash; its rows are counted as read in part.
    let (id, other) = ("x".repeat(70_000), format!("{}y", "x".repeat(69_999)));
    let fixture = Fixture::with(Shape::V22, |writer| {
        conversation(writer)?;
        for id in [&id, &other] {
            writer.session(&Session::new(id))?;
            writer.message(id, &Message::user("a kestrel"))?;
        }
        Ok(())
    });
    let engine = mirrored(&fixture, "long ids");
    let page = search(&engine, "kestrel");
    assert_eq!(ids(&page), [5, 4]);
    let shown: Vec<&str> = page.results.iter().map(|hit| hit.session_id.as_str()).collect();
    assert!(shown[0] != shown[1] && shown.iter().all(|id| id.len() < 1_100), "{shown:?}");
    let only = with(&engine, "kestrel", |filters| filters.sessions = vec![shown[0].to_owned()]);
    assert_eq!(ids(&only), [5]);
}

#[track_caller]
fn check_session_id(id: &str) {
    let fixture = Fixture::with(Shape::V22, |writer| {
        conversation(writer)?;
        writer.session(&Session { title: Some("kestrel watch".to_owned()), ..Session::new(id) })?;
        writer.message(id, &Message::user("a kestrel")).map(|_| ())
    });
    let engine = mirrored(&fixture, &format!("session {id:.20}"));
    let page = search(&engine, "kestrel");
    let found: Vec<_> = page.results.iter().map(|hit| (hit.message_id, hit.session_id.as_str())).collect();
    assert_eq!(found.len(), 2, "{id:.20}: a message and a title: {found:?}");
    assert!(found.contains(&(Some(4), id)) && found.contains(&(None, id)), "{id:.20}: {found:?}");
    let only = with(&engine, "kestrel lantern", |filters| filters.sessions = vec![id.to_owned()]);
    assert_eq!(ids(&only), [4], "{id:.20}");
    let others = with(&engine, "kestrel lantern", |filters| filters.exclude_sessions = vec![id.to_owned()]);
    assert_eq!(ids(&others), [1], "{id:.20}");
    assert_eq!(engine.show(4, 1).expect("the row").session.id, id);
}

#[test]
fn attributes_may_be_long() {
    let long = "x".repeat(70_000);
    for column in
        ["source", "title", "user_id", "model", "parent_session_id", "cwd", "git_repo_root", "git_branch"]
    {
        let fixture = Fixture::with(Shape::V22, |writer| {
            conversation(writer)?;
            let update = format!("UPDATE sessions SET {column} = ?1");
            writer.connection().execute_batch("PRAGMA foreign_keys = 0")?;
            writer.connection().execute(&update, [&long]).map(|_| ())
        });
        let engine = mirrored(&fixture, column);
        assert_eq!(ids(&search(&engine, "lantern")), [1], "{column}");
    }
    for column in ["role", "tool_name", "tool_call_id"] {
        let fixture = Fixture::with(Shape::V22, |writer| {
            conversation(writer)?;
            let update = format!("UPDATE messages SET {column} = ?1 WHERE id = 1");
            writer.connection().execute(&update, [&long]).map(|_| ())
        });
        let engine = mirrored(&fixture, column);
        assert_eq!(ids(&search(&engine, "lantern")), [1], "{column}");
    }
}

#[test]
fn session_id_may_be_no_text() {
    for value in ["CAST(x'6162c3' AS TEXT)", "x'6162'", "x'00ff'", "NULL"] {
        let fixture = Fixture::with(Shape::V22, |writer| {
            conversation(writer)?;
            writer.message("s", &Message::user("a kestrel"))?;
            writer.connection().execute_batch(&format!(
                "PRAGMA foreign_keys = 0; DROP INDEX idx_messages_session; \
                 DROP INDEX idx_messages_session_active; ALTER TABLE messages RENAME COLUMN session_id TO old; \
                 ALTER TABLE messages ADD COLUMN session_id BLOB; UPDATE messages SET session_id = old; \
                 ALTER TABLE messages DROP COLUMN old; UPDATE messages SET session_id = {value} WHERE id = 4"
            ))
        });
        let engine = mirrored(&fixture, value);
        assert_eq!(ids(&search(&engine, "kestrel")), [4], "{value}");
        assert_eq!(ids(&search(&engine, "anchor")), [3], "{value}");
    }
}

#[test]
fn sessions_may_share_what_can_be_read_of_their_ids() {
    let cases = [
        ("NULL", "NULL"),
        ("CAST(x'61c3' AS TEXT)", "CAST(x'61c4' AS TEXT)"),
        ("x'ff'", "x'fe'"),
        ("''", "NULL"),
    ];
    for (one, two) in cases {
        let fixture = Fixture::with(Shape::V22, |writer| {
            conversation(writer)?;
            writer.connection().execute_batch(&format!(
                "INSERT INTO sessions (id, source, started_at, title) VALUES \
                 ({one}, 'cli', 1767225600, 'heron one'), ({two}, 'tui', 1767225601, 'heron two')"
            ))
        });
        let engine = mirrored(&fixture, one);
        assert_eq!(ids(&search(&engine, "anchor")), [3], "{one} and {two}");
    }
}

#[test]
fn odd_session_rows_keep_no_message_from_being_found() {
    let cases = [
        "model_config = '{oops'",
        "model_config = x'ff'",
        "source = ''",
        "source = x'ff'",
        "source = CAST(x'636c69c3' AS TEXT)",
        "title = CAST(x'686172626f7220c3' AS TEXT)",
        "title = x'ff'",
        "title = 4711",
        "started_at = '2026-04-09T12:00:00'",
        "started_at = 'once'",
        "started_at = 9e999",
        "started_at = -1",
        "archived = 1",
        "archived = 'x'",
        "parent_session_id = ''",
        "parent_session_id = x'ff'",
        "cwd = x'ff', git_branch = 7, git_repo_root = ''",
        "user_id = CAST(x'c3' AS TEXT), model = x'ff'",
        "message_count = -1",
    ];
    for set in cases {
        let fixture = Fixture::with(Shape::V22, |writer| {
            conversation(writer)?;
            writer.connection().execute_batch(&format!("PRAGMA foreign_keys = 0; UPDATE sessions SET {set}"))
        });
        let engine = mirrored(&fixture, set);
        for (word, id) in CONVERSATION {
            assert_eq!(ids(&search(&engine, word)), [id], "{set}: {word}");
        }
    }
}

#[test]
fn messages_need_no_session_row() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        conversation(writer)?;
        writer.connection().execute_batch("PRAGMA foreign_keys = 0")?;
        writer.message("lost", &Message::user("a kestrel")).map(|_| ())
    });
    let engine = mirrored(&fixture, "an orphan");
    let hit = only_hit(&engine, "kestrel");
    assert_eq!((hit.message_id, hit.session_id.as_str(), hit.source.as_str()), (Some(4), "lost", "unknown"));
    assert_eq!((hit.title, hit.root_session_id.as_str()), (None, "lost"));
}

#[test]
fn session_without_messages_is_found_by_its_title() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        conversation(writer)?;
        writer.session(&Session { title: Some("Kestrel".to_owned()), ..Session::new("empty") })
    });
    let engine = mirrored(&fixture, "an empty session");
    let hit = only_hit(&engine, "kestrel");
    assert_eq!((hit.message_id, hit.session_id.as_str(), hit.origin), (None, "empty", Origin::Titled));
    assert_eq!((hit.index, hit.role), (None, None));
}

#[test]
fn lineage_ends_at_the_top_and_in_no_circle() {
    // Sessions and their parents, the session asked for, the roots that are right.
    let cases = [
        ("a, b of a, c of b", "c", "a"),
        ("b of a, a", "b", "a"),
        ("a of gone, b of a", "b", "a"),
        ("a of a", "a", "a"),
        ("a of b, b of a", "a", "a b"),
        ("a of b, b of c, c of b", "a", "b c"),
    ];
    for (sessions, asked, roots) in cases {
        let fixture = Fixture::with(Shape::V22, |writer| {
            writer.connection().execute_batch("PRAGMA foreign_keys = 0")?;
            for session in sessions.split(", ") {
                let (id, parent) = session
                    .split_once(" of ")
                    .map_or((session, None), |(id, parent)| (id, Some(parent.to_owned())));
                writer.session(&Session { parent_session_id: parent, ..Session::new(id) })?;
            }
            writer.message(asked, &Message::user("a kestrel")).map(|_| ())
        });
        let engine = mirrored(&fixture, asked);
        let root = only_hit(&engine, "kestrel").root_session_id;
        assert!(roots.contains(&root), "{sessions}: {root}");
    }
}

// ---- what counts as a message ----

#[test]
fn kept_rows_of_a_compaction_are_one_result() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        let kept = Message::user("a kestrel").at(1_767_225_700.0);
        writer.message("s", &Message::user("long ago"))?;
        writer.message("s", &kept)?;
        writer.compact("s", &[Message::user("[CONTEXT COMPACTION] of old"), kept])?;
        // The same words at another time, by another role, or in another session are no copy.
        writer.message("s", &Message::user("a kestrel").at(1_767_225_701.0))?;
        writer.message("s", &Message::assistant("a kestrel").at(1_767_225_700.0))?;
        writer.session(&Session::new("t"))?;
        writer.message("t", &Message::user("a kestrel").at(1_767_225_700.0)).map(|_| ())
    });
    let engine = mirrored(&fixture, "a compaction");
    assert_eq!(sorted(&search(&engine, "kestrel")), [4, 5, 6, 7]);
    assert_eq!(sorted(&with(&engine, "kestrel", |filters| filters.include_copies = true)), [2, 4, 5, 6, 7]);
    let listed = fixture.aft(&["--json", "search", "--include-copies", "kestrel"]).json();
    assert_eq!(listed["total"]["value"], 5);
    assert_eq!(ids(&search(&engine, "ago")), [1], "what was summarised away is still found");
}

#[test]
fn rewound_and_hidden_rows_are_found_when_asked_for() {
    let fixture = Fixture::with(Shape::V30, |writer| {
        writer.session(&Session::new("s"))?;
        writer.message("s", &Message::user("first kestrel"))?;
        writer.message(
            "s",
            &Message { display_kind: Some("hidden".to_owned()), ..Message::user("kestrel two") },
        )?;
        writer.message(
            "s",
            &Message { display_kind: Some("steer".to_owned()), ..Message::user("kestrel 3") },
        )?;
        let last = writer.message("s", &Message::user("last kestrel"))?;
        writer.rewind("s", last).map(|_| ())
    });
    let engine = mirrored(&fixture, "a rewind");
    assert_eq!(sorted(&search(&engine, "kestrel")), [1, 3]);
    assert_eq!(sorted(&with(&engine, "kestrel", |filters| filters.include_inactive = true)), [1, 2, 3, 4]);
    let listed = fixture.aft(&["--json", "search", "--include-inactive", "kestrel"]).json();
    assert_eq!(listed["total"]["value"], 4);
}

#[test]
fn roles_are_all_searched_but_session_meta() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        for role in ["user", "assistant", "tool", "system", "session_meta", "narrator"] {
            writer.message("s", &Message::new(role, "kestrel"))?;
        }
        Ok(())
    });
    let engine = mirrored(&fixture, "roles");
    assert_eq!(sorted(&search(&engine, "kestrel")), [1, 2, 3, 4, 6]);
    for (role, id) in [("session_meta", 5), ("system", 4), ("narrator", 6)] {
        assert_eq!(ids(&with(&engine, "kestrel", |filters| filters.roles = vec![role.to_owned()])), [id]);
        let ran = fixture.aft(&["--json", "search", "--role", role, "kestrel"]).json();
        assert_eq!((&ran["total"]["value"], &ran["results"][0]["message_id"]), (&json!(1), &json!(id)));
    }
}

// ---- what the text of a row is ----

/// A row, and what must be found of it: a query, where it must have matched, whether it does.
#[track_caller]
fn check_text(message: &Message, queries: &[(&str, Option<Origin>)]) -> String {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        writer.message("s", message).map(|_| ())
    });
    let engine = mirrored(&fixture, &format!("{message:?}"));
    for (query, origin) in queries {
        let page = search(&engine, query);
        assert_eq!(page.results.first().map(|hit| hit.origin), *origin, "{query}: {page:?}");
        for other in Origin::ALL {
            let request = SearchRequest { origins: vec![other], ..SearchRequest::new(*query) };
            let found = !engine.search(request).expect("a page").results.is_empty();
            assert_eq!(found, *origin == Some(other), "{query} in {}", other.name());
        }
    }
    assert_eq!(engine.status().expect("a status").damaged_rows, 0);
    let shown = engine.show(1, 0).expect("the row").messages.remove(0);
    [shown.content, shown.reasoning, shown.tool_name, shown.tool_calls].join("|")
}

#[test]
fn parts_are_their_text_and_placeholders() {
    let url = format!("data:image/png;base64,{}", "iVBORw0KGgo5QUJD".repeat(5_000));
    let message = Message::user("").with_parts(&json!([
        {"type": "text", "text": "请看 this kestrel"},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "input_text", "text": "and the heron"},
        {"type": "thinking", "thinking": "surely an osprey"},
    ]));
    let shown = check_text(
        &message,
        &[
            ("kestrel", Some(Origin::Said)),
            ("请看", Some(Origin::Said)),
            ("heron", Some(Origin::Said)),
            ("osprey", Some(Origin::Thought)),
            ("iVBORw0KGgo5QUJD", None),
            ("base64", None),
        ],
    );
    assert_eq!(shown, "请看 this kestrel\n[image_url]\nand the heron|surely an osprey||");
}

#[test]
fn data_urls_in_plain_text_are_placeholders() {
    let payload = "iVBORw0KGgo5QUJD".repeat(5_000);
    let message = Message::tool("fetch", &format!("kestrel data:image/png;base64,{payload} heron"));
    let queries = [
        ("kestrel", Some(Origin::Saw)),
        ("heron", Some(Origin::Saw)),
        ("fetch", Some(Origin::Did)),
        ("iVBORw0KGgo5QUJD", None),
    ];
    let shown = check_text(&message, &queries);
    assert_eq!(shown, "kestrel [image/png, 80000 characters] heron||fetch|");
}

#[test]
fn doubly_encoded_arguments_are_what_was_done() {
    let message =
        Message::assistant("").with_call("terminal", &json!({"command": "echo 部署脚本 kestrel", "n": 4711}));
    let queries = [
        ("部署脚本", Some(Origin::Did)),
        ("部署", Some(Origin::Did)),
        ("kestrel", Some(Origin::Did)),
        ("terminal", Some(Origin::Did)),
        ("4711", Some(Origin::Did)),
        ("command", None),
        ("u90e8", None),
    ];
    check_text(&message, &queries);
}

#[test]
fn thoughts_are_found_in_whichever_column_they_stand() {
    let details = |items: serde_json::Value| Some(items.to_string());
    let assistant = Message::assistant("");
    let cases = [
        Message { reasoning: Some("a kestrel".to_owned()), ..assistant.clone() },
        Message { reasoning_content: Some("a kestrel".to_owned()), ..assistant.clone() },
        assistant.clone().with_reasoning("a kestrel"),
        Message {
            reasoning_details: details(
                json!([{"type": "thinking", "thinking": "a kestrel", "signature": "heron"}]),
            ),
            ..assistant.clone()
        },
        Message {
            reasoning_details: details(json!([{"type": "reasoning.summary", "summary": "a kestrel"}])),
            ..assistant.clone()
        },
        Message {
            reasoning_details: details(
                json!([{"type": "reasoning.text", "text": "a kestrel", "id": "heron"}]),
            ),
            ..assistant.clone()
        },
        Message {
            reasoning_details: details(json!([{"content": [{"text": "a kestrel"}]}])),
            ..assistant.clone()
        },
        Message {
            codex_reasoning_items: details(
                json!([{"encrypted_content": "heron", "summary": [{"type": "summary_text", "text": "a kestrel"}]}]),
            ),
            ..assistant
        },
    ];
    for message in cases {
        let shown = check_text(&message, &[("kestrel", Some(Origin::Thought)), ("heron", None)]);
        assert_eq!(shown, "|a kestrel||", "each thought stands once");
    }
}

#[test]
fn reply_may_stand_only_among_output_items() {
    let items = json!([{"type": "message", "id": "heron", "content": [{"type": "output_text", "text": "a kestrel"}]}]);
    let message = Message { codex_message_items: Some(items.to_string()), ..Message::assistant("") };
    let shown = check_text(&message, &[("kestrel", Some(Origin::Said)), ("heron", None)]);
    assert_eq!(shown, "a kestrel|||");
    // Where the content has it too, it is not said twice.
    let both = Message { content: "a kestrel".into(), ..message };
    assert_eq!(check_text(&both, &[("kestrel", Some(Origin::Said))]), "a kestrel|||");
}

#[test]
fn terminal_escapes_are_no_text() {
    let message = Message::tool("terminal", "\u{1b}[1;31mkestrel\u{1b}[0m \u{1b}]0;heron\u{7}flies");
    let shown =
        check_text(&message, &[("kestrel", Some(Origin::Saw)), ("31mkestrel", None), ("heron", None)]);
    assert_eq!(shown, "kestrel flies||terminal|");
}

// ---- helpers ----

/// Mirrors an archive and proves it equal; a second look must find nothing left to do.
#[track_caller]
fn mirrored(fixture: &Fixture, name: &str) -> Engine {
    let engine = fixture.engine();
    sync(&engine);
    let again = sync(&engine);
    // Where the files were settled by the end of the first, it does not even open them.
    let nothing = SyncReport { unchanged: again.unchanged, ..SyncReport::default() };
    assert_eq!(again, nothing, "{name}: the second sync has nothing to do");
    let verdict = engine.verify(Depth::Text).expect("a verdict");
    assert!(verdict.equal, "{name}: {verdict:?}");
    check_copy(fixture, name);
    engine
}

/// Proves that a copy of an archive's rows is read as the archive itself, whatever is odd about it.
#[track_caller]
fn check_copy(fixture: &Fixture, name: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("copy.db");
    let archive = Archive::at(&fixture.archive(), false).expect("an archive");
    archive.copy_rows(&path, |_| Ok(())).unwrap_or_else(|error| panic!("{name}: {error}"));
    let copy = Archive::at(&path, false).expect("a copy");
    let read = |archive: &Archive| {
        let ids = archive.read(|view| Ok((view.tail(i64::MIN)?, view.sessions()?))).expect("rows");
        let messages = archive.messages(&ids.0.iter().map(|(id, ..)| Some(*id)).collect::<Vec<_>>());
        (messages.expect("messages"), ids)
    };
    assert!(read(&copy) == read(&archive), "{name}: the copy differs");
}

fn with(engine: &Engine, query: &str, filter: impl FnOnce(&mut Filters)) -> Page {
    let mut request = SearchRequest::new(query);
    filter(&mut request.filters);
    engine.search(request).expect("a page")
}

fn sorted(page: &Page) -> Vec<i64> {
    let mut ids = ids(page);
    ids.sort_unstable();
    ids
}

#[track_caller]
fn only_hit(engine: &Engine, query: &str) -> Hit {
    let mut page = search(engine, query);
    assert_eq!(page.results.len(), 1, "{query}: {page:?}");
    page.results.remove(0)
}
