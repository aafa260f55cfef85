//! What the analysis of text costs, beside tantivy's own tokenizer: time, and bytes of an index by
//! piece of the analysis; then where the bytes of a whole index lie, and how fast it is built.
//!
//! ```text
//! ROWS=30000 DATA=…/trajectories cargo bench --workspace --bench analysis
//! ```
//!
//! `DATA` is a folder with records of real agents, one session as JSON a line, packed by zstd.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use afterthought::text::{Analyzer, Kind, Tokens};
use afterthought::{Engine, Level, Options};
use afterthought_tests::setting;
use afterthought_tools::corpus::{self, Plan};
use rusqlite::Connection;
use serde_json::Value;
use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{
    LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer, Token, TokenStream, Tokenizer,
};
use tantivy::{Index, doc};

const SEED: u64 = 7;
const ROUNDS: usize = 7;
/// One thread's arena, above what any of the texts needs: one segment, no merging.
const ARENA_BYTES: usize = 1 << 30;
/// Texts of fewer bytes are measured ten times over.
const MEASURED_BYTES_MIN: f64 = 10e6;
/// The records of real agents that are measured.
const RECORDS: &str = "entireio-cli.jsonl.zst";

fn main() {
    let rows = setting("ROWS", 30_000);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let archive = folder.path().join("state.db");
    corpus::write(&archive, &Plan::new(rows, SEED), |_| {}).expect("an archive");
    let generated = texts_of(&archive);
    let han: Vec<String> = generated.iter().filter(|text| is_mostly_han(text)).cloned().collect();
    let plain: Vec<String> = generated.iter().filter(|text| !has_han(text)).cloned().collect();
    let records = records();
    let mut sets = vec![("generated", &generated), ("generated, no Han", &plain), ("mostly Han", &han)];
    if let Some(records) = &records {
        sets.push((RECORDS, records));
    }
    println!("MB a second of processor time, median [min-max] of {ROUNDS} rounds, each side once a round\n");
    println!(
        "{:<24}{:>6}  {:>20}  {:>20}  {:>20}  ours : default",
        "texts", "MB", "ours", "default", "simple"
    );
    for (name, texts) in &sets {
        speed(name, texts);
    }
    for (name, texts) in &sets {
        pieces(name, texts);
    }
    whole(&archive, folder.path());
}

/// Returns the content and reasoning of an archive, as they stand.
fn texts_of(archive: &Path) -> Vec<String> {
    let archive = Connection::open(archive).expect("the archive");
    let mut texts = Vec::new();
    for column in ["content", "reasoning"] {
        let all = format!("SELECT {column} FROM messages WHERE length({column}) > 0 ORDER BY id");
        let mut statement = archive.prepare(&all).expect("a statement");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        texts.extend(rows.map(|text| text.expect("a text")));
    }
    texts
}

/// Returns the content and reasoning of real records; says why if there are none.
fn records() -> Option<Vec<String>> {
    let Some(folder) = std::env::var_os("DATA") else {
        println!("no records of real agents: DATA is not set\n");
        return None;
    };
    let path = Path::new(&folder).join(RECORDS);
    let unpacked = Command::new("zstd").arg("-dc").arg(&path).output().expect("zstd can be run");
    if !unpacked.status.success() {
        println!("no records of real agents: zstd cannot unpack {}\n", path.display());
        return None;
    }
    let mut texts = Vec::new();
    for line in String::from_utf8(unpacked.stdout).expect("records are text").lines() {
        let session: Value = serde_json::from_str(line).expect("a session is JSON");
        for message in session["messages"].as_array().into_iter().flatten() {
            let columns = ["content", "reasoning"].map(|column| message[column].as_str());
            texts.extend(columns.into_iter().flatten().filter(|text| !text.is_empty()).map(str::to_owned));
        }
    }
    Some(texts)
}

fn is_han(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x9FFF | 0x20000..=0x3FFFF)
}

fn has_han(text: &str) -> bool {
    text.chars().any(is_han)
}

fn is_mostly_han(text: &str) -> bool {
    text.chars().filter(|c| is_han(*c)).count() * 2 > text.chars().count()
}

/// The sum of sizes; texts here are far below 2^52 bytes.
#[expect(clippy::cast_precision_loss, reason = "texts here are far below 2^52 bytes")]
fn bytes_of(texts: &[String]) -> f64 {
    texts.iter().map(String::len).sum::<usize>() as f64
}

