//! A conversation in memory, searched: from texts to tokens, documents, lists, ranks and snippets.

#![no_main]

use afterthought::limits::CONTEXT_HITS_MAX;
use afterthought::{Context, ContextHit, ContextQuery};
use afterthought_fuzz::{Role, Said, Typed, check_snippet};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    messages: Vec<Said>,
    query: Typed,
    roles: Vec<Role>,
    offset: u16,
    limit: Option<i8>,
}

fuzz_target!(|input: Input| {
    let context = Context::from_messages(input.messages.iter().map(Said::message));
    let query = ContextQuery {
        query: input.query.write(),
        roles: input.roles.iter().map(Role::name).collect(),
        offset: input.offset.into(),
        limit: input.limit.map(i64::from),
    };
    let page = context.search(&query).expect("any query is answered");
    assert_eq!(format!("{page:?}"), format!("{:?}", context.search(&query).expect("the same again")));
    let behind = usize::try_from(page.total).expect("a count of messages").saturating_sub(page.offset);
    assert_eq!(page.results.len(), behind.min(page.limit));
    let entries = context.entries();
    let rank = |hit: &ContextHit| (!entries[hit.index].message.is_summary(), hit.score);
    assert!(page.limit <= CONTEXT_HITS_MAX && page.results.is_sorted_by(|a, b| rank(a) >= rank(b)));
    for hit in &page.results {
        check_hit(hit, &context, &query);
    }
});

fn check_hit(hit: &ContextHit, context: &Context, query: &ContextQuery) {
    let message = &context.entries()[hit.index].message;
    assert!(message.state.visible() && message.role == hit.role);
    assert!(query.roles.is_empty() || query.roles.contains(&hit.role));
    assert!(hit.score.is_finite() && hit.score > 0.0, "{hit:?}");
    assert!(hit.matched_fields.iter().all(|field| !message.text(*field).is_empty()), "{hit:?}");
    assert!((1..=hit.terms_total).contains(&hit.matched_terms.len()), "{hit:?}");
    check_snippet(&hit.snippet, &hit.highlights);
}
