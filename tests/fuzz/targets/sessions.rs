//! Sessions in memory, asked in every way: skipping work changes no page, pages join by cursor and by
//! offset, groups and facets add up, and hits are in order.

#![no_main]

use std::time::Duration;

use afterthought::index::{Snapshot, Store};
use afterthought::limits::PAGE_HITS_MAX;
use afterthought::model::{Checkpoint, Message, Session};
use afterthought::search::{Deadline, Fetch, Source, search};
use afterthought::{Facet, Filters, Group, Hit, Match, Origin, Page, SearchRequest, Sort, Weights};
use afterthought_fuzz::{Said, Text, Typed, check_snippet, common_words};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

/// Roles that are asked for, about half of the time.
const ROLES: [&str; 4] = ["user", "assistant", "tool", "session_meta"];
const WALL: Duration = Duration::from_secs(15);

/// Texts come last: one may take most of what is left, and what is missing is zero.
#[derive(Arbitrary, Debug)]
struct Input {
    // Making an archive costs more than asking it.
    asked: [Asked; 6],
    rows: [Row; 24],
    /// Messages that are in the first of two commits.
    first: u8,
    sessions: [Started; 6],
    queries: [Typed; 6],
    said: [Said; 24],
}

#[derive(Arbitrary, Debug)]
struct Started {
    source: u8,
    parent: Option<u8>,
    is_reset: bool,
    title: Option<Text>,
    started_ms: Option<i64>,
}

#[derive(Arbitrary, Debug)]
struct Row {
    words: [u8; 4],
    session: u8,
    is_copy: bool,
    tool: Option<u8>,
    /// Taken out again by the second commit, if it was in the first.
    is_removed: bool,
}

#[derive(Arbitrary, Debug)]
struct Asked {
    words: Option<[u8; 4]>,
    /// Origins, facets and the rest of what can be asked, by bit.
    origins: u8,
    facets: u16,
    flags: u8,
    sort: u8,
    group: u8,
    set: u8,
    offset: u8,
    limit: u8,
    role: u8,
    current: Option<u8>,
    since_ms: Option<i64>,
}

fuzz_target!(|input: Input| {
    let archive = Archive::of(&input);
    for (asked, query) in input.asked.iter().zip(&input.queries) {
        check(&archive, &request(asked, query, &archive));
    }
});

/// What is indexed, and what of it the archive still holds.
struct Archive {
    sessions: Vec<Session>,
    messages: Vec<Option<Message>>,
    snapshot: Snapshot,
}

impl Archive {
    fn of(input: &Input) -> Self {
        let sessions: Vec<Session> = input.sessions.iter().enumerate().map(session).collect();
        let rows = &input.rows;
        let first = usize::from(input.first) % rows.len();
        let messages = rows.iter().zip(&input.said).enumerate();
        let messages: Vec<Message> =
            messages.map(|(id, (row, said))| message(id, row, said, &sessions)).collect();
        let is_gone = |id: usize| id < first && rows[id].is_removed;
        let snapshot = index(rows, &messages, first, &sessions, is_gone).expect("an index in memory");
        let messages = messages.into_iter().enumerate();
        Self { sessions, messages: messages.map(|(id, it)| (!is_gone(id)).then_some(it)).collect(), snapshot }
    }

    fn ask(&self, request: &SearchRequest) -> Page {
        let message = |id: &Option<i64>| self.messages.get(usize::try_from((*id)?).ok()?).cloned().flatten();
        let fetch: Fetch<'_> = &mut |ids| Ok(ids.iter().map(message).collect());
        let source = Source { name: "fuzzed", snapshot: &self.snapshot, fetch };
        search(&mut [Some(source)], request, &Deadline::after(WALL)).expect("any query is answered")
    }

