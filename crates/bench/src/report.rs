//! What a run found, in the shape of `schema/bench.schema.json`.

use serde::Serialize;

use crate::question::Shape;

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
    /// What the indexes cost, ours first.
    pub builds: Vec<Build>,
    /// What the searches cost.
    pub cases: Vec<Case>,
    /// Whether the answers to queries that need every word are the same.
    pub agreements: Vec<Agreement>,
    /// Searches a second.
    pub readers: Vec<Readers>,
    /// What an index costs the agent that writes.
    pub appends: Appends,
    /// What this archive cannot be asked, or this machine cannot measure, and why.
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
    /// Tool outputs longer than the newest layouts of FTS5 index.
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
    /// Builds of each index.
    pub builds: usize,
    /// Who is measured beside ours.
    pub against: Vec<String>,
}

/// What one index cost, built by a process of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Build {
    /// What was built: `ours`, or a piece of a rival.
    pub side: String,
    /// How often.
    pub builds: usize,
    /// Seconds, the median.
    pub seconds: f64,
    /// The fastest and the slowest.
    pub seconds_min: f64,
    /// The slowest.
    pub seconds_max: f64,
    /// FTS5's `optimize` after it, in seconds, counted nowhere else.
    pub optimize_s: Option<f64>,
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
    /// What the answer looks like.
    pub shape: Shape,
    /// How the query was chosen.
    pub about: String,
    /// Every side's answer, ours first.
    pub sides: Vec<Answered>,
    /// Every way in which FTS5's strongest layout was asked, to find the fastest.
    pub ways: Vec<Tried>,
    /// How many messages `MATCH` finds, where a scan answers because `MATCH` finds too few.
    pub match_total: Option<u64>,
}

/// One side's answer to one query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answered {
    /// Who: `ours`, `best`, `v30`, `shipped` or `scan`.
    pub side: String,
    /// How it was asked; `None` for ours.
    pub way: Option<String>,
    /// How many messages it finds, or sessions.
    pub total: u64,
    /// In a process that stays: page, snippets and total.
    pub warm: Figure,
    /// The same without the total, where its own way to that is faster.
    pub page_only: Option<Figure>,
    /// As the agent asks: 300 rows with snippets, no total.
    pub as_agent: Option<Figure>,
    /// As a process from start to end.
    pub process: Option<Figure>,
    /// The same after its files left the page cache.
    pub cold: Option<Figure>,
    /// Its medians as multiples of ours; `None` for ours.
    pub ratios: Option<Ratios>,
}

/// A side's medians as multiples of ours; above 1, ours is faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratios {
    /// In a process that stays.
    pub warm: f64,
    /// Without the total, against ours with it.
    pub page_only: Option<f64>,
    /// As a process.
    pub process: Option<f64>,
    /// As a process whose files are on disk only.
    pub cold: Option<f64>,
}

/// One way that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// How.
    pub way: String,
    /// Whether it gave the total.
    pub total: bool,
    /// Median of the runs that were counted.
    pub median_ms: f64,
    /// How many runs that were; 1 where it was left far behind at once.
    pub runs: usize,
}

/// Whether two sides give the same messages to one query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// The query; every word must be there.
    pub query: String,
    /// How many messages we find.
    pub ours: u64,
    /// How many FTS5 finds.
    pub fts5: u64,
    /// Whether ids were compared; they are not where there are too many.
    pub compared: bool,
    /// Messages that only we find.
    pub only_ours: u64,
    /// Messages that only FTS5 finds.
    pub only_fts5: u64,
    /// Differing messages that were looked at.
    pub examined: u64,
    /// Why they differ.
    pub reasons: Vec<Reason>,
}

/// Why some messages are found by one side alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Who finds them: `ours` or `fts5`.
    pub side: String,
    /// Why.
    pub why: String,
    /// How many of those examined.
    pub rows: u64,
    /// One of them.
    pub example: i64,
}

/// Searches a second of a process with some reading threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Readers {
    /// Who.
    pub side: String,
    /// Threads.
    pub threads: usize,
    /// Searches done.
    pub searches: u64,
    /// In which time.
    pub seconds: f64,
    /// Searches a second.
    pub searches_per_s: f64,
    /// Most memory that was the process's own.
    pub peak_anonymous_bytes: Option<u64>,
}

/// What an appended row costs the agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Appends {
    /// With no index that the agent keeps true; so with ours.
    pub bare: Figure,
    /// With the triggers of each layout.
    pub layouts: Vec<Append>,
    /// Our sync after one row, which the agent does not wait for.
    pub our_sync: Figure,
}

/// What an appended row costs with one layout's triggers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Append {
    /// The layout.
    pub side: String,
    /// The whole insert with its commit.
    pub insert: Figure,
    /// By how much its median is above an insert without an index.
    pub added_ms: f64,
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
    /// The 95th percentile; `None` of fewer than 20 runs.
    pub p95_ms: Option<f64>,
    /// The 99th percentile; `None` of fewer than 100 runs.
    pub p99_ms: Option<f64>,
    /// The slowest.
    pub max_ms: f64,
}

