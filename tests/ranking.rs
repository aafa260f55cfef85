//! What comes first, and that a fast answer is the exhaustive one.

use afterthought::{Engine, Field, Match, Origin, Page, SearchRequest};
use afterthought_tests::{Fixture, ids, search, sync};
use afterthought_tools::archive::{Message, Session, Shape, Writer};
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

/// 20,000 thoughts: 3 (the oldest) with both words side by side, 50 with both apart, 5,000 with one.
fn thoughts(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.session(&Session::new("s"))?;
    let filler = "we looked at the report and it said nothing of note about any of this";
    writer.transaction(|writer| {
        for row in 0..20_000 {
            let text = match row {
                0..3 => format!("{filler} the quorum drift is what broke it {filler}"),
                _ if row % 390 == 7 && row < 390 * 50 => format!("quorum {filler} {filler} drift"),
                // Short rows, rows that repeat the word, older and newer ones.
                _ if row % 8 == 1 => "quorum".to_owned(),
                _ if row % 8 == 5 => format!("drift drift drift drift {filler}"),
                _ => format!("{filler} {row}"),
            };
            writer.message("s", &Message::thought(&text))?;
        }
        writer.message("s", &Message::user("quorum quorum")).map(drop)
    })
}

fn request(query: &str, origin: Origin, limit: usize) -> SearchRequest {
    let mut request = SearchRequest::new(query);
    request.origins = vec![origin];
    request.limit = limit;
    request.explain = true;
    request
}

#[test]
fn thoughts_are_ranked_and_not_scanned() {
    let fixture = Fixture::with(Shape::V22, thoughts);
    let engine = fixture.engine();
    sync(&engine);
    let page = engine.search(request("quorum drift", Origin::Thought, 60)).expect("a page");
    assert_eq!(ids(&page)[..3], [3, 2, 1], "side by side first, the newest of equals before");
    let both = |hit: &afterthought::Hit| hit.matched_terms.len() == 2;
    assert!(page.results[..53].iter().all(both) && !page.results[53..].iter().any(both));
    assert!(page.total.value > 5_000, "{:?}", page.total);
    assert!(page.results.iter().all(|hit| hit.origin == Origin::Thought));

    let page = engine.search(request("quorum drift", Origin::Thought, 10)).expect("a page");
    let work = page.work.expect("the work was asked for");
    assert!(work.archive_rows_read <= 12, "{work:?}");
    // Every posting of the two words once, and no row without them.
    assert_eq!(work.postings, page.total.value + 53, "{work:?}");
}

#[test]
fn windows_without_what_is_required_are_passed_over() {
    let fixture = Fixture::with(Shape::V22, thoughts);
    let engine = fixture.engine();
    sync(&engine);
    let all = engine.search(request("broke report", Origin::Thought, 10)).expect("a page");
    let required = engine.search(request("+broke report", Origin::Thought, 10)).expect("a page");
    assert_eq!((ids(&required), required.total.value), (vec![3, 2, 1], 3));
    let postings = |page: &Page| page.work.expect("the work was asked for").postings;
    assert!(postings(&required) < postings(&all) / 2, "{:?} of {:?}", required.work, all.work);
}

#[test]
fn a_boost_lifts_a_thought_over_what_was_said() {
    let fixture = Fixture::with(Shape::V22, thoughts);
    let engine = fixture.engine();
    sync(&engine);
    let mut request = SearchRequest::new("quorum");
    request.limit = 1;
    assert_eq!(engine.search(request.clone()).expect("a page").results[0].origin, Origin::Said);
    request.weights.fields.insert(Field::Reasoning, 5.0);
    assert_eq!(engine.search(request).expect("a page").results[0].origin, Origin::Thought);
}

#[test]
fn equal_scores_are_ordered_by_time_and_then_by_id() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        for (time, text) in [(20.0, "cedar"), (30.0, "cedar"), (30.0, "cedar "), (10.0, "cedar")] {
            writer.message("s", &Message::user(text).at(1_760_000_000.0 + time))?;
        }
        let garbage = "UPDATE messages SET timestamp = 'garbage' WHERE id = 4";
        writer.connection().execute(garbage, []).map(drop)
    });
    let engine = fixture.engine();
    sync(&engine);
    assert_eq!(ids(&search(&engine, "cedar")), [3, 2, 1, 4]);
}

