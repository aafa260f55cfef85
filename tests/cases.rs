//! Runs every case of `cases/*.toml` through each door: the library and the command line.

use std::collections::BTreeMap;
use std::fs;

use afterthought::{Facet, Filters, Group, Match, Origin, SearchRequest, Sort};
use afterthought_tests::{Fixture, root, sync};
use afterthought_tools::archive::{Message, Session, Shape};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

/// One case: an archive, a query, and what must come back, best first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// What users of such archives reported, if the case comes from that. README.md lists all of it.
    #[serde(default, rename = "report")]
    _report: Option<String>,
    #[serde(default)]
    session: Vec<SessionRow>,
    /// Ids are given from 1 in this order.
    message: Vec<MessageRow>,
    ask: Vec<Ask>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionRow {
    id: String,
    #[serde(default = "cli")]
    source: String,
    title: Option<String>,
    cwd: Option<String>,
    root: Option<String>,
    branch: Option<String>,
    user: Option<String>,
    model: Option<String>,
    parent: Option<String>,
    /// Why it ended.
    ended: Option<String>,
}

fn cli() -> String {
    "cli".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageRow {
    #[serde(default = "first_session")]
    session: String,
    #[serde(default = "user")]
    role: String,
    /// With `{n}`, the row's number among its repeats, and `{padding}`.
    #[serde(default)]
    content: String,
    /// In place of a text, a JSON list of parts, with the same.
    parts: Option<String>,
    /// A text, and how often `{padding}` repeats it.
    padding: Option<(String, usize)>,
    #[serde(default)]
    reasoning: String,
    /// Tool name and arguments as JSON.
    call: Option<(String, String)>,
    tool_name: Option<String>,
    /// Seconds after an arbitrary moment; by default in the order of the rows. Repeats follow each other.
    at: Option<f64>,
    /// How often the row is written.
    #[serde(default = "once")]
    repeat: usize,
}

/// What an agent does to session `s` of its archive before a question is asked.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Change {
    /// Takes its messages back, from this id on.
    Rewind(i64),
    /// Writes messages at the end.
    Append(Vec<MessageRow>),
    /// Writes these in place of all that is there.
    Replace(Vec<MessageRow>),
    /// Deletes a session.
    Delete(String),
}

fn first_session() -> String {
    "s".to_owned()
}

fn user() -> String {
    "user".to_owned()
}

fn once() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    query: String,
    #[serde(default, rename = "in")]
    origins: Vec<Origin>,
    #[serde(default)]
    role: Vec<String>,
    #[serde(default)]
    source: Vec<String>,
    #[serde(default)]
    exclude_source: Vec<String>,
    #[serde(default)]
    session: Vec<String>,
    #[serde(default)]
    exclude_session: Vec<String>,
    current_session: Option<String>,
    #[serde(default)]
    user: Vec<String>,
    #[serde(default)]
    model: Vec<String>,
    workspace: Option<String>,
    #[serde(default)]
    branch: Vec<String>,
    #[serde(default)]
    tool: Vec<String>,
    /// Seconds after the same moment.
    since: Option<i64>,
    until: Option<i64>,
    limit: Option<usize>,
    #[serde(default)]
    all_words: bool,
    #[serde(default)]
    sort: Sort,
    #[serde(default)]
    by_session: bool,
    #[serde(default)]
    include_inactive: bool,
    /// What the agent does before.
    change: Option<Change>,
    /// The kind of error that is the answer.
    refused: Option<String>,
    /// How many hits there are on all pages.
    total: Option<u64>,
    /// The sessions of the hits, best first, and the roots of their lineages.
    sessions: Option<Vec<String>>,
    roots: Option<Vec<String>>,
    /// Why the hits rank behind others, best first; a dash for an ordinary one.
    tiers: Option<Vec<String>>,
    confidence: Option<String>,
    /// What the first snippet shows; its highlights in brackets.
    snippet: Option<String>,
    /// Most bytes of the answer.
    bytes_max: Option<usize>,
    /// Rows that are read from the archive for it.
    rows_read: Option<u64>,
    /// Ids, best first.
    expect: Option<Vec<i64>>,
    /// Ids that come first; others may follow.
    first: Option<Vec<i64>>,
    /// Sessions found by their title.
    titles: Option<Vec<String>>,
    /// The origin of the first hit.
    origin: Option<Origin>,
    /// Kinds of warnings that must be there.
    #[serde(default)]
    warn: Vec<String>,
    /// What the sentences of warnings must say, in this order.
    #[serde(default)]
    says: Vec<String>,
    /// Facets to ask for, with all of their values: "user 2".
    #[serde(default)]
    facets: BTreeMap<String, Vec<String>>,
    /// Members of the diagnosis, each with its lines: "roles 2", "saw tool 1", "kestral: kestrel".
    #[serde(default)]
    diagnosis: BTreeMap<String, Vec<String>>,
}

