//! `aft reindex` of several archives: which they are, what they may take together, and the report.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use afterthought::jobs::{Entry, Job, Report, Settings, State, Target, Told, Verdict, Which, told_apart};
use afterthought::limits::{REBUILD_BESIDE_BYTES, WRITER_BYTES_MAX};
use afterthought::{ErrorKind, Layout, Means, Pace};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::{Global, ProgressArg, Reindex};
use crate::config::{at_home, layout_of_others, settings};
use crate::fail::{EXIT_DRIFT, Failure, exit_code};
use crate::profiles;
use crate::progress::Lines;
use crate::stdout::{grouped, print_json, print_text, size};

/// Archives at a time at most where nobody says how many.
const JOBS_MAX: usize = 4;
/// How far a job steps back behind other processes where nobody says so.
const NICE: i32 = 10;

/// What a rebuild, or a job of several, may take.
pub(crate) struct Bounds {
    pub(crate) workers: usize,
    memory_bytes: usize,
    bytes_per_s: Option<u64>,
    nice: i32,
}

impl Bounds {
    /// Reads the flags for a job.
    pub(crate) fn of_job(args: &Reindex) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = args.jobs.map_or((cores / 2).clamp(1, JOBS_MAX), usize::from);
        Self { nice: args.nice.unwrap_or(NICE), ..Self::of(args, workers) }
    }

    /// Reads the flags for one archive by itself. Fails if several are wanted at a time.
    pub(crate) fn of_one(args: &Reindex) -> Result<Self, Failure> {
        match args.jobs {
            Some(jobs) if jobs > 1 => Err(Failure::Usage(format!(
                "there is one archive, and --jobs {jobs} wants several: name them, or give --all or --manifest"
            ))),
            _ => Ok(Self::of(args, 1)),
        }
    }

    fn of(args: &Reindex, workers: usize) -> Self {
        let bytes = |megabytes: u32| u64::from(megabytes) * 1_000_000;
        let memory = args.memory.map(|memory| usize::try_from(bytes(memory)).unwrap_or(usize::MAX));
        Self {
            workers,
            memory_bytes: memory.unwrap_or(workers * (WRITER_BYTES_MAX + REBUILD_BESIDE_BYTES)),
            bytes_per_s: args.max_mb_per_s.map(bytes),
            nice: args.nice.unwrap_or(0),
        }
    }

    /// Steps back behind other processes. To be called before threads start: they take it over.
    pub(crate) fn step_back(&self) -> Result<(), Failure> {
        if self.nice != 0 {
            rustix::process::nice(self.nice).map_err(|error| {
                Failure::Usage(format!("set the priority to --nice {}: {error}", self.nice))
            })?;
        }
        Ok(())
    }

    fn pace(&self) -> Pace {
        self.bytes_per_s.map(Pace::of).unwrap_or_default()
    }

    /// Returns what one rebuild may take. Fails if that is too little.
    pub(crate) fn means(&self) -> Result<Means, Failure> {
        let settings = self.settings(Path::new(""), false);
        settings.check()?;
        Ok(settings.means_of_each(1))
    }

    pub(crate) fn settings(&self, index_root: &Path, allow_copy: bool) -> Settings {
        Settings {
            index_root: index_root.to_owned(),
            allow_copy,
            workers: self.workers,
            memory_bytes: self.memory_bytes,
            pace: self.pace(),
        }
    }
}

/// A file that lists archives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    archive: Vec<Listed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    path: PathBuf,
    name: Option<String>,
    layout: Option<PathBuf>,
}

/// Returns the archives of a job; none where none are named.
pub(crate) fn targets(global: &Global, args: &Reindex) -> Result<Vec<Target>, Failure> {
    // One that is given is of those that have none of their own.
    let given = layout_of_others(global);
    let given = given.as_deref();
    let target = |path: &PathBuf| Target::new(path, None)?.laid_out(given);
    let targets: Vec<Target> = match &args.manifest {
        Some(manifest) => listed(manifest, given)?,
        None if args.all => every_profile(given)?,
        None => args.archives.iter().map(target).collect::<Result<_, _>>()?,
    };
    Ok(told_apart(targets))
}

fn listed(manifest: &Path, given: Option<&Path>) -> Result<Vec<Target>, Failure> {
    let usage = |why: String| Failure::Usage(format!("read {}: {why}", manifest.display()));
    let text = std::fs::read_to_string(manifest).map_err(|error| usage(error.to_string()))?;
    let read: Manifest = toml::from_str(&text).map_err(|error| usage(error.message().to_owned()))?;
    if read.archive.is_empty() {
        return Err(usage("it lists no archive".to_owned()));
    }
    let folder = manifest.parent().unwrap_or(Path::new(""));
    let target = |listed: &Listed| {
        let there = |layout: &PathBuf| {
            if Layout::is_name(layout) { layout.clone() } else { folder.join(at_home(layout)) }
        };
        let layout = listed.layout.as_ref().map(there);
        let target = Target::new(&folder.join(at_home(&listed.path)), listed.name.as_deref())?;
        target.laid_out(layout.as_deref().or(given))
    };
    Ok(read.archive.iter().map(target).collect::<Result<_, _>>()?)
}