fn speed(name: &str, texts: &[String]) {
    let default = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .build();
    let ours = TextAnalyzer::from(Ours { pieces: |_, _| true, ..Ours::default() });
    let mut sides = [ours, default, TextAnalyzer::from(SimpleTokenizer::default())];
    // The clock of a thread ticks in milliseconds.
    let repeats = if bytes_of(texts) < MEASURED_BYTES_MIN { 10 } else { 1 };
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..=ROUNDS {
        for turn in 0..sides.len() {
            let side = (turn + round) % sides.len();
            let began = processor_time();
            let mut count = 0;
            for text in (0..repeats).flat_map(|_| texts) {
                sides[side].token_stream(text).process(&mut |token| count += token.text.len());
            }
            black_box(count);
            // The first round loads the dictionary.
            if round > 0 {
                times[side].push(processor_time().saturating_sub(began));
            }
        }
    }
    let megabytes = bytes_of(texts) / 1e6;
    let shown = times.each_mut().map(|times| {
        times.sort_unstable();
        let rate = |time: Duration| megabytes * f64::from(repeats) / time.as_secs_f64();
        let (most, least) = (rate(times[0]), rate(times[times.len() - 1]));
        format!("{:.0} [{least:.0}-{most:.0}]", rate(times[times.len() / 2]))
    });
    let ratio = times[0][ROUNDS / 2].as_secs_f64() / times[1][ROUNDS / 2].as_secs_f64();
    let [ours, default, simple] = shown;
    println!("{name:<24}{megabytes:>6.1}  {ours:>20}  {default:>20}  {simple:>20}  {ratio:.2} x the time");
}

/// Returns the processor time of this thread: others may want the machine too.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux system");
    let nanoseconds = text.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

/// Tells whether a token, from this source, is indexed.
type Pieces = fn(&Token, Of) -> bool;

/// What a token is a piece of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    #[default]
    Word,
    Character,
    Dictionary,
    Whole,
}

/// Our analysis, with some pieces left out.
#[derive(Clone)]
struct Ours {
    analyzer: Analyzer,
    token: Token,
    pieces: Pieces,
}

impl Default for Ours {
    fn default() -> Self {
        Self { analyzer: Analyzer::default(), token: Token::default(), pieces: |_, _| true }
    }
}

struct OurStream<'a> {
    source: &'a str,
    tokens: Tokens<'a>,
    token: &'a mut Token,
    pieces: Pieces,
}

impl Tokenizer for Ours {
    type TokenStream<'a> = OurStream<'a>;

    fn token_stream<'a>(&'a mut self, source: &'a str) -> OurStream<'a> {
        let tokens = self.analyzer.tokens(source);
        OurStream { source, tokens, token: &mut self.token, pieces: self.pieces }
    }
}

