//! Any text, as tokens.

#![no_main]

use afterthought::limits::{TOKEN_PART_BYTES_MAX, TOKEN_WHOLE_BYTES_MAX};
use afterthought::text::{Analyzer, Kind, fold};
use afterthought_fuzz::Text;
use libfuzzer_sys::fuzz_target;

/// Most bytes that one byte of a word folds to: U+FDFA is a whole sentence.
const FOLDED_BYTES_MAX: usize = 11;
/// Most tokens of one character: it, and the dictionary's words that begin with it.
const TOKENS_PER_CHAR_MAX: usize = 5;

fuzz_target!(|text: Text| {
    check_tokens(&text.write());
});

fn check_tokens(text: &str) {
    let mut analyzer = Analyzer::default();
    let (mut count, mut position, mut lane, mut reach) = (0, 0, None, 0);
    let mut tokens = analyzer.tokens(text);
    while let Some(token) = tokens.advance() {
        let source = text.get(token.from..token.to).expect("offsets lie on borders of characters");
        assert!(!source.is_empty() && source.len() <= TOKEN_WHOLE_BYTES_MAX, "{token:?}");
        assert!(!token.text.is_empty() && token.text.len() <= FOLDED_BYTES_MAX * source.len(), "{token:?}");
        assert!(token.position >= position && token.span >= 1, "{token:?}");
        position = token.position;
        let folded = fold(source);
        if token.kind == Kind::Whole {
            // A name is folded in one word, whatever joins its parts.
            let joined = folded.replace(['-', '_', '\u{2010}'], "");
            assert!(token.text == folded || token.text == joined, "{token:?} of {source:?}");
            reach = reach.max(token.position + token.span);
        } else {
            assert_eq!(token.text, folded, "{token:?} of {source:?}");
            assert!(source.len() <= TOKEN_PART_BYTES_MAX, "{token:?}");
            let free = lane.is_none_or(|(at, end)| token.position > at && token.from >= end);
            assert!(free && token.span == 1, "{token:?} lies on the one before");
            lane = Some((token.position, token.to));
        }
        count += 1;
    }
    assert!(reach <= lane.map_or(0, |(at, _)| at + 1), "something stacked reaches over the lane");
    assert!(count <= TOKENS_PER_CHAR_MAX * text.chars().count());
}
