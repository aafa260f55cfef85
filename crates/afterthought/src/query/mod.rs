//! Reads what a person typed. Every string is a query: what has no meaning as syntax is text, and
//! a warning says how it was read. Knows words and phrases, not tokens.
//!
//! ```text
//! words  "a phrase"  "some words"~3  +must  NOT this  a AND b  a OR b  (a group)
//! field:word  field:"a phrase"  field:(a group)  prefix*  fuzzy~  fuzzy~1
//! ```
//!
//! AND binds closer than OR, and OR closer than standing side by side. A query prints as itself:
//! `parse(&query.to_string())` gives the same tree.

mod parse;
mod pieces;
mod print;
mod simplify;

pub use parse::parse;
pub use simplify::simplify;

use crate::model::{Field, Origin, Warning};

/// A query as it was read: a tree of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The clauses of the outermost group, in the order typed.
    pub clauses: Vec<Clause>,
    /// How odd input was read.
    pub warnings: Vec<Warning>,
}

/// One part of a group. A group holds something to find: what `NOT` excludes is excluded from that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clause {
    /// What it asks of a hit.
    pub occur: Occur,
    /// Where it must stand; anywhere if `None`.
    pub scope: Option<Scope>,
    /// What it looks for.
    pub node: Node,
}

/// What a clause asks of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occur {
    /// The more of these, the better; one must be there if the group has no `Must`.
    Should,
    /// Must be there.
    Must,
    /// Must not be there.
    MustNot,
}

/// What a clause looks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A word, or whatever else was typed between blanks.
    Text(String),
    /// Words that stand together, in order; or out of place by `slop` in all.
    Phrase {
        /// What stood between the quotes.
        text: String,
        /// How far the words may be from where the phrase has them.
        slop: u32,
    },
    /// Words that begin so.
    Prefix(String),
    /// Words that become this one by a few edits.
    Fuzzy {
        /// The word.
        text: String,
        /// Letters added, dropped, replaced or swapped: 1 or 2.
        edits: u8,
    },
    /// Clauses that count as one.
    Group(Vec<Clause>),
}

/// Where a clause must stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// In one field.
    Field(Field),
    /// In the fields of one origin.
    Origin(Origin),
}

impl Scope {
    /// Returns the scope of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Field::named(name).map(Self::Field).or_else(|| Origin::named(name).map(Self::Origin))
    }

    /// Returns the name as it is typed before the colon.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Field(field) => field.name(),
            Self::Origin(origin) => origin.name(),
        }
    }

    /// Tells whether a field belongs to it.
    #[must_use]
    pub fn holds(self, field: Field) -> bool {
        match self {
            Self::Field(own) => own == field,
            Self::Origin(origin) => field.origin() == origin,
        }
    }
}
