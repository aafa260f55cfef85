//! The archives and the damage that the contract is tried on. Every row is written here; nothing is
//! generated.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use afterthought::index::Folder;
use afterthought_tests::{Fixture, sync};
use afterthought_tools::archive::{Cell, Message, Session, Shape, Writer};
use rusqlite::Connection;
use serde_json::{Value, json};

/// 2026-03-01 10:00 UTC, when the ferry was asked for.
const FERRY: f64 = 1_772_359_200.0;

/// Writes an archive with a row of every kind; `searches.toml` lists them.
pub(crate) fn harbor() -> Fixture {
    Fixture::with(Shape::V30, |writer| {
        lock(writer)?;
        han(writer)?;
        copy(writer)?;
        odd(writer)?;
        long(writer)?;
        // The agent's own rule, that a session must exist, is not kept by every tool.
        writer.connection().pragma_update(None, "foreign_keys", false)?;
        writer.message("s-gone", &Message::user("An orphan speaks of the windlass."))?;
        Ok(())
    })
}

fn lock(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.session(&Session {
        title: Some("Lock order in the scheduler".to_owned()),
        user_id: Some("ada".to_owned()),
        model: Some("m-large".to_owned()),
        cwd: Some("/src/harbor/web".to_owned()),
        git_repo_root: Some("/src/harbor".to_owned()),
        git_branch: Some("fix/lock".to_owned()),
        archived: true,
        ..Session::new("s-lock")
    })?;
    let look = Message::assistant("Let me look at the scheduler.")
        .with_call("terminal", &json!({"command": "rg -n lock_order src/scheduler.rs", "why": "部署"}));
    let saw = "src/scheduler.rs:41: fn lock_order()\n\u{1b}[31mwarning\u{1b}[0m: never used";
    let hidden = Some("hidden".to_owned());
    for message in [
        Message::user("Who takes the lock in the wrong order?"),
        Message::thought("The lock order differs: renew_lease takes the table first, getUserById the row."),
        look.clone(),
        Message::tool("terminal", saw).answering(&look),
        Message::assistant("🦀 Café: the naïve fix 🚀 swaps the lock, so the order holds."),
        Message { active: false, ..Message::user("Forget the zeppelin.") },
        Message { display_kind: hidden, ..Message::user("Scaffolding for the great zeppelin of the fleet.") },
        Message::new("session_meta", "Bookkeeping of the gyroscope."),
        Message::new("system", "You watch the compass."),
    ] {
        writer.message("s-lock", &message)?;
    }
    Ok(())
}

fn han(writer: &mut Writer) -> rusqlite::Result<()> {
    let child = |id: &str, parent: &str| Session {
        source: "telegram".to_owned(),
        parent_session_id: Some(parent.to_owned()),
        ..Session::new(id)
    };
    writer.session(&Session { title: Some("数据库".to_owned()), ..child("s-han", "s-lock") })?;
    writer.message(
        "s-han",
        &Message::user("请检查连接池的记忆出了什么问题，断裂之处在哪里？数据库已经修好。"),
    )?;
    let thought = "容器里的时区没有设置，连接池用Rust写的程序晚了八小时。";
    writer.message("s-han", &Message::thought(thought))?;
    writer.session(&child("s-leaf", "s-han"))?;
    writer.message("s-leaf", &Message::user("The leaf speaks of the rudder."))?;
    Ok(())
}

fn copy(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.session(&Session { source: "cron".to_owned(), started_at: FERRY, ..Session::new("s-copy") })?;
    let asked = Message::user("When does the ferry leave?").at(FERRY);
    writer.message("s-copy", &asked)?;
    writer.message("s-copy", &Message::assistant("The ferry leaves at nine.").at(FERRY + 1.0))?;
    let summary = Message::assistant("[CONTEXT COMPACTION] They spoke of the ferry.").at(FERRY + 2.0);
    writer.compact("s-copy", &[summary, asked])?;
    Ok(())
}

