//! Brings the inflected forms of a word together: `deploy`, `deploys`, `deployed`. For queries alone:
//! an index holds words as they stand, and a query looks its words' other forms up in the index's
//! dictionary. So forms cost no byte of index and no time of a build, and a phrase stays exact.
//!
//! Stems are those of the Snowball algorithms (<https://snowballstem.org>), English for Latin letters
//! and Russian for Cyrillic ones.

use std::collections::HashSet;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

/// Shortest word with other forms, in characters.
const WORD_CHARS_MIN: usize = 3;
/// The most that a form is longer than the stem, in bytes.
const ENDING_BYTES_MAX: usize = 14;

static FUNCTION_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("function_words.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
});

/// Tells whether a folded word joins others and tells little by itself: `the`, `what`, `который`, `的`.
#[must_use]
pub fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(word)
}

/// The forms of one word.
pub struct Inflection {
    stemmer: Stemmer,
    stem: String,
    prefix: String,
}

impl Inflection {
    /// Returns the forms of a folded word; `None` where it has none that we know.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        if word.chars().count() < WORD_CHARS_MIN || is_function_word(word) {
            return None;
        }
        let algorithm = if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            Algorithm::English
        } else if word.chars().all(|c| ('а'..='я').contains(&c)) {
            Algorithm::Russian
        } else {
            return None;
        };
        let stemmer = Stemmer::new(algorithm);
        let stem = stemmer.stem(word).into_owned();
        // A stem of English may end otherwise than its words: `happy` and `happi`, `hoping` and `hope`.
        let prefix = if algorithm == Algorithm::English { stem.trim_end_matches(['i', 'e']) } else { &stem };
        let prefix = prefix.to_owned();
        word.starts_with(&prefix).then_some(Self { stemmer, stem, prefix })
    }

    /// Returns what every form begins with.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Tells whether another folded word is a form of this one. Cheap for words that are none.
    #[must_use]
    pub fn holds(&self, other: &str) -> bool {
        other.starts_with(&self.prefix)
            && other.len() <= self.stem.len() + ENDING_BYTES_MAX
            && other.chars().all(char::is_alphabetic)
            && self.stemmer.stem(other) == self.stem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, forms: &str, others: &str) {
        let inflection = Inflection::of(word).expect("a word with forms");
        for form in forms.split(' ') {
            assert!(inflection.holds(form), "{form} is a form of {word}");
        }
        for other in others.split(' ') {
            assert!(!inflection.holds(other), "{other} is no form of {word}");
        }
    }

    #[test]
    fn english_words_have_forms() {
        check("deploy", "deploys deployed deploying", "deployment_id depot employ");
        check("deployment", "deployments", "deploy-x");
        check("study", "studies studied studying", "studio sturdy");
        check("fix", "fixes fixed fixing", "fixture prefix");
    }

    #[test]
    fn russian_words_have_forms() {
        check("суббота", "субботу субботы субботой", "суббот1 субстрат");
        check("база", "базу базы базой", "базар");
    }

    #[test]
    fn other_words_have_none() {
        for word in ["the", "ab", "utf8", "check_auth", "数据库", "который", "naïve"] {
            assert!(Inflection::of(word).is_none(), "{word}");
        }
    }

    #[test]
    fn function_words_are_folded() {
        assert!(FUNCTION_WORDS.iter().all(|word| super::super::fold(word) == **word));
    }
}
