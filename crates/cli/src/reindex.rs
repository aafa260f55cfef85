//! `aft reindex`: a new index beside the live one, proven, then swapped; several archives as one job; and the
//! way back.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Instant;

use afterthought::{Means, Options, Outcome, Reindexed, RolledBack, roll_back};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{Global, ProgressArg, Reindex};
use crate::fail::{EXIT_DRIFT, Failure};
use crate::forecast;
use crate::index::work_done;
use crate::jobs::{self, Bounds};
use crate::paths;
use crate::progress::Reporter;
use crate::search::flags;
use crate::stdout::{grouped, print_json, print_text, size};
use crate::verify::differences;

pub(crate) fn run(global: &Global, args: &Reindex) -> Result<u8, Failure> {
    if args.rollback {
        return back(global);
    }
    if args.dry_run {
        return forecast::run(global, args);
    }
    with_few_heaps();
    if args.all || args.manifest.is_some() || args.since_failed || !args.archives.is_empty() {
        return jobs::run(global, args);
    }
    one(global, args)
}

/// How many heaps glibc keeps, which it reads when a process starts.
const HEAPS: &str = "MALLOC_ARENA_MAX";

/// Starts this process over with two heaps, where glibc allocates. Threads come and go with every archive of a
/// job, each of up to eight heaps for a core keeps what they freed, and twenty small archives came to 638 MB
/// where two heaps take 372. What cannot be started over goes on as it is: it only takes more.
fn with_few_heaps() {
    if !cfg!(target_env = "gnu") || std::env::var_os(HEAPS).is_some() {
        return;
    }
    match std::env::current_exe() {
        Ok(program) => {
            let mut again = Command::new(program);
            let error = again.args(std::env::args_os().skip(1)).env(HEAPS, "2").exec();
            tell!("aft: note: more memory than needed is kept: {error}");
        }
        Err(error) => tell!("aft: note: more memory than needed is kept: {error}"),
    }
}

/// One archive by itself.
fn one(global: &Global, args: &Reindex) -> Result<u8, Failure> {
    let options = paths::options(global)?;
    let bounds = Bounds::of_one(args)?;
    bounds.step_back()?;
    let began = Instant::now();
    match rebuild(&options, &bounds.means()?, args.progress)? {
        Outcome::Swapped(done) => {
            let seconds = began.elapsed().as_secs_f64();
            if global.json {
                let mut value = as_json(&done)?;
                value["elapsed_ms"] = json!(seconds * 1_000.0);
                print_json(&value)?;
            } else {
                print_text(&as_text(&done, seconds))?;
            }
            Ok(0)
        }
        Outcome::Stopped => Err(stopped()),
        Outcome::Drifted(verdict) => {
            tell!("the archive changed faster than a new index could be proven; the index is as it was");
            if !global.json {
                print_text(&differences(&verdict))?;
            }
            Ok(EXIT_DRIFT)
        }
    }
}

/// Rebuilds with progress; Ctrl-C stops it in good order.
pub(crate) fn rebuild(options: &Options, means: &Means, progress: ProgressArg) -> Result<Outcome, Failure> {
    let mut reporter = Reporter::new(progress);
    let outcome = afterthought::Reindex::within(options, means)?
        .run(|reindex, progress| reporter.watch(|| reindex.interrupt(), progress));
    // Ctrl-C that came too late to stop it is not reported: the new index answers.
    let _late = reporter.finish();
    Ok(outcome?)
}

pub(crate) fn stopped() -> Failure {
    Failure::Interrupted("stopped; the index is as it was, and the next aft reindex goes on".to_owned())
}

/// Makes the index before the present one answer again.
fn back(global: &Global) -> Result<u8, Failure> {
    let done = roll_back(&paths::options(global)?)?;
    if global.json {
        print_json(&as_json(&done)?)?;
    } else {
        print_text(&back_as_text(&done, &flags(global, None)))?;
    }
    Ok(0)
}

fn as_json(done: &impl Serialize) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(done).map_err(std::io::Error::from)?;
    value["schema_version"] = json!(1);
    Ok(value)
}

fn as_text(done: &Reindexed, seconds: f64) -> String {
    let mut text = format!(
        "{} in {seconds:.1} s\nproven: {} messages in {} sessions, row by row; every file as its checksum says\nindex: {}, {}\n",
        work_done(done.work),
        grouped(done.index_rows),
        grouped(done.sessions_compared),
        done.index_folder,
        size(done.index_bytes)
    );
    if let Some(previous) = &done.previous_folder {
        text += &format!("the index before stays until the next reindex: {previous}\n");
    }
    text
}

fn back_as_text(done: &RolledBack, flags: &str) -> String {
    let mut text = format!(
        "the index before answers again: {}, {} messages, {}; the next search takes in what came since\n",
        done.index_folder,
        grouped(done.index_rows),
        size(done.index_bytes)
    );
    if let Some(previous) = &done.previous_folder {
        text += &format!(
            "the one that answered is kept, and aft{flags} reindex --rollback goes back to it: {previous}\n"
        );
    }
    text
}
