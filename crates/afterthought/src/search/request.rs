//! What a caller asks for, with its defaults and bounds.

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{BOOST_MAX, FILTER_VALUES_MAX, PAGE_DEPTH_MAX, PAGE_HITS_DEFAULT, PAGE_HITS_MAX};
use crate::model::{Field, Origin};

use super::facets::Facet;
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
    /// page's, but for the limit and the facets; bounds of time are those of the first page, whatever is
    /// given here.
    pub cursor: Option<String>,
    /// By relevance, hits of timers' and sub-agents' sessions and summaries of compaction come last.
    pub tiers: bool,
    /// How fields and phrases count.
    pub weights: Weights,
    /// Attributes to count all hits by, messages also where they are grouped; none unless asked.
    pub facets: Vec<Facet>,
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
            facets: Vec::new(),
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
            return refused(format!(
                "offset + limit must not exceed {PAGE_DEPTH_MAX}; deeper pages are reached by the cursor of the page before"
            ));
        }
        if self.cursor.is_some() && self.offset > 0 {
            return refused("give a cursor or an offset, not both".to_owned());
        }
        self.filters.check()?;
        let mut weights = self.weights.numbers();
        match weights.find(|(_, weight)| !(0.0..=BOOST_MAX).contains(weight)) {
            Some((name, weight)) => {
                refused(format!("the weight of {name} must be 0 to {BOOST_MAX}, not {weight}"))
            }
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
    /// Sessions of these people only; a session of nobody known does not count then.
    pub users: Vec<String>,
    /// Sessions with these models only.
    pub models: Vec<String>,
    /// Sessions of this checkout or working folder only; see [`super::workspace_path`].
    pub workspace: Option<String>,
    /// Sessions on these git branches only, and those of which no branch is recorded. Branches are
    /// names inside a workspace, so there must be one.
    pub branches: Vec<String>,
    /// Only messages that call one of these tools, or in which one of them answers, by its exact name.
    pub tools: Vec<String>,
    /// The conversation that asks: not this session, nor those that are one conversation with it.
    pub current_session: Option<String>,
    /// Not before, in milliseconds since 1970. Messages of unknown time do not count then.
    pub since_ms: Option<i64>,
    /// Before, in milliseconds since 1970.
    pub until_ms: Option<i64>,
    /// Also messages that were taken back, or that no person ever saw.
    pub include_inactive: bool,
    /// Also rows that repeat a message shown already.
    pub include_copies: bool,
    /// Nothing exists but the sessions of this person. Unlike `users`, which says how many matches it left
    /// out: what others have is in no count, no name and no reason of an answer. How rare a word is, which
    /// scores and coverage weigh by, stays that of the whole archive.
    pub confined_to: Option<String>,
}

impl Filters {
    /// Checks what must stand together, and how much there is of it. Fails with what is missing or too much.
    pub(super) fn check(&self) -> Result<()> {
        let lists = [
            ("role", &self.roles),
            ("source", &self.sources),
            ("source", &self.exclude_sources),
            ("session", &self.sessions),
            ("session", &self.exclude_sessions),
            ("user", &self.users),
            ("model", &self.models),
            ("branch", &self.branches),
            ("tool", &self.tools),
        ];
        if let Some((name, list)) = lists.into_iter().find(|(_, list)| list.len() > FILTER_VALUES_MAX) {
            return Err(Error::new(ErrorKind::Usage, "filter by", name)
                .because(format!("{} values are given, and {FILTER_VALUES_MAX} is the most", list.len())));
        }
        if self.branches.is_empty() || self.workspace.is_some() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Usage, "filter by branch", self.branches.join(","))
            .because("a branch is a name inside a workspace, and none is given")
            .hint("give the workspace as well"))
    }
}
