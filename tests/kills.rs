//! `kill -9` at random moments of everything that writes an index, while somebody searches it. `KILLS`
//! says how many, `SEED` decides what changes in between and how long each may run:
//!
//! ```text
//! KILLS=120 cargo test --release --workspace --test kills -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use afterthought::{Engine, ErrorKind, Opening, Options, SearchRequest};
use afterthought_tests::{Fixture, aft, run, setting};
use afterthought_tools::archive::{Message, Writer};
use afterthought_tools::corpus::{self, Plan};
use afterthought_tools::random::Random;

const ROWS: u64 = 20_000;

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Build,
    Sync,
    Merge,
    Rebuild,
}

impl Work {
    const ALL: [Self; 4] = [Self::Build, Self::Sync, Self::Merge, Self::Rebuild];

    /// Makes it necessary.
    fn prepare(self, fixture: &Fixture, random: &mut Random) {
        let mut writer = fixture.writer();
        match self {
            Self::Build if fixture.index().exists() => {
                std::fs::remove_dir_all(fixture.index()).expect("a removal");
            }
            Self::Build | Self::Rebuild => {}
            Self::Sync => writer.transaction(|writer| change(writer, random)).expect("changes"),
            // More of every segment goes than it may keep.
            Self::Merge => {
                let flip = "UPDATE messages SET active = 1 - active WHERE id % 3 = 1";
                writer.transaction(|writer| writer.connection().execute_batch(flip)).expect("changes");
            }
        }
        writer.close().expect("a clean close");
    }

    fn command(self, fixture: &Fixture) -> Command {
        let mut command = aft();
        command.arg("--archive").arg(fixture.archive()).arg("--index").arg(fixture.index());
        command.arg(if self == Self::Rebuild { "reindex" } else { "index" });
        command
    }
}

/// Appends, takes back, replaces and deletes in some sessions.
fn change(writer: &mut Writer, random: &mut Random) -> rusqlite::Result<()> {
    let sessions: Vec<String> = {
        let mut query = writer.connection().prepare("SELECT id FROM sessions ORDER BY id")?;
        query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
    };
    let some = |random: &mut Random| sessions[random.index(sessions.len())].clone();
    for number in 0..400 {
        writer.message(&some(random), &Message::assistant(&format!("the answer is {number}")))?;
    }
    writer.rewind(&some(random), 0)?;
    writer.replace(&some(random), &[Message::user("all over again")])?;
    writer.clear(&some(random))
}

#[test]
fn a_kill_at_any_moment_loses_nothing_and_shows_nothing_untrue() {
    let kills = setting("KILLS", 8);
    assert!(kills > 0, "KILLS must be 1 or more");
    let mut random = Random::new(setting("SEED", 1));
    let fixture = Fixture::new();
    corpus::write(&fixture.archive(), &Plan::new(ROWS, 7), |_| {}).expect("an archive");
    let mut took = BTreeMap::new();
    for work in Work::ALL {
        work.prepare(&fixture, &mut random);
        let began = Instant::now();
        assert_eq!(run(&mut work.command(&fixture)).code, 0);
        took.insert(work, began.elapsed());
    }
    let (mut cut_short, mut answers) = (0, 0);
    for number in 0..kills {
        let work = Work::ALL[usize::try_from(number % 4).expect("a small number")];
        work.prepare(&fixture, &mut random);
        let texts = texts(&fixture);
        let after =
            took[&work].mul_f64(f64::from(u32::try_from(random.below(1_000)).expect("small")) / 1_000.0);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let searcher = scope.spawn(|| search(&fixture, &texts, &done));
            cut_short += u64::from(kill(work, &fixture, after));
            let ran = run(&mut work.command(&fixture));
            assert_eq!(ran.code, 0, "{work:?} after a kill at {after:?}: {ran:?}");
            done.store(true, Ordering::Relaxed);
            answers += searcher.join().expect("every answer is true");
        });
        // A merge that was killed with its process is no business of the rows.
        let proven = fixture.aft(&["verify", "--deep"]);
        assert_eq!(proven.code, 0, "{work:?} after a kill at {after:?}: {proven:?}");
    }
    println!(
        "{kills} kills, {cut_short} before the end; {answers} answers meanwhile, all true; index = archive"
    );
    assert!(cut_short > 0 && answers > 0, "nothing was cut short, or nobody was answered");
}

/// Kills the work after that long. Returns whether it had not ended by itself.
fn kill(work: Work, fixture: &Fixture, after: Duration) -> bool {
    let mut command = work.command(fixture);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
    std::thread::sleep(after);
    child.kill().expect("a process that can be killed");
    !child.wait().expect("a process that ended").success()
}

/// Returns what every row says, in small letters.
fn texts(fixture: &Fixture) -> BTreeMap<i64, String> {
    let writer = fixture.writer();
    let columns =
        ["content", "reasoning", "tool_name", "tool_calls"].map(|name| format!("coalesce({name}, '')"));
    let sql = format!("SELECT id, lower({}) FROM messages", columns.join(" || ' ' || "));
    let mut query = writer.connection().prepare(&sql).expect("a query");
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.collect::<rusqlite::Result<_>>().expect("rows")
}

/// Searches without a pause, each time as a new process would. Every hit must hold the word.
fn search(fixture: &Fixture, texts: &BTreeMap<i64, String>, done: &AtomicBool) -> u64 {
    let mut answers = 0;
    let options = Options { index: Opening::Existing, ..Options::new(fixture.archive(), fixture.index()) };
    for word in corpus::vocabulary().iter().filter(|word| word.len() > 4).cycle() {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let page = Engine::open(&options)
            .and_then(|engine| engine.search(SearchRequest::new(format!("\"{word}\""))));
        match page {
            Ok(page) => {
                for id in page.results.iter().filter_map(|hit| hit.message_id) {
                    assert!(texts[&id].contains(word), "{word}: {id} does not say so");
                }
                answers += 1;
            }
            // Nothing has been indexed yet.
            Err(error) => assert_eq!(error.kind(), ErrorKind::IndexMissing, "{error}"),
        }
    }
    answers
}
