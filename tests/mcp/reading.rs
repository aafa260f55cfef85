//! The tools beside `search_messages`: what they give, and that several queries are merged by rank.

use std::collections::BTreeMap;

use afterthought::ErrorKind;
use afterthought_tests::Fixture;
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::{Value, json};

use crate::client::Client;
use crate::{check_refused, harbor, timeless};

#[test]
fn reasoning_alone_is_searched() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    let thought = client.answer("search_reasoning", &json!({"query": "anchor"}));
    let same = client.answer("search_messages", &json!({"query": "anchor", "in": ["thought"]}));
    assert_eq!(timeless(thought.clone()), timeless(same));
    assert_eq!(thought["results"][0]["origin"], "thought");
    assert_eq!(thought["total"]["value"], 1);
    for (arguments, total) in [
        (json!({"query": "anchor", "sessions": ["s-cron"]}), 0),
        (json!({"query": "anchor", "sources": ["cron"]}), 0),
        (json!({"query": "anchor", "users": ["ada"]}), 0),
        (json!({"query": "anchor", "since": "2026-03-02"}), 0),
        (json!({"query": "anchor", "until": "2026-03-02"}), 1),
    ] {
        let page = client.answer("search_reasoning", &arguments);
        assert_eq!(page["total"]["value"], total, "{arguments}");
    }
}

#[test]
fn a_message_is_read_with_its_neighbours_as_show_prints_it() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    client.page(&json!({"query": "anchor"}));
    let shown = client.answer("get_message", &json!({"id": 2, "before": 1, "after": 1}));
    assert_eq!(whole(&shown), fixture.aft(&["--json", "show", "2", "-C", "1"]).json()["messages"]);
    let alone = client.call_tool("get_message", &json!({"id": 2}));
    let text = alone["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("thought: The anchor may drag") && !text.contains("said:"), "{text}");
    let after = client.answer("get_message", &json!({"id": "2", "after": "20"}));
    let ids: Vec<_> =
        whole(&after).as_array().expect("messages").iter().map(|it| it["message_id"].clone()).collect();
    assert_eq!(ids, [2, 3]);
    // Taken back: no search shows it, and its id still finds it.
    let hidden = client.answer("get_message", &json!({"id": 4, "before": 3}));
    assert_eq!(hidden["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(hidden["messages"][0]["index"], Value::Null);
    let none = client.call_tool("get_message", &json!({"id": 99}));
    check_refused(&none, ErrorKind::NotFound, &["99", "no row of that id", "hits of search_messages"]);
    let odd = client.call_tool("get_message", &json!({"id": 1, "before": 21}));
    check_refused(&odd, ErrorKind::Usage, &["before", "0 to 20, not 21"]);
}

/// Returns the messages of an answer, all of which are whole.
#[track_caller]
fn whole(answer: &Value) -> Value {
    let mut messages = answer["messages"].clone();
    for message in messages.as_array_mut().expect("messages") {
        let rest = message.as_object_mut().expect("a message").remove("rest");
        assert_eq!(rest, Some(Value::Null));
    }
    messages
}

#[test]
fn a_session_is_read_sliced_and_searched_as_the_command_does() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    client.page(&json!({"query": "anchor"}));
    let cases: [(Value, &[&str]); 5] = [
        (json!({"id": "s-web"}), &["s-web"]),
        (json!({"id": "s-w"}), &["s-w"]),
        (json!({"id": "s-web", "slice": "-1:"}), &["s-web", "--slice", "-1:"]),
        (json!({"id": "s-web", "slice": "1:2"}), &["s-web", "--slice", "1:2"]),
        (
            json!({"id": "s-web", "roles": ["user"], "slice": ":1"}),
            &["s-web", "--role", "user", "--slice", ":1"],
        ),
    ];
    for (arguments, flags) in cases {
        let answer = client.answer("get_session", &arguments);
        let same = fixture.aft(&[&["--json", "session"], flags].concat()).json();
        assert_eq!(whole(&answer), same["messages"], "{arguments}");
        assert_eq!(answer["session"], same["session"], "{arguments}");
        assert_eq!(answer["next_slice"], Value::Null, "{arguments}");
    }
    let mut hits =
        client.answer("get_session", &json!({"id": "s-web", "search": "anchor", "limit": 2, "offset": 1}));
    assert!(hits.as_object_mut().expect("hits").remove("truncated").unwrap_or_default().is_null());
    let flags = ["--json", "session", "s-web", "--search", "anchor", "-n", "2", "--offset", "1"];
    let mut same = fixture.aft(&flags).json();
    for page in [&mut hits, &mut same] {
        // Written with other digits.
        page["results"].as_array_mut().expect("hits").iter_mut().for_each(|hit| hit["score"] = Value::Null);
    }
    assert_eq!(hits, same);
    for (arguments, kind, pieces) in [
        (json!({"id": "s-none"}), ErrorKind::NotFound, &["s-none", "no session", "list_sessions lists"][..]),
        (json!({"id": "s-"}), ErrorKind::Usage, &["2 sessions begin like that"]),
        (json!({"id": "s-web", "slice": "7"}), ErrorKind::Usage, &["slice", "A:B"]),
        (json!({"id": "s-web", "slice": "1:", "search": "x"}), ErrorKind::Usage, &["slice or search"]),
    ] {
        check_refused(&client.call_tool("get_session", &arguments), kind, pieces);
    }
}

#[test]
fn sessions_are_listed_as_the_command_does() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    client.page(&json!({"query": "anchor"}));
    let cases: [(Value, &[&str]); 8] = [
        (json!({}), &[]),
        (json!({"limit": 1}), &["-n", "1"]),
        (json!({"limit": 1, "offset": 1}), &["-n", "1", "--offset", "1"]),
        (json!({"sources": ["cron"]}), &["--source", "cron"]),
        (json!({"exclude_sources": ["cron"]}), &["--exclude-source", "cron"]),
        (json!({"workspace": "/src/harbor"}), &["--workspace", "/src/harbor"]),
        (json!({"since": "2026-03-01"}), &["--since", "2026-03-01"]),
        (
            json!({"until": "2026-03-01", "users": ["ada"], "models": ["m"]}),
            &["--until", "2026-03-01", "--user", "ada", "--model", "m"],
        ),
    ];
    for (arguments, flags) in cases {
        let mut list = client.answer("list_sessions", &arguments);
        assert!(list.as_object_mut().expect("a list").remove("truncated").unwrap_or_default().is_null());
        assert_eq!(list, fixture.aft(&[&["--json", "sessions"], flags].concat()).json(), "{arguments}");
    }
    let branches = client.call_tool("list_sessions", &json!({"branches": ["main"]}));
    check_refused(&branches, ErrorKind::Usage, &["branches", "give workspace"]);
}

