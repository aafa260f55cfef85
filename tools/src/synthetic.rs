//! Streams a large archive: Zipf text with the proportions of the one archive whose figures were
//! published. Nothing in it means anything; what is found is known because it was planted.
//!
//! The figures (NousResearch/hermes-agent issue #109092): of 289,433 rows 21.1 % carry reasoning
//! and 7.8 % carry nothing else; 1.06 KB of content and 0.33 KB of reasoning a row.

mod text;
mod words;

use std::path::Path;

use serde_json::json;

use crate::archive::{Fts, Message, Session, Shape, Writer, session_id};
use crate::random::Random;
use crate::{Planted, Summary};
use text::Text;
pub use words::vocabulary;

const REASONING_PER_MILLE: u64 = 211;
const REASONING_ONLY_PER_MILLE: u64 = 78;
/// One commit holds this many rows at least: enough that commits cost nothing.
const BATCH_ROWS_MIN: u64 = 20_000;
/// Tokens of each kind to plant in a large archive, and the rows between two in a small one.
const PLANTED_MAX: u64 = 400;
const PLANTED_GAP_MIN: u64 = 50;

/// Writes an archive of exactly `rows` messages without any full-text table.
///
/// Every so often a row gets a token that stands nowhere else: `needle########` only in
/// reasoning, `marker########` only in content. Fails if `path` already is an archive. Runs at
/// more than 50,000 rows a second when optimised; a crash meanwhile leaves a file to throw away.
pub fn write(path: &Path, shape: Shape, rows: u64, seed: u64) -> rusqlite::Result<Summary> {
    let mut writer = Writer::create(path, shape, Fts::None)?;
    // No journal and no sync: half a file has no value, and each would write it all twice.
    writer.connection().pragma_update(None, "journal_mode", "OFF")?;
    writer.connection().pragma_update(None, "synchronous", "OFF")?;
    writer.connection().pragma_update(None, "cache_size", -65_536)?;
    let mut stream = Stream::new(rows, seed);
    while stream.summary.messages < rows {
        writer.transaction(|writer| stream.batch(writer))?;
    }
    writer.connection().pragma_update(None, "journal_mode", "WAL")?;
    writer.close()?;
    Ok(stream.summary)
}

struct Stream {
    random: Random,
    text: Text,
    summary: Summary,
    rows: u64,
    planted_gap: u64,
    calls: u64,
    needle_due: u64,
    marker_due: u64,
    /// Unix seconds of the last session's start, and of the last row.
    started: u32,
    clock: u32,
    session: String,
}

const SOURCES: &[(u64, &str)] = &[
    (34, "cli"),
    (20, "telegram"),
    (18, "cron"),
    (8, "discord"),
    (8, "tui"),
    (8, "subagent"),
    (2, "acp"),
    (2, "tool"),
];

/// Lengths of sessions: most are short, most rows are in long ones.
const SESSION_ROWS: &[(u64, (u64, u64))] =
    &[(45, (4, 12)), (38, (13, 50)), (14, (51, 200)), (3, (201, 1_000))];

/// Characters of a tool's output: a long tail carries most of the archive's text.
const OUTPUT_CHARS: &[(u64, (u64, u64))] =
    &[(40, (40, 200)), (34, (200, 2_000)), (18, (2_000, 8_000)), (8, (8_000, 26_000))];

const REASONING_CHARS: &[(u64, (u64, u64))] = &[(50, (150, 850)), (35, (900, 2_400)), (15, (2_500, 7_000))];

const TOOLS: &[&str] = &[
    "terminal",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "web_search",
    "web_extract",
    "memory",
    "todo",
];

impl Stream {
    fn new(rows: u64, seed: u64) -> Stream {
        let planted_gap = (rows / PLANTED_MAX).max(PLANTED_GAP_MIN);
        Stream {
            random: Random::new(seed),
            text: Text::new(seed),
            summary: Summary::default(),
            rows,
            planted_gap,
            calls: 0,
            needle_due: planted_gap / 2,
            marker_due: planted_gap / 2,
            started: 1_759_300_000,
            clock: 0,
            session: String::new(),
        }
    }

    fn batch(&mut self, writer: &mut Writer) -> rusqlite::Result<()> {
        let end = self.rows.min(self.summary.messages + BATCH_ROWS_MIN);
        while self.summary.messages < end {
            self.session(writer)?;
        }
        Ok(())
    }

    fn session(&mut self, writer: &mut Writer) -> rusqlite::Result<()> {
        self.started += self.seconds(600, 3_000);
        self.clock = self.started;
        self.session = session_id(u64::from(self.started), self.random.bits());
        let number = self.summary.sessions;
        let source = self.random.weighted(SOURCES);
        let repo = format!("/home/dev/src/{}", self.text.word());
        let title = format!("{} {} {number}", self.text.word(), self.text.word());
        writer.session(&Session {
            source: source.to_owned(),
            title: Some(title).filter(|_| source != "cron"),
            user_id: Some(format!("u{}", number % 5)).filter(|_| source == "telegram"),
            model: Some(self.random.pick(&["m-large", "m-small"]).to_owned()),
            cwd: Some(repo.clone()),
            git_branch: Some(format!("fix/{}", self.text.word())),
            git_repo_root: Some(repo),
            started_at: f64::from(self.started),
            ..Session::new(&self.session)
        })?;
        self.summary.sessions += 1;
        let (low, high) = self.random.weighted(SESSION_ROWS);
        let end = self.rows.min(self.summary.messages + self.random.between(low, high));
        let (first, calls) = (self.summary.messages, self.calls);
        while self.summary.messages < end {
            self.turn(writer, end)?;
        }
        // Once a session, not once a row as the agent does it: the end is the same.
        writer.set_counts(&self.session, self.summary.messages - first, self.calls - calls)
    }

