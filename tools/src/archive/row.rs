//! Sessions and messages before they are rows. Holds bad values as readily as good ones:
//! real archives have both.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use serde_json::json;

use super::python_json;
use crate::random;

/// 2026-01-01 00:00 UTC, when rows start that name no time of their own.
pub(crate) const EPOCH: f64 = 1_767_225_600.0;

/// One value as the file holds it. Unlike [`Value`], its text may be invalid UTF-8.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Any well-formed SQL value.
    Value(Value),
    /// Bytes stored with the type TEXT, as a cut-off write leaves them.
    RawText(Vec<u8>),
}

impl Cell {
    /// The SQL NULL.
    pub const NULL: Cell = Cell::Value(Value::Null);

    /// Returns the text, or an empty string for anything else.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Cell::Value(Value::Text(text)) => text,
            _ => "",
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Value(Value::Text(text.to_owned()))
    }
}

impl<T: Into<Value>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        Cell::Value(value.map_or(Value::Null, Into::into))
    }
}

macro_rules! cell_from {
    ($($kind:ty)*) => {$(
        impl From<$kind> for Cell {
            fn from(value: $kind) -> Cell {
                Cell::Value(value.into())
            }
        }
    )*};
}
cell_from!(String f64 i64 Vec<u8> Value);

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Cell::Value(value) => value.to_sql(),
            Cell::RawText(bytes) => Ok(ToSqlOutput::Borrowed(ValueRef::Text(bytes))),
        }
    }
}

/// One row of `sessions`. Columns the shape does not have are left out when it is written.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each field is the column of its name")]
pub struct Session {
    pub id: String,
    pub source: String,
    pub title: Option<String>,
    pub user_id: Option<String>,
    pub model: Option<String>,
    /// JSON, or not: broken text is stored as it is.
    pub model_config: Option<String>,
    pub parent_session_id: Option<String>,
    pub cwd: Option<String>,
    pub git_branch: Option<String>,
    pub git_repo_root: Option<String>,
    pub archived: bool,
    pub started_at: f64,
    pub ended_at: Option<f64>,
    pub end_reason: Option<String>,
}

impl Default for Session {
    /// An empty id, from the command line, started with the year 2026.
    fn default() -> Session {
        Session {
            id: String::new(),
            source: "cli".to_owned(),
            title: None,
            user_id: None,
            model: None,
            model_config: None,
            parent_session_id: None,
            cwd: None,
            git_branch: None,
            git_repo_root: None,
            archived: false,
            started_at: EPOCH,
            ended_at: None,
            end_reason: None,
        }
    }
}

impl Session {
    /// Returns a session with this id and nothing else.
    #[must_use]
    pub fn new(id: &str) -> Session {
        Session { id: id.to_owned(), ..Session::default() }
    }
}

/// One row of `messages`. Columns the shape does not have are left out when it is written.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each field is the column of its name")]
pub struct Message {
    /// The row id; `None` takes the next one, as the agent does.
    pub id: Option<i64>,
    pub role: String,
    pub content: Cell,
    pub tool_name: Option<String>,
    /// The column's raw text; [`Message::with_call`] writes the usual form.
    pub tool_calls: Option<String>,
    pub tool_call_id: Option<String>,
    pub reasoning: Option<String>,
    pub reasoning_content: Option<String>,
    /// The column's raw text, a JSON list.
    pub reasoning_details: Option<String>,
    /// The column's raw text, a JSON list.
    pub codex_reasoning_items: Option<String>,
    /// The column's raw text, a JSON list.
    pub codex_message_items: Option<String>,
    /// `None` is one second after the row written before.
    pub timestamp: Option<Cell>,
    pub active: bool,
    pub compacted: bool,
    pub display_kind: Option<String>,
}

impl Default for Message {
    /// A live user row without content.
    fn default() -> Message {
        Message {
            id: None,
            role: "user".to_owned(),
            content: Cell::NULL,
            tool_name: None,
            tool_calls: None,
            tool_call_id: None,
            reasoning: None,
            reasoning_content: None,
            reasoning_details: None,
            codex_reasoning_items: None,
            codex_message_items: None,
            timestamp: None,
            active: true,
            compacted: false,
            display_kind: None,
        }
    }
}

