//! Filters and facets of a search, compared with a scan over the same rows.

use std::collections::BTreeMap;

use afterthought::limits::FACET_VALUES_MAX;
use afterthought::search::FacetValue;
use afterthought::time::rfc3339;
use afterthought::{ErrorKind, Facet, Filters, SearchRequest};
use afterthought_tests::{Fixture, sync};
use afterthought_tools::archive::{Message, Session, Shape, Writer};
use afterthought_tools::random::Random;
use serde_json::json;

const MOMENT: i64 = 1_760_000_000;
const SOURCES: [&str; 3] = ["cli", "telegram", "cron"];
const USERS: [Option<&str>; 3] = [None, Some("ada"), Some("bob")];
const MODELS: [Option<&str>; 3] = [None, Some("m-large"), Some("m-small")];
const BRANCHES: [Option<&str>; 3] = [None, Some("main"), Some("fix")];
/// A checkout and a folder, as recorded, and the workspace that is.
const PLACES: [(Option<&str>, Option<&str>, Option<&str>); 5] = [
    (None, None, None),
    (Some("/src/app"), Some("/src/app/web"), Some("/src/app")),
    (None, Some("/src/app/"), Some("/src/app")),
    (None, Some("/src/app/web"), Some("/src/app/web")),
    (Some("git@Forge.org:tern/app.git"), Some("/src/app"), Some("https://forge.org/tern/app")),
];
const TOOLS: [&str; 3] = ["terminal", "read_file", "web"];
const ROLES: [&str; 3] = ["user", "assistant", "tool"];

/// What could be a hit, with all that is known of it. Titles have no role.
#[derive(Clone, Default)]
struct Row {
    role: Option<&'static str>,
    tools: Vec<&'static str>,
    at: i64,
    session: String,
    source: &'static str,
    user: Option<&'static str>,
    model: Option<&'static str>,
    workspace: Option<&'static str>,
    branch: Option<&'static str>,
}

fn write(writer: &mut Writer, random: &mut Random, number: u64, rows: &mut Vec<Row>) -> rusqlite::Result<()> {
    let (root, cwd, workspace) = random.pick(&PLACES);
    let started = MOMENT + i64::try_from(random.below(20_000_000)).expect("a time");
    let of_session = Row {
        at: started,
        session: format!("s{number}"),
        source: random.pick(&SOURCES),
        user: random.pick(&USERS),
        model: random.pick(&MODELS),
        workspace,
        branch: random.pick(&BRANCHES),
        ..Row::default()
    };
    let is_titled = random.percent(30);
    let owned = |text: Option<&str>| text.map(str::to_owned);
    #[expect(clippy::cast_precision_loss, reason = "a time")]
    writer.session(&Session {
        source: of_session.source.to_owned(),
        title: is_titled.then(|| format!("cedar {number}")),
        user_id: owned(of_session.user),
        model: owned(of_session.model),
        cwd: owned(cwd),
        git_repo_root: owned(root),
        git_branch: owned(of_session.branch),
        started_at: started as f64,
        ..Session::new(&of_session.session)
    })?;
    if is_titled {
        rows.push(of_session.clone());
    }
    for _ in 0..random.below(8) {
        let role = random.pick(&ROLES);
        let at = started + i64::try_from(random.below(5_000_000)).expect("a time");
        let matches = random.percent(70);
        let text = if matches { "a cedar stands there" } else { "an oak stands there" };
        #[expect(clippy::cast_precision_loss, reason = "a time")]
        let mut message = Message::new(role, text).at(at as f64);
        let mut tools = Vec::new();
        if role == "tool" {
            tools.push(random.pick(&TOOLS));
            message.tool_name = Some(tools[0].to_owned());
        } else if role == "assistant" && random.percent(50) {
            tools.push(random.pick(&TOOLS));
            // The name of another tool as an argument is no call of it.
            message = message.with_call(tools[0], &json!({"text": "web(terminal)"}));
        }
        writer.message(&of_session.session, &message)?;
        if matches {
            rows.push(Row { role: Some(role), tools, at, ..of_session.clone() });
        }
    }
    Ok(())
}

fn random_filters(random: &mut Random) -> Filters {
    let mut filters = Filters::default();
    let mut some = |list: &mut Vec<String>, from: &[&str]| {
        if random.percent(20) {
            list.push(random.pick(from).to_owned());
        }
        if random.percent(10) {
            list.push(random.pick(from).to_owned());
        }
    };
    some(&mut filters.roles, &ROLES);
    some(&mut filters.sources, &SOURCES);
    some(&mut filters.exclude_sources, &SOURCES);
    some(&mut filters.users, &["ada", "bob", "eve"]);
    some(&mut filters.models, &["m-large", "m-small"]);
    some(&mut filters.tools, &TOOLS);
    let mut workspace = Vec::new();
    some(&mut workspace, &["/src/app", "/src/app/web/", "https://forge.org/tern/app/"]);
    filters.workspace = workspace.pop();
    if filters.workspace.is_some() {
        some(&mut filters.branches, &["main", "fix"]);
    }
    if random.percent(20) {
        filters.since_ms = Some((MOMENT + 8_000_000) * 1_000);
    }
    filters
}

