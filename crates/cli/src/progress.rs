//! Shows how far a sync has come: a bar on a terminal, JSON lines for programs.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use afterthought::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::args::ProgressArg;

/// Short syncs show nothing.
const QUIET: Duration = Duration::from_millis(500);

/// A view of one sync.
pub(crate) struct Reporter {
    how: ProgressArg,
    bar: Option<ProgressBar>,
    last_line: Instant,
    watching: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
    handles: bool,
}

impl Reporter {
    /// Starts watching; from here on Ctrl-C stops the sync in good order.
    pub(crate) fn new(how: ProgressArg) -> Self {
        let mut reporter = Self::patient(how);
        reporter.handle_interrupts();
        reporter
    }

    /// Starts watching what is over at once most times. Only when it takes a while Ctrl-C stops the sync in
    /// good order; before that it ends the program, which the index outlives.
    pub(crate) fn patient(how: ProgressArg) -> Self {
        let (watching, interrupted) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        Self { how, bar: None, last_line: Instant::now(), watching, interrupted, handles: false }
    }

    fn handle_interrupts(&mut self) {
        self.handles = true;
        let (watches, flag) = (Arc::clone(&self.watching), Arc::clone(&self.interrupted));
        let set = ctrlc::set_handler(move || {
            // Only a sync needs good order, and a second Ctrl-C does not wait for it.
            if !watches.load(Ordering::Relaxed) || flag.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        if let Err(error) = set {
            tell!("aft: Ctrl-C will end the sync at once: {error}");
        }
    }

    /// Shows the state of things, and hands Ctrl-C on to what `interrupt` stops.
    pub(crate) fn watch(&mut self, interrupt: impl FnOnce(), progress: Option<Progress>) {
        if !self.handles {
            self.handle_interrupts();
        }
        if self.interrupted.load(Ordering::Relaxed) {
            interrupt();
        }
        let Some(progress) = progress.filter(|progress| progress.since.elapsed() > QUIET) else { return };
        match self.how {
            ProgressArg::Auto if std::io::stderr().is_terminal() => self.show_bar(progress),
            ProgressArg::Json if self.last_line.elapsed() > Duration::from_secs(1) => {
                self.last_line = Instant::now();
                tell!("{}", line(progress));
            }
            _ => {}
        }
    }

    /// Removes the bar. Returns whether Ctrl-C was pressed.
    pub(crate) fn finish(self) -> bool {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.watching.store(false, Ordering::Relaxed);
        self.interrupted.load(Ordering::Relaxed)
    }

    fn show_bar(&mut self, progress: Progress) {
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(
                "indexing {wide_bar} {human_pos} of {human_len} rows, {eta} left",
            );
            let bar =
                ProgressBar::new(progress.rows_total).with_style(style.expect("the template is constant"));
            bar.with_elapsed(progress.since.elapsed())
        });
        bar.set_length(progress.rows_total);
        bar.set_position(progress.rows_done);
    }
}

/// The JSON lines of a job: one a second for each archive.
#[derive(Default)]
pub(crate) struct Lines(Mutex<HashMap<String, Instant>>);

impl Lines {
    /// Prints a line about an archive, unless there was one just now.
    pub(crate) fn progress(&self, name: &str, progress: Progress) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.get(name).is_none_or(|last| last.elapsed() > Duration::from_secs(1));
        if is_due && progress.since.elapsed() > QUIET {
            last.insert(name.to_owned(), Instant::now());
            let mut line = line(progress);
            line["archive"] = json!(name);
            tell!("{line}");
        }
    }
}

pub(crate) fn line(progress: Progress) -> serde_json::Value {
    let seconds = progress.since.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = progress.rows_done as f64 / seconds;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let left = progress.rows_total.saturating_sub(progress.rows_done) as f64 / rate.max(1.0);
    json!({
        "event": "progress",
        "rows_done": progress.rows_done,
        "rows_total": progress.rows_total,
        "text_bytes": progress.text_bytes,
        "rows_per_s": rate.round(),
        "eta_s": left.round(),
    })
}