#[test]
fn the_status_says_how_much_was_thought() {
    let fixture = harbor();
    let mut client = Client::of(&fixture);
    client.page(&json!({"query": "anchor"}));
    let result = client.call_tool("index_status", &json!({}));
    let status = &result["structuredContent"];
    let same = fixture.aft(&["--json", "status"]).json();
    for member in ["archive", "sessions", "audited_at"] {
        assert_eq!(status[member], same[member], "{member}");
    }
    assert_eq!((&status["index"]["state"], &status["thought_rows"]), (&json!("ready"), &json!(1)));
    assert_eq!(status["versions"]["aft"], env!("CARGO_PKG_VERSION"));
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("ready: ") && text.contains("1 of them"), "{text}");
    check_refused(
        &client.call_tool("index_status", &json!({"id": 1})),
        ErrorKind::Usage,
        &["no such parameter"],
    );
}

#[test]
fn several_queries_are_merged_by_rank_and_every_hit_says_which_found_it() {
    let fixture = Fixture::with(Shape::V30, |writer| {
        writer.session(&Session::new("s"))?;
        for text in ["lock order", "lock lock deadlock", "mutex order", "mutex", "barrier", "lock and mutex"]
        {
            writer.message("s", &Message::user(text))?;
        }
        Ok(())
    });
    let mut client = Client::of(&fixture);
    let queries = ["lock", "mutex", "windlass"];
    let mut expected: BTreeMap<i64, (f64, Vec<usize>)> = BTreeMap::new();
    for (number, query) in (1..).zip(queries) {
        let page = client.page(&json!({"query": query}));
        for (rank, hit) in (1_u32..).zip(page["results"].as_array().expect("hits")) {
            let of = expected.entry(hit["message_id"].as_i64().expect("an id")).or_default();
            of.0 += 1.0 / (60.0 + f64::from(rank));
            of.1.push(number);
        }
    }
    let result = client.call(&json!({"queries": queries}));
    let page = &result["structuredContent"];
    assert_eq!(page["total"], json!({"value": 5, "relation": "eq"}), "{page:#}");
    let totals: Vec<_> =
        page["queries"].as_array().expect("queries").iter().map(|it| it["total"]["value"].clone()).collect();
    assert_eq!(totals, [3, 3, 0]);
    let mut before = f64::MAX;
    let hits = page["results"].as_array().expect("hits");
    assert_eq!(hits.len(), expected.len());
    for hit in hits {
        let (score, found_by) = &expected[&hit["message_id"].as_i64().expect("an id")];
        let shown = hit["score"].as_f64().expect("a score");
        assert!((shown - score).abs() < 1e-6, "{hit:#}");
        assert!(shown <= before, "{page:#}");
        before = shown;
        assert_eq!(hit["found_by"], json!(found_by));
    }
    assert_eq!(hits[0]["found_by"], json!([1, 2]), "what both found comes first");
    let text = result["content"][0]["text"].as_str().expect("text");
    for piece in ["results 1 to 5 of 5", "query 2: 3 in total: mutex", "query 3: ", "by 1, 2"] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
    // Pages of it join.
    let mut ids = Vec::new();
    for offset in 0..5 {
        let page = client.page(&json!({"queries": queries, "limit": 1, "offset": offset}));
        ids.push(page["results"][0]["message_id"].clone());
    }
    let all: Vec<_> = hits.iter().map(|hit| hit["message_id"].clone()).collect();
    assert_eq!(ids, all);
    let grouped = client.page(&json!({"queries": queries, "group": "session"}));
    assert_eq!(grouped["results"].as_array().map(Vec::len), Some(1));
}

