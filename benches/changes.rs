//! What one change of the archive costs the mirror, how many small syncs wear on it, and what watching
//! costs when nothing happens. Counts work beside time: rows read, bytes written.
//!
//! ```text
//! ROWS=300000 SYNCS=5000 cargo bench --workspace --bench changes
//! ```
//!
//! No syncs leave out the many small ones and the search after them, and with it a second build.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use afterthought::index::Disk;
use afterthought::{Engine, Freshness, Level, Options, SearchRequest, SyncReport, follow};
use afterthought_tests::faults::Faulty;
use afterthought_tests::setting;
use afterthought_tools::archive::{Message, Session, Writer};
use afterthought_tools::corpus::{self, Plan};

const SEED: u64 = 7;
/// Repetitions of each kind of change.
const TIMES: u64 = 20;
const ROUNDS: usize = 60;
const IDLE: Duration = Duration::from_mins(1);

fn main() {
    let (rows, syncs) = (setting("ROWS", 300_000), setting("SYNCS", 5_000));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let archive = folder.path().join("state.db");
    corpus::write(&archive, &Plan::new(rows, SEED), |_| {}).expect("an archive");
    let counter = Faulty::over(Arc::new(Disk));
    let index = folder.path().join("index");
    let (built, took) = sync(&open(&archive, &index, &counter), Level::Full);
    // The merges of the build have ended with its engine.
    let engine = open(&archive, &index, &counter);
    println!(
        "{rows} rows of mix A, {} MB of text; built in {:.1} s, {} MB written, {} segments",
        built.stats.text_bytes / 1_000_000,
        took.as_secs_f64(),
        counter.written() / 1_000_000,
        segments(&engine)
    );
    let mut changes =
        Changes { writer: Writer::open(&archive).expect("the archive"), number: 0, appended: 0 };
    println!(
        "\nchange of the archive     seen by   rows read  sampled   KB written   ms median [min-max] of {TIMES}"
    );
    let table: [(&str, Level, Change); 4] = [
        ("one row appended", Level::Quick, Changes::append),
        ("one row taken back", Level::Full, Changes::rewind),
        ("one title set", Level::Quick, Changes::title),
        ("one session deleted", Level::Quick, Changes::delete),
    ];
    for (name, level, change) in table {
        measure(&engine, &counter, &mut changes, (name, level, change));
    }
    if syncs > 0 {
        many(&engine, &counter, &mut changes, syncs);
        wear(&engine, &archive, folder.path());
    }
    idle(&engine);
}

fn open(archive: &Path, index: &Path, storage: &Faulty) -> Engine {
    let mut options = Options::new(archive, index);
    options.storage = Arc::new(storage.clone());
    Engine::open(&options).expect("an engine")
}

fn sync(engine: &Engine, level: Level) -> (SyncReport, Duration) {
    let began = Instant::now();
    match engine.freshen(level, Duration::MAX, |_| {}).expect("a writer thread") {
        Freshness::Fresh(report) => (report, began.elapsed()),
        other => panic!("the sync ended as {other:?}"),
    }
}

fn segments(engine: &Engine) -> usize {
    engine.status().expect("a status").segments
}

/// What is done to the archive, to other rows each time.
struct Changes {
    writer: Writer,
    number: i64,
    appended: i64,
}

type Change = fn(&mut Changes) -> rusqlite::Result<()>;

impl Changes {
    fn append(&mut self) -> rusqlite::Result<()> {
        let session = format!("bench-{}", self.appended / 50);
        if self.appended % 50 == 0 {
            self.writer.session(&Session::new(&session))?;
        }
        self.appended += 1;
        let text = format!("what came of attempt {}: it went well enough to go on with it", self.appended);
        self.writer.message(&session, &Message::user(&text)).map(drop)
    }

