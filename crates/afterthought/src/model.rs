//! The words everything else speaks: messages, sessions, fields, origins, changes. No behaviour
//! beyond naming, and no knowledge of SQLite or tantivy.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// How an agent begins the summaries that compaction writes, now and in older versions.
const SUMMARY_STARTS: [&str; 2] = ["[CONTEXT COMPACTION", "[CONTEXT SUMMARY]"];

/// A message of the archive, decoded: what a person or a model could read of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// The row's id, unique in its archive.
    pub id: i64,
    /// The session it belongs to.
    pub session_id: String,
    /// `user`, `assistant`, `tool`, `system`, `session_meta`, or whatever an import wrote.
    pub role: String,
    /// The text that was said, or the output of a tool on a `tool` row.
    pub content: String,
    /// What the model thought: each text once, whichever column held it.
    pub reasoning: String,
    /// The name of the tool that answered.
    pub tool_name: String,
    /// The tools called: name and argument values as text, one line each.
    pub tool_calls: String,
    /// The exact names of the tools that were called or that answered, each once.
    pub tools: Vec<String>,
    /// When, in milliseconds since 1970; `None` where the archive holds no readable time.
    pub timestamp_ms: Option<i64>,
    /// Whether the row is live, compacted, hidden.
    pub state: RowState,
    /// The row could be read only in part; the rest was replaced or left out.
    pub damaged: bool,
}

impl Message {
    /// Returns the text of one field as it is indexed; empty where the row has none.
    #[must_use]
    pub fn text(&self, field: Field) -> &str {
        let is_tool_row = self.role == "tool";
        match field {
            Field::Content if !is_tool_row => &self.content,
            Field::ToolOutput if is_tool_row => &self.content,
            Field::Reasoning => &self.reasoning,
            Field::ToolName => &self.tool_name,
            Field::ToolCalls => &self.tool_calls,
            Field::Content | Field::ToolOutput | Field::Title => "",
        }
    }

    /// Tells whether compaction wrote the row as a summary of earlier ones.
    #[must_use]
    pub fn is_summary(&self) -> bool {
        let by_compaction = matches!(self.role.as_str(), "user" | "assistant" | "system");
        by_compaction && SUMMARY_STARTS.iter().any(|start| self.content.trim_start().starts_with(start))
    }

    /// Returns the size of the indexed text, in bytes.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.content.len() + self.reasoning.len() + self.tool_name.len() + self.tool_calls.len()
    }
}

/// Whether a row is part of the conversation, by the archive's own flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowState {
    /// Part of the live conversation.
    pub active: bool,
    /// Summarised away by compaction, and still part of the record.
    pub compacted: bool,
    /// Scaffolding that no person ever saw.
    pub hidden: bool,
}

impl Default for RowState {
    fn default() -> Self {
        Self { active: true, compacted: false, hidden: false }
    }
}

impl RowState {
    /// Tells whether a search shows the row without being asked for taken-back ones.
    #[must_use]
    pub fn visible(self) -> bool {
        (self.active || self.compacted) && !self.hidden
    }
}

/// A session of the archive: a conversation and where it took place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// The archive's id of the session.
    pub id: String,
    /// Where it came from: `cli`, `telegram`, `cron`, … (an open set).
    pub source: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// The person it belongs to, if recorded.
    pub user: Option<String>,
    /// The model, if recorded.
    pub model: Option<String>,
    /// The session it continues, branched from, or was delegated by.
    pub parent_id: Option<String>,
    /// Working folder.
    pub cwd: Option<String>,
    /// Root of the git checkout.
    pub git_root: Option<String>,
    /// Git branch.
    pub git_branch: Option<String>,
    /// Why it ended, if it did: `compression`, `session_reset`, … (an open set).
    pub end_reason: Option<String>,
    /// When it started, in milliseconds since 1970.
    pub started_ms: Option<i64>,
    /// Put away by the person; still searched.
    pub archived: bool,
    /// The archive has messages of this session and no row for it.
    pub orphan: bool,
}

/// A searchable field of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// What a person, the model or the system said.
    Content,
    /// What the model thought.
    Reasoning,
    /// Names and arguments of the tools called.
    ToolCalls,
    /// The name of the tool that answered.
    ToolName,
    /// What a tool answered.
    ToolOutput,
    /// A session's title.
    Title,
}

