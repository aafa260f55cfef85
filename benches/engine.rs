//! Criterion benches over a 20,000-row archive: analysis, planning, and beside their twins in FTS5 a
//! first build, a one-row sync, and searches by class. `cargo bench -p afterthought-benches`

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use afterthought::archive::Archive;
use afterthought::text::Analyzer;
use afterthought::{Engine, Level, Options, SearchRequest};
use afterthought_bench::Question;
use afterthought_bench::rival::{Cache, Rival};
use afterthought_tools::archive::{Message, Session, Writer};
use afterthought_tools::corpus::{self, Plan};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use tempfile::TempDir;

const ROWS: u64 = 20_000;
const SEED: u64 = 7;

fn archive() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state.db");
    corpus::write(&path, &Plan::new(ROWS, SEED), |_| {}).expect("an archive");
    folder
}

fn open(archive: &TempDir, index: &TempDir) -> Engine {
    let engine =
        Engine::open(&Options::new(archive.path().join("state.db"), index.path())).expect("an engine");
    engine.freshen(Level::Full, Duration::MAX, |_| {}).expect("a sync");
    engine
}

/// Copies the archive's rows to where FTS5 may index them.
fn copy(archive: &TempDir, folder: &Path) -> PathBuf {
    let path = folder.join("rival.db");
    let archive = Archive::at(&archive.path().join("state.db"), false).expect("an archive");
    archive.copy_rows(&path, |_| Ok(())).expect("a copy");
    path
}

fn analysis(criterion: &mut Criterion) {
    let texts = [
        ("prose", "We looked at the report; it's nothing of note, and the deploy failed again. ".repeat(100)),
        ("code", "let user = self.getUserById(&user_id)?; // src/auth/check_auth.rs v2.5.1 ".repeat(100)),
        ("han", "今天的聊天记录记忆断裂问题很严重，数据库连接池已经修好。".repeat(100)),
    ];
    let mut group = criterion.benchmark_group("analysis");
    for (name, text) in texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        let mut analyzer = Analyzer::default();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut tokens = analyzer.tokens(&text);
                let mut count = 0;
                while tokens.advance().is_some() {
                    count += 1;
                }
                count
            });
        });
    }
}

fn builds(criterion: &mut Criterion) {
    let archive = archive();
    let mut group = criterion.benchmark_group("first build");
    group.sample_size(10);
    group.throughput(Throughput::Elements(ROWS));
    let folder = || tempfile::tempdir().expect("a temporary folder");
    group.bench_function("ours", |bencher| {
        // What is returned is dropped after the clock has stopped.
        let build = |index: TempDir| (open(&archive, &index), index);
        bencher.iter_batched(folder, build, BatchSize::PerIteration);
    });
    group.bench_function("fts5", |bencher| {
        let copied = || {
            let folder = folder();
            let path = copy(&archive, folder.path());
            (folder, path)
        };
        let build = |(folder, path): (TempDir, PathBuf)| {
            Rival::build(&path).expect("an FTS5 index");
            folder
        };
        bencher.iter_batched(copied, build, BatchSize::PerIteration);
    });
}

/// What one new row costs: our sync after it, and FTS5's trigger within its insert.
fn one_row(criterion: &mut Criterion) {
    let archive = archive();
    let mut group = criterion.benchmark_group("one new row");
    group.sample_size(20);
    let mut writer = Writer::open(&archive.path().join("state.db")).expect("the archive");
    writer.session(&Session::new("bench")).expect("a session");
    writer.close().expect("a clean close");
    let index = tempfile::tempdir().expect("a temporary folder");
    let engine = open(&archive, &index);
    group.bench_function("ours", |bencher| {
        let append = || {
            let mut writer = Writer::open(&archive.path().join("state.db")).expect("the archive");
            writer.message("bench", &Message::user("one more row")).expect("a row");
            writer.close().expect("a clean close");
        };
        let sync = |()| engine.freshen(Level::Quick, Duration::MAX, |_| {}).expect("a sync");
        bencher.iter_batched(append, sync, BatchSize::PerIteration);
    });
    let path = copy(&archive, index.path());
    Rival::build(&path).expect("an FTS5 index");
    let rival = Rival::open(&path, Cache::Shipped).expect("a rival");
    group.bench_function("fts5", |bencher| {
        bencher.iter(|| rival.append("bench", black_box("one more row")).expect("a row"));
    });
}

/// Planning and little else: every word is unknown, so no posting is read and no row is shown.
fn plans(criterion: &mut Criterion) {
    let (archive, index) = (archive(), tempfile::tempdir().expect("a temporary folder"));
    let engine = open(&archive, &index);
    let unknown: Vec<String> = (0..8).map(|word| format!("qqxunknown{word}")).collect();
    let mut group = criterion.benchmark_group("plan");
    for (name, query) in [("one word", unknown[0].clone()), ("eight words", unknown.join(" "))] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| engine.search(SearchRequest::new(black_box(query.as_str()))).expect("a page"));
        });
    }
}

fn searches(criterion: &mut Criterion) {
    let (archive, index) = (archive(), tempfile::tempdir().expect("a temporary folder"));
    let path = copy(&archive, index.path());
    let rival = Rival::build(&path).expect("an FTS5 index");
    rival.optimize().expect("a smaller one");
    let engine = open(&archive, &index);
    let words = corpus::vocabulary();
    let three = format!("{} {} {}", words[3], words[40], words[400]);
    let classes = [
        ("common word", Question::any(&words[0])),
        ("rare word", Question::any(&words[words.len() / 3])),
        ("three words, any", Question::any(&three)),
        ("three words, all", Question::all(&three)),
        ("phrase", Question::any(&format!("\"{} {}\"", words[0], words[1]))),
        ("two Han characters", Question::any("数据")),
    ];
    for (name, question) in classes {
        let mut group = criterion.benchmark_group(format!("search, {name}"));
        group.bench_function("ours", |bencher| {
            bencher.iter(|| engine.search(black_box(&question).request()).expect("a page"));
        });
        group.bench_function("fts5", |bencher| {
            bencher.iter(|| rival.fts5(black_box(&question)).expect("a page"));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    targets = analysis, builds, one_row, plans, searches
}
criterion_main!(benches);
