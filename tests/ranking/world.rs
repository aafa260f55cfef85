//! Random archives in memory with as many segments as asked for, and random requests of them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use afterthought::index::{Snapshot, Store};
use afterthought::model::{Checkpoint, Message, Session};
use afterthought::search::{Deadline, Source, search};
use afterthought::{Field, Group, Hit, Match, Origin, Page, SearchRequest, Sort};
use afterthought_tools::random::Random;

const WORDS: [&str; 12] = [
    "deploy",
    "failed",
    "lock",
    "order",
    "cache",
    "timeout",
    "the",
    "of",
    "getUserById",
    "部署",
    "失败",
    "v2.5.1",
];
const SOURCES: [&str; 5] = ["cli", "cli", "telegram", "cron", "subagent"];

/// Archives that a world may be spread over; sessions of one lineage stay together.
pub(crate) const ARCHIVES: u64 = 3;

pub(crate) struct World {
    snapshots: Vec<Snapshot>,
    messages: HashMap<i64, Message>,
    edited: HashSet<i64>,
}

impl World {
    /// Writes one segment after the other: a large one, then small ones, with deletes among them.
    pub(crate) fn of(segments: usize, seed: u64) -> Self {
        let world = Self::written(1, segments, seed, 4);
        assert_eq!(world.snapshots[0].segments(), segments);
        world
    }

    /// Writes the same into one archive or [`ARCHIVES`], without deletes: an index counts what it has deleted
    /// until the segment is merged, and segments are merged by what one archive has.
    pub(crate) fn spread(archives: u64, segments: usize, seed: u64) -> Self {
        Self::written(archives, segments, seed, 1)
    }

    fn written(archives: u64, segments: usize, seed: u64, deletes_below: u64) -> Self {
        let mut random = Random::new(seed);
        let stores: Vec<Store> = (0..archives).map(|_| Store::in_memory().expect("a store")).collect();
        let mut writers: Vec<_> =
            stores.iter().map(|store| store.small_writer().expect("a writer")).collect();
        let place = |ord: u64| (usize::try_from(ord % archives).expect("small"), ord / archives);
        let mut messages = HashMap::new();
        let (mut id, mut sessions) = (0, 0);
        for segment in 0..segments {
            for _ in 0..=random.below(8) {
                let (archive, ord) = place(sessions);
                writers[archive].put_session(ord, session(&mut random, sessions)).expect("a session");
                sessions += 1;
            }
            for _ in 0..=random.below(if segment == 0 { 900 } else { 60 }) {
                id += 1;
                let ord = random.below(sessions);
                let message = message(&mut random, id, ord);
                let (archive, own_ord) = place(ord);
                let copy = random.percent(3);
                writers[archive].add_message(own_ord, message.clone(), copy).expect("a message");
                messages.insert(id, message);
            }
            for _ in 0..random.below(deletes_below) {
                let gone = i64::try_from(1 + random.below(id.unsigned_abs())).expect("an id");
                for writer in &mut writers {
                    writer.remove_message(gone);
                }
                messages.remove(&gone);
            }
            for (store, writer) in stores.iter().zip(&mut writers) {
                let before = store.snapshot().expect("a snapshot").checkpoint().clone();
                writer.commit(&Checkpoint { complete: true, ..before }).expect("a commit");
            }
        }
        for writer in writers {
            writer.finish().expect("an end");
        }
        let snapshots = stores.iter().map(|store| store.snapshot().expect("a snapshot")).collect();
        Self { snapshots, messages, edited: HashSet::new() }
    }

    /// Edits some rows behind the index's back, as no agent does; those of before are as they were.
    pub(crate) fn edit(&mut self, random: &mut Random) {
        let mut ids: Vec<i64> = self.messages.keys().copied().collect();
        ids.sort_unstable();
        self.edited = ids.into_iter().filter(|_| random.percent(8)).collect();
    }

    pub(crate) fn search(&self, request: &SearchRequest) -> Page {
        let read = |id: i64| {
            let mut message = self.messages.get(&id)?.clone();
            if self.edited.contains(&id) {
                message.content += " edited";
            }
            Some(message)
        };
        let fetch = |ids: &[Option<i64>]| Ok(ids.iter().map(|id| id.and_then(read)).collect());
        let mut fetches: Vec<_> = self.snapshots.iter().map(|_| fetch).collect();
        let mut sources = Vec::new();
        for (snapshot, fetch) in self.snapshots.iter().zip(&mut fetches) {
            sources.push(Some(Source { name: "world", snapshot, fetch }));
        }
        let deadline = Deadline::after(Duration::from_mins(1));
        search(&mut sources, request, &deadline).expect("a page")
    }

