//! The Han dictionary, laid out when the program is built and searched where it lies: nothing is loaded. The
//! words, their counts and the choice of the likeliest cut are jieba's, without its hidden Markov model.
//!
//! The tables are little-endian: the sum of all counts (64 bits), then in 32 bits the number of different counts
//! and of nodes, the counts, the node of each first character from U+4E00 to U+9FFF (0 for none), of every node its
//! character, of every node its first child (they are side by side, by character; one more ends the last), and
//! in 16 bits for every node which count a word that ends there has, from 1 (0 for no word).

use std::ops::Range;
use std::sync::LazyLock;

static TABLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/han.bin"));
static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(|| Dictionary::over(TABLES));

/// First characters with a table of their own.
const ROOTS: Range<u32> = 0x4E00..0xA000;
const ROOTS_LEN: usize = 0x5200;

struct Dictionary {
    log_total: f64,
    /// Logarithms of the different counts.
    logs: Vec<f64>,
    roots: &'static [[u8; 4]],
    labels: &'static [[u8; 4]],
    firsts: &'static [[u8; 4]],
    ends: &'static [[u8; 2]],
}

impl Dictionary {
    fn over(tables: &'static [u8]) -> Self {
        let (total, rest) = tables.split_first_chunk::<8>().expect("the tables begin with a sum");
        let (numbers, _) = rest.as_chunks::<4>();
        let number = |at: usize| u32::from_le_bytes(numbers[at]) as usize;
        let (counts, nodes) = (number(0), number(1));
        let (counts, numbers) = numbers[2..].split_at(counts);
        let (roots, numbers) = numbers.split_at(ROOTS_LEN);
        let (labels, numbers) = numbers.split_at(nodes);
        let firsts = &numbers[..=nodes];
        let before = (2 + counts.len() + ROOTS_LEN + 2 * nodes + 1) * 4;
        let (ends, _) = rest[before..].as_chunks::<2>();
        let log = |count: &[u8; 4]| f64::from(u32::from_le_bytes(*count)).ln();
        #[expect(clippy::cast_precision_loss, reason = "as jieba itself adds them up")]
        let log_total = (u64::from_le_bytes(*total) as f64).ln();
        Self { log_total, logs: counts.iter().map(log).collect(), roots, labels, firsts, ends }
    }

    fn child(&self, node: usize, c: char) -> Option<usize> {
        let code = u32::from(c);
        if node == 0 && ROOTS.contains(&code) {
            let child = u32::from_le_bytes(self.roots[(code - ROOTS.start) as usize]) as usize;
            return (child != 0).then_some(child);
        }
        let first = u32::from_le_bytes(self.firsts[node]) as usize;
        let labels = &self.labels[first..u32::from_le_bytes(self.firsts[node + 1]) as usize];
        let at = labels.binary_search_by_key(&code, |label| u32::from_le_bytes(*label)).ok()?;
        Some(first + at)
    }

    /// Calls back with the end and the logarithm of the count of every word that begins at a place.
    fn words_at(&self, chars: &[char], at: usize, mut found: impl FnMut(usize, f64)) {
        let mut node = 0;
        for (end, c) in (at + 1..).zip(&chars[at..]) {
            let Some(child) = self.child(node, *c) else { return };
            let word = usize::from(u16::from_le_bytes(self.ends[child]));
            if let Some(log) = word.checked_sub(1).map(|word| self.logs[word]) {
                found(end, log);
            }
            node = child;
        }
    }

    fn is_word(&self, chars: &[char]) -> bool {
        let mut is_word = false;
        self.words_at(chars, 0, |end, _| is_word |= end == chars.len());
        is_word
    }
}

/// Calls back with the likeliest cut of a run of characters into words, in order.
pub(super) fn cut(chars: &[char], mut word: impl FnMut(Range<usize>)) {
    let dictionary = &*DICTIONARY;
    // The likelihood of the best cut of the rest, and where its first word ends.
    let mut best = vec![(0.0, chars.len()); chars.len() + 1];
    for at in (0..chars.len()).rev() {
        if !is_cut(chars[at]) {
            best[at] = (0.0, at + 1);
            continue;
        }
        let mut here: Option<(f64, usize)> = None;
        dictionary.words_at(chars, at, |end, log| {
            let likelihood = log - dictionary.log_total + best[end].0;
            // Of equal ones the longest; they come by length.
            if here.is_none_or(|(other, _)| likelihood >= other) {
                here = Some((likelihood, end));
            }
        });
        best[at] = here.unwrap_or((-dictionary.log_total + best[at + 1].0, at + 1));
    }
    let mut at = 0;
    while at < chars.len() {
        word(at..best[at].1);
        at = best[at].1;
    }
}

