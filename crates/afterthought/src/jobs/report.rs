//! How a job went, archive by archive: the journal while it runs, the report once it has ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorView};
use crate::reindex::{Outcome, Reindexed};
use crate::time::now_ms;

use super::Target;

/// Version of the report's shape.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// Where an archive of a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its turn has not come, or it was stopped and goes on.
    Waiting,
    /// It is being rebuilt.
    Running,
    /// Its new index answers.
    Done,
    /// It could not be rebuilt; the error says why.
    Failed,
    /// It changed faster than a new index could be proven.
    Drifted,
    /// There is no such archive.
    Missing,
}

impl State {
    /// Returns the wire name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Drifted => "drifted",
            Self::Missing => "missing",
        }
    }

    /// Tells whether nothing more comes of it in this job.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

/// One archive of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// What the job calls it.
    pub name: String,
    /// Its path.
    pub path: String,
    /// The layout that it is read by, where that is not left to its tables: a name, or the path of a file.
    pub layout: Option<String>,
    /// Where it stands.
    pub state: State,
    /// This run brought it there, and none before.
    pub ran: bool,
    /// Messages in the new index.
    pub rows: Option<u64>,
    /// Those that the last run wrote; fewer where it went on with an index that was left unfinished.
    pub rows_written: Option<u64>,
    /// Text that it read, in bytes.
    pub text_bytes: Option<u64>,
    /// Time that it took, in seconds.
    pub seconds: Option<f64>,
    /// Rows written a second.
    pub rows_per_s: Option<f64>,
    /// Megabytes of text a second.
    pub mb_per_s: Option<f64>,
    /// What differed, counted by how.
    pub drift: Option<BTreeMap<String, u64>>,
    /// The new generation, also while it is being built.
    pub index_folder: Option<String>,
    /// Its size, in bytes.
    pub index_bytes: Option<u64>,
    /// The generation that was live before.
    pub previous_folder: Option<String>,
    /// Why it failed.
    pub error: Option<ErrorView>,
}

impl Entry {
    pub(super) fn waiting(target: &Target) -> Self {
        Self {
            name: target.name.clone(),
            path: target.path.clone(),
            layout: target.layout.clone(),
            state: State::Waiting,
            ran: false,
            rows: None,
            rows_written: None,
            text_bytes: None,
            seconds: None,
            rows_per_s: None,
            mb_per_s: None,
            drift: None,
            index_folder: None,
            index_bytes: None,
            previous_folder: None,
            error: None,
        }
    }

    /// The same archive, of which nothing is known yet.
    pub(super) fn again(&self) -> Self {
        let (name, path, layout) = (self.name.clone(), self.path.clone(), self.layout.clone());
        Self::waiting(&Target { name, path, layout })
    }

    /// Takes note of how its rebuild ended.
    pub(super) fn ended(&mut self, outcome: Result<Outcome, Error>, seconds: f64, is_there: bool) {
        *self = Self { ran: true, seconds: Some(seconds), ..self.again() };
        match outcome {
            Ok(Outcome::Swapped(done)) => self.done(done, seconds),
            // The next run goes on: this one said nothing of it yet.
            Ok(Outcome::Stopped) => *self = self.again(),
            Ok(Outcome::Drifted(verdict)) => {
                let counts = verdict.differing.iter().map(|(how, count)| ((*how).to_owned(), *count));
                self.drift = Some(counts.collect());
                self.state = State::Drifted;
            }
            Err(error) => {
                self.error = Some(ErrorView::from(&error));
                self.state = if is_there { State::Failed } else { State::Missing };
            }
        }
    }

    /// Takes note that its new generation answers, from what it holds: who built it was killed before it could
    /// say more.
    pub(super) fn swapped(&mut self, rows: u64, index_bytes: u64, previous_folder: Option<String>) {
        self.state = State::Done;
        self.rows = Some(rows);
        self.index_bytes = Some(index_bytes);
        self.previous_folder = previous_folder;
    }

    #[expect(clippy::cast_precision_loss, reason = "rates")]
    fn done(&mut self, done: Reindexed, seconds: f64) {
        self.state = State::Done;
        self.rows = Some(done.index_rows);
        self.rows_written = Some(done.work.docs_added);
        self.text_bytes = Some(done.work.text_bytes);
        self.rows_per_s = Some(done.work.docs_added as f64 / seconds.max(1e-3));
        self.mb_per_s = Some(done.work.text_bytes as f64 / 1e6 / seconds.max(1e-3));
        self.index_folder = Some(done.index_folder);
        self.index_bytes = Some(done.index_bytes);
        self.previous_folder = done.previous_folder;
    }
}

