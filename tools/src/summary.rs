//! Counts what an archive holds. Reads rows, never changes them.

use rusqlite::Connection;

/// What one written archive holds, for a table in a report or a check in a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows of `sessions`.
    pub sessions: u64,
    /// Rows of `messages`, taken-back and compacted ones included.
    pub messages: u64,
    /// Messages that carry any reasoning.
    pub with_reasoning: u64,
    /// Messages that carry reasoning, no content and no tool call.
    pub reasoning_only: u64,
    /// Characters of `content`.
    pub chars_content: u64,
    /// Characters of `reasoning`; the copy in `reasoning_content` is not counted again.
    pub chars_reasoning: u64,
}

impl Summary {
    /// Counts one message.
    pub(crate) fn add(&mut self, content: &str, reasoning: &str, has_call: bool) {
        self.messages += 1;
        self.chars_content += chars(content);
        self.chars_reasoning += chars(reasoning);
        if !reasoning.is_empty() {
            self.with_reasoning += 1;
            self.reasoning_only += u64::from(content.is_empty() && !has_call);
        }
    }

    /// Counts a small archive row by row, so that later mutations are counted as they ended.
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Summary> {
        let sessions: i64 = connection.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?;
        let mut summary = Summary { sessions: sessions.unsigned_abs(), ..Summary::default() };
        let mut rows = connection.prepare(
            "SELECT COALESCE(content, ''), COALESCE(reasoning, ''), tool_calls IS NOT NULL FROM messages",
        )?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let (content, reasoning): (String, String) = (row.get(0)?, row.get(1)?);
            summary.add(&content, &reasoning, row.get(2)?);
        }
        Ok(summary)
    }
}

fn chars(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}
