//! Pages of `aft search`: valid against their schema, and true in what no schema can state. The
//! searches are data.

use std::collections::{BTreeSet, HashSet};
use std::fs;

use afterthought::text::fold;
use afterthought::{Field, Origin, SearchRequest};
use afterthought_tests::{Ran, aft, run};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fixtures::{Scene, append, checkpoint, generation, harbor, listed};
use crate::{Change, answer, assert_none, breaches, contract, has_escapes, schema};

#[derive(Deserialize)]
struct Searches {
    case: Vec<Case>,
}

/// One search, and what must be true of its page; what is not named is not asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    args: Vec<String>,
    /// The messages found, in any order.
    ids: Option<BTreeSet<i64>>,
    /// Title hits found, besides `ids`.
    #[serde(default)]
    titles: usize,
    total: Option<u64>,
    /// The kinds of warnings, each once.
    #[serde(default)]
    warnings: Vec<String>,
    // Of the first hit:
    origin: Option<String>,
    fields: Option<Vec<String>>,
    terms: Option<Vec<String>>,
    marked: Option<Vec<String>>,
    root: Option<String>,
    source: Option<String>,
    /// Members that are null.
    #[serde(default)]
    null: Vec<String>,
}

fn cases() -> Vec<Case> {
    let searches: Searches = toml::from_str(include_str!("searches.toml")).expect("searches.toml");
    searches.case
}

#[test]
fn every_page_is_valid_and_true() {
    let fixture = harbor();
    let (schema, listed) = (schema("search"), listed(&fixture.archive()));
    let mut problems = Vec::new();
    for case in cases() {
        let args: Vec<&str> = case.args.iter().map(String::as_str).collect();
        let ran = fixture.aft(&[&["--json", "search"], &args[..]].concat());
        if ran.code != 0 || !ran.stderr.is_empty() {
            problems.push(format!("{}: {ran:?}", case.name));
            continue;
        }
        let page = ran.json();
        let mut found = breaches(&schema, &page);
        found.extend(untrue(&page, &case.args, &listed));
        found.extend(unexpected(&page, &case));
        found.extend(misprinted(&fixture.aft(&[&["search"], &args[..]].concat()), &page));
        problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", case.name)));
    }
    assert_none(&problems);
}

/// Returns where a page is not what its case expects.
fn unexpected(page: &Value, case: &Case) -> Vec<String> {
    let mut problems = Vec::new();
    let mut compare = |what: &str, is: &Value, want: Value| {
        if *is != want {
            problems.push(format!("{what} is {is}, not {want}"));
        }
    };
    let mut kinds: Vec<&Value> = Vec::new();
    for warning in hits(&page["warnings"]) {
        if !kinds.contains(&&warning["kind"]) {
            kinds.push(&warning["kind"]);
        }
    }
    compare("warnings", &kinds.into_iter().cloned().collect(), case.warnings.clone().into());
    if let Some(ids) = &case.ids {
        let found: BTreeSet<i64> =
            hits(&page["results"]).iter().filter_map(|hit| hit["message_id"].as_i64()).collect();
        compare("ids", &found.into_iter().collect(), ids.iter().copied().collect());
        compare("total", &page["total"]["value"], (ids.len() + case.titles).into());
    }
    if let Some(total) = case.total {
        compare("total", &page["total"]["value"], total.into());
    }
    let first = &page["results"][0];
    let members = [
        ("origin", case.origin.clone().map(Value::from)),
        ("matched_fields", case.fields.clone().map(Value::from)),
        ("matched_terms", case.terms.clone().map(Value::from)),
        ("root_session_id", case.root.clone().map(Value::from)),
        ("source", case.source.clone().map(Value::from)),
    ];
    for (member, want) in members {
        if let Some(want) = want {
            compare(member, &first[member], want);
        }
    }
    for member in &case.null {
        compare(member, &first[member], Value::Null);
    }
    if let Some(marked) = &case.marked {
        compare("marked", &marks(first).into(), marked.clone().into());
    }
    problems
}

