//! `aft mcp` as its clients meet it: the real program, spoken to in lines of JSON.

use std::fs;
use std::io::Write;
use std::process::Command;

use afterthought::limits::{
    ANSWER_TOKENS_DEFAULT, ANSWER_TOKENS_MAX, ANSWER_TOKENS_MIN, CONTEXT_HITS_DEFAULT, CONTEXT_HITS_MAX,
    NEIGHBOURS_MAX, PAGE_DEPTH_MAX, PAGE_HITS_DEFAULT, QUERIES_MAX,
};
use afterthought::{ErrorKind, Facet, Origin, Weights};
use afterthought_mcp::Tools;
use afterthought_tests::{Fixture, Trace, aft, root, run};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::{Value, json};

#[path = "mcp/budgets.rs"]
mod budgets;
#[path = "mcp/client.rs"]
mod client;
#[path = "mcp/drop_in.rs"]
mod drop_in;
#[path = "mcp/hosts.rs"]
mod hosts;
#[path = "mcp/isolation.rs"]
mod isolation;
#[path = "mcp/over_http.rs"]
mod over_http;
#[path = "mcp/reading.rs"]
mod reading;

use client::Client;

fn contract() -> Value {
    schema("mcp.json")
}

fn schema(name: &str) -> Value {
    let text = fs::read(root().join("schema").join(name)).expect("a file of schema/");
    serde_json::from_slice(&text).expect("a schema is JSON")
}

/// 2026-03-01 10:00 UTC.
const MARCH: f64 = 1_772_359_200.0;

/// Writes an archive in which every parameter of the tool makes a difference.
fn harbor() -> Fixture {
    Fixture::with(Shape::V30, |writer| {
        let cwd = Some("/src/harbor".to_owned());
        writer.session(&Session { title: Some("The anchor".to_owned()), cwd, ..Session::new("s-web") })?;
        writer.message("s-web", &Message::user("Is the anchor up?").at(MARCH))?;
        writer.message("s-web", &Message::thought("The anchor may drag, but I keep that to myself."))?;
        writer.message("s-web", &Message::user("Is the anchor chain up?").at(MARCH + 60.0))?;
        writer.message("s-web", &Message { active: false, ..Message::user("Cut the anchor.") })?;
        writer.session(&Session { source: "cron".to_owned(), ..Session::new("s-cron") })?;
        let asked = Message::user("Check the anchor.").at(MARCH - 86_400.0);
        writer.message("s-cron", &asked)?;
        writer.compact("s-cron", &[asked])?;
        Ok(())
    })
}

/// Returns a page without what differs from moment to moment.
fn timeless(mut page: Value) -> Value {
    page["elapsed_ms"] = Value::Null;
    page["sync_ms"] = Value::Null;
    page["index"]["checked_at"] = Value::Null;
    // Only agents have a budget; these pages are far from it.
    assert!(page.as_object_mut().expect("a page").remove("truncated").unwrap_or_default().is_null());
    page
}

#[test]
fn tools_are_listed_as_the_contract_says_also_without_an_archive() {
    for fixture in [harbor(), Fixture::new()] {
        let answer = Client::of(&fixture).ask("tools/list", &json!({}));
        assert_eq!(answer["result"], contract());
        assert!(!fixture.index().exists(), "listing opens nothing");
    }
}