/// Calls back with the words of two and three characters inside a longer word.
pub(super) fn inner_words(chars: &[char], mut word: impl FnMut(Range<usize>)) {
    for length in 2..chars.len().min(4) {
        for at in 0..=chars.len() - length {
            if DICTIONARY.is_word(&chars[at..at + length]) {
                word(at..at + length);
            }
        }
    }
}

/// Tells whether the dictionary has words with a character; others stand for themselves, and part a run.
fn is_cut(c: char) -> bool {
    matches!(u32::from(c),
        0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0x20000..=0x2A6DF
        | 0x2A700..=0x2B81F
        | 0x2B820..=0x2CEAF
        | 0x2CEB0..=0x2EBEF
        | 0x2F800..=0x2FA1F)
}

#[cfg(test)]
mod tests {
    use jieba_rs::{Jieba, TokenizeMode};

    use super::*;

    fn words(node: usize, prefix: &mut Vec<char>, all: &mut Vec<Vec<char>>) {
        let dictionary = &*DICTIONARY;
        if u16::from_le_bytes(dictionary.ends[node]) != 0 {
            all.push(prefix.clone());
        }
        let child = |at: usize| u32::from_le_bytes(dictionary.firsts[at]) as usize;
        for at in child(node)..child(node + 1) {
            let label = u32::from_le_bytes(dictionary.labels[at]);
            prefix.push(char::from_u32(label).expect("a label is a character"));
            words(at, prefix, all);
            prefix.pop();
        }
    }

    /// What jieba makes of a run: its words, and all that it offers to a search.
    fn check(jieba: &Jieba, run: &str) {
        let chars: Vec<char> = run.chars().collect();
        let (mut ours, mut searched) = (Vec::new(), Vec::new());
        cut(&chars, |word| {
            inner_words(&chars[word.clone()], |inner| {
                searched.push(word.start + inner.start..word.start + inner.end);
            });
            ours.push(word.clone());
            searched.push(word);
        });
        let theirs: Vec<_> = jieba.cut(run, false).iter().map(|word| word.start..word.end).collect();
        assert_eq!(ours, theirs, "{run}");
        let mut theirs: Vec<_> = jieba
            .tokenize(run, TokenizeMode::Search, false)
            .iter()
            .map(|word| word.start..word.end)
            .collect();
        searched.sort_by_key(|word| (word.start, word.end));
        theirs.sort_by_key(|word| (word.start, word.end));
        assert_eq!(searched, theirs, "{run}");
    }

    #[test]
    fn every_word_and_every_cut_are_those_of_jieba() {
        let jieba = Jieba::new();
        let mut all = Vec::new();
        words(0, &mut Vec::new(), &mut all);
        assert!(all.len() > 340_000, "{}", all.len());
        let mut state = 9_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        for word in all.iter().step_by(3) {
            check(&jieba, &word.iter().collect::<String>());
        }
        let odd = [
            '々',
            '〇',
            '\u{2E80}',
            '\u{2FF0}',
            '豈',
            '\u{20000}',
            '\u{2B739}',
            '\u{3FFFD}',
            '的',
            '一',
            '是',
        ];
        for _ in 0..60_000 {
            let mut run = String::new();
            for _ in 0..=random(8) {
                match random(4) {
                    0 => run.push(odd[random(odd.len())]),
                    1 => run.extend(char::from_u32(0x4E00 + u32::try_from(random(0x5200)).unwrap_or(0))),
                    _ => run.extend(&all[random(all.len())]),
                }
            }
            // Words of common characters meet in more ways.
            if random(2) == 0 {
                run = run.chars().step_by(2).collect();
            }
            check(&jieba, &run);
        }
    }
}