fn odd(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.session(&Session { source: String::new(), ..Session::new("s-odd") })?;
    let cut = Cell::RawText(b"The halyard was cut off h\xC3".to_vec());
    let broken = Some(r#"[{"function": {"name": "capstan"#.to_owned());
    let unknown = Some(Cell::from("yesterday"));
    writer.message("s-odd", &Message::new("user", cut))?;
    writer.message("s-odd", &Message { tool_calls: broken, ..Message::assistant("") })?;
    let lighthouse = Message { timestamp: unknown, ..Message::user("No time for the lighthouse.") };
    writer.message("s-odd", &lighthouse)?;
    Ok(())
}

fn long(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.session(&Session::new("s-long"))?;
    let sea = "The sea was calm,\tand nothing happened.\r\n".repeat(40);
    let text = format!("{sea}Then the anchor broke the mast.\u{7}\n{sea}");
    writer.message("s-long", &Message::assistant(&text))?;
    Ok(())
}

/// Returns each session's listed rows, in order: visible, and no repetition of another. Worked out
/// from the table itself, as `index` of a hit promises.
pub(crate) fn listed(archive: &Path) -> Vec<(String, i64)> {
    let connection = Connection::open(archive).expect("an archive that opens");
    let shown = "(active = 1 OR compacted = 1) AND display_kind IS NOT 'hidden'";
    let same = "b.session_id = a.session_id AND b.role = a.role AND b.timestamp = a.timestamp
                AND CAST(b.content AS BLOB) IS CAST(a.content AS BLOB) AND b.reasoning IS a.reasoning
                AND b.tool_calls IS a.tool_calls";
    let sql = format!(
        "SELECT session_id, id FROM messages a WHERE {shown} AND NOT EXISTS (
           SELECT 1 FROM messages b WHERE {same} AND (b.active, b.id) > (a.active, a.id))
         ORDER BY session_id, id"
    );
    let mut rows = connection.prepare(&sql).expect("a statement");
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.collect::<rusqlite::Result<_>>().expect("rows")
}

/// An archive, its index, and what is done to either before `aft` runs.
pub(crate) struct Scene {
    pub(crate) fixture: Fixture,
    /// Where the page after the one that was shown begins.
    pub(crate) cursor: String,
    /// Locks that last as long as the scene.
    held: Vec<File>,
}

impl Scene {
    /// Sets a scene, step by step.
    pub(crate) fn of(steps: &[impl AsRef<str>]) -> Self {
        let mut scene = Self { fixture: Fixture::new(), cursor: String::new(), held: Vec::new() };
        for step in steps {
            scene.step(step.as_ref());
        }
        scene
    }

    fn step(&mut self, step: &str) {
        let (fixture, archive) = (&self.fixture, self.fixture.archive());
        match step {
            "archive" => self.fixture = small(),
            "archive without rows" => self.fixture = Fixture::with(Shape::V22, |_| Ok(())),
            "archive is a folder" => fs::create_dir(archive).expect("a folder"),
            "archive is empty" => fs::write(archive, "").expect("a file"),
            "archive is text" => fs::write(archive, "Dear diary,\n").expect("a file"),
            "archive is noise" => fs::write(archive, noise(9_000)).expect("a file"),
            "archive of other tables" => execute(&archive, "CREATE TABLE notes (id, text)"),
            "archive without timestamps" => execute(
                &archive,
                "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content);
                 CREATE TABLE sessions (id, source, started_at)",
            ),
            // Sparse: it takes no room on the disk.
            "log of 3 GB" => File::create(archive.with_file_name("state.db-wal"))
                .and_then(|log| log.set_len(3 << 30))
                .expect("a log"),
            "index" => {
                sync(&fixture.engine());
            }
            "a page" => {
                let page = fixture.aft(&["--json", "search", "-n", "1", "lock"]).json();
                page["next_cursor"].as_str().expect("a cursor").clone_into(&mut self.cursor);
            }
            "index without a sync" => drop(fixture.engine()),
            "index is a file" => fs::write(fixture.index(), "").expect("a file"),
            "another row" => append(fixture, "s", "Another lock."),
            "sessions t1 and t2" => ["t1", "t2"].iter().for_each(|id| append(fixture, id, "Elsewhere.")),
            "pointer is a folder" => replace_pointer(fixture, None),
            "pointer is noise" => replace_pointer(fixture, Some("the index")),
            "pointer to nothing" => replace_pointer(fixture, Some("g7")),
            "another format" => set_checkpoint(fixture, "format", json!(0)),
            "another analyzer" => set_checkpoint(fixture, "analyzer", json!("old")),
            "incomplete" => set_checkpoint(fixture, "complete", json!(false)),
            "another field" => edit_meta(fixture, |meta| {
                meta["schema"].as_array_mut().expect("a list of fields").pop();
            }),
            "no checkpoint" => edit_meta(fixture, |meta| meta["payload"] = Value::Null),
            "broken checkpoint" => edit_meta(fixture, |meta| meta["payload"] = json!("{")),
            "meta is cut" => edit_bytes(&generation(fixture).join("meta.json"), |bytes| {
                bytes.truncate(bytes.len() / 2);
            }),
            "meta is gone" => fs::remove_file(generation(fixture).join("meta.json")).expect("a file"),
            "terms are flipped" => edit_bytes(&segment_file(fixture, "term"), |bytes| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0xFF;
            }),
            "columns are cut" => edit_bytes(&segment_file(fixture, "fast"), |bytes| bytes.truncate(40)),
            "terms are gone" => fs::remove_file(segment_file(fixture, "term")).expect("a file"),
            "writer lock is held" => {
                let path = generation(fixture).join(".tantivy-writer.lock");
                let lock = File::options().append(true).create(true).open(path).expect("a lock file");
                lock.lock().expect("a lock nobody holds");
                self.held.push(lock);
            }
            other => panic!("no such step: {other}"),
        }
    }
}

