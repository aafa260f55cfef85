//! Nothing is waited for without end, and nobody takes more than their share.

use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use afterthought::limits::{SERVE_HEAD_BYTES_MAX, SERVE_URL_BYTES_MAX};
use afterthought::search::Deadline;
use afterthought::{ErrorKind, SearchRequest};
use afterthought_server::Settings;
use afterthought_tests::wire::{get, get_with, open, receive, request};
use afterthought_tests::{Fixture, sync};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::json;

use super::{ID, archive, refused, rested, settings, start, until};

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
