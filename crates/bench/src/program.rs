//! Runs `aft` itself: it builds both indexes in processes of their own, whose memory can be watched,
//! and answers searches from its start to its end, as a person or an agent calls it.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use afterthought::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::failed;
use crate::machine::anonymous_bytes;
use crate::question::Question;

/// How often the memory of a build is looked at.
const WATCH: Duration = Duration::from_millis(10);

/// The program, and what it is asked about.
pub(crate) struct Program {
    pub(crate) aft: PathBuf,
    pub(crate) copy: PathBuf,
    pub(crate) index: PathBuf,
}

/// A build's own report, and what was seen of it from outside.
pub(crate) struct Watched {
    pub(crate) report: Value,
    pub(crate) seconds: f64,
    pub(crate) peak_anonymous_bytes: Option<u64>,
}

/// Who answers a whole process's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twin {
    Ours,
    Fts5,
    Scan,
}

impl Program {
    /// Builds our index.
    pub(crate) fn build_ours(&self) -> Result<Watched> {
        watch(self.ours().args(["index", "--progress", "none"]))
    }

    /// Builds the FTS5 index.
    pub(crate) fn build_fts5(&self) -> Result<Watched> {
        watch(&mut self.twin("build"))
    }

    /// Asks a question in a new process and reads the answer to its end.
    pub(crate) fn ask(&self, twin: Twin, question: &Question) -> Result<()> {
        let mut command = match twin {
            Twin::Ours => self.ours(),
            Twin::Fts5 => self.twin("fts5"),
            Twin::Scan => self.twin("scan"),
        };
        match twin {
            Twin::Ours => command.args(question.arguments()),
            Twin::Fts5 | Twin::Scan => command.args(twin_arguments(question)),
        };
        let output = command.output().map_err(failed("start", self.aft.display()))?;
        check(&command, &output)
    }

    fn ours(&self) -> Command {
        let mut command = command(&self.aft);
        command.arg("--archive").arg(&self.copy).arg("--index").arg(&self.index).arg("--json");
        command
    }

    fn twin(&self, side: &str) -> Command {
        let mut command = command(&self.aft);
        command.arg("bench-twin").arg("--database").arg(&self.copy).args(["--side", side]);
        command
    }
}

fn twin_arguments(question: &Question) -> Vec<String> {
    let mut arguments = vec!["--query".to_owned(), question.query.clone()];
    arguments.extend(question.all.then(|| "--all".to_owned()));
    arguments.extend(question.role.iter().flat_map(|role| ["--role".to_owned(), role.clone()]));
    arguments
}

fn command(aft: &Path) -> Command {
    let mut command = Command::new(aft);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end, watching its memory.
fn watch(command: &mut Command) -> Result<Watched> {
    let began = Instant::now();
    let started = command.spawn();
    let mut child: Child = started.map_err(failed("start", command.get_program().display()))?;
    let mut peak = None;
    while child.try_wait().map_err(failed("wait for", "a build"))?.is_none() {
        peak = peak.max(anonymous_bytes(&child));
        std::thread::sleep(WATCH);
    }
    let seconds = began.elapsed().as_secs_f64();
    let output = child.wait_with_output().map_err(failed("wait for", "a build"))?;
    check(command, &output)?;
    let report = serde_json::from_slice(&output.stdout).map_err(failed("read", "the report of a build"))?;
    Ok(Watched { report, seconds, peak_anonymous_bytes: peak })
}

/// Signals that ask a process to end, by their numbers on every system that runs this.
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

fn check(command: &Command, output: &Output) -> Result<()> {
    if output.status.success() {
        return Ok(());
    }
    // Ctrl-C reaches every process of a terminal.
    let stopped =
        output.status.code() == Some(130) || matches!(output.status.signal(), Some(SIGINT | SIGTERM));
    let kind = if stopped { ErrorKind::Interrupted } else { ErrorKind::Internal };
    let said = String::from_utf8_lossy(&output.stderr);
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    Err(Error::new(kind, "run aft", arguments.join(" ")).because(said.trim().to_owned()))
}
