//! What a corpus holds: counts, lengths and planted words, in memory that does not grow with it.

use serde_json::{Value, json};

use super::{HAN_WORD, HANGUL_WORD, KANA_WORD, Mix, Plan, Planted, RUSSIAN_WORD, vocabulary};
use crate::Summary;
use crate::archive::Message;

/// What one corpus holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was asked for.
    pub plan: Plan,
    /// Rows and characters.
    pub summary: Summary,
    /// Sessions of source `cron`.
    pub cron_sessions: u64,
    /// Rows of role `tool`.
    pub tool_rows: u64,
    /// Bytes of `content`, and those of sessions of source `cron`.
    pub bytes_content: u64,
    /// See `bytes_content`.
    pub bytes_content_cron: u64,
    /// Characters of `tool_calls`.
    pub chars_tool_calls: u64,
    /// Rows that repeat an earlier one with some words changed.
    pub repeated: u64,
    /// Some of these, with the rows they repeat.
    pub repeats: Vec<Repeat>,
    /// Lengths of texts in characters, by [`Report::LENGTHS`]; empty texts are left out but in the
    /// first and in outputs of tools.
    pub lengths: [Histogram; Report::LENGTHS.len()],
    /// Words that stand in one field of one row.
    pub planted: Vec<Planted>,
}

/// A row that repeats an earlier one with some words changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The later row.
    pub message_id: i64,
    /// The earlier one.
    pub of: i64,
}

impl Report {
    /// What [`Report::lengths`] counts, in its order.
    pub const LENGTHS: [&str; 7] =
        ["content", "user", "note", "answer", "reasoning", "tool_arguments", "tool_output"];

    pub(super) fn new(plan: &Plan) -> Report {
        Report {
            plan: plan.clone(),
            summary: Summary::default(),
            cron_sessions: 0,
            tool_rows: 0,
            bytes_content: 0,
            bytes_content_cron: 0,
            chars_tool_calls: 0,
            repeated: 0,
            repeats: Vec::new(),
            lengths: std::array::from_fn(|_| Histogram::default()),
            planted: Vec::new(),
        }
    }

    /// Counts one message of a session.
    pub(super) fn add(&mut self, message: &Message, source: &str) {
        let content = message.content.text();
        let reasoning = message.reasoning.as_deref().unwrap_or_default();
        self.summary.add(content, reasoning, message.tool_calls.is_some());
        self.tool_rows += u64::from(message.role == "tool");
        let bytes = u64::try_from(content.len()).expect("a text is far shorter than memory");
        self.bytes_content += bytes;
        self.bytes_content_cron += if source == "cron" { bytes } else { 0 };
        self.chars_tool_calls += chars(message.tool_calls.as_deref().unwrap_or_default());
        self.lengths[0].add(chars(content));
        let role = match (message.role.as_str(), message.tool_calls.is_some()) {
            ("user", _) => 1,
            ("tool", _) => 6,
            (_, true) => 2,
            (_, false) => 3,
        };
        if role == 6 || !content.is_empty() {
            self.lengths[role].add(chars(content));
        }
        if !reasoning.is_empty() {
            self.lengths[4].add(chars(reasoning));
        }
    }

    /// Counts the arguments of one call.
    pub(super) fn add_arguments(&mut self, arguments: &str) {
        self.lengths[5].add(chars(arguments));
    }

    /// Returns the figures without the lists.
    #[must_use]
    pub fn json(&self) -> Value {
        let summary = &self.summary;
        let per_row = |count: u64| ratio(count, summary.messages);
        let lengths = Report::LENGTHS.iter().zip(&self.lengths);
        json!({
            "shape": self.plan.mix.name(),
            "schema": self.plan.schema.version(),
            "seed": self.plan.seed,
            "rows": summary.messages,
            "sessions": summary.sessions,
            "rows_with_reasoning": summary.with_reasoning,
            "rows_reasoning_only": summary.reasoning_only,
            "tool_rows": self.tool_rows,
            "shares": {
                "rows_with_reasoning": per_row(summary.with_reasoning),
                "rows_reasoning_only": per_row(summary.reasoning_only),
                "tool_rows": per_row(self.tool_rows),
                "cron_bytes": ratio(self.bytes_content_cron, self.bytes_content),
                "cron_sessions": ratio(self.cron_sessions, summary.sessions),
                "repeated_rows": per_row(self.repeated),
            },
            "chars_content": summary.chars_content,
            "chars_reasoning": summary.chars_reasoning,
            "chars_tool_calls": self.chars_tool_calls,
            "bytes_content": self.bytes_content,
            "chars_content_per_row": per_row(summary.chars_content),
            "chars_reasoning_per_reasoning": ratio(summary.chars_reasoning, summary.with_reasoning),
            "longest_content_chars": self.lengths[0].max,
            "lengths": lengths.map(|(name, seen)| ((*name).to_owned(), seen.json())).collect::<Value>(),
            "repeated": self.repeated,
            "planted": self.planted.len(),
        })
    }