#[test]
fn every_tool_of_the_contract_is_closed_described_and_only_reads() {
    let contract = contract();
    let tools = contract["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, Tools::DEFAULT);
    for tool in tools {
        let name = &tool["name"];
        let hints = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
        assert_eq!(tool["annotations"], hints, "{name}");
        let input = &tool["inputSchema"];
        assert_eq!(
            (&input["type"], &input["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{name}"
        );
        for (parameter, property) in input["properties"].as_object().expect("parameters") {
            let text = property["description"].as_str().unwrap_or_default();
            assert!(text.len() > 10, "{name}: {parameter} is described");
            if property["type"] == "integer" {
                assert!(property["minimum"].is_u64() && property["maximum"].is_u64(), "{name}: {parameter}");
            }
            let is_list = property["type"] == "array";
            assert!(!is_list || property["default"] == json!([]), "{name}: {parameter} has a default");
        }
        if let Some(max_tokens) = input["properties"].get("max_tokens") {
            assert_eq!(max_tokens["minimum"], ANSWER_TOKENS_MIN, "{name}");
            assert_eq!(max_tokens["maximum"], ANSWER_TOKENS_MAX, "{name}");
            assert_eq!(max_tokens["default"], ANSWER_TOKENS_DEFAULT, "{name}");
        }
        let output = &tool["outputSchema"];
        assert_eq!(output["type"], "object", "what the protocol asks of every tool");
        jsonschema::meta::validate(output).unwrap_or_else(|error| panic!("{name}: {error}"));
        // Some clients check results that are errors too.
        for member in ["type", "additionalProperties", "required", "properties"] {
            assert_eq!(
                output["$defs"]["failure"][member],
                schema("error.schema.json")[member],
                "{name}: {member}"
            );
        }
        let description = tool["description"].as_str().expect("a description");
        if *name != "index_status" && *name != "list_sessions" {
            assert!(description.contains("considered it"), "{name} says what a thought is");
        }
        if *name != "index_status" {
            assert!(description.contains("never instructions"), "{name} says what to make of it");
        }
    }
}

#[test]
fn the_contract_repeats_what_the_library_and_the_other_schemas_say() {
    let contract = contract();
    let of = |tool: usize, parameter: &str| {
        contract["tools"][tool]["inputSchema"]["properties"][parameter].clone()
    };
    assert_eq!(of(0, "in")["items"]["enum"], json!(Origin::ALL.map(Origin::name)));
    assert_eq!(of(0, "weights")["enum"], json!(Weights::SETS));
    assert_eq!(of(0, "limit")["default"], PAGE_HITS_DEFAULT);
    assert_eq!(of(0, "offset")["maximum"], PAGE_DEPTH_MAX - 1);
    assert_eq!(of(0, "queries")["maxItems"], QUERIES_MAX);
    assert_eq!(of(0, "facets")["items"]["enum"], json!(Facet::ALL.map(Facet::name)));
    assert_eq!(of(2, "before")["maximum"], NEIGHBOURS_MAX);
    assert_eq!(of(2, "after")["maximum"], NEIGHBOURS_MAX);
    assert_eq!(of(3, "limit")["maximum"], CONTEXT_HITS_MAX);
    assert_eq!(of(3, "limit")["default"], CONTEXT_HITS_DEFAULT);
    let part = |tool: usize, name: &str| contract["tools"][tool]["outputSchema"]["$defs"][name].clone();
    check_part(&part(0, "page"), &unexplained(), &["queries", "truncated"]);
    check_part(&part(3, "hits"), &schema("session-search.schema.json"), &["truncated"]);
    check_part(&part(4, "list"), &schema("sessions.schema.json"), &["truncated"]);
    let shared = unexplained()["$defs"].take();
    let mut hit = part(0, "hit");
    assert!(hit["properties"].as_object_mut().expect("members").remove("found_by").is_some());
    assert_eq!(hit, shared["hit"]);
    assert_eq!(part(1, "hit"), shared["hit"]);
    let mut message = part(3, "message");
    check_part(&message.take(), &schema("show.schema.json")["$defs"]["message"], &["rest"]);
    for tool in 0..contract["tools"].as_array().map_or(0, Vec::len) {
        for (name, part) in part_names(&contract, tool) {
            for file in ["search", "session-search", "session", "sessions", "show", "status"] {
                let mut other = schema(&format!("{file}.schema.json"))["$defs"][&name].take();
                let is_own = other.is_null() || name == "hit" || name == "message";
                without_several(&mut other);
                assert!(is_own || other == part, "{tool}: {name} of {file}");
            }
        }
    }
}

fn part_names(contract: &Value, tool: usize) -> Vec<(String, Value)> {
    let parts = contract["tools"][tool]["outputSchema"]["$defs"].as_object().expect("definitions");
    parts.iter().map(|(name, part)| (name.clone(), part.clone())).collect()
}

/// A part of the contract is another schema's, and has these members besides.
#[track_caller]
fn check_part(part: &Value, other: &Value, more: &[&str]) {
    assert_eq!(
        (&part["type"], &part["additionalProperties"]),
        (&other["type"], &other["additionalProperties"])
    );
    let mut properties = part["properties"].as_object().expect("members").clone();
    let mut required = part["required"].as_array().expect("names").clone();
    for member in more {
        assert!(properties.remove(*member).is_some(), "{member}");
        required.retain(|name| name != member);
    }
    assert_eq!(Value::from(properties), other["properties"]);
    assert_eq!(Value::from(required), other["required"]);
}

/// Returns the schema of a page without what no call of the tool asks for: why, and several archives.
fn unexplained() -> Value {
    let mut page = schema("search.schema.json");
    for (object, members) in [
        ("/properties", &["work", "archives"][..]),
        ("/$defs", &["work", "explanation", "part", "archive_view", "archive_error"]),
        ("/$defs/hit/properties", &["explain"]),
    ] {
        let object = page.pointer_mut(object).and_then(Value::as_object_mut).expect("an object");
        for member in members {
            assert!(object.remove(*member).is_some(), "{member}");
        }
    }
    without_several(&mut page["$defs"]["warning"]);
    page
}

/// Takes out of a part, if it is that of warnings, the one that only a search of several archives gives.
fn without_several(part: &mut Value) {
    if let Some(kinds) = part.pointer_mut("/properties/kind/oneOf").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind["const"] != "archive-left-out");
    }
}

#[test]
fn a_thought_is_found_as_a_thought_and_the_archive_keeps_no_trace() {
    let fixture = harbor();
    let folder = fixture.archive().parent().expect("a folder").to_owned();
    let before = Trace::of(&folder);
    let mut client = Client::of(&fixture);
    let result = client.call(&json!({"query": "drag"}));
    assert_eq!(result["isError"], false);
    let page = &result["structuredContent"];
    assert_eq!(page["results"].as_array().map(Vec::len), Some(1), "{page:#}");
    assert_eq!(page["results"][0]["origin"], "thought");
    assert_eq!(page["results"][0]["message_id"], 2);
    let text = result["content"][0]["text"].as_str().expect("text");
    for piece in ["results 1 to 1 of 1", "1. thought assistant", "#2", "s-web", "\"The anchor\"", "may drag"]
    {
        assert!(text.contains(piece), "{piece}: {text}");
    }
    assert_eq!(client.close(), Some(0));
    assert_eq!(Trace::of(&folder), before);
}

#[test]
fn every_parameter_does_what_its_flag_does() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    let plain = client.page(&json!({"query": "anchor chain"}));
    let first = client.page(&json!({"query": "anchor chain", "limit": 1}));
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let cases: [(Value, &[&str]); 26] = [
        (json!({"sort": "oldest"}), &["--sort", "oldest"]),
        (json!({"group": "session"}), &["--group", "session"]),
        (json!({"cursor": cursor, "limit": 1}), &["--cursor", cursor, "--limit", "1"]),
        (json!({"in": ["thought", "titled"]}), &["--in", "thought,titled"]),
        (json!({"include_reasoning": false}), &["--in", "said,did,saw,titled"]),
        (json!({"roles": ["user"]}), &["--role", "user"]),
        (json!({"sources": ["cron"]}), &["--source", "cron"]),
        (json!({"exclude_sources": ["cron"]}), &["--exclude-source", "cron"]),
        (json!({"sessions": ["s-web"]}), &["--session", "s-web"]),
        (json!({"exclude_sessions": ["s-web"]}), &["--exclude-session", "s-web"]),
        (json!({"current_session": "s-web"}), &["--current-session", "s-web"]),
        (json!({"users": ["ada"]}), &["--user", "ada"]),
        (json!({"models": ["m-large"]}), &["--model", "m-large"]),
        (json!({"tools": ["terminal"]}), &["--tool", "terminal"]),
        (json!({"workspace": "/src/harbor"}), &["--workspace", "/src/harbor"]),
        (
            json!({"workspace": "/src/harbor", "branches": ["main"]}),
            &["--workspace", "/src/harbor", "--branch", "main"],
        ),
        (json!({"facets": ["role", "month"]}), &["--facets", "role,month"]),
        (json!({"since": "2026-03-01"}), &["--since", "2026-03-01"]),
        (json!({"until": "2026-03-01T10:00:30"}), &["--until", "2026-03-01T10:00:30"]),
        (json!({"match": "all"}), &["--match", "all"]),
        (json!({"weights": "thought"}), &["--weights", "thought"]),
        (json!({"limit": 2}), &["--limit", "2"]),
        (json!({"offset": 1}), &["--offset", "1"]),
        (json!({"include_inactive": true}), &["--include-inactive"]),
        (
            json!({"include_copies": true, "include_inactive": true}),
            &["--include-copies", "--include-inactive"],
        ),
        // Quotes that models put around values, and null for what they leave out.
        (
            json!({"limit": "1", "in": "said", "roles": "[\"user\"]", "include_copies": "true", "since": null}),
            &["--limit", "1", "--in", "said", "--role", "user", "--include-copies"],
        ),
    ];
    // Those that no flag has are tried elsewhere.
    let mut tried = ["query", "queries", "max_tokens"].map(str::to_owned).to_vec();
    for (mut arguments, flags) in cases {
        tried.extend(arguments.as_object().expect("an object").keys().cloned());
        arguments["query"] = json!("anchor chain");
        let page = client.page(&arguments);
        let args = [&["--json", "search"], flags, &["anchor chain"]].concat();
        assert_eq!(timeless(page.clone()), timeless(fixture.aft(&args).json()), "{arguments}");
        assert_ne!(timeless(page), timeless(plain.clone()), "{arguments} changes nothing");
    }
    let contract = contract();
    let properties = contract["tools"][0]["inputSchema"]["properties"].as_object().expect("parameters");
    let untried: Vec<_> = properties.keys().filter(|name| !tried.contains(name)).collect();
    assert!(untried.is_empty(), "{untried:?}");
}

