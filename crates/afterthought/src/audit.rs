//! Measures what an archive holds that its agent's own search cannot find. Changes nothing.

use serde::Serialize;

use crate::archive::{Archive, Figures, RouteCounts, Routes, View};
use crate::error::Result;
use crate::index::Snapshot;
use crate::limits::{AUDIT_CANDIDATES_MAX, AUDIT_IDS_MAX, AUDIT_WORDS_MAX};
use crate::model::{Field, Message};
use crate::text::fold;

/// An archive's figures, and words that only its thoughts hold.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    /// Version of this shape.
    pub schema_version: u32,
    /// The archive in figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// Words that stand in reasoning and nowhere else, most used first.
    pub only_in_reasoning: Vec<ThoughtWord>,
}

/// A word that stands in reasoning and nowhere else.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThoughtWord {
    /// The word, folded.
    pub word: String,
    /// Visible messages whose reasoning holds it.
    pub messages: u64,
    /// The first of them by id.
    pub message_ids: Vec<i64>,
    /// What the agent's own search finds.
    pub fts: RouteCounts,
}

/// What each search finds for one word.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WordAudit {
    /// Version of this shape.
    pub schema_version: u32,
    /// The word as given.
    pub word: String,
    /// What the agent's own search finds, by route.
    pub fts: RouteCounts,
    /// What we find, other forms of the word included.
    pub ours: u64,
    /// What we find in reasoning.
    pub ours_in_reasoning: u64,
}

/// Takes an archive's figures and finds up to 20 words that only its thoughts hold: candidates come
/// from the index's dictionaries, and each is confirmed in the rows themselves.
pub(crate) fn audit(archive: &Archive, snapshot: &Snapshot) -> Result<Audit> {
    let routes = archive.read(Routes::over)?;
    let mut words = Vec::new();
    for word in snapshot.terms_only_in(Field::Reasoning, AUDIT_CANDIDATES_MAX)? {
        if words.len() == AUDIT_WORDS_MAX {
            break;
        }
        let ids = snapshot.messages_with(Field::Reasoning, &word)?;
        // A read for each word: no transaction outlasts one.
        words.extend(archive.read(|view| only_thought(view, &routes, &word, &ids))?);
    }
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method's lifetimes are not general")]
    let figures = archive.read(|view| view.figures())?;
    Ok(Audit { schema_version: 1, figures, only_in_reasoning: words })
}

/// Confirms that a word stands in visible reasoning and that no route finds it, the cheapest look
/// first: a trigram or a scan may still find it inside a longer word.
fn only_thought(view: &View<'_>, routes: &Routes, word: &str, ids: &[i64]) -> Result<Option<ThoughtWord>> {
    let mut held = Vec::new();
    for id in ids {
        let holds = |message: Message| message.state.visible() && fold(&message.reasoning).contains(word);
        if view.message(*id)?.is_some_and(holds) {
            held.push(*id);
        }
    }
    if held.is_empty() {
        return Ok(None);
    }
    let fts = routes.count(view, word)?;
    if fts.words + fts.trigrams.unwrap_or(0) + fts.scan > 0 {
        return Ok(None);
    }
    let messages = held.len() as u64;
    held.truncate(AUDIT_IDS_MAX);
    Ok(Some(ThoughtWord { word: word.to_owned(), messages, message_ids: held, fts }))
}

/// Counts what the agent's own search finds for a word.
pub(crate) fn routes(archive: &Archive, word: &str) -> Result<RouteCounts> {
    archive.read(|view| Routes::over(view)?.count(view, word))
}