impl Message {
    /// Returns a row of any role and content.
    #[must_use]
    pub fn new(role: &str, content: impl Into<Cell>) -> Message {
        Message { role: role.to_owned(), content: content.into(), ..Message::default() }
    }

    /// Returns what a person said.
    #[must_use]
    pub fn user(text: &str) -> Message {
        Message::new("user", text)
    }

    /// Returns what the agent answered.
    #[must_use]
    pub fn assistant(text: &str) -> Message {
        Message::new("assistant", text)
    }

    /// Returns an agent's row with reasoning and nothing else.
    #[must_use]
    pub fn thought(reasoning: &str) -> Message {
        Message::new("assistant", "").with_reasoning(reasoning)
    }

    /// Returns the output of a tool.
    #[must_use]
    pub fn tool(name: &str, output: &str) -> Message {
        Message { tool_name: Some(name.to_owned()), ..Message::new("tool", output) }
    }

    /// Sets the time, in Unix seconds.
    #[must_use]
    pub fn at(mut self, seconds: f64) -> Message {
        self.timestamp = Some(seconds.into());
        self
    }

    /// Sets the reasoning, in both columns as the agent stores it.
    #[must_use]
    pub fn with_reasoning(mut self, text: &str) -> Message {
        self.reasoning = Some(text.to_owned());
        self.reasoning_content = Some(text.to_owned());
        self
    }

    /// Adds a tool call, encoded twice: the arguments are a JSON text inside JSON, both in ASCII.
    #[must_use]
    pub fn with_call(mut self, name: &str, arguments: &serde_json::Value) -> Message {
        let arguments = python_json(arguments);
        let before = self.tool_calls.take().unwrap_or_default();
        let salt = random::seed(&format!("{before}{name}{arguments}")) & 0xFFFF_FFFF_FFFF;
        let id = format!("call_{salt:012x}");
        let call = python_json(&json!({
            "id": id, "call_id": id, "type": "function",
            "function": {"name": name, "arguments": arguments},
        }));
        self.tool_calls = Some(match before.strip_suffix(']') {
            Some(before) => format!("{before}, {call}]"),
            None => format!("[{call}]"),
        });
        self
    }

    /// Makes this tool row the answer to the last call of `message`.
    #[must_use]
    pub fn answering(mut self, message: &Message) -> Message {
        self.tool_call_id = message.call_id();
        self
    }

    /// Sets the content to a list of parts, in the agent's encoding: a NUL, `json:`, ASCII JSON.
    #[must_use]
    pub fn with_parts(mut self, parts: &serde_json::Value) -> Message {
        self.content = format!("\0json:{}", python_json(parts)).into();
        self
    }

    fn call_id(&self) -> Option<String> {
        let calls: serde_json::Value = serde_json::from_str(self.tool_calls.as_deref()?).ok()?;
        Some(calls.as_array()?.last()?.get("id")?.as_str()?.to_owned())
    }

    pub(crate) fn calls_count(&self) -> u64 {
        let calls = self.tool_calls.as_deref().map(serde_json::from_str::<serde_json::Value>);
        match calls {
            Some(Ok(serde_json::Value::Array(calls))) => calls.iter().map(|_| 1).sum(),
            Some(_) => 1,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_encoded_twice() {
        let message = Message::assistant("").with_call("terminal", &json!({"command": "echo 部署"}));
        let raw = message.tool_calls.clone().expect("a call");
        assert!(raw.contains(r#""arguments": "{\"command\": \"echo \\u90e8\\u7f72\"}""#), "{raw}");
        let both = message.with_call("read_file", &json!({"path": "a"}));
        assert_eq!(both.calls_count(), 2);
        assert_eq!(Message::tool("read_file", "x").answering(&both).tool_call_id, both.call_id());
    }

    #[test]
    fn parts_carry_the_agents_prefix() {
        let message = Message::user("").with_parts(&json!([{"type": "text", "text": "请"}]));
        assert_eq!(message.content.text(), "\0json:[{\"type\": \"text\", \"text\": \"\\u8bf7\"}]");
    }
}
