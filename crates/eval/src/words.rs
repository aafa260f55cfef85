//! The words of plain BM25: runs of letters and digits in lower case, stemmed where they are English or
//! Russian, without the words that stand everywhere; Chinese in pairs of characters or by dictionary.

use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};
use jieba_rs::{Jieba, TokenizeMode};

/// How Chinese is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chinese {
    /// Every two neighbours.
    Pairs,
    /// Words of jieba's dictionary.
    Words,
}

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// The words that Lucene's English analyzer leaves out.
const ENGLISH: &str = " a an and are as at be but by for if in into is it no not of on or such that the their \
    then there these they this to was will with ";

/// The commonest words of Russian.
const RUSSIAN: &str = " а в во и к ко на не но о об от по с со у я ты он она оно мы вы они это что как так \
    то же бы ли за из до для или его её их ";

/// Cuts a text into words.
pub(crate) fn words(text: &str, chinese: Chinese) -> Vec<String> {
    let (english, russian) = (Stemmer::new(Algorithm::Porter), Stemmer::new(Algorithm::Russian));
    let mut words = Vec::new();
    for run in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        for part in scripts(run) {
            let first = part.chars().next().unwrap_or_default();
            let alone = format!(" {part} ");
            if ENGLISH.contains(&alone) || RUSSIAN.contains(&alone) {
                continue;
            }
            if is_han(first) {
                cut(part, chinese, &mut words);
            } else if matches!(first, 'а'..='я' | 'ё') {
                words.push(russian.stem(&part.replace('ё', "е")).into_owned());
            } else if part.is_ascii() {
                words.push(english.stem(part).into_owned());
            } else {
                words.push(part.to_owned());
            }
        }
    }
    words
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{20000}'..='\u{323AF}')
}

/// Parts a run where Han begins or ends.
fn scripts(run: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut before) = (0, None);
    for (at, c) in run.char_indices() {
        if before.is_some_and(|han| han != is_han(c)) {
            parts.push(&run[from..at]);
            from = at;
        }
        before = Some(is_han(c));
    }
    parts.push(&run[from..]);
    parts
}

fn cut(han: &str, chinese: Chinese, words: &mut Vec<String>) {
    match chinese {
        Chinese::Words => {
            let cut = JIEBA.tokenize(han, TokenizeMode::Search, true);
            words.extend(cut.iter().map(|token| token.word.to_owned()));
        }
        Chinese::Pairs => {
            let characters: Vec<char> = han.chars().collect();
            if let [only] = characters[..] {
                words.push(only.to_string());
            }
            words.extend(characters.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, chinese: Chinese, expect: &str) {
        assert_eq!(words(text, chinese).join(" "), expect);
    }

    #[test]
    fn english_and_russian_are_stemmed_and_common_words_go() {
        check("The deployments of parse_config failed", Chinese::Pairs, "deploy pars config fail");
        check("Мы развязали верёвки и базу", Chinese::Pairs, "развяза веревк баз");
    }

    #[test]
    fn chinese_is_cut_either_way() {
        check("量子计算v2机", Chinese::Pairs, "量子 子计 计算 v2 机");
        check("量子计算机", Chinese::Words, "量子 计算 算机 计算机");
    }
}
