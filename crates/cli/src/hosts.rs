//! What the programs that start MCP servers want to read: one snippet for each, as its own documentation has it.

use std::path::Path;

use afterthought::Layout;
use serde_json::{Value, json};

use crate::args::{Global, Host, Mcp};
use crate::config::{Origin, layout, settings};
use crate::fail::{Failure, quoted};
use crate::stdout::print_text;

/// What starts our server.
struct Start {
    command: String,
    args: Vec<String>,
}

/// Prints the snippet; where it goes is told beside.
pub(crate) fn print(global: &Global, args: &Mcp, host: Host) -> Result<u8, Failure> {
    let start = Start::of(global, args)?;
    print_text(&start.snippet(host)?)?;
    tell!("{}", start.place(host));
    Ok(0)
}

impl Start {
    /// Names everything by its whole path: hosts start servers wherever they like, and keep their environment
    /// to themselves.
    fn of(global: &Global, asked: &Mcp) -> Result<Self, Failure> {
        let [archive, index] = settings(global)?;
        if !archive.value.exists() {
            tell!("aft: note: there is no archive at {} yet", archive.value.display());
        }
        let mut args = vec!["mcp".to_owned(), "--archive".to_owned(), whole(&archive.value)?];
        if index.origin != Origin::Default {
            args.extend(["--index".to_owned(), whole(&index.value)?]);
        }
        if let Some(layout) = layout(global)? {
            let is_name = Layout::is_name(&layout.value);
            let value = if is_name { layout.value.display().to_string() } else { whole(&layout.value)? };
            args.extend(["--layout".to_owned(), value]);
        }
        if global.allow_copy {
            args.push("--allow-copy".to_owned());
        }
        // In one word each, so that a value may begin with a dash.
        args.extend(asked.user.iter().map(|user| format!("--user={user}")));
        if !asked.tools.is_empty() {
            args.push(format!("--tools={}", asked.tools.join(",")));
        }
        Ok(Self { command: whole(&std::env::current_exe()?)?, args })
    }

    fn snippet(&self, host: Host) -> Result<String, Failure> {
        let Self { command, args } = self;
        let plain = json!({"command": command, "args": args});
        let typed = json!({"type": "stdio", "command": command, "args": args});
        let snippet = match host {
            Host::ClaudeDesktop => json!({"mcpServers": {"afterthought": plain}}),
            Host::ClaudeCode | Host::Cursor => json!({"mcpServers": {"afterthought": typed}}),
            Host::Vscode => json!({"servers": {"afterthought": typed}}),
            Host::Codex => {
                let table = json!({"mcp_servers": {"afterthought": plain}});
                return toml::to_string(&table).map_err(|error| Failure::Usage(error.to_string()));
            }
            // A list of quoted texts is the same in YAML as in JSON.
            Host::Hermes => {
                let (command, args) = (json!(command), json!(args));
                return Ok(format!(
                    "mcp_servers:\n  afterthought:\n    command: {command}\n    args: {args}\n"
                ));
            }
        };
        Ok(pretty(&snippet)? + "\n")
    }

    /// Says where the snippet goes, and the command that puts it there where the host has one.
    fn place(&self, host: Host) -> String {
        let (file, command) = match host {
            Host::Hermes => (
                "~/.hermes/config.yaml ($HERMES_HOME/config.yaml); then /reload-mcp, or start Hermes again",
                None,
            ),
            Host::ClaudeCode => {
                (".mcp.json at the root of a project", Some("claude mcp add --scope user afterthought -- "))
            }
            Host::ClaudeDesktop => (
                "claude_desktop_config.json, in ~/Library/Application Support/Claude on macOS, \
                 %APPDATA%\\Claude on Windows, ~/.config/Claude on Linux; then start Claude again",
                None,
            ),
            Host::Cursor => ("~/.cursor/mcp.json, or .cursor/mcp.json of a project", None),
            Host::Codex => ("~/.codex/config.toml", Some("codex mcp add afterthought -- ")),
            Host::Vscode => {
                (".vscode/mcp.json of a workspace; for all of them: MCP: Open User Configuration", None)
            }
        };
        let words = std::iter::once(&self.command).chain(&self.args);
        let line = words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let command = command.map(|command| format!("; or, everywhere, type:\n  {command}{line}"));
        format!("goes into {file}{}", command.unwrap_or_default())
    }
}

fn whole(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path)?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Usage(format!("{} is not UTF-8, as configurations are", path.display())))
}

fn pretty(snippet: &Value) -> Result<String, Failure> {
    serde_json::to_string_pretty(snippet).map_err(|error| Failure::Io(error.into()))
}