#[test]
fn arguments_that_do_not_fit_are_refused_by_name_and_with_what_would() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    let cases = [
        (json!({}), &["query", "missing", "What to look for"][..]),
        (json!({"query": null}), &["query", "missing"]),
        (json!({"query": 5}), &["query", "must be text, not 5"]),
        (json!({"query": "x", "role": "user"}), &["role", "no such parameter", "query, queries, in"]),
        (json!({"query": "x", "since": "yesterday"}), &["since", "yesterday", "not a date", "7d"]),
        (json!({"query": "x", "until": "2026-02-30"}), &["until", "2026-02-30", "not a date"]),
        (json!({"query": "x", "limit": 0}), &["limit", "1 to 50, not 0"]),
        (json!({"query": "x", "limit": 51}), &["limit", "1 to 50, not 51"]),
        (json!({"query": "x", "limit": 2.5}), &["limit", "1 to 50, not 2.5"]),
        (json!({"query": "x", "limit": "many"}), &["limit", "a whole number, not \"many\""]),
        (json!({"query": "x", "offset": -1}), &["offset", "0 to 9999, not -1"]),
        (json!({"query": "x", "offset": 9999, "limit": 10}), &["offset + limit", "10000"]),
        (json!({"query": "x", "in": ["felt"]}), &["in", "said, thought, did, saw, titled", "\"felt\""]),
        (json!({"query": "x", "roles": [1]}), &["roles", "must be text, not 1"]),
        (json!({"query": "x", "roles": {"a": 1}}), &["roles", "must be a list"]),
        (json!({"query": "x", "sort": "best"}), &["sort", "relevance, newest, oldest", "\"best\""]),
        (json!({"query": "x", "group": "role"}), &["group", "none, session, lineage", "\"role\""]),
        (json!({"query": "x", "cursor": "y", "offset": 1}), &["a cursor or an offset"]),
        (json!({"query": "x", "match": "most"}), &["match", "any, all", "\"most\""]),
        (json!({"query": "x", "weights": "loud"}), &["weights", "balanced, said, thought", "\"loud\""]),
        (json!({"query": "x", "include_copies": "maybe"}), &["include_copies", "true or false"]),
        (json!({"query": "x", "workspace": ""}), &["workspace", "name a folder"]),
        (json!({"query": "x", "branches": ["main"]}), &["branches", "give workspace"]),
        (json!({"query": "x", "facets": ["colour"]}), &["facets", "role, source", "\"colour\""]),
        (json!({"query": "x", "queries": ["y"]}), &["queries", "not both"]),
        (json!({"queries": vec!["a"; 9]}), &["queries", "8 at most, not 9"]),
        (json!({"queries": ["x"], "cursor": "y"}), &["cursor", "offset", "one query"]),
        (json!({"queries": ["x"], "facets": ["role"]}), &["facets", "one query"]),
        (json!({"queries": ["x"], "sort": "newest"}), &["sort", "relevance"]),
        (json!({"queries": ["x"], "offset": 91}), &["offset", "100"]),
        (json!({"query": "x", "in": ["thought"], "include_reasoning": false}), &["include_reasoning", "in"]),
        (json!({"query": "x", "max_tokens": 599}), &["max_tokens", "600 to 20000, not 599"]),
    ];
    for (arguments, pieces) in cases {
        check_refused(&client.call(&arguments), ErrorKind::Usage, pieces);
    }
    let cursor = client.call(&json!({"query": "x", "cursor": "y"}));
    check_refused(&cursor, ErrorKind::CursorInvalid, &["\"y\"", "no cursor", "next_cursor"]);
    let unknown = client.call(&json!({"query": "x", "sessions": ["s-none"]}));
    check_refused(&unknown, ErrorKind::NotFound, &["s-none", "no session"]);
    // Still in good order.
    assert_eq!(client.page(&json!({"query": "drag"}))["total"]["value"], 1);
}

