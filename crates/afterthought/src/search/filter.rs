//! Decides which documents count, inside the search: by columns, before a document is ranked or
//! counted.

use std::collections::HashSet;
use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::fastfield::AliveBitSet;
use tantivy::{DocId, SegmentReader};

use crate::error::{Error, ErrorKind, Result};
use crate::index::{NO_TIME, SegmentColumns, Snapshot, failed, flag};

use super::request::Filters;

/// The role that no search shows unless asked: bookkeeping of the agent.
const ROLE_META: &str = "session_meta";

/// A request's filters, resolved against one snapshot.
pub(super) struct Filter {
    roles: Vec<String>,
    /// By session number; `None` lets every session pass.
    sessions: Option<Vec<bool>>,
    pub(super) since_ms: Option<i64>,
    pub(super) until_ms: Option<i64>,
    include_inactive: bool,
    include_copies: bool,
    /// Messages that turned out to be gone or changed.
    pub(super) stale: HashSet<i64>,
}

impl Filter {
    /// Resolves the filters. Fails if a session is named that the archive does not have.
    pub(super) fn of(snapshot: &Snapshot, filters: &Filters) -> Result<Self> {
        Ok(Self {
            roles: filters.roles.clone(),
            sessions: sessions(snapshot, filters)?,
            since_ms: filters.since_ms,
            until_ms: filters.until_ms,
            include_inactive: filters.include_inactive,
            include_copies: filters.include_copies,
            stale: HashSet::new(),
        })
    }

    /// Tells whether a session's messages count, as far as the session decides.
    pub(super) fn passes_session(&self, session_ord: u64) -> bool {
        self.sessions.as_ref().is_none_or(|sessions| contains(sessions, session_ord))
    }

    /// Tells whether a time lies inside the bounds; an unknown one does only where there are none.
    pub(super) fn passes_time(&self, time_ms: i64) -> bool {
        match (self.since_ms, self.until_ms) {
            (None, None) => true,
            (since, until) => {
                time_ms != NO_TIME
                    && since.is_none_or(|since| time_ms >= since)
                    && until.is_none_or(|until| time_ms < until)
            }
        }
    }
}

fn contains(sessions: &[bool], session_ord: u64) -> bool {
    usize::try_from(session_ord).ok().and_then(|ord| sessions.get(ord)).copied().unwrap_or(false)
}

fn sessions(snapshot: &Snapshot, filters: &Filters) -> Result<Option<Vec<bool>>> {
    let unfiltered = filters.sources.is_empty()
        && filters.exclude_sources.is_empty()
        && filters.sessions.is_empty()
        && filters.exclude_sessions.is_empty()
        && filters.workspace.is_none();
    if unfiltered {
        return Ok(None);
    }
    let table = snapshot.attributes(["session_id", "source", "cwd", "git_root"])?;
    let known = |id: &String| table.iter().any(|[session, ..]| session.as_deref() == Some(id));
    if let Some(unknown) = filters.sessions.iter().find(|id| !known(id)) {
        return Err(Error::new(ErrorKind::NotFound, "find session", unknown)
            .because("the archive has no session of that id")
            .hint("give the whole id; aft sessions lists them"));
    }
    let names =
        |list: &[String], value: &Option<Arc<str>>| list.iter().any(|name| value.as_deref() == Some(name));
    let passes = |[id, source, cwd, git_root]: &[Option<Arc<str>>; 4]| {
        let inside = |workspace: &String| {
            [cwd, git_root].into_iter().flatten().any(|folder| is_inside(folder, workspace))
        };
        (filters.sources.is_empty() || names(&filters.sources, source))
            && !names(&filters.exclude_sources, source)
            && (filters.sessions.is_empty() || names(&filters.sessions, id))
            && !names(&filters.exclude_sessions, id)
            && filters.workspace.as_ref().is_none_or(inside)
    };
    Ok(Some(table.iter().map(passes).collect()))
}

fn is_inside(folder: &str, workspace: &str) -> bool {
    let workspace = workspace.trim_end_matches('/');
    folder.strip_prefix(workspace).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The filter over one segment.
pub(super) struct SegmentFilter<'a> {
    filter: &'a Filter,
    columns: &'a SegmentColumns,
    alive: Option<&'a AliveBitSet>,
    roles: Option<Roles>,
}

/// Which of a segment's role ordinals pass.
struct Roles {
    ords: Column<u64>,
    passes: Vec<bool>,
}

impl<'a> SegmentFilter<'a> {
    pub(super) fn of(
        filter: &'a Filter,
        segment: &'a SegmentReader,
        columns: &'a SegmentColumns,
    ) -> Result<Self> {
        let roles = Roles::of(&filter.roles, segment).map_err(failed)?;
        Ok(Self { filter, columns, alive: segment.alive_bitset(), roles })
    }

    pub(super) fn is_alive(&self, doc: DocId) -> bool {
        self.alive.is_none_or(|alive| alive.is_alive(doc))
    }

    /// Tells whether a live document counts.
    pub(super) fn passes(&self, doc: DocId) -> bool {
        let filter = self.filter;
        let flags = self.columns.flags.get_val(doc);
        let is_session = flags & flag::SESSION != 0;
        if !is_session && !filter.include_inactive && !flag::is_visible(flags) {
            return false;
        }
        if flags & flag::COPY != 0 && !filter.include_copies {
            return false;
        }
        // A title has no role: asking for roles asks for messages.
        if is_session && !filter.roles.is_empty() {
            return false;
        }
        if !is_session && self.roles.as_ref().is_some_and(|roles| !roles.passes(doc)) {
            return false;
        }
        if filter.sessions.is_some() && !filter.passes_session(self.columns.session_ord.get_val(doc)) {
            return false;
        }
        filter.passes_time(self.columns.timestamp.get_val(doc))
            && (filter.stale.is_empty()
                || is_session
                || !filter.stale.contains(&self.columns.id.get_val(doc)))
    }
}

impl Roles {
    /// Returns `None` where every role of the segment passes.
    fn of(wanted: &[String], segment: &SegmentReader) -> tantivy::Result<Option<Self>> {
        let Some(column) = segment.fast_fields().str("role")? else { return Ok(None) };
        let mut passes = Vec::new();
        let mut roles = column.dictionary().stream()?;
        while roles.advance() {
            let role = roles.key();
            passes.push(if wanted.is_empty() {
                role != ROLE_META.as_bytes()
            } else {
                wanted.iter().any(|name| name.as_bytes() == role)
            });
        }
        let all = passes.iter().all(|passes| *passes);
        Ok((!all).then(|| Self { ords: column.ords().clone(), passes }))
    }

    fn passes(&self, doc: DocId) -> bool {
        let ord = self.ords.first(doc).and_then(|ord| usize::try_from(ord).ok());
        ord.and_then(|ord| self.passes.get(ord)).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::is_inside;

    #[test]
    fn a_workspace_holds_itself_and_what_is_inside() {
        assert!(is_inside("/src/app", "/src/app/"));
        assert!(is_inside("/src/app/web", "/src/app"));
        assert!(!is_inside("/src/application", "/src/app"));
    }
}
