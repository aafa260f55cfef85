//! Cuts Han into dictionary words.

use std::ops::Range;

use super::dictionary::{cut, inner_words};

/// Longest run that is cut at once, in characters: it bounds what a cut needs.
const RUN_CHARS_MAX: usize = 2_048;

/// Calls `found` with every dictionary word of two or more characters, as a range of characters,
/// by start and then by length. Words inside longer words are reported too.
pub(super) fn nested_words(run: &str, mut found: impl FnMut(Range<usize>)) {
    let mut ranges = Vec::new();
    each_piece(run, |piece, at| {
        let chars: Vec<char> = piece.chars().collect();
        cut(&chars, |word| {
            let start = at + word.start;
            inner_words(&chars[word.clone()], |inner| ranges.push(start + inner.start..start + inner.end));
            if word.len() >= 2 {
                ranges.push(start..at + word.end);
            }
        });
    });
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges.dedup();
    ranges.into_iter().for_each(&mut found);
}

/// Cuts a run of Han into words that cover it, in order.
#[must_use]
pub fn words(run: &str) -> Vec<&str> {
    let mut words = Vec::new();
    each_piece(run, |piece, _| {
        let chars: Vec<char> = piece.chars().collect();
        let mut rest = piece;
        cut(&chars, |word| {
            let bytes = chars[word].iter().map(|c| c.len_utf8()).sum();
            let (first, after) = rest.split_at(bytes);
            words.push(first);
            rest = after;
        });
    });
    words
}

fn each_piece<'a>(run: &'a str, mut visit: impl FnMut(&'a str, usize)) {
    let mut rest = run;
    let mut at = 0;
    while !rest.is_empty() {
        let cut = rest.char_indices().nth(RUN_CHARS_MAX).map_or(rest.len(), |(byte, _)| byte);
        let (piece, tail) = rest.split_at(cut);
        visit(piece, at);
        at += RUN_CHARS_MAX;
        rest = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_inside_words_are_reported() {
        let mut got = Vec::new();
        nested_words("北京大学", |range| got.push(range));
        assert_eq!(got, [0..2, 0..4, 2..4]);
    }

    #[test]
    fn a_long_run_is_cut_into_pieces_that_cover_it() {
        let run = "数据库".repeat(3_000);
        assert_eq!(words(&run).concat(), run);
    }
}