/// What a door answered, in the same words for every door.
#[derive(Debug, PartialEq)]
struct Answer {
    ids: Vec<i64>,
    titles: Vec<String>,
    origin: Option<String>,
    total: u64,
    sessions: Vec<String>,
    roots: Vec<String>,
    tiers: Vec<String>,
    confidence: Option<String>,
    snippet: Option<String>,
    rows_read: Option<u64>,
    warnings: Vec<String>,
    says: String,
    facets: BTreeMap<String, Vec<String>>,
    diagnosis: BTreeMap<String, Vec<String>>,
}

const MOMENT: i64 = 1_760_000_000;

#[test]
fn every_case_holds_through_every_door() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("tests/cases")).expect("a folder of cases") {
        let path = entry.expect("a folder of cases").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let file: File = toml::from_str(&fs::read_to_string(&path).expect("a file of cases"))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in file.case {
            count += case.ask.len();
            check(&case);
        }
    }
    println!("{count} questions through 2 doors");
    assert!(count >= 200, "{count}");
}

fn check(case: &Case) {
    let fixture = archive(case);
    let engine = fixture.engine();
    sync(&engine);
    for ask in &case.ask {
        if let Some(change) = &ask.change {
            make(&fixture, change);
            sync(&engine);
        }
        let answer = engine.search(request(ask));
        let ran = fixture.aft(&arguments(ask).iter().map(String::as_str).collect::<Vec<_>>());
        if let Some(kind) = &ask.refused {
            let error = answer.expect_err("a request that is refused");
            let said: Value = serde_json::from_str(&ran.stderr).expect("an error is JSON");
            let (said_kind, message) = (&said["error"]["kind"], &said["error"]["message"]);
            assert_eq!((error.kind().name(), said_kind), (kind.as_str(), &json!(kind)), "{}", case.name);
            assert_eq!(
                (error.to_string(), ran.code > 0),
                (message.as_str().unwrap_or_default().to_owned(), true),
                "{}: {ran:?}",
                case.name
            );
            continue;
        }
        let page = serde_json::to_value(answer.expect("a query never fails")).expect("a page is JSON");
        assert_eq!(ran.code, 0, "{}: {ran:?}", case.name);
        let library = Answer::of(&page);
        assert_eq!(library, Answer::of(&ran.json()), "{}: {}: the doors differ", case.name, ask.query);
        judge(case, ask, &library);
        let (bytes, most) = (ran.stdout.len(), ask.bytes_max.unwrap_or(usize::MAX));
        assert!(bytes <= most, "{}: {}: {bytes} bytes", case.name, ask.query);
    }
}

/// Changes an archive as its agent would.
fn make(fixture: &Fixture, change: &Change) {
    let mut writer = fixture.writer();
    let messages = |rows: &[MessageRow]| rows.iter().flat_map(messages).collect::<Vec<_>>();
    match change {
        Change::Rewind(from) => writer.rewind("s", *from).map(drop),
        Change::Append(rows) => {
            messages(rows).iter().try_for_each(|message| writer.message("s", message).map(drop))
        }
        Change::Replace(rows) => writer.replace("s", &messages(rows)).map(drop),
        Change::Delete(session) => writer.delete_session(session).map(drop),
    }
    .expect("a change of the archive");
}

