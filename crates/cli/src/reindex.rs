//! `aft reindex`: a new index beside the live one, proven, then swapped.

use std::time::Instant;

use afterthought::{Options, Outcome, Reindexed};
use serde_json::{Value, json};

use crate::args::{Global, ProgressArg, Reindex};
use crate::fail::{EXIT_DRIFT, Failure};
use crate::index::work_done;
use crate::paths;
use crate::progress::Reporter;
use crate::stdout::{grouped, print_json, print_text, size};
use crate::verify::differences;

pub(crate) fn run(global: &Global, args: &Reindex) -> Result<u8, Failure> {
    let options = paths::options(global)?;
    let began = Instant::now();
    match rebuild(&options, args.progress)? {
        Outcome::Swapped(done) => {
            let seconds = began.elapsed().as_secs_f64();
            if global.json {
                print_json(&as_json(&done, seconds)?)?;
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
pub(crate) fn rebuild(options: &Options, progress: ProgressArg) -> Result<Outcome, Failure> {
    let mut reporter = Reporter::new(progress);
    let outcome = afterthought::Reindex::start(options)?
        .run(|reindex, progress| reporter.watch(|| reindex.interrupt(), progress));
    // Ctrl-C that came too late to stop it is not reported: the new index answers.
    let _late = reporter.finish();
    Ok(outcome?)
}

pub(crate) fn stopped() -> Failure {
    Failure::Interrupted("stopped; the index is as it was, and the next aft reindex goes on".to_owned())
}

fn as_json(done: &Reindexed, seconds: f64) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(done).map_err(std::io::Error::from)?;
    value["schema_version"] = json!(1);
    value["elapsed_ms"] = json!(seconds * 1_000.0);
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