fn hits(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Returns what holds of every page and is not so here.
fn untrue(page: &Value, args: &[String], listed: &[(String, i64)]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            problems.push(format!("{what}\n{page:#}"));
        }
    };
    let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    let results = hits(&page["results"]);
    let (total, offset, limit) =
        (number(&page["total"]["value"]), number(&page["offset"]), number(&page["limit"]));
    must(results.len() as u64 == total.saturating_sub(offset).min(limit), "the page is full");
    must(!results.is_empty() || !hits(&page["warnings"]).is_empty(), "an empty page says why");
    let scores: Vec<_> = results.iter().filter_map(|hit| hit["score"].as_f64()).collect();
    let by_score = !args.iter().any(|arg| arg == "--sort");
    must(!by_score || scores.is_sorted_by(|a, b| a >= b), "hits are in order of their scores");
    let grouped = args.iter().any(|arg| arg == "--group");
    must(page["total_messages"].is_null() != grouped, "groups are counted, and their messages");
    must(results.iter().all(|hit| hit["more_in_session"].is_null() != grouped), "groups say how many more");
    let is_last = offset + results.len() as u64 >= total;
    must(page["next_cursor"].is_null() == is_last, "a page that is not the last has a cursor");
    let keys: HashSet<_> =
        results.iter().map(|hit| (hit["message_id"].as_i64(), hit["session_id"].as_str())).collect();
    must(keys.len() == results.len(), "no hit stands twice");
    let explains = args.iter().any(|arg| arg == "--explain");
    must(page.get("work").is_some() == explains, "work is there where it was asked for");
    must((page["confidence"] == "none") == (total == 0), "there is confidence in hits, and in hits only");
    let is_weak = page["confidence"] == "weak" && !results.is_empty();
    must(kinds(page).contains(&"weak") == is_weak, "a weak answer says so");
    let query = page["query"].as_str().unwrap_or_default();
    for hit in results {
        must(hit.get("explain").is_some() == explains, "explain is there where it was asked for");
        for problem in problems_of(hit, query, listed) {
            must(false, &problem);
        }
    }
    problems
}

/// Returns what holds of every hit and is not so here.
pub(crate) fn problems_of(hit: &Value, query: &str, listed: &[(String, i64)]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            problems.push(format!("hit {}: {what}", hit["message_id"]));
        }
    };
    let terms: Vec<&str> = hits(&hit["matched_terms"]).iter().filter_map(Value::as_str).collect();
    must(terms.iter().all(|term| query.contains(term)), "matched_terms are as typed");
    must(terms.len() as u64 <= hit["terms_total"].as_u64().unwrap_or(0), "no more matched than looked for");
    let field = hit["matched_fields"][0].as_str().and_then(Field::named).expect("a field");
    // The schema says where it is.
    if let Some(coverage) = hit.get("coverage").map(|share| share.as_f64().unwrap_or(f64::NAN)) {
        let has_all = terms.len() as u64 == hit["terms_total"].as_u64().unwrap_or(0);
        must((0.0..=1.0).contains(&coverage), "coverage is a share");
        must(!has_all || coverage >= 1.0, "who holds every word covers the query");
    }
    let origin = hit["origin"].as_str().and_then(Origin::named);
    must(origin == Some(field.origin()), "the origin is that of the best field");
    must(hit["index"].as_u64() == place(hit, listed), "index is the place in the session");
    let snippet = hit["snippet"].as_str().unwrap_or_default();
    must(!snippet.is_empty() && !snippet.contains(char::is_control), "the snippet is one line of text");
    let spans = spans(hit);
    let length = snippet.chars().count();
    must(spans.iter().all(|(from, to)| from < to && *to <= length), "marks lie inside the snippet");
    must(spans.is_sorted_by(|a, b| a.1 <= b.0), "marks are in order and apart");
    must(!spans.is_empty(), "something is marked");
    let plain = |text: &str| fold(text).chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    for mark in marks(hit) {
        // An emoji has nothing but itself.
        let holds = |term: &&str| {
            mark.contains(*term)
                || plain(&mark).contains(&plain(term))
                || is_form(&plain(&mark), &plain(term))
        };
        must(terms.iter().any(holds), &format!("the mark {mark:?} holds a word of the query"));
    }
    for term in &terms {
        let bare = occurrences(snippet, term)
            .into_iter()
            .find(|(from, to)| !spans.iter().any(|span| span.0 <= *from && *to <= span.1));
        must(bare.is_none(), &format!("every {term:?} of the snippet is marked"));
    }
    if let Some(tree) = hit.get("explain") {
        // The last digits of a hit's score are dropped, for equal hits to be equal.
        must(is_near(score_of(tree), score_of(hit), 1e-3), "the root of explain is the score");
        for problem in unsound(tree) {
            must(false, &problem);
        }
    }
    problems
}

