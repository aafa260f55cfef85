//! A conversation as a list to read, slice, filter and search: one session of an archive, or
//! messages in memory that are in no archive yet. Knows no runtime, no provider and no door.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Serialize;

use crate::error::Result;
use crate::index::{Snapshot, Store};
use crate::limits::{CONTEXT_HITS_DEFAULT, CONTEXT_HITS_MAX, PAGE_DEPTH_MAX, SEARCH_WALL_MS_MAX};
use crate::model::{Checkpoint, Field, Message, Origin, Session, Warning};
use crate::search::{Deadline, Filters, SearchRequest, Source, search};
use crate::time::rfc3339;

/// A conversation. Cheap to clone; filters and slices share its messages.
#[derive(Clone)]
pub struct Context {
    /// What is in view, in order.
    entries: Vec<Arc<Entry>>,
    whole: Arc<Whole>,
}

/// The conversation that every view is a part of.
struct Whole {
    entries: Vec<Arc<Entry>>,
    index: OnceLock<Snapshot>,
}

/// One message and its place in the whole conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place, from 0. No filter and no slice changes it.
    pub index: usize,
    /// The message.
    pub message: Message,
}

/// A search inside a conversation.
#[derive(Clone, Debug, Default)]
pub struct ContextQuery {
    /// The query as typed; empty finds nothing.
    pub query: String,
    /// These roles only; empty means every role but `session_meta`.
    pub roles: Vec<String>,
    /// Hits to skip.
    pub offset: usize,
    /// Hits at most: 10 by default; anything else is brought into 1 to 50.
    pub limit: Option<i64>,
}

/// One page of hits inside a conversation, best first.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ContextPage {
    /// The query as typed.
    pub query: String,
    /// Messages that match.
    pub total: u64,
    /// Hits skipped.
    pub offset: usize,
    /// Hits at most.
    pub limit: usize,
    /// The hits.
    pub results: Vec<ContextHit>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// One hit inside a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct ContextHit {
    /// Its place in the whole conversation, from 0.
    pub index: usize,
    /// Its id in the archive; 0 where a message in memory was given none.
    pub message_id: i64,
    /// Who wrote it.
    pub role: String,
    /// When, RFC 3339 in UTC.
    pub timestamp: Option<String>,
    /// Comparable within this answer only.
    pub score: f32,
    /// How the best match came about.
    pub origin: Origin,
    /// Every field that matched, best first.
    pub matched_fields: Vec<Field>,
    /// The query's words that were found, as typed.
    pub matched_terms: Vec<String>,
    /// How many words were looked for.
    pub terms_total: usize,
    /// The text around the best match, on one line.
    pub snippet: String,
    /// Where words stand in `snippet`: from and to, in Unicode scalar values.
    pub highlights: Vec<[usize; 2]>,
}

impl Context {
    /// Makes a conversation of messages in their order.
    #[must_use]
    pub fn from_messages(messages: impl IntoIterator<Item = Message>) -> Self {
        let numbered = messages.into_iter().enumerate();
        let entries: Vec<_> = numbered.map(|(index, message)| Arc::new(Entry { index, message })).collect();
        Self { entries: entries.clone(), whole: Arc::new(Whole { entries, index: OnceLock::new() }) }
    }

    /// Returns copies of the messages in view, in order.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.iter().map(|entry| Entry::clone(entry)).collect()
    }

    /// Counts the messages in view.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Tells whether no message is in view.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Narrows the view to messages of these roles; no role narrows nothing.
    #[must_use]
    pub fn filter(&self, roles: &[String]) -> Self {
        let kept = |entry: &&Arc<Entry>| roles.is_empty() || roles.contains(&entry.message.role);
        Self { entries: self.entries.iter().filter(kept).cloned().collect(), whole: Arc::clone(&self.whole) }
    }

    /// Narrows the view to the messages from `start` up to and without `end`, counted within the
    /// view. Negative numbers count from its end, missing ones mean its ends; whatever lies outside
    /// is brought inside, so a slice never fails and may be empty.
    #[must_use]
    pub fn slice(&self, start: Option<i64>, end: Option<i64>) -> Self {
        let entries =
            self.entries.get(slice_range(self.entries.len(), start, end)).unwrap_or_default().to_vec();
        Self { entries, whole: Arc::clone(&self.whole) }
    }

    /// Searches the whole conversation, ranked as every search is; equal scores newest first. The
    /// first search indexes it in memory, which costs about what reading it costs.
    pub fn search(&self, query: &ContextQuery) -> Result<ContextPage> {
        let limit = limit(query.limit);
        let empty =
            ContextPage { query: query.query.clone(), offset: query.offset, limit, ..ContextPage::default() };
        if self.whole.entries.is_empty() || query.offset > PAGE_DEPTH_MAX - limit {
            let warning = Warning::new("past-the-end", "no message is that far back");
            return Ok(ContextPage { warnings: vec![warning], ..empty });
        }
        let request = SearchRequest {
            offset: query.offset,
            limit,
            filters: Filters { roles: query.roles.clone(), ..Filters::default() },
            ..SearchRequest::new(&query.query)
        };
        let deadline = Deadline::after(Duration::from_millis(SEARCH_WALL_MS_MAX));
        let snapshot = self.whole.snapshot()?;
        let mut fetch = |ids: &[Option<i64>]| Ok(self.whole.numbered(ids));
        let source = Source { name: "context", snapshot: &snapshot, fetch: &mut fetch };
        let page = search(&mut [Some(source)], &request, &deadline)?;
        let mut results = Vec::with_capacity(page.results.len());
        for hit in page.results {
            let Some(entry) = hit.message_id.and_then(|number| self.whole.at(number)) else { continue };
            results.push(ContextHit {
                index: entry.index,
                message_id: entry.message.id,
                role: entry.message.role.clone(),
                timestamp: entry.message.timestamp_ms.and_then(rfc3339),
                score: hit.score,
                origin: hit.origin,
                matched_fields: hit.matched_fields,
                matched_terms: hit.matched_terms,
                terms_total: hit.terms_total,
                snippet: hit.snippet,
                highlights: hit.highlights,
            });
        }
        Ok(ContextPage { total: page.total.value, results, warnings: page.warnings, ..empty })
    }
}

