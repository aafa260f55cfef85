//! `aft serve` as its clients meet it: real sockets, and heads of requests written byte by byte.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use afterthought::index::Folder;
use afterthought::limits::{
    CONTEXT_HITS_MAX, PAGE_HITS_MAX, SERVE_HEAD_BYTES_MAX, SERVE_NEIGHBOURS_MAX, SERVE_STREAMS_MAX,
    SERVE_SYNC_S_MAX, SERVE_URL_BYTES_MAX,
};
use afterthought::search::Deadline;
use afterthought::{ErrorKind, Facet, Options, SearchRequest, Weights};
use afterthought_server::{OPENAPI, Server, Settings, Token, openapi};
use afterthought_tests::wire::{Reply, get, get_with, open, receive, request};
use afterthought_tests::{Fixture, Trace, aft, root, run, sync};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::{Value, json};

const ID: &str = "s-lock";
const TOKEN: &str = "a token of the tests, 32 letters";

fn archive() -> Fixture {
    Fixture::with(Shape::V30, |writer| {
        for (id, source) in [(ID, "cli"), ("s-other", "telegram")] {
            writer.session(&Session { source: source.to_owned(), ..Session::new(id) })?;
            for text in
                ["Who takes the lock first?", "The order of locks differs.", "部署 café 🚀", "the weir"]
            {
                writer.message(id, &Message::user(text))?;
                writer.message(id, &Message::thought(&format!("considering: {text}")))?;
            }
        }
        Ok(())
    })
}

fn settings() -> Settings {
    Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
}

fn start(fixture: &Fixture, settings: Settings) -> Server {
    Server::start(Options::new(fixture.archive(), fixture.index()), settings).expect("a server")
}

/// Serves an archive of which everything is indexed, and whose files are at rest.
fn rested(fixture: &Fixture) -> Server {
    let server = start(fixture, settings());
    until(|| get(server.address(), "/api/v1/search?q=lock").header("etag").is_some());
    server
}

/// Waits for what must come, however long it takes.
fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn contract(name: &str) -> Value {
    let text = std::fs::read(root().join("schema").join(name)).expect("a file of schema/");
    serde_json::from_slice(&text).expect("JSON")
}

#[track_caller]
fn fits(schema: &str, value: &Value) {
    let schema = contract(schema);
    let schema = jsonschema::draft202012::new(&schema).expect("a schema");
    let breaches: Vec<String> =
        schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(breaches.is_empty(), "{breaches:#?}\n{value:#}");
}

/// Fails unless the answer is an error by the contract, with that status.
#[track_caller]
fn refused(reply: &Reply, status: u16) -> Value {
    assert_eq!(reply.status, status, "{} {}", reply.head, reply.text());
    let error = reply.json();
    fits("error.schema.json", &error);
    guarded(reply);
    error["error"].clone()
}

/// Fails unless a browser is told what it must not do.
#[track_caller]
fn guarded(reply: &Reply) {
    assert!(
        reply
            .header("content-security-policy")
            .is_some_and(|policy| policy.starts_with("default-src 'none'"))
    );
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{}", reply.head);
}

// --- the contract

#[test]
fn every_route_answers_by_its_contract() {
    let fixture = archive();
    let server = rested(&fixture);
    let whole = openapi();
    let asked = [
        ("/api/v1/search", vec!["?q=lock", "?q=lock&group=session&facets=role&explain", "?q=zeppelin", ""]),
        ("/api/v1/facets", vec!["?q=lock", "?q=lock&facets=role,month"]),
        ("/api/v1/messages/{id}", vec!["", "?before=1&after=2"]),
        ("/api/v1/sessions", vec!["", "?source=cli&limit=1", "?offset=9"]),
        ("/api/v1/sessions/{id}", vec!["", "?role=user&slice=-2:", "?search=lock&limit=1", "?slice=90:"]),
        ("/api/v1/status", vec![""]),
        ("/api/v1/syncs", vec![""]),
        ("/api/v1/audit", vec!["", "?word=weir"]),
        ("/healthz", vec![""]),
        ("/metrics", vec![""]),
        ("/openapi.json", vec![""]),
    ];
    // What never ends is asked elsewhere.
    let ends = |path: &&String| *path != "/api/v1/events";
    let stated: Vec<&String> = whole["paths"].as_object().expect("paths").keys().filter(ends).collect();
    assert_eq!(stated, asked.iter().map(|(path, _)| path).collect::<Vec<_>>());
    for (path, queries) in &asked {
        let id = if path.contains("messages") { "3" } else { ID };
        for query in queries {
            let reply = get(server.address(), &(path.replace("{id}", id) + query));
            assert_eq!(reply.status, 200, "{path}{query} {}", reply.text());
            guarded(&reply);
            let content = &whole["paths"][path]["get"]["responses"]["200"]["content"];
            let (kind, stated) = content.as_object().and_then(|kinds| kinds.iter().next()).expect("a kind");
            assert!(
                reply.header("content-type").is_some_and(|sent| sent.starts_with(kind.as_str())),
                "{path}"
            );
            if kind == "application/json" {
                // The references are into the document.
                let mut schema = stated["schema"].clone();
                schema["components"] = whole["components"].clone();
                let schema = jsonschema::draft202012::new(&schema).expect("a schema");
                let breaches: Vec<String> =
                    schema.iter_errors(&reply.json()).map(|error| error.to_string()).collect();
                assert!(breaches.is_empty(), "{path}{query} {breaches:#?}");
            }
        }
    }
    let metrics = get(server.address(), "/metrics").text();
    for path in stated {
        assert!(
            metrics.contains(&format!("requests_total{{route=\"{path}\",status=\"200\"}}")),
            "{path}\n{metrics}"
        );
    }
    for name in [
        "requests_running 0",
        "requests_waiting 0",
        "index_rows 16",
        "index_rows_behind 0",
        "http_request_seconds_bucket",
    ] {
        assert!(metrics.contains(&format!("afterthought_{name}")), "{name}\n{metrics}");
    }
}