    /// Returns the time that a hit is sorted by; the least where it is unknown.
    fn when(&self, hit: &Hit) -> i64 {
        let id = hit.message_id.and_then(|id| usize::try_from(id).ok());
        let time = match id {
            Some(id) => self.messages[id].as_ref().and_then(|message| message.timestamp_ms),
            None => {
                self.sessions.iter().find(|session| session.id == hit.session_id).and_then(|it| it.started_ms)
            }
        };
        // The two latest times there can be count as one.
        time.unwrap_or(i64::MIN).min(i64::MAX - 1)
    }
}

fn session((number, started): (usize, &Started)) -> Session {
    let id = |number: usize| format!("s{number}");
    Session {
        id: id(number),
        source: ["cli", "telegram", "cron", "subagent"][usize::from(started.source) % 4].to_owned(),
        parent_id: started.parent.map(|parent| id(usize::from(parent % 7))),
        end_reason: started.is_reset.then(|| "session_reset".to_owned()),
        title: started.title.as_ref().map(Text::write),
        started_ms: started.started_ms,
        ..Session::default()
    }
}

fn message(id: usize, row: &Row, said: &Said, sessions: &[Session]) -> Message {
    let session = &sessions[usize::from(row.session) % sessions.len()];
    let said = said.message();
    Message {
        content: [common_words(row.words), said.content].join(" "),
        id: i64::try_from(id).expect("a small number"),
        session_id: session.id.clone(),
        tools: row.tool.iter().map(|tool| format!("tool{}", tool % 4)).collect(),
        ..said
    }
}

fn index(
    rows: &[Row],
    messages: &[Message],
    first: usize,
    sessions: &[Session],
    is_gone: impl Fn(usize) -> bool,
) -> afterthought::Result<Snapshot> {
    let store = Store::in_memory()?;
    let mut writer = store.small_writer()?;
    for (ord, session) in (0..).zip(sessions) {
        writer.put_session(ord, session.clone())?;
    }
    for (id, row) in rows.iter().enumerate() {
        if id == first {
            writer.commit(&Checkpoint { complete: true, ..store.snapshot()?.checkpoint().clone() })?;
        }
        let ord = u64::from(row.session) % sessions.len() as u64;
        writer.add_message(ord, messages[id].clone(), row.is_copy)?;
    }
    for message in messages.iter().enumerate().filter(|(id, _)| is_gone(*id)).map(|(_, message)| message) {
        writer.remove_message(message.id);
    }
    writer.commit(&Checkpoint { complete: true, ..store.snapshot()?.checkpoint().clone() })?;
    writer.finish()?;
    store.snapshot()
}

fn request(asked: &Asked, query: &Typed, archive: &Archive) -> SearchRequest {
    let flag = |bit: u8| asked.flags >> bit & 1 == 1;
    let facets = Facet::ALL.into_iter().enumerate();
    let origins = Origin::ALL.into_iter().enumerate();
    let words = asked.words.map(common_words).unwrap_or_default();
    let session = |number: u8| archive.sessions[usize::from(number) % archive.sessions.len()].id.clone();
    SearchRequest {
        origins: origins
            .filter(|(bit, _)| flag(5) && asked.origins >> bit & 1 == 1)
            .map(|(_, it)| it)
            .collect(),
        filters: Filters {
            roles: ROLES
                .get(usize::from(asked.role) % 8)
                .map(|role| (*role).to_owned())
                .into_iter()
                .collect(),
            current_session: asked.current.filter(|_| flag(6)).map(session),
            since_ms: asked.since_ms.filter(|_| flag(7)),
            include_inactive: flag(0),
            include_copies: flag(1),
            ..Filters::default()
        },
        matching: if flag(2) { Match::All } else { Match::Any },
        offset: usize::from(asked.offset) % 8,
        limit: 1 + usize::from(asked.limit) % 8,
        sort: [Sort::Relevance, Sort::Newest, Sort::Oldest][usize::from(asked.sort) % 3],
        group: [Group::None, Group::Session, Group::Lineage][usize::from(asked.group) % 3],
        tiers: flag(3),
        weights: Weights::named(Weights::SETS[usize::from(asked.set) % 5]).expect("a set"),
        facets: facets.filter(|(bit, _)| asked.facets >> bit & 1 == 1).map(|(_, it)| it).collect(),
        explain: flag(4),
        ..SearchRequest::new([words, query.write()].join(" "))
    }
}

