//! Plain BM25: one document is the unit that is judged, its text all that a message holds.

use std::collections::HashMap;

use afterthought_tools::archive::Message;
use afterthought_tools::bm25::Index;
use serde_json::Value;

use crate::catalogue::{Scope, Task, Unit};
use crate::data::{Query, Set, Talk};
use crate::metrics;
use crate::words::{Chinese, words};

/// Units that a ranking holds.
const UNITS: usize = 50;

/// Answers every query of a task. Searching in its own conversation, a query meets that alone: its
/// words are as rare as they are there.
pub(crate) fn rankings(
    set: &Set,
    task: Task,
    queries: &[&Query],
    chinese: Chinese,
) -> Vec<Vec<metrics::Unit>> {
    let mut indexes: HashMap<(u32, u32), (Index, u32)> = HashMap::new();
    let everything = 0..u32::try_from(set.sessions.len()).unwrap_or(u32::MAX);
    let mut rankings = Vec::with_capacity(queries.len());
    for query in queries {
        let own = query.own.clone().filter(|_| task.scope == Scope::Own);
        let range = own.unwrap_or(everything.clone());
        let (index, first) = indexes.entry((range.start, range.end)).or_insert_with(|| {
            let talks = &set.sessions[range.start as usize..range.end as usize];
            let first = match task.unit {
                Unit::Message => talks.first().map_or(0, |talk| talk.first),
                Unit::Session => range.start,
            };
            (build(talks, task, chinese), first)
        });
        let found = index.search(&words(&query.text, chinese), UNITS);
        rankings.push(found.into_iter().map(|(unit, _)| unit + *first).collect());
    }
    rankings
}

fn build(talks: &[Talk], task: Task, chinese: Chinese) -> Index {
    let mut index = Index::new(task.bm25);
    for talk in talks {
        let mut messages = talk.messages.iter().map(|message| words(&text(message), chinese));
        match task.unit {
            Unit::Message => messages.for_each(|message| index.add(&message)),
            Unit::Session => index.add(&messages.by_ref().flatten().collect::<Vec<_>>()),
        }
    }
    index
}

/// Returns all that a message holds.
fn text(message: &Message) -> String {
    let parts = [
        Some(message.content.text()),
        message.reasoning.as_deref(),
        message.tool_name.as_deref(),
        Some(&calls(message)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Returns the names of the tools that a message calls, and what it calls them with.
pub(crate) fn calls(message: &Message) -> String {
    let calls: Option<Value> =
        message.tool_calls.as_deref().and_then(|calls| serde_json::from_str(calls).ok());
    let calls = calls.as_ref().and_then(Value::as_array).into_iter().flatten();
    let parts = calls.flat_map(|call| {
        let function = &call["function"];
        ["name", "arguments"].map(|part| function[part].as_str().unwrap_or_default())
    });
    parts.collect::<Vec<_>>().join("\n")
}
