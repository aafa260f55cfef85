//! Orders, tiers, groups and cursors of an archive that its agent goes on writing.

use afterthought::limits::CURSOR_SNAPSHOTS_MAX;
use afterthought::{Engine, ErrorKind, Facet, Group, Page, SearchRequest, Sort, Tier};
use afterthought_tests::{Fixture, ids, search, sync};
use afterthought_tools::archive::{Message, Session, Shape, Writer};

fn session(id: &str, source: &str) -> Session {
    Session { source: source.to_owned(), ..Session::new(id) }
}

fn ask(engine: &Engine, request: &SearchRequest) -> Page {
    engine.search(request.clone()).expect("a page")
}

fn of(query: &str, change: impl FnOnce(&mut SearchRequest)) -> SearchRequest {
    let mut request = SearchRequest::new(query);
    change(&mut request);
    request
}

fn sessions(page: &Page) -> Vec<&str> {
    page.results.iter().map(|hit| hit.session_id.as_str()).collect()
}

// --- tiers

/// 1,000 runs of a timer, all newer than what a person asked, and 12 of a sub-agent.
fn nightly(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.session(&session("asked", "cli"))?;
    writer.message(
        "asked",
        &Message::user("where does the report go, the nightly one of last week").at(1_760_000_000.0),
    )?;
    for run in 0..12 {
        for source in ["cron", "subagent"] {
            let id = format!("{source}-{run}");
            writer.session(&session(&id, source))?;
            for _ in 0..if source == "cron" { 84 } else { 1 } {
                writer.message(&id, &Message::user("report nightly").at(1_770_000_000.0))?;
            }
        }
    }
    Ok(())
}

// https://github.com/NousResearch/hermes-agent/issues/19434, 53597 and 16253
#[test]
fn what_a_person_asked_comes_before_the_runs_of_timers() {
    let fixture = Fixture::with(Shape::V22, nightly);
    let engine = fixture.engine();
    sync(&engine);
    for limit in [1, 3, 1_000] {
        let page = ask(&engine, &of("nightly report", |request| request.limit = limit));
        assert_eq!((ids(&page)[0], page.results[0].tier), (1, None), "{limit}");
        assert_eq!(page.total.value, 25, "copies of one moment are one message");
    }
    let plain = ask(&engine, &of("nightly report", |request| request.tiers = false));
    assert_ne!(ids(&plain)[0], 1);
    assert!(plain.results.iter().all(|hit| hit.tier.is_some()), "a hit says its tier in any case");
    let newest = ask(&engine, &of("nightly report", |request| request.sort = Sort::Newest));
    assert_ne!(ids(&newest)[0], 1, "by time there are no tiers");
}

#[test]
fn where_there_are_only_timers_they_are_the_answer() {
    let fixture = Fixture::with(Shape::V22, nightly);
    let engine = fixture.engine();
    sync(&engine);
    let cron = of("nightly report", |request| request.filters.exclude_sources = vec!["cli".to_owned()]);
    let page = ask(&engine, &cron);
    assert_eq!((page.total.value, page.results.len()), (24, 10));
    assert!(page.results.iter().all(|hit| hit.tier.is_some()));
    let tier = |source: &str| {
        let only = of("report", |request| request.filters.sources = vec![source.to_owned()]);
        ask(&engine, &only).results[0].tier
    };
    assert_eq!([tier("cli"), tier("cron"), tier("subagent")], [None, Some(Tier::Cron), Some(Tier::Subagent)]);
}

// https://github.com/NousResearch/hermes-agent/issues/86234
#[test]
fn a_summary_by_compaction_is_found_behind_what_was_said() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&session("s", "cli"))?;
        writer.message("s", &Message::user("a long question in which the ferry is one word among others"))?;
        writer.message("s", &Message::user("[CONTEXT COMPACTION - REFERENCE ONLY] ferry ferry"))?;
        writer.message("s", &Message::assistant("[CONTEXT SUMMARY]: ferry"))?;
        writer.message("s", &Message::user("what does [CONTEXT COMPACTION mean, ferry?"))?;
        writer.message("s", &Message::tool("terminal", "[CONTEXT COMPACTION ferry")).map(drop)
    });
    let engine = fixture.engine();
    sync(&engine);
    let page = search(&engine, "ferry");
    let tiers: Vec<_> = page.results.iter().map(|hit| (hit.message_id, hit.tier)).collect();
    assert_eq!(tiers[..3].iter().filter(|(_, tier)| tier.is_none()).count(), 3, "{tiers:?}");
    let mut summaries = tiers[3..].to_vec();
    summaries.sort_unstable_by_key(|(id, _)| *id);
    assert_eq!(summaries, [(Some(2), Some(Tier::Summary)), (Some(3), Some(Tier::Summary))]);
    assert_eq!(ids(&search(&engine, "compaction reference only"))[0], 4);
}

