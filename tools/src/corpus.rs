//! Streams a corpus of any size: an archive in the likeness of two real ones whose figures were
//! published. Nothing in it means anything; what is found is known because it was planted.
//!
//! What is kept, and from where:
//! - Mix A, NousResearch/hermes-agent issue #109092: of 289,433 rows 61,043 carry reasoning and
//!   22,454 of these nothing else, 307.4 M characters of content and 95.1 M of reasoning. Other
//!   row counts keep the proportions.
//! - Mix B, issue #22478 there: 58 % of the rows are outputs of tools, 94 % of the content's bytes
//!   lie in sessions of source `cron`, 88 % of the sessions are such, of 26 rows on average.
//! - Lengths by role, from 46,768 messages of real agents (the records of entireio/cli, MIT), see
//!   the tables of `lengths.rs`.
//!
//! The sources pull against each other in four places. Mix A's content is shorter than the
//! records' (1,062 characters a row against 1,519) and its reasoning longer (1,558 against 443):
//! there the tables of tool output and of people's messages are bent down in the upper half, and
//! the table of reasoning is stretched as a whole. The published count of rows with nothing but
//! reasoning does not say whether a call may stand beside it; here none does, so a row with a call
//! and no content never carries reasoning, which is the commonest row of the records. And mix B
//! keeps the records' lengths, not its archive's 11 KB of content a row: ten million rows of those
//! would take more than 100 GB.

mod echo;
mod kind;
mod lengths;
mod plant;
mod report;
mod scripts;
mod stream;
mod text;
mod words;

use std::path::Path;

use crate::archive::{Fts, Shape, Writer};
pub use plant::{Field, Planted};
pub use report::{Histogram, Repeat, Report};
pub use scripts::{HAN_WORD, HANGUL_WORD, KANA_WORD, RUSSIAN_WORD};
use stream::Stream;
pub use words::vocabulary;

/// What the rows are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mix {
    /// The published archive A: much reasoning.
    #[default]
    A,
    /// The published archive B: mostly outputs of tools, mostly of scheduled jobs.
    B,
}

/// What to write. The same plan gives the same bytes, on every platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the rows are made of.
    pub mix: Mix,
    /// The version of the tables.
    pub schema: Shape,
    /// Rows of `messages`, exactly.
    pub rows: u64,
    /// Decides all text, lengths and times.
    pub seed: u64,
    /// The agent's own full-text tables; they double the file and take most of the time.
    pub fts: Fts,
    /// Scales the length of every text, in thousandths: how many rows fit a disk.
    pub lengths_per_mille: u64,
}

impl Plan {
    /// Returns a plan of mix A in the newest released schema, without full-text tables.
    #[must_use]
    pub fn new(rows: u64, seed: u64) -> Plan {
        Plan { mix: Mix::A, schema: Shape::V22, rows, seed, fts: Fts::None, lengths_per_mille: 1_000 }
    }
}

/// Writes the archive of a plan and reports what it holds; `progress` hears the rows so far.
///
/// Fails if `path` already is an archive. Memory does not grow with the rows. Takes about 30
/// seconds of one core for a million rows when optimised; a crash meanwhile leaves a file to throw
/// away.
pub fn write(path: &Path, plan: &Plan, mut progress: impl FnMut(u64)) -> rusqlite::Result<Report> {
    let mut writer = Writer::create(path, plan.schema, plan.fts)?;
    // No journal and no sync: half a file has no value, and each would write it all twice.
    writer.connection().pragma_update(None, "journal_mode", "OFF")?;
    writer.connection().pragma_update(None, "synchronous", "OFF")?;
    writer.connection().pragma_update(None, "cache_size", -65_536)?;
    let mut stream = Stream::new(plan);
    while stream.rows_written() < plan.rows {
        writer.transaction(|writer| stream.batch(writer))?;
        progress(stream.rows_written());
    }
    writer.connection().pragma_update(None, "journal_mode", "WAL")?;
    writer.close()?;
    Ok(stream.into_report())
}

#[cfg(test)]
mod tests;
