//! Says how a score came about and what a search cost. The parts of a hit add up to its score.

use serde::Serialize;

use crate::error::Result;
use crate::index::Snapshot;
use crate::model::Field;

use super::collect::{Ranked, RankedList, quantised};
use super::forms::Forms;
use super::gather::Found;
use super::lists::Cursor;
use super::plan::Sought;

/// Counts of the work that a search did. Work, never time, so tests can assert it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Index segments visited.
    pub segments: u64,
    /// Postings read, each a document with a word.
    pub postings: u64,
    /// Documents whose positions were checked for neighbouring words.
    pub phrase_checks: u64,
    /// Message rows read from the archive.
    pub archive_rows_read: u64,
}

/// One part of a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The word, or the words that stand together.
    pub term: String,
    /// The field it was found in.
    pub field: Field,
    /// What it adds to the score.
    pub score: f32,
    /// The field's boost, and for neighbouring words the phrase boost's share in it.
    pub boost: f32,
    /// How much the word tells: rarer words more.
    pub idf: f32,
    /// How often it stands there. Near spellings and words out of place count less than 1.
    pub frequency: f32,
    /// Length of the field here, in tokens, as stored in 8 bits.
    pub length: u32,
    /// Mean length of the field, in tokens.
    pub average_length: f32,
    #[serde(skip)]
    pub(super) terms: u64,
    #[serde(skip)]
    pub(super) is_pair: bool,
}

/// Recomputes the parts of one hit's score, in the order in which they were summed.
pub(super) fn parts(snapshot: &Snapshot, ranked: &Ranked<'_>, found: &Found) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut held = 0;
    for list in &ranked.lists {
        parts.extend(part(snapshot, list, found, false)?);
    }
    for part in &parts {
        held |= part.terms;
    }
    for pair in ranked.pairs.iter().filter(|pair| pair.list.terms & !held == 0) {
        parts.extend(part(snapshot, pair, found, true)?);
    }
    let (score, ranked_as) = (score_of(&parts), found.key.score);
    debug_assert!(
        !ranked.order.by_score() || (score - ranked_as).abs() <= ranked_as * 1e-3,
        "{parts:?} must add up to {ranked_as}"
    );
    Ok(parts)
}

/// Adds the parts up to a score.
pub(super) fn score_of(parts: &[Part]) -> f32 {
    let sum =
        |pairs: bool| parts.iter().filter(|part| part.is_pair == pairs).map(|part| part.score).sum::<f32>();
    quantised(sum(false) + sum(true))
}

fn part(snapshot: &Snapshot, list: &RankedList<'_>, found: &Found, is_pair: bool) -> Result<Option<Part>> {
    let segment = snapshot.searcher().segment_reader(found.segment);
    let field = snapshot.fields().text(list.field);
    let cursor = Cursor::check(segment, field, &list.list.sought, list.worth.clone(), list.list.terms)?;
    let Some((frequency, length, score)) = cursor.and_then(|mut cursor| cursor.at(found.doc)) else {
        return Ok(None);
    };
    Ok(Some(Part {
        term: name(&list.list.sought),
        field: list.field,
        score,
        boost: list.worth.boost,
        idf: list.worth.idf,
        frequency,
        length,
        average_length: list.worth.norms.average,
        terms: list.list.terms,
        is_pair,
    }))
}

fn name(sought: &Sought) -> String {
    match sought {
        Sought::Token(token) => token.clone(),
        Sought::Forms(Forms { label, .. }) | Sought::Pattern(label, _) => label.clone(),
        Sought::Phrase(phrase, slop) => {
            let tokens: Vec<_> = phrase.iter().map(|(_, token)| token.as_str()).collect();
            // Words want a blank between them, characters of scripts without spaces do not.
            let is_solo = tokens.iter().all(|token| token.chars().count() == 1 && !token.is_ascii());
            let phrase = tokens.join(if is_solo { "" } else { " " });
            if *slop > 0 { format!("\"{phrase}\"~{slop}") } else { phrase }
        }
    }
}
