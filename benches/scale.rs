//! What everything costs as an archive grows: the first build, one row more, nothing new, opening, and a
//! fixed mix of searches. Prints a table and draws it, each cost over rows, both axes logarithmic.
//!
//! ```text
//! ROWS=100000,300000,1000000 LENGTHS=0.2 cargo bench --workspace --bench scale
//! ARCHIVE=a3m.db,a10m.db PLOT=scale.svg cargo bench --workspace --bench scale
//! ```
//!
//! `ROWS` are written, an archive after the other, with texts `LENGTHS` times as long as those of real
//! agents. `ARCHIVE` names archives that are there; a row is appended to each for every measured sync.
//! `FOLDER` is where archives and indexes are made, and must have room for the largest.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use afterthought::index::Disk;
use afterthought::{Engine, Facet, Freshness, Group, Level, Options, SearchRequest, Sort, SyncReport};
use afterthought_tests::faults::Faulty;
use afterthought_tools::archive::{Message, Session, Writer};
use afterthought_tools::corpus::{self, Plan};
use plotters::prelude::*;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

type Failed = Box<dyn std::error::Error>;

const SEED: u64 = 7;
/// Repetitions of each sync, and of each search.
const TIMES: usize = 11;
/// Memory is looked at this often while an index is built.
const LOOK: Duration = Duration::from_millis(50);

/// One archive's figures, in the order of [`COSTS`].
struct Line {
    rows: u64,
    text_mb: f64,
    costs: Vec<f64>,
}

/// What is measured, and its unit.
const COSTS: [(&str, &str); 18] = [
    ("build", "s"),
    ("memory of the build", "MB"),
    ("index", "MB"),
    ("one row more", "ms"),
    ("rows read for it", ""),
    ("written for it", "KB"),
    ("nothing new", "ms"),
    ("open, first search", "ms"),
    ("common word", "ms"),
    ("three words", "ms"),
    ("phrase", "ms"),
    ("needle", "ms"),
    ("newest", "ms"),
    ("by session", "ms"),
    ("three common words", "ms"),
    ("eight common words", "ms"),
    ("prefix", "ms"),
    ("facets", "ms"),
];

fn main() -> Result<(), Failed> {
    let folder = match std::env::var_os("FOLDER") {
        Some(parent) => tempfile::tempdir_in(parent)?,
        None => tempfile::tempdir()?,
    };
    let mut lines = Vec::new();
    for archive in archives()? {
        let path = archive.path(folder.path())?;
        let line = measure(&path, &folder.path().join("index"))?;
        println!("{}", line.tell());
        lines.push(line);
        archive.forget(&path)?;
        std::fs::remove_dir_all(folder.path().join("index"))?;
    }
    print_table(&lines);
    let plot = std::env::var("PLOT").unwrap_or_else(|_| "target/scale.svg".to_owned());
    draw(&lines, &plot)?;
    println!("\ndrawn to {plot}");
    Ok(())
}

/// Where rows come from.
enum Source {
    There(PathBuf),
    Written(u64),
}

fn archives() -> Result<Vec<Source>, Failed> {
    if let Ok(paths) = std::env::var("ARCHIVE") {
        return Ok(paths.split(',').map(|path| Source::There(path.into())).collect());
    }
    let rows = std::env::var("ROWS").unwrap_or_else(|_| "10000,30000,100000".to_owned());
    rows.split(',').map(|rows| Ok(Source::Written(rows.trim().parse()?))).collect()
}

impl Source {
    fn path(&self, folder: &Path) -> Result<PathBuf, Failed> {
        let rows = match self {
            Self::There(path) => return Ok(path.clone()),
            Self::Written(rows) => *rows,
        };
        let factor: f64 = std::env::var("LENGTHS").map_or(Ok(1.0), |factor| factor.parse())?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "about a thousand")]
        let lengths_per_mille = (factor * 1_000.0) as u64;
        let path = folder.join("state.db");
        corpus::write(&path, &Plan { lengths_per_mille, ..Plan::new(rows, SEED) }, |_| {})?;
        Ok(path)
    }

    fn forget(&self, path: &Path) -> std::io::Result<()> {
        if matches!(self, Self::There(_)) {
            return Ok(());
        }
        for end in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            if Path::new(&name).exists() {
                std::fs::remove_file(name)?;
            }
        }
        Ok(())
    }
}

