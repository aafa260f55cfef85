//! What comes first, and that a fast answer is the exhaustive one.

#[path = "ranking/world.rs"]
mod world;

use afterthought::{Facet, Field, Group, Hit, Origin, Page, SearchRequest, Sort};
use afterthought_tests::{Fixture, ids, search, setting, sync};
use afterthought_tools::archive::{Message, Session, Shape, Writer};
use afterthought_tools::random::Random;

use world::{ARCHIVES, World};

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
fn a_row_of_a_megabyte_is_shown_for_a_few_kilobytes() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        let line = "the buoy keeps its light and the report says so, ";
        let (before, after) = (line.repeat(12_000), line.repeat(8_000));
        for row in 0..10 {
            let text = format!("{before}a kestrel sits on buoy {row}, {after}");
            writer.message("s", &Message::user(&text))?;
        }
        Ok(())
    });
    let engine = fixture.engine();
    sync(&engine);
    let page = engine.search(request("kestrel buoy report", Origin::Said, 10)).expect("a page");
    assert!(
        page.results.len() == 10 && page.results.iter().all(|hit| hit.snippet.contains("a kestrel sits"))
    );
    let work = page.work.expect("the work was asked for");
    assert!(work.snippet_bytes <= 10 * 16 * 1024, "{work:?}");
    let page = engine.search(request("kestrel", Origin::Said, 10)).expect("a page");
    let work = page.work.expect("the work was asked for");
    assert!(work.snippet_bytes <= 10 * 1024, "{work:?}");
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
    request.weights.fields.insert(Field::Reasoning, 0.5);
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

type Shown = (Option<i64>, String, u32, Option<u64>);

fn shown_of(hit: &Hit) -> Shown {
    (hit.message_id, hit.session_id.clone(), hit.score.to_bits(), hit.more_in_session)
}

fn shown(hits: &[Hit]) -> Vec<Shown> {
    hits.iter().map(shown_of).collect()
}

/// Worlds of one segment, of two and of thirty, of unequal lengths, each with its share of `RANKINGS`.
fn each_world(seed: u64, share: u64, mut check: impl FnMut(&mut World, &mut Random)) -> u64 {
    let rounds = (setting("RANKINGS", 300) / share).div_ceil(3).max(1);
    for (segments, seed) in [(1, seed), (2, seed + 1), (30, seed + 2)] {
        let mut world = World::of(segments, seed);
        let mut random = Random::new(seed);
        (0..rounds).for_each(|_| check(&mut world, &mut random));
    }
    rounds * 3
}

#[test]
fn the_fast_answer_is_the_exhaustive_one() {
    let mut hits = 0;
    let ran = each_world(1, 1, |world, random| {
        let fast = world::request(random);
        let exhaustive = SearchRequest { prune: false, ..fast.clone() };
        let (fast_page, page) = (world.search(&fast), world.search(&exhaustive));
        assert_eq!(shown(&fast_page.results), shown(&page.results), "{fast:?}");
        assert_eq!(fast_page.total, page.total, "{fast:?}");
        assert_eq!(fast_page.total_messages, page.total_messages, "{fast:?}");
        hits += page.results.len();
    });
    println!("{ran} random searches, {hits} hits");
    assert!(hits as u64 > ran, "{hits} hits of {ran} searches");
}

/// A hit, and what it comes before or after others by. Titles of equal rank have numbers that differ by archive.
fn placed(hit: &Hit) -> (u32, Option<String>, Option<i64>, Option<u64>, f32) {
    let id = hit.message_id;
    (hit.score.to_bits(), hit.timestamp.clone(), id, hit.more_in_session, hit.coverage)
}

#[test]
fn several_archives_answer_as_one_that_holds_all_of_it() {
    let rounds = setting("RANKINGS", 300).div_ceil(3);
    let mut hits = 0;
    for (segments, seed) in [(1, 40), (2, 41), (30, 42)] {
        let whole = World::spread(1, segments, seed);
        let spread = World::spread(ARCHIVES, segments, seed);
        let mut random = Random::new(seed);
        for _ in 0..rounds {
            let mut request = world::request(&mut random);
            request.facets = vec![Facet::Role, Facet::Source, Facet::Month];
            let (one, several) = (whole.search(&request), spread.search(&request));
            let [placed_one, placed_several] =
                [&one, &several].map(|page| page.results.iter().map(placed).collect::<Vec<_>>());
            assert_eq!(placed_one, placed_several, "{request:?}");
            assert_eq!(
                (one.total, one.total_messages),
                (several.total, several.total_messages),
                "{request:?}"
            );
            assert_eq!((one.facets, one.facets_more), (several.facets, several.facets_more), "{request:?}");
            assert_eq!(
                (one.confidence, one.diagnosis),
                (several.confidence, several.diagnosis),
                "{request:?}"
            );
            assert_eq!(one.warnings, several.warnings, "{request:?}");
            hits += one.results.len();
        }
    }
    assert!(hits as u64 > rounds, "{hits} hits of {rounds} searches of each world");
}

