//! `aft reindex`: a new index beside the live one, proven, then swapped.

use std::time::Instant;

use afterthought::{Outcome, Reindexed};
use serde_json::{Value, json};

use crate::args::{Global, Reindex};
use crate::fail::{EXIT_DRIFT, Failure};
use crate::index::work_done;
use crate::paths;
use crate::progress::Reporter;
use crate::stdout::{grouped, print_json, print_text, size};
use crate::verify::differences;

pub(crate) fn run(global: &Global, args: &Reindex) -> Result<u8, Failure> {
    let options = paths::options(global)?;
    let began = Instant::now();
    let reindex = afterthought::Reindex::start(&options)?;
    let mut reporter = Reporter::new(args.progress);
    let outcome = reindex.run(|reindex, progress| reporter.watch(|| reindex.interrupt(), progress));
    // Ctrl-C that came too late to stop it is not reported: the new index answers.
    let _late = reporter.finish();
    match outcome? {
        Outcome::Swapped(done) => {
            let seconds = began.elapsed().as_secs_f64();
            if global.json {
                print_json(&as_json(&done, seconds)?)?;
            } else {
                print_text(&as_text(&done, seconds))?;
            }
            Ok(0)
        }
        Outcome::Stopped => Err(Failure::Interrupted(
            "stopped; the index is as it was, and the next aft reindex goes on".to_owned(),
        )),
        Outcome::Drifted(verdict) => {
            tell!("the archive changed faster than a new index could be proven; the index is as it was");
            if !global.json {
                print_text(&differences(&verdict))?;
            }
            Ok(EXIT_DRIFT)
        }
    }
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