fn measure(archive: &Path, index: &Path) -> Result<Line, Failed> {
    let counter = Faulty::over(Arc::new(Disk));
    let ((built, seconds), memory) = watched(|| {
        let engine = open(archive, index, &counter)?;
        let began = Instant::now();
        let report = sync(&engine, Level::Full)?;
        // A build has ended when its merges have.
        drop(engine);
        Ok((report, began.elapsed().as_secs_f64()))
    })?;
    let engine = open(archive, index, &counter)?;
    let mut costs = vec![seconds, memory, mega(bytes_of(index)?)];
    costs.extend(one_row(&engine, archive, &counter)?);
    drop(engine);
    costs.extend(searches(archive, index)?);
    Ok(Line { rows: rows_of(archive)?, text_mb: mega(built.stats.text_bytes), costs })
}

fn open(archive: &Path, index: &Path, storage: &Faulty) -> Result<Engine, Failed> {
    let mut options = Options::new(archive, index);
    options.storage = Arc::new(storage.clone());
    Ok(Engine::open(&options)?)
}

fn sync(engine: &Engine, level: Level) -> Result<SyncReport, Failed> {
    match engine.freshen(level, Duration::MAX, |_| {})? {
        Freshness::Fresh(report) => Ok(report),
        other => Err(format!("the sync ended as {other:?}").into()),
    }
}

/// Runs a part and returns the most anonymous memory of this process meanwhile, in MB.
fn watched<T>(part: impl FnOnce() -> Result<T, Failed>) -> Result<(T, f64), Failed> {
    let (is_over, most) = (AtomicBool::new(false), AtomicU64::new(0));
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                most.fetch_max(anonymous_bytes(), Ordering::Relaxed);
                std::thread::sleep(LOOK);
            }
        });
        let done = part();
        is_over.store(true, Ordering::Relaxed);
        done
    })?;
    Ok((done, mega(most.into_inner())))
}

fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kb.expect("a number of kilobytes") * 1024
}

/// Appends a row again and again: milliseconds of a sync, rows read and KB written, and the milliseconds of
/// one that finds nothing.
fn one_row(engine: &Engine, archive: &Path, counter: &Faulty) -> Result<[f64; 4], Failed> {
    let mut writer = Writer::open(archive)?;
    let session = format!("scale-{}", std::process::id());
    writer.session(&Session::new(&session))?;
    let (mut appended, mut unchanged, mut read, mut written) = (Vec::new(), Vec::new(), 0, 0);
    for number in 0..TIMES {
        writer.message(&session, &Message::user(&format!("what came of attempt {number}")))?;
        let before = counter.written();
        let began = Instant::now();
        read += sync(engine, Level::Quick)?.stats.rows_read;
        appended.push(millis(began));
        written += counter.written() - before;
        // The clock of the file system must tell the next write from this one.
        std::thread::sleep(Duration::from_millis(100));
        sync(engine, Level::Full)?;
        let began = Instant::now();
        sync(engine, Level::Full)?;
        unchanged.push(millis(began));
    }
    let times = u64::try_from(TIMES)?;
    Ok([median(&mut appended), ratio(read, times), ratio(written, times) / 1_000.0, median(&mut unchanged)])
}

/// Opens and searches once, with whatever the system keeps of the files; then the mix, warm.
fn searches(archive: &Path, index: &Path) -> Result<Vec<f64>, Failed> {
    let words = corpus::vocabulary();
    let needle = needle(archive)?;
    let three = format!("{} {} {}", words[30], words[300], words[900]);
    let mix = [
        SearchRequest::new(words[3].as_str()),
        SearchRequest::new(three.as_str()),
        SearchRequest::new(format!("\"{} {}\"", words[0], words[1])),
        SearchRequest::new(needle),
        SearchRequest { sort: Sort::Newest, ..SearchRequest::new(words[3].as_str()) },
        SearchRequest { group: Group::Session, ..SearchRequest::new(three.as_str()) },
        SearchRequest::new(words[3..6].join(" ")),
        SearchRequest::new(words[3..11].join(" ")),
        SearchRequest::new(format!("{}*", words[30].chars().take(3).collect::<String>())),
        SearchRequest { facets: vec![Facet::Role, Facet::Source], ..SearchRequest::new(words[3].as_str()) },
    ];
    let began = Instant::now();
    let engine = Engine::open(&Options::new(archive, index))?;
    engine.search(mix[1].clone())?;
    let mut costs = vec![millis(began)];
    for request in mix {
        let mut times = Vec::new();
        for _ in 0..TIMES {
            let began = Instant::now();
            engine.search(request.clone())?;
            times.push(millis(began));
        }
        costs.push(median(&mut times));
    }
    Ok(costs)
}

