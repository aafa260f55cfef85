//! The page of `aft serve`, as a browser without a script gets it.

use std::net::SocketAddr;

use afterthought::Options;
use afterthought_server::{Server, Settings, Token};
use afterthought_tests::Fixture;
use afterthought_tests::wire::{Reply, get, get_with};
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::Value;

const HOSTILE: &str = "<script>alert(1)</script> <img src=x onerror=alert(1)> \"quoted\" 'it' & weir";
/// An id that is no part of a path as it stands.
const ODD: &str = "s other/ü?#";

fn archive() -> Fixture {
    Fixture::with(Shape::V30, |writer| {
        for (id, source) in [("s-lock", "cli"), (ODD, "telegram")] {
            let title = Some(format!("{HOSTILE} in {id}"));
            writer.session(&Session { source: source.to_owned(), title, ..Session::new(id) })?;
            for text in ["Who takes the lock first?", "The order of locks differs.", "部署 café 🚀", HOSTILE]
            {
                writer.message(id, &Message::user(text))?;
                writer.message(id, &Message::thought(&format!("considering: {text}")))?;
            }
        }
        Ok(())
    })
}

fn serve(fixture: &Fixture, token: Option<Token>) -> Server {
    let settings = Settings { token, ..Settings::new(SocketAddr::from(([127, 0, 0, 1], 0))) };
    afterthought_tests::sync(&fixture.engine());
    Server::start(Options::new(fixture.archive(), fixture.index()), settings).expect("a server")
}

/// Asks for a page, and fails unless it is one that a browser may show.
#[track_caller]
fn page(server: &Server, path: &str) -> String {
    let reply = get(server.address(), path);
    assert_eq!(reply.status, 200, "{path} {}", reply.text());
    is_page(&reply);
    reply.text()
}

#[track_caller]
fn is_page(reply: &Reply) {
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"), "{}", reply.head);
    let policy = reply.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    let html = reply.text();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"), "{html}");
    // The only script is a file of ours, and nothing carries a style or a handler of its own.
    assert_eq!(html.matches("<script").count(), 1, "{html}");
    for forbidden in [" style=", "<style", " onerror=alert(1)>", "javascript:", "<img"] {
        assert!(!html.contains(forbidden), "{forbidden} in {html}");
    }
}

/// Returns what stands between two texts, for each place where they do.
fn between<'a>(html: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    let parts = html.split(before).skip(1);
    parts.map(|part| part.split(after).next().unwrap_or_default()).collect()
}

/// Returns where the links lead whose text or label holds `text`.
fn links(html: &str, text: &str) -> Vec<String> {
    let anchors = between(html, "<a ", "</a>").into_iter().filter(|anchor| anchor.contains(text));
    anchors
        .flat_map(|anchor| between(anchor, "href=\"", "\""))
        .map(|href| href.replace("&amp;", "&"))
        .collect()
}

#[test]
fn hits_are_those_of_the_api_in_their_order() {
    let fixture = archive();
    let server = serve(&fixture, None);
    for query in [
        "q=lock",
        "q=lock&in=thought",
        "q=lock&role=user&sort=oldest",
        "q=takes+lock&group=session&match=all",
        "q=%E9%83%A8%E7%BD%B2",
        "q=%F0%9F%9A%80",
        "q=weir&limit=1&offset=2",
        "q=lock&source=telegram&since=1970-01-01&boost=reasoning%3D2&explain",
    ] {
        let answer = get(server.address(), &format!("/api/v1/search?{query}")).json();
        let ids: Vec<String> = answer["results"]
            .as_array()
            .expect("hits")
            .iter()
            .map(|hit| match &hit["message_id"] {
                Value::Null => format!("title-{}", hit["session_id"].as_str().expect("an id")),
                id => format!("hit-{id}"),
            })
            .collect();
        let html = page(&server, &format!("/?{query}"));
        let shown: Vec<&str> = between(&html, "<article id=\"", "\"");
        assert_eq!(shown, ids, "{query}");
        assert!(!ids.is_empty(), "{query}");
    }
}