// --- sort and group

// https://github.com/NousResearch/hermes-agent/issues/44003
#[test]
fn by_time_the_unknown_comes_last_in_either_order() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&session("s", "cli"))?;
        for (word, time) in [("a", 20.0), ("b", 30.0), ("c", 10.0), ("d", 30.0), ("e", 0.0)] {
            writer.message("s", &Message::user(&format!("cedar {word}")).at(1_760_000_000.0 + time))?;
        }
        let garbage = "UPDATE messages SET timestamp = 'garbage' WHERE id = 5";
        writer.connection().execute(garbage, []).map(drop)
    });
    let engine = fixture.engine();
    sync(&engine);
    let by = |sort| ask(&engine, &of("cedar", |request| request.sort = sort));
    assert_eq!(ids(&by(Sort::Newest)), [4, 2, 1, 3, 5]);
    assert_eq!(ids(&by(Sort::Oldest)), [3, 1, 2, 4, 5]);
    let scores = |page: &Page| {
        let mut scores: Vec<_> =
            page.results.iter().map(|hit| (hit.message_id, hit.score.to_bits())).collect();
        scores.sort_unstable();
        scores
    };
    assert_eq!(scores(&by(Sort::Oldest)), scores(&by(Sort::Relevance)), "a score is a score in any order");
}

#[test]
fn sorting_by_time_checks_no_positions() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&session("s", "cli"))?;
        (0..500).try_for_each(|row| {
            writer.message("s", &Message::user(&format!("{row} lock order {row} order lock"))).map(drop)
        })
    });
    let engine = fixture.engine();
    sync(&engine);
    let newest = of("lock order", |request| (request.sort, request.explain) = (Sort::Newest, true));
    let page = ask(&engine, &newest);
    assert_eq!((page.total.value, page.work.expect("work").phrase_checks), (500, 0));
}

/// Three sessions in a row, two in a circle, one alone.
fn lineages(writer: &mut Writer) -> rusqlite::Result<()> {
    writer.connection().execute_batch("PRAGMA foreign_keys = OFF")?;
    for (id, parent, rows) in [
        ("a", None, 3),
        ("b", Some("a"), 2),
        ("c", Some("b"), 1),
        ("x", Some("y"), 2),
        ("y", Some("x"), 2),
        ("alone", Some("gone"), 4),
    ] {
        writer.session(&Session { parent_session_id: parent.map(str::to_owned), ..Session::new(id) })?;
        for row in 0..rows {
            let text = format!("cedar {}", "and other wood ".repeat(row));
            writer.message(id, &Message::user(&text))?;
        }
    }
    Ok(())
}

#[test]
fn a_session_is_shown_once_by_its_best_message() {
    let fixture = Fixture::with(Shape::V22, lineages);
    let engine = fixture.engine();
    sync(&engine);
    let by = |group| ask(&engine, &of("cedar", |request| request.group = group));
    let page = by(Group::Session);
    assert_eq!((page.total.value, page.total_messages.expect("a count").value), (6, 14));
    assert_eq!(sessions(&page), ["alone", "y", "x", "c", "b", "a"], "equal scores, the newest first");
    let more: Vec<_> = page.results.iter().map(|hit| hit.more_in_session.expect("a count")).collect();
    assert_eq!(more, [3, 1, 1, 0, 1, 2]);
    let page = by(Group::Lineage);
    assert_eq!((page.total.value, page.total_messages.expect("a count").value), (3, 14));
    assert_eq!(sessions(&page), ["alone", "y", "c"]);
    let roots: Vec<_> = page.results.iter().map(|hit| hit.root_session_id.as_str()).collect();
    assert_eq!(roots, ["alone", "x", "a"]);
    let more: Vec<_> = page.results.iter().map(|hit| hit.more_in_session.expect("a count")).collect();
    assert_eq!(more, [3, 3, 5]);
    let page = by(Group::None);
    assert_eq!((page.total.value, page.total_messages), (14, None));
    assert!(page.results.iter().all(|hit| hit.more_in_session.is_none()));
}

#[test]
fn people_are_told_how_to_see_the_rest_of_a_group() {
    let fixture = Fixture::with(Shape::V22, lineages);
    let by = |group: &str| fixture.aft(&["search", "--group", group, "-n", "1", "cedar"]);
    let ran = by("session");
    // With the flags that reach this archive again.
    assert!(ran.stdout.contains("3 more in this session: aft --archive "), "{ran:?}");
    assert!(ran.stdout.contains(" session alone --search cedar"), "{ran:?}");
    assert!(ran.stderr.contains("1 of 6 groups of 14 hits"), "{ran:?}");
    assert!(by("lineage").stdout.contains("3 more in this lineage"), "{ran:?}");
}