impl TokenStream for OurStream<'_> {
    fn advance(&mut self) -> bool {
        loop {
            let Some(token) = self.tokens.advance() else { return false };
            self.token.text.clear();
            self.token.text.push_str(token.text);
            (self.token.offset_from, self.token.offset_to) = (token.from, token.to);
            (self.token.position, self.token.position_length) = (token.position, token.span);
            let kind = token.kind;
            if (self.pieces)(self.token, piece(&self.source[self.token.offset_from..], kind)) {
                return true;
            }
        }
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

fn piece(source: &str, kind: Kind) -> Of {
    match kind {
        Kind::Word => Of::Word,
        Kind::Solo => Of::Character,
        Kind::Whole if source.starts_with(is_han) => Of::Dictionary,
        Kind::Whole => Of::Whole,
    }
}

/// Prints the bytes of an index of some texts, with one more piece from line to line.
fn pieces(name: &str, texts: &[String]) {
    let bytes = bytes_of(texts);
    println!("\n{name}: bytes of index per byte of text");
    println!(
        "{:<28}{:>8}{:>10}{:>10}{:>10}{:>8}{:>9}",
        "", "all", "terms", "postings", "positions", "norms", "tokens"
    );
    let with = IndexRecordOption::WithFreqsAndPositions;
    let table: [(&str, IndexRecordOption, bool, Pieces); 7] = [
        ("words and parts", with, true, |_, of| of == Of::Word),
        ("+ characters", with, true, |_, of| of <= Of::Character),
        ("+ words of the dictionary", with, true, |_, of| of <= Of::Dictionary),
        ("+ names of <= 3 parts", with, true, |token, of| {
            of <= Of::Dictionary || of == Of::Whole && token.position_length <= 3
        }),
        ("+ all names", with, true, |_, of| of <= Of::Whole),
        ("all, no positions", IndexRecordOption::WithFreqs, true, |_, _| true),
        ("all, no lengths of fields", with, false, |_, _| true),
    ];
    for (name, record, norms, pieces) in table {
        let (sizes, tokens) =
            build(texts, TextAnalyzer::from(Ours { pieces, ..Ours::default() }), record, norms);
        line(name, sizes, bytes, tokens);
    }
    let default = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .build();
    let (sizes, tokens) = build(texts, default, with, true);
    line("tantivy's default", sizes, bytes, tokens);
}

fn line(name: &str, sizes: [f64; 4], bytes: f64, tokens: u64) {
    let [terms, postings, positions, norms] = sizes.map(|size| size / bytes);
    let all = sizes.iter().sum::<f64>() / bytes;
    println!("{name:<28}{all:>8.3}{terms:>10.3}{postings:>10.3}{positions:>10.3}{norms:>8.3}{tokens:>9}");
}

/// Indexes texts in memory; returns the sizes of terms, postings, positions and lengths of fields.
fn build(
    texts: &[String],
    analyzer: TextAnalyzer,
    record: IndexRecordOption,
    norms: bool,
) -> ([f64; 4], u64) {
    let indexing =
        TextFieldIndexing::default().set_tokenizer("measured").set_index_option(record).set_fieldnorms(norms);
    let mut schema = Schema::builder();
    let field = schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    let index = Index::create_in_ram(schema.build());
    index.tokenizers().register("measured", analyzer);
    let mut writer = index.writer_with_num_threads(1, ARENA_BYTES).expect("a writer");
    for text in texts {
        writer.add_document(doc!(field => text.as_str())).expect("a document");
    }
    writer.commit().expect("a commit");
    let searcher = index.reader().expect("a reader").searcher();
    let mut sizes = [0.0; 4];
    let mut tokens = 0;
    for (segment, reader) in
        searcher.space_usage().expect("sizes").segments().iter().zip(searcher.segment_readers())
    {
        let files = [segment.termdict(), segment.postings(), segment.positions(), segment.fieldnorms()];
        for (sum, file) in sizes.iter_mut().zip(files) {
            *sum += size(file.total().get_bytes());
        }
        tokens += reader.inverted_index(field).expect("a list").total_num_tokens();
    }
    (sizes, tokens)
}

#[expect(clippy::cast_precision_loss, reason = "indexes here are far below 2^52 bytes")]
fn size(bytes: u64) -> f64 {
    bytes as f64
}

/// Builds the index of an archive and prints where its bytes lie.
fn whole(archive: &Path, folder: &Path) {
    let mut times = Vec::new();
    let mut text_bytes = 0;
    let mut at = folder.to_owned();
    for round in 0..3 {
        at = folder.join(format!("index-{round}"));
        let engine = Engine::open(&Options::new(archive, &at)).expect("an engine");
        let began = Instant::now();
        match engine.freshen(Level::Full, Duration::MAX, |_| {}).expect("a sync") {
            afterthought::Freshness::Fresh(report) => text_bytes = report.stats.text_bytes,
            other => panic!("the sync ended as {other:?}"),
        }
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let bytes = size(text_bytes);
    println!(
        "\nthe whole index of the archive: {:.1} MB of text, built in {:.2} s [{:.2}-{:.2}], {:.1} MB/s",
        bytes / 1e6,
        times[1].as_secs_f64(),
        times[0].as_secs_f64(),
        times[2].as_secs_f64(),
        bytes / 1e6 / times[1].as_secs_f64()
    );
    let index = Index::open_in_dir(generation(&at)).expect("the index");
    let searcher = index.reader().expect("a reader").searcher();
    let mut table: BTreeMap<String, [f64; 5]> = BTreeMap::new();
    for segment in searcher.space_usage().expect("sizes").segments() {
        let files = [
            segment.termdict(),
            segment.postings(),
            segment.positions(),
            segment.fieldnorms(),
            segment.fast_fields(),
        ];
        for (column, file) in files.iter().enumerate() {
            for field in file.fields() {
                let sizes = table.entry(field.field_name().to_owned()).or_default();
                sizes[column] += size(field.total().get_bytes());
            }
        }
    }
    println!(
        "{:<16}{:>8}{:>10}{:>10}{:>10}{:>8}{:>9}   bytes per byte of text",
        "field", "all", "terms", "postings", "positions", "norms", "columns"
    );
    let mut all = [0.0; 5];
    for (name, sizes) in &table {
        all.iter_mut().zip(sizes).for_each(|(sum, size)| *sum += size);
        row(name, *sizes, bytes);
    }
    row("all", all, bytes);
    println!("{} segments, {} documents", searcher.segment_readers().len(), searcher.num_docs());
}

fn row(name: &str, sizes: [f64; 5], bytes: f64) {
    let all = sizes.iter().sum::<f64>() / bytes;
    let [terms, postings, positions, norms, columns] = sizes.map(|size| size / bytes);
    println!("{name:<16}{all:>8.3}{terms:>10.3}{postings:>10.3}{positions:>10.3}{norms:>8.3}{columns:>9.3}");
}

/// Returns the folder that holds the one generation of an index.
fn generation(at: &Path) -> std::path::PathBuf {
    let folders = |at: &Path| -> Vec<_> {
        let entries = fs::read_dir(at).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let mut todo = vec![at.to_owned()];
    while let Some(folder) = todo.pop() {
        if folder.join("meta.json").exists() {
            return folder;
        }
        todo.extend(folders(&folder));
    }
    panic!("{} holds no index", at.display());
}