#[test]
fn pages_over_several_archives_join_by_cursor() {
    for (segments, seed) in [(1, 50), (5, 51)] {
        let mut world = World::spread(ARCHIVES, segments, seed);
        let mut random = Random::new(seed);
        for _ in 0..setting("RANKINGS", 300).div_ceil(15) {
            let request = SearchRequest { offset: 0, ..world::request(&mut random) };
            world.edit(&mut random);
            let mut joined = Vec::new();
            let mut cursor = None;
            loop {
                let page = world.search(&SearchRequest { cursor, ..request.clone() });
                joined.extend(page.results);
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(shown(&joined), shown(&world.all(&request)), "{request:?}");
        }
    }
}

/// Returns what sorting and grouping must make of all hits, from those of the plainest search.
fn expected(plain: &[Hit], request: &SearchRequest, roots: bool) -> Vec<(Option<i64>, String, Option<u64>)> {
    let mut hits: Vec<&Hit> = plain.iter().collect();
    match request.sort {
        Sort::Relevance if request.tiers => hits.sort_by_key(|hit| hit.tier.is_some()),
        Sort::Relevance => {}
        // Stable, and the plain order of equal times is not theirs: ids decide.
        Sort::Newest => hits.sort_by_key(|hit| {
            std::cmp::Reverse((hit.timestamp.clone(), hit.message_id, session_number(hit)))
        }),
        Sort::Oldest => hits.sort_by_key(|hit| {
            (hit.timestamp.is_none(), hit.timestamp.clone(), hit.message_id, session_number(hit))
        }),
    }
    if request.group == Group::None {
        return hits.into_iter().map(|hit| (hit.message_id, hit.session_id.clone(), None)).collect();
    }
    let group = |hit: &Hit| if roots { hit.root_session_id.clone() } else { hit.session_id.clone() };
    let mut groups: Vec<(String, Option<i64>, String, u64)> = Vec::new();
    for hit in hits {
        match groups.iter_mut().find(|known| known.0 == group(hit)) {
            Some(known) => known.3 += 1,
            None => groups.push((group(hit), hit.message_id, hit.session_id.clone(), 0)),
        }
    }
    groups.into_iter().map(|(_, id, session, more)| (id, session, Some(more))).collect()
}

/// Sessions of a world are numbered as they are named; titles of equal times go by it.
fn session_number(hit: &Hit) -> u64 {
    hit.session_id[1..].parse().expect("a number")
}

#[test]
fn sorting_tiers_and_groups_are_what_a_list_of_all_hits_makes_them() {
    let ran = each_world(11, 10, |world, random| {
        let request = world::request(random);
        let plain = SearchRequest {
            sort: Sort::Relevance,
            group: Group::None,
            tiers: false,
            prune: false,
            ..request.clone()
        };
        let plain = world.all(&plain);
        let all = world.all(&request);
        let found: Vec<_> =
            all.iter().map(|hit| (hit.message_id, hit.session_id.clone(), hit.more_in_session)).collect();
        assert_eq!(found, expected(&plain, &request, request.group == Group::Lineage), "{request:?}");
        let page = world.search(&request);
        assert_eq!(page.total.value, all.len() as u64, "{request:?}");
        let messages = page.total_messages.map(|messages| messages.value);
        assert_eq!(messages, (request.group != Group::None).then_some(plain.len() as u64), "{request:?}");
    });
    println!("{ran} random orders");
}

fn kinds(page: &Page) -> Vec<&str> {
    page.warnings.iter().map(|warning| warning.kind).collect()
}

/// Follows cursors to the end, or to `depth`.
fn joined(world: &World, request: &SearchRequest, depth: usize) -> Vec<Hit> {
    let mut request = SearchRequest { offset: 0, limit: 7, ..request.clone() };
    let mut hits = Vec::new();
    loop {
        let page = world.search(&request);
        assert_eq!(page.offset, hits.len(), "{request:?}");
        let ends = page.next_cursor.is_none();
        // Rows that changed may leave a page shorter, after so many rounds of filling it up.
        let is_whole = page.results.len() == 7 || kinds(&page).contains(&"rows-changed");
        assert!(ends || is_whole, "{request:?}");
        hits.extend(page.results);
        request.cursor = page.next_cursor;
        if ends || hits.len() >= depth {
            assert!(!ends || hits.len() as u64 == page.total.value, "{request:?}");
            hits.truncate(depth);
            return hits;
        }
    }
}

#[test]
fn pages_joined_are_one_long_page() {
    const DEPTH: usize = 500;
    let mut pages = 0;
    let ran = each_world(21, 20, |world, random| {
        let request = world::request(random);
        let long = world.search(&SearchRequest { offset: 0, limit: DEPTH, ..request.clone() });
        let joined = joined(world, &request, DEPTH);
        assert_eq!(shown(&joined), shown(&long.results), "{request:?}");
        pages += joined.len().div_ceil(7);
        let by_offset = SearchRequest { offset: 20, limit: 7, ..request.clone() };
        let by_offset = world.search(&by_offset).results;
        assert_eq!(shown(&by_offset), shown(&long.results[20.min(joined.len())..27.min(joined.len())]));
    });
    println!("{ran} random searches by {pages} pages");
}

#[test]
fn pages_join_over_rows_that_changed() {
    let mut left_out = 0;
    let ran = each_world(31, 5, |world, random| {
        world.edit(random);
        let mut request = world::request(random);
        if random.percent(50) {
            request.group = Group::Session;
        }
        // Short enough for a long page to be filled up in the rounds that it has.
        let long = world.search(&SearchRequest { offset: 0, limit: 60, ..request.clone() });
        let key = |hit: &Hit| (hit.message_id, hit.session_id.clone(), hit.score.to_bits());
        let joined: Vec<_> = joined(world, &request, 60).iter().map(key).collect();
        let long_keys: Vec<_> = long.results.iter().map(key).collect();
        assert_eq!(joined[..long_keys.len()], long_keys, "{request:?}");
        left_out += usize::from(kinds(&long).contains(&"rows-changed"));
    });
    println!("{ran} random searches, {left_out} of them over rows that changed");
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
