//! Random histories of an archive, its mirror and their crashes, against a naive scan of the archive.
//!
//! A seed decides what the agent does, what is asked, and where disks fail; only where the index's own
//! threads stand at that moment is left to chance. `SEEDS` and `STEPS` say how much is run, from the
//! seed `FIRST` on:
//!
//! ```text
//! SEEDS=1000 STEPS=200 cargo test --release --workspace --test simulation in_memory -- --nocapture
//! SEEDS=1 FIRST=17 cargo test --workspace --test simulation in_memory -- --nocapture
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use afterthought::index::{Disk, Storage};
use afterthought::search::IndexState;
use afterthought::{
    Depth, Engine, Error, ErrorKind, Freshness, Level, Options, Origin, Outcome, Reindex, SearchRequest,
};
use afterthought_tests::faults::{Faulty, Memory};
use afterthought_tests::{Fixture, setting};
use afterthought_tools::archive::{Fts, Message, Session, Shape, Writer};
use afterthought_tools::random::Random;
use serde_json::json;

/// No word is part of another, nor of anything else in a row.
const WORDS: [&str; 8] = ["harbor", "quorum", "ledger", "beacon", "cedar", "fjord", "grape", "lantern"];
const ROLES: [&str; 3] = ["user", "assistant", "tool"];

#[test]
fn in_memory() {
    run("in_memory", 16, |seed| {
        let memory = Memory::default();
        Simulation::new(seed, Arc::new(memory.clone()), Some(memory))
    });
}

#[test]
fn on_disk() {
    run("on_disk", 4, |seed| Simulation::new(seed, Arc::new(Disk), None));
}

/// Runs seeds on as many threads as there are processors, and says how many.
fn run(test: &str, seeds: u64, begin: impl Fn(u64) -> Simulation + Sync) {
    let (first, seeds, steps) = (setting("FIRST", 1), setting("SEEDS", seeds), setting("STEPS", 80));
    assert!(seeds > 0 && steps > 0, "SEEDS and STEPS must be 1 or more");
    let next = AtomicU64::new(first);
    let (asked, crashes) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= first + seeds {
                        break;
                    }
                    let mut simulation = begin(seed);
                    let went_well = catch_unwind(AssertUnwindSafe(|| simulation.run(steps)));
                    if went_well.is_err() {
                        next.store(first + seeds, Ordering::SeqCst);
                        let log = simulation.log.join("\n  ");
                        panic!(
                            "seed {seed}, after\n  {log}\nagain: SEEDS=1 FIRST={seed} STEPS={steps} \
                             cargo test --workspace --test simulation {test} -- --nocapture"
                        );
                    }
                    let done = seed - first + 1;
                    if done.is_multiple_of(100) && done < seeds {
                        println!("{test}: about {done} of {seeds} seeds");
                    }
                    asked.fetch_add(simulation.asked, Ordering::SeqCst);
                    crashes.fetch_add(simulation.crashes, Ordering::SeqCst);
                }
            });
        }
    });
    println!("{test}: {seeds} seeds of {steps} steps, {asked:?} answers checked, {crashes:?} crashes");
}

// ---- what a naive scan of the archive says ----

/// One row of the archive.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    session: String,
    role: String,
    time: f64,
    texts: [String; 4],
    active: bool,
    compacted: bool,
    hidden: bool,
}

impl Row {
    fn is_visible(&self) -> bool {
        (self.active || self.compacted) && !self.hidden
    }

    fn holds(&self, word: &str) -> bool {
        self.texts.iter().any(|text| text.split(|c: char| !c.is_alphanumeric()).any(|part| part == word))
    }

    /// Tells whether a reader would be shown the same.
    fn says_the_same(&self, other: &Row) -> bool {
        let other = Row { session: self.session.clone(), ..other.clone() };
        *self == other
    }

    fn rank(&self) -> u8 {
        if self.is_visible() { 1 + u8::from(self.active) } else { 0 }
    }
}

