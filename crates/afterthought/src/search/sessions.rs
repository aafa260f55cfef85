//! Lists sessions, the latest activity first, from columns alone: no text is read.

use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::index::{NO_TIME, Snapshot};
use crate::limits::PAGE_HITS_MAX;
use crate::model::{Session, Warning};
use crate::time::rfc3339;

use super::filter::Filter;
use super::request::Filters;

/// One page of sessions.
#[derive(Clone, Debug, Serialize)]
pub struct SessionList {
    /// Version of this shape.
    pub schema_version: u32,
    /// Sessions that pass the filters.
    pub total: u64,
    /// Sessions skipped.
    pub offset: usize,
    /// Sessions at most.
    pub limit: usize,
    /// The sessions, the latest activity first.
    pub sessions: Vec<SessionView>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

impl SessionList {
    /// Says of a page that shows nothing how many sessions there are.
    #[must_use]
    pub fn telling_if_empty(mut self) -> Self {
        if self.sessions.is_empty() {
            let message = format!("no session is there; {} pass the filters", self.total);
            self.warnings.push(Warning::new("no-match", message));
        }
        self
    }
}

/// A session, without its messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionView {
    /// The archive's id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Where it came from.
    pub source: String,
    /// The person it belongs to.
    pub user: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The session it continues, branched from, or was delegated by.
    pub parent_id: Option<String>,
    /// Working folder.
    pub cwd: Option<String>,
    /// Git branch.
    pub git_branch: Option<String>,
    /// When it started, RFC 3339 in UTC.
    pub started: Option<String>,
    /// When its last visible message was written, RFC 3339 in UTC.
    pub last_activity: Option<String>,
    /// Its visible messages, each once.
    pub messages: u64,
    /// Put away by the person.
    pub archived: bool,
}

impl SessionView {
    /// Shows a session with what its messages say of it.
    #[must_use]
    pub fn of(session: Session, messages: u64, last_ms: Option<i64>) -> Self {
        Self {
            id: session.id,
            title: session.title,
            source: session.source,
            user: session.user,
            model: session.model,
            parent_id: session.parent_id,
            cwd: session.cwd,
            git_branch: session.git_branch,
            started: session.started_ms.and_then(rfc3339),
            last_activity: last_ms.and_then(rfc3339),
            messages,
            archived: session.archived,
        }
    }
}

/// Lists the sessions that pass the filters; bounds of time apply to the last activity. Fails if
/// the limit is out of bounds, or a session is named that the archive does not have.
pub fn list_sessions(
    snapshot: &Snapshot,
    filters: &Filters,
    offset: usize,
    limit: usize,
) -> Result<SessionList> {
    if limit == 0 || limit > PAGE_HITS_MAX {
        return Err(Error::new(ErrorKind::Usage, "list", "sessions")
            .because(format!("limit must be 1 to {PAGE_HITS_MAX}, not {limit}")));
    }
    let (each, warnings) = Filter::of_each(&[snapshot], filters)?;
    let filter = each.first().expect("one archive has one filter");
    let activity = snapshot.activity()?;
    let mut places: Vec<_> = Vec::new();
    for place in snapshot.session_places()? {
        let of =
            usize::try_from(place.ord).ok().and_then(|ord| activity.get(ord)).copied().unwrap_or_default();
        let last_ms = if of.messages > 0 && of.last_ms != NO_TIME { of.last_ms } else { place.started_ms };
        if filter.passes_session(place.ord) && filter.passes_time(last_ms) {
            places.push((last_ms, place, of.messages));
        }
    }
    places.sort_by_key(|(last_ms, place, _)| std::cmp::Reverse((*last_ms, place.ord)));
    let total = places.len() as u64;
    let mut sessions = Vec::new();
    for (last_ms, place, messages) in places.into_iter().skip(offset).take(limit) {
        let mut session = snapshot.session_at(place.segment, place.doc)?;
        if let Some(person) = &filters.confined_to {
            session.parent_id = snapshot.own_parent(&session, person)?;
        }
        sessions.push(SessionView::of(session, messages, Some(last_ms).filter(|ms| *ms != NO_TIME)));
    }
    Ok(SessionList { schema_version: 1, total, offset, limit, sessions, warnings })
}
