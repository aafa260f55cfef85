//! Reads what a person typed. Every string is a query: what has no meaning as syntax is text, and
//! a warning says how it was read. Knows words and phrases, not tokens or fields.

mod parse;

pub use parse::parse;

use crate::model::Warning;

/// A query as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Its clauses, in the order typed.
    pub clauses: Vec<Clause>,
    /// How odd input was read.
    pub warnings: Vec<Warning>,
}

/// One word or phrase of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// What it asks of a hit.
    pub occur: Occur,
    /// The text as typed, without quotes.
    pub text: String,
    /// It stood in quotes: its words must stand together, in order.
    pub quoted: bool,
}

/// What a clause asks of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occur {
    /// The more of these, the better.
    Should,
    /// Must be there.
    Must,
    /// Must not be there.
    MustNot,
}