#[test]
fn only_the_tools_that_were_chosen_are_there() {
    let fixture = harbor();
    let mut client = Client::with(&fixture, &["--tools", "get_session,search_reasoning,get_session"]);
    let answer = client.ask("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().expect("tools");
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["get_session", "search_reasoning"]);
    client.answer("search_reasoning", &json!({"query": "drag"}));
    let other = client.ask("tools/call", &json!({"name": "search_messages", "arguments": {"query": "x"}}));
    assert_eq!(other["error"]["code"], -32602, "{other}");
    let none = fixture.aft(&["mcp", "--tools", "search"]);
    assert_eq!(none.code, 2, "{none:?}");
    assert!(none.stderr.contains("no tool \"search\"; tools: search_messages, "), "{none:?}");
}

/// The build goes on whether or not anybody asks, and every answer on the way is one.
#[test]
fn during_a_first_build_every_tool_answers_with_what_there_is() {
    let fixture = Fixture::with(Shape::V30, |writer| {
        writer.transaction(|writer| {
            for session in 0..40 {
                let id = format!("s-{session:02}");
                writer.session(&Session::new(&id))?;
                for row in 0..300 {
                    let text = format!(
                        "anchor {row} of {session}: the chain was let go, hauled in, and let go again"
                    );
                    writer.message(&id, &Message::assistant(&text).with_reasoning(&text))?;
                }
            }
            Ok(())
        })
    });
    let mut client = Client::of(&fixture);
    let (mut before, mut state) = (0, json!("building"));
    while state == "building" {
        for (name, arguments) in [
            ("search_messages", json!({"query": "anchor"})),
            ("search_messages", json!({"queries": ["anchor", "chain"]})),
            ("search_reasoning", json!({"query": "chain"})),
            ("list_sessions", json!({})),
            ("index_status", json!({})),
        ] {
            let result = client.call_once(name, &arguments);
            assert_eq!(result["isError"], false, "{result:#}");
            let answer = &result["structuredContent"];
            let warns = answer["warnings"].to_string().contains("\"building\"");
            let Some(index) = answer.get("index") else { continue };
            assert_eq!(warns, index["state"] == "building", "{answer:#}");
            let rows = index["rows"].as_u64().expect("a count");
            assert!(rows >= before, "{rows} after {before}");
            (before, state) = (rows, index["state"].clone());
        }
    }
    assert_eq!(before, 12_000);
    assert_eq!(client.answer("index_status", &json!({}))["thought_rows"], 12_000);
}
