//! Measures how good answers are: judged sets are written as an agent's archives, mirrored, and asked
//! through the engine; beside it stand FTS5 as the agent uses it, FTS5 at its best, and plain BM25.
//!
//! Where each set can be had, and under which licence, stands in [`catalogue`]; what each figure means
//! in [`metrics`]; when a difference is more than chance in [`chance`].

pub mod absent;
pub mod catalogue;
pub mod chance;
mod data;
mod fts5;
pub mod metrics;
mod ours;
mod place;
mod plain;
mod published;
mod report;
mod run;
mod words;
mod written;

use std::fmt::Display;

use afterthought::{Error, ErrorKind};

pub use published::Published;
pub use report::{Report, Row, Scores};
pub use run::{Against, Settings, run, saved};
pub use written::{Written, written};

/// Names what was being done when something was refused that is no archive and no index.
fn failed<E>(act: &'static str, thing: impl Display) -> impl FnOnce(E) -> Error
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    move |error| Error::new(ErrorKind::Internal, act, thing).because(error)
}
