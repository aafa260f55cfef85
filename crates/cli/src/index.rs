//! `aft index`: one sync to the end, with progress.

use std::time::{Duration, Instant};

use afterthought::model::SyncStats;
use afterthought::{Engine, Level};
use serde_json::json;

use crate::args::{Global, Index};
use crate::fail::Failure;
use crate::paths;
use crate::progress::Reporter;
use crate::stdout::{grouped, print_json, print_text, size};

pub(crate) fn run(global: &Global, args: &Index) -> Result<u8, Failure> {
    let engine = Engine::open(&paths::options(global)?)?;
    let began = Instant::now();
    let mut reporter = Reporter::new(args.progress);
    let freshness = engine
        .freshen(Level::Full, Duration::MAX, |progress| reporter.watch(|| engine.interrupt(), progress))?;
    let stopped = reporter.finish();
    let report = freshness.ended()?;
    let status = engine.status()?;
    if stopped || report.interrupted {
        let rows = grouped(status.index.rows);
        return Err(Failure::Interrupted(format!(
            "stopped; {rows} rows are indexed, and the next run goes on"
        )));
    }
    let seconds = began.elapsed().as_secs_f64();
    if global.json {
        print_json(&json!({
            "schema_version": 1,
            "archive": status.archive,
            "work": report.stats,
            "index": status.index,
            "index_bytes": status.index_bytes,
            "elapsed_ms": seconds * 1_000.0,
        }))?;
        return Ok(0);
    }
    let stats = report.stats;
    let mut text = work_done(stats);
    text += &format!(
        " in {seconds:.1} s\nindex: {} messages in {} sessions, {}\n",
        grouped(status.index.rows),
        grouped(status.sessions as u64),
        size(status.index_bytes)
    );
    if stats.rows_damaged > 0 {
        text += &format!(
            "{} rows could be read only in part; aft status lists them\n",
            grouped(stats.rows_damaged)
        );
    }
    print_text(&text)?;
    Ok(0)
}

/// Says what a sync did, for people.
pub(crate) fn work_done(stats: SyncStats) -> String {
    if stats.commits == 0 {
        return match stats.rows_read {
            0 => "nothing had changed".to_owned(),
            rows => format!("nothing had changed in the {} messages that were read", grouped(rows)),
        };
    }
    format!(
        "{} messages written, {} removed, {} sessions written; {} of text read",
        grouped(stats.docs_added),
        grouped(stats.docs_removed),
        grouped(stats.sessions_written),
        size(stats.text_bytes)
    )
}
