//! `aft mcp` as its clients meet it: the real program, spoken to in lines of JSON.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use afterthought::limits::{PAGE_DEPTH_MAX, PAGE_HITS_DEFAULT};
use afterthought::{ErrorKind, Origin, Weights};
use afterthought_tests::{Fixture, Trace, aft, root, run};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::{Value, json};

/// A client of one `aft mcp`. Whatever the server prints must be a message.
struct Client {
    server: Child,
    /// `None` once it is closed.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    /// Starts the server on the fixture's archive. Says nothing yet.
    fn silent(fixture: &Fixture) -> Self {
        let mut command = aft();
        command.arg("--archive").arg(fixture.archive()).arg("--index").arg(fixture.index()).arg("mcp");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut server = command.spawn().expect("aft starts");
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().expect("a pipe"));
        Self { server, input, output, last_id: 0 }
    }

    /// Starts the server and shakes hands.
    fn of(fixture: &Fixture) -> Self {
        let mut client = Self::silent(fixture);
        let hello = client.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "tests", "version": "0"}}),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "afterthought", "{hello}");
        assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
        client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn tell(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open pipe");
        writeln!(input, "{message}").expect("the server listens");
    }

    /// Sends a request and returns its id.
    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line of UTF-8");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls the tool. What it gives back fits its output schema, and says the same as text.
    fn call(&mut self, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": "search_messages", "arguments": arguments}));
        let result = &answer["result"];
        let schema = &contract()["tools"][0]["outputSchema"];
        let schema = jsonschema::draft202012::new(schema).expect("a schema");
        let breaches: Vec<_> =
            schema.iter_errors(&result["structuredContent"]).map(|error| error.to_string()).collect();
        assert!(breaches.is_empty(), "{breaches:#?}\n{answer:#}");
        assert_eq!(result["content"][0]["type"], "text", "{answer}");
        result.clone()
    }

    /// Returns the page that a search must give.
    #[track_caller]
    fn page(&mut self, arguments: &Value) -> Value {
        let result = self.call(arguments);
        assert_eq!(result["isError"], false, "{result:#}");
        result["structuredContent"].clone()
    }

    /// Closes standard input and returns the exit code.
    fn close(mut self) -> Option<i32> {
        self.input = None;
        let mut rest = String::new();
        assert_eq!(self.output.read_line(&mut rest).expect("UTF-8"), 0, "{rest:?}");
        self.server.wait().expect("the server ends").code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves no server behind.
        let _ended = self.server.kill();
        let _ended = self.server.wait();
    }
}

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
fn the_contract_repeats_what_the_library_and_the_other_schemas_say() {
    let contract = contract();
    let tool = &contract["tools"][0];
    let input = &tool["inputSchema"];
    assert_eq!(input["additionalProperties"], false);
    let properties = input["properties"].as_object().expect("parameters");
    assert_eq!(properties["in"]["items"]["enum"], json!(Origin::ALL.map(Origin::name)));
    assert_eq!(properties["weights"]["enum"], json!(Weights::SETS));
    assert_eq!(properties["limit"]["default"], PAGE_HITS_DEFAULT);
    assert_eq!(properties["offset"]["maximum"], PAGE_DEPTH_MAX - 1);
    for (name, property) in properties {
        assert!(property["description"].as_str().is_some_and(|text| text.len() > 10), "{name}");
    }
    // One shape for both: some clients check results that are errors too.
    let output = &tool["outputSchema"];
    assert_eq!(output["type"], "object", "what the protocol asks of every tool");
    assert_eq!(output["oneOf"], json!([{"$ref": "#/$defs/page"}, {"$ref": "#/$defs/failure"}]));
    for (part, whole) in [("page", unexplained()), ("failure", schema("error.schema.json"))] {
        for member in ["type", "additionalProperties", "required", "properties"] {
            assert_eq!(output["$defs"][part][member], whole[member], "{part}: {member}");
        }
    }
    let shared = unexplained()["$defs"].take();
    let shared = shared.as_object().expect("definitions");
    for (name, shared) in shared {
        assert_eq!(output["$defs"][name], *shared, "{name}");
    }
    let all = output["$defs"].as_object().expect("definitions");
    assert_eq!(all.len(), shared.len() + ["page", "failure"].len());
}

/// Returns the schema of a page without what no call of the tool asks for.
fn unexplained() -> Value {
    let mut page = schema("search.schema.json");
    for (object, members) in [
        ("/properties", &["work"][..]),
        ("/$defs", &["work", "explanation", "part"]),
        ("/$defs/hit/properties", &["explain"]),
    ] {
        let object = page.pointer_mut(object).and_then(Value::as_object_mut).expect("an object");
        for member in members {
            assert!(object.remove(*member).is_some(), "{member}");
        }
    }
    page
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
    let cases: [(Value, &[&str]); 25] = [
        (json!({"sort": "oldest"}), &["--sort", "oldest"]),
        (json!({"group": "session"}), &["--group", "session"]),
        (json!({"cursor": cursor, "limit": 1}), &["--cursor", cursor, "--limit", "1"]),
        (json!({"in": ["thought", "titled"]}), &["--in", "thought,titled"]),
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
    let mut tried = vec!["query".to_owned()];
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
        (json!({"query": "x", "role": "user"}), &["role", "no such parameter", "query, in, roles"]),
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
    assert_eq!(answer["error"]["message"], "no tool \"search\"; tools: search_messages");
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
