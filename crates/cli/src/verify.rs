//! `aft verify`: the proof that index and archive agree, and the repair where they do not.

use std::time::Duration;

use afterthought::model::SyncStats;
use afterthought::{Depth, Engine, ErrorKind, Level, Means, Opening, Options, Outcome, Verdict};
use serde_json::json;

use crate::args::{Global, ProgressArg, Verify};
use crate::fail::{EXIT_DRIFT, Failure};
use crate::index::work_done;
use crate::paths;
use crate::progress::Reporter;
use crate::reindex::{rebuild, stopped};
use crate::search::flags;
use crate::stdout::{grouped, print_json, print_text};

pub(crate) fn run(global: &Global, args: &Verify) -> Result<u8, Failure> {
    let options = Options { index: Opening::Existing, ..paths::options(global)? };
    let depth = if args.deep { Depth::Text } else { Depth::Rows };
    let repaired = if args.repair { Some(repair(&options, depth)?) } else { None };
    let verdict = Engine::open(&options)?.verify(depth)?;
    if global.json {
        let mut value = serde_json::to_value(&verdict).map_err(std::io::Error::from)?;
        value["schema_version"] = json!(1);
        value["repaired"] = json!(repaired);
        print_json(&value)?;
    } else {
        let repaired = repaired.map_or_else(String::new, |work| format!("repair: {}\n", work_done(work)));
        print_text(&(repaired + &as_text(global, &verdict, args)))?;
    }
    Ok(if verdict.equal { 0 } else { EXIT_DRIFT })
}

/// Writes what differs; builds the index anew where its own files are damaged.
fn repair(options: &Options, depth: Depth) -> Result<SyncStats, Failure> {
    let opened = Engine::open(options).and_then(|engine| engine.check_files().map(|()| engine));
    let engine = match opened {
        Err(error) if matches!(error.kind(), ErrorKind::IndexDamaged | ErrorKind::IndexIncompatible) => {
            tell!("{error}; building it anew");
            return rebuilt(options);
        }
        other => other?,
    };
    let level = if depth == Depth::Text { Level::Deep } else { Level::Full };
    let mut reporter = Reporter::new(ProgressArg::Auto);
    let freshness =
        engine.freshen(level, Duration::MAX, |progress| reporter.watch(|| engine.interrupt(), progress))?;
    if reporter.finish() {
        return Err(Failure::Interrupted("stopped; what was repaired stays".to_owned()));
    }
    Ok(freshness.ended()?.stats)
}

fn rebuilt(options: &Options) -> Result<SyncStats, Failure> {
    match rebuild(options, &Means::default(), ProgressArg::Auto)? {
        Outcome::Swapped(done) => Ok(done.work),
        Outcome::Stopped => Err(stopped()),
        // The proof that follows says what differs.
        Outcome::Drifted(_) => Ok(SyncStats::default()),
    }
}

fn as_text(global: &Global, verdict: &Verdict, args: &Verify) -> String {
    let flags = flags(global, None);
    if verdict.equal {
        return format!(
            "equal: {} messages in {} sessions, row by row{}\n",
            grouped(verdict.archive_rows),
            grouped(verdict.sessions_compared),
            if verdict.deep {
                ", and all that they say".to_owned()
            } else {
                format!("; what they say: aft{flags} verify --deep")
            }
        );
    }
    let mut text = differences(verdict);
    if !args.repair {
        let deep = if args.deep { " --deep" } else { "" };
        text += &format!("to mend it: aft{flags} verify{deep} --repair\n");
    }
    text
}

/// Lists what differs, for people.
pub(crate) fn differences(verdict: &Verdict) -> String {
    let counts: Vec<_> =
        verdict.differing.iter().map(|(how, count)| format!("{} {how}", grouped(*count))).collect();
    let mut text = format!(
        "different: {} (archive {} rows, index {})\n",
        counts.join(", "),
        grouped(verdict.archive_rows),
        grouped(verdict.index_rows)
    );
    for drift in &verdict.drift {
        text += &match drift.message_id {
            Some(id) => format!("  #{id} of session {}: {}\n", drift.session_id, drift.how),
            None => format!("  session {}: what is known of it\n", drift.session_id),
        };
    }
    text
}