/// Returns where the numbers of a tree do not add up.
fn unsound(tree: &Value) -> Vec<String> {
    let below = hits(&tree["of"]);
    let scores = below.iter().map(score_of);
    let score = score_of(tree);
    let adds_up_to = match tree["how"].as_str() {
        Some("sum") => scores.sum(),
        Some("best") => scores.fold(0.0, f64::max),
        Some("value") => tree.get("part").map_or(score, score_of),
        _ => f64::NAN,
    };
    let mut problems: Vec<String> = below.iter().flat_map(unsound).collect();
    if !is_near(adds_up_to, score, 1e-5) {
        problems.push(format!("{} of {} is {adds_up_to}, not {score}", tree["how"], tree["what"]));
    }
    problems
}

fn score_of(value: &Value) -> f64 {
    value["score"].as_f64().unwrap_or(f64::NAN)
}

/// Tells whether two numbers are the same but for a share of them.
fn is_near(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * b.abs()
}

/// Tells whether two words may be forms of one: they begin alike.
fn is_form(a: &str, b: &str) -> bool {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count() >= 3
}

fn place(hit: &Value, listed: &[(String, i64)]) -> Option<u64> {
    let of_session = listed.iter().filter(|(session, _)| hit["session_id"] == session.as_str());
    let id = hit["message_id"].as_i64()?;
    of_session.map(|(_, id)| *id).position(|other| other == id).map(|place| place as u64)
}

fn spans(hit: &Value) -> Vec<(usize, usize)> {
    let end = |value: &Value| value.as_u64().and_then(|end| usize::try_from(end).ok()).unwrap_or(usize::MAX);
    hits(&hit["highlights"]).iter().map(|span| (end(&span[0]), end(&span[1]))).collect()
}

/// Returns the marked pieces of a hit's snippet.
fn marks(hit: &Value) -> Vec<String> {
    let snippet = hit["snippet"].as_str().unwrap_or_default();
    let piece =
        |(from, to): (usize, usize)| snippet.chars().skip(from).take(to.saturating_sub(from)).collect();
    spans(hit).into_iter().map(piece).collect()
}

/// Returns where a word stands in a text in its own spelling, in characters. A Latin word stands
/// between borders only.
fn occurrences(text: &str, word: &str) -> Vec<(usize, usize)> {
    let text: Vec<char> = text.chars().collect();
    let word: Vec<char> = word.chars().collect();
    let joins = |c: Option<&char>| c.is_some_and(char::is_ascii_alphanumeric);
    let is_border =
        |at: usize| !(joins(at.checked_sub(1).and_then(|at| text.get(at))) && joins(text.get(at)));
    let stands = |from: &usize| {
        let piece = &text[*from..*from + word.len()];
        piece.iter().zip(&word).all(|(a, b)| a.eq_ignore_ascii_case(b))
            && is_border(*from)
            && is_border(from + word.len())
    };
    let starts = (0..(text.len() + 1).saturating_sub(word.len())).filter(stands);
    starts.map(|from| (from, from + word.len())).collect()
}

/// Returns where the page for people is not the page for programs.
fn misprinted(ran: &Ran, page: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            problems.push(format!("as text: {what}: {ran:?}"));
        }
    };
    must(ran.code == 0, "it succeeds");
    must(!has_escapes(&ran.stdout) && !has_escapes(&ran.stderr), "a pipe gets no colours");
    for hit in hits(&page["results"]) {
        must(ran.stdout.contains(hit["snippet"].as_str().unwrap_or_default()), "every snippet is shown");
    }
    for warning in hits(&page["warnings"]) {
        let message = warning["message"].as_str().unwrap_or_default();
        must(ran.stderr.contains(message), "every warning is told on standard error");
    }
    must(ran.stdout.is_empty() == hits(&page["results"]).is_empty(), "standard output holds hits only");
    problems
}

