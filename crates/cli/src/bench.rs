//! `aft bench`: our searches against FTS5 and a scan, on the reader's own archive.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use afterthought_bench::rival::{Cache, Rival};
use afterthought_bench::{Asked, Peer, Reading, Report, Settings};
use serde_json::json;

use crate::args::{Bench, BenchTwin, Global, ReportArg};
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
    // Minutes of measuring must not end in a report that cannot be written.
    let is_new = args.output.as_deref().map(writable).transpose()?.unwrap_or_default();
    let settings = Settings {
        allow_copy: options.allow_copy,
        aft: std::env::current_exe()?,
        folder: args.dir.clone().unwrap_or_else(std::env::temp_dir),
        command: typed(global, &options.archive),
        archive: options.archive,
        seed: args.seed,
        runs: args.runs,
        budget: Duration::try_from_secs_f64(args.budget).expect("the flag's parser tried the same"),
        builds: args.builds,
        queries,
        against: against(args),
        whole_process: !args.no_whole_process,
        stop: stopped_by_ctrl_c(),
    };
    let report = afterthought_bench::run(&settings, |line| tell!("{line} …"));
    if let (Err(_), true, Some(path)) = (&report, is_new, &args.output) {
        std::fs::remove_file(path)?;
    }
    let report = report?;
    let form = args.report.unwrap_or(if global.json { ReportArg::Json } else { ReportArg::Md });
    hand_over(&report, form, args.output.as_deref())?;
    Ok(0)
}

/// Returns each rival once, in the order of reports.
fn against(args: &Bench) -> Vec<Peer> {
    let is_asked = |peer: &Peer| args.against.contains(peer) && !(args.no_scan && *peer == Peer::Scan);
    Peer::ALL.into_iter().filter(is_asked).collect()
}

/// Makes sure that a file can be written. Returns whether it was not there before.
fn writable(path: &Path) -> Result<bool, Failure> {
    let is_new = !path.exists();
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map(|_| is_new).map_err(|error| Failure::Usage(format!("--output {}: {error}", path.display())))
}

fn hand_over(report: &Report, form: ReportArg, file: Option<&Path>) -> Result<(), Failure> {
    let text = match form {
        ReportArg::Html => report.html()?,
        ReportArg::Md => report.markdown(),
        ReportArg::Json => serde_json::to_string(report).map_err(std::io::Error::from)? + "\n",
    };
    match file {
        Some(path) => {
            std::fs::write(path, text)?;
            tell!("written to {}", path.display());
        }
        None if form == ReportArg::Json => print_json(report)?,
        None => print_text(&text)?,
    }
    Ok(())
}

/// Does one piece of the work.
pub(crate) fn twin(args: &BenchTwin) -> Result<u8, Failure> {
    let parsed = |error: serde_json::Error| Failure::Usage(format!("bench-twin: {error}"));
    if let Some(piece) = args.build {
        let rival = Rival::open(&args.database, Cache::Large)?;
        rival.build_piece(piece)?;
        print_json(&json!({ "optimize_s": rival.optimize_piece(piece)? }))?;
    }
    if let Some(asked) = &args.ask {
        let asked: Asked = serde_json::from_str(asked).map_err(parsed)?;
        if let Some((cache, way)) = asked.way {
            print_json(&Rival::open(&args.database, cache)?.ask(&asked.question, way)?)?;
        }
    }
    if let Some(reading) = &args.read {
        let reading: Reading = serde_json::from_str(reading).map_err(parsed)?;
        let index = args.index_dir.clone().unwrap_or_default();
        print_json(&afterthought_bench::read(&args.database, &index, &reading)?)?;
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
