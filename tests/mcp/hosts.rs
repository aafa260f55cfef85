//! Snippets for the programs that start servers: each parses as what its host reads, and starts one.

use std::process::Command;

use afterthought_tests::{Fixture, Ran};
use serde_json::{Value, json};

use crate::client::Client;
use crate::harbor;

fn print(fixture: &Fixture, host: &str) -> Ran {
    let ran = fixture.aft(&["mcp", "--user", "ada", "--tools", "search_reasoning", "--print-config", host]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.starts_with("goes into "), "{ran:?}");
    ran
}

/// Returns the entry of our server.
fn entry(host: &str, snippet: &str) -> Value {
    let json = || -> Value { serde_json::from_str(snippet).expect("JSON") };
    match host {
        "hermes" => from_yaml(snippet),
        "codex" => {
            let table: toml::Table = snippet.parse().expect("TOML");
            json!({"command": table["mcp_servers"]["afterthought"]["command"].as_str(),
                   "args": table["mcp_servers"]["afterthought"]["args"]})
        }
        "vscode" => json()["servers"]["afterthought"].clone(),
        _ => json()["mcpServers"]["afterthought"].clone(),
    }
}

/// Reads maps of maps by their indents, and quoted values, which YAML has from JSON.
fn from_yaml(text: &str) -> Value {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("mcp_servers:"));
    assert_eq!(lines.next(), Some("  afterthought:"));
    let members = lines.map(|line| {
        let (name, value) =
            line.strip_prefix("    ").and_then(|line| line.split_once(": ")).expect("a member");
        (name.to_owned(), serde_json::from_str(value).expect("a quoted value"))
    });
    Value::Object(members.collect())
}

#[test]
fn every_host_gets_what_starts_the_server() {
    let fixture = harbor();
    for host in ["hermes", "claude-code", "claude-desktop", "cursor", "codex", "vscode"] {
        let ran = print(&fixture, host);
        let entry = entry(host, &ran.stdout);
        let command = entry["command"].as_str().expect("a command");
        assert!(command.starts_with('/') && command.ends_with("aft"), "{host}: {command}");
        let args: Vec<&str> =
            entry["args"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let (archive, index) = (fixture.archive(), fixture.index());
        let expected = [
            "mcp",
            "--archive",
            archive.to_str().expect("UTF-8"),
            "--index",
            index.to_str().expect("UTF-8"),
            "--user=ada",
            "--tools=search_reasoning",
        ];
        assert_eq!(args, expected, "{host}");
        let has_type = matches!(host, "claude-code" | "cursor" | "vscode");
        assert_eq!(entry.get("type"), has_type.then(|| json!("stdio")).as_ref(), "{host}");
        let mut client = Client::start(Command::new(command).args(args)).greeted();
        let tools = client.ask("tools/list", &json!({}));
        assert_eq!(tools["result"]["tools"][0]["name"], "search_reasoning", "{host}");
        assert_eq!(client.close(), Some(0), "{host}");
    }
}

#[test]
fn an_archive_that_is_not_there_yet_is_told_and_a_relative_path_made_whole() {
    let fixture = Fixture::new();
    let ran = fixture.aft(&["mcp", "--print-config", "cursor", "--archive", "some where/state.db"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let archive = entry("cursor", &ran.stdout)["args"][2].clone();
    let archive = archive.as_str().expect("a path");
    assert!(archive.starts_with('/') && archive.ends_with("/some where/state.db"), "{archive}");
    assert!(ran.stderr.contains("there is no archive at"), "{ran:?}");
    let other = fixture.aft(&["mcp", "--print-config", "emacs"]);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.stderr.contains("hermes, claude-code, claude-desktop, cursor, codex, vscode"), "{other:?}");
}