#[test]
fn a_query_may_be_as_long_as_it_likes() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        writer.session(&Session::new("s"))?;
        writer.message("s", &Message::user("the lattice")).map(drop)
    });
    let engine = fixture.engine();
    sync(&engine);
    let nested = format!("{}lattice{}", "(".repeat(5_000), ")".repeat(5_000));
    for (query, hits, kind) in [
        ("\"".repeat(5_000), 0, "nothing-to-search"),
        ("(".repeat(5_000), 0, "nothing-to-search"),
        ("x".repeat(100_000), 0, "query-cut"),
        (nested, 1, "operator-as-text"),
        (format!("{} lattice", "NOT ".repeat(2_000)), 1, "operator-as-text"),
    ] {
        let page = engine.search(SearchRequest::new(query.as_str())).expect("a query never fails");
        let ran = fixture.aft(&["search", "--json", "--", &query]);
        assert_eq!(ran.code, 0, "{kind}");
        let answer = Answer::of(&serde_json::to_value(&page).expect("a page is JSON"));
        assert_eq!(answer, Answer::of(&ran.json()), "{kind}: the doors differ");
        assert!(
            answer.ids.len() == hits && answer.warnings.iter().any(|warning| warning == kind),
            "{answer:?}"
        );
    }
}

fn judge(case: &Case, ask: &Ask, answer: &Answer) {
    let context = format!("{}: {}: {answer:?}", case.name, ask.query);
    if let Some(first) = &ask.first {
        assert!(answer.ids.starts_with(first), "{context}");
    }
    same(ask.expect.as_ref(), &answer.ids, &context);
    same(ask.titles.as_ref(), &answer.titles, &context);
    same(ask.sessions.as_ref(), &answer.sessions, &context);
    same(ask.roots.as_ref(), &answer.roots, &context);
    same(ask.tiers.as_ref(), &answer.tiers, &context);
    same(ask.total.as_ref(), &answer.total, &context);
    same(ask.origin.map(|origin| Some(origin.name().to_owned())).as_ref(), &answer.origin, &context);
    same(ask.confidence.clone().map(Some).as_ref(), &answer.confidence, &context);
    same(ask.snippet.clone().map(Some).as_ref(), &answer.snippet, &context);
    assert_eq!(answer.rows_read, ask.rows_read, "{context}");
    assert_eq!(answer.facets, ask.facets, "{context}");
    judge_reasons(ask, answer, &context);
}

fn judge_reasons(ask: &Ask, answer: &Answer, context: &str) {
    for kind in &ask.warn {
        assert!(answer.warnings.contains(kind), "{context}");
    }
    let mut said = answer.says.as_str();
    for part in &ask.says {
        let Some((_, after)) = said.split_once(part) else { panic!("{part:?} is not said: {context}") };
        said = after;
    }
    for (member, lines) in &ask.diagnosis {
        assert_eq!(answer.diagnosis.get(member), Some(lines), "{member}: {context}");
    }
    if answer.ids.is_empty() && answer.titles.is_empty() {
        assert!(!answer.warnings.is_empty(), "an empty answer carries a reason: {context}");
    }
}

/// Compares what a case says of an answer, if it says something.
fn same<T: PartialEq + std::fmt::Debug>(expected: Option<&T>, found: &T, context: &str) {
    assert!(expected.is_none_or(|expected| expected == found), "not {expected:?}: {context}");
}

