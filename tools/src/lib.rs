//! Writes agent archives by seed, for the demo, the tests and the benches.
//!
//! [`archive`] writes files shaped like the ones a real agent leaves behind, [`demo`] a small
//! one to look at, [`corpus`] a large one to measure with; [`bm25`] is what quality is measured by. Nothing here reads an archive it
//! did not write, opens a network connection, or asks the clock: same input, same bytes.
#![expect(clippy::missing_errors_doc, reason = "every error here is SQLite's own, passed on unchanged")]

pub mod archive;
pub mod bm25;
pub mod corpus;
pub mod demo;
pub mod random;
mod summary;

pub use summary::Summary;
