//! One run: every set written, mirrored, asked and measured; two sets at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use afterthought::{Engine, Error, ErrorKind, Result, Weights};
use serde::{Deserialize, Serialize};

use crate::absent::{self, Absent};
use crate::catalogue::{BUNDLED, LOCOMO, Language, SETS, Scope, Shape, Spec, Task, Unit};
use crate::chance::{ROUNDS, randomised_p};
use crate::data::{self, Query, Set};
use crate::fts5::{Table, Tokenizer, agents};
use crate::metrics::{self, Figures, Judged};
use crate::ours;
use crate::place::Place;
use crate::plain;
use crate::published;
use crate::report::{Report, Row, Scores, Used};
use crate::words::Chinese;

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of judged sets; the bundled set is always there.
    pub data: Option<PathBuf>,
    /// Where archives, indexes and the rivals' answers are kept between runs.
    pub work: PathBuf,
    /// These sets only; empty means every set that is there.
    pub sets: Vec<String>,
    /// How our search counts fields and phrases.
    pub weights: Weights,
    /// Whom differences are tested against.
    pub against: Against,
    /// Sets measured at a time.
    pub threads: usize,
    /// Of the coins of the test, and of made-up subjects.
    pub seed: u64,
    /// Also ask for subjects that no archive holds.
    pub absent: bool,
}

/// Whom our scores are tested against.
#[derive(Clone, Debug)]
pub enum Against {
    /// FTS5 as the agent uses it.
    Agent,
    /// FTS5 at its best.
    Fts5,
    /// Plain BM25.
    Bm25,
    /// Our own of another run.
    Saved(Scores),
}

/// What a rival answered to the queries of a task, and how it was set.
#[derive(Deserialize, Serialize)]
struct Answers {
    setting: String,
    rankings: Vec<Vec<metrics::Unit>>,
}

