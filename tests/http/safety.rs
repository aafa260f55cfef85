//! Who may ask, and for what.

use std::net::SocketAddr;

use afterthought::Options;
use afterthought_server::{OPENAPI, Server, Settings, Token};
use afterthought_tests::Fixture;
use afterthought_tests::wire::{get, get_with, open, receive, request};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::{Value, json};

use super::{TOKEN, archive, refused, rested, settings, start, until};

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
