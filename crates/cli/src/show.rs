//! `aft show`: one message, whole, with its neighbours.

use afterthought::{Engine, MessageView, Opening};

use crate::args::{Global, Show};
use crate::fail::Failure;
use crate::paths;
use crate::stdout::{print_json, print_text};

pub(crate) fn run(global: &Global, args: &Show) -> Result<u8, Failure> {
    let mut options = paths::options(global)?;
    options.index = Opening::Existing;
    let shown = Engine::open(&options)?.show(args.id, args.context)?;
    if global.json {
        print_json(&shown)?;
        return Ok(0);
    }
    let title = shown.session.title.as_deref().unwrap_or("(no title)");
    let mut text = format!("session {} · {} · {title}\n", shown.session.id, shown.session.source);
    for message in &shown.messages {
        text += &as_text(message, message.message_id == shown.message_id && shown.messages.len() > 1);
    }
    print_text(&text)?;
    Ok(0)
}

fn as_text(message: &MessageView, is_asked: bool) -> String {
    let mark = if is_asked { "▶" } else { " " };
    let time = message.timestamp.as_deref().unwrap_or("time unknown");
    let hidden = if message.visible { "" } else { " · taken back" };
    let mut text = format!("\n{mark} #{} · {} · {time}{hidden}\n", message.message_id, message.role);
    let saw = message.role == "tool";
    let parts = [
        ("thought", &message.reasoning),
        (if saw { "saw" } else { "said" }, &message.content),
        ("did", &message.tool_calls),
    ];
    for (name, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        let tool = if saw && name == "saw" { format!(" ({})", message.tool_name) } else { String::new() };
        text += &format!("  {name}{tool}:\n");
        for line in part.lines() {
            text += &format!("    {}\n", printable(line));
        }
    }
    text
}

/// A terminal must not be steered by what an archive holds.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}
