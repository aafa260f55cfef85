//! Turns text into tokens with positions: words folded, identifiers whole and in parts, Han and
//! other scripts without spaces by character. Knows nothing of documents or queries.

mod chunk;
mod class;
mod fold;
mod inflection;
mod segment;
mod token;

pub use fold::fold;
pub use inflection::{Inflection, is_function_word};
pub use segment::words as segment_words;
pub use token::{Analyzer, Kind, Token, Tokens};

/// Names this analysis. An index built under another name must be rebuilt before it is searched,
/// so every change of a token's text or position changes the name.
pub const FINGERPRINT: &str = "text-3";