/// A random archive in `commits` commits, so that the index has segments of unequal lengths.
fn random_archive(commits: usize, seed: u64) -> (Fixture, Engine) {
    let fixture = Fixture::with(Shape::V22, |_| Ok(()));
    let mut random = Random::new(seed);
    let engine = fixture.engine();
    for commit in 0..commits {
        let mut writer = fixture.writer();
        let session = Session {
            source: (*random_of(&mut random, &["cli", "cron"])).to_owned(),
            ..Session::new(&format!("s{commit}"))
        };
        writer.session(&session).expect("a session");
        let rows = 1 + random.below(if commit == 0 { 1_200 } else { 60 });
        let write = |writer: &mut Writer| {
            (0..rows).try_for_each(|_| writer.message(&session.id, &random_message(&mut random)).map(drop))
        };
        writer.transaction(write).expect("rows");
        writer.close().expect("a clean close");
        sync(&engine);
    }
    (fixture, engine)
}

fn random_of<'a, T>(random: &mut Random, of: &'a [T]) -> &'a T {
    &of[random.index(of.len())]
}

fn random_text(random: &mut Random, words_max: u64) -> String {
    let words: Vec<&str> = (0..=random.below(words_max)).map(|_| *random_of(random, &WORDS)).collect();
    words.join(" ")
}

fn random_message(random: &mut Random) -> Message {
    let length = if random.percent(10) { 200 } else { 12 };
    let text = random_text(random, length);
    let message = match random.below(4) {
        0 => Message::user(&text),
        1 => Message::tool("terminal", &text),
        2 => Message::thought(&text),
        _ => Message::assistant(&text).with_reasoning(&random_text(random, 30)),
    };
    #[expect(clippy::cast_precision_loss, reason = "a time")]
    message.at(1_760_000_000.0 + random.below(50) as f64)
}

fn random_query(random: &mut Random) -> SearchRequest {
    let mut query = random_text(random, 5);
    match random.below(6) {
        0 => query = format!("\"{query}\" {}", random_of(random, &WORDS)),
        1 => query = format!("+{query}"),
        2 => query = format!("{query} NOT {}", random_of(random, &WORDS)),
        _ => {}
    }
    let mut request = SearchRequest::new(query);
    request.limit = 1 + random.index(12);
    request.offset = if random.percent(30) { random.index(40) } else { 0 };
    request.matching = if random.percent(15) { Match::All } else { Match::Any };
    if random.percent(30) {
        request.origins.push(*random_of(random, &Origin::ALL));
    }
    if random.percent(30) {
        request.filters.roles.push((*random_of(random, &["user", "assistant", "tool"])).to_owned());
    }
    if random.percent(20) {
        request.filters.sources.push("cli".to_owned());
    }
    if random.percent(20) {
        request.filters.since_ms = Some(1_760_000_020_000);
    }
    if random.percent(30) {
        request.weights.fields.insert(*random_of(random, &Field::ALL), 7.5);
        request.weights.phrase = 0.25;
    }
    request
}

fn shown(page: &Page) -> Vec<(Option<i64>, String, u32)> {
    page.results.iter().map(|hit| (hit.message_id, hit.session_id.clone(), hit.score.to_bits())).collect()
}

#[test]
fn the_fast_answer_is_the_exhaustive_one() {
    for (commits, seed) in [(1, 1), (2, 2), (30, 3)] {
        let (_fixture, engine) = random_archive(commits, seed);
        let mut random = Random::new(seed);
        let mut hits = 0;
        for _ in 0..300 {
            let fast = random_query(&mut random);
            let exhaustive = SearchRequest { prune: false, ..fast.clone() };
            let (fast_page, page) =
                (engine.search(fast.clone()).expect("a page"), engine.search(exhaustive).expect("a page"));
            assert_eq!(shown(&fast_page), shown(&page), "{fast:?}");
            assert_eq!(fast_page.total, page.total, "{fast:?}");
            hits += page.results.len();
        }
        assert!(hits > 500, "{hits}");
    }
}

#[test]
fn pages_joined_are_one_long_page() {
    let (_fixture, engine) = random_archive(5, 9);
    let mut long = SearchRequest::new("deploy lock order");
    long.limit = 60;
    let whole = engine.search(long.clone()).expect("a page");
    let mut joined = Vec::new();
    for offset in (0..60).step_by(7) {
        let part = SearchRequest { offset, limit: 7.min(60 - offset), ..long.clone() };
        joined.extend(shown(&engine.search(part).expect("a page")));
    }
    assert_eq!(joined, shown(&whole));
}

#[test]
fn neighbours_are_checked_only_where_they_can_matter() {
    let fixture = Fixture::with(Shape::V22, thoughts);
    let engine = fixture.engine();
    sync(&engine);
    let fast = request("quorum drift", Origin::Thought, 3);
    let exhaustive = SearchRequest { prune: false, ..fast.clone() };
    let checks = |request| engine.search(request).expect("a page").work.expect("work").phrase_checks;
    assert!(checks(fast) <= checks(exhaustive));
}
