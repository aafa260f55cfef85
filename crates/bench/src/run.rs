//! One run from archive to report: copy, build every index, choose queries, ask, measure.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use afterthought::archive::Archive;
use afterthought::time::{now_ms, rfc3339};
use afterthought::{Error, ErrorKind, Result};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::appends::appends;
use crate::build::{Built, build, number};
use crate::differences::compare;
use crate::failed;
use crate::layout::{Piece, Table};
use crate::machine::{check_space, evict, machine, versions};
use crate::measure::{Rounds, in_turns, in_turns_after};
use crate::peer::Peer;
use crate::program::{Program, Reading};
use crate::queries::{Class, Mix, choose, given, role, to_compare};
use crate::report::{
    Agreement, Answered, ArchiveFacts, Case, Figure, Ratios, Readers, Report, RunSettings, Tried,
};
use crate::rival::{Rival, Route, Way};
use crate::sides::{Lane, Part, Sides, named};

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The archive.
    pub archive: PathBuf,
    /// Copy an archive of any size where it cannot be read in place.
    pub allow_copy: bool,
    /// The program to run as a process.
    pub aft: PathBuf,
    /// Where the private copy and all indexes stand meanwhile.
    pub folder: PathBuf,
    /// The line that runs it again, for the report.
    pub command: String,
    /// Chooses queries and orders runs.
    pub seed: u64,
    /// Runs of each search on each side at most; a fifth of them as whole processes.
    pub runs: usize,
    /// Time for one search on one side, after which it runs no more.
    pub budget: Duration,
    /// Builds of each index.
    pub builds: usize,
    /// Ask these queries, one a line, instead of chosen ones.
    pub queries: Option<String>,
    /// Who is measured beside us.
    pub against: Vec<Peer>,
    /// Also measure whole processes, warm and cold.
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

    /// Returns what has to be built. Queries are chosen by an FTS5 table; where nobody asks for one, the
    /// strongest is built for that alone.
    fn pieces(&self) -> Vec<Piece> {
        let asked: Vec<Piece> = self.against.iter().flat_map(|peer| peer.pieces()).copied().collect();
        if asked.is_empty() { vec![Piece::Best] } else { asked }
    }

    /// Returns the table whose words queries are chosen from.
    fn vocabulary(&self) -> Table {
        let pieces = self.pieces();
        if pieces.contains(&Piece::Best) {
            Table::BestWords
        } else if pieces.contains(&Piece::V30) {
            Table::V30Words
        } else {
            Table::ShippedWords
        }
    }

    /// Returns the bytes of disk that a copy of so much text and its indexes may take, the log of the
    /// largest build with it.
    fn space_bytes(&self, stored: u64) -> u64 {
        let indexes: u64 = self.pieces().into_iter().map(Piece::space_times).sum();
        let copies = if self.builds > 1 { 2 } else { 1 };
        stored.saturating_mul((COPY_AND_OURS_TIMES + indexes) * copies) + SPACE_BYTES_MIN
    }
}

/// What even an empty archive needs.
const SPACE_BYTES_MIN: u64 = 64 * 1024 * 1024;
/// A copy and our index, as multiples of the archive's text.
const COPY_AND_OURS_TIMES: u64 = 2;
/// Cold runs of a search: each reads the disk.
const COLD_RUNS_MAX: usize = 5;
/// Appended rows at most.
const APPENDS_MAX: usize = 200;

/// Measures an archive. `tell` hears what is done, in a few lines.
///
/// Reads the archive once into a private copy and leaves nothing behind. Fails if the archive cannot
/// be read, or if the disk is too small for the copy and the indexes.
pub fn run(settings: &Settings, tell: impl FnMut(&str)) -> Result<Report> {
    measured(settings, tell).map_err(|error| {
        // Whatever a stop broke on its way, it was the stop.
        settings.check_stop().err().unwrap_or(error)
    })
}

