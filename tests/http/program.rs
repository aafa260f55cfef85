//! The program: what it says at its start, logs, and does at its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use afterthought_server::Settings;
use afterthought_tests::wire::{get, get_with, open, receive, request};
use afterthought_tests::{Fixture, aft, run};

use super::{archive, fits, refused, settings, start, until};

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
