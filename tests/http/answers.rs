//! Every route answers by its contract, and as the command line does.

use afterthought::limits::{CONTEXT_HITS_MAX, PAGE_HITS_MAX, SERVE_NEIGHBOURS_MAX, SERVE_SYNC_S_MAX};
use afterthought::{Facet, Weights};
use afterthought_server::{OPENAPI, openapi};
use afterthought_tests::wire::get;
use afterthought_tests::{aft, run};
use serde_json::{Value, json};

use super::{ID, archive, contract, guarded, refused, rested};

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
