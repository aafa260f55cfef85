//! `aft serve` as its clients meet it: real sockets, and heads of requests written byte by byte.

use std::net::SocketAddr;
use std::time::Duration;

use afterthought::Options;
use afterthought_server::{Server, Settings};
use afterthought_tests::wire::{Reply, get};
use afterthought_tests::{Fixture, root};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::Value;

#[path = "http/answers.rs"]
mod answers;
#[path = "http/bounds.rs"]
mod bounds;
#[path = "http/freshness.rs"]
mod freshness;
#[path = "http/live.rs"]
mod live;
#[path = "http/program.rs"]
mod program;
#[path = "http/safety.rs"]
mod safety;

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