    /// Returns every hit, by as many long pages as that takes.
    pub(crate) fn all(&self, request: &SearchRequest) -> Vec<Hit> {
        let mut all = Vec::new();
        loop {
            let page = SearchRequest { offset: all.len(), limit: 1_000, ..request.clone() };
            let page = self.search(&page);
            let is_last = page.results.len() < 1_000;
            all.extend(page.results);
            if is_last {
                return all;
            }
        }
    }
}

fn session(random: &mut Random, ord: u64) -> Session {
    // Also children of themselves, of each other and of sessions that are not there.
    let number = |random: &mut Random| ord % ARCHIVES + ARCHIVES * random.below(ord / ARCHIVES + 2);
    let parent = random.percent(50).then(|| format!("s{}", number(random)));
    Session {
        id: format!("s{ord}"),
        source: random.pick(&SOURCES).to_owned(),
        title: random.percent(40).then(|| text(random, 4)),
        parent_id: parent,
        started_ms: time(random),
        ..Session::default()
    }
}

fn text(random: &mut Random, words_max: u64) -> String {
    let words: Vec<&str> = (0..=random.below(words_max)).map(|_| random.pick(&WORDS)).collect();
    words.join(" ")
}

fn time(random: &mut Random) -> Option<i64> {
    (!random.percent(4)).then(|| 1_760_000_000_000 + i64::try_from(random.below(50)).expect("small") * 1_000)
}

fn message(random: &mut Random, id: i64, ord: u64) -> Message {
    let length = if random.percent(10) { 200 } else { 12 };
    let mut message = Message {
        id,
        session_id: format!("s{ord}"),
        role: random.pick(&["user", "assistant", "assistant", "tool"]).to_owned(),
        content: text(random, length),
        timestamp_ms: time(random),
        ..Message::default()
    };
    match message.role.as_str() {
        "assistant" if random.percent(60) => message.reasoning = text(random, 30),
        "tool" => message.tool_name.push_str("terminal"),
        _ if random.percent(8) => message.content = format!("[CONTEXT COMPACTION] {}", message.content),
        _ => {}
    }
    message.state.active = !random.percent(4);
    message
}

/// Returns a request of any kind.
pub(crate) fn request(random: &mut Random) -> SearchRequest {
    let mut query = text(random, 5);
    let [a, b, c] = [(); 3].map(|()| random.pick(&WORDS));
    match random.below(15) {
        0 => query = format!("\"{query}\" {a}"),
        1 => query = format!("+{query}"),
        2 => query = format!("{query} NOT {a}"),
        3 => query = format!("({query}) AND {a}"),
        4 => query = format!("{a} AND {b} OR {c} AND NOT de*"),
        5 => query = format!("de* {query}"),
        6 => query = format!("(lo* AND order~1) {query}"),
        7 => query = format!("ordre~ lokc~1 {query}"),
        8 => query = format!("\"{a} {b}\"~3 {query}"),
        9 => query = format!("{a} OR \"{a} {b} {c}\"~9 NOT said:({b} AND t*)"),
        10 => query = format!("thought:{a} saw:({b} OR {c})"),
        _ => {}
    }
    let mut request = SearchRequest::new(query);
    request.limit = 1 + random.index(12);
    request.offset = if random.percent(30) { random.index(40) } else { 0 };
    request.matching = if random.percent(15) { Match::All } else { Match::Any };
    request.sort = random.weighted(&[(6, Sort::Relevance), (2, Sort::Newest), (2, Sort::Oldest)]);
    request.group = random.weighted(&[(5, Group::None), (3, Group::Session), (2, Group::Lineage)]);
    request.tiers = !random.percent(25);
    if random.percent(30) {
        request.origins.push(random.pick(&Origin::ALL));
    }
    if random.percent(30) {
        request.filters.roles.push(random.pick(&["user", "assistant", "tool"]).to_owned());
    }
    if random.percent(20) {
        request.filters.sources.push(random.pick(&SOURCES).to_owned());
    }
    if random.percent(20) {
        request.filters.since_ms = Some(1_760_000_020_000);
    }
    if random.percent(30) {
        request.weights.fields.insert(random.pick(&Field::ALL), 7.5);
        request.weights.phrase = 0.25;
    }
    request
}
