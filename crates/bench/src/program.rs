//! Runs `aft` itself: it builds every index in a process of its own, whose memory can be watched,
//! answers searches from its start to its end, as a person or an agent calls it, and reads by threads.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use afterthought::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failed;
use crate::layout::Piece;
use crate::machine::anonymous_bytes;
use crate::question::Question;
use crate::rival::{Cache, Way};

/// How often the memory of a process is looked at.
const WATCH: Duration = Duration::from_millis(10);

/// The program, and what it is asked about.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) aft: PathBuf,
    pub(crate) copy: PathBuf,
    pub(crate) index: PathBuf,
}

/// A process's own report, and what was seen of it from outside.
pub(crate) struct Watched {
    pub(crate) report: Value,
    pub(crate) seconds: f64,
    pub(crate) peak_anonymous_bytes: Option<u64>,
}

/// One question as a rival is asked it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// The question.
    pub question: Question,
    /// How, and with which cache; ours where there is none.
    pub way: Option<(Cache, Way)>,
}

/// What reading threads are to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// What to ask, each thread from another place.
    pub asked: Vec<Asked>,
    /// How many threads.
    pub threads: usize,
    /// How often each thread asks everything, at most.
    pub passes: usize,
    /// When no more is asked.
    pub budget: Duration,
}

impl Program {
    /// Builds our index.
    pub(crate) fn build_ours(&self) -> Result<Watched> {
        watch(self.ours().args(["index", "--progress", "none"]))
    }

    /// Builds a piece of a rival.
    pub(crate) fn build(&self, piece: Piece) -> Result<Watched> {
        watch(self.twin().args(["--build", piece.name()]))
    }

    /// Asks a question in a new process and reads the answer to its end.
    pub(crate) fn ask(&self, asked: &Asked) -> Result<()> {
        let mut command = match asked.way {
            None => self.ours(),
            Some(_) => self.twin(),
        };
        match asked.way {
            None => command.args(asked.question.arguments()),
            Some(_) => command.args(["--ask", &json(asked)?]),
        };
        let output = command.output().map_err(failed("start", self.aft.display()))?;
        check(&command, &output)
    }

    /// Asks by several threads of a new process.
    pub(crate) fn read(&self, reading: &Reading) -> Result<Watched> {
        watch(self.twin().arg("--index-dir").arg(&self.index).args(["--read", &json(reading)?]))
    }

    fn ours(&self) -> Command {
        let mut command = command(&self.aft);
        command.arg("--archive").arg(&self.copy).arg("--index").arg(&self.index).arg("--json");
        command
    }

    fn twin(&self) -> Command {
        let mut command = command(&self.aft);
        command.arg("bench-twin").arg("--database").arg(&self.copy);
        command
    }
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(failed("write", "what a process is asked"))
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
    while child.try_wait().map_err(failed("wait for", "a process"))?.is_none() {
        peak = peak.max(anonymous_bytes(&child));
        std::thread::sleep(WATCH);
    }
    let seconds = began.elapsed().as_secs_f64();
    let output = child.wait_with_output().map_err(failed("wait for", "a process"))?;
    check(command, &output)?;
    let report = serde_json::from_slice(&output.stdout).map_err(failed("read", "the report of a process"))?;
    Ok(Watched { report, seconds, peak_anonymous_bytes: peak })
}

/// Signals that ask a process to end, by their numbers on every system that runs this.
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Characters of an argument that an error shows.
const SHOWN_CHARS_MAX: usize = 200;

fn check(command: &Command, output: &Output) -> Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // Ctrl-C reaches every process of a terminal.
    let stopped =
        output.status.code() == Some(130) || matches!(output.status.signal(), Some(SIGINT | SIGTERM));
    let kind = if stopped {
        ErrorKind::Interrupted
    } else if said.contains("disk is full") || said.contains("No space left") {
        ErrorKind::IndexUnavailable
    } else {
        ErrorKind::Internal
    };
    let arguments: Vec<String> = command
        .get_args()
        .map(|argument| argument.to_string_lossy().chars().take(SHOWN_CHARS_MAX).collect())
        .collect();
    let error = Error::new(kind, "run aft", arguments.join(" ")).because(said.trim().to_owned());
    Err(if kind == ErrorKind::IndexUnavailable {
        error.hint("name a folder on a larger disk with --dir")
    } else {
        error
    })
}
