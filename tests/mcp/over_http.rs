//! The same tools at `/mcp` of `aft serve`.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use afterthought::Options;
use afterthought::limits::SERVE_BODY_BYTES_MAX;
use afterthought_mcp::Tools;
use afterthought_server::{Server, Settings, Token};
use afterthought_tests::wire::{Reply, get, open, post, receive};
use afterthought_tests::{Fixture, sync};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::{Value, json};

use crate::client::Client;
use crate::harbor;

const HEADERS: &str = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

fn serve(fixture: &Fixture, settings: Settings, user: Option<&str>) -> Server {
    sync(&fixture.engine());
    let mut options = Options::new(fixture.archive(), fixture.index());
    options.user = user.map(str::to_owned);
    Server::start(options, settings).expect("a server")
}

fn settings() -> Settings {
    Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
}

fn send(server: &Server, headers: &str, message: &Value) -> Reply {
    post(server.address(), "/mcp", &format!("{HEADERS}{headers}"), &message.to_string())
}

/// Asks by the older protocol, whose requests need nothing of each other here.
#[track_caller]
fn ask(server: &Server, method: &str, params: &Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let reply = send(server, "MCP-Protocol-Version: 2025-11-25\r\n", &message);
    assert_eq!(reply.status, 200, "{} {}", reply.head, reply.text());
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let answer = reply.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
    answer
}

/// Leaves out what differs from one call to the next.
fn steady(mut answer: Value) -> Value {
    if let Some(structured) = answer["structuredContent"].as_object_mut() {
        for member in ["elapsed_ms", "sync_ms"] {
            structured.remove(member);
        }
    }
    answer
}

#[test]
fn the_tools_and_their_answers_are_those_over_standard_streams() {
    let fixture = harbor();
    let server = serve(&fixture, settings(), None);
    let mut piped = Client::of(&fixture);
    let hello = ask(
        &server,
        "initialize",
        &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}}),
    );
    assert_eq!(hello["result"]["serverInfo"]["name"], "afterthought", "{hello}");
    let listed = ask(&server, "tools/list", &json!({}));
    assert_eq!(listed["result"], piped.ask("tools/list", &json!({}))["result"]);
    for (name, arguments) in [
        ("search_messages", json!({"query": "anchor", "facets": ["role"]})),
        ("search_messages", json!({"queries": ["anchor", "chain"], "limit": 2})),
        ("search_reasoning", json!({"query": "anchor"})),
        ("get_message", json!({"id": 1, "after": 2})),
        ("get_session", json!({"id": "s-web", "slice": "-2:"})),
        ("list_sessions", json!({})),
        ("index_status", json!({})),
        ("search_messages", json!({"query": "anchor", "limit": 51})),
        ("get_message", json!({"id": 999})),
    ] {
        let call = json!({"name": name, "arguments": arguments});
        let answer = ask(&server, "tools/call", &call)["result"].clone();
        let own = piped.ask("tools/call", &call)["result"].clone();
        assert_eq!(steady(answer), steady(own), "{call}");
    }
}

#[test]
fn nothing_is_kept_of_a_client() {
    let fixture = harbor();
    let server = serve(&fixture, settings(), None);
    let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let told = send(&server, "", &message);
    assert_eq!((told.status, told.header("mcp-session-id")), (202, None), "{}", told.head);
    for method in ["GET", "DELETE", "PUT"] {
        let head =
            format!("{method} /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address());
        let reply = receive(open(server.address(), &head));
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{method} {}", reply.head);
        assert_eq!(reply.json()["error"]["kind"], "usage");
    }
}

#[test]
fn what_is_no_message_is_refused_and_breaks_nothing() {
    let fixture = harbor();
    let server = serve(&fixture, settings(), None);
    let sent = |headers: &str, body: &str| post(server.address(), "/mcp", headers, body);
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("\u{fe0f}", -32700),
        ("[]", -32600),
        ("7", -32600),
        (r#"[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]"#, -32600),
    ] {
        let reply = sent(HEADERS, body);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(code)), "{body}");
    }
    let status = sent(HEADERS, r#"{"jsonrpc": "2.0"}"#).status;
    assert!((400..500).contains(&status), "{status}");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    assert_eq!(
        sent("Content-Type: text/plain\r\nAccept: application/json, text/event-stream\r\n", &list).status,
        415
    );
    assert_eq!(sent("Content-Type: application/json\r\nAccept: image/png\r\n", &list).status, 406);
    let unknown = ask_raw(&server, "tools/none");
    assert!(unknown["error"]["code"].is_i64(), "{unknown}");
    assert!(ask(&server, "tools/list", &json!({}))["result"]["tools"].is_array());
}