#[test]
fn the_contract_names_what_the_library_and_the_command_line_name() {
    let stated: Value = serde_json::from_str(OPENAPI).expect("JSON");
    assert_eq!(stated, contract("openapi.json"));
    let of = |path: &str, name: &str| {
        let parameters = stated["paths"][path]["get"]["parameters"].as_array().expect("a list");
        parameters.iter().find(|parameter| parameter["name"] == name).expect("a parameter")["schema"].clone()
    };
    assert_eq!(of("/api/v1/search", "facets")["items"]["enum"], json!(Facet::ALL.map(Facet::name)));
    assert_eq!(of("/api/v1/search", "weights")["enum"], json!(Weights::SETS));
    assert_eq!(of("/api/v1/search", "limit")["maximum"], PAGE_HITS_MAX);
    assert_eq!(of("/api/v1/search", "wait")["maximum"].as_f64(), Some(SERVE_SYNC_S_MAX));
    assert_eq!(of("/api/v1/sessions", "limit")["maximum"], PAGE_HITS_MAX);
    assert_eq!(of("/api/v1/sessions/{id}", "limit")["maximum"], CONTEXT_HITS_MAX);
    assert_eq!(of("/api/v1/messages/{id}", "before")["maximum"], SERVE_NEIGHBOURS_MAX);
    for (path, command) in [("search", "search"), ("sessions", "sessions"), ("sessions/{id}", "session")] {
        let help = run(aft().args([command, "--help"])).stdout;
        let flags: Vec<&str> = help.split_whitespace().filter_map(|word| word.strip_prefix("--")).collect();
        let parameters = stated["paths"][format!("/api/v1/{path}")]["get"]["parameters"].as_array();
        for parameter in parameters.expect("a list").iter().filter(|parameter| parameter["in"] == "query") {
            let name = parameter["name"].as_str().expect("a name");
            assert!(["q", "wait"].contains(&name) || flags.contains(&name), "aft {command} has no --{name}");
        }
    }
}

#[test]
fn parameters_that_do_not_fit_are_named() {
    let fixture = archive();
    let server = rested(&fixture);
    let check = |path: &str, message: &str| {
        let error = refused(&get(server.address(), path), 400);
        assert_eq!(error["kind"], "usage", "{path}");
        let said = error["message"].as_str().expect("a message");
        assert!(said.contains(message), "{path}: {said}");
    };
    check("/api/v1/search?q=x&colour=red", "parameter colour: no such parameter");
    check("/api/v1/search?q=x&limit=0", "parameter limit: must be 1 to 1000, not 0");
    check("/api/v1/search?q=x&limit=many", "parameter limit: \"many\" is no whole number");
    check("/api/v1/search?q=x&offset=-1", "parameter offset");
    check("/api/v1/search?q=x&limit=99999999999999999999", "parameter limit");
    check("/api/v1/search?q=x&limit=1&limit=2", "parameter limit: it is given more than once");
    check("/api/v1/search?q=x&in=heard", "parameter in: must be one of all, said");
    check("/api/v1/search?q=x&since=soon", "parameter since: \"soon\" is not a date");
    check("/api/v1/search?q=x&explain=maybe", "parameter explain: must be true or false");
    check("/api/v1/search?q=x&boost=loudness=2", "parameter boost: there is no \"loudness\"");
    check("/api/v1/search?q=x&boost=phrase=NaN", "the weight of phrase");
    check("/api/v1/search?q=x&phrase-boost=inf", "parameter phrase-boost");
    check("/api/v1/search?q=x&wait=11", "parameter wait");
    check("/api/v1/search?q=x&workspace=%20", "parameter workspace");
    for elsewhere in ["src", "./src", "~/src", "/src/../etc", "/src/../etc/**"] {
        check(&format!("/api/v1/search?q=x&workspace={elsewhere}"), "name the whole path of a folder");
    }
    check("/api/v1/search?q=x&branch=main", "a branch is a name inside a workspace");
    check("/api/v1/search?q=x&limit=1000&offset=9500", "offset + limit must not exceed 10000");
    check("/api/v1/facets?q=x&limit=3", "parameter limit: no such parameter");
    check("/api/v1/messages/first", "parameter id: it is no whole number");
    check("/api/v1/messages/3?before=1001", "parameter before");
    check("/api/v1/sessions/s-lock?slice=1", "parameter slice: write it as A:B");
    check("/api/v1/sessions/s-lock?slice=1:&search=x", "parameter slice: give a slice or a search");
    check("/api/v1/sessions/s-lock?limit=1", "parameter limit: it belongs to search");
    check("/api/v1/sessions/%ff", "parameter id: it is no text in UTF-8");
    check("/api/v1/sessions/s-", "2 sessions begin like that");
    check("/api/v1/status?verbose", "parameter verbose: no such parameter");
    let error = refused(&get(server.address(), "/api/v1/search?q=x&cursor=none"), 400);
    assert_eq!(error["kind"], "cursor-invalid");
    for path in [
        "/api/v1/messages/9999",
        "/api/v1/sessions/gone",
        "/api/v1/search?q=x&session=gone",
        "/nothing",
        "/api/v1/search/",
    ] {
        assert_eq!(refused(&get(server.address(), path), 404)["kind"], "not-found", "{path}");
    }
}

