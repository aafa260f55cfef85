//! Answers keep to their budget whatever the archive holds, and say how to get the rest. That every answer of
//! these tests does is the client's own check.

use afterthought_mcp::tokens;
use afterthought_tests::Fixture;
use afterthought_tools::archive::{Message, Session, Shape};
use serde_json::{Value, json};

use crate::client::Client;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LONG_CHARS: usize = 80_000;

/// An archive of what fills a model's context.
fn hoard() -> Fixture {
    let sign = |at: u64| {
        let mixed = at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        char::from(BASE64[usize::try_from(mixed).expect("six bits")])
    };
    let encoded: String = (0..5_000_000).map(sign).collect();
    let long = (0..LONG_CHARS / 16).map(|word| format!("anchor {word:07}. ")).collect::<Vec<_>>().concat();
    let han = "锚链在海底拖行。".repeat(400);
    let arguments = json!({"path": "/src/anchor", "text": "{\"anchor\": [1, 2, 3]}\n".repeat(5_000)});
    Fixture::with(Shape::V30, |writer| {
        let title = Some(format!("The anchor, {}", "and its chain, ".repeat(300)));
        let cwd = Some(format!("/src/{}", "deep/".repeat(500)));
        writer.session(&Session { title, cwd, ..Session::new("s-hoard") })?;
        writer.message("s-hoard", &Message::user(&format!("anchor {encoded}")))?;
        writer.message("s-hoard", &Message::assistant("").with_call("write_anchor", &arguments))?;
        writer.message("s-hoard", &Message::assistant(&long).with_reasoning(&format!("anchor {han}")))?;
        writer.message(
            "s-hoard",
            &Message::tool("read_anchor", "anchor \u{7}\"\\\n\t".repeat(9_000).as_str()),
        )?;
        for row in 0..60 {
            let text = format!("anchor {row} {}", "🚢⚓ ".repeat(40));
            writer.message("s-hoard", &Message::user(&text))?;
        }
        for session in 0..60 {
            let id = format!("s-{session:02}-{}", "x".repeat(80));
            let title = Some(format!("anchor {session} {}", "title ".repeat(60)));
            writer.session(&Session { title, source: "x".repeat(300), ..Session::new(&id) })?;
            writer.message(&id, &Message::new(&"role".repeat(100), "anchor, once"))?;
        }
        Ok(())
    })
}

#[test]
fn every_tool_keeps_to_its_budget_on_a_hoard() {
    let fixture = hoard();
    let mut client = Client::of(&fixture);
    client.page(&json!({"query": "anchor"}));
    let words: Vec<String> = (0..60).map(|word| format!("anchor{word} unknown{word}")).collect();
    let queries: Vec<&str> = words.iter().map(String::as_str).take(8).collect();
    let facets =
        json!(["role", "source", "session", "user", "model", "workspace", "branch", "tool", "month"]);
    let calls = [
        ("search_messages", json!({"query": "anchor", "limit": 50})),
        ("search_messages", json!({"query": "anchor", "limit": 50, "facets": facets, "group": "session"})),
        ("search_messages", json!({"query": words.join(" "), "limit": 50})),
        ("search_messages", json!({"query": words.join(" "), "roles": ["nobody"], "limit": 50})),
        ("search_messages", json!({"query": "anchor ".repeat(3_000)})),
        ("search_messages", json!({"queries": queries, "limit": 50})),
        ("search_messages", json!({"queries": vec!["anchor chain ".repeat(500); 8], "limit": 50})),
        ("search_messages", json!({"query": "anchor", "limit": 50, "sources": vec!["nowhere"; 40]})),
        ("search_reasoning", json!({"query": "anchor 拖行", "limit": 50})),
        ("get_message", json!({"id": 1})),
        ("get_message", json!({"id": 2, "before": 20, "after": 20})),
        ("get_message", json!({"id": 3, "before": 20, "after": 20})),
        ("get_message", json!({"id": 3, "offset_chars": 79_990})),
        ("get_message", json!({"id": 4, "after": 20})),
        ("get_message", json!({"id": 30, "before": 20, "after": 20, "offset_chars": 1_000_000})),
        ("get_session", json!({"id": "s-hoard"})),
        ("get_session", json!({"id": "s-hoard", "slice": "-50:"})),
        ("get_session", json!({"id": "s-hoard", "search": "anchor", "limit": 50})),
        ("get_session", json!({"id": "s-hoard", "search": words.join(" "), "limit": 50})),
        ("list_sessions", json!({"limit": 50})),
        ("list_sessions", json!({"limit": 50, "sources": vec!["nowhere"; 40]})),
    ];
    for (name, arguments) in calls {
        let mut before = 0;
        for max_tokens in [600, 700, 1_000, 2_500, 20_000] {
            let mut arguments = arguments.clone();
            arguments["max_tokens"] = json!(max_tokens);
            let result = client.call_tool(name, &arguments);
            assert_eq!(result["isError"], false, "{name} {arguments}: {result:#}");
            let shown = result["structuredContent"].to_string().len();
            assert!(shown + 200 > before, "{name}: a larger budget shows no less: {before}, {shown}");
            before = shown;
        }
    }
    // The defaults and null are the same.
    client.answer("search_messages", &json!({"query": "anchor", "max_tokens": null}));
}

