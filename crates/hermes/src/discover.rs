//! Discover: one result for each conversation that a query finds, best first. A title comes before
//! all, what timers wrote behind all; where no message holds every word, those that hold some of them
//! are shown and marked.

use std::collections::{HashMap, HashSet};

use afterthought::archive::{StoredMessage, StoredSession};
use afterthought::search::IndexState;
use afterthought::{ErrorKind, Filters, Group, Hit, Match, Origin, Page, SearchRequest, Sort, Warning};
use serde_json::{Map, Value, json};

use crate::arguments::Arguments;
use crate::limits::{CURRENT_HITS_MAX, CURRENT_HITS_PAGE, NOTES_MAX, TITLE_BYTES_MAX};
use crate::message::{Anchored, Halvings, Place, anchored, fitted, name, said, shaped, short};
use crate::operators::{grouped, is_operator};
use crate::profiles::Profile;
use crate::reasons::{Reasons, relaxed, titled, why_empty};
use crate::sight::{HIDDEN_SOURCES, Sight, is_compacted_away, left_context};
use crate::when::when;
use crate::{Asker, Refusal, message};

/// The source of what timers wrote.
const CRON: &str = "cron";
/// Roles of people and the model, searched unless others are asked for.
const ROLES: [&str; 2] = ["user", "assistant"];
/// What a result of a title says of itself.
const TITLE_ROLE: &str = "session_title";
/// What one says that was found by its id.
const ID_ROLE: &str = "session_id";
/// Messages on each side of a hit.
const AROUND: usize = 5;

/// Answers a query.
pub(crate) fn discover(
    profile: &Profile,
    asker: Asker<'_>,
    query: &str,
    arguments: &Arguments,
) -> Result<Value, Refusal> {
    let freshness = profile.freshen()?;
    let scene = profile.read(asker.user, |sight| Scene::of(sight, asker, arguments, query))?;
    let search = Search { profile, asker, arguments, query, scene: &scene };
    let mut found = search.messages(Match::All)?;
    let mut note = None;
    if found.hits.is_empty() && scene.titled.is_none() {
        let reasons = search.reasons(&found, Match::All)?;
        let titles = search.titles()?;
        if !titles.hits.is_empty() {
            note = Some(titled(&reasons));
            found = titles;
        } else if is_relaxable(query) {
            found = search.messages(Match::Any)?;
            found.relaxed = !found.hits.is_empty();
            note = Some(relaxed(&reasons, found.is_weak));
        }
        if found.hits.is_empty() {
            return search.nothing(&reasons, &found, freshness.as_ref());
        }
    } else if found.relaxed {
        note = Some(relaxed(&Reasons::default(), found.is_weak));
    }
    let results = profile.read(asker.user, |sight| search.results(sight, &found.hits))?;
    // The archive has moved on from what was found.
    if results.is_empty() {
        return search.nothing(&Reasons::default(), &found, freshness.as_ref());
    }
    Ok(fitted(|halvings| {
        let shown: Vec<Value> = results.iter().map(|result| result.shown(halvings)).collect();
        let mut answer = Map::new();
        answer.insert("success".into(), true.into());
        answer.insert("mode".into(), "discover".into());
        answer.insert("query".into(), said(query).into());
        let count = shown.len();
        answer.insert("results".into(), shown.into());
        answer.insert("count".into(), count.into());
        answer.insert("sessions_searched".into(), count.into());
        if found.relaxed {
            answer.insert("relaxed".into(), true.into());
        }
        if let Some(note) = &note {
            answer.insert("message".into(), said(note).into());
        }
        found.annotated(answer.into(), freshness.as_ref())
    }))
}

/// Tells whether a query leaves open what must be there: it has words that no operator and no quotes
/// bind.
fn is_relaxable(query: &str) -> bool {
    let outside: String = query.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let mut words = outside.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| !is_operator(word) && !word.starts_with('+'))
}

/// What is known before anything is searched.
pub(crate) struct Scene {
    /// The session whose title is asked for.
    titled: Option<StoredSession>,
    /// Sessions that stand before the model already.
    pub(crate) current: Vec<String>,
    /// Sessions whose lineages the call does not want.
    excluded: Vec<String>,
    /// Rows of current sessions that compaction took out of the model's sight.
    compacted: HashSet<i64>,
}

