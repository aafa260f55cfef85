//! Measures one archive side by side: our index, `SQLite`'s FTS5 as the agent ships it and in its
//! strongest layout, and the scan that the agent's open pull requests propose. Equal work on every
//! side: a page of ten hits, read whole, with snippets, and the total.
//!
//! The archive is read once, through the library, into a private copy; everything is measured on
//! that copy, so that no side sees a row that another does not.

mod appends;
mod build;
mod differences;
pub mod figures;
mod html;
pub mod layout;
mod machine;
mod markdown;
mod measure;
mod peer;
mod plot;
mod program;
mod queries;
mod question;
mod reading;
mod report;
pub mod rival;
mod run;
mod sides;
mod story;

use std::fmt::Display;

use afterthought::{Error, ErrorKind};

pub use peer::Peer;
pub use program::{Asked, Reading};
pub use question::{Question, Shape};
pub use reading::read;
pub use report::Report;
pub use run::{Settings, run};

/// Names what was being done when something was refused that is no archive and no index.
fn failed<E>(act: &'static str, thing: impl Display) -> impl FnOnce(E) -> Error
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    move |error| Error::new(ErrorKind::Internal, act, thing).because(error)
}
