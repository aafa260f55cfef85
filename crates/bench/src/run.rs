//! One run from archive to report: copy, build both indexes, choose queries, ask, measure.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use afterthought::archive::Archive;
use afterthought::time::{now_ms, rfc3339};
use afterthought::{Engine, Error, ErrorKind, Level, Options, Result};
use rusqlite::{Connection, OptionalExtension};
use tempfile::TempDir;

use crate::failed;
use crate::machine::{check_space, machine, versions};
use crate::measure::{Rounds, in_turns};
use crate::program::{Program, Twin, Watched};
use crate::queries::{Class, Mix, choose, given};
use crate::question::Question;
use crate::report::{
    ArchiveFacts, Build, Builds, Case, Figure, InProcess, Ratios, Report, RunSettings, Totals, WholeProcess,
};
use crate::rival::{Cache, Rival, text};

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The archive.
    pub archive: PathBuf,
    /// Copy an archive of any size where it cannot be read in place.
    pub allow_copy: bool,
    /// The program to run as a process.
    pub aft: PathBuf,
    /// Where the private copy and both indexes stand meanwhile.
    pub folder: PathBuf,
    /// The line that runs it again, for the report.
    pub command: String,
    /// Chooses queries and orders runs.
    pub seed: u64,
    /// Runs of each search on each side at most; a fifth of them as whole processes.
    pub runs: usize,
    /// Time for one search on one side, after which it runs no more.
    pub budget: Duration,
    /// Ask these queries, one a line, instead of chosen ones.
    pub queries: Option<String>,
    /// Also scan.
    pub scan: bool,
    /// Also measure whole processes.
    pub whole_process: bool,
    /// Set to end the run early and in good order.
    pub stop: Arc<AtomicBool>,
}

impl Settings {
    /// Returns how often each search runs as a process at most.
    fn process_runs(&self) -> usize {
        self.runs.div_ceil(5)
    }

    fn rounds(&self, runs: usize) -> Rounds {
        Rounds { runs, budget: self.budget, seed: self.seed }
    }

    fn check_stop(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Interrupted, "measure", self.archive.display())
                .because("stopped; nothing is left behind"));
        }
        Ok(())
    }
}

/// Measures an archive. `tell` hears what is done, in a few lines.
///
/// Reads the archive once into a private copy and leaves nothing behind. Fails if the archive cannot
/// be read, or if the disk is too small for the copy and two indexes.
pub fn run(settings: &Settings, mut tell: impl FnMut(&str)) -> Result<Report> {
    let date = rfc3339(now_ms());
    let asked = settings.queries.as_deref().map(given);
    if asked.as_ref().is_some_and(|mix| mix.classes.is_empty()) {
        return Err(Error::new(ErrorKind::Usage, "read", "the file of queries")
            .because("it holds no query")
            .hint("write one query a line"));
    }
    let archive = Archive::at(&settings.archive, settings.allow_copy)?;
    let stored = archive.stored_bytes()?;
    // A copy, two indexes of up to the text's size together, and the log while FTS5 builds its own.
    check_space(&settings.folder, stored / 2 * 5 + SPACE_BYTES_MIN)?;
    let folder = private_folder(&settings.folder)?;
    let program = Program {
        aft: settings.aft.clone(),
        copy: folder.path().join("archive.db"),
        index: folder.path().join("index"),
    };
    tell(&format!("copying {} MB of rows", stored / 1_000_000));
    archive.copy_rows(&program.copy, |_| settings.check_stop())?;
    tell("building the FTS5 index");
    let fts5 = program.build_fts5()?;
    settings.check_stop()?;
    tell("building our index");
    let ours = program.build_ours()?;
    let sides = Sides::open(&program)?;
    // As they stay: merges have ended, and `optimize` is done.
    let (our_bytes, their_bytes) = (sides.engine.status()?.index_bytes, sides.large.index_bytes()?);
    let facts = facts(&archive, sides.large.connection(), &ours)?;
    tell("choosing queries");
    let mix = match asked {
        Some(mix) => mix,
        None => choose(&sides.large, facts.rows, settings.seed)?,
    };
    let cases = cases(&mix, sides.large.connection())?;
    tell(&format!("asking {} questions of every side", cases.len()));
    let cases = measured(settings, &program, &sides, &cases, &mut tell)?;
    Ok(Report {
        schema_version: 1,
        date,
        command: settings.command.clone(),
        versions: versions(),
        machine: machine(),
        settings: RunSettings {
            seed: settings.seed,
            runs: settings.runs,
            process_runs: settings.process_runs(),
            budget_s: settings.budget.as_secs_f64(),
        },
        build: builds(&facts, (&ours, our_bytes), (&fts5, their_bytes)),
        archive: facts,
        cases,
        left_out: mix.left_out,
    })
}

