//! Measures what an archive holds that its agent's own search cannot find. Changes nothing.

use serde::Serialize;

use crate::archive::{Archive, Figures, RouteCounts, Routes};
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
    /// What we find.
    pub ours: u64,
    /// What we find in reasoning.
    pub ours_in_reasoning: u64,
}

/// Takes an archive's figures and finds up to 20 words that only its thoughts hold: candidates come
/// from the index's dictionaries, and each is confirmed in the rows themselves.
pub(crate) fn audit(archive: &Archive, snapshot: &Snapshot) -> Result<Audit> {
    let candidates = snapshot.terms_only_in(Field::Reasoning, AUDIT_CANDIDATES_MAX)?;
    let (figures, words) = archive.read(|view| {
        let routes = Routes::over(view)?;
        let mut words = Vec::new();
        for word in &candidates {
            if words.len() == AUDIT_WORDS_MAX {
                break;
            }
            let mut ids = Vec::new();
            for id in snapshot.messages_with(Field::Reasoning, word)? {
                let holds = |message: Message| {
                    message.state.visible() && fold(&message.reasoning).contains(word.as_str())
                };
                if view.message(id)?.is_some_and(holds) {
                    ids.push(id);
                }
            }
            // A trigram or a scan may still find it inside a longer word.
            let fts = routes.count(view, word)?;
            if !ids.is_empty() && fts.words == 0 && fts.trigrams.unwrap_or(0) == 0 && fts.scan == 0 {
                let messages = ids.len() as u64;
                ids.truncate(AUDIT_IDS_MAX);
                words.push(ThoughtWord { word: word.clone(), messages, message_ids: ids, fts });
            }
        }
        Ok((view.figures()?, words))
    })?;
    Ok(Audit { schema_version: 1, figures, only_in_reasoning: words })
}

/// Counts what the agent's own search finds for a word; ours is filled in by the caller.
pub(crate) fn routes(archive: &Archive, word: &str) -> Result<RouteCounts> {
    archive.read(|view| Routes::over(view)?.count(view, word))
}
