//! Measures what a first build costs and what a search costs afterwards, as a user would see it:
//! whole processes of `aft`, on an archive written by seed or on one's own.
//!
//!     cargo run --release -p afterthought-benches --example first-build -- --rows 300000

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use afterthought_tools::corpus::{self, Field, Plan};
use clap::Parser;
use serde_json::{Value, json};

/// Measures a first build and the searches after it.
#[derive(Parser)]
struct Arguments {
    /// Rows of the archive to write
    #[arg(long, default_value_t = 300_000)]
    rows: u64,
    /// Seed of the archive to write
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Measure on this archive instead
    #[arg(long)]
    archive: Option<PathBuf>,
    /// The program to measure [default: aft beside this program]
    #[arg(long)]
    aft: Option<PathBuf>,
    /// Runs of each search
    #[arg(long, default_value_t = 21)]
    runs: usize,
    /// Queries to time
    #[arg(long = "query")]
    queries: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let folder = tempfile::tempdir()?;
    let aft = match &arguments.aft {
        Some(path) => path.clone(),
        // Examples stand one folder below the programs.
        None => std::env::current_exe()?.parent().and_then(Path::parent).ok_or("no folder")?.join("aft"),
    };
    if !aft.exists() {
        return Err(
            format!("{} is not there; build it first: cargo build --release -p aft", aft.display()).into()
        );
    }
    let mut queries = arguments.queries.clone();
    let archive = if let Some(path) = &arguments.archive {
        path.clone()
    } else {
        let path = folder.path().join("state.db");
        let report = corpus::write(&path, &Plan::new(arguments.rows, arguments.seed), |_| {})?;
        let words = corpus::vocabulary();
        queries.push(words[0].clone());
        queries.push(format!("{} {} {}", words[3], words[40], words[400]));
        let needle = report.planted.iter().find(|planted| planted.field == Field::Reasoning);
        queries.extend(needle.map(|planted| planted.token.clone()));
        path
    };
    let program = Program { aft, archive, index: folder.path().join("index") };
    let build = program.build()?;
    let searches: Vec<Value> =
        queries.iter().map(|query| program.time(query, arguments.runs)).collect::<Result<_, _>>()?;
    println!("{}", serde_json::to_string_pretty(&json!({ "build": build, "searches": searches }))?);
    Ok(())
}

struct Program {
    aft: PathBuf,
    archive: PathBuf,
    index: PathBuf,
}

impl Program {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.aft);
        command
            .arg("--archive")
            .arg(&self.archive)
            .arg("--index")
            .arg(&self.index)
            .arg("--json")
            .args(arguments);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn answer(&self, arguments: &[&str]) -> Result<Value, Box<dyn Error>> {
        Ok(serde_json::from_slice(&self.command(arguments).output()?.stdout)?)
    }

    /// Builds the index; meanwhile searches, and watches the memory.
    fn build(&self) -> Result<Value, Box<dyn Error>> {
        let mut child = self.command(&["index"]).stdout(Stdio::piped()).spawn()?;
        let (mut anonymous_kb, mut during) = (0, Value::Null);
        let began = Instant::now();
        while child.try_wait()?.is_none() {
            anonymous_kb = anonymous_kb.max(anonymous_memory_kb(&child));
            if during.is_null() && began.elapsed() > Duration::from_secs(6) {
                let page = self.answer(&["search", "--wait", "0", "the"])?;
                during = json!({ "state": page["index"]["state"], "percent": page["index"]["percent"] });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output()?;
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let figure = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let (text, seconds) =
            (figure(&report["work"]["text_bytes"]), figure(&report["elapsed_ms"]) / 1_000.0);
        let rows = figure(&report["work"]["docs_added"]);
        Ok(json!({
            "rows": report["work"]["docs_added"],
            "text_mb": text / 1e6,
            "seconds": seconds,
            "rows_per_s": rows / seconds,
            "text_mb_per_s": text / 1e6 / seconds,
            "peak_rss_anon_mb": f64::from(anonymous_kb) / 1e3,
            "index_mb": figure(&report["index_bytes"]) / 1e6,
            "index_bytes_per_text_byte": figure(&report["index_bytes"]) / text,
            "search_during_build": during,
        }))
    }

    /// Times whole processes of one search, after one that is not counted.
    fn time(&self, query: &str, runs: usize) -> Result<Value, Box<dyn Error>> {
        let page = self.answer(&["search", "--", query])?;
        let mut millis = Vec::new();
        for _ in 0..runs.max(1) {
            let began = Instant::now();
            self.answer(&["search", "--", query])?;
            millis.push(began.elapsed().as_secs_f64() * 1_000.0);
        }
        millis.sort_by(f64::total_cmp);
        Ok(json!({
            "query": query,
            "hits": page["total"]["value"],
            "process_ms": { "min": millis[0], "median": millis[millis.len() / 2], "max": millis[millis.len() - 1] },
            "in_process_ms": page["elapsed_ms"],
        }))
    }
}

/// Returns the memory that belongs to the process alone, mapped files left out; 0 where the system
/// does not tell.
fn anonymous_memory_kb(child: &Child) -> u32 {
    let path = Path::new("/proc").join(child.id().to_string()).join("status");
    let status = fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|value| value.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}