impl Report {
    /// Returns a case's side by name.
    pub(crate) fn build(&self, side: &str) -> Option<&Build> {
        self.builds.iter().find(|build| build.side == side)
    }
}

impl Case {
    /// Returns a side's answer, where it was asked.
    pub(crate) fn side(&self, name: &str) -> Option<&Answered> {
        self.sides.iter().find(|side| side.side == name)
    }
}

#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    /// Returns times around a median.
    pub(crate) fn figure(runs: usize, median_ms: f64) -> Figure {
        Figure {
            runs,
            min_ms: median_ms / 2.0,
            median_ms,
            p95_ms: (runs >= 20).then_some(median_ms * 1.5),
            p99_ms: (runs >= 100).then_some(median_ms * 2.0),
            max_ms: median_ms * 3.0,
        }
    }

    fn side(name: &str, total: u64, median_ms: f64, ratio: Option<f64>) -> Answered {
        let ratios =
            ratio.map(|warm| Ratios { warm, page_only: Some(0.5), process: Some(0.9), cold: Some(2.0) });
        Answered {
            side: name.to_owned(),
            way: ratio.map(|_| "ORDER BY rank, 2 MB".to_owned()),
            total,
            warm: figure(101, median_ms),
            page_only: ratio.map(|_| figure(101, 1.0)),
            as_agent: None,
            process: Some(figure(21, 10.0)),
            cold: Some(figure(5, 40.0)),
            ratios,
        }
    }

    /// Returns one question on three sides.
    pub(crate) fn case() -> Case {
        Case {
            class: "common word".to_owned(),
            query: "lock|order <b>".to_owned(),
            all: false,
            role: Some("user".to_owned()),
            shape: Shape::Best,
            about: "in 60 % of rows".to_owned(),
            sides: vec![
                side("ours", 1_234, 2.0, None),
                side("best", 1_200, 20.0, Some(10.0)),
                side("scan", 1_300, 600.0, Some(300.0)),
            ],
            ways: vec![
                Tried { way: "ORDER BY rank, 2 MB".to_owned(), total: true, median_ms: 20.0, runs: 3 },
                Tried { way: "one pass, 2 MB".to_owned(), total: true, median_ms: 70.0, runs: 1 },
            ],
            match_total: None,
        }
    }

    fn build(side: &str, seconds: f64, index_bytes: u64) -> Build {
        Build {
            side: side.to_owned(),
            builds: 1,
            seconds,
            seconds_min: seconds,
            seconds_max: seconds,
            optimize_s: (side != "ours").then_some(2.5),
            rows_per_s: 15_000.0,
            text_bytes_per_s: 2e7,
            peak_anonymous_bytes: Some(400_000_000),
            index_bytes,
            index_bytes_per_text_byte: 0.7,
        }
    }

    fn readers(side: &str, searches_per_s: f64) -> Readers {
        Readers {
            side: side.to_owned(),
            threads: 2,
            searches: 900,
            seconds: 5.0,
            searches_per_s,
            peak_anonymous_bytes: Some(30_000_000),
        }
    }

    fn head() -> (Versions, Machine, ArchiveFacts) {
        let versions = Versions {
            aft: "0.1.0".to_owned(),
            tantivy: "0.27.0".to_owned(),
            sqlite: "3.50.0".to_owned(),
            optimised: true,
        };
        let machine =
            Machine { cores: 2, cpu: None, memory_bytes: Some(8_000_000_000), system: "Linux".to_owned() };
        let archive = ArchiveFacts {
            path: "/a/state.db".to_owned(),
            bytes: 5_000_000,
            rows: 2_000,
            sessions: 30,
            text_bytes: 4_000_000,
            rows_cut: 3,
            rows_encoded: 0,
        };
        (versions, machine, archive)
    }

    /// Returns a report of some questions.
    pub(crate) fn report(cases: Vec<Case>) -> Report {
        let (versions, machine, archive) = head();
        let reason =
            Reason { side: "ours".to_owned(), why: "Han inside a run".to_owned(), rows: 2, example: 17 };
        Report {
            schema_version: 2,
            date: Some("2026-09-01T10:00:00Z".to_owned()),
            command: "aft bench".to_owned(),
            versions,
            machine,
            archive,
            settings: RunSettings {
                seed: 7,
                runs: 101,
                process_runs: 21,
                budget_s: 5.0,
                builds: 1,
                against: vec!["best".to_owned(), "scan".to_owned()],
            },
            builds: vec![
                build("ours", 20.0, 1_100_000),
                build("best", 10.0, 900_000),
                build("best-trigram", 40.0, 4_000_000),
            ],
            cases,
            agreements: vec![Agreement {
                query: "lock order".to_owned(),
                ours: 12,
                fts5: 10,
                compared: true,
                only_ours: 2,
                only_fts5: 0,
                examined: 2,
                reasons: vec![reason],
            }],
            readers: vec![readers("ours", 180.0), readers("best", 20.0)],
            appends: Appends {
                bare: figure(101, 0.2),
                layouts: vec![Append { side: "best".to_owned(), insert: figure(101, 0.5), added_ms: 0.3 }],
                our_sync: figure(101, 4.0),
            },
            left_out: vec!["two Han characters: the archive holds no Han".to_owned()],
        }
    }
}
