//! What a server tells of while it runs: events, syncs, counts, audits.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};

use afterthought::Options;
use afterthought::limits::SERVE_STREAMS_MAX;
use afterthought_server::Server;
use afterthought_tests::wire::{get, open, receive};
use afterthought_tools::archive::Message;
use serde_json::{Value, json};

use super::{ID, archive, fits, refused, rested, settings, until};

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
    let mut listening: Vec<Events> = (0..SERVE_STREAMS_MAX).map(|_| Events::open(server.address())).collect();
    assert!(listening.iter_mut().all(|events| events.next().is_some()));
    let reply = get(server.address(), "/api/v1/events");
    assert_eq!(refused(&reply, 503)["kind"], "busy");
    assert!(reply.header("retry-after").is_some());
    assert_eq!(get(server.address(), "/api/v1/status").status, 200);
    drop(listening.pop());
    until(|| {
        // It is found gone when something is to be told.
        fixture.writer().message(ID, &Message::user("again")).expect("a row");
        let head = format!(
            "HEAD /api/v1/events HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            server.address()
        );
        receive(open(server.address(), &head)).status == 200
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
