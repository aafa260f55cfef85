//! Messages that hold anything in every field.

use afterthought::model::{Message, RowState};
use arbitrary::Arbitrary;

use crate::Text;

/// One message.
#[derive(Arbitrary, Debug)]
pub struct Said {
    role: Role,
    content: Text,
    reasoning: Text,
    tool_name: Text,
    tool_calls: Text,
    timestamp_ms: Option<i64>,
    state: u8,
}

/// Who wrote a message.
#[derive(Arbitrary, Debug)]
pub enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// Nobody: what is known of the session.
    SessionMeta,
    /// Anybody else.
    Other(String),
}

impl Said {
    /// Returns the message, as part of no session.
    #[must_use]
    pub fn message(&self) -> Message {
        // Most messages are seen by most searches.
        let state = self.state % 8;
        let state =
            RowState { active: !matches!(state, 1 | 2 | 4), compacted: state == 2, hidden: state == 3 };
        Message {
            role: self.role.name(),
            content: self.content.write(),
            reasoning: self.reasoning.write(),
            tool_name: self.tool_name.write(),
            tool_calls: self.tool_calls.write(),
            timestamp_ms: self.timestamp_ms,
            state,
            ..Message::default()
        }
    }
}

impl Role {
    /// Returns the name that an archive has for it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::User => "user".to_owned(),
            Self::Assistant => "assistant".to_owned(),
            Self::Tool => "tool".to_owned(),
            Self::SessionMeta => "session_meta".to_owned(),
            Self::Other(name) => name.clone(),
        }
    }
}