/// The archive at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
struct Scan {
    rows: BTreeMap<i64, Row>,
    titles: BTreeMap<String, String>,
}

impl Scan {
    fn of(writer: &Writer) -> rusqlite::Result<Self> {
        let hidden = match writer.shape() {
            Shape::V30 => "coalesce(display_kind, '') = 'hidden'",
            _ => "0",
        };
        let columns = "id, session_id, role, timestamp, coalesce(content, ''), coalesce(reasoning, ''), \
                       coalesce(tool_name, ''), coalesce(tool_calls, ''), active, compacted";
        let sql = format!("SELECT {columns}, {hidden} FROM messages");
        let mut query = writer.connection().prepare_cached(&sql)?;
        let rows = query.query_map([], |row| {
            let texts = [row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?];
            let (active, compacted, hidden) = (row.get(8)?, row.get(9)?, row.get(10)?);
            let (session, role, time) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, Row { session, role, time, texts, active, compacted, hidden }))
        })?;
        let rows = rows.collect::<rusqlite::Result<_>>()?;
        let mut query = writer.connection().prepare_cached("SELECT id, coalesce(title, '') FROM sessions")?;
        let titles = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self { rows, titles: titles.collect::<rusqlite::Result<_>>()? })
    }

    /// Returns the rows that repeat another one.
    fn copies(&self) -> BTreeSet<i64> {
        let mut copies = BTreeSet::new();
        for (id, row) in &self.rows {
            let repeats = |(other_id, other): (&i64, &Row)| {
                other_id != id
                    && (other.session == row.session && other.role == row.role)
                    && (other.time.to_bits() == row.time.to_bits() && other.texts == row.texts)
                    && (other.rank(), other_id) > (row.rank(), id)
            };
            if self.rows.iter().any(repeats) {
                copies.insert(*id);
            }
        }
        copies
    }

    fn id_max(&self) -> i64 {
        self.rows.keys().next_back().copied().unwrap_or(0)
    }
}

/// What is asked.
#[derive(Clone, Debug)]
struct Question {
    words: Vec<&'static str>,
    role: Option<&'static str>,
    include_inactive: bool,
    include_copies: bool,
}

impl Question {
    fn of(word: &'static str) -> Self {
        Self { words: vec![word], role: None, include_inactive: false, include_copies: false }
    }

    /// Asks for every row with a word, whatever its state.
    fn of_all(word: &'static str) -> Self {
        Self { include_inactive: true, include_copies: true, ..Self::of(word) }
    }

    fn random(random: &mut Random) -> Self {
        let words = (0..random.between(1, 2)).map(|_| random.pick(&WORDS)).collect();
        let role = random.percent(30).then(|| random.pick(&ROLES));
        Self { words, role, include_inactive: random.percent(20), include_copies: random.percent(20) }
    }

    fn request(&self) -> SearchRequest {
        let mut request = SearchRequest::new(self.words.join(" "));
        request.origins = vec![Origin::Said, Origin::Thought, Origin::Did, Origin::Saw];
        request.limit = 1_000;
        request.filters.roles = self.role.into_iter().map(str::to_owned).collect();
        request.filters.include_inactive = self.include_inactive;
        request.filters.include_copies = self.include_copies;
        request
    }

    fn takes(&self, row: &Row) -> bool {
        self.role.is_none_or(|role| row.role == role)
            && (self.include_inactive || row.is_visible())
            && self.words.iter().any(|word| row.holds(word))
    }
}

// ---- one history ----

struct Simulation {
    random: Random,
    fixture: Fixture,
    writer: Option<Writer>,
    storage: Arc<dyn Storage>,
    /// The storage, where it can lose what was not synced.
    memory: Option<Memory>,
    faults: Faulty,
    engine: Option<Engine>,
    /// The archive as the index has it; `None` where only the mirror knows.
    mirrored: Option<Scan>,
    /// Sessions in which rows were changed in place since they were last compared by text.
    edited: BTreeSet<String>,
    backup: bool,
    sessions: u64,
    log: Vec<String>,
    asked: u64,
    crashes: u64,
}