#[test]
fn lists_are_given_by_repetition_or_commas_and_flags_by_name() {
    let fixture = archive();
    let server = rested(&fixture);
    let answer = |path: &str| {
        let mut page = get(server.address(), path).json();
        without_times(&mut page);
        page
    };
    assert_eq!(
        answer("/api/v1/search?q=lock&in=said&in=thought"),
        answer("/api/v1/search?q=lock&in=said,thought")
    );
    assert_eq!(answer("/api/v1/search?q=lock&explain"), answer("/api/v1/search?q=lock&explain=true"));
    assert_eq!(answer("/api/v1/search?q=lock&role=&since="), answer("/api/v1/search?q=lock"));
    assert_ne!(answer("/api/v1/search?q=lock&source=cli")["total"], answer("/api/v1/search?q=lock")["total"]);
}

fn without_times(page: &mut Value) {
    for member in ["elapsed_ms", "sync_ms"] {
        page[member] = Value::Null;
    }
}

#[test]
fn searches_answer_as_the_command_line_does() {
    let fixture = archive();
    let server = rested(&fixture);
    let queries = [
        "lock",
        "the order",
        "\"takes the lock\"",
        "部署",
        "lock NOT order",
        "+weir",
        "zeppelin",
        "caf*",
        "🚀",
    ];
    let flags = [
        "",
        "--in thought",
        "--role user",
        "--sort newest",
        "--group session",
        "--limit 2 --offset 1",
        "--match all",
        "--facets role,source",
        "--source cli --no-tiers",
        "--weights thought --explain",
        "--boost phrase=3,title=0 --sort oldest",
        "--since 2020-01-01 --exclude-session s-other",
    ];
    let mut compared = 0;
    for (at, query) in queries.iter().cycle().take(60).enumerate() {
        let flags = flags[at * 7 % flags.len()];
        let mut arguments = vec!["--json", "search"];
        arguments.extend(flags.split_whitespace().chain(["--", query]));
        let mut theirs = fixture.aft(&arguments).json();
        let mut path = format!("/api/v1/search?q={}", encoded(query));
        let mut words = flags.split_whitespace().peekable();
        while let Some(name) = words.next().and_then(|word| word.strip_prefix("--")) {
            let value = words.next_if(|word| !word.starts_with("--")).unwrap_or("true");
            path += &format!("&{name}={}", encoded(value));
        }
        let mut ours = get(server.address(), &path).json();
        without_times(&mut theirs);
        without_times(&mut ours);
        assert_eq!(ours, theirs, "{path}");
        compared += 1;
    }
    assert!(compared >= 50);
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |encoded, byte| encoded + &format!("%{byte:02X}"))
}

// --- freshness

#[test]
fn an_answer_that_the_client_has_is_not_sent_again() {
    let fixture = archive();
    let server = rested(&fixture);
    let ask =
        |path: &str, tag: &str| get_with(server.address(), path, &format!("If-None-Match: \"x\", {tag}\r\n"));
    for path in [
        "/api/v1/search?q=lock",
        "/api/v1/sessions",
        "/api/v1/sessions/s-lock",
        "/api/v1/messages/3",
        "/api/v1/status",
    ] {
        let first = get(server.address(), path);
        let tag = first.header("etag").unwrap_or_else(|| panic!("{path} {}", first.head)).to_owned();
        let again = ask(path, &tag);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), Some(&*tag));
        guarded(&again);
        // Another question has another answer.
        assert_eq!(ask("/api/v1/search?q=other", &tag).status, 200);
    }
    let tag = get(server.address(), "/api/v1/search?q=heron").header("etag").expect("a tag").to_owned();
    let mut writer = fixture.writer();
    writer.message(ID, &Message::user("a heron at the weir")).expect("a row");
    writer.close().expect("a clean close");
    let fresh = ask("/api/v1/search?q=heron&wait=10", &tag);
    assert_eq!((fresh.status, &fresh.json()["total"]["value"]), (200, &json!(1)));
    // The clock moves this bound, whatever is written.
    assert_eq!(get(server.address(), "/api/v1/search?q=lock&since=7d").header("etag"), None);
}

