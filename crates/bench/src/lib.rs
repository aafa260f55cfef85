//! Measures one archive three ways, side by side: our index, `SQLite`'s FTS5 in its fairest layout,
//! and the scan that the agent's open pull requests propose. Equal work on every side: a page of ten
//! hits, read whole, with snippets, and the total.
//!
//! The archive is read once, through the library, into a private copy; everything is measured on
//! that copy, so that no side sees a row that another does not.

pub mod figures;
mod machine;
mod markdown;
mod measure;
mod program;
mod queries;
mod question;
mod report;
pub mod rival;
mod run;

use std::fmt::Display;

use afterthought::{Error, ErrorKind};

pub use question::Question;
pub use report::{
    ArchiveFacts, Build, Builds, Case, Figure, InProcess, Machine, Ratios, Report, RunSettings, Totals,
    Versions, WholeProcess,
};
pub use run::{Settings, run};

/// Names what was being done when something was refused that is no archive and no index.
fn failed<E>(act: &'static str, thing: impl Display) -> impl FnOnce(E) -> Error
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    move |error| Error::new(ErrorKind::Internal, act, thing).because(error)
}