#[test]
fn a_long_message_is_read_to_its_end_piece_by_piece() {
    let fixture = hoard();
    let mut client = Client::of(&fixture);
    client.page(&json!({"query": "anchor"}));
    for id in [2, 3, 4] {
        let whole = fixture.aft(&["--json", "show", &id.to_string()]).json()["messages"][0].clone();
        let mut read = [const { String::new() }; 3];
        let mut offset = json!(0);
        while !offset.is_null() {
            let arguments = json!({"id": id, "offset_chars": offset, "max_tokens": 20_000});
            let answer = client.answer("get_message", &arguments);
            let message = &answer["messages"][0];
            for (read, part) in read.iter_mut().zip(["content", "reasoning", "tool_calls"]) {
                *read += message[part].as_str().expect("text");
            }
            let next = message["rest"]["offset_chars"].clone();
            assert!(next.is_null() || next.as_u64() > offset.as_u64(), "{offset} then {next}");
            offset = next;
        }
        for (read, part) in read.iter().zip(["content", "reasoning", "tool_calls"]) {
            assert_eq!(*read, whole[part].as_str().expect("text"), "{part} of {id}");
        }
    }
}

#[test]
fn pages_cut_to_a_budget_join_by_their_cursors() {
    let fixture = hoard();
    let mut client = Client::of(&fixture);
    let all = client.page(&json!({"query": "anchor", "limit": 50, "max_tokens": 20_000}));
    let total = all["total"]["value"].as_u64().expect("a total");
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let arguments = json!({"query": "anchor", "limit": 50, "max_tokens": 900, "cursor": cursor});
        let page = client.page(&arguments);
        let hits = page["results"].as_array().expect("hits");
        assert!(!hits.is_empty(), "{page:#}");
        seen.extend(hits.iter().map(|hit| (hit["message_id"].clone(), hit["session_id"].clone())));
        let left_out = page["truncated"]["hits_left_out"].as_u64().unwrap_or(0);
        assert!(left_out == 0 || hits.len() as u64 + left_out <= 50);
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen.len() as u64, total);
    let mut once = seen.clone();
    once.sort_by_key(|(id, session)| (id.as_i64(), session.to_string()));
    once.dedup();
    assert_eq!(once.len() as u64, total);
}

#[test]
fn a_session_cut_to_a_budget_is_read_on_by_its_next_slice() {
    let fixture = hoard();
    let mut client = Client::of(&fixture);
    client.page(&json!({"query": "anchor"}));
    for (start, roles, first, count) in
        [(":", json!([]), 0, 64), ("-20:", json!([]), 44, 20), ("-20:-2", json!(["user"]), 44, 18)]
    {
        let (mut slice, mut places) = (json!(start), Vec::new());
        while !slice.is_null() {
            let arguments = json!({"id": "s-hoard", "slice": slice, "roles": roles});
            let answer = client.answer("get_session", &arguments);
            let messages = answer["messages"].as_array().expect("messages");
            assert!(!messages.is_empty(), "{answer:#}");
            places.extend(messages.iter().map(|message| message["index"].as_u64().expect("a place")));
            slice = answer["next_slice"].clone();
        }
        assert_eq!(places, (first..first + count).collect::<Vec<u64>>(), "{start} {roles}");
    }
}

#[test]
fn a_small_answer_is_not_cut() {
    let fixture = crate::harbor();
    let mut client = Client::of(&fixture);
    let page = client.page(&json!({"query": "anchor", "max_tokens": 2_500}));
    assert_eq!(page["truncated"], Value::Null);
}

/// The second number is what the tokenizer `o200k_base` makes of the text.
#[test]
fn tokens_are_counted_from_above() {
    let samples = [
        (
            "The deploy failed because another process held the lock on the database, so we rolled it back.",
            19,
        ),
        (
            "fn main() -> Result<(), Error> {\n    let archive = Archive::open(&path)?;\n    println!(\"{}\", archive.rows());\n}\n",
            26,
        ),
        (
            "{\"message_id\":48211,\"session_id\":\"20260901_100311_ab12cd\",\"index\":27,\"role\":\"assistant\",\"score\":12.31,\"highlights\":[[2,6],[12,22]]}",
            47,
        ),
        ("配置文件在哪里?数据库连接失败了,请检查网络和权限设置。", 16),
        ("Почему развёртывание не удалось? База данных заблокирована другим процессом.", 18),
        ("設定ファイルはどこにありますか。データベースへの接続に失敗しました。", 22),
        ("데이터베이스 연결에 실패했습니다. 어제 이 문제에 대해 논의했습니다.", 19),
        (
            "2026-09-01T10:03:11.042Z ERROR [worker-3] request 7f3c9a52-1be0-4d7e-9c55-0a1b2c3d4e5f failed with status 503 after 1874 ms",
            66,
        ),
        ("aGVsbG8gd29ybGQsIHRoaXMgaXMgYSBsb25nIHRleHQgaW4gYmFzZTY0IGVuY29kaW5nLCAxMjM0NTY3ODkw", 55),
        ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 43),
        ("🚢⚓ 🙂🚀🔥 deploy ✅", 10),
        ("git commit --amend --no-verify && ./run.sh -vvv | tee /tmp/out.log 2>&1", 26),
    ];
    for (text, real) in samples {
        let counted = tokens(text);
        assert!((real..=3 * real).contains(&counted), "{counted} for {real}: {text}");
    }
    assert_eq!(tokens(""), 0);
}