    fn rewind(&mut self) -> rusqlite::Result<()> {
        let last = "SELECT session_id, max(id) FROM messages WHERE active = 1 GROUP BY session_id \
                    ORDER BY session_id LIMIT 1 OFFSET ?1";
        self.number += 1;
        let connection = self.writer.connection();
        let (session, id): (String, i64) =
            connection.query_row(last, [self.number], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.writer.rewind(&session, id).map(drop)
    }

    fn some_session(&mut self) -> rusqlite::Result<String> {
        self.number += 1;
        let some = "SELECT id FROM sessions ORDER BY id LIMIT 1 OFFSET ?1";
        self.writer.connection().query_row(some, [self.number], |row| row.get(0))
    }

    fn title(&mut self) -> rusqlite::Result<()> {
        let session = self.some_session()?;
        self.writer.set_title(&session, &format!("bench title {}", self.number))
    }

    fn delete(&mut self) -> rusqlite::Result<()> {
        let session = self.some_session()?;
        self.writer.delete_session(&session).map(drop)
    }
}

fn measure(engine: &Engine, counter: &Faulty, changes: &mut Changes, kind: (&str, Level, Change)) {
    let (name, level, change) = kind;
    let mut times = Vec::new();
    let (mut read, mut sampled, mut written) = (0, 0, 0);
    for _ in 0..TIMES {
        change(changes).expect(name);
        let before = counter.written();
        let (report, took) = sync(engine, level);
        assert!(report.stats.commits > 0, "{name} is not seen");
        written += counter.written() - before;
        read += report.stats.rows_read;
        sampled += report.stats.rows_sampled;
        times.push(took);
    }
    let seen_by = if level == Level::Quick { "tail" } else { "signatures" };
    println!(
        "{name:<24}{seen_by:>11}{:>10.1}{:>9.1}{:>13.1}   {}",
        per(read, TIMES),
        per(sampled, TIMES),
        per(written, TIMES) / 1_000.0,
        spread(&mut times)
    );
}

#[expect(clippy::cast_precision_loss, reason = "counts of work are far below 2^52")]
fn per(sum: u64, times: u64) -> f64 {
    sum as f64 / times as f64
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn spread(times: &mut [Duration]) -> String {
    let median = median(times);
    format!("{:.1} [{:.1}-{:.1}]", millis(median), millis(times[0]), millis(times[times.len() - 1]))
}

/// Appends and syncs row by row.
fn many(engine: &Engine, counter: &Faulty, changes: &mut Changes, syncs: u64) {
    let (before, began) = (counter.written(), Instant::now());
    let mut times = Vec::new();
    let mut most = 0;
    for number in 0..syncs {
        changes.append().expect("a row");
        times.push(sync(engine, Level::Quick).1);
        if number % 50 == 0 {
            most = most.max(segments(engine));
        }
    }
    println!(
        "\n{syncs} syncs of one row each in {:.0} s: {} ms, {:.1} KB written a sync with all merges; \
         {most} segments at most, {} at the end",
        began.elapsed().as_secs_f64(),
        spread(&mut times),
        per(counter.written() - before, syncs) / 1_000.0,
        segments(engine)
    );
}

/// Compares searches of the index that was synced so often with those of a fresh one.
fn wear(worn: &Engine, archive: &Path, folder: &Path) {
    let fresh = Engine::open(&Options::new(archive, folder.join("fresh"))).expect("an engine");
    sync(&fresh, Level::Full);
    sync(worn, Level::Full);
    let words = corpus::vocabulary();
    let queries: Vec<String> = [3, 30, 90, 300, 900]
        .iter()
        .flat_map(|rank| [words[*rank].clone(), format!("{} {}", words[*rank], words[rank + 7])])
        .collect();
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for query in &queries {
            // Whoever comes second finds the archive's pages warm: each comes first as often.
            let mut order = [(0, worn), (1, &fresh)];
            order.rotate_left(round % 2);
            for (side, engine) in order {
                let began = Instant::now();
                let page = engine.search(SearchRequest::new(query)).expect("a page");
                times[side].push(began.elapsed());
                assert!(page.total.value > 0, "{query}");
            }
        }
    }
    let [worn_times, fresh_times] = &mut times;
    let (p50, fresh_p50) = (median(worn_times), median(fresh_times));
    println!(
        "search p50 {:.2} ms with {} segments, {:.2} ms with {} of a fresh index: {:.2} x",
        millis(p50),
        segments(worn),
        millis(fresh_p50),
        segments(&fresh),
        millis(p50) / millis(fresh_p50)
    );
}

/// Follows the archive while nothing happens.
fn idle(engine: &Engine) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| follow(engine, &stop, |_| {}).expect("a writer thread"));
        // The first looks, and the one when it has been quiet.
        std::thread::sleep(Duration::from_secs(5));
        let before = processor_seconds();
        std::thread::sleep(IDLE);
        let share = (processor_seconds() - before) / IDLE.as_secs_f64();
        println!("idle watch: {:.2} % of a core over {} s", share * 100.0, IDLE.as_secs());
        stop.store(true, Ordering::Relaxed);
    });
}

/// Returns the processor time of this process, of all threads.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a Linux system");
    let after_name = stat.rsplit_once(')').expect("a name in brackets").1;
    let ticks =
        after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number"));
    // In hundredths of a second, on every Linux system.
    per(ticks.sum(), 100)
}