/// What even an empty archive needs.
const SPACE_BYTES_MIN: u64 = 64 * 1024 * 1024;

fn private_folder(parent: &Path) -> Result<TempDir> {
    let make = || -> std::io::Result<TempDir> {
        let folder = tempfile::Builder::new().prefix("afterthought-bench-").tempdir_in(parent)?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))?;
        Ok(folder)
    };
    make().map_err(failed("make a folder in", parent.display()))
}

/// Everyone who answers inside this process.
struct Sides {
    engine: Engine,
    shipped: Rival,
    large: Rival,
    /// Scans on a connection of its own: every scan would wash FTS5's pages out of the cache.
    scanning: Rival,
}

impl Sides {
    fn open(program: &Program) -> Result<Self> {
        let shipped = Rival::open(&program.copy, Cache::Shipped)?;
        let large = Rival::open(&program.copy, Cache::Large)?;
        let scanning = Rival::open(&program.copy, Cache::Shipped)?;
        // The first statement makes the log's files appear; our side then sees them as they stay.
        for rival in [&shipped, &large] {
            rival.fts5_page(&Question::any("the"))?;
        }
        let engine = Engine::open(&Options::new(&program.copy, &program.index))?;
        engine.freshen(Level::Full, Duration::MAX, |_| {})?.ended()?;
        Ok(Self { engine, shipped, large, scanning })
    }

    fn ask(&self, side: Side, question: &Question) -> Result<()> {
        match side {
            Side::Ours => self.engine.search(question.request()).map(drop),
            Side::Fts5 => self.shipped.fts5(question).map(drop),
            Side::Fts5LargeCache => self.large.fts5(question).map(drop),
            Side::Fts5PageOnly => self.large.fts5_page(question).map(drop),
            Side::Scan => self.scanning.scan(question).map(drop),
        }
    }

    fn totals(&self, question: &Question, scan: bool) -> Result<Totals> {
        let ours = self.engine.search(question.request())?.total.value;
        let fts5 = self.large.fts5(question)?.total.unwrap_or_default();
        let scan = if scan { self.scanning.scan(question)?.total } else { None };
        Ok(Totals { ours, fts5, scan, agree: ours == fts5 })
    }
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Ours,
    Fts5,
    Fts5LargeCache,
    Fts5PageOnly,
    Scan,
}

fn facts(archive: &Archive, copy: &Connection, ours: &Watched) -> Result<ArchiveFacts> {
    let count = |sql: &str| -> Result<u64> {
        let count = copy.query_row(sql, [], |row| row.get::<_, i64>(0));
        count.map(i64::unsigned_abs).map_err(failed("count in", "the copy"))
    };
    Ok(ArchiveFacts {
        path: archive.path().display().to_string(),
        bytes: archive.stamp()?.bytes(),
        rows: count("SELECT count(*) FROM messages")?,
        sessions: count("SELECT count(*) FROM sessions")?,
        text_bytes: ours.report["work"]["text_bytes"].as_u64().unwrap_or_default(),
        rows_cut: count("SELECT count(*) FROM messages WHERE role = 'tool' AND length(content) > 8192")?,
        rows_encoded: count("SELECT count(*) FROM messages WHERE instr(content, char(0) || 'json:') = 1")?,
    })
}