#[test]
fn the_mirror_follows_without_being_asked() {
    let fixture = archive();
    let server = rested(&fixture);
    let mut writer = fixture.writer();
    writer.message(ID, &Message::user("a heron at the weir")).expect("a row");
    writer.close().expect("a clean close");
    until(|| get(server.address(), "/api/v1/search?q=heron&no-sync=true").json()["total"]["value"] == 1);
    until(|| get(server.address(), "/metrics").text().contains("afterthought_index_rows 17"));
}

#[test]
fn serving_leaves_no_trace() {
    let fixture = archive();
    let folder = fixture.archive().parent().expect("a folder").to_owned();
    let before = Trace::of(&folder);
    let server = rested(&fixture);
    for path in
        ["/api/v1/facets?q=lock", "/api/v1/messages/3?before=1", "/api/v1/sessions/s-lock", "/metrics"]
    {
        assert_eq!(get(server.address(), path).status, 200, "{path}");
    }
    drop(server);
    assert_eq!(Trace::of(&folder), before);
}

#[test]
fn a_first_build_that_has_not_ended_is_said() {
    let fixture = archive();
    // An index that holds nothing yet, whose only writer is another process.
    drop(fixture.engine());
    let folder = Folder::of(&fixture.index(), &fixture.archive().canonicalize().expect("a path"));
    let generation = folder.live().expect("a folder").expect("a generation");
    let lock = File::options()
        .create(true)
        .append(true)
        .open(generation.join(".tantivy-writer.lock"))
        .expect("a file");
    lock.lock().expect("the lock");
    let server = start(&fixture, settings());
    let page = get(server.address(), "/api/v1/search?q=lock&wait=0").json();
    fits("search.schema.json", &page);
    assert_eq!(
        (&page["index"]["state"], &page["warnings"][0]["kind"]),
        (&json!("building"), &json!("building"))
    );
    assert_eq!(get(server.address(), "/api/v1/status").json()["index"]["percent"], 0);
    drop(lock);
    until(|| get(server.address(), "/api/v1/search?q=lock").json()["index"]["state"] == "ready");
}

// --- bounds

#[test]
fn a_full_queue_says_busy_and_whoever_goes_leaves_it() {
    let fixture = archive();
    let server = start(&fixture, Settings { running: 0, waiting: 1, turn: Duration::MAX, ..settings() });
    let address = server.address();
    let waiting = |count: u8| {
        until(|| {
            get(address, "/metrics").text().contains(&format!("afterthought_requests_waiting {count}\n"))
        });
    };
    let first = open(address, &request("/api/v1/search?q=lock", &format!("Host: {address}\r\n")));
    waiting(1);
    let busy = get(address, "/api/v1/status");
    let error = refused(&busy, 503);
    assert_eq!((&error["kind"], &error["retryable"]), (&json!("busy"), &json!(true)));
    assert_eq!(busy.header("retry-after"), Some("1"));
    drop(first);
    waiting(0);
    let second = open(address, &request("/api/v1/search?q=lock", &format!("Host: {address}\r\n")));
    waiting(1);
    drop(second);
    assert_eq!(get(address, "/healthz").status, 200);
}

#[test]
fn a_search_that_nobody_waits_for_ends() {
    let fixture = archive();
    let engine = fixture.engine();
    sync(&engine);
    for (gone, kind) in [(false, None), (true, Some(ErrorKind::Interrupted))] {
        let deadline = Deadline::after(Duration::from_mins(1)).or_when(Arc::new(AtomicBool::new(gone)));
        let page = engine.search_until(SearchRequest::new("lock"), deadline);
        assert_eq!(page.err().map(|error| error.kind()), kind);
    }
}

#[test]
fn a_turn_that_does_not_come_is_busy() {
    let fixture = archive();
    let server = start(&fixture, Settings { running: 0, turn: Duration::from_millis(1), ..settings() });
    assert_eq!(refused(&get(server.address(), "/api/v1/search?q=lock"), 503)["kind"], "busy");
}