    /// A question, some calls with their outputs, an answer; cut off where the session ends.
    fn turn(&mut self, writer: &mut Writer, end: u64) -> rusqlite::Result<()> {
        let question = self.prose(30, 330);
        self.put(writer, Message::new("user", question))?;
        for _ in 0..self.random.between(1, 8) {
            if self.summary.messages + 3 > end {
                break;
            }
            if self.is_short_of(self.summary.reasoning_only, REASONING_ONLY_PER_MILLE, 50) {
                let reasoning = self.reasoning();
                self.put(writer, Message::thought(&reasoning))?;
            }
            let call = self.call();
            let output = self.output(&call);
            self.put(writer, call)?;
            self.put(writer, output)?;
        }
        if self.summary.messages < end {
            let answer = self.prose(100, 1_300);
            let answer = self.with_due_reasoning(Message::new("assistant", answer));
            self.put(writer, answer)?;
        }
        Ok(())
    }

    fn call(&mut self) -> Message {
        let note = if self.random.percent(50) { self.prose(20, 140) } else { String::new() };
        let has_note = !note.is_empty();
        let mut message = Message::new("assistant", note);
        if has_note {
            message = self.with_due_reasoning(message);
        }
        let (path, command) = (self.text.path(), self.prose(10, 160));
        message.with_call(self.random.pick(TOOLS), &json!({"path": path, "command": command}))
    }

    fn output(&mut self, call: &Message) -> Message {
        let (low, high) = self.random.weighted(OUTPUT_CHARS);
        let chars = self.random.between(low, high);
        let output = self.text.lines(&mut self.random, chars);
        let tool_name = Some(self.random.pick(TOOLS).to_owned());
        Message { tool_name, ..Message::new("tool", output) }.answering(call)
    }

    fn prose(&mut self, low: u64, high: u64) -> String {
        let chars = self.random.between(low, high);
        self.text.prose(&mut self.random, chars)
    }

    fn reasoning(&mut self) -> String {
        let (low, high) = self.random.weighted(REASONING_CHARS);
        self.prose(low, high)
    }

    fn with_due_reasoning(&mut self, message: Message) -> Message {
        if self.is_short_of(self.summary.with_reasoning, REASONING_PER_MILLE, 75) {
            let reasoning = self.reasoning();
            return message.with_reasoning(&reasoning);
        }
        message
    }

    /// Whether `count` lags behind its share. The coin keeps the rows from falling into step;
    /// the comparison keeps the share exact however the coin falls.
    fn is_short_of(&mut self, count: u64, per_mille: u64, percent: u64) -> bool {
        count * 1_000 < self.summary.messages * per_mille && self.random.percent(percent)
    }

    fn put(&mut self, writer: &mut Writer, message: Message) -> rusqlite::Result<()> {
        self.clock += self.seconds(1, 40);
        let message = self.plant(message).at(f64::from(self.clock));
        let reasoning = message.reasoning.as_deref().unwrap_or_default();
        self.summary.add(message.content.text(), reasoning, message.tool_calls.is_some());
        self.calls += u64::from(message.tool_calls.is_some());
        let id = writer.insert(&self.session, &message)?;
        debug_assert_eq!(u64::try_from(id), Ok(self.summary.messages));
        Ok(())
    }

    fn plant(&mut self, mut message: Message) -> Message {
        // Ids of a new file count from 1 without a gap, so the next one is known before.
        let row = self.summary.messages + 1;
        if let Some(reasoning) = &message.reasoning
            && row >= self.needle_due
        {
            let reasoning = format!("{reasoning} It comes down to {}.", self.token("needle", row));
            self.needle_due = row + self.planted_gap;
            message = message.with_reasoning(&reasoning);
        } else if row >= self.marker_due && message.role != "tool" && !message.content.text().is_empty() {
            let token = self.token("marker", row);
            message.content = format!("{} Noted as {token}.", message.content.text()).into();
            self.marker_due = row + self.planted_gap;
        }
        message
    }

    fn token(&mut self, kind: &str, row: u64) -> String {
        let token = format!("{kind}{row:08}");
        self.summary.planted.push(Planted {
            token: token.clone(),
            message_id: i64::try_from(row).unwrap_or(i64::MAX),
            in_reasoning: kind == "needle",
        });
        token
    }

    fn seconds(&mut self, low: u64, high: u64) -> u32 {
        u32::try_from(self.random.between(low, high)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
