//! Texts made of few words, so that a query has something to find, and of anything else.

use arbitrary::Arbitrary;

/// A text, piece by piece.
#[derive(Arbitrary, Clone, Debug)]
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
const WORDS: [&str; 64] = [
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
];

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