#[test]
fn what_is_too_large_is_refused() {
    let fixture = archive();
    let server = rested(&fixture);
    let address = server.address();
    refused(&get(address, &format!("/api/v1/search?q={}", "x".repeat(SERVE_URL_BYTES_MAX))), 414);
    let whole = get(address, &format!("/api/v1/search?q={}", "lock+".repeat(SERVE_URL_BYTES_MAX / 5 - 10)));
    assert_eq!(whole.status, 200, "{}", whole.text());
    let head = get_with(address, "/healthz", &format!("X: {}\r\n", "x".repeat(4 * SERVE_HEAD_BYTES_MAX)));
    assert_eq!(head.status, 431);
    let many = "X: 1\r\n".repeat(100);
    assert_eq!(get_with(address, "/healthz", &many).status, 431);
    for body in ["Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
        refused(&get_with(address, "/api/v1/search?q=lock", body), 413);
    }
    let post = format!("POST /api/v1/search?q=lock HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let post = receive(open(address, &post));
    refused(&post, 405);
    assert_eq!(post.header("allow"), Some("GET,HEAD"));
}

#[test]
fn connections_that_are_too_many_wait() {
    let fixture = archive();
    let server = start(&fixture, Settings { connections: 1, ..settings() });
    let address = server.address();
    let silent = TcpStream::connect(address).expect("a connection");
    let next = open(address, &request("/healthz", &format!("Host: {address}\r\n")));
    next.set_read_timeout(Some(Duration::from_millis(100))).expect("a bound");
    assert!((&next).read(&mut [0]).is_err(), "the first connection is still open");
    next.set_read_timeout(None).expect("no bound");
    drop(silent);
    assert_eq!(receive(next).status, 200);
}

#[test]
fn answers_are_compressed_where_that_is_understood() {
    let fixture = archive();
    let server = rested(&fixture);
    let ask = |encoding: &str| {
        get_with(server.address(), "/openapi.json", &format!("Accept-Encoding: {encoding}\r\n"))
    };
    assert_eq!(ask("br").header("content-encoding"), Some("br"));
    let gzip = ask("gzip");
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    let plain = ask("identity");
    assert_eq!(plain.header("content-encoding"), None);
    assert!(gzip.body.len() * 4 < plain.body.len());
}

// --- safety

#[test]
fn only_our_own_names_and_pages_may_ask() {
    let fixture = archive();
    let server = start(&fixture, Settings { hosts: vec!["search.example".to_owned()], ..settings() });
    let address = server.address();
    let port = address.port();
    let check = |headers: &str, status: u16| {
        let reply = receive(open(address, &request("/api/v1/status", headers)));
        assert_eq!(reply.status, status, "{headers} {}", reply.text());
        if status != 200 {
            refused(&reply, status);
        }
    };
    check(&format!("Host: {address}\r\n"), 200);
    check(&format!("Host: LocalHost:{port}\r\n"), 200);
    check("Host: search.example\r\n", 200);
    check("Host: [::1]\r\n", 200);
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.168.1.1",
        "0.0.0.0",
        "search.example.",
    ] {
        check(&format!("Host: {host}:{port}\r\n"), 403);
    }
    for host in [
        "",
        "Host: \r\n",
        "Host: a b\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: localhost@evil.example\r\n",
    ] {
        check(host, 400);
    }
    let own = format!("Host: {address}\r\n");
    check(&format!("{own}Origin: http://{address}\r\n"), 200);
    check(&format!("{own}Origin: http://{address}\r\nSec-Fetch-Site: same-origin\r\n"), 200);
    check(&format!("{own}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"), 200);
    for origin in
        ["null", "http://evil.example", "http://localhost:1", &format!("http://{address}.evil.example")]
    {
        check(&format!("{own}Origin: {origin}\r\n"), 403);
    }
    check(&format!("{own}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"), 403);
    check(&format!("{own}Sec-Fetch-Site: same-site\r\n"), 403);
    let absolute =
        format!("GET http://evil.example/api/v1/status HTTP/1.1\r\n{own}Connection: close\r\n\r\n");
    refused(&receive(open(address, &absolute)), 403);
}