// --- cursors

/// 40 messages in 10 sessions.
fn woods(writer: &mut Writer) -> rusqlite::Result<()> {
    for number in 0..10 {
        writer.session(&session(&format!("s{number}"), if number % 3 == 0 { "cron" } else { "cli" }))?;
    }
    (0..40).try_for_each(|row: usize| {
        let text = format!("cedar {}", "wood ".repeat(row * 7 % 5));
        writer.message(&format!("s{}", row % 10), &Message::user(&text)).map(drop)
    })
}

fn grow(fixture: &Fixture, rows: usize) {
    let mut writer = fixture.writer();
    for row in 0..rows {
        let text = format!("cedar cedar {row}");
        writer.message("s1", &Message::user(&text)).expect("a row");
    }
    writer.close().expect("a clean close");
}

/// Follows cursors of pages of seven to the end, with `between` after each.
fn joined(engine: &Engine, request: &SearchRequest, mut between: impl FnMut()) -> Vec<(Option<i64>, u32)> {
    let mut request = SearchRequest { limit: 7, ..request.clone() };
    let mut hits = Vec::new();
    loop {
        let page = ask(engine, &request);
        hits.extend(page.results.iter().map(|hit| (hit.message_id, hit.score.to_bits())));
        request.cursor = page.next_cursor;
        if request.cursor.is_none() {
            return hits;
        }
        between();
    }
}

#[test]
fn pages_join_while_the_archive_grows_and_is_synced() {
    let fixture = Fixture::with(Shape::V22, woods);
    let engine = fixture.engine();
    sync(&engine);
    for sort in [Sort::Relevance, Sort::Newest, Sort::Oldest] {
        for group in [Group::None, Group::Session] {
            let request = of("cedar", |request| (request.sort, request.group) = (sort, group));
            let long = ask(&engine, &SearchRequest { limit: 500, ..request.clone() });
            let long: Vec<_> = long.results.iter().map(|hit| (hit.message_id, hit.score.to_bits())).collect();
            let before = ask(&engine, &request).total.value;
            let joined = joined(&engine, &request, || {
                grow(&fixture, 3);
                sync(&engine);
            });
            assert_eq!(joined, long, "{sort:?} {group:?}");
            assert!(group != Group::None || ask(&engine, &request).total.value > before);
        }
    }
}

#[test]
fn a_row_that_was_taken_back_meanwhile_is_not_shown() {
    let fixture = Fixture::with(Shape::V22, woods);
    let engine = fixture.engine();
    sync(&engine);
    let request = of("cedar", |request| request.sort = Sort::Oldest);
    let page = ask(&engine, &request);
    assert_eq!(ids(&page), (1..=10).collect::<Vec<_>>());
    let writer = fixture.writer();
    let rewind = "UPDATE messages SET active = 0 WHERE id IN (2, 12)";
    writer.connection().execute(rewind, []).expect("a rewind");
    writer.close().expect("a clean close");
    sync(&engine);
    let next = ask(&engine, &SearchRequest { cursor: page.next_cursor, ..request });
    assert_eq!(ids(&next), [11].into_iter().chain(13..=21).collect::<Vec<_>>());
    assert!(next.warnings.iter().any(|warning| warning.kind == "rows-changed"));
}

#[test]
fn a_cursor_goes_deeper_than_any_offset() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&session("s", "cli"))?;
        writer.transaction(|writer| {
            (0..10_020).try_for_each(|row: u32| {
                writer.message("s", &Message::user(&format!("cedar {row}"))).map(drop)
            })
        })
    });
    let engine = fixture.engine();
    sync(&engine);
    let mut request = of("cedar", |request| {
        (request.sort, request.offset, request.limit) = (Sort::Oldest, 9_990, 10);
    });
    let page = ask(&engine, &request);
    (request.offset, request.limit, request.cursor) = (0, 15, page.next_cursor);
    let page = ask(&engine, &request);
    assert_eq!((page.offset, ids(&page)), (10_000, (10_001..=10_015).collect()));
    request.cursor = page.next_cursor;
    let page = ask(&engine, &request);
    assert_eq!((page.offset, ids(&page), page.next_cursor), (10_015, (10_016..=10_020).collect(), None));
}

#[track_caller]
fn check_refused(engine: &Engine, request: &SearchRequest, kind: ErrorKind) {
    let error = engine.search(request.clone()).map(|page| page.total).expect_err("a refusal");
    assert_eq!(error.kind(), kind, "{error}: {request:?}");
    assert!(error.next_step().is_some() || kind == ErrorKind::Usage, "{error}");
}

