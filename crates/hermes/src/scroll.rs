//! Scroll: the messages around one of a session. Nothing is searched and no role is left out.

use serde_json::{Value, json};

use crate::arguments::Anchor;
use crate::message::{Place, Window, fitted, session_meta, shaped, window};
use crate::profiles::Profile;
use crate::sight::{Sight, left_context};
use crate::{Asker, Refusal, message};

/// A window, and where it was found.
struct Found {
    session: afterthought::archive::StoredSession,
    window: Window,
    moved: bool,
}

/// Answers a scroll. Fails if session or message are not there, or stand before the model already.
pub(crate) fn scroll(
    profile: &Profile,
    asker: Asker<'_>,
    session_id: &str,
    anchor: Anchor,
    size: usize,
) -> Result<Value, Refusal> {
    let Anchor::Id(anchor) = anchor else {
        return Err(Refusal::new("around_message_id must be a whole number")
            .hint("give match_message_id of a result, or the id of any message shown"));
    };
    let found = profile.read(asker.user, |sight| {
        if let Some(refusal) = in_context(sight, asker, session_id, anchor)? {
            return Ok(Err(refusal));
        }
        find(sight, session_id, anchor, size)
    })??;
    let Found { session, window, moved } = found;
    let warning = moved.then(|| {
        let [asked, there] = [session_id, session.id.as_str()].map(message::session_id);
        format!("message {anchor} is not in {asked}: it is in {there}, of the same lineage")
    });
    Ok(fitted(|halvings| {
        let mut answer = json!({
            "success": true,
            "mode": "scroll",
            "session_id": message::session_id(&session.id),
            "around_message_id": anchor,
            "session_meta": session_meta(&session),
            "window": size,
            "messages": shaped(&window.messages, Some(anchor), Place::Window, halvings),
            "messages_before": window.before,
            "messages_after": window.after,
        });
        if let Some(warning) = &warning {
            answer["warning"] = warning.as_str().into();
        }
        answer
    }))
}

/// Refuses what the model that asks has in front of it already. What was summed up or reset it has not.
fn in_context(
    sight: &Sight<'_>,
    asker: Asker<'_>,
    session_id: &str,
    anchor: i64,
) -> afterthought::Result<Option<Refusal>> {
    let Some(current) = asker.current else { return Ok(None) };
    let message = sight.message(anchor)?;
    let owner = message.as_ref().map_or(session_id, |message| &message.session_id);
    if sight.root(owner)? != sight.root(current)? {
        return Ok(None);
    }
    let state = message.as_ref().map(|message| message.state);
    let is_compacted = state.is_some_and(|state| !state.active && state.compacted);
    let is_taken_back = state.is_some_and(|state| !state.active && !state.compacted);
    let has_left = sight.session(owner)?.is_some_and(|session| left_context(&session));
    if is_compacted || (has_left && !is_taken_back) {
        return Ok(None);
    }
    Ok(Some(Refusal::new(
        "scroll refused: the message is in the current session's lineage, and so before you already",
    )))
}

fn find(
    sight: &Sight<'_>,
    session_id: &str,
    anchor: i64,
    size: usize,
) -> afterthought::Result<Result<Found, Refusal>> {
    let Some(session) = sight.session(session_id)? else {
        return Ok(Err(Refusal::new(format!("session_id not found: {session_id}"))));
    };
    if let Some(window) = window(sight, &sight.visible(&session.id)?, anchor, size)? {
        return Ok(Ok(Found { session, window, moved: false }));
    }
    // A continuation may hold what was looked for in the session that it continues.
    if let Some(message) = sight.message(anchor)?
        && message.session_id != session_id
        && sight.root(&message.session_id)? == sight.root(session_id)?
        && let Some(session) = sight.session(&message.session_id)?
        && let Some(window) = window(sight, &sight.visible(&session.id)?, anchor, size)?
    {
        return Ok(Ok(Found { session, window, moved: true }));
    }
    let refusal = Refusal::new(format!("around_message_id {anchor} not in session_id {session_id}"));
    Ok(Err(refusal.hint("session_id alone shows the messages of a session, with their ids")))
}
