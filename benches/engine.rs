//! Criterion benches over a 20,000-row archive: analysis, first build, a one-row sync, and searches
//! by class. `cargo bench -p afterthought-benches`

use std::hint::black_box;
use std::time::Duration;

use afterthought::text::Analyzer;
use afterthought::{Engine, Level, Options, SearchRequest};
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

fn mirror(criterion: &mut Criterion) {
    let archive = archive();
    let mut group = criterion.benchmark_group("mirror");
    group.sample_size(10);
    group.throughput(Throughput::Elements(ROWS));
    group.bench_function("first build", |bencher| {
        let folder = || tempfile::tempdir().expect("a temporary folder");
        bencher.iter_batched(folder, |index| drop(open(&archive, &index)), BatchSize::PerIteration);
    });
    group.throughput(Throughput::Elements(1));
    let mut writer = Writer::open(&archive.path().join("state.db")).expect("the archive");
    writer.session(&Session::new("bench")).expect("a session");
    writer.close().expect("a clean close");
    let index = tempfile::tempdir().expect("a temporary folder");
    let engine = open(&archive, &index);
    group.bench_function("one-row sync", |bencher| {
        let append = || {
            let mut writer = Writer::open(&archive.path().join("state.db")).expect("the archive");
            writer.message("bench", &Message::user("one more row")).expect("a row");
            writer.close().expect("a clean close");
        };
        let sync = |()| engine.freshen(Level::Quick, Duration::MAX, |_| {}).expect("a sync");
        bencher.iter_batched(append, sync, BatchSize::PerIteration);
    });
}

fn searches(criterion: &mut Criterion) {
    let (archive, index) = (archive(), tempfile::tempdir().expect("a temporary folder"));
    let engine = open(&archive, &index);
    let words = corpus::vocabulary();
    let classes = [
        ("common word", words[0].clone()),
        ("rare word", words[words.len() / 3].clone()),
        ("three words", format!("{} {} {}", words[3], words[40], words[400])),
        ("phrase", format!("\"{} {}\"", words[0], words[1])),
        ("two Han characters", "数据".to_owned()),
    ];
    let mut group = criterion.benchmark_group("search");
    for (name, query) in classes {
        group.bench_function(name, |bencher| {
            bencher.iter(|| engine.search(SearchRequest::new(black_box(query.as_str()))).expect("a page"));
        });
    }
}

criterion_group!(benches, analysis, mirror, searches);
criterion_main!(benches);
