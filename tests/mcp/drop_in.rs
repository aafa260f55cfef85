//! The tool of Hermes, offered where it is asked for.

use afterthought_tests::Fixture;
use afterthought_tools::archive::Message;
use serde_json::{Value, json};

use crate::client::Client;
use crate::{harbor, schema};

const NAME: &str = "session_search";

/// Calls the tool. Both forms of the answer say the same, and it fits the contract.
#[track_caller]
fn call(client: &mut Client, arguments: &Value) -> Value {
    let answer = client.ask("tools/call", &json!({"name": NAME, "arguments": arguments}));
    let result = &answer["result"];
    let structured = &result["structuredContent"];
    let validator = jsonschema::draft202012::new(&schema("session_search.json")["outputSchema"]);
    let breaches: Vec<_> =
        validator.expect("a schema").iter_errors(structured).map(|error| error.to_string()).collect();
    assert!(breaches.is_empty(), "{arguments}: {breaches:#?}\n{answer:#}");
    let text: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!((&text, result["isError"] == true), (structured, structured["success"] != true), "{answer}");
    structured.clone()
}

fn offered(fixture: &Fixture, more: &[&str]) -> Client {
    Client::with(fixture, &[&["--tools", NAME], more].concat())
}

#[test]
fn it_is_offered_by_its_name_alone() {
    let listed = offered(&harbor(), &[]).ask("tools/list", &json!({}));
    let mut contract = schema("session_search.json");
    contract.as_object_mut().expect("a contract").remove("about");
    assert_eq!(listed["result"]["tools"], json!([contract]));
    let mut both = Client::with(&harbor(), &["--tools", "search_messages,session_search"]);
    let listed = both.ask("tools/list", &json!({}));
    let names: Vec<_> =
        listed["result"]["tools"].as_array().expect("a list").iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["search_messages", NAME]);
}

#[test]
fn it_answers_in_every_mode() {
    let fixture = harbor();
    let mut client = offered(&fixture, &[]);
    let found = call(&mut client, &json!({"query": "anchor chain", "limit": "5"}));
    assert_eq!((&found["mode"], &found["results"][0]["session_id"]), (&json!("discover"), &json!("s-web")));
    let id = &found["results"][0]["match_message_id"];
    let around = call(&mut client, &json!({"session_id": "s-web", "around_message_id": id}));
    assert_eq!(around["mode"], "scroll");
    assert_eq!(call(&mut client, &json!({"session_id": "s-web"}))["mode"], "read");
    assert_eq!(call(&mut client, &json!({}))["mode"], "browse");
    let thought = json!({"query": "drag", "include_reasoning": true});
    assert_eq!(call(&mut client, &thought)["results"][0]["origin"], "thought");
    assert_eq!(call(&mut client, &json!({"query": "drag"}))["count"], 0);
    assert_eq!(call(&mut client, &json!({"session_id": "s-none"}))["success"], false);
}

#[test]
fn it_answers_beside_the_other_tools() {
    let fixture = harbor();
    let mut client = Client::with(&fixture, &["--tools", "search_messages,session_search"]);
    let page = client.page(&json!({"query": "anchor chain"}));
    let found = call(&mut client, &json!({"query": "anchor chain"}));
    assert_eq!(page["results"][0]["message_id"], found["results"][0]["match_message_id"]);
}

#[test]
fn it_and_the_other_tools_find_what_was_written_last() {
    let fixture = harbor();
    let mut client = Client::with(&fixture, &["--tools", "search_messages,session_search"]);
    client.page(&json!({"query": "anchor"}));
    for turn in 0..4 {
        let word = format!("turnword{turn}");
        fixture.writer().message("s-web", &Message::user(&word)).expect("a row");
        if turn % 2 == 0 {
            let found = call(&mut client, &json!({"query": word}));
            assert_eq!((&found["count"], found.get("notes")), (&json!(1), None), "{found}");
        } else {
            assert_eq!(client.page(&json!({"query": word}))["total"]["value"], 1);
        }
    }
}

#[test]
fn it_keeps_to_one_person() {
    let fixture = harbor();
    let mut client = offered(&fixture, &["--user", "nobody"]);
    assert_eq!(call(&mut client, &json!({"query": "anchor"}))["count"], 0);
    assert_eq!(call(&mut client, &json!({"session_id": "s-web"}))["success"], false);
    assert_eq!(call(&mut client, &json!({}))["count"], 0);
}
