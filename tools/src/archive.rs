//! Writes agent archives as the agent itself would: its tables, its encodings, its ways to
//! change a row afterwards. Never migrates or repairs a file; an odd file stays odd.

mod change;
mod hermes;
mod json;
mod row;
mod shape;
mod stamp;
mod writer;

pub use hermes::hermes_search;
pub use json::python_json;
pub use row::{Cell, Message, Session};
pub use shape::{Fts, Shape};
pub(crate) use stamp::seconds;
pub use stamp::{calendar, session_id};
pub use writer::Writer;
