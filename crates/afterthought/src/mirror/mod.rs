//! Keeps the index equal to the archive: one writer thread that compares, reads what differs and
//! commits it with a checkpoint. Never writes to the archive.

mod copies;
mod edits;
mod note;
mod pace;
mod plan;
mod sync;
mod verify;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded, select};
use parking_lot::Mutex;

pub use note::Note;
pub use pace::Pace;
pub use verify::{Depth, Drift, Verdict, verify};

pub(crate) use copies::copies_in;

use crate::archive::Archive;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Folder, Store};
use crate::limits::WRITER_QUEUE_MAX;
use crate::model::{SyncStats, Warning};

use sync::Syncer;

/// How closely a sync looks, from the cheapest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What a search does: nothing if the files' stamp is the same; else the rows above the last
    /// one and the session rows; a full comparison when that is cheap or due.
    Quick,
    /// Compares every session's rows, unless that was done and nobody wrote to the files since.
    Full,
    /// Also reads every row, and compares what it says with what was indexed: sees edits in place, and
    /// flips of flags that no signature holds. Costs a pass over the archive's text.
    Deep,
}

/// What a sync found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// The work done; all zero when nothing had changed.
    pub stats: SyncStats,
    /// The archive was not opened: its stamp was the one last checked.
    pub unchanged: bool,
    /// The caller stopped it; what was committed stays, the next sync goes on.
    pub interrupted: bool,
}

/// How far a sync has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Rows of the sessions that differ.
    pub rows_total: u64,
    /// Rows among them that are done.
    pub rows_done: u64,
    /// Bytes of text read so far.
    pub text_bytes: u64,
    /// When it began.
    pub since: Instant,
}

/// How an attempt to bring the index up to date ended.
#[derive(Debug)]
pub enum Freshness {
    /// It is up to date as of just now.
    Fresh(SyncReport),
    /// It is still at work; searches see what is committed so far.
    Pending,
    /// It could not be written; searches see the last commit. The error says why.
    Behind(Error),
}

impl Freshness {
    /// Returns the report of a sync that was waited for without end, or why it could not be written.
    ///
    /// # Panics
    /// If the wait had an end and the sync had not.
    pub fn ended(self) -> Result<SyncReport> {
        match self {
            Self::Fresh(report) => Ok(report),
            Self::Behind(error) => Err(error),
            Self::Pending => panic!("an endless wait does not end before its sync"),
        }
    }

    /// Returns what the reader of an answer should know.
    #[must_use]
    pub fn warning(&self) -> Option<Warning> {
        match self {
            // A build under way is said by the answer itself.
            Self::Fresh(_) | Self::Pending => None,
            Self::Behind(error) => {
                Some(Warning::new("not-synced", format!("answered from the last commit: {error}")))
            }
        }
    }
}

/// A handle to the writer thread. Dropping it stops the thread: a sync under way commits what it
/// has, a finished one lets its merges end.
pub struct Mirror {
    commands: Option<Sender<Command>>,
    stop: Arc<Stop>,
    progress: Arc<Mutex<Option<Progress>>>,
    thread: Option<JoinHandle<()>>,
}

struct Command {
    level: Level,
    reply: Sender<Result<SyncReport>>,
}

type Tell = dyn Fn(&SyncReport, Duration) + Send + Sync;

/// Who is told of every sync that changed something. Clones are one, and outlive the generation that was written.
#[derive(Clone, Default)]
pub(crate) struct Listener(Arc<OnceLock<Box<Tell>>>);

impl Listener {
    /// Sets who is told; the first alone.
    pub(crate) fn set(&self, tell: impl Fn(&SyncReport, Duration) + Send + Sync + 'static) {
        let _there = self.0.set(Box::new(tell));
    }

    fn tell(&self, report: &SyncReport, took: Duration) {
        if report.stats.commits > 0
            && let Some(tell) = self.0.get()
        {
            tell(report, took);
        }
    }
}

