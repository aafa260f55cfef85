//! What a call gives back: JSON for programs and the same as text for models.

use afterthought::{Error, ErrorView};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// A tool's answer, said twice.
pub(crate) struct Answer {
    pub(crate) structured: Value,
    pub(crate) text: String,
}

pub(crate) fn answered(answer: Answer) -> CallToolResult {
    let mut result = CallToolResult::structured(answer.structured);
    result.content = vec![ContentBlock::text(answer.text)];
    result
}

/// Returns an error as a result, which models get to see; errors of the protocol often stay with
/// the client.
pub(crate) fn refused(error: &Error) -> CallToolResult {
    let view = ErrorView::from(error);
    let hint = view.hint.as_ref().map_or_else(String::new, |hint| format!("\n{hint}"));
    let again = if view.retryable { "\nThe same call may succeed a little later." } else { "" };
    let text = format!("{}: {}{hint}{again}", view.kind.name(), view.message);
    let mut result = CallToolResult::structured_error(json!({ "error": view }));
    result.content = vec![ContentBlock::text(text)];
    result
}
