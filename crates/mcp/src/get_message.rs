//! The tool `get_message`: one message as it was written, with its neighbours.

use afterthought::{Result, Warning};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::json;

use crate::answer::{Answer, push_notes};
use crate::arguments::read;
use crate::budget::{Budget, MESSAGES};
use crate::messages::{Messages, named, push_session};
use afterthought_hermes::LazyEngine;

pub(crate) const NAME: &str = "get_message";

/// The parameters, as `schema/mcp.json` describes them.
#[derive(Deserialize)]
struct Arguments {
    id: i64,
    before: usize,
    after: usize,
    offset_chars: usize,
    max_tokens: usize,
}

pub(crate) fn call(engine: &LazyEngine, schema: &JsonObject, given: JsonObject) -> Result<Answer> {
    let Arguments { id, before, after, offset_chars, max_tokens } = read(schema, given)?;
    let budget = Budget::of(max_tokens);
    let (shown, mut warnings) = engine.fresh(|ready| {
        let warnings = ready.warnings()?;
        Ok((ready.found(ready.engine.show_between(id, before, after))?, warnings))
    })?;
    let session = named(shown.session);
    let messages = Messages::around(shown.messages, id, offset_chars);
    if messages.is_past_the_end() {
        let message = format!("the message has no character {offset_chars}");
        warnings.push(Warning::new("past-the-end", message));
    }
    messages.fit(budget, |part| {
        let (messages, truncated) = part.structured()?;
        let structured = json!({
            "schema_version": 1, "message_id": id, "offset_chars": offset_chars, "session": session,
            "messages": messages, "truncated": truncated, "warnings": warnings,
        });
        let mut text = String::new();
        push_session(&mut text, &session);
        push_notes(&mut text, &warnings);
        part.cut.push(&mut text, MESSAGES, budget);
        part.push(&mut text);
        Ok(Answer { structured, text })
    })
}
