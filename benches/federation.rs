//! Several archives searched as one, beside one archive that holds all of it: whether answers are the same, and
//! what that costs.
//!
//! ```text
//! cargo bench --workspace --bench federation
//! DATA=DIR ARCHIVES=8 ROWS=300000 cargo bench --workspace --bench federation
//! ```
//!
//! Takes the bundled judged set and those of `DATA`, a folder as `aft eval --data` takes it, and an archive
//! written by seed, of `ROWS` rows (20,000). Each is copied `ARCHIVES` times (8), and every copy keeps its share of
//! the sessions, with their ids. Every question is asked three times of both; the faster of the last two counts.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use afterthought::{Engine, Federation, Hit, Level, Options, Page, SearchRequest, Weights};
use afterthought_eval::{Against, Settings, Written, written};
use afterthought_tools::corpus::{self, Plan};
use rusqlite::Connection;

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let archives = setting("ARCHIVES", 8)?;
    let settings = Settings {
        data: std::env::var_os("DATA").map(PathBuf::from),
        work: folder.path().join("sets"),
        sets: Vec::new(),
        weights: Weights::default(),
        against: Against::Bm25,
        threads: 1,
        seed: 7,
        absent: false,
    };
    let mut all = written(&settings)?;
    all.push(by_seed(&folder.path().join("seed.db"), setting("ROWS", 20_000)?)?);
    println!("{archives} archives beside one that holds all of it, first ten hits");
    println!(
        "                                 same   same but  differ-  p50 ms  p50 ms         p95 ms  p95 ms"
    );
    println!(
        "set                questions     ten    for ties  ent         one  several ratio    one  several"
    );
    for (number, one) in all.iter().enumerate() {
        measure(one, archives, &folder.path().join(format!("{number}")))?;
    }
    Ok(())
}

fn setting(name: &str, default: usize) -> Result<usize, Failed> {
    std::env::var(name).map_or(Ok(default), |value| Ok(value.parse()?))
}

/// Writes an archive, with questions of one to five words from everywhere in the list of words by frequency.
fn by_seed(path: &Path, rows: usize) -> Result<Written, Failed> {
    corpus::write(path, &Plan::new(rows as u64, 7), |_| {})?;
    let words = corpus::vocabulary();
    let mut queries = Vec::new();
    for first in [0, 3, 10, 30, 100, 300, 900] {
        let word = |place: usize| words[(first + place * 37) % words.len()].clone();
        queries.extend([1, 2, 3, 5].map(|length| (0..length).map(word).collect::<Vec<_>>().join(" ")));
        queries.push(format!("\"{} {}\"", words[first], words[first + 1]));
    }
    Ok(Written { set: format!("seed, {rows} rows"), archive: path.to_owned(), queries })
}

fn measure(set: &Written, archives: usize, folder: &Path) -> Result<(), Failed> {
    std::fs::create_dir(folder)?;
    let options = |path: PathBuf, name: String| {
        let options = Options::new(path, folder.join("index"));
        Options { name, readers: 0, ..options }
    };
    let mut parts = Vec::new();
    for part in 0..archives {
        let path = folder.join(format!("{part}.db"));
        keep_part(&set.archive, &path, part, archives)?;
        parts.push(options(path, part.to_string()));
    }
    let one = Engine::open(&options(set.archive.clone(), "one".to_owned()))?;
    one.freshen(Level::Full, Duration::MAX, |_| {})?.ended()?;
    let several = Federation::of(parts)?;
    for fresh in several.freshen(Level::Full, Duration::MAX, |_, _| {}) {
        fresh?.ended()?;
    }
    let (mut same, mut ties, mut different) = (0, 0, 0);
    let (mut of_one, mut of_several) = (Vec::new(), Vec::new());
    for query in &set.queries {
        let request = || SearchRequest::new(query.as_str());
        let (whole, joined) = (one.search(request())?, several.search(request())?);
        match (hits(&whole) == hits(&joined), scores(&whole) == scores(&joined)) {
            (true, _) => same += 1,
            (false, true) => ties += 1,
            (false, false) => different += 1,
        }
        of_one.push(timed(|| one.search(request()))?);
        of_several.push(timed(|| several.search(request()))?);
    }
    let at = |times: &mut Vec<f64>, share: usize| {
        times.sort_by(f64::total_cmp);
        times[(times.len() - 1) * share / 100]
    };
    let (p50_one, p50_several) = (at(&mut of_one, 50), at(&mut of_several, 50));
    println!(
        "{:18} {:>9} {same:>8} {ties:>11} {different:>7} {p50_one:>11.2} {p50_several:>8.2} {:>5.1} {:>6.2} {:>8.2}",
        set.set,
        set.queries.len(),
        p50_several / p50_one,
        at(&mut of_one, 95),
        at(&mut of_several, 95)
    );
    Ok(())
}

/// Copies an archive, and leaves the sessions of one part in it.
fn keep_part(from: &Path, to: &Path, part: usize, parts: usize) -> Result<(), Failed> {
    std::fs::copy(from, to)?;
    let archive = Connection::open(to)?;
    archive.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF;")?;
    // The agent's own search would be told of every row that goes.
    let triggers: Vec<String> = archive
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for trigger in triggers {
        archive.execute_batch(&format!("DROP TRIGGER \"{trigger}\""))?;
    }
    archive.execute_batch(&format!(
        "CREATE TEMP TABLE own AS SELECT id FROM
             (SELECT id, row_number() OVER (ORDER BY id) AS number FROM sessions) WHERE number % {parts} = {part};
         DELETE FROM messages WHERE session_id NOT IN (SELECT id FROM own);
         DELETE FROM sessions WHERE id NOT IN (SELECT id FROM own);"
    ))?;
    archive.close().map_err(|(_, error)| error)?;
    Ok(())
}

fn hits(page: &Page) -> Vec<(Option<i64>, &str)> {
    page.results.iter().map(|hit: &Hit| (hit.message_id, &*hit.session_id)).collect()
}

fn scores(page: &Page) -> Vec<u32> {
    page.results.iter().map(|hit| hit.score.to_bits()).collect()
}

/// Returns the time of the faster of two askings, in milliseconds.
fn timed(ask: impl Fn() -> afterthought::Result<Page>) -> Result<f64, Failed> {
    let mut best = f64::INFINITY;
    for _ in 0..2 {
        let began = Instant::now();
        ask()?;
        best = best.min(began.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(best)
}
