//! `session_search` as Hermes' own tool: modes, clamps, odd arguments, what stays hidden, reasons for
//! nothing, and bounds on hostile rows. Every answer is valid against `schema/session_search.json`.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use afterthought::index::Folder;
use afterthought::{Options, SearchRequest};
use afterthought_hermes::{CONTRACT, Config, LazyEngine, Recall, Waits};
use afterthought_tests::{Fixture, Trace, aft, run};
use afterthought_tools::archive::{Message, Session, Shape, Writer};
use jsonschema::Validator;
use serde_json::{Value, json};

/// The tool over a fixture's archive, its answers checked against the contract.
struct Tool {
    recall: Recall,
    schema: Validator,
}

impl Tool {
    fn of(fixture: &Fixture) -> Self {
        Self::with(fixture, |_| {})
    }

    fn with(fixture: &Fixture, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::of_archive(fixture.archive(), fixture.index());
        change(&mut config);
        let contract: Value = serde_json::from_str(CONTRACT).expect("a contract");
        let schema = jsonschema::draft202012::new(&contract["outputSchema"]).expect("a schema");
        Self { recall: Recall::new(config), schema }
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "calls are written where they are made")]
    fn ask(&self, arguments: Value) -> Value {
        let answer = self.recall.call(arguments.as_object().expect("an object"));
        let breaches: Vec<String> = self.schema.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(breaches.is_empty(), "{arguments}: {breaches:#?}\n{answer:#}");
        answer
    }

    /// Returns the sessions of an answer, in order.
    #[track_caller]
    fn sessions(&self, arguments: Value) -> Vec<String> {
        sessions(&self.ask(arguments))
    }
}

fn sessions(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap_or_else(|| panic!("no results: {answer:#}"));
    results.iter().map(|result| text(&result["session_id"]).to_owned()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn ids(messages: &Value) -> Vec<i64> {
    let messages = messages.as_array().expect("messages");
    messages.iter().map(|message| message["id"].as_i64().expect("an id")).collect()
}

/// Writes a session and its messages, and returns their ids.
fn talk(writer: &mut Writer, session: &Session, messages: &[Message]) -> rusqlite::Result<Vec<i64>> {
    writer.session(session)?;
    messages.iter().map(|message| writer.message(&session.id, message)).collect()
}

fn session(id: &str, at: f64) -> Session {
    Session { started_at: 1_767_225_600.0 + at, ..Session::new(id) }
}

fn child(id: &str, parent: &str, at: f64) -> Session {
    Session { parent_session_id: Some(parent.to_owned()), ..session(id, at) }
}

fn ended(session: Session, reason: &str) -> Session {
    let ended_at = Some(session.started_at + 50.0);
    Session { end_reason: Some(reason.to_owned()), ended_at, ..session }
}

fn lines(count: usize, word: &str) -> Vec<Message> {
    let line = |at: usize| format!("{word} line {at}");
    (0..count)
        .map(|at| if at % 2 == 0 { Message::user(&line(at)) } else { Message::assistant(&line(at)) })
        .collect()
}

/// A chain of compressions, a reset, timers, hidden sources, a thought, a tool's output.
fn town() -> Fixture {
    Fixture::with(Shape::V22, |writer| {
        let first =
            ended(Session { title: Some("Bridge plan".into()), ..session("chain-1", 0.0) }, "compression");
        talk(writer, &first, &lines(12, "granite"))?;
        let second = ended(child("chain-2", "chain-1", 100.0), "compression");
        talk(writer, &second, &lines(8, "basalt"))?;
        talk(writer, &child("chain-3", "chain-2", 200.0), &lines(6, "slate"))?;
        talk(writer, &ended(session("old", 300.0), "session_reset"), &lines(4, "walnut"))?;
        talk(writer, &child("new", "old", 400.0), &lines(4, "cherry"))?;
        for at in 0..6 {
            let timer =
                Session { source: "cron".into(), ..session(&format!("cron-{at}"), 500.0 + f64::from(at)) };
            talk(writer, &timer, &lines(3, "nightly report report"))?;
        }
        talk(writer, &session("person", 600.0), &[Message::user("a report of the nightly kind, at length")])?;
        let hidden = Session { source: "subagent".into(), ..session("hidden", 700.0) };
        talk(writer, &hidden, &lines(2, "cobalt"))?;
        let mixed = Session { title: Some("fingerprint-login".into()), ..session("mixed", 800.0) };
        let rows = [
            Message::user("why does it stall"),
            Message::assistant("").with_call("terminal", &json!({"command": "echo 部署脚本"})),
            Message::tool("terminal", "the soul of the machine"),
            Message::assistant("it is the queue").with_reasoning("perhaps the hidden port 7781"),
        ];
        talk(writer, &mixed, &rows)?;
        Ok(())
    })
}

#[test]
fn many_threads_may_ask_one_tool() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let expected = tool.sessions(json!({"query": "granite line"}));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(tool.sessions(json!({"query": "granite line"})), expected));
        }
    });
}

#[test]
fn the_mode_is_what_is_given() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let mode = |arguments: Value| tool.ask(arguments)["mode"].clone();
    assert_eq!(mode(json!({})), "browse");
    assert_eq!(mode(json!({"query": " ", "limit": null})), "browse");
    assert_eq!(mode(json!({"query": "granite", "limit": "2"})), "discover");
    assert_eq!(mode(json!({"query": "granite", "session_id": "chain-1"})), "read");
    assert_eq!(mode(json!({"session_id": "chain-1", "around_message_id": "3"})), "scroll");
}