impl Simulation {
    fn new(seed: u64, storage: Arc<dyn Storage>, memory: Option<Memory>) -> Self {
        let shape = if seed.is_multiple_of(2) { Shape::V22 } else { Shape::V30 };
        let fixture = Fixture::new();
        let writer = Writer::create(&fixture.archive(), shape, Fts::None).expect("a new archive");
        writer.connection().execute_batch("PRAGMA synchronous = OFF").expect("a setting");
        let faults = Faulty::over(Arc::clone(&storage));
        Self {
            random: Random::new(seed),
            fixture,
            writer: Some(writer),
            storage,
            memory,
            faults,
            engine: None,
            mirrored: Some(Scan::default()),
            edited: BTreeSet::new(),
            backup: false,
            sessions: 0,
            log: Vec::new(),
            asked: 0,
            crashes: 0,
        }
    }

    fn run(&mut self, steps: u64) {
        self.session();
        self.open();
        for _ in 0..steps {
            self.step();
            let question = Question::random(&mut self.random);
            self.ask(&question);
        }
        self.sync(Level::Deep);
        for word in WORDS {
            self.ask(&Question::of(word));
        }
        self.check_proof();
    }

    fn step(&mut self) {
        type Act = fn(&mut Simulation);
        const ACTS: [(u64, &str, Act); 27] = [
            (24, "append", Simulation::append),
            (3, "session", Simulation::session),
            (5, "rewind", Simulation::rewind),
            (4, "restore", Simulation::restore),
            (5, "compact", Simulation::compact),
            (4, "replace", Simulation::replace),
            (1, "clear", Simulation::clear),
            (2, "delete session", Simulation::delete_session),
            (1, "delete the session's row alone", Simulation::orphan),
            (4, "title", Simulation::title),
            (2, "import an old row", Simulation::import),
            (2, "delete the highest row", Simulation::delete_highest),
            (2, "swap two rows' active", Simulation::swap_active),
            (2, "edit in place", Simulation::edit),
            (1, "flip compacted", Simulation::flip),
            (1, "move a row to another session", Simulation::move_row),
            (1, "vacuum", Simulation::vacuum),
            (2, "close and open the archive", Simulation::reopen_archive),
            (1, "back up, or restore the backup", Simulation::swap_backup),
            (8, "quick sync", |simulation| simulation.sync(Level::Quick)),
            (14, "full sync", |simulation| simulation.sync(Level::Full)),
            (3, "deep sync", |simulation| simulation.sync(Level::Deep)),
            (2, "open the engine anew", Simulation::open),
            (6, "die in a sync", Simulation::die_in_sync),
            (1, "die in a rebuild", Simulation::die_in_rebuild),
            (2, "fill the disk", Simulation::fill_up),
            (1, "stop reading", Simulation::stop_reading),
        ];
        let weights: Vec<(u64, usize)> = ACTS.iter().enumerate().map(|(place, act)| (act.0, place)).collect();
        let (_, name, act) = ACTS[self.random.weighted(&weights)];
        self.log.push(name.to_owned());
        act(self);
    }

    // ---- what the agent does ----

    fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().expect("an open archive")
    }

    fn scan(&self) -> Scan {
        Scan::of(self.writer.as_ref().expect("an open archive")).expect("a scan")
    }

    fn execute(&mut self, sql: &str) {
        self.writer().connection().execute_batch(sql).expect(sql);
    }

    /// Picks a session that has a row of its own; makes one if there is none.
    fn some_session(&mut self) -> String {
        let sessions: Vec<String> = self.scan().titles.into_keys().collect();
        if sessions.is_empty() {
            self.session();
            return format!("s{}", self.sessions);
        }
        sessions[self.random.index(sessions.len())].clone()
    }

    /// Picks a row.
    fn some_row(&mut self) -> Option<(i64, Row)> {
        let rows: Vec<(i64, Row)> = self.scan().rows.into_iter().collect();
        (!rows.is_empty()).then(|| rows[self.random.index(rows.len())].clone())
    }

    fn text(&mut self) -> String {
        let count = self.random.between(1, 4);
        let words: Vec<&str> = (0..count).map(|_| self.random.pick(&WORDS)).collect();
        words.join(" ")
    }

    fn message(&mut self) -> Message {
        let text = self.text();
        match self.random.below(5) {
            0 => Message::user(&text),
            1 => Message::assistant(&text).with_reasoning(&self.text()),
            2 => Message::thought(&text),
            3 => Message::assistant("").with_call("look", &json!({"at": text})),
            _ => Message::tool("terminal", &text),
        }
    }

    fn session(&mut self) {
        self.sessions += 1;
        let session = Session::new(&format!("s{}", self.sessions));
        self.writer().session(&session).expect("a session");
    }

    fn append(&mut self) {
        let session = self.some_session();
        for _ in 0..self.random.between(1, 4) {
            let message = self.message();
            self.writer().message(&session, &message).expect("a row");
        }
    }

    fn rewind(&mut self) {
        if let Some((id, row)) = self.some_row() {
            self.writer().rewind(&row.session, id).expect("a rewind");
        }
    }

    fn restore(&mut self) {
        if let Some((id, row)) = self.some_row() {
            self.writer().restore(&row.session, id).expect("a restore");
        }
    }

    fn compact(&mut self) {
        let session = self.some_session();
        let rows = self.scan().rows;
        let live: Vec<Row> = rows.into_values().filter(|row| row.session == session && row.active).collect();
        let summary = Message::user(&format!("so far: {}", self.text()));
        let kept = self.random.index(3).min(live.len());
        // Kept rows come again with their old times.
        let kept = live[live.len() - kept..].iter().map(again);
        let messages: Vec<Message> = std::iter::once(summary).chain(kept).collect();
        self.writer().compact(&session, &messages).expect("a compaction");
    }

    fn replace(&mut self) {
        let session = self.some_session();
        let messages: Vec<Message> = (0..self.random.below(4)).map(|_| self.message()).collect();
        self.writer().replace(&session, &messages).expect("a replacement");
    }

    fn clear(&mut self) {
        let session = self.some_session();
        self.writer().clear(&session).expect("a clearing");
    }

    fn delete_session(&mut self) {
        let session = self.some_session();
        self.writer().delete_session(&session).expect("a deletion");
    }

    fn orphan(&mut self) {
        let session = self.some_session();
        let delete = format!("DELETE FROM sessions WHERE id = '{session}'");
        self.execute(&format!("PRAGMA foreign_keys = 0; {delete}; PRAGMA foreign_keys = 1"));
    }

    fn title(&mut self) {
        let session = self.some_session();
        let title = format!("{} of {session}", self.text());
        self.writer().set_title(&session, &title).expect("a title");
    }

    fn import(&mut self) {
        let session = self.some_session();
        let days = f64::from(u32::try_from(self.random.below(900)).expect("a few days"));
        let message = self.message().at(1_500_000_000.0 + days * 86_400.0);
        self.writer().message(&session, &message).expect("a row");
    }

    fn delete_highest(&mut self) {
        self.execute("DELETE FROM messages WHERE id = (SELECT max(id) FROM messages)");
    }

    fn swap_active(&mut self) {
        if let Some((_, row)) = self.some_row() {
            self.execute(&format!(
                "UPDATE messages SET active = 1 - active WHERE session_id = '{0}' AND id IN \
                 ((SELECT min(id) FROM messages WHERE session_id = '{0}' AND active = 1), \
                  (SELECT max(id) FROM messages WHERE session_id = '{0}' AND active = 0))",
                row.session
            ));
        }
    }

    fn edit(&mut self) {
        if let Some((id, row)) = self.some_row() {
            self.edited.insert(row.session);
            let text = self.text();
            self.execute(&format!("UPDATE messages SET content = 'edited {text}' WHERE id = {id}"));
        }
    }

    fn flip(&mut self) {
        if let Some((id, row)) = self.some_row() {
            self.edited.insert(row.session);
            let hide = match self.writer().shape() {
                Shape::V30 if self.random.percent(50) => "display_kind = 'hidden'",
                _ => "compacted = 1 - compacted",
            };
            self.execute(&format!("UPDATE messages SET {hide} WHERE id = {id}"));
        }
    }

    fn move_row(&mut self) {
        let session = self.some_session();
        if let Some((id, _)) = self.some_row() {
            self.execute(&format!("UPDATE messages SET session_id = '{session}' WHERE id = {id}"));
        }
    }

    fn vacuum(&mut self) {
        self.execute("VACUUM");
    }

    fn reopen_archive(&mut self) {
        self.writer.take().expect("an open archive").close().expect("a clean close");
        self.writer = Some(self.fixture.writer());
        self.execute("PRAGMA synchronous = OFF");
    }

    /// Puts a copy of the archive aside; the next time, puts it in the archive's place, as another file
    /// or over the bytes of the same one.
    fn swap_backup(&mut self) {
        let backup = self.fixture.index().with_file_name("backup.db");
        self.backup = !self.backup;
        let over = self.random.percent(50);
        if self.backup {
            self.execute(&format!("VACUUM INTO '{}'", backup.display()));
            return;
        }
        self.writer.take().expect("an open archive").close().expect("a clean close");
        if over {
            std::fs::copy(&backup, self.fixture.archive()).expect("a copy");
            std::fs::remove_file(&backup).expect("a removal");
        } else {
            std::fs::rename(&backup, self.fixture.archive()).expect("a swap");
        }
        self.writer = Some(self.fixture.writer());
        self.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
        let (before, now) = (self.mirrored.clone().unwrap_or_default(), self.scan());
        self.edited.extend(before.titles.into_keys().chain(now.titles.into_keys()));
        self.edited.extend(before.rows.into_values().chain(now.rows.into_values()).map(|row| row.session));
    }

    // ---- what the mirror does ----

    fn options(&self) -> Options {
        let mut options = Options::new(self.fixture.archive(), self.fixture.index());
        options.storage = Arc::new(self.faults.clone());
        options
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("an open engine")
    }

    fn open(&mut self) {
        self.engine = None;
        self.engine = Some(Engine::open(&self.options()).expect("an engine"));
    }

    fn freshen(&self, level: Level) -> Result<(), Error> {
        match self.engine().freshen(level, Duration::MAX, |_| {}).expect("a writer thread") {
            Freshness::Fresh(_) => Ok(()),
            Freshness::Behind(error) => {
                assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
                Err(error)
            }
            Freshness::Pending => unreachable!("an endless wait"),
        }
    }

    fn sync(&mut self, level: Level) {
        self.freshen(level).expect("a sync");
        self.synced(level);
    }

    /// Notes what the index must hold after a sync.
    fn synced(&mut self, level: Level) {
        let now = self.scan();
        match level {
            Level::Quick => {
                // How closely it looked is its own affair; rows that were appended are there.
                let before = self.mirrored.take().map_or(i64::MAX, |scan| scan.id_max());
                let copies = now.copies();
                for word in WORDS {
                    let found = self.found(&Question::of(word));
                    for (id, row) in now.rows.range(before.saturating_add(1)..) {
                        let is_sure = !self.edited.contains(&row.session) && !copies.contains(id);
                        let is_due = is_sure && Question::of(word).takes(row);
                        assert!(!is_due || found.contains(id), "{word}: {id} was appended");
                    }
                }
            }
            Level::Full => self.mirrored = Some(now),
            Level::Deep => {
                self.mirrored = Some(now);
                self.edited.clear();
                self.check_titles();
            }
        }
    }

    fn die_in_sync(&mut self) {
        let level = self.random.pick(&[Level::Full, Level::Deep]);
        let operations = self.random.below(110);
        self.faults.die_after(operations);
        let done = self.freshen(level).is_ok();
        self.reboot(level, done);
    }

    fn die_in_rebuild(&mut self) {
        let operations = self.random.below(400);
        self.faults.die_after(operations);
        let rebuilt = Reindex::start(&self.options()).and_then(|rebuild| rebuild.run(|_, _| {}));
        match rebuilt {
            Ok(Outcome::Swapped(_)) => self.reboot(Level::Deep, true),
            Ok(other) => panic!("{other:?}"),
            // What answered before answers on.
            Err(error) => {
                assert!(self.faults.is_dead(), "{error}");
                self.reboot(Level::Full, false);
            }
        }
    }

    /// Starts over after a crash: by a kill, or by a power cut where the storage knows how.
    fn reboot(&mut self, level: Level, done: bool) {
        let mut chance = Random::new(self.random.bits());
        let cut = self.random.percent(50);
        self.crashes += u64::from(self.faults.is_dead());
        self.engine = None;
        match &self.memory {
            Some(memory) if cut => memory.cut_power(&mut chance),
            // A commit that was not synced yet is lost if power is cut just then, and only then.
            Some(memory) => memory.write_back(),
            None => {}
        }
        self.faults = Faulty::over(Arc::clone(&self.storage));
        self.open();
        self.is_one_of_two(level, done);
    }

    /// Checks that the index is what it was before a sync, or what the sync makes of it. A sync that
    /// came to its end must have made it.
    fn is_one_of_two(&mut self, level: Level, done: bool) {
        let is_before = self.mirrored.as_ref().is_some_and(|before| self.agrees(before));
        if done || (self.mirrored.is_some() && !is_before) {
            self.log.push(format!("done {done}, before {is_before}, now {}", self.agrees(&self.scan())));
            self.synced(level);
        }
        for word in WORDS {
            self.ask(&Question::of(word));
        }
    }

    fn agrees(&self, scan: &Scan) -> bool {
        let index = self.engine().search(Question::of("harbor").request()).expect("a page").index;
        if index.rows != scan.rows.len() as u64 {
            return false;
        }
        WORDS.iter().flat_map(|word| [Question::of(word), Question::of_all(word)]).all(|question| {
            let (must, may) = self.expected(scan, &question);
            let found = self.found(&question);
            must.is_subset(&found) && found.is_subset(&may)
        })
    }

    fn fill_up(&mut self) {
        let level = self.random.pick(&[Level::Full, Level::Deep]);
        self.faults.fill_up_after(self.random.below(20_000));
        let outcome = self.freshen(level);
        if let Err(error) = &outcome {
            assert_eq!(error.kind(), ErrorKind::IndexUnavailable, "{error}");
        }
        self.faults.heal();
        self.is_one_of_two(level, outcome.is_ok());
        // The same engine goes on.
        self.sync(Level::Full);
    }

    fn stop_reading(&mut self) {
        self.faults.stop_reading();
        let outcome = self.freshen(Level::Full);
        self.faults.heal();
        self.is_one_of_two(Level::Full, outcome.is_ok());
        self.sync(Level::Full);
    }

    // ---- what is checked ----

    fn found(&self, question: &Question) -> BTreeSet<i64> {
        let page = self.engine().search(question.request()).expect("a page");
        let found: BTreeSet<i64> = page.results.iter().filter_map(|hit| hit.message_id).collect();
        assert_eq!(found.len(), page.results.len(), "{question:?}: a row is a hit twice");
        assert_eq!(page.total.value, found.len() as u64, "{question:?}: the total");
        found
    }

    /// Returns the rows that an answer must and may hold, where the index holds `scan`.
    fn expected(&self, scan: &Scan, question: &Question) -> (BTreeSet<i64>, BTreeSet<i64>) {
        let (now, copies) = (self.scan(), scan.copies());
        let must = scan.rows.iter().filter(|(id, row)| {
            question.takes(row)
                && (question.include_copies || !copies.contains(id))
                && !self.edited.contains(&row.session)
                && now.rows.get(id).is_some_and(|other| row.says_the_same(other))
        });
        let must: BTreeSet<i64> = must.map(|(id, _)| *id).collect();
        // A row that was edited in place may be known already or not; what is shown of it is true.
        let is_edited = |id: &i64, row: &Row| {
            let was = scan.rows.get(id).map(|row| &row.session);
            self.edited.contains(&row.session) || was.is_some_and(|session| self.edited.contains(session))
        };
        let edited = now.rows.iter().filter(|(id, row)| question.takes(row) && is_edited(id, row));
        let may = must.iter().copied().chain(edited.map(|(id, _)| *id)).collect();
        (must, may)
    }

    fn ask(&mut self, question: &Question) {
        self.asked += 1;
        let found = self.found(question);
        let now = self.scan();
        let Some(mirrored) = &self.mirrored else {
            for id in found {
                assert!(question.takes(&now.rows[&id]), "{question:?}: {id} is no answer");
            }
            return;
        };
        let (must, may) = self.expected(mirrored, question);
        let missing: Vec<_> = must.difference(&found).collect();
        let surplus: Vec<_> = found.difference(&may).collect();
        let rows = || missing.iter().chain(&surplus).map(|id| (id, mirrored.rows.get(id), now.rows.get(id)));
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{question:?}: {missing:?} missing, {surplus:?} surplus; then and now {:?}; the proof says {:?}",
            rows().collect::<Vec<_>>(),
            self.engine().verify(Depth::Text)
        );
        self.check_counts(mirrored, &now);
    }

    fn check_counts(&self, mirrored: &Scan, now: &Scan) {
        let index = self.engine().search(Question::of("harbor").request()).expect("a page").index;
        if index.state == IndexState::Building || !self.edited.is_empty() {
            return;
        }
        assert_eq!(
            index.rows,
            mirrored.rows.len() as u64,
            "rows of the index {:?}",
            self.engine().verify(Depth::Text)
        );
        let behind = now.rows.range(mirrored.id_max().saturating_add(1)..).count() as u64;
        assert_eq!(index.rows_behind, behind, "rows behind");
    }

    fn check_titles(&mut self) {
        let now = self.scan();
        for word in WORDS {
            let mut request = SearchRequest::new(word);
            (request.origins, request.limit) = (vec![Origin::Titled], 1_000);
            let page = self.engine().search(request).expect("a page");
            let found: BTreeSet<&str> = page.results.iter().map(|hit| hit.session_id.as_str()).collect();
            let titled = now.titles.iter().filter(|(_, title)| title.split(' ').any(|part| part == word));
            assert_eq!(found, titled.map(|(id, _)| id.as_str()).collect(), "titles with {word}");
            self.asked += 1;
        }
    }

    fn check_proof(&self) {
        let verdict = self.engine().verify(Depth::Text).expect("a verdict");
        assert!(verdict.equal, "{verdict:?}");
        assert_eq!(verdict.archive_rows, self.scan().rows.len() as u64);
    }
}

/// Writes a row again as compaction does.
fn again(row: &Row) -> Message {
    let [content, reasoning, tool_name, tool_calls] = row.texts.clone();
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    Message {
        reasoning_content: some(reasoning.clone()),
        reasoning: some(reasoning),
        tool_name: some(tool_name),
        tool_calls: some(tool_calls),
        ..Message::new(&row.role, content).at(row.time)
    }
}
