//! A client of `aft mcp`, and what must hold of every answer.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;

use afterthought::limits::{ANSWER_FRAME_TOKENS, ANSWER_TOKENS_DEFAULT};
use afterthought_mcp::{json_tokens, tokens};
use afterthought_tests::{Fixture, aft};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::contract;

/// A client of one `aft mcp`. Whatever the server prints must be a message.
pub(crate) struct Client {
    pub(crate) server: Child,
    /// `None` once it is closed.
    pub(crate) input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    /// Starts the server on the fixture's archive. Says nothing yet.
    pub(crate) fn silent(fixture: &Fixture) -> Self {
        Self::silent_with(fixture, &[])
    }

    /// Starts the server and shakes hands.
    pub(crate) fn of(fixture: &Fixture) -> Self {
        Self::with(fixture, &[])
    }

    /// Starts the server with more arguments and shakes hands.
    pub(crate) fn with(fixture: &Fixture, arguments: &[&str]) -> Self {
        Self::silent_with(fixture, arguments).greeted()
    }

    fn silent_with(fixture: &Fixture, arguments: &[&str]) -> Self {
        let mut command = aft();
        command.arg("--archive").arg(fixture.archive()).arg("--index").arg(fixture.index());
        Self::start(command.arg("mcp").args(arguments))
    }

    /// Starts a server. Says nothing yet.
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut server = command.spawn().expect("aft starts");
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().expect("a pipe"));
        Self { server, input, output, last_id: 0 }
    }

    /// Shakes hands.
    pub(crate) fn greeted(mut self) -> Self {
        let hello = self.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "tests", "version": "0"}}),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "afterthought", "{hello}");
        assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
        self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    pub(crate) fn tell(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open pipe");
        writeln!(input, "{message}").expect("the server listens");
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line of UTF-8");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool until a first build is through, and returns what it gives back then.
    #[track_caller]
    pub(crate) fn call_tool(&mut self, name: &str, arguments: &Value) -> Value {
        loop {
            let result = self.call_once(name, arguments);
            let warnings = result["structuredContent"]["warnings"].as_array();
            if !warnings.into_iter().flatten().any(|warning| warning["kind"] == "building") {
                return result;
            }
        }
    }

    /// Calls a tool. What it gives back fits its output schema, keeps to its budget and says in both forms
    /// whether anything was left out for that.
    #[track_caller]
    pub(crate) fn call_once(&mut self, name: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        let structured = &result["structuredContent"];
        let breaches: Vec<_> =
            output_schema(name).iter_errors(structured).map(|error| error.to_string()).collect();
        assert!(breaches.is_empty(), "{name} {arguments}: {breaches:#?}\n{answer:#}");
        assert_eq!(result["content"][0]["type"], "text", "{answer}");
        if result["isError"] == false {
            check_budget(name, arguments, result);
        }
        result.clone()
    }

    /// Returns what a tool must answer.
    #[track_caller]
    pub(crate) fn answer(&mut self, name: &str, arguments: &Value) -> Value {
        let result = self.call_tool(name, arguments);
        assert_eq!(result["isError"], false, "{name} {arguments}: {result:#}");
        result["structuredContent"].clone()
    }

    /// Searches messages.
    #[track_caller]
    pub(crate) fn call(&mut self, arguments: &Value) -> Value {
        self.call_tool("search_messages", arguments)
    }

    /// Returns the page that a search must give.
    #[track_caller]
    pub(crate) fn page(&mut self, arguments: &Value) -> Value {
        self.answer("search_messages", arguments)
    }

    /// Closes standard input and returns the exit code.
    pub(crate) fn close(mut self) -> Option<i32> {
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

/// Returns what checks a tool's answers.
fn output_schema(name: &str) -> &'static Validator {
    static SCHEMAS: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
        let contract = contract();
        let tools = contract["tools"].as_array().expect("tools");
        let validator = |tool: &Value| {
            let name = tool["name"].as_str().expect("a name").to_owned();
            (name, jsonschema::draft202012::new(&tool["outputSchema"]).expect("a schema"))
        };
        tools.iter().map(validator).collect()
    });
    &SCHEMAS[name]
}

#[track_caller]
fn check_budget(name: &str, arguments: &Value, result: &Value) {
    let text = result["content"][0]["text"].as_str().expect("text");
    let structured = &result["structuredContent"];
    let Some(truncated) = structured.get("truncated") else { return };
    let max = arguments["max_tokens"]
        .as_u64()
        .map_or(ANSWER_TOKENS_DEFAULT, |max| usize::try_from(max).expect("a size"));
    let (of_text, of_structured) = (tokens(text), json_tokens(structured));
    assert!(of_text <= max, "{name} {arguments}: {of_text} of {max} tokens\n{text}");
    let most = max + ANSWER_FRAME_TOKENS;
    assert!(of_structured <= most, "{name} {arguments}: {of_structured} of {most} tokens\n{structured:#}");
    let is_said = text.contains("to keep to max_tokens");
    assert_eq!(is_said, !truncated.is_null(), "{name} {arguments}: {truncated}\n{text}");
    // Whoever reads on from an answer that shows nothing would get the same again.
    for (list, left_out) in
        [("results", "hits_left_out"), ("messages", "messages_left_out"), ("sessions", "sessions_left_out")]
    {
        let is_empty = structured[list].as_array().is_some_and(Vec::is_empty);
        assert!(
            !is_empty || truncated[left_out].as_u64() <= Some(0),
            "{name} {arguments}: nothing is shown\n{text}"
        );
    }
}