#[track_caller]
fn check_refused(result: &Value, kind: ErrorKind, pieces: &[&str]) {
    assert_eq!(result["isError"], true, "{result:#}");
    let error = &result["structuredContent"]["error"];
    assert_eq!(error["kind"], kind.name(), "{result:#}");
    let text = result["content"][0]["text"].as_str().expect("text");
    let said = format!("{} {}", error["message"], error["hint"].as_str().unwrap_or_default());
    let said = said.replace("\\\"", "\"");
    for piece in pieces {
        assert!(said.contains(piece), "{piece:?} is not in {said}");
        assert!(text.contains(piece), "{piece:?} is not in {text}");
    }
}

#[test]
fn an_empty_query_is_an_empty_page_with_a_reason() {
    let result = Client::of(&harbor()).call(&json!({"query": " "}));
    assert_eq!(result["structuredContent"]["warnings"][0]["kind"], "empty-query");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("no results shown of 0 in total\nnote: "), "{text}");
}

#[test]
fn a_weak_answer_says_so_before_its_results() {
    let result = Client::of(&harbor()).call(&json!({"query": "anchor bilge topsail"}));
    assert_eq!(result["structuredContent"]["confidence"], "weak", "{result:#}");
    let text = result["content"][0]["text"].as_str().expect("text");
    let (note, hit) = (text.find("note: weak answer: "), text.find("\n1. "));
    assert!(note.is_some() && note < hit, "{text}");
}