#[test]
fn every_kind_of_page_is_whole_and_nothing_in_an_archive_is_markup() {
    let fixture = archive();
    let server = serve(&fixture, None);
    let odd = "/sessions/s%20other%2F%C3%BC%3F%23";
    for path in [
        "/",
        "/?q=weir",
        "/?q=weir&open=8&explain=true",
        "/?q=zeppelin&in=said",
        "/?q=%3Cscript%3Ealert(1)%3C/script%3E&tool=%3Cscript%3E&workspace=%2F%3Cscript%3E&session=s-lock",
        "/messages/8?before=9",
        "/sessions",
        "/sessions/s-lock",
        odd,
        &format!("{odd}?from=3"),
        "/status",
    ] {
        let html = page(&server, path);
        assert!(html.contains("id=\"freshness\""), "{path}");
    }
    let html = page(&server, "/sessions");
    assert!(links(&html, ODD).iter().any(|href| href == odd), "{html}");
    assert!(page(&server, odd).contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn what_goes_wrong_is_a_page_that_says_so() {
    let fixture = archive();
    let server = serve(&fixture, None);
    for (path, status, said) in [
        ("/?q=x&limit=banana", 400, "&quot;banana&quot; is no whole number"),
        ("/?q=x&since=soon", 400, "is not a date"),
        ("/?q=x&open=first", 400, "read parameter open"),
        ("/?q=x&open=1&before=-1", 400, "read parameter before"),
        ("/?q=x&colour=red", 400, "no such parameter"),
        ("/?q=x&boost.loudness=2", 400, "loudness"),
        ("/messages/first", 400, "is no whole number"),
        ("/messages/999", 404, "no row of that id"),
        ("/sessions/none", 404, "no session of that id"),
        ("/sessions?offset=x", 400, "read parameter offset"),
        ("/sessions/s-lock?from=-1", 400, "read parameter from"),
    ] {
        let reply = get(server.address(), path);
        assert_eq!(reply.status, status, "{path}");
        is_page(&reply);
        assert!(reply.text().contains(said), "{path} {}", reply.text());
    }
    // What is wrong with a search is mended where it stands.
    let html = get(server.address(), "/?q=lock&since=soon&in=said").text();
    for kept in ["value=\"lock\"", "value=\"soon\"", "value=\"said\" checked"] {
        assert!(html.contains(kept), "{kept} {html}");
    }
    let lost = get_with(server.address(), "/nowhere", "Accept: text/html,*/*\r\n");
    assert_eq!(lost.status, 404);
    is_page(&lost);
    assert_eq!(get(server.address(), "/nowhere").header("content-type"), Some("application/json"));
    // A message that is gone takes nothing from the hits beside it.
    let html = page(&server, "/?q=lock&open=999");
    assert!(html.contains("id=\"hit-1\"") && html.contains("no row of that id"), "{html}");
}

#[test]
fn an_address_holds_what_is_shown_and_links_keep_it() {
    let fixture = archive();
    let server = serve(&fixture, None);
    let html = page(&server, "/?q=lock&in=thought,said&source=cli&sort=newest&limit=2&boost.reasoning=2");
    let opened = links(&html, "class=\"open\"");
    assert_eq!(opened.len(), 2);
    for kept in ["q=lock", "in=thought%2Csaid", "source=cli", "sort=newest", "boost=reasoning%3D2", "&open="]
    {
        assert!(opened[0].contains(kept), "{kept} in {}", opened[0]);
    }
    for checked in ["value=\"thought\" checked", "value=\"said\" checked", "value=\"cli\" checked"] {
        assert!(html.contains(checked), "{checked} in {html}");
    }
    let next = links(&html, "rel=\"next\"");
    assert!(next[0].contains("offset=2"), "{next:?}");
    assert!(page(&server, &next[0]).contains("rel=\"prev\""));
    let open = page(&server, &opened[0]);
    assert_eq!(between(&open, "<article id=\"hit-", "\"").len(), 2);
    let message = between(&open, "<article id=\"m", "</article>");
    let message = message.iter().find(|message| message.contains("aria-current")).expect("the open message");
    assert!(message.contains("<mark>lock"), "{message}");
    let close = links(&open, "Close the conversation");
    assert!(!close[0].contains("open="), "{close:?}");
}

#[test]
fn what_leaves_everything_out_is_taken_back_by_a_link() {
    let fixture = archive();
    let server = serve(&fixture, None);
    for filters in [
        "since=2100-01",
        "role=assistant&in=said",
        "source=cli&session=s%20other%2F%C3%BC%3F%23",
        "tool=none",
        "exclude-source=cli,telegram",
        "model=none",
    ] {
        let html = page(&server, &format!("/?q=takes+lock&{filters}"));
        assert!(between(&html, "<article id=\"hit", "\"").is_empty(), "{filters}");
        let there = links(&html, "Without the filter").into_iter().chain(links(&html, "where it was"));
        let there: Vec<String> = there.collect();
        assert!(!there.is_empty(), "{filters} {html}");
        let shows = |there: &String| !between(&page(&server, there), "<article id=\"hit", "\"").is_empty();
        assert!(there.iter().any(shows), "{filters} {there:?}");
    }
}

#[test]
fn a_conversation_is_read_on_from_a_hit() {
    let fixture = archive();
    let server = serve(&fixture, None);
    let shown = |path: &str| {
        let html = page(&server, path);
        let ids: Vec<String> =
            between(&html, "<article id=\"m", "\"").into_iter().map(str::to_owned).collect();
        (ids, html)
    };
    let (ids, html) = shown("/?q=first&open=4&before=1&after=1");
    assert_eq!(ids, ["3", "4", "5"]);
    let (earlier, _) = shown(links(&html, "earlier")[0].split('#').next().expect("an address"));
    assert_eq!(earlier, ["1", "2", "3", "4", "5"]);
    let (later, _) = shown(links(&html, "Read on")[0].split('#').next().expect("an address"));
    assert_eq!(later, ["3", "4", "5", "6", "7", "8"]);
    let (whole, _) = shown(links(&html, "The whole conversation")[0].split('#').next().expect("an address"));
    assert_eq!(whole, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    // A thought is unfolded where it was found, and folded elsewhere.
    assert!(html.contains("id=\"thought-4\" open"), "{html}");
    assert!(shown("/sessions/s-lock").1.contains("id=\"thought-4\">"));
}

#[test]
fn pages_and_files_are_not_sent_again() {
    let fixture = archive();
    let server = serve(&fixture, None);
    for path in ["/style.css", "/script.js", "/icon.svg"] {
        let reply = get(server.address(), path);
        let tag = reply.header("etag").expect("a tag").to_owned();
        assert!(reply.status == 200 && !reply.body.is_empty(), "{path}");
        let again = get_with(server.address(), path, &format!("If-None-Match: W/{tag}\r\n"));
        assert!(again.status == 304 && again.body.is_empty(), "{path} {}", again.head);
        assert_eq!(get_with(server.address(), path, "If-None-Match: \"other\"\r\n").status, 200);
    }
    // The last write is older than a tick of the file system's clock from some moment on.
    let tag = loop {
        if let Some(tag) = get(server.address(), "/?q=lock").header("etag") {
            break tag.to_owned();
        }
    };
    let headers = format!("If-None-Match: {tag}\r\n");
    assert_eq!(get_with(server.address(), "/?q=lock", &headers).status, 304);
    assert_eq!(get_with(server.address(), "/?q=order", &headers).status, 200);
    fixture.writer().message("s-lock", &Message::user("a new lock")).expect("a row");
    let reply = get_with(server.address(), "/?q=lock", &headers);
    assert!(reply.status == 200 && reply.text().contains("id=\"hit-17\""), "{}", reply.text());
}

#[test]
fn a_browser_brings_the_token_as_a_password() {
    let fixture = archive();
    let server = serve(&fixture, Some(Token::new("0123456789abcdef").expect("a token")));
    let refused = get(server.address(), "/");
    assert_eq!(refused.status, 401);
    assert!(refused.head.to_lowercase().contains("www-authenticate: basic realm="), "{}", refused.head);
    // Of "ada:0123456789abcdef", of another password, and of no password.
    for (brought, status) in [
        ("YWRhOjAxMjM0NTY3ODlhYmNkZWY=", 200),
        ("YWRhOjAxMjM0NTY3ODlhYmNkZWU=", 401),
        ("MDEyMzQ1Njc4OWFiY2RlZg==", 401),
        ("no base64", 401),
    ] {
        let reply = get_with(server.address(), "/", &format!("Authorization: Basic {brought}\r\n"));
        assert_eq!(reply.status, status, "{brought}");
    }
}
