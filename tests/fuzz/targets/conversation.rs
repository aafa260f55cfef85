//! A conversation in memory, searched: from texts to tokens, documents, lists, ranks and snippets.

#![no_main]

use afterthought::limits::{CONTEXT_HITS_MAX, SNIPPET_CHARS_MAX, SNIPPET_MARKS_MAX};
use afterthought::model::{Message, RowState};
use afterthought::{Context, ContextHit, ContextQuery};
use afterthought_fuzz::Text;
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    messages: Vec<Said>,
    query: Text,
    roles: Vec<Role>,
    offset: u16,
    limit: Option<i8>,
}

#[derive(Arbitrary, Debug)]
struct Said {
    role: Role,
    content: Text,
    reasoning: Text,
    tool_name: Text,
    tool_calls: Text,
    timestamp_ms: Option<i64>,
    state: [bool; 3],
}

#[derive(Arbitrary, Debug)]
enum Role {
    User,
    Assistant,
    Tool,
    SessionMeta,
    Other(String),
}

fuzz_target!(|input: Input| {
    let context = Context::from_messages(input.messages.iter().map(message));
    let query = ContextQuery {
        query: input.query.write(),
        roles: input.roles.iter().map(name).collect(),
        offset: input.offset.into(),
        limit: input.limit.map(i64::from),
    };
    let page = context.search(&query).expect("any query is answered");
    assert_eq!(format!("{page:?}"), format!("{:?}", context.search(&query).expect("the same again")));
    let behind = usize::try_from(page.total).expect("a count of messages").saturating_sub(page.offset);
    assert_eq!(page.results.len(), behind.min(page.limit));
    assert!(page.limit <= CONTEXT_HITS_MAX && page.results.is_sorted_by(|a, b| a.score >= b.score));
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
    let chars = hit.snippet.chars().count();
    assert!(chars <= SNIPPET_CHARS_MAX + 2 && !hit.snippet.contains(char::is_control), "{hit:?}");
    assert!((1..=SNIPPET_MARKS_MAX).contains(&hit.highlights.len()), "{hit:?}");
    let mut end = 0;
    for [from, to] in &hit.highlights {
        assert!(end <= *from && from < to && *to <= chars, "{hit:?}");
        end = *to;
    }
}

fn message(said: &Said) -> Message {
    let [active, compacted, hidden] = said.state;
    Message {
        role: name(&said.role),
        content: said.content.write(),
        reasoning: said.reasoning.write(),
        tool_name: said.tool_name.write(),
        tool_calls: said.tool_calls.write(),
        timestamp_ms: said.timestamp_ms,
        state: RowState { active, compacted, hidden },
        ..Message::default()
    }
}

fn name(role: &Role) -> String {
    match role {
        Role::User => "user".to_owned(),
        Role::Assistant => "assistant".to_owned(),
        Role::Tool => "tool".to_owned(),
        Role::SessionMeta => "session_meta".to_owned(),
        Role::Other(name) => name.clone(),
    }
}