impl Mirror {
    /// Starts the writer thread. Fails only if the system refuses a thread.
    pub(crate) fn start(
        archive: Archive,
        store: Store,
        folder: &Folder,
        listener: Listener,
        pace: Pace,
    ) -> Result<Self> {
        let (commands, inbox) = bounded(WRITER_QUEUE_MAX);
        let stop = Arc::new(Stop::default());
        let progress = Arc::new(Mutex::new(None));
        let syncer =
            Syncer::new(archive, store, folder.clone(), pace, Arc::clone(&stop), Arc::clone(&progress));
        let stops = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("aft-writer".to_owned())
            .spawn(move || serve(syncer, &stops, &inbox, &listener))
            .map_err(|error| Error::new(ErrorKind::Internal, "start", "the writer thread").because(error))?;
        Ok(Self { commands: Some(commands), stop, progress, thread: Some(thread) })
    }

    /// Brings the index up to date, waiting at most `wait`; work under way goes on afterwards.
    /// `watch` is called about ten times a second meanwhile.
    pub fn freshen(
        &self,
        level: Level,
        wait: Duration,
        mut watch: impl FnMut(Option<Progress>),
    ) -> Result<Freshness> {
        let answer = match self.sync(level) {
            // Many searches during a long sync fill the queue, and can be answered all the same.
            Err(error) if error.kind() == ErrorKind::Busy => return Ok(Freshness::Behind(error)),
            answer => answer?,
        };
        let began = Instant::now();
        loop {
            let left = wait.saturating_sub(began.elapsed());
            match answer.recv_timeout(left.min(Duration::from_millis(100))) {
                Ok(Ok(report)) => return Ok(Freshness::Fresh(report)),
                Ok(Err(error)) => return Ok(Freshness::Behind(error)),
                Err(RecvTimeoutError::Timeout) if began.elapsed() >= wait => return Ok(Freshness::Pending),
                Err(RecvTimeoutError::Timeout) => watch(self.progress()),
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
        }
    }

    /// Asks for a sync. The answer comes through the channel; syncs run one after another.
    fn sync(&self, level: Level) -> Result<Receiver<Result<SyncReport>>> {
        let (reply, answer) = bounded(1);
        let commands = self.commands.as_ref().expect("the sender lives until drop");
        commands.try_send(Command { level, reply }).map_err(|error| match error {
            TrySendError::Full(_) => {
                Error::new(ErrorKind::Busy, "sync", "the index").because("too many syncs wait already")
            }
            TrySendError::Disconnected(_) => ended(),
        })?;
        Ok(answer)
    }

    /// Returns how far the sync under way has come; `None` when none is.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        *self.progress.lock()
    }

    /// Asks the sync under way, or the next one, to commit what it has and end.
    pub fn interrupt(&self) {
        self.stop.once.store(true, Ordering::Relaxed);
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Internal, "sync", "the index").because("the writer thread has ended")
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.stop.for_good.store(true, Ordering::Relaxed);
        self.commands = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread panicked");
        }
    }
}

/// Whether syncs should end early.
#[derive(Default)]
struct Stop {
    /// One sync; whoever asked may ask for another.
    once: AtomicBool,
    /// Every sync; the handle is gone.
    for_good: AtomicBool,
}

impl Stop {
    fn is_set(&self) -> bool {
        self.once.load(Ordering::Relaxed) || self.for_good.load(Ordering::Relaxed)
    }
}

fn serve(mut syncer: Syncer, stop: &Stop, inbox: &Receiver<Command>, listener: &Listener) {
    let store = syncer.store().clone();
    loop {
        let command = select! {
            recv(inbox) -> command => command,
            recv(syncer.merges()) -> merged => {
                if let Ok(merged) = merged {
                    syncer.merged(&merged);
                }
                continue;
            }
        };
        let Ok(command) = command else { break };
        let began = Instant::now();
        let report = store.guarded(|| syncer.sync(command.level));
        if let Ok(report) = &report {
            listener.tell(report, began.elapsed());
        }
        stop.once.store(false, Ordering::Relaxed);
        // The caller may have gone; the work stands all the same.
        let _gone = command.reply.send(report);
    }
    if let Err(error) = syncer.finish() {
        tracing::warn!(%error, "merging segments failed; the commit stands");
    }
}
