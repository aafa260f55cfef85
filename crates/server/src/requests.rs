//! Parameters as types, and as what the library is asked.

use afterthought::search::workspace_path;
use afterthought::time::{bound_ms, bound_now};
use afterthought::{
    ContextQuery, Facet, Filters, Group, Match, Origin, Result, SearchRequest, Sort, Weights, slice_bounds,
};
use serde::Deserialize;

use crate::parameters::wrong;

/// How fresh an answer must be.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Fresh {
    pub(crate) no_sync: bool,
    /// Seconds.
    pub(crate) wait: f64,
}

/// Bounds of time as typed.
#[derive(Deserialize)]
pub(crate) struct Span {
    since: Option<String>,
    until: Option<String>,
}

impl Span {
    /// Tells whether the bounds move with the clock.
    pub(crate) fn moves(&self) -> bool {
        let moves = |text: &String| bound_ms(text, 0) != bound_ms(text, 1_000);
        self.since.iter().chain(&self.until).any(moves)
    }

    fn bounds(&self) -> Result<(Option<i64>, Option<i64>)> {
        let bound = |name: &str, text: &Option<String>| {
            let ms = text
                .as_deref()
                .map(|text| bound_now(text).map_err(|why| wrong(name, format!("\"{text}\" is {why}"))));
            ms.transpose()
        };
        Ok((bound("since", &self.since)?, bound("until", &self.until)?))
    }
}

/// Which sessions count.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sessions {
    source: Vec<String>,
    exclude_source: Vec<String>,
    user: Vec<String>,
    model: Vec<String>,
    workspace: Option<String>,
    branch: Vec<String>,
}

impl Sessions {
    fn filters(self, span: &Span) -> Result<Filters> {
        let workspace = self.workspace.as_deref().map(workspace).transpose();
        let (since_ms, until_ms) = span.bounds()?;
        Ok(Filters {
            sources: self.source,
            exclude_sources: self.exclude_source,
            users: self.user,
            models: self.model,
            workspace: workspace.map_err(|why| wrong("workspace", why))?,
            branches: self.branch,
            since_ms,
            until_ms,
            ..Filters::default()
        })
    }
}

/// Reads a workspace. A folder that is not named in whole would be one of this server's, and one that climbs
/// is looked up on its disk.
fn workspace(text: &str) -> std::result::Result<String, String> {
    let path = if text.split('/').any(|part| part == "..") { String::new() } else { workspace_path(text)? };
    if path == text || (text.starts_with('/') && !path.is_empty()) {
        return Ok(path);
    }
    Err("name the whole path of a folder, without .. in it, or a git remote".to_owned())
}

/// What is sought, and which messages count.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sought {
    q: Option<String>,
    #[serde(rename = "in")]
    origins: Vec<String>,
    role: Vec<String>,
    session: Vec<String>,
    exclude_session: Vec<String>,
    current_session: Option<String>,
    #[serde(flatten)]
    sessions: Sessions,
    tool: Vec<String>,
    #[serde(rename = "match")]
    matching: Match,
    group: Group,
    include_inactive: bool,
    include_copies: bool,
    facets: Vec<Facet>,
}

impl Sought {
    fn request(self, span: &Span) -> Result<SearchRequest> {
        let filters = Filters {
            roles: self.role,
            sessions: self.session,
            exclude_sessions: self.exclude_session,
            current_session: self.current_session,
            tools: self.tool,
            include_inactive: self.include_inactive,
            include_copies: self.include_copies,
            ..self.sessions.filters(span)?
        };
        // "all" among others is all: it is no origin's name.
        let origins: Option<Vec<Origin>> = self.origins.iter().map(|name| Origin::named(name)).collect();
        Ok(SearchRequest {
            origins: origins.unwrap_or_default(),
            matching: self.matching,
            group: self.group,
            facets: self.facets,
            filters,
            ..SearchRequest::new(self.q.unwrap_or_default())
        })
    }
}