#[test]
fn a_query_shows_each_lineage_once_by_its_own_session() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let answer = tool.ask(json!({"query": "basalt line", "limit": 10}));
    let result = &answer["results"][0];
    assert_eq!(sessions(&answer), ["chain-2"]);
    assert_eq!((&result["parent_session_id"], &result["title"]), (&json!("chain-1"), &json!("Bridge plan")));
    assert!(text(&result["snippet"]).contains(">>>basalt<<<"), "{result}");
    let anchors: Vec<&Value> = result["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|message| message["anchor"] == true)
        .collect();
    assert_eq!(anchors.len(), 1);
    assert_eq!(anchors[0]["id"], result["match_message_id"]);
    let members: Vec<&String> = result.as_object().expect("a result").keys().collect();
    let expected = "session_id when source model title matched_role match_message_id snippet bookend_start messages \
                    bookend_end messages_before messages_after parent_session_id";
    assert_eq!(members, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(
        tool.sessions(json!({"query": "line", "limit": 10})).len(),
        8,
        "two lineages of people, six timers"
    );
}

#[test]
fn a_window_leaves_tools_out_and_ends_stand_outside_it() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        let mut rows = lines(20, "filler");
        rows[10] = Message::user("the needle");
        rows.insert(9, Message::tool("terminal", "noise"));
        talk(writer, &session("s", 0.0), &rows)?;
        Ok(())
    });
    let answer = Tool::of(&fixture).ask(json!({"query": "needle"}));
    let result = &answer["results"][0];
    assert_eq!(ids(&result["messages"]), [7, 8, 9, 11, 12, 13, 14, 15, 16, 17]);
    assert_eq!(ids(&result["bookend_start"]), [1, 2, 3]);
    assert_eq!(ids(&result["bookend_end"]), [19, 20, 21]);
    assert_eq!((&result["messages_before"], &result["messages_after"]), (&json!(5), &json!(5)));
}

#[test]
fn timers_come_last_in_every_order_and_hidden_sources_never() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    for sort in [json!(null), json!("newest"), json!("oldest")] {
        let found = tool.sessions(json!({"query": "nightly report", "limit": 3, "sort": sort}));
        assert_eq!(found[0], "person", "{sort}");
        assert!(found[1..].iter().all(|id| id.starts_with("cron-")) && found.len() == 3, "{found:?}");
    }
    let newest = tool.sessions(json!({"query": "nightly report", "limit": 10, "sort": "newest"}));
    assert_eq!(newest, ["person", "cron-5", "cron-4", "cron-3", "cron-2", "cron-1", "cron-0"]);
    let hidden = tool.ask(json!({"query": "cobalt"}));
    assert_eq!(hidden["count"], 0);
    assert!(text(&hidden["message"]).contains("2 messages match in sessions of sub-agents"), "{hidden}");
}

#[test]
fn a_title_comes_first() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let result = tool.ask(json!({"query": "`fingerprint-login`"}))["results"][0].clone();
    assert_eq!((&result["session_id"], &result["matched_role"]), (&json!("mixed"), &json!("session_title")));
    // Words of a title where no message holds them.
    let words = tool.ask(json!({"query": "plan bridge"}));
    assert_eq!(sessions(&words), ["chain-1"]);
    assert!(text(&words["message"]).contains("titles"), "{words}");
}

#[test]
fn what_the_model_has_in_front_of_it_is_not_shown() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let found = |query: &str, current: &str| tool.ask(json!({"query": query, "current_session_id": current}));
    assert_eq!(sessions(&found("slate", "chain-3")), Vec::<String>::new());
    assert!(
        text(&found("slate", "chain-3")["message"]).contains("6 messages match in the current conversation")
    );
    // Summed up, and reset: no longer in front of it.
    assert_eq!(sessions(&found("granite", "chain-3")), ["chain-1"]);
    assert_eq!(sessions(&found("walnut", "new")), ["old"]);
    assert_eq!(tool.ask(json!({"query": "Bridge plan", "current_session_id": "chain-3"}))["count"], 1);
    let scroll = |id: &str, anchor: i64| {
        tool.ask(json!({"session_id": id, "around_message_id": anchor, "current_session_id": "chain-3"}))
    };
    assert!(text(&scroll("chain-3", 21)["error"]).contains("refused"));
    assert_eq!(scroll("chain-1", 2)["success"], true);
}

#[test]
fn what_compaction_took_out_of_sight_is_shown() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        talk(writer, &session("s", 0.0), &lines(6, "quartz"))?;
        let kept = [Message::user("[CONTEXT COMPACTION] of quartz"), Message::user("what now")];
        writer.compact("s", &kept)?;
        talk(writer, &session("t", 100.0), &[Message::user("quartz elsewhere")])?;
        Ok(())
    });
    let tool = Tool::with(&fixture, |config| config.current_session = Some("s".into()));
    assert_eq!(tool.sessions(json!({"query": "quartz line"})), ["s"]);
    let both = tool.ask(json!({"query": "quartz"}));
    assert_eq!(
        {
            let mut both = sessions(&both);
            both.sort();
            both
        },
        ["s", "t"]
    );
    assert_eq!(tool.ask(json!({"query": "what now"}))["count"], 0);
    let read = tool.ask(json!({"session_id": "s"}));
    assert_eq!(ids(&read["messages"]), [7, 8]);
    assert_eq!(tool.ask(json!({"session_id": "s", "around_message_id": 3}))["success"], true);
}

#[test]
fn thoughts_are_searched_when_asked_for() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let without = tool.ask(json!({"query": "7781"}));
    assert_eq!(without["count"], 0);
    assert!(
        text(&without["message"])
            .contains("1 message matches in the model's reasoning: give include_reasoning true"),
        "{without}"
    );
    for yes in [json!(true), json!("true"), json!(1)] {
        let result = tool.ask(json!({"query": "7781", "include_reasoning": yes}))["results"][0].clone();
        assert_eq!((&result["origin"], &result["matched_field"]), (&json!("thought"), &json!("reasoning")));
        assert_eq!(result["snippet"], "perhaps the hidden port >>>7781<<<");
    }
}

