//! Runs a job: workers take the next archive that waits, and write down what became of it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use crate::error::{Error, ErrorKind, Result};
use crate::index::{Folder, Store};
use crate::limits::STAGE_AGE_S_MAX;
use crate::mirror::Progress;
use crate::reindex::{Means, Outcome, Reindex};
use crate::time::now_ms;

use super::journal::{self, Journal, job_of};
use super::report::{Entry, Report, State};
use super::{Settings, Target};

/// Which archives of a job run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All; of a job that was cut off within the last day, those that had not ended.
    All,
    /// Those that are not done since the last job of the same archives.
    SinceFailed,
}

/// What a job tells of its archives, from several threads.
#[derive(Debug)]
pub enum Told<'a> {
    /// Rows are being read.
    Progress(&'a str, Progress),
    /// One has ended, or was stopped.
    Ended(&'a Entry),
}

/// A job that is about to run. One at a time for the same archives.
pub struct Job {
    journal: Journal,
    report: Report,
    settings: Settings,
}

/// What the workers of a job share.
struct Shared<'a> {
    journal: &'a Journal,
    report: Mutex<Report>,
    settings: &'a Settings,
    means: Means,
    stop: &'a AtomicBool,
    tell: &'a (dyn Fn(&Told<'_>) + Sync),
    /// The journal could not be written: nothing more begins.
    broken: Mutex<Option<Error>>,
}

impl Job {
    /// Prepares a job of some archives: takes up the one that was cut off, or begins anew. Without archives
    /// the last job is meant, whichever that was. Fails if settings cannot be used, if another process runs
    /// the job, if the journal cannot be written, or if there was no last job where it is asked for.
    pub fn new(settings: Settings, targets: &[Target], which: Which) -> Result<Self> {
        settings.check()?;
        let root = &settings.index_root;
        let job = if targets.is_empty() {
            journal::last(root)?.ok_or_else(|| no_last_job(root))?.job
        } else {
            job_of(targets)
        };
        let journal = Journal::take(root, &job)?;
        let before = journal.read()?.map(|before| with_what_was_swapped(before, root));
        let mut report = match (before, which) {
            (Some(before), Which::SinceFailed) => again(before, |state| state == State::Done),
            (None, Which::SinceFailed) => return Err(no_last_job(root)),
            (Some(before), Which::All) if is_cut_off(&before) => again(before, State::is_final),
            (Some(before), Which::All) if targets.is_empty() => again(before, |_| false),
            (_, Which::All) => Report::new(&job, targets),
        };
        let targets: HashMap<&str, &Target> =
            targets.iter().map(|target| (target.path.as_str(), target)).collect();
        for entry in &mut report.archives {
            if let Some(target) = targets.get(entry.path.as_str()) {
                // What was read otherwise is not done.
                if entry.layout != target.layout {
                    *entry = Entry::waiting(target);
                }
                entry.name.clone_from(&target.name);
            }
        }
        Ok(Self { journal, report, settings })
    }

    /// Runs it, and returns its report: also where archives failed, or it was stopped. Whatever is set in
    /// `stop` ends it in good order. Fails if the journal cannot be written any more.
    pub fn run(self, stop: &AtomicBool, tell: &(dyn Fn(&Told<'_>) + Sync)) -> Result<Report> {
        let Self { journal, report, settings } = self;
        journal.write(&report)?;
        let waiting = report.archives.iter().filter(|entry| !entry.state.is_final()).count();
        let workers = settings.workers.min(waiting).max(1);
        let means = settings.means_of_each(workers);
        let broken = Mutex::new(None);
        let report = Mutex::new(report);
        let shared = Shared { journal: &journal, report, settings: &settings, means, stop, tell, broken };
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| shared.work());
            }
        });
        if let Some(error) = shared.broken.into_inner() {
            return Err(error);
        }
        if let Err(error) = journal::prune(&settings.index_root) {
            tracing::warn!(%error, "reports of older jobs stay on disk");
        }
        Ok(shared.report.into_inner())
    }
}

