//! A page of hits: the one shape that every door shows. `schema/search.schema.json` states it.

use serde::Serialize;

use crate::error::ErrorView;
use crate::model::{Field, Origin, Tier, Warning};

use super::diagnosis::Diagnosis;
use super::explain::{Explanation, Work};
use super::facets::{Facets, FacetsMore};

/// One page of an answer.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Version of this shape.
    pub schema_version: u32,
    /// The query as typed.
    pub query: String,
    /// How many messages match, or groups of them.
    pub total: Count,
    /// How many messages match, where they are grouped.
    pub total_messages: Option<Count>,
    /// How far to trust that the archive holds what was asked for.
    pub confidence: Confidence,
    /// Rank of the first hit.
    pub offset: usize,
    /// Hits asked for.
    pub limit: usize,
    /// The hits, best first.
    pub results: Vec<Hit>,
    /// Where the next page begins; `None` at the end.
    pub next_cursor: Option<String>,
    /// All hits, or the messages of all groups, counted by the attributes that were asked for.
    pub facets: Option<Facets>,
    /// How many values each of these has that are not shown.
    pub facets_more: Option<FacetsMore>,
    /// Why hits are missing, where there are none, a word is unknown, or hits are held back; not on
    /// pages that a cursor continues.
    pub diagnosis: Option<Diagnosis>,
    /// How true the answer is.
    pub index: IndexView,
    /// Where several archives were searched as one, how it stands with each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archives: Option<Vec<ArchiveView>>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// Time to find, rank and show, in milliseconds.
    pub elapsed_ms: f64,
    /// Time to bring the index up to date before, in milliseconds.
    pub sync_ms: f64,
    /// What the search cost, where it was asked to explain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

/// A count, and whether it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The count.
    pub value: u64,
    /// `eq`: exactly this many; `gte`: at least, where a prefix stands for more words than were searched.
    pub relation: &'static str,
}

/// One hit.
#[derive(Clone, Debug, Serialize)]
pub struct Hit {
    /// The message; `None` on a hit in a session's title.
    pub message_id: Option<i64>,
    /// Its session.
    pub session_id: String,
    /// The session at the top of its lineage.
    pub root_session_id: String,
    /// The archive it stands in.
    pub archive: String,
    /// Its place among the session's visible messages, from 0; `None` on a title.
    pub index: Option<u64>,
    /// Who wrote it; `None` on a title.
    pub role: Option<String>,
    /// Where the session came from.
    pub source: String,
    /// The session's title.
    pub title: Option<String>,
    /// When, RFC 3339 in UTC.
    pub timestamp: Option<String>,
    /// Comparable within this answer only.
    pub score: f32,
    /// Why it ranks behind others by relevance; `None` for an ordinary message.
    pub tier: Option<Tier>,
    /// How the best match came about.
    pub origin: Origin,
    /// Every field that matched, best first.
    pub matched_fields: Vec<Field>,
    /// The query's words that were found, as typed.
    pub matched_terms: Vec<String>,
    /// How many words were looked for.
    pub terms_total: usize,
    /// The share of the query that this message holds, each word by how much it tells: 0 to 1. Comparable
    /// between answers, as a score is not.
    pub coverage: f32,
    /// The text around the best match, on one line.
    pub snippet: String,
    /// Where words stand in `snippet`: from and to, in Unicode scalar values.
    pub highlights: Vec<[usize; 2]>,
    /// Further hits of its session, or of its lineage; `None` where hits are not grouped.
    pub more_in_session: Option<u64>,
    /// How the score came about, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explanation>,
}

/// How far to trust that an archive holds what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A conversation holds most of what was asked for.
    Confident,
    /// There are hits, and what tells most of the question stands in none of their conversations. The
    /// archive may well not hold the answer.
    Weak,
    /// There are no hits.
    None,
}

/// How the index stands to its archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexState {
    /// Every row is searched.
    #[default]
    Ready,
    /// The first build has not reached every row.
    Building,
    /// Rows were added since the last commit.
    Stale,
}

/// How it stands with one of several archives that were searched as one.
#[derive(Clone, Debug, Serialize)]
pub struct ArchiveView {
    /// Its name, which its hits bear.
    pub name: String,
    /// How true the answer is of it; `None` where it was left out.
    pub index: Option<IndexView>,
    /// Why it was left out.
    pub error: Option<ErrorView>,
}

/// How true an answer is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IndexView {
    /// In a word.
    pub state: IndexState,
    /// Messages in the index.
    pub rows: u64,
    /// Rows of the archive that are not in it.
    pub rows_behind: u64,
    /// Share of the archive's rows that are in it, 0 to 100; 100 unless building.
    pub percent: u8,
    /// When the last commit was made, RFC 3339 in UTC.
    pub last_sync: Option<String>,
    /// When every session's rows were last compared, RFC 3339 in UTC.
    pub checked_at: Option<String>,
}