impl Answer {
    fn of(page: &serde_json::Value) -> Self {
        let results = page["results"].as_array().expect("results are a list");
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let titled = |hit: &&serde_json::Value| hit["message_id"].is_null();
        Self {
            ids: results.iter().filter_map(|hit| hit["message_id"].as_i64()).collect(),
            titles: results.iter().filter(titled).filter_map(|hit| text(&hit["session_id"])).collect(),
            origin: results.first().and_then(|hit| text(&hit["origin"])),
            total: page["total"]["value"].as_u64().expect("a total is a number"),
            sessions: results.iter().filter_map(|hit| text(&hit["session_id"])).collect(),
            roots: results.iter().filter_map(|hit| text(&hit["root_session_id"])).collect(),
            tiers: results.iter().map(|hit| text(&hit["tier"]).unwrap_or_else(|| "-".to_owned())).collect(),
            confidence: text(&page["confidence"]),
            snippet: results.first().map(snippet),
            rows_read: page["work"]["archive_rows_read"].as_u64(),
            warnings: page["warnings"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|warning| text(&warning["kind"]))
                .collect(),
            says: page["warnings"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|warning| text(&warning["message"]))
                .collect::<Vec<_>>()
                .join("\n"),
            facets: members(&page["facets"], |value| {
                format!("{} {}", value["value"].as_str().unwrap_or("(none)"), value["count"])
            }),
            diagnosis: members(&page["diagnosis"], line),
        }
    }
}

/// Returns a hit's snippet with its highlights in brackets.
fn snippet(hit: &Value) -> String {
    let marks = hit["highlights"].as_array().into_iter().flatten();
    let marks: Vec<[usize; 2]> =
        marks.map(|mark| serde_json::from_value(mark.clone()).expect("a mark is two numbers")).collect();
    let mut text = String::new();
    for (at, c) in hit["snippet"].as_str().unwrap_or_default().chars().enumerate() {
        text.extend(marks.iter().filter(|[_, to]| *to == at).map(|_| ']'));
        text.extend(marks.iter().filter(|[from, _]| *from == at).map(|_| '['));
        text.push(c);
    }
    let length = text.chars().filter(|c| !"[]".contains(*c)).count();
    text.extend(marks.iter().filter(|[_, to]| *to == length).map(|_| ']'));
    text
}

/// Returns the lists of an object, each item as a line; a number is a list of one.
fn members(object: &Value, line: impl Fn(&Value) -> String) -> BTreeMap<String, Vec<String>> {
    let lines = |value: &Value| match value {
        Value::Array(items) => items.iter().map(&line).collect(),
        number => vec![number.to_string()],
    };
    let members = object.as_object().into_iter().flatten();
    members.map(|(name, value)| (name.clone(), lines(value))).collect()
}

/// Writes an item of a diagnosis as cases do.
fn line(item: &Value) -> String {
    let text = |name: &str| item[name].as_str();
    if let Some(term) = text("term") {
        let nearest = item["nearest"].as_array().into_iter().flatten().filter_map(Value::as_str);
        return format!("{term}: {}", nearest.collect::<Vec<_>>().join(" ")).trim_end().to_owned();
    }
    let words = [text("filter"), text("origin"), text("role")].into_iter().flatten();
    format!("{} {}", words.collect::<Vec<_>>().join(" "), item["matches"])
}

fn archive(case: &Case) -> Fixture {
    Fixture::with(Shape::V22, |writer| {
        for row in &case.session {
            writer.session(&Session {
                source: row.source.clone(),
                title: row.title.clone(),
                cwd: row.cwd.clone(),
                git_repo_root: row.root.clone(),
                git_branch: row.branch.clone(),
                user_id: row.user.clone(),
                model: row.model.clone(),
                parent_session_id: row.parent.clone(),
                end_reason: row.ended.clone(),
                ..Session::new(&row.id)
            })?;
        }
        if case.session.is_empty() {
            writer.session(&Session::new("s"))?;
        }
        let messages =
            case.message.iter().flat_map(|row| messages(row).map(|message| (&row.session, message)));
        for (number, (session, mut message)) in messages.enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a time")]
            let at = MOMENT as f64 + number as f64;
            message.timestamp = message.timestamp.or(Some(at.into()));
            writer.message(session, &message)?;
        }
        Ok(())
    })
}