#[test]
fn a_token_is_asked_for_by_everything_but_health() {
    let fixture = archive();
    let token = TOKEN.replace([' ', ','], "-");
    let server =
        start(&fixture, Settings { token: Some(Token::new(&token).expect("a token")), ..settings() });
    let check = |path: &str, header: &str, status: u16| {
        let reply = get_with(server.address(), path, header);
        assert_eq!(reply.status, status, "{path} {header}");
        if status == 401 {
            refused(&reply, 401);
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
    };
    let stated: Value = serde_json::from_str(OPENAPI).expect("JSON");
    for path in stated["paths"].as_object().expect("paths").keys().map(|path| path.replace("{id}", "3")) {
        check(&path, "", if path == "/healthz" { 200 } else { 401 });
    }
    check("/nothing", "", 401);
    check("/api/v1/status", &format!("Authorization: Bearer {token}\r\n"), 200);
    check("/api/v1/status", &format!("Authorization: bearer {token}\r\n"), 200);
    for wrong in [
        "Bearer",
        "Bearer ",
        "Bearer x",
        &format!("Basic {token}"),
        &format!("Bearer {token}x"),
        &format!("Bearer {}", &token[1..]),
    ] {
        check("/api/v1/status", &format!("Authorization: {wrong}\r\n"), 401);
    }
    check(&format!("/api/v1/status?token={token}"), "", 401);
}

#[test]
fn others_than_this_machine_need_a_token() {
    let fixture = archive();
    let serve = |settings| Server::start(Options::new(fixture.archive(), fixture.index()), settings);
    let everywhere = Settings::new(SocketAddr::from(([0, 0, 0, 0], 0)));
    let Err(error) = serve(everywhere.clone()) else { panic!("no token is needed") };
    assert!(error.next_step().is_some_and(|hint| hint.contains("--token-file")), "{error}");
    let token = Token::new("0123456789abcdef").expect("a token");
    let server = serve(Settings { token: Some(token), ..everywhere }).expect("a server");
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    let bearer = "Authorization: Bearer 0123456789abcdef\r\n";
    let ask = |host: &str| {
        receive(open(address, &request("/api/v1/status", &format!("Host: {host}\r\n{bearer}")))).status
    };
    assert_eq!((ask("192.168.1.7:80"), ask("evil.example")), (200, 403));
    for short in ["", "short", "with a space in it", "ünïcode-ünïcode-ünïcode"] {
        assert!(Token::new(short).is_err(), "{short}");
    }
}

#[test]
fn a_server_for_one_person_knows_of_nobody_else() {
    let fixture = Fixture::with(Shape::V30, |writer| {
        for (id, user) in [("s-ada", "ada"), ("s-bob", "bob")] {
            writer.session(&Session { user_id: Some(user.to_owned()), ..Session::new(id) })?;
            writer.message(id, &Message::user(&format!("the lock of {user}")))?;
        }
        Ok(())
    });
    let options =
        Options { user: Some("ada".to_owned()), ..Options::new(fixture.archive(), fixture.index()) };
    let server = Server::start(options, settings()).expect("a server");
    let ask = |path: &str| get(server.address(), path);
    until(|| ask("/api/v1/search?q=lock").json()["index"]["state"] == "ready");
    for path in ["/api/v1/search?q=lock", "/api/v1/facets?q=lock", "/api/v1/sessions"] {
        let reply = ask(path);
        assert_eq!(reply.status, 200, "{path}");
        assert!(!reply.text().contains("bob"), "{path} {}", reply.text());
    }
    assert_eq!(ask("/api/v1/search?q=bob").json()["total"]["value"], 0);
    assert_eq!(ask("/api/v1/search?q=lock").json()["total"]["value"], 1);
    assert_eq!(ask("/api/v1/search?q=lock&user=bob").json()["total"]["value"], 0);
    assert_eq!((ask("/api/v1/messages/1").status, ask("/api/v1/sessions/s-ada").status), (200, 200));
    for (theirs, nobodys) in
        [("/api/v1/messages/2", "/api/v1/messages/3"), ("/api/v1/sessions/s-bob", "/api/v1/sessions/s-eve")]
    {
        let (theirs, nobodys) = (refused(&ask(theirs), 404), refused(&ask(nobodys), 404));
        assert_eq!((&theirs["kind"], &theirs["hint"]), (&nobodys["kind"], &nobodys["hint"]));
    }
    let status = ask("/api/v1/status").json();
    assert_eq!((&status["sessions"], &status["index"]["rows"]), (&json!(1), &json!(1)));
    assert!(ask("/metrics").text().contains("afterthought_index_rows 1\n"));
}

#[test]
fn no_path_leads_to_a_file() {
    let fixture = archive();
    let server = rested(&fixture);
    for path in [
        "/../../../etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/api/v1/../../etc/passwd",
        "/api/v1/sessions/../../etc/passwd",
        "/api/v1/sessions/..%2f..%2f..%2fetc%2fpasswd",
        "/api/v1/sessions/%00",
        "//etc/passwd",
        "/schema/openapi.json",
        "/state.db",
    ] {
        let reply = get(server.address(), path);
        refused(&reply, 404);
        assert!(!reply.text().contains("root:"), "{path}");
    }
}

// --- the program

/// `aft serve` under way.
struct Serving {
    child: Child,
    log: BufReader<std::process::ChildStderr>,
    address: SocketAddr,
}

fn serving(fixture: &Fixture, flags: &[&str], token: &str) -> Serving {
    let mut command = aft();
    command.arg("--archive").arg(fixture.archive()).arg("--index").arg(fixture.index());
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(flags).env("AFTERTHOUGHT_TOKEN", token);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a process");
    let log = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut serving = Serving { child, log, address: settings().listen };
    serving.address = serving.told();
    serving
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Most have ended; where a test fails, this one has not.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Serving {
    /// Reads the address from what is said at the start.
    fn told(&mut self) -> SocketAddr {
        loop {
            let mut line = String::new();
            assert!(self.log.read_line(&mut line).expect("a line") > 0, "it ended early");
            if let Some((_, rest)) = line.split_once(" at http://") {
                return rest.split(';').next().and_then(|told| told.parse().ok()).expect("an address");
            }
        }
    }

    fn ask_to_end(&self) {
        let pid = self.child.id().to_string();
        assert_eq!(run(std::process::Command::new("kill").args(["-TERM", &pid])).code, 0);
    }

    /// Waits for the end. Returns the exit code and what was logged.
    fn end(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        self.log.read_to_string(&mut log).expect("a log");
        (self.child.wait().expect("a process that ends").code(), log)
    }
}

#[test]
fn nothing_that_was_asked_is_logged() {
    let fixture = archive();
    let serving = serving(&fixture, &["--verbose"], "a-secret-token-of-mine");
    let bearer = "Authorization: Bearer a-secret-token-of-mine\r\n";
    for path in [
        "/api/v1/search?q=lock+secretword",
        "/api/v1/sessions/secretword",
        "/secretword",
        "/api/v1/search?secretword=1",
        "/api/v1/messages/3",
    ] {
        let _answered = get_with(serving.address, path, bearer);
    }
    let _refused =
        get_with(serving.address, "/api/v1/search?q=secretword", "Authorization: Bearer secretword\r\n");
    serving.ask_to_end();
    let (code, log) = serving.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("/api/v1/search"), "{log}");
    for secret in ["secretword", "a-secret-token", "considering"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn an_answer_under_way_is_finished_at_the_end() {
    let fixture = archive();
    let server = start(&fixture, Settings { running: 0, turn: Duration::from_secs(2), ..settings() });
    let address = server.address();
    let waiting = open(address, &request("/api/v1/search?q=lock", &format!("Host: {address}\r\n")));
    until(|| get(address, "/metrics").text().contains("afterthought_requests_waiting 1\n"));
    server.stop().now();
    assert_eq!(refused(&receive(waiting), 503)["kind"], "busy");
    server.wait();
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn connections_at_rest_do_not_hold_up_the_end() {
    let fixture = archive();
    let serving = serving(&fixture, &[], "");
    let mut idle = TcpStream::connect(serving.address).expect("a connection");
    let host = format!("Host: {}\r\n", serving.address);
    idle.write_all(format!("GET /healthz HTTP/1.1\r\n{host}\r\n").as_bytes()).expect("a request");
    assert!(idle.read(&mut [0; 4096]).expect("an answer") > 0);
    let silent = TcpStream::connect(serving.address).expect("a connection");
    let began = Instant::now();
    serving.ask_to_end();
    assert_eq!(serving.end().0, Some(0));
    println!("ended after {:?}", began.elapsed());
    drop(silent);
}

#[test]
fn what_cannot_be_served_is_said_at_the_start() {
    let fixture = archive();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    let taken = taken.local_addr().map(|address| (taken, address.to_string())).expect("an address");
    let check = |flags: &[&str], code: i32, message: &str| {
        let ran = fixture.aft(&[&["--json", "serve"], flags].concat());
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.stderr.contains(message), "{ran:?}");
        fits("error.schema.json", &serde_json::from_str(&ran.stderr).expect("JSON"));
    };
    check(&["--listen", &taken.1], 2, "listen on");
    check(&["--listen", "0.0.0.0:0"], 2, "no token is asked for");
    check(&["--listen", "nowhere"], 2, "invalid value");
    check(&["--token-file", "/nonexistent"], 2, "read /nonexistent");
    std::fs::rename(fixture.archive(), fixture.archive().with_file_name("away.db")).expect("a move");
    check(&["--listen", "127.0.0.1:0"], 3, "archive-unavailable");
}

// --- what happens meanwhile

/// A stream of events, read as it comes.
struct Events {
    lines: std::io::Lines<BufReader<TcpStream>>,
}

impl Events {
    fn open(address: SocketAddr) -> Self {
        let head = format!("GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\nAccept-Encoding: gzip\r\n\r\n");
        let mut lines = BufReader::new(open(address, &head)).lines();
        let first = lines.next().expect("a line").expect("a status");
        assert!(first.contains(" 200 "), "{first}");
        Self { lines }
    }

    /// Waits for the next event. Returns its id, and the state that it tells of; `None` at the end.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut id = None;
        for line in self.lines.by_ref() {
            let line = line.ok()?;
            if let Some(found) = line.strip_prefix("id: ") {
                id = Some(found.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((id?, serde_json::from_str(data).expect("JSON")));
            }
        }
        None
    }
}

#[test]
fn every_commit_is_an_event_and_a_sync_that_is_remembered() {
    let fixture = archive();
    let server = rested(&fixture);
    let mut events = Events::open(server.address());
    let (first, state) = events.next().expect("the present state");
    assert_eq!((&state["state"], &state["rows"]), (&json!("ready"), &json!(16)));
    fixture.writer().message(ID, &Message::user("a new row")).expect("a row");
    let (mut id, mut state) = events.next().expect("a new state");
    while state["rows"] != 17 {
        (id, state) = events.next().expect("a new state");
    }
    assert_ne!(id, first);
    let syncs = get(server.address(), "/api/v1/syncs").json();
    fits("syncs.schema.json", &syncs);
    let added: u64 = syncs["syncs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|sync| sync["docs_added"].as_u64())
        .sum();
    assert_eq!(added, 17, "{syncs:#}");
    drop(server);
    while events.next().is_some() {}
}

#[test]
fn streams_are_bounded_and_one_that_ends_makes_room() {
    let fixture = archive();
    let server = rested(&fixture);
    let mut open: Vec<Events> = (0..SERVE_STREAMS_MAX).map(|_| Events::open(server.address())).collect();
    assert!(open.iter_mut().all(|events| events.next().is_some()));
    let reply = get(server.address(), "/api/v1/events");
    assert_eq!(refused(&reply, 503)["kind"], "busy");
    assert!(reply.header("retry-after").is_some());
    assert_eq!(get(server.address(), "/api/v1/status").status, 200);
    drop(open.pop());
    until(|| {
        // It is found gone when something is to be told.
        fixture.writer().message(ID, &Message::user("again")).expect("a row");
        let head = format!(
            "HEAD /api/v1/events HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            server.address()
        );
        receive(crate::open(server.address(), &head)).status == 200
    });
}

#[test]
fn counts_are_those_of_the_search() {
    let fixture = archive();
    let server = rested(&fixture);
    let query = "q=lock&in=said&facets=role,source";
    let search = get(server.address(), &format!("/api/v1/search?{query}")).json();
    let facets = get(server.address(), &format!("/api/v1/facets?{query}")).json();
    fits("facets.schema.json", &facets);
    for member in ["total", "facets", "facets_more", "confidence", "warnings"] {
        assert_eq!(facets[member], search[member], "{member}");
    }
    assert!(facets.get("results").is_none());
}

#[test]
fn an_audit_is_the_command_lines_and_kept_until_something_is_written() {
    let fixture = archive();
    let server = rested(&fixture);
    let audit = get(server.address(), "/api/v1/audit").json();
    let own: Value = serde_json::from_str(&fixture.aft(&["--json", "audit"]).stdout).expect("JSON");
    assert_eq!(audit, own);
    assert_eq!(get(server.address(), "/api/v1/audit").json(), own);
    fixture.writer().message(ID, &Message::user("one more")).expect("a row");
    assert_eq!(get(server.address(), "/api/v1/audit").json()["rows"], 17);
    let page = get(server.address(), "/status");
    assert!(page.text().contains("considering"), "{}", page.text());
}

#[test]
fn one_person_is_told_nothing_of_the_rest_by_syncs_or_audits() {
    let fixture = archive();
    let mut options = Options::new(fixture.archive(), fixture.index());
    options.user = Some("ada".to_owned());
    let server = Server::start(options, settings()).expect("a server");
    until(|| get(server.address(), "/api/v1/status").json()["index"]["state"] == "ready");
    assert_eq!(get(server.address(), "/api/v1/syncs").json()["syncs"], json!([]));
    for path in ["/api/v1/audit", "/api/v1/audit?word=weir"] {
        assert_eq!(refused(&get(server.address(), path), 400)["kind"], "usage", "{path}");
    }
    assert!(!get(server.address(), "/status").text().contains("audit"));
}

// --- clients that misbehave

#[test]
fn a_client_that_goes_ends_its_search() {
    let fixture = Fixture::with(Shape::V30, |writer| {
        writer.session(&Session::new(ID))?;
        let text = "a lock and an order and another lock of the weir ".repeat(40);
        (0..20_000).try_for_each(|row| writer.message(ID, &Message::user(&format!("{text} {row}"))).map(drop))
    });
    sync(&fixture.engine());
    let server = start(&fixture, settings());
    let address = server.address();
    let abandoned = || {
        let metrics = get(address, "/metrics").text();
        let line =
            metrics.lines().find_map(|line| line.strip_prefix("afterthought_searches_abandoned_total "));
        line.expect("a counter").parse::<u64>().expect("a number")
    };
    assert_eq!(get(address, "/api/v1/search?q=lock").status, 200);
    assert_eq!(abandoned(), 0);
    until(|| {
        let long = "/api/v1/search?q=a*+o*+l*+%22an+order%22+%22of+the+weir%22&no-sync&explain&limit=1000";
        drop(open(address, &request(long, &format!("Host: {address}\r\n"))));
        abandoned() > 0
    });
    // It has left the line too.
    until(|| get(address, "/metrics").text().contains("afterthought_requests_running 0\n"));
}

#[test]
fn a_head_that_does_not_come_is_not_waited_for() {
    let fixture = archive();
    let server = start(&fixture, Settings { head: Duration::from_millis(50), connections: 1, ..settings() });
    let mut slow = open(server.address(), "GET /healthz HTTP/1.1\r\nHost: ");
    let mut rest = Vec::new();
    let _reset = slow.read_to_end(&mut rest);
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(get(server.address(), "/healthz").status, 200);
}

#[test]
fn whoever_does_not_read_an_answer_holds_nothing_for_long() {
    let fixture = Fixture::with(Shape::V30, |writer| {
        writer.session(&Session::new(ID))?;
        // More than the buffers of both sockets hold.
        writer.message(ID, &Message::user(&"weir 0123456789 ".repeat(2_000_000))).map(drop)
    });
    sync(&fixture.engine());
    let short = Duration::from_millis(200);
    let server = start(&fixture, Settings { life: short, ending: short, connections: 1, ..settings() });
    let address = server.address();
    let deaf = open(address, &request("/api/v1/messages/1", &format!("Host: {address}\r\n")));
    // There is one place for connections, and it is free again.
    assert_eq!(get(address, "/healthz").status, 200);
    drop(deaf);
}
