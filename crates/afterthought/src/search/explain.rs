//! Says how a score came about and what a search cost. The parts of a hit add up to its score.

use serde::Serialize;
use tantivy::DocId;

use crate::error::Result;
use crate::model::Field;

use super::collect::{PRESENT, Ranked, RankedList, quantised, sum_of_best};
use super::evidence::Evidence;
use super::forms::Forms;
use super::gather::Found;
use super::lists::{Cursor, Slot};
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
    /// Bytes of their text that were analyzed to cut snippets.
    pub snippet_bytes: u64,
}

impl Work {
    /// Takes in the work of another thread.
    pub(super) fn add(&mut self, other: Self) {
        self.segments += other.segments;
        self.postings += other.postings;
        self.phrase_checks += other.phrase_checks;
        self.archive_rows_read += other.archive_rows_read;
        self.snippet_bytes += other.snippet_bytes;
    }
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
}

/// How a score came about: a tree whose numbers add up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// What this is the score of.
    pub what: String,
    /// How it comes from what is below it.
    pub how: How,
    /// The score, or the factor.
    pub score: f32,
    /// The word in its field, where this is the score of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// What it comes from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<Self>,
}

/// How a number of an [`Explanation`] comes from those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Their sum.
    Sum,
    /// The best of them.
    Best,
    /// There are none: it stands for itself.
    Value,
}

impl Explanation {
    fn value(what: impl Into<String>, score: f32) -> Self {
        Self { what: what.into(), how: How::Value, score, part: None, of: Vec::new() }
    }

    fn sum(what: &str, of: Vec<Self>) -> Self {
        let score = of.iter().map(|below| below.score).sum();
        Self { what: what.to_owned(), how: How::Sum, score, part: None, of }
    }
}

/// What one hit's score is made of.
pub(super) struct Account<'a> {
    ranked: &'a Ranked<'a>,
    parts: Vec<Held<'a>>,
    /// What its session holds, by list.
    evidence: &'a [f32],
}

/// A list that a hit is in.
#[derive(Clone, Copy)]
struct Held<'a> {
    list: &'a RankedList<'a>,
    is_pair: bool,
    frequency: f32,
    length: u32,
    score: f32,
}

/// Recomputes what every hit holds, in the order in which it was summed. Each list of a segment is opened
/// once, and only those of neighbours that may be there.
pub(super) fn accounts<'a>(
    ranked: &'a Ranked<'a>,
    evidence: &'a Evidence,
    found: &[Found],
) -> Result<Vec<Account<'a>>> {
    let account =
        |found: &Found| Account { ranked, parts: Vec::new(), evidence: evidence.of(found.session_ord) };
    let mut accounts: Vec<Account<'a>> = found.iter().map(account).collect();
    let mut in_order: Vec<usize> = (0..found.len()).collect();
    in_order.sort_unstable_by_key(|at| (found[*at].segment, found[*at].doc));
    for same in in_order.chunk_by(|a, b| found[*a].segment == found[*b].segment) {
        let segment = found[same[0]].segment as usize;
        for list in &ranked.lists {
            let Some(mut cursor) = cursor(ranked, segment, list)? else { continue };
            for at in same {
                accounts[*at].take_in(list, &mut cursor, found[*at].doc, false);
            }
        }
        for pair in &ranked.pairs {
            let mut may = same.iter().filter(|at| pair.list.terms & !accounts[**at].terms() == 0).peekable();
            if may.peek().is_none() {
                continue;
            }
            let may: Vec<usize> = may.copied().collect();
            let Some(mut cursor) = cursor(ranked, segment, pair)? else { continue };
            for at in may {
                accounts[at].take_in(pair, &mut cursor, found[at].doc, true);
            }
        }
    }
    accounts.iter().zip(found).for_each(|(account, found)| account.check(found));
    Ok(accounts)
}

fn cursor(ranked: &Ranked<'_>, segment: usize, list: &RankedList<'_>) -> Result<Option<Cursor>> {
    let slot = Slot { list: Some(list.number), terms: list.list.terms };
    Cursor::open(ranked.dictionaries, segment, list, slot)
}