/// `/api/v1/search`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Search {
    #[serde(flatten)]
    sought: Sought,
    #[serde(flatten)]
    pub(crate) span: Span,
    #[serde(flatten)]
    fresh: Fresh,
    sort: Sort,
    no_tiers: bool,
    limit: usize,
    offset: usize,
    cursor: Option<String>,
    weights: String,
    boost: Vec<String>,
    phrase_boost: Option<f32>,
    explain: bool,
}

impl Search {
    pub(crate) fn fresh(&self) -> Fresh {
        // What a cursor continues stays as it was.
        Fresh { no_sync: self.fresh.no_sync || self.cursor.is_some(), ..self.fresh }
    }

    pub(crate) fn request(self) -> Result<SearchRequest> {
        let no_set = || wrong("weights", format!("there is no set \"{}\"", self.weights));
        let mut weights = Weights::named(&self.weights).ok_or_else(no_set)?;
        weights.phrase = self.phrase_boost.unwrap_or(weights.phrase);
        for boost in &self.boost {
            let (name, factor) = Weights::read_factor(boost).map_err(|why| wrong("boost", why))?;
            weights.set(&name, factor);
        }
        Ok(SearchRequest {
            sort: self.sort,
            tiers: !self.no_tiers,
            limit: self.limit,
            offset: self.offset,
            cursor: self.cursor,
            weights,
            explain: self.explain,
            ..self.sought.request(&self.span)?
        })
    }
}

/// `/api/v1/facets`.
#[derive(Deserialize)]
pub(crate) struct Facets {
    #[serde(flatten)]
    sought: Sought,
    #[serde(flatten)]
    pub(crate) span: Span,
    #[serde(flatten)]
    pub(crate) fresh: Fresh,
}

impl Facets {
    pub(crate) fn request(self) -> Result<SearchRequest> {
        Ok(SearchRequest { limit: 1, ..self.sought.request(&self.span)? })
    }
}

/// `/api/v1/sessions`.
#[derive(Deserialize)]
pub(crate) struct List {
    #[serde(flatten)]
    sessions: Sessions,
    #[serde(flatten)]
    pub(crate) span: Span,
    #[serde(flatten)]
    pub(crate) fresh: Fresh,
    pub(crate) limit: usize,
    pub(crate) offset: usize,
}

impl List {
    pub(crate) fn filters(self) -> Result<Filters> {
        self.sessions.filters(&self.span)
    }
}

/// `/api/v1/sessions/{id}`.
#[derive(Deserialize)]
pub(crate) struct Session {
    slice: Option<String>,
    role: Vec<String>,
    search: Option<String>,
    limit: Option<i64>,
    offset: usize,
    #[serde(flatten)]
    pub(crate) fresh: Fresh,
}

/// What is asked of a session.
pub(crate) enum OfSession {
    Messages { roles: Vec<String>, slice: (Option<i64>, Option<i64>) },
    Hits(ContextQuery),
}

impl Session {
    pub(crate) fn asked(self) -> Result<OfSession> {
        let slice = self.slice.as_deref().map(slice_bounds).transpose();
        let slice = slice.map_err(|why| wrong("slice", why))?;
        match self.search {
            Some(_) if slice.is_some() => Err(wrong("slice", "give a slice or a search, not both")),
            Some(query) => {
                let (roles, offset, limit) = (self.role, self.offset, self.limit);
                Ok(OfSession::Hits(ContextQuery { query, roles, offset, limit }))
            }
            None if self.limit.is_some() => Err(wrong("limit", "it belongs to search, which is not given")),
            None if self.offset > 0 => Err(wrong("offset", "it belongs to search, which is not given")),
            None => Ok(OfSession::Messages { roles: self.role, slice: slice.unwrap_or_default() }),
        }
    }
}

/// `/api/v1/messages/{id}`.
#[derive(Deserialize)]
pub(crate) struct Neighbours {
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// What takes no parameters.
#[derive(Deserialize)]
pub(crate) struct Nothing {}

/// `/api/v1/audit`.
#[derive(Deserialize)]
pub(crate) struct Word {
    pub(crate) word: Option<String>,
}