fn ask_raw(server: &Server, method: &str) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {}});
    send(server, "MCP-Protocol-Version: 2025-11-25\r\n", &message).json()
}

#[test]
fn the_guard_stands_before_the_tools_too() {
    let fixture = harbor();
    let token = Token::new("0123456789abcdef").expect("a token");
    let server = serve(&fixture, Settings { token: Some(token), ..settings() }, None);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let bearer = "Authorization: Bearer 0123456789abcdef\r\n";
    for (headers, status) in [
        (bearer.to_owned(), 200),
        (String::new(), 401),
        (format!("{bearer}Origin: http://evil.example\r\n"), 403),
        (format!("{bearer}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n"), 403),
    ] {
        assert_eq!(send(&server, &headers, &list).status, status, "{headers}");
    }
    let foreign =
        format!("POST /mcp HTTP/1.1\r\nConnection: close\r\nHost: evil.example\r\n{bearer}{HEADERS}\r\n");
    assert_eq!(receive(open(server.address(), &foreign)).status, 403);
    let long = format!("{list}{}", " ".repeat(SERVE_BODY_BYTES_MAX));
    let reply = post(server.address(), "/mcp", &format!("{HEADERS}{bearer}"), &long);
    assert_eq!((reply.status, &reply.json()["error"]["kind"]), (413, &json!("usage")));
    // The same without saying so before.
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n{HEADERS}{bearer}\r\n",
        server.address()
    );
    let mut stream = open(server.address(), &head);
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x1_0000));
    for _ in 0..=SERVE_BODY_BYTES_MAX / 0x1_0000 {
        // The server may have refused it by now.
        let _refused = stream.write_all(chunk.as_bytes());
    }
    assert_eq!(receive(stream).status, 413);
    // Nothing else has a body.
    assert_eq!(post(server.address(), "/api/v1/search", bearer, "q=anchor").status, 413);
}

#[test]
fn one_person_and_some_tools_are_all_there_is() {
    let fixture = harbor();
    let tools = Tools::named(&["search_messages", "session_search"]).expect("tools");
    let server = serve(&fixture, Settings { tools, ..settings() }, Some("ada"));
    let listed = ask(&server, "tools/list", &json!({}));
    let names: Vec<&Value> =
        listed["result"]["tools"].as_array().expect("a list").iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["search_messages", "session_search"]);
    let found =
        ask(&server, "tools/call", &json!({"name": "search_messages", "arguments": {"query": "anchor"}}));
    assert_eq!(found["result"]["structuredContent"]["total"]["value"], 0, "{found}");
    let found =
        ask(&server, "tools/call", &json!({"name": "session_search", "arguments": {"query": "anchor"}}));
    assert_eq!(found["result"]["structuredContent"]["results"], json!([]), "{found}");
}

#[test]
fn calls_wait_in_the_line_of_all_requests() {
    let fixture = harbor();
    let server = serve(&fixture, Settings { running: 0, turn: Duration::from_millis(1), ..settings() }, None);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": "search_messages", "arguments": {"query": "anchor"}}});
    let reply = send(&server, "", &call);
    assert_eq!((reply.status, &reply.json()["error"]["kind"]), (503, &json!("busy")));
    assert!(reply.header("retry-after").is_some());
    assert!(get(server.address(), "/metrics").text().contains("route=\"/mcp\",status=\"503\""));
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let fixture = harbor();
    let server = serve(&fixture, Settings { head: Duration::from_millis(50), ..settings() }, None);
    let address = server.address();
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: 99\r\n{HEADERS}\r\n{{");
    assert_eq!(receive(open(address, &head)).status, 408);
}

#[test]
fn calls_under_way_are_answered_at_the_end() {
    let fixture = Fixture::with(Shape::V30, |writer| {
        writer.session(&Session::new("s-long"))?;
        let text = "a lock and an order and another lock of the weir ".repeat(40);
        (0..5_000)
            .try_for_each(|row| writer.message("s-long", &Message::user(&format!("{text} {row}"))).map(drop))
    });
    let server = serve(&fixture, settings(), None);
    let address = server.address();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "search_messages", "arguments": {"queries": ["a*", "o*", "\"of the weir\"", "l*"], "limit": 50}}});
    let asker = std::thread::spawn(move || post(address, "/mcp", HEADERS, &call.to_string()));
    while !get(address, "/metrics").text().contains("afterthought_requests_running 1\n")
        && !asker.is_finished()
    {
        std::thread::yield_now();
    }
    drop(server);
    let reply = asker.join().expect("an answer");
    assert_eq!(reply.status, 200, "{} {}", reply.head, reply.text());
    assert!(reply.json()["result"]["structuredContent"]["total"]["value"].as_u64() > Some(0));
}