#[test]
fn an_empty_answer_says_why() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let why = |arguments: Value| {
        let answer = tool.ask(arguments);
        assert_eq!((&answer["count"], &answer["success"]), (&json!(0), &json!(true)), "{answer}");
        text(&answer["message"]).to_owned()
    };
    assert!(why(json!({"query": "xyzzyplugh"})).contains("\"xyzzyplugh\" stands nowhere"));
    assert!(why(json!({"query": "soul"})).contains("1 message matches in tool output"));
    assert_eq!(tool.sessions(json!({"query": "soul", "role_filter": "tool"})), ["mixed"]);
    assert!(!why(json!({"query": "granite AND cherry"})).is_empty());
    let nobody = tool.ask(json!({"query": "line", "role_filter": "nobody"}));
    assert!(nobody["notes"].to_string().contains("no role \\\"nobody\\\""), "{nobody}");
    assert!(!why(json!({"query": "line", "after": "2030-01-01"})).is_empty());
}

#[test]
fn words_are_relaxed_and_operators_are_not() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let some = tool.ask(json!({"query": "granite cherry"}));
    assert_eq!(some["relaxed"], true);
    assert!(some["count"].as_u64() >= Some(2) && !text(&some["message"]).is_empty(), "{some}");
    let all = tool.ask(json!({"query": "granite line"}));
    assert_eq!((all.get("relaxed"), all.get("message")), (None, None));
    for bound in ["granite AND cherry", "\"granite cherry\"", "granite NOT line"] {
        let answer = tool.ask(json!({"query": bound}));
        assert_eq!((&answer["count"], answer.get("relaxed")), (&json!(0), None), "{bound}");
    }
}

#[test]
fn every_text_is_a_query() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let long = "granite ".repeat(20_000);
    let quotes = "\"".repeat(5_000);
    let odd = [
        "lattice OR OR lattice",
        "AND x",
        "NOT x",
        "\"",
        "(",
        "*",
        "NEAR(",
        "a:b:c",
        "-",
        "\0",
        &long,
        &quotes,
    ];
    for query in odd {
        let answer = tool.ask(json!({"query": query}));
        assert_eq!(answer["success"], true, "{query:.40}");
        assert!(
            answer["count"] != 0 || answer.get("message").is_some() || answer["mode"] == "browse",
            "{query:.40}"
        );
    }
}

#[test]
fn a_scroll_moves_within_a_lineage_and_refuses_what_is_not_there() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let scroll = |id: &str, anchor: Value, window: Value| {
        tool.ask(json!({"session_id": id, "around_message_id": anchor, "window": window}))
    };
    assert_eq!(ids(&scroll("chain-1", json!(3), json!("1"))["messages"]), [2, 3, 4]);
    assert_eq!(scroll("chain-1", json!(3), json!(99))["window"], 20);
    assert_eq!(scroll("chain-1", json!(3), json!("wide"))["window"], 5);
    let moved = scroll("chain-1", json!(22), json!(2));
    assert_eq!(moved["session_id"], "chain-3");
    assert!(text(&moved["warning"]).contains("chain-3"), "{moved}");
    for (id, anchor) in
        [("chain-1", json!(30)), ("nobody", json!(3)), ("chain-1", json!("three")), ("chain-1", json!([]))]
    {
        assert_eq!(scroll(id, anchor, json!(null))["success"], false);
    }
}

#[test]
fn what_was_taken_back_is_nowhere() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        let ids = talk(writer, &session("s", 0.0), &lines(10, "ibex"))?;
        writer.rewind("s", ids[5])?;
        Ok(())
    });
    let tool = Tool::of(&fixture);
    assert_eq!(
        ids(&tool.ask(json!({"session_id": "s", "around_message_id": 4}))["messages"]),
        [1, 2, 3, 4, 5]
    );
    assert_eq!(tool.ask(json!({"session_id": "s", "around_message_id": 8}))["success"], false);
    assert_eq!(ids(&tool.ask(json!({"session_id": "s"}))["messages"]), [1, 2, 3, 4, 5]);
    let found = tool.ask(json!({"query": "ibex", "limit": 10}));
    assert!(!found.to_string().contains("ibex line 7"), "{found}");
}

#[test]
fn a_long_session_is_read_at_both_ends() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        talk(writer, &session("s", 0.0), &lines(31, "gecko"))?;
        talk(writer, &session("t", 0.0), &lines(30, "gecko"))?;
        Ok(())
    });
    let tool = Tool::of(&fixture);
    let long = tool.ask(json!({"session_id": "s"}));
    assert_eq!((&long["message_count"], &long["truncated"]), (&json!(31), &json!(true)));
    assert_eq!(ids(&long["messages"]), (1..=20).chain(22..=31).collect::<Vec<_>>());
    let whole = tool.ask(json!({"session_id": "t"}));
    assert_eq!(
        (ids(&whole["messages"]).len(), &whole["truncated"], whole.get("message")),
        (30, &json!(false), None)
    );
}

#[test]
fn a_list_shows_conversations_by_their_last_link() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let answer = tool.ask(json!({"limit": 10}));
    assert_eq!(sessions(&answer)[..2], ["mixed", "person"]);
    assert!(sessions(&answer).contains(&"chain-3".to_owned()));
    assert!(!["hidden", "chain-1", "new"].iter().any(|id| sessions(&answer).iter().any(|found| found == id)));
    let entry = &answer["results"][0];
    assert_eq!(
        (&entry["preview"], &entry["title"]),
        (&json!("why does it stall"), &json!("fingerprint-login"))
    );
    assert_eq!(tool.sessions(json!({"limit": -4})).len(), 1);
    assert!(
        !tool.sessions(json!({"limit": 10, "current_session_id": "chain-3"})).contains(&"chain-3".to_owned())
    );
}