/// How many archives of a job stand where, and what they came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Archives of the job.
    pub archives: u64,
    /// Those whose new index answers.
    pub done: u64,
    /// Those that could not be rebuilt.
    pub failed: u64,
    /// Those that changed too fast.
    pub drifted: u64,
    /// Those that are not there.
    pub missing: u64,
    /// Those whose turn has not come.
    pub waiting: u64,
    /// Messages in the new indexes.
    pub rows: u64,
    /// Text that was read for them, in bytes.
    pub text_bytes: u64,
    /// Their size, in bytes.
    pub index_bytes: u64,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every new index answers.
    Done,
    /// Some could not be rebuilt.
    SomeFailed,
    /// None could be rebuilt.
    AllFailed,
    /// It was stopped or killed; the next run goes on.
    Unfinished,
}

/// A job, under way or ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Version of this shape.
    pub schema_version: u32,
    /// The job: the same for the same archives.
    pub job: String,
    /// How it ended.
    pub outcome: Verdict,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When something was last heard of it.
    pub touched_ms: i64,
    /// When it ended; `None` while it is unfinished.
    pub ended_ms: Option<i64>,
    /// Its archives, in the order they were given.
    pub archives: Vec<Entry>,
    /// All of them.
    pub totals: Totals,
}

impl Report {
    pub(super) fn new(job: &str, targets: &[Target]) -> Self {
        let now = now_ms();
        let mut report = Self {
            schema_version: SCHEMA_VERSION,
            job: job.to_owned(),
            outcome: Verdict::Unfinished,
            started_ms: now,
            touched_ms: now,
            ended_ms: None,
            archives: targets.iter().map(Entry::waiting).collect(),
            totals: Totals::default(),
        };
        report.settle();
        report
    }

    /// Brings the sums up to date with the archives.
    pub(super) fn settle(&mut self) {
        let mut totals = Totals { archives: self.archives.len() as u64, ..Totals::default() };
        for entry in &self.archives {
            *match entry.state {
                State::Waiting | State::Running => &mut totals.waiting,
                State::Done => &mut totals.done,
                State::Failed => &mut totals.failed,
                State::Drifted => &mut totals.drifted,
                State::Missing => &mut totals.missing,
            } += 1;
            totals.rows += entry.rows.unwrap_or(0);
            totals.text_bytes += entry.text_bytes.unwrap_or(0);
            totals.index_bytes += entry.index_bytes.unwrap_or(0);
        }
        self.totals = totals;
        self.touched_ms = now_ms();
        self.ended_ms = (totals.waiting == 0).then(|| self.ended_ms.unwrap_or(self.touched_ms));
        self.outcome = match totals {
            _ if totals.waiting > 0 => Verdict::Unfinished,
            _ if totals.done == totals.archives => Verdict::Done,
            _ if totals.done == 0 => Verdict::AllFailed,
            _ => Verdict::SomeFailed,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn ended(outcomes: Vec<(Result<Outcome, Error>, bool)>) -> Report {
        let target = Target::new(std::path::Path::new("/nowhere/state.db"), None).expect("a path");
        let mut report = Report::new("job", &vec![target; outcomes.len()]);
        for (entry, (outcome, is_there)) in report.archives.iter_mut().zip(outcomes) {
            entry.ended(outcome, 1.0, is_there);
        }
        report.settle();
        report
    }

    fn refused() -> Result<Outcome, Error> {
        Err(Error::new(ErrorKind::ArchiveUnavailable, "open archive", "state.db"))
    }

    #[test]
    fn every_way_to_end_has_a_state_of_its_own() {
        let mut verdict = crate::mirror::Verdict::default();
        verdict.differing.insert("state", 2);
        let drifted = Ok(Outcome::Drifted(verdict));
        let report = ended(vec![(refused(), true), (refused(), false), (drifted, true)]);
        let states: Vec<State> = report.archives.iter().map(|entry| entry.state).collect();
        assert_eq!(states, [State::Failed, State::Missing, State::Drifted]);
        assert_eq!(report.archives[2].drift, Some([("state".to_owned(), 2)].into()));
        assert_eq!((report.outcome, report.ended_ms.is_some()), (Verdict::AllFailed, true));
    }

    #[test]
    fn what_was_stopped_waits_again() {
        let report = ended(vec![(refused(), true), (Ok(Outcome::Stopped), true)]);
        assert_eq!(report.archives[1].state, State::Waiting);
        assert_eq!((report.outcome, report.ended_ms), (Verdict::Unfinished, None));
    }
}
