//! Plants words that stand nowhere else, so that a search has an answer that is known.

/// A column that a planted word stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `reasoning`, and its copy in `reasoning_content` where the schema has one.
    Reasoning,
    /// `content` of a person's or an agent's row.
    Content,
    /// `content` of a tool's row.
    Output,
    /// `tool_calls`.
    Call,
}

use Field::{Call, Content, Output, Reasoning};

/// A word that stands in exactly one field of exactly one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    /// The field's name for such words and the message's id in eight digits.
    pub token: String,
    /// Where it stands.
    pub field: Field,
    /// The message that holds it.
    pub message_id: i64,
    /// The message's role.
    pub role: String,
    /// The message's session.
    pub session_id: String,
    /// The session's source.
    pub source: String,
}

impl Field {
    /// Every field that words are planted in.
    pub const ALL: [Field; 4] = [Reasoning, Content, Output, Call];

    /// Returns the column's name.
    #[must_use]
    pub fn column(self) -> &'static str {
        match self {
            Reasoning => "reasoning",
            Content | Output => "content",
            Call => "tool_calls",
        }
    }

    /// Returns the word's place as a search names it.
    #[must_use]
    pub fn origin(self) -> &'static str {
        match self {
            Reasoning => "thought",
            Content => "said",
            Output => "saw",
            Call => "did",
        }
    }

    /// Returns what a planted word starts with; digits follow.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Reasoning => "needle",
            Content => "marker",
            Output => "finding",
            Call => "command",
        }
    }
}

/// Words of each field to plant in a large corpus, and the rows between two in a small one.
const PLANTED_MAX: u64 = 400;
const GAP_ROWS_MIN: u64 = 50;

/// Decides when the next word of each field is due.
pub(super) struct Planter {
    gap: u64,
    due: [u64; Field::ALL.len()],
}

impl Planter {
    pub(super) fn new(rows: u64) -> Planter {
        let gap = (rows / PLANTED_MAX).max(GAP_ROWS_MIN);
        Planter { gap, due: [gap / 2; Field::ALL.len()] }
    }

    /// Returns a word if one is due for this field at this row, and counts it as planted.
    pub(super) fn token(&mut self, field: Field, row: u64) -> Option<String> {
        let due = &mut self.due[field as usize];
        if row < *due {
            return None;
        }
        *due = row + self.gap;
        Some(format!("{}{row:08}", field.prefix()))
    }

    /// Returns the rows between two words of a field.
    pub(super) fn gap(&self) -> u64 {
        self.gap
    }
}
