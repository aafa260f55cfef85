//! Where an archive stands, the agent that writes it, and `aft` that reads it, each a process of its
//! own.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::time::Duration;

use afterthought_tests::{Ran, Trace, aft, run};
use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::Value;
use rusqlite::{Batch, Connection};
use tempfile::TempDir;

/// A folder with an archive, closed cleanly, and beside it the places of `aft`.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) folder: PathBuf,
    pub(crate) archive: PathBuf,
    /// Whom `aft` runs as where its rights must bind, though the tests run as root.
    user: Option<u32>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::at("agent".as_ref(), "state.db".as_ref())
    }

    pub(crate) fn at(folder: &OsStr, file: &OsStr) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = home.path().join(folder);
        for folder in [&folder, &home.path().join("temporary")] {
            fs::create_dir(folder).expect("a folder");
        }
        let archive = folder.join(file);
        // By another name, as a plain path: the name itself may be one that SQLite reads otherwise.
        let plain = home.path().join("plain.db");
        let mut writer = Writer::create(&plain, Shape::V22, Fts::None).expect("a new archive");
        writer
            .session(&Session { title: Some("harbor".to_owned()), ..Session::new("s") })
            .expect("a session");
        for message in [
            Message::user("the lantern hangs low"),
            Message::thought("perhaps the buoy drifted"),
            Message::tool("terminal", "anchor: dragging"),
        ] {
            writer.message("s", &message).expect("a message");
        }
        writer.close().expect("a clean close");
        fs::rename(plain, &archive).expect("the archive in its place");
        Self { home, folder, archive, user: None }
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.home.path().join("index")
    }

    pub(crate) fn lose(&self, name: &str) {
        fs::remove_file(self.folder.join(name)).expect("a file to lose");
    }

    /// Takes the right to write from everyone, and if we are one whom that does not bind, becomes
    /// someone else for `aft`.
    pub(crate) fn forbid(mut self) -> Self {
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
        for name in self.names() {
            set(&self.folder.join(name), 0o444);
        }
        set(&self.folder, 0o555);
        if fs::metadata(&self.folder).expect("a folder").uid() == 0 {
            fs::copy(aft().get_program(), self.program()).expect("a program anyone may run");
            set(&self.program(), 0o755);
            set(self.home.path(), 0o777);
            set(&self.home.path().join("temporary"), 0o777);
            self.user = Some(65_534);
        }
        self
    }

    fn program(&self) -> PathBuf {
        self.home.path().join("aft")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = aft();
        if let Some(user) = self.user {
            command = Command::new(self.program());
            command.stdin(Stdio::null()).env_clear().uid(user).gid(user);
        }
        command.env("HOME", self.home.path()).env_remove("XDG_CONFIG_HOME");
        command.env("TMPDIR", self.home.path().join("temporary"));
        command.arg("--json").arg("--archive").arg(&self.archive).arg("--index").arg(self.index());
        command.args(arguments);
        command
    }

    pub(crate) fn aft(&self, arguments: &[&str]) -> Ran {
        run(&mut self.command(arguments))
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("aft can be started")
    }

    /// Opens the archive in a process of its own.
    pub(crate) fn agent(&self) -> Agent {
        Agent::on(&self.archive)
    }

    /// Everything that could change: the files, and the folder's own time, which tells of a file
    /// that came and went.
    pub(crate) fn seen(&self) -> (Trace, (i64, i64)) {
        let folder = fs::metadata(&self.folder).expect("a folder");
        (Trace::of(&self.folder), (folder.mtime(), folder.mtime_nsec()))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).expect("a folder");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("an entry").file_name().into_string().expect("names here are UTF-8")
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn temporary(&self) -> usize {
        fs::read_dir(self.home.path().join("temporary")).expect("a folder").count()
    }

    pub(crate) fn bytes(&self, name: &str) -> u64 {
        fs::metadata(self.folder.join(name)).expect("a file").len()
    }

    pub(crate) fn inode(&self, name: &str) -> u64 {
        fs::metadata(self.folder.join(name)).expect("a file").ino()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Or the folder could not be emptied.
        let _gone = fs::set_permissions(&self.folder, Permissions::from_mode(0o755));
    }
}

/// An agent: another process that has the archive open and does what it is told.
pub(crate) struct Agent {
    process: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStderr>,
}

const AGENT_ARCHIVE: &str = "AFTERTHOUGHT_TEST_AGENT_ARCHIVE";

impl Agent {
    fn on(archive: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("the running test"))
            .args(["--exact", "place::agent_process", "--ignored", "--nocapture"])
            .env(AGENT_ARCHIVE, archive)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("an agent can be started");
        let answers = BufReader::new(process.stderr.take().expect("a pipe"));
        Self { orders: process.stdin.take(), process, answers }
    }

    /// Runs statements, each its own transaction unless they say otherwise. Returns the first value
    /// of the last row; fails the test if the agent fails.
    #[track_caller]
    pub(crate) fn does(&mut self, sql: &str) -> String {
        self.tries(sql).unwrap_or_else(|error| panic!("the agent failed at {sql:.80}: {error}"))
    }

    pub(crate) fn tries(&mut self, sql: &str) -> Result<String, String> {
        let orders = self.orders.as_mut().expect("an agent that has not left");
        writeln!(orders, "{sql}").expect("an agent that listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("an agent that answers");
        let answer = answer.trim_end_matches('\n');
        match answer.strip_prefix("ok ") {
            Some(value) => Ok(value.to_owned()),
            None => Err(answer.to_owned()),
        }
    }

    /// Closes the archive as an agent does.
    pub(crate) fn leave(mut self) {
        self.orders = None;
        assert!(self.process.wait().expect("an agent that ends").success());
    }

    /// Dies as a killed process does: no close, no rollback.
    pub(crate) fn crash(self) {
        drop(self);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

#[test]
#[ignore = "is the agent's own process; the other tests start it"]
fn agent_process() {
    let Some(archive) = std::env::var_os(AGENT_ARCHIVE) else { return };
    let connection = Connection::open(archive).expect("an archive");
    // As the agent: it waits a second for a lock, and then its turn fails.
    connection.busy_timeout(Duration::from_secs(1)).expect("a timeout");
    for sql in std::io::stdin().lines() {
        match last_value(&connection, &sql.expect("an order")) {
            Ok(value) => eprintln!("ok {value}"),
            Err(error) => eprintln!("failed: {error}"),
        }
    }
    connection.close().expect("a clean close");
}

fn last_value(connection: &Connection, sql: &str) -> rusqlite::Result<String> {
    let mut last = String::new();
    let mut batch = Batch::new(connection, sql);
    while let Some(mut statement) = batch.next()? {
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            last = match row.get(0)? {
                Value::Text(text) => text,
                Value::Integer(number) => number.to_string(),
                other => format!("{other:?}"),
            };
        }
    }
    Ok(last)
}
