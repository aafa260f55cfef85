//! Texts made of few words, so that a query has something to find, and of anything else.

use arbitrary::{Arbitrary, Result, Unstructured};

/// A text, piece by piece.
#[derive(Clone, Debug)]
pub struct Text(Vec<Piece>);

#[derive(Arbitrary, Clone, Debug)]
enum Piece {
    /// One of [`WORDS`], and a blank.
    Word(u8),
    /// One of [`WORDS`], close to what follows.
    Glued(u8),
    Other(String),
}

/// Every kind of token, the joints between them, and what a query reads as syntax.
const WORDS: [&str; 73] = [
    "deploy",
    "failed",
    "getUserById",
    "HTTPServer",
    "check_auth.rs",
    "v2.5.1",
    "a3f5b2c9",
    "don't",
    "C++",
    "/",
    "::",
    "-",
    "_",
    ".",
    "@",
    "'",
    "’s",
    "42",
    "北京大学",
    "数据库",
    "々",
    "カナ",
    "한국",
    "ไทย",
    "é",
    "e\u{301}",
    "ﷺ",
    "İ",
    "ß",
    "🚀",
    "👍🏽",
    "🇩🇪",
    "ｶﾞ",
    "か\u{3099}",
    "\u{1112}\u{1161}\u{11AB}",
    "ㅋㅏ",
    "葛\u{E0100}",
    "ход",
    "㎏",
    "\\n",
    "C:\\",
    ".env",
    "\u{200c}",
    "\u{ad}",
    "कि",
    "\u{200d}",
    "\u{1b}[31m",
    "\0",
    "\n",
    "\"",
    "“",
    "+",
    "NOT",
    "AND",
    "OR",
    "(",
    ")",
    "*",
    "~",
    "~2",
    ":",
    "said:",
    "title:",
    "`",
    "deploys",
    "deployed",
    "deploying",
    "fails",
    "the",
    "суббота",
    "субботы",
    "ходы",
    "[CONTEXT SUMMARY]",
];

impl<'a> Arbitrary<'a> for Text {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        several(input, 8).map(Self)
    }
}

/// Reads values of which each but one in `mean` is followed by another: a derived list ends after every
/// second, and a text of two words has little to search.
pub(crate) fn several<'a, T: Arbitrary<'a>>(input: &mut Unstructured<'a>, mean: u8) -> Result<Vec<T>> {
    let mut values = Vec::new();
    while !input.is_empty() && input.ratio(mean - 1, mean)? {
        values.push(input.arbitrary()?);
    }
    Ok(values)
}

impl Text {
    /// Writes the text out.
    #[must_use]
    pub fn write(&self) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Word(word) => text.extend([word_at(*word), " "]),
                Piece::Glued(word) => text.push_str(word_at(*word)),
                Piece::Other(other) => text.push_str(other),
            }
        }
        text
    }
}

fn word_at(word: u8) -> &'static str {
    WORDS[usize::from(word) % WORDS.len()]
}