fn passes(row: &Row, filters: &Filters) -> bool {
    let names = |list: &[String], value: Option<&str>| {
        value.is_some_and(|value| list.iter().any(|name| name == value))
    };
    let lets = |list: &[String], value: Option<&str>| list.is_empty() || names(list, value);
    let place = |name: &String| name.trim_end_matches('/').to_owned();
    lets(&filters.roles, row.role)
        && lets(&filters.sources, Some(row.source))
        && !names(&filters.exclude_sources, Some(row.source))
        && lets(&filters.users, row.user)
        && lets(&filters.models, row.model)
        && (filters.tools.is_empty() || row.tools.iter().any(|tool| names(&filters.tools, Some(tool))))
        && (row.branch.is_none() || lets(&filters.branches, row.branch))
        && filters.workspace.as_ref().map(place).is_none_or(|place| row.workspace == Some(&place))
        && filters.since_ms.is_none_or(|since| row.at * 1_000 >= since)
}

/// Counts one facet over rows, and cuts it as a page does.
fn scanned(facet: Facet, rows: &[&Row]) -> (Vec<FacetValue>, u64) {
    let mut counts: BTreeMap<Option<String>, u64> = BTreeMap::new();
    for row in rows {
        let text = |text: Option<&str>| vec![text.map(str::to_owned)];
        let values = match facet {
            Facet::Role => text(row.role),
            Facet::Source => text(Some(row.source)),
            Facet::Session => text(Some(&row.session)),
            Facet::User => text(row.user),
            Facet::Model => text(row.model),
            Facet::Workspace => text(row.workspace),
            Facet::Branch => text(row.branch),
            Facet::Tool => row.tools.iter().map(|tool| Some((*tool).to_owned())).collect(),
            Facet::Month => vec![rfc3339(row.at * 1_000).map(|time| time[..7].to_owned())],
        };
        for value in values {
            *counts.entry(value).or_default() += 1;
        }
    }
    let mut values: Vec<FacetValue> =
        counts.into_iter().map(|(value, count)| FacetValue { value, count }).collect();
    values.sort_by_key(|of| (u64::MAX - of.count, of.value.is_none(), of.value.clone()));
    let more = values.len().saturating_sub(FACET_VALUES_MAX) as u64;
    values.truncate(FACET_VALUES_MAX);
    (values, more)
}

#[test]
fn a_branch_alone_is_refused() {
    let fixture = Fixture::with(Shape::V22, |writer| writer.session(&Session::new("s")));
    let engine = fixture.engine();
    sync(&engine);
    let filters = Filters { branches: vec!["main".to_owned()], ..Filters::default() };
    let request = SearchRequest { filters: filters.clone(), ..SearchRequest::new("cedar") };
    let refused = [engine.search(request).map(|_| ()), engine.sessions(&filters, 0, 10).map(|_| ())];
    for refused in refused {
        let error = refused.expect_err("a branch needs its workspace");
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains("workspace"), "{error}");
    }
}

#[test]
fn a_reset_is_seen_by_the_next_sync() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("before"))?;
        writer.session(&Session { parent_session_id: Some("before".to_owned()), ..Session::new("now") })?;
        writer.message("before", &Message::user("cedar")).map(|_| ())
    });
    let engine = fixture.engine();
    sync(&engine);
    let filters = Filters { current_session: Some("now".to_owned()), ..Filters::default() };
    let request = SearchRequest { filters, ..SearchRequest::new("cedar") };
    let page = engine.search(request.clone()).expect("a page");
    assert_eq!((page.total.value, page.diagnosis.map_or(0, |diagnosis| diagnosis.hidden_current)), (0, 1));
    let connection = rusqlite::Connection::open(fixture.archive()).expect("the archive");
    let reset = "UPDATE sessions SET end_reason = 'session_reset' WHERE id = 'before'";
    connection.execute(reset, []).expect("a reset");
    connection.close().expect("a clean close");
    sync(&engine);
    let page = engine.search(request).expect("a page");
    assert_eq!((page.total.value, page.diagnosis), (1, None));
}

#[test]
fn filters_and_facets_are_those_of_a_scan() {
    for (commits, seed) in [(1, 1), (7, 2)] {
        let mut random = Random::new(seed);
        let mut rows = Vec::new();
        let fixture = Fixture::with(Shape::V22, |writer| write(writer, &mut random, 0, &mut rows));
        let engine = fixture.engine();
        for commit in 0..commits {
            sync(&engine);
            let mut writer = fixture.writer();
            for number in 0..120 / commits {
                write(&mut writer, &mut random, 1 + commit * 1_000 + number, &mut rows).expect("rows");
            }
            writer.close().expect("a clean close");
        }
        sync(&engine);
        let mut hits = 0;
        for _ in 0..300 {
            let filters = random_filters(&mut random);
            let request = SearchRequest {
                facets: Facet::ALL.to_vec(),
                filters,
                limit: 1,
                ..SearchRequest::new("cedar")
            };
            let page = engine.search(request.clone()).expect("a page");
            let passing: Vec<&Row> = rows.iter().filter(|row| passes(row, &request.filters)).collect();
            assert_eq!(page.total.value, passing.len() as u64, "{request:?}");
            let (facets, more) = (page.facets.expect("facets"), page.facets_more.expect("facets"));
            for facet in Facet::ALL {
                let is = (facets[&facet].clone(), more[&facet]);
                assert_eq!(is, scanned(facet, &passing), "{facet:?} {request:?}");
            }
            hits += passing.len();
            if passing.is_empty() {
                let left_out = page.diagnosis.expect("a reason").left_out;
                assert!(!left_out.is_empty(), "{request:?}");
            }
        }
        assert!(hits > 5_000, "{hits}");
    }
}