/// Writes an archive of one session at a path.
fn write(path: &std::path::Path, id: &str, word: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let mut writer =
        Writer::create(path, Shape::V22, afterthought_tools::archive::Fts::None).expect("an archive");
    talk(&mut writer, &session(id, 0.0), &lines(4, word)).expect("rows");
    writer.close().expect("a clean close");
}

#[test]
fn profiles_answer_each_for_itself() {
    let fixture = Fixture::new();
    let home = fixture.archive().parent().expect("a home").to_owned();
    write(&fixture.archive(), "root-session", "granite");
    write(&home.join("profiles/work/state.db"), "work-session", "walnut");
    fs::create_dir_all(home.join("profiles/empty")).expect("a folder");
    let tool = Tool::of(&fixture);
    assert_eq!(tool.sessions(json!({"query": "walnut", "profile": " Work "})), ["work-session"]);
    assert_eq!(tool.ask(json!({"query": "walnut"}))["count"], 0);
    for link in ["work/work-session", "@session:work/work-session"] {
        assert_eq!(tool.ask(json!({"session_id": link}))["session_id"], "work-session");
    }
    // A miss is a miss, and says where else there are sessions.
    let miss = tool.ask(json!({"session_id": "work-session"}));
    assert!(text(&miss["hint"]).contains("default, empty, work"), "{miss}");
    assert!(
        text(&tool.ask(json!({"query": "x", "profile": "nobody"}))["hint"]).contains("default, empty, work")
    );
    assert!(text(&tool.ask(json!({"query": "x", "profile": "empty"}))["error"]).contains("has no archive"));
    for odd in ["../agent", "..", "a/b", "WORK\0"] {
        assert_eq!(tool.ask(json!({"profile": odd}))["success"], false, "{odd}");
    }
    assert_eq!(tool.sessions(json!({"query": "granite", "profile": "default"})), ["root-session"]);
    // From inside a profile, the root is found.
    let inside = Recall::new(Config::of_archive(home.join("profiles/work/state.db"), fixture.index()));
    let other = inside.call(json!({"session_id": "default/root-session"}).as_object().expect("an object"));
    assert_eq!(other["success"], true, "{other}");
}

#[test]
fn a_person_sees_what_is_theirs_and_nothing_else() {
    let owned = |id: &str, user: &str, at: f64| Session { user_id: Some(user.to_owned()), ..session(id, at) };
    let fixture = Fixture::with(Shape::V22, |writer| {
        talk(
            writer,
            &Session { title: Some("Alice notes".into()), ..owned("alice-1", "alice", 0.0) },
            &lines(4, "granite"),
        )?;
        talk(
            writer,
            &Session { title: Some("Bob notes".into()), ..owned("bob-1", "bob", 100.0) },
            &lines(4, "cobaltic"),
        )?;
        talk(
            writer,
            &Session { title: Some("Nobody notes".into()), ..session("nobody-1", 200.0) },
            &lines(4, "granite"),
        )?;
        // A conversation that went from one to the other.
        let shared = Session { parent_session_id: Some("bob-1".into()), ..owned("alice-2", "alice", 300.0) };
        talk(writer, &shared, &[Message::user("granite again").with_reasoning("garnet, they thought")])?;
        Ok(())
    });
    let tool = Tool::with(&fixture, |config| config.user = Some("alice".into()));
    let found = tool.ask(json!({"query": "granite", "limit": 10, "sort": "oldest"}));
    assert_eq!(sessions(&found), ["alice-1", "alice-2"]);
    assert_eq!(sessions(&tool.ask(json!({"limit": 10}))), ["alice-1"]);
    // Whatever is another's is answered like what is not there.
    for (foreign, absent) in [
        (json!({"query": "cobaltic"}), json!({"query": "cobaltix"})),
        (json!({"query": "Bob notes"}), json!({"query": "Bub nutes"})),
        (json!({"query": "bob-1 cobaltic"}), json!({"query": "bub-1 cobaltix"})),
        (
            json!({"query": "cobaltic", "role_filter": "user,assistant,tool"}),
            json!({"query": "cobaltix", "role_filter": "user,assistant,tool"}),
        ),
        (json!({"session_id": "bob-1"}), json!({"session_id": "bub-1"})),
        (json!({"session_id": "nobody-1"}), json!({"session_id": "nubody-1"})),
        (json!({"session_id": "@session:default/bob-1"}), json!({"session_id": "@session:default/bub-1"})),
        (
            json!({"session_id": "bob-1", "around_message_id": 6}),
            json!({"session_id": "bub-1", "around_message_id": 6}),
        ),
        (
            json!({"session_id": "alice-1", "around_message_id": 6}),
            json!({"session_id": "alice-1", "around_message_id": 999}),
        ),
        (
            json!({"session_id": "alice-2", "around_message_id": 6}),
            json!({"session_id": "alice-2", "around_message_id": 999}),
        ),
        (
            json!({"query": "granite", "current_session_id": "bob-1"}),
            json!({"query": "granite", "current_session_id": "bub-1"}),
        ),
        (
            json!({"query": "granite", "exclude_session_ids": ["bob-1"]}),
            json!({"query": "granite", "exclude_session_ids": ["bub-1"]}),
        ),
        (
            json!({"limit": 10, "current_session_id": "bob-1"}),
            json!({"limit": 10, "current_session_id": "bub-1"}),
        ),
    ] {
        let masked = |answer: Value| {
            let text =
                answer.to_string().replace("bub", "bob").replace("Bub", "Bob").replace("nubody", "nobody");
            text.replace("nutes", "notes").replace("cobaltix", "cobaltic").replace("999", "6")
        };
        let (seen, unseen) = (masked(tool.ask(foreign.clone())), masked(tool.ask(absent)));
        assert_eq!(seen, unseen, "{foreign}");
        assert!(!seen.contains("Bob notes") || foreign["query"] == "Bob notes", "{seen}");
    }
    // Two lineages of hers, of which one began as another's.
    assert_eq!(tool.ask(json!({"query": "granite", "limit": 10}))["count"], 2);
    let thought = tool.ask(json!({"query": "garnet", "include_reasoning": true, "limit": 10}));
    assert_eq!(sessions(&thought), ["alice-2"]);
    assert_eq!(thought["results"][0].get("parent_session_id"), None);
    let stranger = Tool::with(&fixture, |config| config.user = Some("mallory".into()));
    assert_eq!(stranger.ask(json!({}))["count"], 0);
    assert_eq!(stranger.ask(json!({"query": "granite", "include_reasoning": true}))["count"], 0);
}