fn rows_of(archive: &Path) -> Result<u64, Failed> {
    let connection = Connection::open_with_flags(archive, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let rows: i64 = connection.query_row("SELECT count(*) FROM messages", [], |row| row.get(0))?;
    Ok(rows.unsigned_abs())
}

/// Returns a word of one thought, somewhere in the middle.
fn needle(archive: &Path) -> Result<String, Failed> {
    let connection = Connection::open_with_flags(archive, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let planted = "SELECT reasoning FROM messages WHERE id > (SELECT max(id) / 2 FROM messages) \
                   AND reasoning LIKE '%comes down to needle%' ORDER BY id LIMIT 1";
    // An archive of one's own has none; the word is looked for all the same.
    let text: Option<String> = connection.query_row(planted, [], |row| row.get(0)).optional()?;
    Ok(text
        .unwrap_or_default()
        .split(' ')
        .rfind(|word| word.starts_with("needle"))
        .unwrap_or("needle")
        .to_owned())
}

fn bytes_of(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_of(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}

fn mega(bytes: u64) -> f64 {
    ratio(bytes, 1_000_000)
}

#[expect(clippy::cast_precision_loss, reason = "counts of work are far below 2^52")]
fn ratio(sum: u64, times: u64) -> f64 {
    sum as f64 / times as f64
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Line {
    fn tell(&self) -> String {
        format!("{} rows, {:.0} MB of text: built in {:.1} s", self.rows, self.text_mb, self.costs[0])
    }
}

fn print_table(lines: &[Line]) {
    let row = |of: &dyn Fn(&Line) -> String| {
        let cells: Vec<String> = lines.iter().map(of).collect();
        format!(" {} |", cells.join(" | "))
    };
    println!("\n| rows |{}", row(&|line| line.rows.to_string()));
    println!("|---|{}", "---:|".repeat(lines.len()));
    println!("| text, MB |{}", row(&|line| format!("{:.0}", line.text_mb)));
    for (at, (name, unit)) in COSTS.iter().enumerate() {
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        println!("| {name}{unit} |{}", row(&|line| format!("{:.1}", line.costs[at])));
    }
}

/// Draws every cost but the count of rows over rows, as shares of what the smallest archive took:
/// a line that rises as steeply as the grey one grows as the archive does.
fn draw(lines: &[Line], path: &str) -> Result<(), Failed> {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return Ok(()) };
    let (from, to) = (ratio(first.rows, 1), ratio(last.rows, 1).max(ratio(first.rows, 1) * 2.0));
    let growth = |line: &Line, at: usize| line.costs[at].max(0.001) / first.costs[at].max(0.001);
    let most = lines.iter().flat_map(|line| (0..COSTS.len()).map(|at| growth(line, at)));
    let most = most.fold(to / from, f64::max);
    let root = SVGBackend::new(path, (1_000, 620)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((from..to).log_scale(), (0.3..most * 1.2).log_scale())?;
    chart.configure_mesh().x_desc("rows").y_desc("times what the smallest archive takes").draw()?;
    chart.draw_series(LineSeries::new([(from, 1.0), (to, to / from)], BLACK.mix(0.25).stroke_width(6)))?;
    for (at, (name, unit)) in COSTS.iter().enumerate().filter(|(_, (_, unit))| !unit.is_empty()) {
        let color = Palette99::pick(at).stroke_width(2);
        let points = lines.iter().map(|line| (ratio(line.rows, 1), growth(line, at)));
        let label = format!("{name}, {:.3} {unit}", first.costs[at]);
        chart
            .draw_series(LineSeries::new(points, color))?
            .label(label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()?;
    root.present()?;
    Ok(())
}
