//! What one who asks may see of an archive: sessions of one person, or all; rows that are part of a
//! conversation. Whatever else there is is not there, in every mode.

use std::collections::HashSet;

use afterthought::Result;
use afterthought::archive::{RowOutline, StoredMessage, StoredSession, View};
use afterthought::search::is_reset;
use serde_json::Value;

use crate::limits::LINEAGE_MAX;

/// The reason where a summary of it goes on.
pub(crate) const COMPRESSION: &str = "compression";
/// Sources of sessions that no person had.
pub(crate) const HIDDEN_SOURCES: [&str; 2] = ["subagent", "tool"];

/// One state of an archive, as somebody may see it.
pub(crate) struct Sight<'a> {
    view: &'a View<'a>,
    user: Option<&'a str>,
}

impl<'a> Sight<'a> {
    pub(crate) fn new(view: &'a View<'a>, user: Option<&'a str>) -> Self {
        Self { view, user }
    }

    fn sees(&self, session: &StoredSession) -> bool {
        self.user.is_none_or(|user| session.user.as_deref() == Some(user))
    }

    /// Returns a session; `None` if it is not there.
    pub(crate) fn session(&self, id: &str) -> Result<Option<StoredSession>> {
        Ok(self.view.stored_session(id)?.filter(|session| self.sees(session)))
    }

    /// Returns every session with the time of its last message.
    pub(crate) fn sessions(&self) -> Result<Vec<(StoredSession, Value)>> {
        let mut sessions = self.view.stored_sessions()?;
        sessions.retain(|(session, _)| self.sees(session));
        Ok(sessions)
    }

    /// Returns the session of a title: the latest that the agent numbered on, else that of the title.
    pub(crate) fn titled(&self, title: &str) -> Result<Option<StoredSession>> {
        Ok(self.view.stored_titled(title)?.into_iter().find(|session| self.sees(session)))
    }

    /// Returns a message and its session; `None` if it is not there. One that was taken back is there.
    pub(crate) fn message(&self, id: i64) -> Result<Option<StoredMessage>> {
        let Some(message) = self.view.stored_message(id)? else { return Ok(None) };
        let is_seen = self.user.is_none() || self.session(&message.session_id)?.is_some();
        Ok(Some(message).filter(|_| is_seen))
    }

    /// Returns the rows of a session that are or were part of its conversation, by id.
    /// None where the session is not there.
    pub(crate) fn visible(&self, session_id: &str) -> Result<Vec<RowOutline>> {
        if self.session(session_id)?.is_none() {
            return Ok(Vec::new());
        }
        let mut rows = self.view.outline(session_id)?;
        rows.retain(|row| row.state.visible());
        Ok(rows)
    }

    /// Returns the messages of some rows, without those that are not there.
    pub(crate) fn messages(&self, rows: &[RowOutline]) -> Result<Vec<StoredMessage>> {
        let mut messages = Vec::with_capacity(rows.len());
        for row in rows {
            messages.extend(self.message(row.id)?);
        }
        Ok(messages)
    }

    /// Walks to the top of a session's lineage. Parents that are not there end it; a circle ends where it
    /// was entered.
    pub(crate) fn root(&self, session_id: &str) -> Result<String> {
        let (mut seen, mut at) = (HashSet::new(), session_id.to_owned());
        while seen.insert(at.clone()) {
            let Some(parent) = self.session(&at)?.and_then(|session| session.parent_id) else { break };
            if self.session(&parent)?.is_none() {
                break;
            }
            at = parent;
        }
        Ok(at)
    }

    /// Returns every session below and at the top of a lineage.
    pub(crate) fn lineage(&self, root: &str) -> Result<Vec<StoredSession>> {
        let mut seen = HashSet::from([root.to_owned()]);
        let mut lineage: Vec<_> = self.session(root)?.into_iter().collect();
        let mut at = 0;
        while at < lineage.len() && lineage.len() < LINEAGE_MAX {
            for child in self.view.stored_children(&lineage[at].id)? {
                if self.sees(&child) && seen.insert(child.id.clone()) {
                    lineage.push(child);
                }
            }
            at += 1;
        }
        Ok(lineage)
    }
}

/// Tells whether a session's words are in front of no model any more: it was summed up, or reset.
pub(crate) fn left_context(session: &StoredSession) -> bool {
    let reason = session.end_reason.as_deref();
    reason.is_some_and(|reason| reason == COMPRESSION || is_reset(reason))
}

/// Tells whether compaction took a row out of the model's sight.
pub(crate) fn is_compacted_away(row: &RowOutline) -> bool {
    !row.state.active && row.state.compacted && !row.state.hidden
}