#[test]
fn hostile_rows_give_answers_of_bounded_size() {
    let picture = format!("data:image/png;base64,{}", "iVBORw0KGgoAAAANSUhEUg9x".repeat(220_000));
    let fixture = Fixture::with(Shape::V22, |writer| {
        for at in 0..10 {
            let id = format!("s-{at}");
            let mut rows = lines(6, &format!("hostile {}", "word ".repeat(4_000)));
            if at == 0 {
                let parts = json!([{"type": "text", "text": "hostile look"}, {"type": "image_url", "image_url": {"url": picture}}]);
                rows.push(Message::user("").with_parts(&parts));
                rows.push(Message::user(&format!("hostile {picture}")));
                rows.push(Message::assistant("").with_call("write", &json!({"text": "z".repeat(100_000)})));
                rows.push(Message::tool(&"t".repeat(50_000), &"x".repeat(80_000)));
                rows.push(Message::assistant(&"ж".repeat(80_000)));
            }
            let title = Some(format!("Title {at} {}", "long ".repeat(20_000)));
            talk(writer, &Session { title, ..session(&id, f64::from(at)) }, &rows)?;
        }
        Ok(())
    });
    let tool = Tool::of(&fixture);
    let roles = "user,assistant,tool";
    for arguments in [
        json!({"query": "hostile", "limit": 10, "role_filter": roles}),
        json!({"query": "look"}),
        json!({"session_id": "s-0"}),
        json!({"session_id": "s-0", "around_message_id": 8, "window": 20}),
        json!({"limit": 10}),
    ] {
        let answer = tool.ask(arguments.clone());
        assert_eq!(answer["success"], true);
        let chars = answer.to_string().chars().count();
        assert!(chars <= 100_000, "{arguments}: {chars}");
        assert!(!answer.to_string().contains("iVBORw0KGgoAAAANSUhEUg9xiVBOR"), "{arguments}");
    }
    let read = tool.ask(json!({"session_id": "s-0"}));
    let message = |at: usize| read["messages"][at].clone();
    assert_eq!(message(6)["content"], "hostile look\n[image_url]");
    assert_eq!(
        (message(6)["content_truncated"].clone(), message(10)["original_content_chars"].clone()),
        (json!(true), json!(80_000))
    );
    assert_eq!(message(8)["tool_calls_truncated"], true);
}

#[test]
fn names_that_are_none_make_no_answer_long() {
    let long = |at: usize| format!("{at}{}", "n".repeat(50_000));
    // The index knows no longer ones.
    let id = |at: usize| format!("{at}{}", "i".repeat(1_000));
    let fixture = Fixture::with(Shape::V22, |writer| {
        for at in 0..10 {
            let mut rows = lines(31, &format!("hostile {}", "\u{1}\"".repeat(3_000)));
            for row in &mut rows {
                row.tool_name = Some(long(at));
                row.tool_call_id = Some(long(at));
                row.tool_calls = Some(json!([{"id": long(1), "function": {"name": long(2)}}]).to_string());
            }
            let model = Some(long(at));
            let title = Some(format!("{} {at}", "t".repeat(10_000)));
            talk(writer, &Session { title, model, source: long(at), ..session(&id(at), 0.0) }, &rows)?;
        }
        Ok(())
    });
    let tool = Tool::of(&fixture);
    for arguments in [
        json!({"query": "hostile", "limit": 10}),
        json!({"query": "hostile nowhere", "limit": 10}),
        json!({"session_id": id(3)}),
        json!({"session_id": id(3), "around_message_id": 110, "window": 20}),
        json!({"limit": 10}),
    ] {
        let answer = tool.ask(arguments);
        assert_eq!(answer["success"], true, "{answer:#}");
        if answer["mode"] == "discover" {
            assert!(sessions(&answer).iter().all(|found| found.len() == 1_001), "an id can be given again");
            assert!(!sessions(&answer).is_empty(), "{answer:#}");
        }
        let chars = answer.to_string().chars().count();
        assert!(chars <= 100_000, "{chars}: {}", answer["mode"]);
    }
}

