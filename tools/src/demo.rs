//! Writes the demo: half a year of an imaginary agent's sessions, small enough to look at.
//!
//! The people, projects and machines are made up and the texts were written for this. What is
//! true of real archives is true here: most of what the agent found out stands in its reasoning
//! and in tool calls, where its own search does not look.

mod noise;
mod plan;
mod questions;
mod script;
mod teller;
mod world;

use std::path::Path;

pub use crate::Summary;
use crate::archive::{Fts, Shape, Writer};
pub use questions::{QUESTIONS, Question};
use teller::{Counts, Teller};

/// Writes the demo to `path`, with the agent's own search tables, and counts it.
///
/// The same rows for every call; shapes older than [`Shape::V22`] lack the columns to take rows
/// back, so there nothing is. Fails if `path` already is an archive. Takes about a second.
pub fn write(path: &Path, shape: Shape) -> rusqlite::Result<Summary> {
    let mut writer = Writer::create(path, shape, Fts::Hermes)?;
    let mut counts = Counts::default();
    writer.transaction(|writer| {
        for plan in plan::all() {
            writer.session(&plan.session)?;
            counts = Teller::new(writer, &plan, counts).tell(&plan)?;
        }
        Ok(())
    })?;
    let summary = Summary::of(writer.connection())?;
    writer.close()?;
    Ok(summary)
}

#[cfg(test)]
mod tests;