fn check(archive: &Archive, request: &SearchRequest) {
    let all = SearchRequest { offset: 0, limit: PAGE_HITS_MAX, ..request.clone() };
    let whole = archive.ask(&all);
    let exhaustive = archive.ask(&SearchRequest { prune: false, ..all.clone() });
    assert_eq!(shown(&whole.results), shown(&exhaustive.results), "skipping work changes nothing");
    assert_eq!(whole.total.value, whole.results.len() as u64);
    let page = archive.ask(request);
    let behind = whole.results.iter().skip(request.offset).take(request.limit);
    assert_eq!(shown(&page.results), shown(behind), "a page is a part of the whole");
    check_cursors(archive, request, &whole);
    check_counts(archive, &all, &whole);
    check_order(archive, request, &whole.results);
    whole.results.iter().for_each(check_hit);
}

fn shown<'a>(hits: impl IntoIterator<Item = &'a Hit>) -> Vec<String> {
    hits.into_iter().map(|hit| format!("{hit:?}")).collect()
}

fn check_cursors(archive: &Archive, request: &SearchRequest, whole: &Page) {
    let mut at = 0;
    let mut next = SearchRequest { offset: 0, ..request.clone() };
    loop {
        let page = archive.ask(&next);
        assert_eq!((page.offset, page.total), (at, whole.total), "every page knows its place");
        let here = whole.results.iter().skip(at).take(request.limit);
        assert_eq!(shown(&page.results), shown(here), "pages join without a gap or a repetition");
        at += page.results.len();
        let Some(cursor) = page.next_cursor else { break };
        assert!(!page.results.is_empty(), "a cursor goes on");
        next.cursor = Some(cursor);
    }
    assert_eq!(at, whole.results.len());
}

fn check_counts(archive: &Archive, all: &SearchRequest, whole: &Page) {
    let messages = whole.total_messages.map_or(whole.total.value, |messages| messages.value);
    let more: u64 = whole.results.iter().filter_map(|hit| hit.more_in_session).sum();
    assert_eq!(messages, whole.total.value + more, "groups hold all messages");
    let single = archive.ask(&SearchRequest { group: Group::None, ..all.clone() });
    assert_eq!(messages, single.total.value, "grouping leaves nothing out");
    let facets = whole.facets.iter().flatten();
    for (facet, values) in facets.filter(|(facet, _)| !matches!(facet, Facet::Tool | Facet::Month)) {
        let counted: u64 = values.iter().map(|value| value.count).sum();
        let is_cut = whole.facets_more.as_ref().is_some_and(|more| more[facet] > 0);
        assert!(counted == messages || is_cut && counted < messages, "{facet:?} {values:?} of {messages}");
    }
}

fn check_order(archive: &Archive, request: &SearchRequest, hits: &[Hit]) {
    let is_ordinary = |hit: &Hit| !request.tiers || hit.tier.is_none();
    assert!(match request.sort {
        Sort::Relevance => hits.is_sorted_by(|a, b| (is_ordinary(a), a.score) >= (is_ordinary(b), b.score)),
        Sort::Newest => hits.is_sorted_by_key(|hit| !archive.when(hit)),
        Sort::Oldest => hits.is_sorted_by_key(|hit| (archive.when(hit) == i64::MIN, archive.when(hit))),
    });
}

fn check_hit(hit: &Hit) {
    assert!(hit.score.is_finite() && hit.score > 0.0, "{hit:?}");
    assert!((0.0..=1.001).contains(&hit.coverage), "{hit:?}");
    assert!(!hit.matched_fields.is_empty(), "{hit:?}");
    assert!((1..=hit.terms_total).contains(&hit.matched_terms.len()), "{hit:?}");
    check_snippet(&hit.snippet, &hit.highlights);
}
