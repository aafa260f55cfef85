//! The tool `session_search` of Hermes, offered where it is asked for: its answers are those of
//! [`afterthought_hermes`], as JSON in both forms, since that is what its callers read.

use std::sync::{Arc, LazyLock};

use afterthought::Options;
use afterthought_hermes::{CONTRACT, Config, Recall};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::Value;

use afterthought_hermes::LazyEngine;

pub(crate) const NAME: &str = "session_search";

/// The tool, as its contract describes it.
pub(crate) static TOOL: LazyLock<Tool> =
    LazyLock::new(|| serde_json::from_str(CONTRACT).expect("the file is constant"));

/// Makes what answers over the archive of these options, by the engine that the other tools ask, and over the
/// profiles around it. Opens nothing yet.
pub(crate) fn recall(options: &Options, engine: Arc<LazyEngine>) -> Recall {
    let config = Config {
        user: options.user.clone(),
        allow_copy: options.allow_copy,
        ..Config::of_archive(&options.archive, &options.index_root)
    };
    Recall::beside(config, engine)
}

pub(crate) fn call(recall: &Recall, given: &JsonObject) -> CallToolResult {
    let answer = recall.call(given);
    let text = vec![ContentBlock::text(answer.to_string())];
    let mut result = match answer["success"] {
        Value::Bool(true) => CallToolResult::structured(answer),
        _ => CallToolResult::structured_error(answer),
    };
    result.content = text;
    result
}
