//! What a run found, in the shape of `schema/bench.schema.json`.

use serde::Serialize;

/// One run of the bench.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of this shape.
    pub schema_version: u32,
    /// When it began, RFC 3339 in UTC.
    pub date: Option<String>,
    /// The line that runs it again.
    pub command: String,
    /// What is compared.
    pub versions: Versions,
    /// What it ran on.
    pub machine: Machine,
    /// What was searched.
    pub archive: ArchiveFacts,
    /// How it was measured.
    pub settings: RunSettings,
    /// What the indexes cost.
    pub build: Builds,
    /// What the searches cost.
    pub cases: Vec<Case>,
    /// Query classes that this archive cannot be asked, and why.
    pub left_out: Vec<String>,
}

/// Versions of what is compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Versions {
    /// This program.
    pub aft: String,
    /// The index library below it.
    pub tantivy: String,
    /// `SQLite`.
    pub sqlite: String,
    /// Whether this program was built with optimisations throughout.
    pub optimised: bool,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Processors that this process may use.
    pub cores: usize,
    /// The processor's name.
    pub cpu: Option<String>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The operating system.
    pub system: String,
}

/// The archive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArchiveFacts {
    /// Its path.
    pub path: String,
    /// Its size with its log.
    pub bytes: u64,
    /// Messages.
    pub rows: u64,
    /// Sessions.
    pub sessions: u64,
    /// Text that was indexed, decoded.
    pub text_bytes: u64,
    /// Tool outputs longer than FTS5's layout indexes.
    pub rows_cut: u64,
    /// Rows whose content is JSON behind a NUL, which SQL cannot look into.
    pub rows_encoded: u64,
}

/// How it was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSettings {
    /// Chooses queries and orders runs.
    pub seed: u64,
    /// Runs of each search inside a process at most.
    pub runs: usize,
    /// Runs of each search as a process at most.
    pub process_runs: usize,
    /// Seconds for one search on one side.
    pub budget_s: f64,
}

/// What both indexes cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Builds {
    /// Ours.
    pub ours: Build,
    /// FTS5's `rebuild`.
    pub fts5: Build,
    /// FTS5's `optimize`, in seconds, after it.
    pub fts5_optimize_s: f64,
}

/// What one index cost, built by a process of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Build {
    /// Seconds.
    pub seconds: f64,
    /// Rows a second.
    pub rows_per_s: f64,
    /// Bytes of text a second.
    pub text_bytes_per_s: f64,
    /// Most memory that was the process's own; `None` where the system does not tell.
    pub peak_anonymous_bytes: Option<u64>,
    /// Size of the index.
    pub index_bytes: u64,
    /// The same by byte of text.
    pub index_bytes_per_text_byte: f64,
}

/// One query on every side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// The kind of query.
    pub class: String,
    /// The query.
    pub query: String,
    /// Whether every word must be there.
    pub all: bool,
    /// The role asked for.
    pub role: Option<String>,
    /// How the query was chosen.
    pub about: String,
    /// How many messages each side finds.
    pub totals: Totals,
    /// One process that stays.
    pub in_process: InProcess,
    /// A process for each search; `None` where that was not asked for.
    pub whole_process: Option<WholeProcess>,
    /// How many times our median the others' are.
    pub ratios: Ratios,
}

/// How many messages each side finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Ours.
    pub ours: u64,
    /// FTS5.
    pub fts5: u64,
    /// The scan, where it ran.
    pub scan: Option<u64>,
    /// Whether ours and FTS5's are equal.
    pub agree: bool,
}

/// Times in a process that stays.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InProcess {
    /// Ours.
    pub ours: Figure,
    /// FTS5 with 2 MB of cache.
    pub fts5: Figure,
    /// FTS5 with 256 MB.
    pub fts5_large_cache: Figure,
    /// The same without the total.
    pub fts5_page_only: Figure,
    /// The scan, on a connection of its own with 2 MB.
    pub scan: Option<Figure>,
}

/// Times of whole processes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WholeProcess {
    /// `aft search`.
    pub ours: Figure,
    /// Its twin that asks FTS5.
    pub fts5: Figure,
    /// Its twin that scans.
    pub scan: Option<Figure>,
}

/// Others' medians as multiples of ours; above 1, ours is faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratios {
    /// FTS5 with whichever cache served it better.
    pub fts5: f64,
    /// FTS5 without the total, against ours with it.
    pub fts5_page_only: f64,
    /// FTS5 as a whole process.
    pub fts5_process: Option<f64>,
    /// The scan.
    pub scan: Option<f64>,
}

/// Times of one search on one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// How often it ran, the warming run left out.
    pub runs: usize,
    /// The fastest.
    pub min_ms: f64,
    /// The median.
    pub median_ms: f64,
    /// The 99th percentile; `None` of fewer than 100 runs.
    pub p99_ms: Option<f64>,
    /// The slowest.
    pub max_ms: f64,
}
