//! `aft mcp --user`: what others have is nowhere. A server confined to one person answers like a server whose
//! archive holds that person's sessions and nothing else, to every tool and every argument; only how rare a
//! word is, and so scores and how far to trust them, is the whole archive's.

use afterthought::ErrorKind;
use afterthought::limits::QUERY_FORMS_MAX;
use afterthought_tests::Fixture;
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::{Value, json};

use crate::check_refused;
use crate::client::Client;

/// What bob's sessions say, and nobody else's.
const BOBS: [&str; 8] =
    ["windlass", "bosun", "20260101_b", "telegram", "m-bob", "/src/bob", "secret_tool", "bobs-branch"];

/// Writes the archive of two people, or of ada alone, with the same ids.
fn archive(with_bob: bool) -> Fixture {
    Fixture::with(Shape::V30, |writer| {
        let of_ada = |id: &str| Session {
            user_id: Some("ada".to_owned()),
            title: Some(format!("The anchor of {id}")),
            model: Some("m-ada".to_owned()),
            cwd: Some("/src/ada".to_owned()),
            git_branch: Some("main".to_owned()),
            ..Session::new(id)
        };
        let of_bob = |id: &str| Session {
            user_id: Some("bob".to_owned()),
            title: Some(format!("The windlass of the bosun in {id}")),
            source: "telegram".to_owned(),
            model: Some("m-bob".to_owned()),
            cwd: Some("/src/bob".to_owned()),
            git_branch: Some("bobs-branch".to_owned()),
            ..Session::new(id)
        };
        if with_bob {
            writer.session(&of_bob("20260101_bob"))?;
            writer.session(&Session { user_id: None, ..of_bob("20260101_nobody") })?;
        }
        // Of bob's session there is nothing left to continue where ada is alone.
        let parent = with_bob.then(|| "20260101_bob".to_owned());
        writer.session(&Session { parent_session_id: parent.clone(), ..of_ada("20260101_ada") })?;
        writer.session(&Session { parent_session_id: parent, ..of_ada("20260102_ada") })?;
        let own = Some("20260102_ada".to_owned());
        writer.session(&Session {
            parent_session_id: own,
            source: "cron".to_owned(),
            ..of_ada("20260103_ada")
        })?;
        if with_bob {
            // Between two of ada's, and after one of them.
            let parent = Some("20260102_ada".to_owned());
            writer.session(&Session { parent_session_id: parent, ..of_bob("20260104_bob") })?;
        }
        let mut id = 0_i32;
        for round in 0..12 {
            for session in ["20260101_ada", "20260102_ada", "20260103_ada"] {
                let text = format!("The anchor {round} of {session} may drag in the harbour");
                for message in [
                    Message::user(&text),
                    Message::assistant("Let go the chain").with_reasoning(&format!("considered: {text}")),
                    Message::assistant("").with_call("terminal", &json!({"command": "make anchor"})),
                    Message::tool("terminal", &text),
                ] {
                    id += 1;
                    writer.message(
                        session,
                        &Message { id: Some(id.into()), ..message }.at(1.77e9 + f64::from(id)),
                    )?;
                }
            }
            for session in ["20260101_bob", "20260101_nobody", "20260104_bob"] {
                let text = format!("The windlass {round}, said the bosun, and the anchor with it");
                for message in [
                    Message::user(&text),
                    Message::assistant("Heave").with_reasoning(&text),
                    Message::assistant("").with_call("secret_tool", &json!({"command": text})),
                    Message::tool("secret_tool", &text),
                ] {
                    id += 1;
                    if with_bob {
                        let message = Message { id: Some(id.into()), ..message }.at(1.77e9 + f64::from(id));
                        writer.message(session, &message)?;
                    }
                }
            }
        }
        Ok(())
    })
}