impl<'a> Account<'a> {
    fn take_in(&mut self, list: &'a RankedList<'a>, cursor: &mut Cursor, doc: DocId, is_pair: bool) {
        if let Some((frequency, length, score)) = cursor.at(doc) {
            self.parts.push(Held { list, is_pair, frequency, length, score });
        }
    }

    fn check(&self, found: &Found) {
        let (score, ranked_as) = (self.score(), found.key.score);
        debug_assert!(
            !self.ranked.order.by_score() || (score - ranked_as).abs() <= ranked_as * 1e-3,
            "{:?} must add up to {ranked_as}",
            self.explanation()
        );
    }

    /// Returns the terms that the hit holds.
    pub(super) fn terms(&self) -> u64 {
        self.parts.iter().fold(0, |held, part| held | part.list.list.terms)
    }

    /// Adds up to the score.
    pub(super) fn score(&self) -> f32 {
        let best = |pairs: bool| {
            let parts = self.parts.iter().filter(|part| part.is_pair == pairs);
            sum_of_best(parts.map(|part| (Some(part.list.number), part.score)))
        };
        quantised(best(false) + best(true) + self.ranked.of_session(self.evidence))
    }

    /// Returns the fields that matched, the one that counts most first.
    pub(super) fn fields(&self) -> Vec<Field> {
        let of = |field: Field| self.parts.iter().filter(move |part| part.list.field == field);
        let score = |field: Field| of(field).map(|part| part.score).sum::<f32>();
        let mut fields: Vec<Field> =
            Field::ALL.into_iter().filter(|field| of(*field).next().is_some()).collect();
        fields.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
        fields
    }

    /// Returns the whole of it as a tree.
    pub(super) fn explanation(&self) -> Explanation {
        let message = Explanation::sum("this message: its words and neighbours", self.words());
        let weight = self.ranked.request.weights.session;
        let lists = self.ranked.plan.lists.iter().zip(self.evidence).filter(|(_, best)| **best > PRESENT);
        let best = lists.map(|(list, best)| Explanation::value(name(&list.sought), weight * best));
        let session = Explanation::sum("the best of each word in its session, weighed", best.collect());
        Explanation::sum("score", vec![message, session])
    }

    fn words(&self) -> Vec<Explanation> {
        let mut words: Vec<Explanation> = Vec::new();
        let mut last = None;
        for part in &self.parts {
            let leaf = part.leaf();
            let key = (part.is_pair, part.list.number);
            match words.last_mut().filter(|_| last == Some(key)) {
                Some(word) if word.how == How::Best => {
                    word.score = word.score.max(leaf.score);
                    word.of.push(leaf);
                }
                Some(word) => {
                    let score = word.score.max(leaf.score);
                    let first = std::mem::replace(word, Explanation::value(leaf.what.clone(), score));
                    (word.how, word.of) = (How::Best, vec![first, leaf]);
                }
                None => words.push(leaf),
            }
            last = Some(key);
        }
        words
    }
}

impl Held<'_> {
    fn leaf(&self) -> Explanation {
        let Self { list, frequency, length, score, .. } = *self;
        let term = name(&list.list.sought);
        let part = Part {
            term: term.clone(),
            field: list.field,
            score,
            boost: list.worth.boost,
            idf: list.worth.idf,
            frequency,
            length,
            average_length: list.worth.norms.average,
        };
        Explanation { part: Some(part), ..Explanation::value(term, score) }
    }
}

fn name(sought: &Sought) -> String {
    match sought {
        Sought::Token(token) => token.clone(),
        Sought::Forms(Forms { label, .. }) | Sought::Pattern(label, _) | Sought::Sessions(label, _) => {
            label.clone()
        }
        Sought::Phrase(phrase, slop) => {
            let tokens: Vec<_> = phrase.iter().map(|(_, token)| token.as_str()).collect();
            // Words want a blank between them, characters of scripts without spaces do not.
            let is_solo = tokens.iter().all(|token| token.chars().count() == 1 && !token.is_ascii());
            let phrase = tokens.join(if is_solo { "" } else { " " });
            if *slop > 0 { format!("\"{phrase}\"~{slop}") } else { phrase }
        }
    }
}