#[test]
fn what_is_given_makes_no_answer_long() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let words = (0..20_000).map(|at| format!("word{at:05}")).collect::<Vec<_>>().join(" ");
    let long = "x".repeat(300_000);
    let roles: Vec<String> = (0..20).map(|at| format!("{at}{}", "r".repeat(20_000))).collect();
    let many: Vec<String> = (0..5_000).map(|at| format!("role-{at}")).collect();
    for (arguments, success) in [
        (json!({"query": words}), true),
        (json!({"query": "granite ".repeat(40_000)}), true),
        (json!({"query": long}), true),
        (json!({"query": format!("{long} OR granite")}), true),
        (json!({"query": "granite", "role_filter": roles.join(",")}), true),
        (json!({"query": "granite", "role_filter": many.join(",")}), false),
        (json!({"query": "granite", "exclude_session_ids": [long]}), true),
        (json!({"query": "granite", "current_session_id": long}), true),
        (json!({"query": "granite", "profile": long}), false),
        (json!({"query": "granite", "after": long}), false),
        (json!({"session_id": long}), false),
        (json!({"session_id": long, "around_message_id": 1}), false),
        (json!({"session_id": "chain-1", "around_message_id": long}), false),
    ] {
        let answer = tool.ask(arguments);
        assert_eq!(answer["success"], success, "{answer:#}");
        let chars = answer.to_string().chars().count();
        assert!(chars <= 100_000, "{chars}: {}", answer["mode"]);
    }
    let echo = tool.ask(json!({"query": "granite ".repeat(40_000)}));
    assert!(text(&echo["query"]).ends_with('…') && text(&echo["query"]).chars().count() == 1_001, "{echo}");
    let whole = tool.ask(json!({"query": "granite"}));
    assert_eq!(whole["query"], "granite");
}

/// Makes a session another's, behind the index's back.
fn give_away(fixture: &Fixture, session: &str, user: &str) {
    let archive = rusqlite::Connection::open(fixture.archive()).expect("an archive");
    archive.execute("UPDATE sessions SET user_id = ?2 WHERE id = ?1", [session, user]).expect("an update");
}

#[test]
fn what_became_anothers_is_not_shown_while_the_index_is_behind() {
    let owned = |id: &str, at: f64| Session { user_id: Some("alice".into()), ..session(id, at) };
    let fixture = Fixture::with(Shape::V22, |writer| {
        let given = Session { title: Some("Pelican ledger".into()), ..owned("given", 0.0) };
        talk(writer, &given, &lines(4, "pelican secret"))?;
        talk(writer, &owned("kept", 100.0), &lines(4, "pelican"))?;
        talk(writer, &owned("gone", 200.0), &lines(4, "pelican vanished"))?;
        Ok(())
    });
    let first = Tool::with(&fixture, |config| config.user = Some("alice".into()));
    assert_eq!(first.sessions(json!({"query": "pelican", "limit": 10})).len(), 3);
    drop(first);
    // Nothing can be brought up to date while another writes the index: the searches are of the last commit.
    let folder = Folder::of(&fixture.index(), &fixture.archive().canonicalize().expect("an archive"))
        .live()
        .expect("a pointer")
        .expect("an index");
    let lock = folder.join(".tantivy-writer.lock");
    let held = fs::File::options().append(true).create(true).open(lock).expect("a lock file");
    held.lock().expect("a lock that was let go");
    let tool = Tool::with(&fixture, |config| {
        config.user = Some("alice".into());
        config.wait = std::time::Duration::ZERO;
    });
    assert_eq!(tool.sessions(json!({"query": "pelican", "limit": 10})).len(), 3);
    give_away(&fixture, "given", "bob");
    let archive = rusqlite::Connection::open(fixture.archive()).expect("an archive");
    archive.execute("DELETE FROM messages WHERE session_id = 'gone'", []).expect("a deletion");
    for query in ["pelican", "secret", "vanished", "ledger", "Pelican ledger"] {
        let found = tool.ask(json!({"query": query, "limit": 10}));
        let shown = sessions(&found);
        assert!(shown.iter().all(|id| id == "kept"), "{query}: {shown:?}");
        assert!(!found["results"].to_string().contains("secret"), "{query}: {found:#}");
        assert!(found["count"] != 0 || found.get("message").is_some(), "{query}: {found:#}");
    }
    assert_eq!(tool.ask(json!({"session_id": "given"}))["success"], false);
    drop(held);
}

#[test]
fn a_long_lineage_leaves_room_for_the_others_of_one_person() {
    let owned = |session: Session| Session { user_id: Some("alice".into()), ..session };
    let fixture = Fixture::with(Shape::V22, |writer| {
        for at in 0..60 {
            let id = format!("chain-{at:02}");
            let link = match at {
                0 => session(&id, 0.0),
                _ => child(&id, &format!("chain-{:02}", at - 1), f64::from(at)),
            };
            talk(writer, &owned(ended(link, "compression")), &[Message::user("pelican pelican pelican")])?;
        }
        let long = format!("a pelican was named once {}", "among other matters of the day ".repeat(20));
        for at in 0..3 {
            talk(writer, &owned(session(&format!("other-{at}"), 900.0)), &[Message::user(&long)])?;
        }
        Ok(())
    });
    let found = |tool: &Tool| {
        let mut found = tool.sessions(json!({"query": "pelican", "limit": 4}));
        found.sort();
        found.retain(|id| id.starts_with("other"));
        found
    };
    let of_all = found(&Tool::of(&fixture));
    assert_eq!(of_all, ["other-0", "other-1", "other-2"]);
    assert_eq!(found(&Tool::with(&fixture, |config| config.user = Some("alice".into()))), of_all);
}