/// Calls in which something of bob's could show.
fn calls() -> Vec<(&'static str, Value)> {
    let mut calls = Vec::new();
    let facets =
        json!(["role", "source", "session", "user", "model", "workspace", "branch", "tool", "month"]);
    let queries = [
        "anchor",
        "windlass",
        "windlas",
        "bosun anchor",
        "wind*",
        "windlas~",
        "the",
        "20260101_bob",
        "20260104",
        "title:windlass",
        "thought:bosun",
        "did:secret_tool",
        "heave",
        "+anchor +windlass",
        "anchor NOT windlass",
        "\"the anchor with it\"",
        "secret_tool",
        "",
    ];
    for query in queries {
        calls.push((
            "search_messages",
            json!({"query": query, "limit": 50, "facets": facets, "sort": "newest"}),
        ));
        calls.push(("search_reasoning", json!({"query": query, "limit": 50})));
        calls.push(("get_session", json!({"id": "20260101", "search": query})));
    }
    let filters = [
        json!({"sources": ["telegram"]}),
        json!({"exclude_sources": ["telegram"]}),
        json!({"users": ["bob"]}),
        json!({"users": ["ada", "bob"]}),
        json!({"models": ["m-bob"]}),
        json!({"workspace": "/src/bob"}),
        json!({"workspace": "/src/**"}),
        json!({"workspace": "/src/ada", "branches": ["bobs-branch"]}),
        json!({"since": "2026-01-01"}),
        json!({"until": "2026-01-01"}),
    ];
    for filter in filters {
        calls.push(("list_sessions", filter.clone()));
        for query in ["anchor", "windlass"] {
            let mut arguments = filter.clone();
            arguments["query"] = json!(query);
            arguments["sort"] = json!("oldest");
            calls.push(("search_messages", arguments));
        }
    }
    for more in [
        json!({"sessions": ["20260101_bob"]}),
        json!({"sessions": ["20260101_ada", "20260104_bob"]}),
        json!({"exclude_sessions": ["20260101_bob"]}),
        json!({"current_session": "20260101_bob"}),
        json!({"current_session": "20260101_ada"}),
        json!({"current_session": "20260103_ada"}),
        json!({"tools": ["secret_tool"]}),
        json!({"tools": ["terminal"]}),
        json!({"roles": ["bosun"]}),
        json!({"group": "lineage"}),
        json!({"group": "session"}),
        json!({"match": "all"}),
        json!({"in": ["titled"]}),
        json!({"in": ["saw"], "roles": ["user"]}),
        json!({"include_reasoning": false}),
        json!({"include_inactive": true, "include_copies": true}),
    ] {
        for query in ["anchor", "windlass", "anchor bosun"] {
            let mut arguments = more.clone();
            arguments["query"] = json!(query);
            calls.push(("search_messages", arguments.clone()));
            arguments["sort"] = json!("newest");
            calls.push(("search_messages", arguments));
        }
    }
    calls.push(("search_messages", json!({"queries": ["windlass", "anchor", "bosun"], "limit": 50})));
    for id in 0..300 {
        calls.push(("get_message", json!({"id": id, "before": 20, "after": 20, "max_tokens": 20_000})));
    }
    for id in ["20260101", "20260101_bob", "20260101_b", "20260101_n", "20260104", "2026", "", "20260102_ada"]
    {
        for slice in [":", "-3:", "5:7", "40:"] {
            calls.push(("get_session", json!({"id": id, "slice": slice, "roles": ["user"]})));
        }
    }
    calls.extend([("list_sessions", json!({})), ("list_sessions", json!({"limit": 2, "offset": 2}))]);
    // What is cut to a budget hangs on how long an answer took to write.
    for (_, arguments) in &mut calls {
        arguments["max_tokens"] = json!(20_000);
    }
    calls.push(("index_status", json!({})));
    calls
}

/// Returns an answer without what is the whole archive's, or differs from moment to moment.
fn masked(result: &Value) -> Value {
    let mut answer = result["structuredContent"].clone();
    for (member, value) in answer.as_object_mut().expect("an object").iter_mut() {
        match member.as_str() {
            "elapsed_ms" | "sync_ms" | "confidence" | "archive" | "audited_at" | "next_cursor" => {
                *value = Value::Null;
            }
            "index" => (value["last_sync"], value["checked_at"]) = (Value::Null, Value::Null),
            "results" => value.as_array_mut().expect("hits").iter_mut().for_each(|hit| {
                (hit["score"], hit["coverage"]) = (Value::Null, Value::Null);
            }),
            "queries" => value.as_array_mut().expect("queries").iter_mut().for_each(|query| {
                query["confidence"] = Value::Null;
            }),
            // What the columns know is everybody's, so a confined server does not compare names with it.
            "warnings" => value.as_array_mut().expect("warnings").retain(|warning| {
                let message = warning["message"].as_str().unwrap_or_default();
                let of_columns = message.contains("has no tool") || message.contains("has no role");
                !of_columns && !message.contains("weak answer")
            }),
            _ => {}
        }
    }
    // Rank follows from scores, unless time decides.
    if let Some(hits) = answer.get_mut("results").and_then(Value::as_array_mut) {
        hits.sort_by_key(|hit| (hit["message_id"].as_i64(), hit["session_id"].to_string()));
    }
    answer
}