impl Scene {
    fn of(
        sight: &Sight<'_>,
        asker: Asker<'_>,
        arguments: &Arguments,
        query: &str,
    ) -> afterthought::Result<Self> {
        let mut current = Vec::new();
        if let Some(id) = asker.current {
            let lineage = sight.lineage(&sight.root(id)?)?;
            let live = lineage.into_iter().filter(|session| session.id == id || !left_context(session));
            current.extend(live.map(|session| session.id));
        }
        let mut excluded = Vec::new();
        for id in &arguments.exclude_sessions {
            let lineage = sight.lineage(&sight.root(id)?)?;
            excluded.extend(lineage.into_iter().map(|session| session.id));
        }
        let mut compacted = HashSet::new();
        for id in current.iter().filter(|id| !excluded.contains(id)) {
            let rows = sight.visible(id)?;
            compacted.extend(rows.iter().filter(|row| is_compacted_away(row)).map(|row| row.id));
        }
        let title = query.trim().trim_matches(['`', '\'', '"']);
        let mut titled =
            if title.is_empty() || title.len() > TITLE_BYTES_MAX { None } else { sight.titled(title)? };
        let is_left_out =
            |session: &StoredSession| current.contains(&session.id) || excluded.contains(&session.id);
        titled = titled.filter(|session| !is_left_out(session));
        if let Some(session) = &titled {
            let root = sight.session(&sight.root(&session.id)?)?;
            let source = root.as_ref().and_then(|root| root.source.as_deref());
            if source.is_some_and(|source| HIDDEN_SOURCES.contains(&source)) {
                titled = None;
            }
        }
        Ok(Self { titled, current, excluded, compacted })
    }
}

/// A query and all that bounds it.
pub(crate) struct Search<'a> {
    profile: &'a Profile,
    pub(crate) asker: Asker<'a>,
    pub(crate) arguments: &'a Arguments,
    query: &'a str,
    pub(crate) scene: &'a Scene,
}

/// Hits, and what there is to say about them.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// Words that nothing that was searched holds.
    pub(crate) unknown: Vec<String>,
    /// Some of the words were enough.
    relaxed: bool,
    is_weak: bool,
    /// Share of the archive that is indexed, while it is being built.
    building: Option<u8>,
    notes: Vec<String>,
}

/// Warnings that are no news here: they say what is missing, which has its own words.
const SAID_ELSEWHERE: [&str; 9] = [
    "weak",
    "relaxed",
    "unknown-term",
    "unknown-filter",
    "hidden-current",
    "filtered-out",
    "no-match",
    "found-elsewhere",
    "building",
];

/// Tells whether a role was asked for that no message has.
fn says_no_role(warning: &Warning) -> bool {
    warning.kind == "unknown-filter"
        && warning.message.starts_with("the archive has no role")
        && !ROLES.iter().any(|role| warning.message.contains(&format!("no role \"{role}\"")))
}

impl Found {
    fn take(&mut self, page: Page) {
        if page.index.state == IndexState::Building {
            self.building = Some(page.index.percent);
        }
        self.is_weak |= page.warnings.iter().any(|warning| warning.kind == "weak");
        self.relaxed |= page.warnings.iter().any(|warning| warning.kind == "relaxed");
        for warning in &page.warnings {
            let is_news = !SAID_ELSEWHERE.contains(&warning.kind) || says_no_role(warning);
            if is_news && !self.notes.contains(&warning.message) {
                self.notes.push(warning.message.clone());
            }
        }
        let unknown = page.diagnosis.iter().flat_map(|diagnosis| &diagnosis.unknown_terms);
        for term in unknown.map(|term| &term.term) {
            if !self.unknown.contains(term) {
                self.unknown.push(term.clone());
            }
        }
        self.hits.extend(page.results);
    }

    fn annotated(&self, mut answer: Value, freshness: Option<&Warning>) -> Value {
        if let Some(percent) = self.building {
            let note = format!("the index is being built: {percent} % of the messages are searched so far");
            answer["index_rebuild"] = json!({"percent": percent, "note": note});
        }
        let freshness = freshness.filter(|warning| warning.kind != "building");
        let notes = self.notes.iter().chain(freshness.map(|warning| &warning.message));
        let mut notes: Vec<String> = notes.map(|note| said(note)).collect();
        let more = notes.len().saturating_sub(NOTES_MAX);
        if more > 0 {
            notes.truncate(NOTES_MAX);
            notes.push(format!("{more} more notes are left out"));
        }
        if !notes.is_empty() {
            answer["notes"] = notes.into();
        }
        answer
    }
}