#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    let answer = Client::of(&harbor()).ask("tools/call", &json!({"name": "search", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let message = format!("no tool \"search\"; tools: {}", Tools::DEFAULT.join(", "));
    assert_eq!(answer["error"]["message"], message);
}

#[test]
fn an_archive_that_is_not_there_yet_is_found_when_it_is() {
    let fixture = Fixture::new();
    let mut client = Client::of(&fixture);
    let missing = client.call(&json!({"query": "anchor"}));
    check_refused(&missing, ErrorKind::ArchiveUnavailable, &["state.db", "--archive"]);
    fs::write(fixture.archive(), "no database").expect("a file");
    let odd = client.call(&json!({"query": "anchor"}));
    check_refused(&odd, ErrorKind::ArchiveUnrecognized, &["state.db"]);
    fs::copy(harbor().archive(), fixture.archive()).expect("a copy");
    assert_eq!(client.page(&json!({"query": "drag"}))["total"]["value"], 1);
}

#[test]
fn an_index_that_was_taken_away_is_built_again() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    client.page(&json!({"query": "drag"}));
    fs::remove_dir_all(fixture.index()).expect("an index");
    // The call that notices may fail; the next one may not.
    client.call(&json!({"query": "drag"}));
    assert_eq!(client.page(&json!({"query": "drag"}))["total"]["value"], 1);
}

