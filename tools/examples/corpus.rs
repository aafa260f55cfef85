//! Writes a corpus: an archive of any size by seed, and what is known to stand in it.
//!
//!     cargo run --release -p afterthought-tools --example corpus -- OUT.db --shape a --rows 300000

use std::error::Error;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use afterthought_tools::archive::{Fts, Shape};
use afterthought_tools::corpus::{self, Mix, Plan};
use clap::{Parser, ValueEnum};
use serde_json::json;

/// Writes an agent's archive by seed: the same options give the same bytes, at any size.
///
/// The text is Zipf words of sixty thousand, with code, paths, JSON, Chinese, Russian, Japanese and
/// Korean; texts that repeat an earlier one with some words changed; now and then one of a
/// megabyte. Lengths by role are those of real agents' records. A summary goes to stdout as JSON,
/// progress to stderr.
#[derive(Parser)]
#[command(name = "corpus", after_help = EXAMPLES)]
struct Arguments {
    /// The archive to write; must not exist
    out: PathBuf,
    /// Which published archive to resemble
    #[arg(long, value_enum, default_value = "a")]
    shape: Letter,
    /// Rows of `messages`, exactly; A was published with 289,433
    #[arg(long, default_value_t = 289_433, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    rows: u64,
    /// Version of the tables: v22 is the agent's 0.19.0
    #[arg(long, value_enum, default_value = "v22")]
    schema: Schema,
    /// Decides all text, lengths and times
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Scale the length of every text by this: ten million rows at 0.2 take about 6 GB
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    lengths: f64,
    /// Also fill the agent's own full-text tables: several times the size and the time
    #[arg(long)]
    fts: bool,
    /// Write what is known of single rows here, as JSON: planted words, repeats, words by frequency
    #[arg(long, value_name = "TRUTH.json")]
    truth: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  corpus a.db --truth a.json                   the published size, in seconds
  corpus b.db --shape b --rows 3000000         three million rows, mostly outputs of scheduled jobs
  corpus old.db --schema v6 --rows 20000       as an early version left it

A planted word stands in one field of one row: needle…… in reasoning, marker…… in what a person or
the agent said, finding…… in a tool's output, command…… in a call's arguments.";

#[derive(Clone, Copy, ValueEnum)]
enum Letter {
    /// 21 % of the rows carry reasoning, 8 % nothing else; 1,062 characters of content a row
    A,
    /// 58 % of the rows are outputs of tools, 94 % of the bytes lie in scheduled sessions
    B,
}

#[derive(Clone, Copy, ValueEnum)]
enum Schema {
    V6,
    V11,
    V22,
    V30,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("corpus: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    for path in [Some(&arguments.out), arguments.truth.as_ref()].into_iter().flatten() {
        if path.exists() {
            return Err(format!("{} exists; name another file or remove it", path.display()).into());
        }
    }
    if arguments.truth.as_ref() == Some(&arguments.out) {
        return Err("the archive and the truth need two names; change --truth".into());
    }
    // Under another name until it is whole: half an archive must not pass for one.
    let part = arguments.out.with_added_extension("part");
    if part.exists() {
        fs::remove_file(&part)?;
    }
    let began = Instant::now();
    let mut progress = Progress::new(arguments.rows);
    let report = corpus::write(&part, &plan(arguments), |rows| progress.tell(rows))
        .map_err(|error| format!("write {}: {error}", part.display()))?;
    fs::rename(&part, &arguments.out)?;
    let seconds = began.elapsed().as_secs_f64();
    if let Some(path) = &arguments.truth {
        write_json(path, &report.truth())?;
    }
    let mut summary = report.json();
    summary["file_bytes"] = fs::metadata(&arguments.out)?.len().into();
    summary["seconds"] = json!((seconds * 100.0).round() / 100.0);
    #[expect(clippy::cast_precision_loss, reason = "rows are counted in millions")]
    let rows_per_second = arguments.rows as f64 / seconds;
    summary["rows_per_second"] = json!(rows_per_second.round());
    println!("{}", serde_json::to_string_pretty(&summary)?);
    Ok(())
}

fn plan(arguments: &Arguments) -> Plan {
    Plan {
        mix: match arguments.shape {
            Letter::A => Mix::A,
            Letter::B => Mix::B,
        },
        schema: match arguments.schema {
            Schema::V6 => Shape::V6,
            Schema::V11 => Shape::V11,
            Schema::V22 => Shape::V22,
            Schema::V30 => Shape::V30,
        },
        fts: if arguments.fts { Fts::Hermes } else { Fts::None },
        lengths_per_mille: per_mille(arguments.lengths),
        ..Plan::new(arguments.rows, arguments.seed)
    }
}

fn factor(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.01..=10.0).contains(&factor) { Ok(factor) } else { Err("not in 0.01..=10".to_owned()) }
}

fn per_mille(factor: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "10 to 10,000")]
    let per_mille = (factor * 1_000.0).round() as u64;
    per_mille
}

fn write_json(path: &Path, value: &serde_json::Value) -> Result<(), Box<dyn Error>> {
    fs::write(path, serde_json::to_string_pretty(value)? + "\n")
        .map_err(|error| format!("write {}: {error}", path.display()).into())
}

/// Tells how far it is, on a line of its own every few seconds.
struct Progress {
    rows: u64,
    told: Instant,
    every: Duration,
}

impl Progress {
    fn new(rows: u64) -> Progress {
        let every = Duration::from_secs(if std::io::stderr().is_terminal() { 1 } else { 10 });
        Progress { rows, told: Instant::now(), every }
    }

    fn tell(&mut self, rows: u64) {
        if self.told.elapsed() >= self.every {
            eprintln!("{rows} of {} rows", self.rows);
            self.told = Instant::now();
        }
    }
}