#[test]
fn a_cursor_is_of_one_search_and_says_what_is_wrong_with_it() {
    let fixture = Fixture::with(Shape::V22, woods);
    let engine = fixture.engine();
    sync(&engine);
    let request = of("cedar", |request| request.filters.since_ms = Some(1));
    let cursor = ask(&engine, &request).next_cursor.expect("more");
    let with = |change: &dyn Fn(&mut SearchRequest)| {
        let mut request = SearchRequest { cursor: Some(cursor.clone()), ..request.clone() };
        change(&mut request);
        request
    };
    let same: [&dyn Fn(&mut SearchRequest); 5] = [
        &|_| {},
        &|request| request.limit = 3,
        &|request| request.explain = true,
        &|request| request.facets = vec![Facet::Source],
        // An age such as 7d means another time by now.
        &|request| request.filters.since_ms = Some(2),
    ];
    for change in same {
        assert_eq!(ask(&engine, &with(change)).offset, 10);
    }
    let other: [&dyn Fn(&mut SearchRequest); 9] = [
        &|request| request.query = "wood".to_owned(),
        &|request| request.sort = Sort::Newest,
        &|request| request.group = Group::Session,
        &|request| request.tiers = false,
        &|request| request.weights.phrase = 1.0,
        &|request| request.filters.roles = vec!["user".to_owned()],
        &|request| request.filters.users = vec!["ada".to_owned()],
        &|request| request.filters.current_session = Some("s1".to_owned()),
        &|request| request.filters.since_ms = None,
    ];
    for change in other {
        check_refused(&engine, &with(change), ErrorKind::CursorMismatch);
    }
    check_refused(&engine, &with(&|request| request.offset = 1), ErrorKind::Usage);
    check_refused(&engine, &with(&|request| request.cursor = Some("x".to_owned())), ErrorKind::CursorInvalid);
}

#[test]
fn every_page_counts_all_hits_and_the_first_says_what_is_missing() {
    let fixture = Fixture::with(Shape::V22, woods);
    let engine = fixture.engine();
    sync(&engine);
    for (group, total) in [(Group::None, 36), (Group::Session, 9)] {
        let mut request = of("cedar heather", |request| {
            (request.group, request.limit, request.facets) = (group, 4, vec![Facet::Source]);
            request.filters.current_session = Some("s1".to_owned());
        });
        let first = ask(&engine, &request);
        let diagnosis = first.diagnosis.expect("a word is unknown");
        assert_eq!((diagnosis.unknown_terms.len(), diagnosis.hidden_current), (1, 4));
        assert_eq!(first.total.value, total);
        let sources = first.facets.expect("facets")[&Facet::Source].clone();
        let counts: Vec<_> = sources.iter().map(|of| (of.value.as_deref(), of.count)).collect();
        assert_eq!(counts, [(Some("cli"), 20), (Some("cron"), 16)], "messages, grouped or not");
        request.cursor = first.next_cursor;
        let second = ask(&engine, &request);
        assert_eq!((second.offset, second.total.value, second.diagnosis), (4, total, None));
        assert_eq!(second.facets.expect("facets")[&Facet::Source], sources);
    }
}

#[test]
fn so_many_states_are_kept_and_not_one_more() {
    let fixture = Fixture::with(Shape::V22, woods);
    let engine = fixture.engine();
    sync(&engine);
    let request = SearchRequest::new("cedar");
    let first = ask(&engine, &request).next_cursor;
    let mut newer = Vec::new();
    for _ in 0..CURSOR_SNAPSHOTS_MAX {
        grow(&fixture, 1);
        sync(&engine);
        newer.push(ask(&engine, &request).next_cursor);
    }
    for cursor in newer {
        assert_eq!(ask(&engine, &SearchRequest { cursor, ..request.clone() }).offset, 10);
    }
    let stale = SearchRequest { cursor: first, ..request };
    let error = engine.search(stale).map(|page| page.total).expect_err("it is gone");
    assert_eq!(error.kind(), ErrorKind::CursorStale);
    assert!(error.next_step().expect("a hint").contains("--offset 10"), "{:?}", error.next_step());
}

#[test]
fn the_command_line_pages_by_cursor_and_syncs_nothing() {
    let fixture = Fixture::with(Shape::V22, woods);
    let args = ["--json", "search", "-n", "7", "cedar"];
    let first = fixture.aft(&args).json();
    let long = fixture.aft(&["--json", "search", "-n", "14", "cedar"]).json();
    grow(&fixture, 1);
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let next = fixture.aft(&[&args[..], &["--cursor", cursor]].concat()).json();
    assert_eq!(next["results"].as_array().expect("hits")[..], long["results"].as_array().expect("hits")[7..]);
    assert_eq!((&next["offset"], &next["index"]["state"]), (&7.into(), &"stale".into()));
}