fn every_profile(given: Option<&Path>) -> Result<Vec<Target>, Failure> {
    let all = profiles::all()?;
    if all.is_empty() {
        let why = "there are no archives that have a name, in the configuration file or as profiles";
        return Err(Failure::Usage(why.to_owned()));
    }
    let target = |named: &profiles::Named| {
        let target = Target::new(&named.archive, Some(&named.name))?;
        target.laid_out(named.layout.as_deref().or(given))
    };
    Ok(all.iter().map(target).collect::<Result<_, _>>()?)
}

pub(crate) fn run(global: &Global, args: &Reindex) -> Result<u8, Failure> {
    let targets = targets(global, args)?;
    let [_, index] = settings(global)?;
    let bounds = Bounds::of_job(args);
    let which = if args.since_failed { Which::SinceFailed } else { Which::All };
    let job = Job::new(bounds.settings(&index.value, global.allow_copy), &targets, which)?;
    bounds.step_back()?;
    let stop = stop_at_ctrl_c();
    let began = Instant::now();
    let lines = Lines::default();
    let report = job.run(&stop, &|told| say(args.progress, &lines, told))?;
    let elapsed = began.elapsed();
    if global.json {
        print_json(&as_json(&report, &bounds, elapsed)?)?;
    } else {
        print_text(&as_text(&report, elapsed))?;
    }
    Ok(match report.outcome {
        Verdict::Done => 0,
        Verdict::SomeFailed => EXIT_DRIFT,
        Verdict::AllFailed => exit_code(ErrorKind::ArchiveUnavailable),
        Verdict::Unfinished => exit_code(ErrorKind::Interrupted),
    })
}

/// Ctrl-C ends the job in good order; a second one at once.
fn stop_at_ctrl_c() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let set = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    if let Err(error) = set {
        tell!("aft: Ctrl-C will end the job at once: {error}");
    }
    stop
}

fn say(how: ProgressArg, lines: &Lines, told: &Told<'_>) {
    match (how, told) {
        (ProgressArg::Json, Told::Progress(name, progress)) => lines.progress(name, *progress),
        (ProgressArg::Json, Told::Ended(entry)) => {
            tell!("{}", json!({"event": "ended", "archive": entry.name, "state": entry.state}));
        }
        (ProgressArg::Auto, Told::Ended(entry)) if std::io::stderr().is_terminal() => {
            let seconds = entry.seconds.map_or_else(String::new, |seconds| format!(" in {seconds:.1} s"));
            tell!("{}: {}{seconds}", entry.name, entry.state.name());
        }
        _ => {}
    }
}

fn as_json(report: &Report, bounds: &Bounds, elapsed: Duration) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(report).map_err(std::io::Error::from)?;
    value["settings"] = json!({
        "at_a_time": bounds.workers,
        "memory_bytes": bounds.memory_bytes,
        "bytes_per_s": bounds.bytes_per_s,
        "nice": bounds.nice,
    });
    value["elapsed_ms"] = json!(elapsed.as_secs_f64() * 1_000.0);
    Ok(value)
}

fn as_text(report: &Report, elapsed: Duration) -> String {
    let mut rows =
        vec![["archive", "state", "rows", "text", "time", "rows/s", "MB/s", "index"].map(str::to_owned)];
    rows.extend(report.archives.iter().map(|entry| {
        let rate =
            |rate: Option<f64>, digits| rate.map_or_else(String::new, |rate| format!("{rate:.digits$}"));
        [
            entry.name.clone(),
            state_of(entry),
            entry.rows.map_or_else(String::new, grouped),
            entry.text_bytes.map_or_else(String::new, size),
            entry.seconds.map_or_else(String::new, |seconds| format!("{seconds:.1} s")),
            rate(entry.rows_per_s, 0),
            rate(entry.mb_per_s, 1),
            entry.index_bytes.map_or_else(String::new, size),
        ]
    }));
    let mut text = table(&rows);
    for entry in &report.archives {
        if let Some(error) = &entry.error {
            text += &format!("{}: {}\n", entry.name, error.message);
            text += &error.hint.as_ref().map_or_else(String::new, |hint| format!("  {hint}\n"));
        }
        if let Some(drift) = &entry.drift {
            let counts: Vec<String> = drift.iter().map(|(how, count)| format!("{how} {count}")).collect();
            let counts = counts.join(", ");
            text +=
                &format!("{}: it changed faster than a new index could be proven: {counts}\n", entry.name);
        }
    }
    let totals = &report.totals;
    let not_done = totals.failed + totals.drifted + totals.missing;
    text += &format!(
        "{} of {} done, {not_done} failed, {} waiting; {} messages, {} of text read in {:.1} s\n",
        totals.done,
        totals.archives,
        totals.waiting,
        grouped(totals.rows),
        size(totals.text_bytes),
        elapsed.as_secs_f64()
    );
    text += match report.outcome {
        Verdict::Done => "",
        Verdict::Unfinished => "the next aft reindex of the same archives goes on\n",
        Verdict::SomeFailed | Verdict::AllFailed => "to try those again: aft reindex --since-failed\n",
    };
    text
}

fn state_of(entry: &Entry) -> String {
    let before = if entry.state == State::Done && !entry.ran { ", before" } else { "" };
    format!("{}{before}", entry.state.name())
}

/// Lays rows out in columns: the first two to the left, figures to the right.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let room = " ".repeat(widths[column] - cell.chars().count());
            line += &if column < 2 { format!("{cell}{room}  ") } else { format!("{room}{cell}  ") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}
