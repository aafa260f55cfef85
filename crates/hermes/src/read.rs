//! Read: a session's live messages, or both ends of a long one.

use serde_json::{Value, json};

use crate::limits::{READ_HEAD_ROWS, READ_TAIL_ROWS};
use crate::message::{Place, fitted, session_meta, shaped};
use crate::profiles::Profile;
use crate::{Asker, Refusal, message};

/// Answers a read. Fails if the session is not there.
pub(crate) fn read(profile: &Profile, asker: Asker<'_>, session_id: &str) -> Result<Value, Refusal> {
    let found = profile.read(asker.user, |sight| {
        let Some(session) = sight.session(session_id)? else { return Ok(None) };
        let mut rows = sight.visible(&session.id)?;
        // What compaction summed up is found and scrolled to; what is read is the conversation as it stands.
        rows.retain(|row| row.state.active);
        let total = rows.len();
        if total > READ_HEAD_ROWS + READ_TAIL_ROWS {
            rows.drain(READ_HEAD_ROWS..total - READ_TAIL_ROWS);
        }
        let messages = sight.messages(&rows)?;
        Ok(Some((session, total, messages)))
    })?;
    let Some((session, total, messages)) = found else {
        return Err(Refusal::new(format!("session_id not found: {session_id}")));
    };
    let truncated = total > READ_HEAD_ROWS + READ_TAIL_ROWS;
    Ok(fitted(|halvings| {
        let mut answer = json!({
            "success": true,
            "mode": "read",
            "session_id": message::session_id(&session.id),
            "session_meta": session_meta(&session),
            "message_count": total,
            "truncated": truncated,
            "messages": shaped(&messages, None, Place::Read, halvings),
        });
        if truncated {
            answer["message"] = format!(
                "{total} messages: the first {READ_HEAD_ROWS} and the last {READ_TAIL_ROWS} are here; give \
                 around_message_id to see between them"
            )
            .into();
        }
        answer
    }))
}
