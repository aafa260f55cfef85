//! What a caller asks for, with its defaults and bounds.

use std::path::{Component, Path};

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{BOOST_MAX, PAGE_DEPTH_MAX, PAGE_HITS_DEFAULT, PAGE_HITS_MAX};
use crate::model::{Field, Origin};

use super::weights::Weights;

/// A search.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The query as typed.
    pub query: String,
    /// Where a match may stand; empty means everywhere.
    pub origins: Vec<Origin>,
    /// Which messages count.
    pub filters: Filters,
    /// Whether every word must be there.
    pub matching: Match,
    /// Rank of the first hit shown.
    pub offset: usize,
    /// Hits shown at most.
    pub limit: usize,
    /// What comes first.
    pub sort: Sort,
    /// Whether each session, or each lineage of sessions, is shown once.
    pub group: Group,
    /// Where the page begins: `next_cursor` of the page before. The rest of the request must be that
    /// page's, but for the limit; bounds of time are those of the first page, whatever is given here.
    pub cursor: Option<String>,
    /// By relevance, hits of timers' and sub-agents' sessions and summaries of compaction come last.
    pub tiers: bool,
    /// How fields and phrases count.
    pub weights: Weights,
    /// Show how each score came about, and what the search cost.
    pub explain: bool,
    /// Skip work that cannot change the page. Off only to check that it does not.
    pub prune: bool,
}

impl SearchRequest {
    /// Asks for the first page of a query, everything else as by default.
    #[must_use]
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            origins: Vec::new(),
            filters: Filters::default(),
            matching: Match::Any,
            offset: 0,
            limit: PAGE_HITS_DEFAULT,
            sort: Sort::Relevance,
            group: Group::None,
            cursor: None,
            tiers: true,
            weights: Weights::default(),
            explain: false,
            prune: true,
        }
    }

    /// Checks the bounds. Fails with the bound that was crossed.
    pub(super) fn check(&self) -> Result<()> {
        let refused = |why: String| Err(Error::new(ErrorKind::Usage, "search", &self.query).because(why));
        if self.limit == 0 || self.limit > PAGE_HITS_MAX {
            return refused(format!("limit must be 1 to {PAGE_HITS_MAX}, not {}", self.limit));
        }
        if self.offset.saturating_add(self.limit) > PAGE_DEPTH_MAX {
            return refused(format!("offset + limit must not exceed {PAGE_DEPTH_MAX}"));
        }
        if self.cursor.is_some() && self.offset > 0 {
            return refused("give a cursor or an offset, not both".to_owned());
        }
        let mut weights = self.weights.numbers();
        match weights.find(|(_, weight)| !(0.0..=BOOST_MAX).contains(weight)) {
            Some((name, weight)) => refused(format!("{name} must be 0 to {BOOST_MAX}, not {weight}")),
            None => Ok(()),
        }
    }

    /// Returns the fields that are searched, with their boosts.
    pub(super) fn fields(&self) -> Vec<(Field, f32)> {
        let wanted = |field: &Field| self.origins.is_empty() || self.origins.contains(&field.origin());
        let boost = |field: Field| (field, self.weights.fields.get(&field).copied().unwrap_or(0.0));
        Field::ALL.into_iter().filter(wanted).map(boost).filter(|(_, boost)| *boost > 0.0).collect()
    }
}

/// Whether a hit needs every word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Any word makes a hit; more of them rank higher.
    Any,
    /// Every word must be there.
    All,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// The best match; among equals the newest.
    #[default]
    Relevance,
    /// The newest; what has no readable time comes last.
    Newest,
    /// The oldest; what has no readable time comes last.
    Oldest,
}

/// What is shown once, by its best hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Every message.
    #[default]
    None,
    /// Every session.
    Session,
    /// All sessions that continue, branch from or were delegated by the same first one.
    Lineage,
}

/// Which messages count. All filters are part of the search: totals and pages follow them.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// These roles only; empty means every role but `session_meta`.
    pub roles: Vec<String>,
    /// Sessions from these sources only; empty means every source.
    pub sources: Vec<String>,
    /// No sessions from these sources.
    pub exclude_sources: Vec<String>,
    /// These sessions only; empty means every session.
    pub sessions: Vec<String>,
    /// Not these sessions.
    pub exclude_sessions: Vec<String>,
    /// Sessions of this checkout or working folder only: the folder itself or one inside it.
    pub workspace: Option<String>,
    /// Not before, in milliseconds since 1970. Messages of unknown time do not count then.
    pub since_ms: Option<i64>,
    /// Before, in milliseconds since 1970.
    pub until_ms: Option<i64>,
    /// Also messages that were taken back, or that no person ever saw.
    pub include_inactive: bool,
    /// Also rows that repeat a message shown already.
    pub include_copies: bool,
}

/// Returns a folder as archives name them: by its absolute path. Fails with the reason, where there
/// is no such folder to climb out of.
pub fn workspace_path(folder: &str) -> std::result::Result<String, String> {
    if folder.is_empty() {
        return Err("name a folder".to_owned());
    }
    let climbs = Path::new(folder).components().any(|part| part == Component::ParentDir);
    let path = if climbs { std::fs::canonicalize(folder) } else { std::path::absolute(folder) };
    path.map(|path| path.display().to_string()).map_err(|error| error.to_string())
}