#[test]
fn an_unfinished_index_says_so() {
    let scene = Scene::of(&["archive", "index without a sync"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "--no-sync", "lock"]), 0);
    assert_eq!(page["index"]["state"], "building");
    assert_eq!(page["index"]["percent"], 0);
    assert_eq!(page["index"]["rows_behind"], 2);
    assert_eq!(page["index"]["last_sync"], Value::Null);
    assert_eq!(page["index"]["checked_at"], Value::Null);
    assert_eq!(kinds(&page), ["building", "unknown-term"]);
}

#[test]
fn a_half_built_index_says_how_far_it_is() {
    let scene = Scene::of(&["archive", "index", "incomplete", "another row"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "--no-sync", "lock"]), 0);
    assert_eq!(page["total"]["value"], 2);
    assert_eq!(page["index"]["state"], "building");
    assert_eq!(page["index"]["percent"], 66);
    assert_eq!(page["index"]["rows_behind"], 1);
    assert_eq!(kinds(&page), ["building"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "lock"]), 0);
    assert_eq!((&page["total"]["value"], &page["index"]["state"]), (&3.into(), &"ready".into()));
    assert_eq!(page["index"]["percent"], 100);
    assert!(kinds(&page).is_empty());
}

#[test]
fn rows_behind_are_counted_until_the_next_sync() {
    let scene = Scene::of(&["archive", "index", "another row"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "--no-sync", "lock"]), 0);
    assert_eq!(page["total"]["value"], 2);
    assert_eq!(page["index"]["state"], "stale");
    assert_eq!(page["index"]["rows_behind"], 1);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "lock"]), 0);
    assert_eq!(page["total"]["value"], 3);
    assert_eq!(page["index"]["state"], "ready");
    assert_eq!(page["index"]["rows_behind"], 0);
}

#[test]
fn a_changed_row_is_never_shown_with_the_score_of_another() {
    let fixture = Scene::of(&["archive", "index"]).fixture;
    let edit = "UPDATE messages SET content = 'Nobody takes it.' WHERE id = 2";
    fixture.writer().connection().execute(edit, []).expect("an edit in place");
    let page = answer("search", &fixture.aft(&["--json", "search", "--no-sync", "lock"]), 0);
    assert_eq!(page["total"]["value"], 1);
    assert_eq!(page["results"][0]["message_id"], 1);
    assert_eq!(kinds(&page), ["rows-changed"]);
}

#[test]
fn a_search_never_waits_for_another_writer() {
    let scene = Scene::of(&["archive", "index", "another row", "writer lock is held"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "lock"]), 0);
    assert_eq!(page["total"]["value"], 2);
    assert_eq!(page["index"]["rows_behind"], 1);
    assert_eq!(kinds(&page), ["not-synced"]);
    let message = page["warnings"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("another process is writing it"), "{message}");
    let ran = scene.fixture.aft(&["search", "lock"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("another process is writing it"), "{ran:?}");
    assert!(ran.stderr.contains("1 rows are not indexed yet"), "{ran:?}");
}

#[test]
fn a_first_search_beside_another_writer_is_an_empty_page() {
    let scene = Scene::of(&["archive", "index without a sync", "writer lock is held"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "lock"]), 0);
    assert_eq!(page["total"]["value"], 0);
    assert_eq!(kinds(&page), ["building", "unknown-term", "not-synced"]);
}

#[test]
fn an_archive_without_rows_is_an_empty_page() {
    let scene = Scene::of(&["archive without rows"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "lock"]), 0);
    assert_eq!(page["total"]["value"], 0);
    assert_eq!(page["index"]["state"], "ready");
    assert_eq!(page["index"]["rows"], 0);
    assert_eq!(kinds(&page), ["unknown-term"]);
}