fn builds(facts: &ArchiveFacts, ours: (&Watched, u64), fts5: (&Watched, u64)) -> Builds {
    let build = |(watched, index_bytes): (&Watched, u64), seconds: f64| Build {
        seconds,
        rows_per_s: number(facts.rows) / seconds,
        text_bytes_per_s: number(facts.text_bytes) / seconds,
        peak_anonymous_bytes: watched.peak_anonymous_bytes,
        index_bytes,
        index_bytes_per_text_byte: number(index_bytes) / number(facts.text_bytes.max(1)),
    };
    let optimize_s = fts5.0.report["optimize_s"].as_f64().unwrap_or_default();
    Builds {
        ours: build(ours, ours.0.seconds),
        fts5: build(fts5, fts5.0.seconds - optimize_s),
        fts5_optimize_s: optimize_s,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn number(count: u64) -> f64 {
    count as f64
}

/// Returns every class, of anyone and of the role that speaks most.
fn cases(mix: &Mix, copy: &Connection) -> Result<Vec<Class>> {
    let sql = "SELECT role FROM messages WHERE role NOT IN ('tool', 'session_meta') GROUP BY role \
        ORDER BY count(*) DESC LIMIT 1";
    let role: Option<String> = copy
        .query_row(sql, [], |row| row.get_ref(0).map(text))
        .optional()
        .map_err(failed("count in", "the copy"))?;
    let both = |class: &Class| {
        let of_role =
            role.as_ref().map(|role| Class { question: class.question.of_role(role), ..class.clone() });
        std::iter::once(class.clone()).chain(of_role).collect::<Vec<_>>()
    };
    Ok(mix.classes.iter().flat_map(both).collect())
}

fn measured(
    settings: &Settings,
    program: &Program,
    sides: &Sides,
    cases: &[Class],
    tell: &mut impl FnMut(&str),
) -> Result<Vec<Case>> {
    let mut totals = Vec::new();
    for case in cases {
        settings.check_stop()?;
        totals.push(sides.totals(&case.question, settings.scan)?);
    }
    let mut who = vec![Side::Ours, Side::Fts5, Side::Fts5LargeCache, Side::Fts5PageOnly];
    who.extend(settings.scan.then_some(Side::Scan));
    let rounds = settings.rounds(settings.runs);
    tell(&format!("measuring in one process, {} searches by turns", cases.len() * who.len()));
    let inside = in_turns(cases.len() * who.len(), rounds, |job| {
        settings.check_stop()?;
        sides.ask(who[job % who.len()], &cases[job / who.len()].question)
    })?;
    let mut twins = vec![Twin::Ours, Twin::Fts5];
    twins.extend(settings.scan.then_some(Twin::Scan));
    let outside = if settings.whole_process {
        tell(&format!("measuring whole processes, {} searches by turns", cases.len() * twins.len()));
        in_turns(cases.len() * twins.len(), settings.rounds(settings.process_runs()), |job| {
            settings.check_stop()?;
            program.ask(twins[job % twins.len()], &cases[job / twins.len()].question)
        })?
    } else {
        Vec::new()
    };
    let mut outside = outside.chunks(twins.len());
    let cases = cases.iter().zip(totals).zip(inside.chunks(who.len()));
    Ok(cases.map(|((case, totals), inside)| as_case(case, totals, inside, outside.next())).collect())
}

/// Puts the figures of one question together, in the order in which the sides were asked.
fn as_case(case: &Class, totals: Totals, inside: &[Figure], outside: Option<&[Figure]>) -> Case {
    let in_process = InProcess {
        ours: inside[0].clone(),
        fts5: inside[1].clone(),
        fts5_large_cache: inside[2].clone(),
        fts5_page_only: inside[3].clone(),
        scan: inside.get(4).cloned(),
    };
    let whole_process = outside.map(|outside| WholeProcess {
        ours: outside[0].clone(),
        fts5: outside[1].clone(),
        scan: outside.get(2).cloned(),
    });
    let ratio = |other: &Figure, ours: &Figure| other.median_ms / ours.median_ms;
    Case {
        class: case.name.clone(),
        query: case.question.query.clone(),
        all: case.question.all,
        role: case.question.role.clone(),
        about: case.about.clone(),
        totals,
        ratios: Ratios {
            fts5: ratio(&in_process.fts5, &in_process.ours)
                .min(ratio(&in_process.fts5_large_cache, &in_process.ours)),
            fts5_page_only: ratio(&in_process.fts5_page_only, &in_process.ours),
            fts5_process: whole_process.as_ref().map(|whole| ratio(&whole.fts5, &whole.ours)),
            scan: in_process.scan.as_ref().map(|scan| ratio(scan, &in_process.ours)),
        },
        in_process,
        whole_process,
    }
}