#[test]
fn roles_and_profiles_of_others_are_not_named_to_one_person() {
    let fixture = Fixture::new();
    let home = fixture.archive().parent().expect("a home").to_owned();
    let owned = |id: &str, user: &str| Session { user_id: Some(user.into()), ..session(id, 0.0) };
    let mut writer = Writer::create(&fixture.archive(), Shape::V22, afterthought_tools::archive::Fts::None)
        .expect("an archive");
    talk(&mut writer, &owned("alice-1", "alice"), &lines(2, "granite")).expect("rows");
    let odd = Message { role: "confessor".to_owned(), ..Message::user("granite") };
    talk(&mut writer, &owned("bob-1", "bob"), &[odd]).expect("rows");
    writer.close().expect("a clean close");
    write(&home.join("profiles/work/state.db"), "work-session", "walnut");
    fs::create_dir_all(home.join("profiles/empty")).expect("a folder");
    let tool = Tool::with(&fixture, |config| config.user = Some("alice".into()));
    for role in ["confesso", "confessor"] {
        let answer = tool.ask(json!({"query": "granite", "role_filter": role}));
        assert_eq!((&answer["count"], answer.get("notes")), (&json!(0), None), "{answer}");
    }
    for (arguments, name) in [
        (json!({"session_id": "work-session"}), "none"),
        (json!({"query": "walnut", "profile": "nobody"}), "nobody"),
        (json!({"query": "walnut", "profile": "empty"}), "empty"),
    ] {
        let refused = tool.ask(arguments);
        let said = refused.to_string();
        assert_eq!(refused["success"], false);
        assert!(!said.contains("default") && !said.contains("work,") && !said.contains("state.db"), "{said}");
        assert_eq!(refused["error"] == format!("profile \"{name}\" is not there"), name != "none", "{said}");
    }
}

#[test]
fn a_path_within_a_folder_finds_the_profiles_around_it() {
    let fixture = Fixture::new();
    let home = fixture.archive().parent().expect("a home").to_owned();
    write(&home.join("state.db"), "root-session", "granite");
    write(&home.join("profiles/work/state.db"), "work-session", "walnut");
    for (folder, archive) in [
        ("profiles/work", "state.db"),
        ("profiles/work", "./state.db"),
        ("profiles", "work/state.db"),
        (".", "profiles/work/state.db"),
    ] {
        let mut command = aft();
        command.current_dir(home.join(folder)).args(["--archive", archive, "--index"]).arg(fixture.index());
        let answer =
            run(command.args(["hermes", "session-search", "--session-id", "default/root-session"])).json();
        assert_eq!(answer["session_id"], "root-session", "{folder} {archive}: {answer}");
    }
}

#[test]
fn an_engine_is_shared_with_whoever_gives_it() {
    let fixture = town();
    let minute = std::time::Duration::from_mins(1);
    let options = Options::new(fixture.archive(), fixture.index());
    let engine = Arc::new(LazyEngine::new(options, Waits { fresh: minute, first: minute }));
    let recall = Recall::beside(Config::of_archive(fixture.archive(), fixture.index()), Arc::clone(&engine));
    for turn in 0..6 {
        let word = format!("turnword{turn}");
        fixture.writer().message("new", &Message::user(&word)).expect("a row");
        if turn % 2 == 0 {
            let answer = recall.call(json!({"query": word}).as_object().expect("an object"));
            assert_eq!((&answer["count"], answer.get("notes")), (&json!(1), None), "{answer}");
        } else {
            let page = engine.search(SearchRequest::new(word)).expect("a page");
            assert_eq!((page.total.value, page.warnings.len()), (1, 0), "{:?}", page.warnings);
        }
    }
}

#[test]
fn no_mode_leaves_a_trace() {
    let fixture = town();
    let folder = fixture.archive().parent().expect("a folder").to_owned();
    let before = Trace::of(&folder);
    let tool = Tool::of(&fixture);
    for arguments in [
        json!({}),
        json!({"query": "granite"}),
        json!({"session_id": "chain-1"}),
        json!({"session_id": "chain-1", "around_message_id": 2}),
    ] {
        assert_eq!(tool.ask(arguments)["success"], true);
    }
    assert_eq!(Trace::of(&folder), before);
    // Beside an agent that has the archive open, and wrote to its log: a process of its own, as locks and
    // marks of readers belong to one.
    let mut agent = fixture.writer();
    agent.message("chain-1", &Message::user("granite of the log")).expect("a row");
    let before = Trace::of(&folder);
    for flags in [&[][..], &["--query", "granite log"], &["--session-id", "chain-1"]] {
        let ran = fixture.aft(&[&["hermes", "session-search"], flags].concat());
        assert_eq!(ran.json()["success"], true);
        assert!(ran.stdout.contains("of the log") || flags.is_empty(), "{ran:?}");
    }
    assert_eq!(Trace::of(&folder), before);
}

#[test]
fn a_summary_is_no_end_of_a_conversation() {
    let fixture = Fixture::with(Shape::V22, |writer| {
        let mut rows = lines(16, "filler");
        rows[0] = Message::user(&format!("[CONTEXT COMPACTION] {}", "needle ".repeat(8_000)));
        rows[10] = Message::user("the needle");
        talk(writer, &session("s", 0.0), &rows)?;
        Ok(())
    });
    let result = Tool::of(&fixture).ask(json!({"query": "needle"}))["results"][0].clone();
    assert_eq!(result["match_message_id"], 11, "summaries rank behind");
    assert_eq!(ids(&result["bookend_start"]), [2, 3, 4]);
}

#[test]
fn the_contract_is_what_is_taken() {
    let contract: Value = serde_json::from_str(CONTRACT).expect("a contract");
    jsonschema::meta::validate(&contract["inputSchema"]).expect("a schema");
    jsonschema::meta::validate(&contract["outputSchema"]).expect("a schema");
    let input = jsonschema::draft202012::new(&contract["inputSchema"]).expect("a schema");
    for call in
        [json!({}), json!({"limit": "5", "sort": null}), json!({"session_id": "a", "around_message_id": "7"})]
    {
        assert!(input.is_valid(&call), "{call}");
    }
    let help = run(aft().args(["hermes", "session-search", "--help"])).stdout;
    for name in contract["inputSchema"]["properties"].as_object().expect("properties").keys() {
        let flag = format!("--{}", name.trim_start_matches("current_").replace('_', "-"));
        let flag = if name == "current_session_id" { "--current-session".to_owned() } else { flag };
        assert!(help.contains(&flag), "{flag}");
    }
    let tool = Tool::of(&town());
    assert_eq!(tool.ask(json!({"query": "x", "after": "yesterday"}))["success"], false);
}