impl Field {
    /// Every field, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Content, Self::Reasoning, Self::ToolCalls, Self::ToolName, Self::ToolOutput, Self::Title];

    /// Returns the field's name in the index and on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Reasoning => "reasoning",
            Self::ToolCalls => "tool_calls",
            Self::ToolName => "tool_name",
            Self::ToolOutput => "tool_output",
            Self::Title => "title",
        }
    }

    /// Returns the field of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Returns how a match in this field came about.
    #[must_use]
    pub fn origin(self) -> Origin {
        match self {
            Self::Content => Origin::Said,
            Self::Reasoning => Origin::Thought,
            Self::ToolCalls | Self::ToolName => Origin::Did,
            Self::ToolOutput => Origin::Saw,
            Self::Title => Origin::Titled,
        }
    }
}

/// How a fact came to stand in the archive. A thought was considered, not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// In the words of a person, the model or the system.
    Said,
    /// In the model's reasoning.
    Thought,
    /// In the name or arguments of a tool call.
    Did,
    /// In a tool's output.
    Saw,
    /// In a session's title.
    Titled,
}

impl Origin {
    /// Every origin, in the order of help texts.
    pub const ALL: [Self; 5] = [Self::Said, Self::Thought, Self::Did, Self::Saw, Self::Titled];

    /// Returns the name on the wire and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Said => "said",
            Self::Thought => "thought",
            Self::Did => "did",
            Self::Saw => "saw",
            Self::Titled => "titled",
        }
    }

    /// Returns the origin of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.name() == name)
    }
}

/// What ranks behind ordinary messages: found as they are, and shown after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// In a session that a timer started.
    Cron,
    /// In a session that the agent or another program started for itself.
    Subagent,
    /// A summary that compaction wrote of earlier messages.
    Summary,
}

impl Tier {
    /// Every tier, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Cron, Self::Subagent, Self::Summary];

    /// Returns the tier of the sessions from a source; `None` for a person's.
    #[must_use]
    pub fn of_source(source: &str) -> Option<Self> {
        match source {
            "cron" => Some(Self::Cron),
            "subagent" | "tool" | "kanban" => Some(Self::Subagent),
            _ => None,
        }
    }

    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::Subagent => "subagent",
            Self::Summary => "summary",
        }
    }
}

/// What part of the archive a commit stands for; lives in the commit's payload, nowhere else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Layout of the index; another number is another format.
    pub format: u32,
    /// Fingerprint of the text analysis; another one needs a rebuild.
    pub analyzer: String,
    /// Every row of the archive has been mirrored at least once.
    pub complete: bool,
    /// Highest message id mirrored by a complete pass: the tail starts above it.
    pub id_max: i64,
    /// The number the next new session is given.
    pub session_next: u64,
    /// When the commit was made, in milliseconds since 1970.
    pub committed_ms: i64,
}

/// Counts of what a sync did. Every figure is work, never time, so tests can assert it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SyncStats {
    /// Message rows whose text was read from the archive.
    pub rows_read: u64,
    /// Rows read to tell whether the archive is still the one that was mirrored.
    pub rows_sampled: u64,
    /// Bytes of text in the rows that were read.
    pub text_bytes: u64,
    /// Message documents written.
    pub docs_added: u64,
    /// Message documents removed, replaced ones included.
    pub docs_removed: u64,
    /// Session documents written.
    pub sessions_written: u64,
    /// Commits made.
    pub commits: u64,
    /// Rows that could be read only in part.
    pub rows_damaged: u64,
}

impl AddAssign for SyncStats {
    fn add_assign(&mut self, more: Self) {
        self.rows_read += more.rows_read;
        self.rows_sampled += more.rows_sampled;
        self.text_bytes += more.text_bytes;
        self.docs_added += more.docs_added;
        self.docs_removed += more.docs_removed;
        self.sessions_written += more.sessions_written;
        self.commits += more.commits;
        self.rows_damaged += more.rows_damaged;
    }
}

/// Something the caller should know about an answer that is still an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable name, in kebab case.
    pub kind: &'static str,
    /// The same in a sentence.
    pub message: String,
}

impl Warning {
    /// Makes a warning.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// Boosts by field, in field order.
pub type Boosts = BTreeMap<Field, f32>;