fn small() -> Fixture {
    Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        writer.message("s", &Message::user("Who takes the lock?"))?;
        writer.message("s", &Message::assistant("The scheduler takes the lock."))?;
        Ok(())
    })
}

/// Appends a row, and its session if there is none.
pub(crate) fn append(fixture: &Fixture, session: &str, text: &str) {
    let mut writer = fixture.writer();
    let known = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)";
    let is_known: bool =
        writer.connection().query_row(known, [session], |row| row.get(0)).expect("an answer");
    if !is_known {
        writer.session(&Session::new(session)).expect("a session");
    }
    writer.message(session, &Message::user(text)).expect("a row");
    writer.close().expect("a clean close");
}

fn execute(archive: &Path, sql: &str) {
    let connection = Connection::open(archive).expect("a new database");
    connection.execute_batch(sql).expect("statements that run");
    connection.close().expect("a clean close");
}

/// Bytes of no format, the same every time.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..bytes).map(|_| next()).collect()
}

/// Returns the folder of the archive's index.
pub(crate) fn folder(fixture: &Fixture) -> Folder {
    let archive = fixture.archive().canonicalize().expect("an archive");
    Folder::of(&fixture.index(), &archive)
}

/// Returns the live generation of the archive's index.
pub(crate) fn generation(fixture: &Fixture) -> PathBuf {
    folder(fixture).live().expect("a pointer").expect("an index")
}

/// Reads the live generation's `meta.json`.
pub(crate) fn meta(fixture: &Fixture) -> Value {
    let text = fs::read(generation(fixture).join("meta.json")).expect("a file");
    serde_json::from_slice(&text).expect("JSON")
}

/// Reads the checkpoint of the last commit.
pub(crate) fn checkpoint(fixture: &Fixture) -> Value {
    let payload = meta(fixture)["payload"].as_str().expect("a payload").to_owned();
    serde_json::from_str(&payload).expect("JSON")
}

fn edit_meta(fixture: &Fixture, edit: impl FnOnce(&mut Value)) {
    let mut value = meta(fixture);
    edit(&mut value);
    fs::write(generation(fixture).join("meta.json"), value.to_string()).expect("a file");
}

fn set_checkpoint(fixture: &Fixture, member: &str, value: Value) {
    let mut changed = checkpoint(fixture);
    changed[member] = value;
    edit_meta(fixture, |meta| meta["payload"] = json!(changed.to_string()));
}

fn edit_bytes(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("a file");
    edit(&mut bytes);
    fs::write(path, bytes).expect("a file");
}

fn segment_file(fixture: &Fixture, extension: &str) -> PathBuf {
    let files = fs::read_dir(generation(fixture)).expect("a folder");
    let mut paths = files.map(|file| file.expect("a file").path());
    let found = paths.find(|path| path.extension().is_some_and(|end| end == extension));
    found.unwrap_or_else(|| panic!("no .{extension} file"))
}

fn replace_pointer(fixture: &Fixture, text: Option<&str>) {
    let pointer = folder(fixture).path().join("current");
    fs::remove_file(&pointer).expect("a pointer");
    match text {
        Some(text) => fs::write(pointer, text).expect("a file"),
        None => fs::create_dir(pointer).expect("a folder"),
    }
}
