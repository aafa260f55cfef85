//! Any text: as tokens, and as a query.

#![no_main]

use afterthought::limits::{QUERY_BYTES_MAX, TOKEN_WHOLE_BYTES_MAX};
use afterthought::query::{Occur, parse};
use afterthought::text::{Analyzer, Kind};
use afterthought_fuzz::Text;
use libfuzzer_sys::fuzz_target;

/// Most bytes that one byte of a word folds to: U+FDFA is a whole sentence.
const FOLDED_BYTES_MAX: usize = 11;
/// Most tokens of one character: it, and the dictionary's words that begin with it.
const TOKENS_PER_CHAR_MAX: usize = 5;

fuzz_target!(|text: Text| {
    let text = text.write();
    check_tokens(&text);
    check_query(&text);
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

fn check_query(typed: &str) {
    let query = parse(typed);
    let mut rest = &typed[..typed.floor_char_boundary(QUERY_BYTES_MAX)];
    for clause in &query.clauses {
        let at = rest.find(&clause.text).expect("clauses stand in the query, in order");
        rest = &rest[at + clause.text.len()..];
        assert!(clause.quoted || !(clause.text.is_empty() || clause.text.contains(char::is_whitespace)));
    }
    let finds = query.clauses.iter().any(|clause| clause.occur != Occur::MustNot);
    assert!(query.clauses.is_empty() || finds, "a query of exclusions finds nothing");
}