/// Reads the bounds of a slice as people write them: `A:B`, `A:`, `:B` or `:`. Fails with what to write.
pub fn slice_bounds(text: &str) -> std::result::Result<(Option<i64>, Option<i64>), String> {
    let (start, end) = text.split_once(':').ok_or("write it as A:B, such as -5: or 10:20")?;
    let bound = |bound: &str| match bound.trim() {
        "" => Ok(None),
        number => number.parse().map(Some).map_err(|_| format!("\"{number}\" is no whole number")),
    };
    Ok((bound(start)?, bound(end)?))
}

/// Returns the places from `start` up to and without `end`; see [`Context::slice`]. May be empty or reversed,
/// but never outside.
pub(crate) fn slice_range(length: usize, start: Option<i64>, end: Option<i64>) -> Range<usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let inside = |bound: i64| {
        let from_start = if bound < 0 { bound.saturating_add(length) } else { bound };
        usize::try_from(from_start.clamp(0, length)).unwrap_or(0)
    };
    inside(start.unwrap_or(0))..inside(end.unwrap_or(length))
}

/// Brings a page size into its bounds.
fn limit(asked: Option<i64>) -> usize {
    match asked {
        None => CONTEXT_HITS_DEFAULT,
        Some(asked) => usize::try_from(asked).unwrap_or(0).clamp(1, CONTEXT_HITS_MAX),
    }
}

impl Whole {
    /// Returns the conversation's index; builds it on first use. Documents are numbered by place.
    fn snapshot(&self) -> Result<Snapshot> {
        if let Some(snapshot) = self.index.get() {
            return Ok(snapshot.clone());
        }
        let store = Store::in_memory()?;
        let mut writer = store.small_writer()?;
        writer.put_session(0, Session::default())?;
        for entry in &self.entries {
            writer.add_message(0, numbered(entry), false)?;
        }
        writer.commit(&Checkpoint { complete: true, ..store.snapshot()?.checkpoint().clone() })?;
        writer.finish()?;
        let snapshot = store.snapshot()?;
        Ok(self.index.get_or_init(|| snapshot).clone())
    }

    fn at(&self, number: i64) -> Option<&Arc<Entry>> {
        self.entries.get(usize::try_from(number).ok()?)
    }

    fn numbered(&self, numbers: &[Option<i64>]) -> Vec<Option<Message>> {
        numbers.iter().map(|number| Some(numbered(self.at((*number)?)?))).collect()
    }
}

/// A message under the number of its place, so that ids given twice or not at all do no harm.
fn numbered(entry: &Entry) -> Message {
    Message { id: i64::try_from(entry.index).unwrap_or(i64::MAX), ..entry.message.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(roles: &[&str]) -> Context {
        Context::from_messages(
            roles.iter().map(|role| Message { role: (*role).to_owned(), ..Message::default() }),
        )
    }

    #[track_caller]
    fn check(start: Option<i64>, end: Option<i64>, expected: &[usize]) {
        let sliced = context(&["user", "assistant", "user", "tool", "user"]).slice(start, end);
        assert_eq!(sliced.entries().iter().map(|entry| entry.index).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn slices_count_from_both_ends_and_never_fail() {
        check(None, None, &[0, 1, 2, 3, 4]);
        check(Some(1), Some(3), &[1, 2]);
        check(Some(-2), None, &[3, 4]);
        check(None, Some(-4), &[0]);
        check(Some(-99), Some(2), &[0, 1]);
        check(Some(3), Some(99), &[3, 4]);
        check(Some(3), Some(1), &[]);
        check(Some(99), None, &[]);
        check(Some(i64::MIN), Some(i64::MAX), &[0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_filter_keeps_the_places() {
        let users = context(&["user", "assistant", "user", "tool", "user"]).filter(&["user".to_owned()]);
        let last = users.slice(Some(-2), None).entries();
        assert_eq!(last.iter().map(|entry| entry.index).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn page_sizes_are_brought_into_bounds() {
        assert_eq!([None, Some(0), Some(-1), Some(7), Some(51)].map(limit), [10, 1, 1, 7, 50]);
    }
}