impl Search<'_> {
    /// Asks for the best message of each lineage, everything else as the call says.
    pub(crate) fn request(&self, matching: Match) -> SearchRequest {
        let default = || ROLES.map(str::to_owned).to_vec();
        let roles = if self.arguments.roles.is_empty() { default() } else { self.arguments.roles.clone() };
        let mut origins = vec![Origin::Said, Origin::Did];
        if roles.iter().any(|role| role == "tool") {
            origins.push(Origin::Saw);
        }
        if self.arguments.include_reasoning {
            origins.push(Origin::Thought);
        }
        SearchRequest {
            origins,
            matching,
            sort: self.arguments.sort,
            group: Group::Lineage,
            // One more: the lineage of the title may be among them.
            limit: self.arguments.limit + 1,
            filters: Filters {
                roles,
                exclude_sessions: self.scene.current.iter().chain(&self.scene.excluded).cloned().collect(),
                since_ms: self.arguments.since_ms,
                until_ms: self.arguments.until_ms,
                ..Filters::default()
            },
            ..SearchRequest::new(grouped(self.query))
        }
    }

    /// Counts what a request finds.
    pub(crate) fn count(&self, request: SearchRequest) -> afterthought::Result<u64> {
        let request = SearchRequest { group: Group::None, limit: 1, sort: Sort::Relevance, ..request };
        Ok(self.profile.search(request)?.total.value)
    }

    /// Finds messages: those of people's sessions, then those of timers.
    fn messages(&self, matching: Match) -> afterthought::Result<Found> {
        let mut found = Found::default();
        let mut people = self.request(matching);
        people.filters.exclude_sources =
            [&HIDDEN_SOURCES[..], &[CRON]].concat().iter().map(|source| (*source).to_owned()).collect();
        found.take(self.profile.search(people)?);
        if let Some(hit) = self.compacted(matching)? {
            let at = found.hits.partition_point(|other| self.comes_before(other, &hit));
            found.hits.insert(at, hit);
        }
        if found.hits.len() <= self.arguments.limit {
            let mut timers = self.request(matching);
            timers.filters.sources = vec![CRON.to_owned()];
            timers.limit += found.hits.len();
            found.take(self.profile.search(timers)?);
        }
        Ok(found)
    }

    /// Finds the best message of the conversation that asks that compaction took out of its sight.
    fn compacted(&self, matching: Match) -> afterthought::Result<Option<Hit>> {
        let scene = self.scene;
        if scene.compacted.is_empty() {
            return Ok(None);
        }
        for offset in (0..CURRENT_HITS_MAX).step_by(CURRENT_HITS_PAGE) {
            let mut request = self.request(matching);
            request.group = Group::None;
            (request.offset, request.limit) = (offset, CURRENT_HITS_PAGE);
            request.filters.sessions.clone_from(&scene.current);
            request.filters.exclude_sessions.clone_from(&scene.excluded);
            let mut hits = match self.profile.search(request) {
                Ok(page) => page.results,
                // One of these sessions is newer than the index.
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            let is_away = |hit: &Hit| hit.message_id.is_some_and(|id| scene.compacted.contains(&id));
            if let Some(at) = hits.iter().position(is_away) {
                return Ok(Some(hits.swap_remove(at)));
            }
            if hits.len() < CURRENT_HITS_PAGE {
                break;
            }
        }
        Ok(None)
    }

    fn comes_before(&self, a: &Hit, b: &Hit) -> bool {
        match self.arguments.sort {
            Sort::Relevance => (a.tier.is_some(), -a.score) <= (b.tier.is_some(), -b.score),
            Sort::Newest => a.timestamp >= b.timestamp,
            Sort::Oldest => a.timestamp <= b.timestamp,
        }
    }

    /// Finds sessions by words of their titles.
    fn titles(&self) -> afterthought::Result<Found> {
        let mut request = self.request(Match::All);
        request.origins = vec![Origin::Titled];
        request.filters.roles.clear();
        request.filters.exclude_sources = HIDDEN_SOURCES.map(str::to_owned).to_vec();
        let mut found = Found::default();
        found.take(self.profile.search(request)?);
        Ok(found)
    }

    fn reasons(&self, found: &Found, matching: Match) -> afterthought::Result<Reasons> {
        Reasons::of(self, found, matching)
    }

    fn nothing(
        &self,
        reasons: &Reasons,
        found: &Found,
        freshness: Option<&Warning>,
    ) -> Result<Value, Refusal> {
        // Some of the words may stand where not all of them do.
        let is_open = reasons.is_empty() && is_relaxable(self.query);
        let some = if is_open { Some(self.reasons(found, Match::Any)?) } else { None };
        let message = why_empty(some.as_ref().unwrap_or(reasons), some.is_some());
        let answer = json!({
            "success": true,
            "mode": "discover",
            "query": said(self.query),
            "results": [],
            "count": 0,
            "message": said(&message),
        });
        Ok(found.annotated(answer, freshness))
    }

    /// Makes a result of the best hit of each lineage, the title's first.
    fn results(&self, sight: &Sight<'_>, hits: &[Hit]) -> afterthought::Result<Vec<FoundSession>> {
        let (mut seen, mut results) = (HashSet::new(), Vec::new());
        if let Some(session) = &self.scene.titled {
            let root = sight.root(&session.id)?;
            results.push(title_result(sight, session, &root)?);
            seen.insert(root);
        }
        for hit in hits {
            if seen.len() >= self.arguments.limit {
                break;
            }
            let root = sight.root(&hit.session_id)?;
            if seen.contains(&root) {
                continue;
            }
            let result = match hit.message_id {
                Some(id) => self.message(sight, hit, id, &root)?,
                None => match sight.session(&hit.session_id)? {
                    Some(session) => Some(title_result(sight, &session, &root)?),
                    None => None,
                },
            };
            let Some(result) = result else { continue };
            seen.insert(root);
            let is_compact = self.arguments.compact && !results.is_empty();
            results.push(if is_compact { result.compact() } else { result });
        }
        Ok(results)
    }

    /// Makes a result of a hit; `None` where the archive has it no longer, or not for who asks: the index
    /// may be behind.
    fn message(
        &self,
        sight: &Sight<'_>,
        hit: &Hit,
        id: i64,
        root: &str,
    ) -> afterthought::Result<Option<FoundSession>> {
        let (Some(top), Some(own)) = (sight.session(root)?, sight.session(&hit.session_id)?) else {
            return Ok(None);
        };
        let view = anchored(sight, &sight.visible(&hit.session_id)?, id, AROUND)?;
        if !view.window.iter().any(|message| message.id == id) {
            return Ok(None);
        }
        let started = if is_blank(&top.started) { &own.started } else { &top.started };
        let mut head = head(&hit.session_id, &top, started);
        let model = [top.model.as_deref(), own.model.as_deref()]
            .into_iter()
            .flatten()
            .find(|model| !model.is_empty());
        head.insert("model".into(), name(model.unwrap_or("unknown")).into());
        head.insert("title".into(), top.title.as_deref().filter(|title| !title.is_empty()).map(name).into());
        head.insert("matched_role".into(), hit.role.as_deref().map(name).into());
        head.insert("match_message_id".into(), id.into());
        head.insert("snippet".into(), marked(hit).into());
        if self.arguments.include_reasoning {
            head.insert("matched_field".into(), hit.matched_fields.first().map(|field| field.name()).into());
            head.insert("origin".into(), hit.origin.name().into());
        }
        Ok(Some(FoundSession::new(head, Some(id), view, root, &hit.session_id)))
    }
}