/// Returns the messages that a row stands for.
fn messages(row: &MessageRow) -> impl Iterator<Item = Message> {
    let (text, times) = row.padding.clone().unwrap_or_default();
    let padding = text.repeat(times);
    (0..row.repeat).map(move |number| {
        let fill = |text: &str| text.replace("{n}", &number.to_string()).replace("{padding}", &padding);
        let mut message = Message::new(&row.role, fill(&row.content));
        if let Some(parts) = &row.parts {
            message = message.with_parts(&serde_json::from_str(&fill(parts)).expect("parts are JSON"));
        }
        if !row.reasoning.is_empty() {
            message = message.with_reasoning(&row.reasoning);
        }
        if let Some((name, arguments)) = &row.call {
            let arguments = serde_json::from_str(&fill(arguments)).expect("arguments are JSON");
            message = message.with_call(name, &arguments);
        }
        message.tool_name.clone_from(&row.tool_name);
        #[expect(clippy::cast_precision_loss, reason = "a time")]
        let at = row.at.map(|at| MOMENT as f64 + at + number as f64);
        message.timestamp = at.map(Into::into);
        message
    })
}

fn request(ask: &Ask) -> SearchRequest {
    let mut request = SearchRequest::new(&ask.query);
    request.origins.clone_from(&ask.origins);
    request.sort = ask.sort;
    request.group = if ask.by_session { Group::Session } else { Group::None };
    request.explain = ask.rows_read.is_some();
    request.matching = if ask.all_words { Match::All } else { Match::Any };
    request.limit = ask.limit.unwrap_or(request.limit);
    request.facets = ask.facets.keys().map(|name| Facet::named(name).expect("a facet")).collect();
    request.filters = Filters {
        roles: ask.role.clone(),
        sources: ask.source.clone(),
        exclude_sources: ask.exclude_source.clone(),
        sessions: ask.session.clone(),
        exclude_sessions: ask.exclude_session.clone(),
        current_session: ask.current_session.clone(),
        users: ask.user.clone(),
        models: ask.model.clone(),
        workspace: ask.workspace.clone(),
        branches: ask.branch.clone(),
        tools: ask.tool.clone(),
        since_ms: ask.since.map(|seconds| (MOMENT + seconds) * 1_000),
        until_ms: ask.until.map(|seconds| (MOMENT + seconds) * 1_000),
        include_inactive: ask.include_inactive,
        ..Filters::default()
    };
    request
}

fn arguments(ask: &Ask) -> Vec<String> {
    let mut arguments = vec!["search".to_owned(), "--json".to_owned()];
    let mut flag = |name: &str, values: &[String]| {
        if !values.is_empty() {
            arguments.extend([name.to_owned(), values.join(",")]);
        }
    };
    flag("--in", &ask.origins.iter().map(|origin| origin.name().to_owned()).collect::<Vec<_>>());
    flag("--role", &ask.role);
    flag("--source", &ask.source);
    flag("--exclude-source", &ask.exclude_source);
    flag("--session", &ask.session);
    flag("--exclude-session", &ask.exclude_session);
    flag("--current-session", ask.current_session.as_slice());
    flag("--user", &ask.user);
    flag("--model", &ask.model);
    flag("--branch", &ask.branch);
    flag("--tool", &ask.tool);
    flag("--facets", &ask.facets.keys().cloned().collect::<Vec<_>>());
    flag("--limit", ask.limit.map(|limit| limit.to_string()).as_slice());
    flag("--workspace", ask.workspace.as_slice());
    let time = |seconds: i64| afterthought::time::rfc3339((MOMENT + seconds) * 1_000).expect("a time");
    flag("--since", ask.since.map(time).as_slice());
    flag("--until", ask.until.map(time).as_slice());
    let sort = match ask.sort {
        Sort::Relevance => "relevance",
        Sort::Newest => "newest",
        Sort::Oldest => "oldest",
    };
    flag("--sort", &[sort.to_owned()]);
    flag("--group", ask.by_session.then(|| "session".to_owned()).as_slice());
    flag("--match", ask.all_words.then(|| "all".to_owned()).as_slice());
    let switches = [("--include-inactive", ask.include_inactive), ("--explain", ask.rows_read.is_some())];
    arguments.extend(switches.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()));
    arguments.extend(["--".to_owned(), ask.query.clone()]);
    arguments
}