#[test]
fn an_index_of_another_version_is_built_again() {
    for change in ["another format", "another analyzer", "another field"] {
        let fixture = Scene::of(&["archive", "index", change]).fixture;
        let page = answer("search", &fixture.aft(&["--json", "search", "lock"]), 0);
        assert_eq!(page["total"]["value"], 2, "{change}");
        assert_eq!(page["index"]["state"], "ready", "{change}");
        let live = generation(&fixture);
        assert!(live.ends_with("g2"), "{change}: {}", live.display());
        assert!(!live.with_file_name("g1").exists(), "{change}: the old generation is dropped");
        let committed = checkpoint(&fixture);
        assert_eq!(committed["format"], contract("index.json")["format"]);
        assert_eq!(committed["analyzer"], contract("index.json")["analyzer"]);
    }
}

#[test]
fn a_page_behind_the_last_hit_says_so() {
    let scene = Scene::of(&["archive", "index"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "--offset", "50", "lock"]), 0);
    assert_eq!(page["total"]["value"], 2);
    assert_eq!(page["results"], json!([]));
    assert_eq!(kinds(&page), ["past-the-end"]);
}

#[test]
fn a_prefix_of_too_many_words_says_so() {
    let scene = Scene::of(&["archive"]);
    let letters = || 'a'..='z';
    let words =
        letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| format!("zq{a}{b}{c}"))));
    append(&scene.fixture, "s", &words.take(1_100).collect::<Vec<_>>().join(" "));
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "zq*"]), 0);
    assert_eq!(page["total"]["value"], 1);
    assert_eq!(kinds(&page), ["forms-cut"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "zqa*"]), 0);
    assert_eq!(page["warnings"], json!([]));
}

#[test]
fn an_empty_page_tells_people_of_the_rows_behind() {
    let scene = Scene::of(&["archive", "index", "another row"]);
    let page = answer("search", &scene.fixture.aft(&["--json", "search", "--no-sync", "another"]), 0);
    assert!(kinds(&page).contains(&"rows-behind") && page["diagnosis"]["rows_behind"] == 1, "{page}");
    let ran = scene.fixture.aft(&["search", "--no-sync", "another"]);
    assert!(ran.stderr.contains("no hits") && ran.stderr.contains("1 rows"), "{ran:?}");
}

#[test]
fn a_page_of_several_archives_says_how_it_stands_with_each() {
    let scene = Scene::of(&["archive", "index"]);
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("afterthought");
    fs::create_dir(&folder).expect("a folder");
    let here = scene.fixture.archive();
    let named =
        format!("[archives]\nhere = {:?}\ngone = \"/nowhere/state.db\"\n", here.display().to_string());
    fs::write(folder.join("config.toml"), named).expect("a file");
    let mut command = aft();
    command.env_remove("HERMES_HOME").env("HOME", home.path()).env("XDG_CONFIG_HOME", home.path());
    command.arg("--index").arg(scene.fixture.index()).args(["--json", "search", "--all", "lock"]);
    let page = answer("search", &run(&mut command), 0);
    assert_eq!((&page["total"]["value"], kinds(&page)), (&json!(2), vec!["archive-left-out"]));
    let archives = &page["archives"];
    assert_eq!((&archives[0]["name"], &archives[0]["index"]), (&json!("gone"), &Value::Null));
    assert_eq!(archives[0]["error"]["kind"], "archive-unavailable");
    assert_eq!((&archives[1]["name"], &archives[1]["error"]), (&json!("here"), &Value::Null));
    assert_eq!(archives[1]["index"], page["index"]);
}

#[test]
fn an_explained_search_counts_its_work() {
    let fixture = harbor();
    assert_eq!(fixture.aft(&["index"]).code, 0);
    let page = answer("search", &fixture.aft(&["--json", "search", "--explain", "-n", "3", "lock order"]), 0);
    let work = &page["work"];
    assert_eq!(work["archive_rows_read"], 3 - titles(&page));
    assert!(work["postings"].as_u64() >= Some(8), "{work}");
    assert!(work["phrase_checks"].as_u64() >= Some(1), "{work}");
    let again =
        answer("search", &fixture.aft(&["--json", "search", "--explain", "-n", "3", "lock order"]), 0);
    assert_eq!(again["work"], *work, "work does not depend on time");
}

fn titles(page: &Value) -> u64 {
    hits(&page["results"]).iter().map(|hit| u64::from(hit["message_id"].is_null())).sum()
}