#[test]
fn a_confined_server_answers_as_if_there_were_nobody_else() {
    let (both, alone) = (archive(true), archive(false));
    let mut confined = Client::with(&both, &["--user", "ada"]);
    let mut free = Client::of(&alone);
    for client in [&mut confined, &mut free] {
        client.page(&json!({"query": "anchor"}));
    }
    for (name, arguments) in calls() {
        let [answer, expected] = [&mut confined, &mut free].map(|client| client.call_tool(name, &arguments));
        let (masked, expected) = (masked(&answer), masked(&expected));
        assert_eq!(masked, expected, "{name} {arguments}\n{masked:#}\n{expected:#}");
        // Nor does the text say what the structured form does not.
        let (said, asked) = (answer["content"][0]["text"].to_string().to_lowercase(), arguments.to_string());
        for bobs in BOBS.iter().filter(|bobs| !asked.contains(**bobs) && !asked.contains("wind")) {
            assert!(!said.contains(bobs), "{name} {arguments}: {bobs}\n{said}");
        }
    }
}

#[test]
fn a_cursor_of_another_persons_server_is_no_cursor_here() {
    let fixture = archive(true);
    let mut of_bob = Client::with(&fixture, &["--user", "bob"]);
    let mut of_ada = Client::with(&fixture, &["--user", "ada"]);
    let mut of_all = Client::of(&fixture);
    for name in ["search_messages", "search_reasoning"] {
        let asked = json!({"query": "anchor", "limit": 1});
        of_all.page(&asked);
        for other in [&mut of_bob, &mut of_all] {
            let cursor = other.answer(name, &asked)["next_cursor"].clone();
            assert!(cursor.is_string());
            let mut next = asked.clone();
            next["cursor"] = cursor;
            let refused = of_ada.call_tool(name, &next);
            check_refused(&refused, ErrorKind::CursorMismatch, &["another search"]);
            assert_eq!(other.call_tool(name, &next)["isError"], false);
        }
    }
}

#[test]
fn a_person_who_has_nothing_sees_an_empty_archive() {
    let fixture = archive(true);
    let mut client = Client::with(&fixture, &["--user", "eve"]);
    let page = client.page(&json!({"query": "anchor"}));
    assert_eq!((&page["total"]["value"], &page["index"]["rows"]), (&json!(0), &json!(0)));
    assert_eq!(page["diagnosis"]["left_out"], json!([]));
    assert_eq!(client.answer("list_sessions", &json!({}))["total"], 0);
    let status = client.answer("index_status", &json!({}));
    assert_eq!((&status["sessions"], &status["thought_rows"]), (&json!(0), &json!(0)));
    let empty = fixture.aft(&["mcp", "--user", ""]);
    assert_eq!(empty.code, 2, "{empty:?}");
}

#[test]
fn a_row_of_another_person_is_not_counted_as_behind() {
    let fixture = archive(true);
    let mut client = Client::with(&fixture, &["--user", "ada"]);
    let first = client.page(&json!({"query": "anchor", "limit": 1}));
    let mut writer = fixture.writer();
    writer.message("20260101_bob", &Message::user("Avast")).expect("a row");
    writer.close().expect("a clean close");
    // A cursor brings nothing up to date, so the row stays behind.
    let next = json!({"query": "anchor", "limit": 1, "cursor": first["next_cursor"]});
    let page = client.page(&next);
    assert_eq!((&page["index"]["state"], &page["index"]["rows_behind"]), (&json!("ready"), &json!(0)));
}

/// More of somebody else's words and sessions than a search looks at.
#[test]
fn what_others_have_much_of_hides_nothing_of_ones_own() {
    let fixture = Fixture::with(Shape::V30, |writer| {
        let session = |id: &str, user: &str| Session { user_id: Some(user.to_owned()), ..Session::new(id) };
        writer.session(&session("20260101_a", "ada"))?;
        writer.message("20260101_a", &Message::user("zqada"))?;
        for number in 0..=QUERY_FORMS_MAX {
            let id = format!("20260101_bob{number}");
            writer.session(&session(&id, "bob"))?;
            for _ in 0..2 {
                writer.message(&id, &Message::user(&format!("zqbob{number}")))?;
            }
        }
        Ok(())
    });
    let mut client = Client::with(&fixture, &["--user", "ada"]);
    for query in ["zq*", "20260101_"] {
        let page = client.page(&json!({"query": query}));
        assert_eq!(page["total"]["value"], 1, "{query}: {page:#}");
        assert_eq!(page["results"][0]["session_id"], "20260101_a", "{query}: {page:#}");
        assert_eq!(page["warnings"], json!([]), "{query}");
    }
    for query in ["zqb*", "20260101_bob"] {
        let page = client.page(&json!({"query": query}));
        assert_eq!(page["total"]["value"], 0, "{query}: {page:#}");
        assert!(
            !page.to_string().contains("1025") && !page.to_string().contains("2050"),
            "{query}: {page:#}"
        );
    }
    let everybody = Client::of(&fixture).page(&json!({"query": "zq*"}));
    assert_eq!(everybody["warnings"][0]["kind"], "forms-cut", "{everybody:#}");
}