fn measured(settings: &Settings, mut tell: impl FnMut(&str)) -> Result<Report> {
    let date = rfc3339(now_ms());
    let asked = settings.queries.as_deref().map(given);
    if asked.as_ref().is_some_and(|mix| mix.classes.is_empty()) {
        return Err(Error::new(ErrorKind::Usage, "read", "the file of queries")
            .because("it holds no query")
            .hint("write one query a line"));
    }
    let archive = Archive::at(&settings.archive, settings.allow_copy)?;
    archive.must_be_hermes("bench")?;
    let stored = archive.stored_bytes()?;
    check_space(&settings.folder, settings.space_bytes(stored))?;
    let folder = private_folder(&settings.folder)?;
    let program = Program {
        aft: settings.aft.clone(),
        copy: folder.path().join("archive.db"),
        index: folder.path().join("index"),
    };
    tell(&format!("copying {} MB of rows", stored / 1_000_000));
    archive.copy_rows(&program.copy, |_| settings.check_stop())?;
    let built = build(&program, &settings.pieces(), (settings.builds, settings.seed), |line| {
        tell(line);
        settings.check_stop()
    })?;
    let copied = Archive::at(&program.copy, false)?;
    let inside = inside(settings, &program, asked, &built, &copied, &mut tell)?;
    let mut left_out = inside.mix.left_out;
    let outside = Outside::measure(settings, &program, folder.path(), &inside.lanes, &mut tell)?;
    left_out.extend(outside.left_out.clone());
    tell("appending rows");
    let rows = settings.runs.min(APPENDS_MAX);
    let appends = appends(&program, &settings.against, (rows, settings.seed), || settings.check_stop())?;
    let facts = facts(&archive, &built, inside.counts)?;
    let builds = built.iter().zip(&inside.index_bytes).map(|(built, bytes)| built.report(&facts, *bytes));
    Ok(Report {
        schema_version: 2,
        date,
        command: settings.command.clone(),
        versions: versions(),
        machine: machine(),
        settings: RunSettings {
            seed: settings.seed,
            runs: settings.runs,
            process_runs: settings.process_runs(),
            budget_s: settings.budget.as_secs_f64(),
            builds: settings.builds,
            against: settings.against.iter().map(|peer| peer.name().to_owned()).collect(),
        },
        builds: builds.collect(),
        archive: facts,
        cases: cases(&inside.classes, &inside.lanes, &inside.figures, &outside)
            .into_iter()
            .zip(inside.tried)
            .zip(inside.matched)
            .map(|((case, ways), match_total)| Case { ways, match_total, ..case })
            .collect(),
        agreements: inside.agreements,
        readers: outside.readers,
        appends,
        left_out,
    })
}

fn private_folder(parent: &Path) -> Result<TempDir> {
    let make = || -> std::io::Result<TempDir> {
        let folder = tempfile::Builder::new().prefix("afterthought-bench-").tempdir_in(parent)?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))?;
        Ok(folder)
    };
    make().map_err(failed("make a folder in", parent.display()))
}

/// What is found with everyone inside this process.
struct Inside {
    mix: Mix,
    classes: Vec<Class>,
    lanes: Vec<Lane>,
    tried: Vec<Vec<Tried>>,
    /// The total and the times of each lane.
    figures: Vec<(Option<u64>, Figure)>,
    /// What `MATCH` finds, where a scan stands in for it.
    matched: Vec<Option<u64>>,
    agreements: Vec<Agreement>,
    index_bytes: Vec<u64>,
    counts: Counts,
}

/// Asks everyone inside this process. Everything is closed at the end: files that are mapped here would
/// stay in the page cache.
fn inside(
    settings: &Settings,
    program: &Program,
    asked: Option<Mix>,
    built: &[Built],
    copied: &Archive,
    tell: &mut impl FnMut(&str),
) -> Result<Inside> {
    let sides = Sides::open(program)?;
    // As they stay: merges have ended, and `optimize` is done.
    let our_bytes = sides.engine.status()?.index_bytes;
    let bytes = |built: &Built| built.piece.map_or(Ok(our_bytes), |piece| sides.large.index_bytes(piece));
    let index_bytes = built.iter().map(bytes).collect::<Result<_>>()?;
    let counts = Counts::of(sides.large.connection())?;
    tell("choosing queries");
    let mix = match asked {
        Some(mix) => with_role(mix, &sides.large)?,
        None => choose(&sides.large, settings.vocabulary(), counts.rows, settings.seed)?,
    };
    let classes = mix.classes.clone();
    tell(&format!("finding the fastest way to ask FTS5 {} questions", classes.len()));
    let (mut lanes, mut tried) = (Vec::new(), Vec::new());
    for (case, class) in classes.iter().enumerate() {
        settings.check_stop()?;
        let (of_case, of_ways) = sides.lanes(case, class, &settings.against, settings.budget)?;
        lanes.extend(of_case);
        tried.push(of_ways);
    }
    tell(&format!("measuring in one process, {} searches by turns", lanes.len()));
    let totals = lanes.iter().map(|lane| sides.ask(&lane.asked)).collect::<Result<Vec<_>>>()?;
    let figures = in_turns(lanes.len(), settings.rounds(settings.runs), |lane| {
        settings.check_stop()?;
        sides.ask(&lanes[lane].asked).map(drop)
    })?;
    let agreements = agreements(settings, &sides, counts.rows, copied, tell)?;
    let figures = totals.into_iter().zip(figures).collect();
    let matched = lanes.iter().filter(|lane| lane.peer == Some(Peer::Best) && lane.part == Part::Full);
    let matched = matched.map(|lane| (lane.case, match_total(&sides, lane)));
    let mut by_case = vec![None; classes.len()];
    for (case, total) in matched {
        by_case[case] = total?;
    }
    Ok(Inside { mix, classes, lanes, tried, figures, matched: by_case, agreements, index_bytes, counts })
}

