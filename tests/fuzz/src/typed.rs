//! Queries as they are typed on purpose: every kind of syntax, about words that texts hold, and
//! anything else between them.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::Text;
use crate::text::several;

/// A query, part by part.
#[derive(Clone, Debug)]
pub struct Typed(Vec<Part>);

#[derive(Arbitrary, Clone, Debug)]
enum Part {
    Word(u8),
    Prefix(u8),
    Fuzzy(u8, u8),
    Phrase(Vec<u8>, Option<u8>),
    /// One of [`SIGNS`], close to what follows.
    Sign(u8),
    Group(Vec<Self>),
    Other(Text),
}

/// Words with prefixes, near spellings and inflected forms among each other and in texts.
const WORDS: [&str; 32] = [
    "deploy",
    "deployed",
    "deploying",
    "deplo",
    "deplyo",
    "failed",
    "fails",
    "failing",
    "the",
    "getUserById",
    "getuser",
    "check_auth",
    "check_auth.rs",
    "v2.5.1",
    "a3f5b2c9",
    "don't",
    "C++",
    "42",
    "суббота",
    "субботу",
    "субб",
    "ход",
    "ходы",
    "北京",
    "北京大学",
    "数据库",
    "北京大学数据库北京",
    "カナ",
    "한국",
    "ไทย",
    "café",
    "🚀",
];

/// Words that most texts and queries share.
const COMMON: [&str; 8] = ["deploy", "deployed", "failed", "the", "check_auth", "北京", "ход", "42"];

/// Returns four common words.
#[must_use]
pub fn common_words(numbers: [u8; 4]) -> String {
    numbers.map(|number| one_of(&COMMON, number)).join(" ")
}

/// Operators, fields and origins.
const SIGNS: [&str; 16] = [
    "NOT ",
    "AND ",
    "OR ",
    "+",
    "++",
    "said:",
    "thought:",
    "did:",
    "saw:",
    "titled:",
    "content:",
    "reasoning:",
    "tool_calls:",
    "tool_name:",
    "tool_output:",
    "title:",
];

impl<'a> Arbitrary<'a> for Typed {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        several(input, 4).map(Self)
    }
}

impl Typed {
    /// Writes the query out.
    #[must_use]
    pub fn write(&self) -> String {
        let mut query = String::new();
        write(&self.0, &mut query);
        query
    }
}

fn write(parts: &[Part], query: &mut String) {
    for part in parts {
        match part {
            Part::Word(word) => query.push_str(one_of(&WORDS, *word)),
            Part::Prefix(word) => query.extend([one_of(&WORDS, *word), "*"]),
            Part::Fuzzy(word, edits) => {
                query.extend([one_of(&WORDS, *word), one_of(&["~", "~1", "~2"], *edits)])
            }
            Part::Phrase(words, slop) => {
                let words: Vec<_> = words.iter().map(|word| one_of(&WORDS, *word)).collect();
                let slop = slop.map(|slop| format!("~{slop}")).unwrap_or_default();
                query.push_str(&format!("\"{}\"{slop}", words.join(" ")));
            }
            Part::Sign(sign) => {
                query.push_str(one_of(&SIGNS, *sign));
                continue;
            }
            Part::Group(inside) => {
                query.push('(');
                write(inside, query);
                query.push(')');
            }
            Part::Other(text) => query.push_str(&text.write()),
        }
        query.push(' ');
    }
}

fn one_of(words: &[&'static str], number: u8) -> &'static str {
    words[usize::from(number) % words.len()]
}