#[test]
fn newer_arguments_narrow_the_answer() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let compact = tool.ask(json!({"query": "line", "limit": 10, "detail": "adaptive"}));
    let shown = |at: usize| ids(&compact["results"][at]["messages"]).len();
    assert!(shown(0) > 1 && shown(1) == 1 && shown(2) == 1, "{compact}");
    let excluded = tool.ask(json!({"query": "granite AND line", "exclude_session_ids": ["chain-3"]}));
    assert_eq!(excluded["count"], 0, "a lineage goes as one");
    let bounded = |after: Value, before: Value| {
        tool.ask(json!({"query": "granite AND line", "after": after, "before": before}))["count"].clone()
    };
    assert_eq!(bounded(json!("2025-12-31"), json!(null)), 1);
    assert_eq!(bounded(json!("2026-02-01"), json!(null)), 0);
    assert_eq!(bounded(json!(null), json!("2026-01-01")), 0);
    assert_eq!(bounded(json!(" "), json!("")), 1);
}

#[test]
fn older_archives_answer_in_every_mode() {
    for shape in Shape::ALL {
        let fixture = Fixture::with(shape, |writer| {
            talk(writer, &Session { title: Some("Old".into()), ..session("s", 0.0) }, &lines(4, "granite"))?;
            Ok(())
        });
        let tool = Tool::of(&fixture);
        for arguments in [
            json!({}),
            json!({"query": "granite"}),
            json!({"query": "Old"}),
            json!({"session_id": "s"}),
            json!({"session_id": "s", "around_message_id": 2}),
        ] {
            assert_eq!(tool.ask(arguments.clone())["success"], true, "{shape:?} {arguments}");
        }
    }
}

#[test]
fn aft_answers_as_the_library_does() {
    let fixture = town();
    let tool = Tool::of(&fixture);
    let check = |flags: &[&str], arguments: Value| {
        let ran = fixture.aft(&[&["hermes", "session-search"], flags].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        // The hour is the machine's.
        let without_when = |mut answer: Value| {
            for result in answer["results"].as_array_mut().into_iter().flatten() {
                result["when"] = Value::Null;
            }
            answer["session_meta"] = Value::Null;
            answer
        };
        assert_eq!(without_when(ran.json()), without_when(tool.ask(arguments)), "{flags:?}");
    };
    check(
        &["--query", "granite", "--limit", "2", "--sort", "newest"],
        json!({"query": "granite", "limit": "2", "sort": "newest"}),
    );
    check(&["--query", "7781", "--include-reasoning"], json!({"query": "7781", "include_reasoning": true}));
    check(
        &["--query", "granite", "--current-session", "chain-3"],
        json!({"query": "granite", "current_session_id": "chain-3"}),
    );
    check(
        &["--session-id", "chain-1", "--around-message-id", "3", "--window", "2"],
        json!({"session_id": "chain-1", "around_message_id": 3, "window": 2}),
    );
    check(&["--args", "{\"session_id\": \"nobody\"}"], json!({"session_id": "nobody"}));
    check(&[], json!({}));
    for usage in [&["--args", "[1]"][..], &["--args", "{"], &["--no-such-flag"], &["--args", "{}", "--lines"]]
    {
        assert_eq!(fixture.aft(&[&["hermes", "session-search"], usage].concat()).code, 2, "{usage:?}");
    }
}

#[test]
fn aft_reads_calls_from_standard_input() {
    let fixture = town();
    let piped = |flags: &[&str], input: &str| {
        let mut command = aft();
        command.arg("--archive").arg(fixture.archive()).arg("--index").arg(fixture.index());
        command.args(["hermes", "session-search"]).args(flags).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("aft starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("aft listens");
        let output = child.wait_with_output().expect("aft ends");
        assert_eq!(output.status.code(), Some(0));
        let lines = String::from_utf8(output.stdout).expect("text");
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>()
    };
    let one = piped(&["--args", "-"], "{\"query\": \"granite\"}");
    assert_eq!((one.len(), &one[0]["mode"]), (1, &json!("discover")));
    let two = piped(&["--lines"], "{\"query\": \"granite\"}\n{\"session_id\": \"chain-1\"}\n");
    assert_eq!(two.iter().map(|answer| text(&answer["mode"])).collect::<Vec<_>>(), ["discover", "read"]);
    // A line that is no call is answered in its place, and the next ones go on.
    let long = format!("{{\"query\": \"{}\"}}", "x".repeat(2_000_000));
    let quoted = format!("\"{}\"", "y".repeat(500_000));
    let mixed = piped(&["--lines"], &format!("{{\n[1]\n{long}\n{quoted}\n{{\"query\": \"granite\"}}\n"));
    let succeeded: Vec<&Value> = mixed.iter().map(|answer| &answer["success"]).collect();
    assert_eq!(succeeded, [false, false, false, false, true]);
    assert!(text(&mixed[2]["error"]).contains("longer than 1048576 bytes"), "{}", mixed[2]);
    assert!(mixed[..4].iter().all(|answer| text(&answer["error"]).len() < 400));
    let help = run(aft().args(["hermes", "session-search", "--help"]));
    assert!(help.stdout.contains("Exit codes: 0 answered"), "{help:?}");
}