/// Returns what `MATCH` finds of a question that a scan answers.
fn match_total(sides: &Sides, lane: &Lane) -> Result<Option<u64>> {
    match lane.asked.way {
        Some((_, Way { route: Route::Scan, .. })) => Ok(sides.large.fts5(&lane.asked.question)?.total),
        _ => Ok(None),
    }
}

/// Adds every given query once more, asked of the role that speaks most.
fn with_role(mix: Mix, rival: &Rival) -> Result<Mix> {
    let role = role(rival)?;
    let both = |class: Class| {
        let of_role = role.as_ref().map(|role| Class {
            name: format!("{} of a role", class.name),
            question: class.question.of_role(role),
            ..class.clone()
        });
        std::iter::once(class).chain(of_role).collect::<Vec<_>>()
    };
    Ok(Mix { classes: mix.classes.into_iter().flat_map(both).collect(), left_out: mix.left_out })
}

fn agreements(
    settings: &Settings,
    sides: &Sides,
    rows: u64,
    copied: &Archive,
    tell: &mut impl FnMut(&str),
) -> Result<Vec<Agreement>> {
    if !settings.against.contains(&Peer::Best) {
        return Ok(Vec::new());
    }
    let questions = to_compare(&sides.large, Table::BestWords, rows, settings.seed)?;
    tell(&format!("comparing the answers to {} queries", questions.len()));
    let one = |question| {
        settings.check_stop()?;
        compare(&sides.engine, &sides.large, copied, question)
    };
    questions.iter().map(one).collect()
}

/// Counts of the copy.
#[derive(Clone, Copy)]
struct Counts {
    rows: u64,
    sessions: u64,
    rows_cut: u64,
    rows_encoded: u64,
}

impl Counts {
    fn of(copy: &Connection) -> Result<Self> {
        let count = |sql: &str| -> Result<u64> {
            let count = copy.query_row(sql, [], |row| row.get::<_, i64>(0));
            count.map(i64::unsigned_abs).map_err(failed("count in", "the copy"))
        };
        Ok(Self {
            rows: count("SELECT count(*) FROM messages")?,
            sessions: count("SELECT count(*) FROM sessions")?,
            rows_cut: count("SELECT count(*) FROM messages WHERE role = 'tool' AND length(content) > 8192")?,
            rows_encoded: count(
                "SELECT count(*) FROM messages WHERE instr(content, char(0) || 'json:') = 1",
            )?,
        })
    }
}

fn facts(archive: &Archive, built: &[Built], counts: Counts) -> Result<ArchiveFacts> {
    let ours = built.first().and_then(|ours| ours.times.last());
    let text_bytes = ours.and_then(|watched| watched.report["work"]["text_bytes"].as_u64());
    Ok(ArchiveFacts {
        path: archive.path().display().to_string(),
        bytes: archive.stamp()?.bytes(),
        rows: counts.rows,
        sessions: counts.sessions,
        text_bytes: text_bytes.unwrap_or_default(),
        rows_cut: counts.rows_cut,
        rows_encoded: counts.rows_encoded,
    })
}

/// What is found by processes of their own.
#[derive(Default)]
struct Outside {
    /// Times of each lane, warm and cold; none where that was not measured.
    process: Vec<Option<Figure>>,
    cold: Vec<Option<Figure>>,
    readers: Vec<Readers>,
    left_out: Vec<String>,
}

impl Outside {
    fn measure(
        settings: &Settings,
        program: &Program,
        folder: &Path,
        lanes: &[Lane],
        tell: &mut impl FnMut(&str),
    ) -> Result<Self> {
        let full: Vec<usize> = (0..lanes.len()).filter(|at| lanes[*at].part == Part::Full).collect();
        let spread = |figures: Vec<Figure>| {
            let mut all = vec![None; lanes.len()];
            full.iter().zip(figures).for_each(|(at, figure)| all[*at] = Some(figure));
            all
        };
        let ask = |job: usize| {
            settings.check_stop()?;
            program.ask(&lanes[full[job]].asked)
        };
        let mut outside =
            Self { process: vec![None; lanes.len()], cold: vec![None; lanes.len()], ..Self::default() };
        if settings.whole_process {
            tell(&format!("measuring whole processes, {} searches by turns", full.len()));
            let rounds = settings.rounds(settings.process_runs());
            outside.process = spread(in_turns(full.len(), rounds, ask)?);
            if evict(folder)? {
                tell(&format!("the same from the disk, {} searches by turns", full.len()));
                let rounds = settings.rounds(settings.process_runs().min(COLD_RUNS_MAX));
                let cold = in_turns_after(full.len(), rounds, || evict(folder).map(drop), ask)?;
                outside.cold = spread(cold);
            } else {
                let why =
                    "cold searches: the folder is kept in memory, or this system cannot empty its cache";
                outside.left_out.push(format!("{why}; name another with --dir"));
            }
        }
        outside.readers = readers(settings, program, lanes, tell)?;
        Ok(outside)
    }
}

