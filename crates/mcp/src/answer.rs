//! What a call gives back: JSON for programs and the same as text for models.

use afterthought::{Error, ErrorKind, ErrorView, Result, Warning};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Value, json};

use crate::budget::clip;

/// Longest sentence of an error, in characters: what was given may be of any length.
const ERROR_CHARS_MAX: usize = 400;

/// A tool's answer, said twice.
pub(crate) struct Answer {
    pub(crate) structured: Value,
    pub(crate) text: String,
}

/// Returns an answer as JSON. By way of text: turned into a value at once, a score would have digits that it
/// has nowhere else.
pub(crate) fn as_json(answer: &impl Serialize) -> Result<Value> {
    serde_json::to_string(answer)
        .and_then(|text| serde_json::from_str(&text))
        .map_err(|error| Error::new(ErrorKind::Internal, "write", "the answer").because(error))
}

/// Says warnings to a model.
pub(crate) fn push_notes(text: &mut String, warnings: &[Warning]) {
    for warning in warnings {
        *text += &format!("note: {}\n", warning.message);
    }
}

pub(crate) fn answered(answer: Answer) -> CallToolResult {
    let mut result = CallToolResult::structured(answer.structured);
    result.content = vec![ContentBlock::text(answer.text)];
    result
}

/// Returns an error as a result, which models get to see; errors of the protocol often stay with
/// the client.
pub(crate) fn refused(error: &Error) -> CallToolResult {
    let mut view = ErrorView::from(error);
    clip(&mut view.message, ERROR_CHARS_MAX);
    // The library names commands; here they are tools and parameters.
    for (command, tool) in
        [("aft sessions", "list_sessions"), ("aft search", "search_messages"), ("--offset", "offset")]
    {
        view.hint = view.hint.map(|hint| hint.replace(command, tool));
    }
    let hint = view.hint.as_ref().map_or_else(String::new, |hint| format!("\n{hint}"));
    let again = if view.retryable { "\nThe same call may succeed a little later." } else { "" };
    let text = format!("{}: {}{hint}{again}", view.kind.name(), view.message);
    let mut result = CallToolResult::structured_error(json!({ "error": view }));
    result.content = vec![ContentBlock::text(text)];
    result
}
