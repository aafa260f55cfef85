//! Any text, as a query: it is read, prints as itself, and says the same in fewer words.

#![no_main]

use afterthought::limits::{QUERY_BYTES_MAX, QUERY_DEPTH_MAX, QUERY_SLOP_MAX};
use afterthought::query::{Clause, Node, Occur, parse, simplify};
use afterthought_fuzz::Typed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|query: Typed| {
    let typed = query.write();
    let query = parse(&typed);
    let printed = query.to_string();
    if printed.len() <= QUERY_BYTES_MAX {
        assert_eq!(parse(&printed).clauses, query.clauses, "{typed:?} printed {printed:?}");
    }
    if !query.clauses.is_empty() {
        check_group(&query.clauses, &typed, 0);
        let simple = simplify(query.clauses);
        check_group(&simple, &typed, 0);
        assert_eq!(simplify(simple.clone()), simple, "{typed:?}: once is enough");
    }
});

fn check_group(clauses: &[Clause], typed: &str, depth: usize) {
    assert!(depth <= QUERY_DEPTH_MAX, "{typed:?}");
    let finds = clauses.iter().any(|clause| clause.occur != Occur::MustNot);
    assert!(finds, "a group of exclusions finds nothing: {typed:?}");
    for clause in clauses {
        match &clause.node {
            Node::Group(inside) => check_group(inside, typed, depth + 1),
            Node::Phrase { text, slop } => assert!(typed.contains(text) && *slop <= QUERY_SLOP_MAX),
            Node::Fuzzy { text, edits } => assert!(typed.contains(text) && (1..=2).contains(edits)),
            Node::Text(text) | Node::Prefix(text) => {
                assert!(!text.is_empty() && !text.contains(char::is_whitespace) && typed.contains(text));
            }
        }
    }
}