/// Makes a result of a session whose title or id was asked for.
fn title_result(
    sight: &Sight<'_>,
    session: &StoredSession,
    root: &str,
) -> afterthought::Result<FoundSession> {
    let top = sight.session(root)?.unwrap_or_default();
    let own = session.title.clone().unwrap_or_default();
    let title = name(top.title.as_deref().filter(|title| !title.is_empty()).unwrap_or(&own));
    let title = Some(title).filter(|title| !title.is_empty());
    let rows = sight.visible(&session.id)?;
    let live: Vec<_> = rows.iter().filter(|row| row.state.active).cloned().collect();
    let anchor = live.first().map(|row| row.id);
    let mut view = match anchor {
        Some(anchor) => anchored(sight, &rows, anchor, AROUND)?,
        None => Anchored::default(),
    };
    // Nothing was said that would be the middle: both ends are shown, whoever wrote them.
    if view.start.is_empty() {
        view.start = sight.messages(&live[..live.len().min(3)])?;
    }
    if view.end.is_empty() {
        view.end = sight.messages(&live[live.len().saturating_sub(3)..])?;
    }
    let mut head = head(&session.id, &top, &top.started);
    let model = top.model.as_deref().filter(|model| !model.is_empty());
    head.insert("model".into(), name(model.unwrap_or("unknown")).into());
    head.insert("title".into(), title.as_deref().into());
    // One without a title was found by its id.
    let (role, snippet) = match &title {
        Some(title) => (TITLE_ROLE, format!("Title: >>>{title}<<<")),
        None => (ID_ROLE, format!("Session: >>>{}<<<", name(&session.id))),
    };
    head.insert("matched_role".into(), role.into());
    head.insert("match_message_id".into(), anchor.into());
    head.insert("snippet".into(), snippet.into());
    Ok(FoundSession::new(head, anchor, view, root, &session.id))
}

