//! What the end-to-end tests share: an archive in a folder of its own, the built `aft`, and the
//! proof that a folder did not change.

#![expect(clippy::missing_panics_doc, reason = "a test helper panics to fail its test")]

pub mod faults;
pub mod wire;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use afterthought::{Engine, Freshness, Level, Options, Page, SearchRequest, SyncReport};
use afterthought_tools::archive::{Fts, Shape, Writer};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// An archive and the place of its index, removed with the test.
pub struct Fixture {
    folder: TempDir,
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new()
    }
}

impl Fixture {
    /// Makes a folder without an archive.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("agent")).expect("a folder for the archive");
        Self { folder }
    }

    /// Makes a folder with an archive written by `write`, closed cleanly.
    #[must_use]
    pub fn with(shape: Shape, write: impl FnOnce(&mut Writer) -> rusqlite::Result<()>) -> Self {
        let fixture = Self::new();
        let mut writer = Writer::create(&fixture.archive(), shape, Fts::None).expect("a new archive");
        write(&mut writer).expect("rows for the archive");
        writer.close().expect("a clean close");
        fixture
    }

    /// Returns the archive's path; its folder holds nothing else.
    #[must_use]
    pub fn archive(&self) -> PathBuf {
        self.folder.path().join("agent").join("state.db")
    }

    /// Returns the folder for indexes.
    #[must_use]
    pub fn index(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    /// Opens the archive to change it, as its agent would.
    #[must_use]
    pub fn writer(&self) -> Writer {
        Writer::open(&self.archive()).expect("an archive that can be written")
    }

    /// Opens the engine on the archive.
    #[must_use]
    pub fn engine(&self) -> Engine {
        Engine::open(&Options::new(self.archive(), self.index())).expect("an engine on the archive")
    }

    /// Runs statements on the archive, as its agent would.
    ///
    /// # Panics
    ///
    /// If one of them fails.
    pub fn change(&self, sql: &str) {
        let writer = self.writer();
        writer.connection().execute_batch(sql).expect("statements");
        writer.close().expect("a clean close");
    }

    /// Runs `aft` on the archive.
    #[must_use]
    pub fn aft(&self, arguments: &[&str]) -> Ran {
        let mut command = aft();
        command.arg("--archive").arg(self.archive()).arg("--index").arg(self.index()).args(arguments);
        run(&mut command)
    }

    /// Returns the flags that [`Self::aft`] gives, as commands that are told have them.
    #[must_use]
    pub fn flags(&self) -> String {
        format!(" --archive {} --index {}", self.archive().display(), self.index().display())
    }
}

/// Returns a number that the environment may set.
#[must_use]
pub fn setting(name: &str, default: u64) -> u64 {
    let number = |value: String| {
        value.parse().unwrap_or_else(|_| panic!("{name}=\"{value}\" is no number: try {name}=4"))
    };
    std::env::var(name).map_or(default, number)
}

/// Brings the index fully up to date.
pub fn sync(engine: &Engine) -> SyncReport {
    match engine.freshen(Level::Full, Duration::MAX, |_| {}).expect("a sync") {
        Freshness::Fresh(report) => report,
        other => panic!("the sync ended as {other:?}"),
    }
}

/// Answers a query with everything else as by default.
#[must_use]
pub fn search(engine: &Engine, query: &str) -> Page {
    engine.search(SearchRequest::new(query)).expect("a page")
}

/// Returns the message ids of a page, best first; titles are left out.
#[must_use]
pub fn ids(page: &Page) -> Vec<i64> {
    page.results.iter().filter_map(|hit| hit.message_id).collect()
}

/// What a run of `aft` left behind.
#[derive(Debug)]
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// Returns standard output as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Returns a command that runs the built `aft` with no settings of the caller's.
#[must_use]
pub fn aft() -> Command {
    let mut command = Command::new(&*AFT);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["AFTERTHOUGHT_", "XDG_", "HERMES_", "CLICOLOR"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.env_remove("NO_COLOR").env("TZ", "UTC").env("HOME", "/nonexistent");
    command.stdin(Stdio::null());
    command
}

/// Runs a command to its end.
#[must_use]
pub fn run(command: &mut Command) -> Ran {
    // Another test's fork may hold a just written program open for a moment.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.expect("a command that can be started"),
        }
    };
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
    }
}

/// The built program. Cargo builds the binaries of a package for that package's own tests only,
/// so it is asked here, once, for the profile of the running test.
static AFT: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = std::env::current_exe().expect("the path of the running test");
    let folder = test.parent().and_then(Path::parent).expect("tests run from target/PROFILE/deps");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--workspace", "--bin", "aft", "--manifest-path"]);
    build.arg(root().join("Cargo.toml"));
    build.arg("--target-dir").arg(folder.parent().expect("a target folder"));
    if folder.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().expect("cargo can be run").success(), "aft must build");
    folder.join("aft")
});

/// Returns the root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package stands in the repository").to_owned()
}

/// Everything that could change about the files of a folder.
#[derive(Debug, PartialEq, Eq)]
pub struct Trace(BTreeMap<PathBuf, FileTrace>);

#[derive(Debug, PartialEq, Eq)]
struct FileTrace {
    inode: u64,
    mode: u32,
    bytes: u64,
    modified: (i64, i64),
    sha256: Vec<u8>,
}

impl Trace {
    /// Takes the trace of a folder's files.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).expect("a folder that can be read") {
            let path = entry.expect("a folder that can be read").path();
            let metadata = fs::metadata(&path).expect("a file that can be read");
            let trace = FileTrace {
                inode: metadata.ino(),
                mode: metadata.mode(),
                bytes: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                sha256: Sha256::digest(fs::read(&path).expect("a file that can be read")).to_vec(),
            };
            files.insert(path, trace);
        }
        Self(files)
    }
}