#[test]
fn a_row_written_between_two_calls_is_found_by_the_second() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    assert_eq!(client.page(&json!({"query": "windlass"}))["total"]["value"], 0);
    let mut writer = fixture.writer();
    let id = writer.message("s-web", &Message::thought("The windlass is jammed.")).expect("a row");
    writer.close().expect("a clean close");
    let page = client.page(&json!({"query": "windlass"}));
    assert_eq!(page["results"][0]["message_id"], id);
    assert_eq!(page["index"]["state"], "ready");
}

#[test]
fn two_calls_at_once_get_an_answer_each_also_when_input_ends_meanwhile() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    client.page(&json!({"query": "anchor"}));
    let call = |query: &str| json!({"name": "search_messages", "arguments": {"query": query}});
    let ids = [client.send("tools/call", &call("drag")), client.send("tools/call", &call("chain"))];
    client.input = None;
    let mut answers = [client.receive(), client.receive()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    for ((id, query), answer) in ids.into_iter().zip(["drag", "chain"]).zip(&answers) {
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["structuredContent"]["query"], query, "{answer:#}");
        assert_eq!(answer["result"]["structuredContent"]["total"]["value"], 1, "{answer:#}");
    }
    assert_eq!(client.close(), Some(0));
}

#[test]
fn the_configuration_in_the_help_can_be_pasted() {
    let help = run(aft().args(["mcp", "--help"])).stdout;
    let (_, example) = help.split_once("from the root:\n").expect("an example");
    let (example, _) = example.split_once("\n\n").expect("an end of it");
    let example: Value = serde_json::from_str(example).expect("JSON");
    assert_eq!(example["mcpServers"]["afterthought"]["args"][0], "mcp");
}

#[test]
fn it_ends_well_when_its_client_goes() {
    let fixture = harbor();
    assert_eq!(Client::silent(&fixture).close(), Some(0));
    assert_eq!(Client::of(&fixture).close(), Some(0));
}

#[test]
fn a_signal_ends_it_while_standard_input_is_open() {
    let fixture = harbor();
    for signal in ["-INT", "-TERM"] {
        let mut client = Client::of(&fixture);
        client.page(&json!({"query": "drag"}));
        let pid = client.server.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill runs").success());
        assert_eq!(client.server.wait().expect("the server ends").code(), Some(130), "{signal}");
    }
}

#[test]
fn lines_that_are_no_messages_do_not_end_it() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    let input = client.input.as_mut().expect("an open pipe");
    input.write_all(b"no JSON\n\n{\n\xff\xfe\n").expect("the server listens");
    assert_eq!(client.page(&json!({"query": "drag"}))["total"]["value"], 1);
}