fn is_blank(stored: &Value) -> bool {
    stored.is_null() || stored.as_str() == Some("") || stored.as_f64() == Some(0.0)
}

/// Begins a result.
fn head(session_id: &str, top: &StoredSession, started: &Value) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("session_id".into(), message::session_id(session_id).into());
    head.insert("when".into(), when(&short(started)).into());
    let source = top.source.as_deref().filter(|source| !source.is_empty());
    head.insert("source".into(), name(source.unwrap_or("unknown")).into());
    head
}

/// Writes a snippet with the words that were found between marks.
fn marked(hit: &Hit) -> String {
    let ends: HashMap<usize, usize> = hit.highlights.iter().map(|[from, to]| (*from, *to)).collect();
    let (mut text, mut until) = (String::with_capacity(hit.snippet.len() + 16), None);
    for (at, c) in hit.snippet.chars().enumerate() {
        if until == Some(at) {
            text += "<<<";
            until = None;
        }
        if let (None, Some(end)) = (until, ends.get(&at)) {
            text += ">>>";
            until = Some(*end);
        }
        text.push(c);
    }
    if until.is_some() {
        text += "<<<";
    }
    text
}

/// One result: what is said of it, and its messages.
struct FoundSession {
    head: Map<String, Value>,
    anchor: Option<i64>,
    view: Anchored,
    parent: Option<String>,
}

impl FoundSession {
    fn new(
        head: Map<String, Value>,
        anchor: Option<i64>,
        view: Anchored,
        root: &str,
        session_id: &str,
    ) -> Self {
        Self { head, anchor, view, parent: (root != session_id).then(|| root.to_owned()) }
    }

    /// Leaves only the message that was found.
    fn compact(mut self) -> Self {
        self.view.start.clear();
        self.view.end.clear();
        let anchor = self.anchor;
        self.view.window.retain(|message| Some(message.id) == anchor);
        self
    }

    fn shown(&self, halvings: Halvings) -> Value {
        let list = |messages: &[StoredMessage], anchor, place| shaped(messages, anchor, place, halvings);
        let mut result = self.head.clone();
        result.insert("bookend_start".into(), list(&self.view.start, None, Place::Bookend).into());
        result.insert("messages".into(), list(&self.view.window, self.anchor, Place::Window).into());
        result.insert("bookend_end".into(), list(&self.view.end, None, Place::Bookend).into());
        result.insert("messages_before".into(), self.view.before.into());
        result.insert("messages_after".into(), self.view.after.into());
        if let Some(parent) = &self.parent {
            result.insert("parent_session_id".into(), message::session_id(parent).into());
        }
        Value::Object(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_quotes_are_never_relaxed() {
        for open in ["lock order", "deployments", "a or b", "\"lock order\" stall"] {
            assert!(is_relaxable(open), "{open}");
        }
        for bound in ["lock OR order", "lock NOT order", "a AND b", "+lock order", "\"lock order\"", "", "  "]
        {
            assert!(!is_relaxable(bound), "{bound}");
        }
    }
}
