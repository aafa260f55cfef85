//! Any text, as tokens.

#![no_main]

use afterthought::limits::TOKEN_WHOLE_BYTES_MAX;
use afterthought::text::{Analyzer, Kind};
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
    let (mut count, mut position, mut lane) = (0, 0, None);
    let mut tokens = analyzer.tokens(text);
    while let Some(token) = tokens.advance() {
        let source = text.get(token.from..token.to).expect("offsets lie on borders of characters");
        assert!(!source.is_empty() && source.len() <= TOKEN_WHOLE_BYTES_MAX, "{token:?}");
        assert!(!token.text.is_empty() && token.text.len() <= FOLDED_BYTES_MAX * source.len(), "{token:?}");
        assert!(token.position >= position && token.span >= 1, "{token:?}");
        position = token.position;
        if token.kind != Kind::Whole {
            let free = lane.is_none_or(|(at, end)| token.position > at && token.from >= end);
            assert!(free && token.span == 1, "{token:?} lies on the one before");
            lane = Some((token.position, token.to));
        }
        count += 1;
    }
    assert!(count <= TOKENS_PER_CHAR_MAX * text.chars().count());
}
