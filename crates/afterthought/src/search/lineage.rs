//! Which sessions are one conversation: parents and children, unless a reset stands between them.

use std::collections::HashMap;
use std::sync::Arc;

/// Reasons to end a session after which its child is a new conversation: what was said before is no
/// longer in front of the model, and can be found. Any other reason, or none, is a continuation.
const RESETS: [&str; 7] = [
    "session_reset",
    "session_switch",
    "idle",
    "daily",
    "suspended",
    "resume_pending_expired",
    "new_session",
];
/// The source of sessions that were delegated: a part of what delegated them, however that ended.
const SOURCE_DELEGATED: &str = "subagent";

/// Tells whether a session that ended for this reason is in front of no model any more, so that its child is a
/// new conversation.
#[must_use]
pub fn is_reset(end_reason: &str) -> bool {
    RESETS.contains(&end_reason)
}

/// What is known of a session's place in its lineage.
pub(super) struct Link<'a> {
    pub(super) id: Option<&'a Arc<str>>,
    pub(super) parent: Option<&'a Arc<str>>,
    pub(super) source: Option<&'a str>,
    pub(super) end_reason: Option<&'a str>,
}

/// Tells of every session whether it is one conversation with the session `current`; `None` if that
/// is not there. Cycles and missing parents do no harm.
pub(super) fn conversation(links: &[Link<'_>], current: &str) -> Option<Vec<bool>> {
    let by_id: HashMap<&str, usize> =
        links.iter().enumerate().filter_map(|(at, link)| Some((&**link.id?, at))).collect();
    let start = *by_id.get(current)?;
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); links.len()];
    for (child, link) in links.iter().enumerate() {
        let Some(parent) = link.parent.and_then(|parent| by_id.get(&**parent)) else { continue };
        let was_reset = links[*parent].end_reason.is_some_and(is_reset);
        if !was_reset || link.source == Some(SOURCE_DELEGATED) {
            neighbours[child].push(*parent);
            neighbours[*parent].push(child);
        }
    }
    let mut inside = vec![false; links.len()];
    let mut open = vec![start];
    while let Some(session) = open.pop() {
        if !inside[session] {
            inside[session] = true;
            open.extend(&neighbours[session]);
        }
    }
    Some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` ended as it says, `b` is its child, `c` the child of that, `d` another child of `a`.
    fn check(current: &str, end_of_a: Option<&str>, source_of_d: &str, expect: [bool; 4]) {
        let names: Vec<Arc<str>> = ["a", "b", "c", "d"].map(Arc::from).to_vec();
        let link = |at: usize, parent: Option<usize>, source, end_reason| Link {
            id: Some(&names[at]),
            parent: parent.map(|parent| &names[parent]),
            source: Some(source),
            end_reason,
        };
        let links = [
            link(0, None, "cli", end_of_a),
            link(1, Some(0), "cli", Some("compression")),
            link(2, Some(1), "cli", None),
            link(3, Some(0), source_of_d, None),
        ];
        assert_eq!(conversation(&links, current), Some(expect.to_vec()), "{current} {end_of_a:?}");
    }

    #[test]
    fn a_reset_ends_a_conversation_and_compression_does_not() {
        check("c", None, "cli", [true; 4]);
        check("c", Some("compression"), "cli", [true; 4]);
        check("c", Some("session_reset"), "cli", [false, true, true, false]);
        check("a", Some("session_reset"), "cli", [true, false, false, false]);
        check("a", Some("idle"), "subagent", [true, false, false, true]);
    }

    #[test]
    fn a_cycle_is_one_conversation() {
        let (a, b) = (Arc::from("a"), Arc::from("b"));
        let link = |id, parent| Link { id: Some(id), parent: Some(parent), source: None, end_reason: None };
        assert_eq!(conversation(&[link(&a, &b), link(&b, &a)], "a"), Some(vec![true, true]));
        assert_eq!(conversation(&[], "a"), None);
    }
}