/// Threads that read at once.
const READER_THREADS: [usize; 2] = [1, 2];

/// Measures searches a second, everyone over the same mix of questions.
fn readers(
    settings: &Settings,
    program: &Program,
    lanes: &[Lane],
    tell: &mut impl FnMut(&str),
) -> Result<Vec<Readers>> {
    let mut readers = Vec::new();
    if lanes.is_empty() {
        return Ok(readers);
    }
    tell("counting searches a second");
    let peers = settings.against.iter().copied().map(Some);
    for threads in READER_THREADS {
        for peer in std::iter::once(None).chain(peers.clone()) {
            settings.check_stop()?;
            let of_peer = lanes.iter().filter(|lane| lane.part == Part::Full && lane.peer == peer);
            let asked = of_peer.map(|lane| lane.asked.clone()).collect();
            let reading = Reading { asked, threads, passes: settings.runs, budget: settings.budget };
            let watched = program.read(&reading)?;
            let searches = watched.report["searches"].as_u64().unwrap_or_default();
            let seconds = watched.report["seconds"].as_f64().unwrap_or_default();
            readers.push(Readers {
                side: peer.map_or("ours", Peer::name).to_owned(),
                threads,
                searches,
                seconds,
                searches_per_s: number(searches) / seconds.max(f64::EPSILON),
                peak_anonymous_bytes: watched.peak_anonymous_bytes,
            });
        }
    }
    Ok(readers)
}

/// Puts the figures of each question together.
fn cases(
    classes: &[Class],
    lanes: &[Lane],
    figures: &[(Option<u64>, Figure)],
    outside: &Outside,
) -> Vec<Case> {
    let case = |(case, class): (usize, &Class)| {
        let of_case: Vec<usize> = (0..lanes.len()).filter(|at| lanes[*at].case == case).collect();
        let mut sides: Vec<Answered> = Vec::new();
        for at in of_case {
            let figure = &figures[at].1;
            match (lanes[at].part, sides.last_mut()) {
                (Part::PageOnly, Some(side)) => side.page_only = Some(figure.clone()),
                (Part::AsAgent, Some(side)) => side.as_agent = Some(figure.clone()),
                _ => sides.push(answered(&lanes[at], &figures[at], outside, at)),
            }
        }
        let first = sides.len().min(1);
        let (ours, others) = sides.split_at_mut(first);
        if let Some(ours) = ours.first() {
            for other in others {
                other.ratios = Some(ratios(other, ours));
            }
        }
        Case {
            class: class.name.clone(),
            query: class.question.query.clone(),
            all: class.question.all,
            role: class.question.role.clone(),
            shape: class.question.shape,
            about: class.about.clone(),
            sides,
            ways: Vec::new(),
            match_total: None,
        }
    };
    classes.iter().enumerate().map(case).collect()
}

fn answered(lane: &Lane, figure: &(Option<u64>, Figure), outside: &Outside, at: usize) -> Answered {
    Answered {
        side: lane.peer.map_or("ours", Peer::name).to_owned(),
        way: lane.asked.way.map(|(cache, way)| named(cache, way)),
        total: figure.0.unwrap_or_default(),
        warm: figure.1.clone(),
        page_only: None,
        as_agent: None,
        process: outside.process[at].clone(),
        cold: outside.cold[at].clone(),
        ratios: None,
    }
}

fn ratios(other: &Answered, ours: &Answered) -> Ratios {
    let ratio = |other: &Figure, ours: &Figure| other.median_ms / ours.median_ms;
    let both = |other: &Option<Figure>, ours: &Option<Figure>| {
        other.as_ref().zip(ours.as_ref()).map(|(other, ours)| ratio(other, ours))
    };
    Ratios {
        warm: ratio(&other.warm, &ours.warm),
        page_only: other.page_only.as_ref().map(|page| ratio(page, &ours.warm)),
        process: both(&other.process, &ours.process),
        cold: both(&other.cold, &ours.cold),
    }
}
