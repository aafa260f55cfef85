//! `aft bench`: our searches against FTS5 and a scan, on the reader's own archive.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use afterthought_bench::rival::{Cache, Rival};
use afterthought_bench::{Question, Settings};
use serde_json::json;

use crate::args::{Bench, BenchTwin, Global, TwinArg};
use crate::fail::{Failure, quoted};
use crate::paths;
use crate::stdout::{print_json, print_text};

pub(crate) fn run(global: &Global, args: &Bench) -> Result<u8, Failure> {
    let options = paths::options(global)?;
    let queries = args.queries.as_ref().map(std::fs::read_to_string).transpose();
    let queries = queries.map_err(|error| {
        let path = args.queries.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        Failure::Usage(format!("--queries {path}: {error}"))
    })?;
    let settings = Settings {
        allow_copy: options.allow_copy,
        aft: std::env::current_exe()?,
        folder: args.dir.clone().unwrap_or_else(std::env::temp_dir),
        command: typed(global, &options.archive),
        archive: options.archive,
        seed: args.seed,
        runs: args.runs,
        budget: Duration::try_from_secs_f64(args.budget).expect("the flag's parser tried the same"),
        queries,
        scan: !args.no_scan,
        whole_process: !args.no_whole_process,
        stop: stopped_by_ctrl_c(),
    };
    let report = afterthought_bench::run(&settings, |line| tell!("{line} …"))?;
    if global.json {
        print_json(&report)?;
    } else {
        print_text(&report.markdown())?;
    }
    Ok(0)
}

/// Answers as another side.
pub(crate) fn twin(args: &BenchTwin) -> Result<u8, Failure> {
    let question = Question { query: args.query.clone(), all: args.all, role: args.role.clone() };
    let rival = || Rival::open(&args.database, Cache::Shipped);
    match args.side {
        TwinArg::Build => {
            print_json(&json!({ "optimize_s": Rival::build(&args.database)?.optimize()? }))?;
        }
        TwinArg::Fts5 => print_json(&rival()?.fts5(&question)?)?,
        TwinArg::Scan => print_json(&rival()?.scan(&question)?)?,
    }
    Ok(0)
}

/// Returns the line that was typed, with the archive that it found by itself.
fn typed(global: &Global, archive: &Path) -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let found = match global.archive {
        Some(_) => Vec::new(),
        None => vec!["--archive".to_owned(), quoted(&archive.display().to_string())],
    };
    std::iter::once("aft".to_owned()).chain(found).chain(words).collect::<Vec<_>>().join(" ")
}

/// Makes Ctrl-C end the run in good order, so that the copy is removed; a second one does not wait.
fn stopped_by_ctrl_c() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let set = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        tell!("aft: stopping; once more to stop at once and leave the copy behind");
    });
    if let Err(error) = set {
        tell!("aft: Ctrl-C will leave the copy behind: {error}");
    }
    stop
}