impl Shared<'_> {
    fn work(&self) {
        while let Some((at, entry)) = self.next() {
            let began = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| self.rebuild(at, &entry))).unwrap_or_else(|_| {
                Err(Error::new(ErrorKind::Internal, "reindex", &entry.path)
                    .because("a thread panicked; the index is as it was")
                    .hint("run it by itself with --verbose, and report what it logs"))
            });
            let seconds = began.elapsed().as_secs_f64();
            let is_there = Path::new(&entry.path).try_exists().unwrap_or(true);
            let ended = self.change(at, |entry| entry.ended(outcome, seconds, is_there));
            (self.tell)(&Told::Ended(&ended));
        }
    }

    /// Takes the next archive that waits; `None` where nothing more is to begin.
    fn next(&self) -> Option<(usize, Entry)> {
        if self.stop.load(Ordering::Relaxed) || self.broken.lock().is_some() {
            return None;
        }
        let mut report = self.report.lock();
        let at = report.archives.iter().position(|entry| entry.state == State::Waiting)?;
        report.archives[at].state = State::Running;
        self.write(&mut report);
        Some((at, report.archives[at].clone()))
    }

    fn rebuild(&self, at: usize, entry: &Entry) -> Result<Outcome> {
        let options = self.settings.options(Path::new(&entry.path), entry.layout.as_deref())?;
        let reindex = Reindex::within(&options, &self.means)?;
        // Whatever happens after the swap, the journal tells the next run which generation this one built.
        self.change(at, |entry| entry.index_folder = Some(reindex.generation().display().to_string()));
        reindex.run(|reindex, progress| {
            if self.stop.load(Ordering::Relaxed) || self.broken.lock().is_some() {
                reindex.interrupt();
            }
            if let Some(progress) = progress {
                (self.tell)(&Told::Progress(&entry.name, progress));
            }
        })
    }

    fn change(&self, at: usize, change: impl FnOnce(&mut Entry)) -> Entry {
        let mut report = self.report.lock();
        change(&mut report.archives[at]);
        self.write(&mut report);
        report.archives[at].clone()
    }

    fn write(&self, report: &mut Report) {
        report.settle();
        if let Err(error) = self.journal.write(report) {
            self.broken.lock().get_or_insert(error);
        }
    }
}

/// Takes note of what a killed job had swapped in and not written down any more: what it was building is live.
fn with_what_was_swapped(mut report: Report, root: &Path) -> Report {
    for entry in report.archives.iter_mut().filter(|entry| entry.state == State::Running) {
        let folder = Folder::of(root, Path::new(&entry.path));
        let is_built = |live: &PathBuf| entry.index_folder.as_deref() == live.to_str();
        if let Ok(Some(live)) = folder.live()
            && is_built(&live)
            // One that cannot be read is built again.
            && let Ok(store) = Store::open_at(&folder, &live)
            && let Ok(rows) = store.snapshot().and_then(|snapshot| snapshot.rows())
        {
            let previous = folder.previous().ok().flatten();
            entry.swapped(rows, store.bytes(), previous.map(|path| path.display().to_string()));
        }
    }
    report
}

/// Takes a job up again: what is `kept` stays as it ended, all else waits.
fn again(mut report: Report, kept: impl Fn(State) -> bool) -> Report {
    for entry in &mut report.archives {
        entry.ran = false;
        if !kept(entry.state) {
            *entry = entry.again();
        }
    }
    report.ended_ms = None;
    report.settle();
    report
}

/// As an unfinished generation, what a job left unfinished is gone on with for a day.
fn is_cut_off(report: &Report) -> bool {
    report.ended_ms.is_none() && now_ms() - report.touched_ms < STAGE_AGE_S_MAX * 1_000
}

fn no_last_job(root: &Path) -> Error {
    Error::new(ErrorKind::NotFound, "find the last job in", root.display())
        .because("none of these archives was run")
        .hint("run: aft reindex --all")
}