/// Returns the kinds of a page's warnings.
pub(crate) fn kinds(page: &Value) -> Vec<&str> {
    hits(&page["warnings"]).iter().filter_map(|warning| warning["kind"].as_str()).collect()
}

#[test]
fn every_kind_of_warning_is_brought_about() {
    let mut kinds: BTreeSet<String> = cases().into_iter().flat_map(|case| case.warnings).collect();
    // By the tests above.
    let above = ["building", "not-synced", "rows-changed", "rows-behind", "past-the-end", "forms-cut"];
    kinds.extend(above.map(str::to_owned));
    kinds.insert("archive-left-out".to_owned());
    let schema = contract("search.schema.json");
    let stated = hits(&schema["$defs"]["warning"]["properties"]["kind"]["oneOf"]);
    let stated: BTreeSet<String> =
        stated.iter().filter_map(|kind| kind["const"].as_str()).map(str::to_owned).collect();
    assert_eq!(kinds, stated);
}

#[test]
fn the_engine_and_the_command_give_one_page() {
    let fixture = harbor();
    let page = answer("search", &fixture.aft(&["--json", "search", "lock order"]), 0);
    let ours = fixture.engine().search(SearchRequest::new("lock order")).expect("a page");
    // Through text: a score has the digits of 32 bits there, and of 64 in a value.
    let ours = serde_json::to_string(&ours).expect("JSON");
    let mut ours: Value = serde_json::from_str(&ours).expect("JSON");
    for clock in ["elapsed_ms", "sync_ms"] {
        ours[clock] = page[clock].clone();
    }
    assert_eq!(ours, page);
}

#[test]
fn a_query_is_answered_as_typed() {
    let fixture = Scene::of(&["archive"]).fixture;
    let page = answer("search", &fixture.aft(&["--json", "search", "  the", "LOCK  "]), 0);
    assert_eq!(page["query"], "  the LOCK  ");
    assert_eq!(page["results"][0]["matched_terms"], json!(["the", "LOCK"]));
}

#[test]
fn an_untrue_page_is_noticed() {
    let fixture = harbor();
    let args = ["--explain", "lock", "order"].map(str::to_owned);
    let page = answer("search", &fixture.aft(&["--json", "search", "--explain", "lock", "order"]), 0);
    let listed = listed(&fixture.archive());
    assert_none(&untrue(&page, &args, &listed));
    // Hit 1 is the first that is no title.
    let lies: [(&str, Change); 15] = [
        ("a mark beside its word", |page| page["results"][1]["highlights"][0] = json!([0, 3])),
        ("a mark that is missing", |page| page["results"][1]["highlights"] = json!([])),
        ("a mark outside", |page| page["results"][1]["highlights"] = json!([[4, 9_999]])),
        ("another place", |page| page["results"][1]["index"] = json!(0)),
        ("another origin", |page| page["results"][1]["origin"] = json!("saw")),
        ("a stem for a word", |page| page["results"][1]["matched_terms"] = json!(["lok"])),
        ("a root that is not the score", |page| page["results"][1]["explain"]["score"] = json!(0.1)),
        ("a sum of other numbers", |page| page["results"][1]["explain"]["of"][1]["score"] = json!(0.1)),
        ("a sum of other words", |page| {
            page["results"][1]["explain"]["of"][0]["of"][0]["score"] = json!(0.1);
        }),
        ("a word less", |page| {
            let words = &mut page["results"][1]["explain"]["of"][0]["of"];
            words.as_array_mut().expect("a list").pop();
        }),
        ("a part of the query for all of it", |page| page["results"][1]["coverage"] = json!(0.5)),
        ("no confidence in hits", |page| page["confidence"] = json!("none")),
        ("a weak answer without a word", |page| page["confidence"] = json!("weak")),
        ("an order of its own", |page| page["results"][0]["score"] = json!(0.1)),
        ("an empty page without a reason", |page| page["results"] = json!([])),
    ];
    for (what, lie) in lies {
        let mut page = page.clone();
        lie(&mut page);
        assert_ne!(untrue(&page, &args, &listed), Vec::<String>::new(), "{what}");
    }
}