    /// Returns what is known about single words and rows, for a search to be judged by.
    #[must_use]
    pub fn truth(&self) -> Value {
        let planted = self.planted.iter().map(|planted| {
            json!({
                "token": planted.token,
                "field": planted.field.column(),
                "origin": planted.field.origin(),
                "message_id": planted.message_id,
                "role": planted.role,
                "session_id": planted.session_id,
                "source": planted.source,
            })
        });
        let repeats = self.repeats.iter().map(|pair| json!({"message_id": pair.message_id, "of": pair.of}));
        let words = vocabulary();
        json!({
            "shape": self.plan.mix.name(),
            "schema": self.plan.schema.version(),
            "seed": self.plan.seed,
            "rows": self.summary.messages,
            "words": {
                "common": words[0],
                "middle": [words[40], words[100], words[400]],
                "rare": words[20_000],
                "han": HAN_WORD,
                "russian": RUSSIAN_WORD,
                "japanese": KANA_WORD,
                "korean": HANGUL_WORD,
            },
            "planted": planted.collect::<Vec<_>>(),
            "repeats": repeats.collect::<Vec<_>>(),
        })
    }
}

impl Mix {
    /// Returns the mix's letter.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mix::A => "a",
            Mix::B => "b",
        }
    }
}

/// Parts of a power of two that a histogram tells apart: quantiles are right to 3 %.
const PARTS_BITS: u32 = 4;

/// Counts lengths in bins that widen with the length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    bins: Vec<u64>,
    count: u64,
    sum: u64,
    max: u64,
}

impl Histogram {
    fn add(&mut self, length: u64) {
        let bin = bin(length);
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
        self.sum += length;
        self.max = self.max.max(length);
    }

    /// Returns how many lengths were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the longest length.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the length that this share of all lengths does not exceed, to about 3 %; 0 of none.
    #[must_use]
    pub fn quantile(&self, per_mille: u64) -> u64 {
        let mut left = self.count * per_mille / 1_000;
        for (bin, count) in self.bins.iter().enumerate() {
            if *count > left {
                return middle(bin).min(self.max);
            }
            left -= count;
        }
        self.max
    }

    fn json(&self) -> Value {
        json!({
            "texts": self.count,
            "mean": ratio(self.sum, self.count),
            "p50": self.quantile(500),
            "p90": self.quantile(900),
            "p99": self.quantile(990),
            "max": self.max,
        })
    }
}

/// Lengths up to 32 have a bin each; above, the highest five bits of a length decide.
fn bin(length: u64) -> usize {
    let shift = (length | 1).ilog2().saturating_sub(PARTS_BITS);
    let bin = (u64::from(shift) << PARTS_BITS) + (length >> shift);
    usize::try_from(bin).expect("below 1,024")
}

fn middle(bin: usize) -> u64 {
    let bin = u64::try_from(bin).expect("below 1,024");
    let shift = (bin >> PARTS_BITS).saturating_sub(1);
    let low = (bin - (shift << PARTS_BITS)) << shift;
    low + (1 << shift) / 2
}

fn chars(text: &str) -> u64 {
    u64::try_from(text.chars().count()).expect("a text is far shorter than memory")
}

/// Four digits behind the point, so that reports of equal archives are equal texts.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
fn ratio(part: u64, whole: u64) -> f64 {
    let scaled = part * 10_000 / whole.max(1);
    scaled as f64 / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_three_percent() {
        let mut histogram = Histogram::default();
        (0..=100_000).for_each(|length| histogram.add(length));
        assert_eq!((histogram.count(), histogram.max()), (100_001, 100_000));
        for (per_mille, length) in [(0, 0), (500, 50_000), (900, 90_000), (990, 99_000)] {
            let seen = histogram.quantile(per_mille);
            assert!(seen.abs_diff(length) <= length * 3 / 100, "{per_mille}: {seen}");
        }
        for length in [0, 1, 15, 16, 31] {
            assert_eq!(middle(bin(length)), length);
        }
    }
}
