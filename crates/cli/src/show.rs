//! `aft show`: one message, whole, with its neighbours.

use afterthought::{Engine, MessageView, Opening, Origin};

use crate::args::{Global, Show};
use crate::fail::Failure;
use crate::paint::{BOLD, DIM, color, local_time, printable, push_lines, styled, width};
use crate::paths;
use crate::session::push_session;
use crate::stdout::{print_json, print_text};

pub(crate) fn run(global: &Global, args: &Show) -> Result<u8, Failure> {
    let mut options = paths::options(global)?;
    options.index = Opening::Existing;
    let shown = Engine::open(&options)?.show(args.id, args.context)?;
    if global.json {
        print_json(&shown)?;
        return Ok(0);
    }
    let mut text = String::new();
    push_session(&mut text, &shown.session);
    for message in &shown.messages {
        push_message(&mut text, message, message.message_id == shown.message_id && shown.messages.len() > 1);
    }
    print_text(&text)?;
    Ok(0)
}

/// Appends a message: who, when and where, then what was thought, said and done.
pub(crate) fn push_message(text: &mut String, message: &MessageView, is_asked: bool) {
    let mark = if is_asked { "▶ " } else { "" };
    let place = match message.index {
        Some(index) => format!("[{index}]"),
        None => "outside its session's list".to_owned(),
    };
    let facts = format!("{}  {place} #{}", local_time(message.timestamp.as_deref()), message.message_id);
    *text += &format!("\n{mark}{} {}\n", styled(&message.role, BOLD), styled(&facts, DIM));
    let output = if message.role == "tool" { Origin::Saw } else { Origin::Said };
    let parts = [
        (Origin::Thought, &message.reasoning),
        (output, &message.content),
        (Origin::Did, &message.tool_calls),
    ];
    for (origin, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        let tool = if origin == Origin::Saw { format!(" {}", message.tool_name) } else { String::new() };
        *text += &format!("  {}{}\n", styled(origin.name(), color(origin)), styled(&tool, DIM));
        push_lines(text, &printable(part), "    ", width());
    }
}