/// Measures every set that is there. `tell` hears what is done, in a few lines.
///
/// Writes below the work folder alone. Fails if no set is there, or if one is named that is not.
pub fn run(settings: &Settings, tell: &(dyn Fn(&str) + Sync)) -> Result<Report> {
    let (specs, missing) = wanted(settings)?;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..settings.threads.clamp(1, specs.len()) {
            scope.spawn(|| {
                while let Some(spec) = specs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let measured = measure(settings, spec, tell);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.insert(spec.name, measured);
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut report = Report::new(&settings.weights, missing);
    for spec in &specs {
        let measured = done.remove(spec.name).unwrap_or_else(|| Ok(Outcome::default()))?;
        report.rows.extend(measured.rows);
        report.scores.extend(measured.scores);
        report.absent.extend(measured.absent);
    }
    let known = published::all()?;
    for row in &mut report.rows {
        row.published = published::of(&known, &row.set, &row.task, row.kind.as_deref());
    }
    Ok(report)
}

/// Returns the sets to measure, and the names of those that are not there.
pub(crate) fn wanted(settings: &Settings) -> Result<(Vec<Spec>, Vec<String>)> {
    let all = || [&BUNDLED].into_iter().chain(&SETS).chain([&LOCOMO]);
    let refused = |why: String| {
        let names: Vec<&str> = all().map(|spec| spec.name).collect();
        Error::new(ErrorKind::Usage, "measure", "judged sets")
            .because(why)
            .hint(format!("sets: {}", names.join(", ")))
    };
    if let Some(name) = settings.sets.iter().find(|name| !all().any(|spec| spec.name == **name)) {
        return Err(refused(format!("no set is called \"{name}\"")));
    }
    if let Some(data) = settings.data.as_ref().filter(|data| !data.is_dir()) {
        return Err(Error::new(ErrorKind::Usage, "measure judged sets of", data.display())
            .because("there is no such folder")
            .hint("name the folder that holds conv, ir and trajectories, or leave --data out"));
    }
    let named = |spec: &&Spec| settings.sets.is_empty() || settings.sets.iter().any(|name| name == spec.name);
    let (there, missing): (Vec<&Spec>, Vec<&Spec>) =
        all().filter(named).partition(|spec| data::made_from(spec, settings.data.as_deref()).is_some());
    if there.is_empty() || (!settings.sets.is_empty() && !missing.is_empty()) {
        let names: Vec<&str> = missing.iter().map(|spec| spec.name).collect();
        return Err(refused(format!("the files of {} are not there", names.join(", "))));
    }
    // Without a folder of sets, nothing is missing from it.
    let missing = missing.iter().filter(|_| settings.data.is_some());
    let missing = missing.map(|spec| spec.name.to_owned()).collect();
    Ok((there.into_iter().copied().collect(), missing))
}

/// What one set gave.
#[derive(Default)]
struct Outcome {
    rows: Vec<Row>,
    scores: Scores,
    absent: Option<Absent>,
}

fn measure(settings: &Settings, spec: &Spec, tell: &(dyn Fn(&str) + Sync)) -> Result<Outcome> {
    let (began, data) = (Instant::now(), settings.data.as_deref());
    let place = Place::of(&settings.work, spec.name, &data::made_from(spec, data).unwrap_or_default())?;
    let set = data::read(spec, data)?;
    place.write_archive(&set)?;
    let engine = place.engine()?;
    let mut outcome = Outcome::default();
    for task in spec.tasks {
        let queries = asked(&set, *task);
        let measured = Measured::of(settings, &place, &set, *task, &queries, &engine)?;
        outcome.rows.extend(measured.rows(settings, &set, *task, &queries));
        outcome.scores.insert(key(spec, *task), measured.scores(&queries));
    }
    if settings.absent {
        outcome.absent = Some(absent::measure(settings, &set, &engine)?);
    }
    let (sessions, seconds) = (set.sessions.len(), began.elapsed().as_secs_f64());
    tell(&format!("{}: {sessions} sessions, {} queries, {seconds:.1} s", spec.name, set.queries.len()));
    Ok(outcome)
}

/// Names a task among all sets, in saved scores.
fn key(spec: &Spec, task: Task) -> String {
    format!("{}/{}", spec.name, task.name())
}

/// Returns the queries of a task: those for which such units were judged.
fn asked(set: &Set, task: Task) -> Vec<&Query> {
    let queries = set.queries.iter().filter(|query| !judged(query, task).is_empty());
    queries.filter(|query| task.scope == Scope::All || query.own.is_some()).collect()
}

fn judged(query: &Query, task: Task) -> &Judged {
    match task.unit {
        Unit::Message => &query.messages,
        Unit::Session => &query.sessions,
    }
}

/// The figures of every query of a task, by who answered.
struct Measured {
    ours: Vec<Figures>,
    agent: Vec<Figures>,
    fts5: Vec<Figures>,
    bm25: Vec<Figures>,
    used: Used,
}

impl Measured {
    fn of(
        settings: &Settings,
        place: &Place,
        set: &Set,
        task: Task,
        queries: &[&Query],
        engine: &Engine,
    ) -> Result<Self> {
        let figures = |rankings: &[Vec<metrics::Unit>]| -> Vec<Figures> {
            let pairs = rankings.iter().zip(queries);
            pairs.map(|(ranking, query)| Figures::of(ranking, judged(query, task))).collect()
        };
        let name = |side: &str| format!("{side} {}", task.name());
        let score = |rankings: &[Vec<metrics::Unit>]| Figures::mean(&figures(rankings)).ndcg_10;
        let agent = place.kept(&name("agent"), || {
            let rankings = agents(&place.archive(), set, task, queries)?;
            Ok(Answers { setting: "as the agent asks".to_owned(), rankings })
        })?;
        let fts5 = place.kept(&name("fts5"), || fts5_at_best(place, set, task, queries, &score))?;
        let bm25 = place.kept(&name("bm25"), || Ok(bm25_at_best(set, task, queries, &score)))?;
        let ours = ours::rankings(set, task, queries, engine, &settings.weights)?;
        Ok(Self {
            ours: figures(&ours),
            agent: figures(&agent.rankings),
            fts5: figures(&fts5.rankings),
            bm25: figures(&bm25.rankings),
            used: Used { fts5: fts5.setting, bm25: bm25.setting },
        })
    }

    fn scores(&self, queries: &[&Query]) -> BTreeMap<String, f64> {
        let scores = queries.iter().zip(&self.ours);
        scores.map(|(query, figures)| (query.id.clone(), figures.ndcg_10)).collect()
    }

    /// Returns a row for all queries, and one for each kind where there are several.
    fn rows(&self, settings: &Settings, set: &Set, task: Task, queries: &[&Query]) -> Vec<Row> {
        let mut kinds: Vec<&str> = queries.iter().map(|query| query.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let kinds = if kinds.len() > 1 { kinds } else { Vec::new() };
        let kinds = std::iter::once(None).chain(kinds.into_iter().map(Some));
        kinds.map(|kind| self.row(settings, set, task, queries, kind)).collect()
    }

    fn row(&self, settings: &Settings, set: &Set, task: Task, queries: &[&Query], kind: Option<&str>) -> Row {
        let of_kind: Vec<usize> =
            (0..queries.len()).filter(|at| kind.is_none_or(|kind| queries[*at].kind == kind)).collect();
        let mean = |figures: &[Figures]| Figures::mean(of_kind.iter().map(|at| &figures[*at]));
        let ndcg =
            |figures: &[Figures]| -> Vec<f64> { of_kind.iter().map(|at| figures[*at].ndcg_10).collect() };
        let other = match &settings.against {
            Against::Agent => Some(ndcg(&self.agent)),
            Against::Fts5 => Some(ndcg(&self.fts5)),
            Against::Bm25 => Some(ndcg(&self.bm25)),
            Against::Saved(saved) => saved
                .get(&key(&set.spec, task))
                .and_then(|scores| of_kind.iter().map(|at| scores.get(&queries[*at].id).copied()).collect()),
        };
        Row {
            set: set.spec.name.to_owned(),
            task: task.name().to_owned(),
            kind: kind.map(str::to_owned),
            queries: of_kind.len(),
            ours: mean(&self.ours),
            agent: mean(&self.agent),
            fts5: mean(&self.fts5),
            bm25: mean(&self.bm25),
            against: other.as_deref().map(|other| other.iter().sum::<f64>() / count(other.len())),
            p: other.map(|other| randomised_p(&ndcg(&self.ours), &other, ROUNDS, settings.seed)),
            used: self.used.clone(),
            published: Vec::new(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of queries")]
fn count(queries: usize) -> f64 {
    queries.max(1) as f64
}

/// Weights of FTS5's columns: all alike, and speech over tools.
const FTS5_WEIGHTS: [[f64; 4]; 2] = [[1.0, 1.0, 1.0, 1.0], [1.0, 0.5, 0.5, 0.9]];

/// Tries every tokenizer that suits the language, and weights where there is more than content.
fn fts5_at_best(
    place: &Place,
    set: &Set,
    task: Task,
    queries: &[&Query],
    score: &impl Fn(&[Vec<metrics::Unit>]) -> f64,
) -> Result<Answers> {
    let tokenizers: &[Tokenizer] = match set.spec.language {
        Language::English => &[Tokenizer::Words, Tokenizer::Porter],
        Language::Russian => &[Tokenizer::Words],
        Language::Chinese => &[Tokenizer::Words, Tokenizer::Trigrams],
        Language::Mixed => &[Tokenizer::Words, Tokenizer::Porter, Tokenizer::Trigrams],
    };
    let weights = if set.spec.shape == Shape::Documents { &FTS5_WEIGHTS[..1] } else { &FTS5_WEIGHTS };
    let mut tried = Vec::new();
    for tokenizer in tokenizers {
        let file = place.file(&format!("fts5-{}.db", tokenizer.name()));
        let table = Table::build(set, *tokenizer, &file)?;
        for weights in weights {
            let rankings = table.rankings(set, task, queries, *weights)?;
            tried.push((format!("{} {weights:?}", tokenizer.name()), rankings));
        }
    }
    Ok(best(tried, score))
}

fn bm25_at_best(
    set: &Set,
    task: Task,
    queries: &[&Query],
    score: &impl Fn(&[Vec<metrics::Unit>]) -> f64,
) -> Answers {
    let cuts: &[(Chinese, &str)] = match set.spec.language {
        Language::English | Language::Russian => &[(Chinese::Pairs, "stemmed")],
        Language::Chinese => &[(Chinese::Pairs, "pairs"), (Chinese::Words, "jieba")],
        Language::Mixed => &[(Chinese::Pairs, "stemmed, pairs"), (Chinese::Words, "stemmed, jieba")],
    };
    let tried = cuts.iter().map(|(chinese, name)| {
        let setting = format!("{name}, k1 {} b {}", task.bm25.k1, task.bm25.b);
        (setting, plain::rankings(set, task, queries, *chinese))
    });
    best(tried.collect(), score)
}

/// Returns the setting with the best mean; of equal ones the first.
fn best(
    tried: Vec<(String, Vec<Vec<metrics::Unit>>)>,
    score: &impl Fn(&[Vec<metrics::Unit>]) -> f64,
) -> Answers {
    let mut best: Option<(f64, Answers)> = None;
    for (setting, rankings) in tried {
        let score = score(&rankings);
        if best.as_ref().is_none_or(|(best, _)| score > *best) {
            best = Some((score, Answers { setting, rankings }));
        }
    }
    best.map_or(Answers { setting: String::new(), rankings: Vec::new() }, |(_, answers)| answers)
}

/// Reads scores that an earlier run saved. Fails if the file is not one.
pub fn saved(path: &Path) -> Result<Scores> {
    let refused = |error: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Usage, "read saved scores", path.display())
            .because(error.to_string())
            .hint("write one with aft eval --save FILE")
    };
    let bytes = std::fs::read(path).map_err(|error| refused(&error))?;
    serde_json::from_slice(&bytes).map_err(|error| refused(&error))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// What the bundled set reached when it was recorded, by row.
    #[derive(Deserialize)]
    struct Recorded {
        row: Vec<RecordedRow>,
    }

    #[derive(Deserialize)]
    struct RecordedRow {
        task: String,
        kind: Option<String>,
        queries: usize,
        hit_1: f64,
        ndcg_10: f64,
    }

    fn bundled(work: &Path, against: Against) -> Report {
        let settings = Settings {
            data: None,
            work: work.to_owned(),
            sets: Vec::new(),
            weights: Weights::default(),
            against,
            threads: 1,
            seed: 7,
            absent: true,
        };
        run(&settings, &|_| {}).expect("a report")
    }

    #[test]
    fn the_bundled_set_is_answered_no_worse_than_recorded() {
        let work = tempfile::tempdir().expect("a folder");
        let report = bundled(work.path(), Against::Bm25);
        let recorded: Recorded = toml::from_str(include_str!("bundled/recorded.toml")).expect("a record");
        let found: Vec<String> = report.rows.iter().map(as_recorded).collect();
        assert_eq!(report.rows.len(), recorded.row.len(), "record them:\n{}", found.concat());
        for (row, recorded) in report.rows.iter().zip(&recorded.row) {
            let same =
                row.task == recorded.task && row.kind == recorded.kind && row.queries == recorded.queries;
            assert!(same, "record them:\n{}", found.concat());
            // Recorded with three digits.
            let holds = row.ours.hit_1 > recorded.hit_1 - 5e-4 && row.ours.ndcg_10 > recorded.ndcg_10 - 5e-4;
            assert!(holds, "worse than recorded:\n{}", found.concat());
        }
        let absent = &report.absent[0];
        assert_eq!((absent.subjects, absent.real), (200, 57));
        assert!(absent.words_answered.abs() < 1e-9, "{absent:?}");
        // Against itself nothing differs, and everything that was kept is used again.
        let again = bundled(work.path(), Against::Saved(report.scores.clone()));
        assert!(again.rows.iter().all(|row| row.p == Some(1.0)), "{:?}", again.rows);
        assert_eq!(again.scores, report.scores);
    }

    fn as_recorded(row: &Row) -> String {
        let kind = row.kind.as_ref().map_or(String::new(), |kind| format!("kind = \"{kind}\"\n"));
        format!(
            "[[row]]\ntask = \"{}\"\n{kind}queries = {}\nhit_1 = {:.3}\nndcg_10 = {:.3}\n",
            row.task, row.queries, row.ours.hit_1, row.ours.ndcg_10
        )
    }

    #[test]
    fn a_set_that_is_not_there_is_named() {
        let work = tempfile::tempdir().expect("a folder");
        let ask = |sets: &[&str]| {
            let settings = Settings {
                data: None,
                work: work.path().to_owned(),
                sets: sets.iter().map(|name| (*name).to_owned()).collect(),
                weights: Weights::default(),
                against: Against::Bm25,
                threads: 1,
                seed: 7,
                absent: false,
            };
            run(&settings, &|_| {}).expect_err("no such set").to_string()
        };
        assert!(ask(&["heron"]).contains("no set is called \"heron\""));
        assert!(ask(&["locomo"]).contains("the files of locomo are not there"));
    }
}
