//! Posting lists over one segment: cursors that bring scores to a window of documents, and phrase
//! checks at one document. Scores are BM25+ by field, and a word counts in the field where it counts most:
//!
//! ```text
//! boost · idf · (δ + tf·(k1 + 1) / (tf + k1·(1 − b + b·length/average)))
//! ```
//!
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with the lower bound δ
//! of Lv and Zhai, "Lower-Bounding Term Frequency Normalization" (2011): however long a message
//! is, holding a word is worth more than repeating another one in a short message.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{BlockSegmentPostings, Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED};

use crate::error::Result;
use crate::index::{Bits, failed};
use crate::model::Field;

use super::collect::RankedList;
use super::dictionaries::{Corpus, Dictionaries};
use super::near::{Places, near};
use super::plan::Sought;
use super::window::Window;

const K1: f32 = 1.2;
const B: f32 = 0.75;
const DELTA: f32 = 1.0;

/// Documents of one block of postings, as tantivy stores them.
const COMPRESSION_BLOCK_SIZE: usize = 128;

/// How the lengths of one field weigh on its scores.
#[derive(Clone)]
pub(super) struct Norms {
    /// Mean length of the field over the documents that have it, in tokens.
    pub(super) average: f32,
    /// `k1·(1 − b + b·length/average)` by stored length.
    by_id: Arc<[f32; 256]>,
}

impl Norms {
    /// Measures a field over all that is searched.
    pub(super) fn of(corpus: &Corpus<'_>, field: Field) -> Result<Self> {
        let tokens = corpus.tokens(field)?;
        let documents = corpus.holders(|fields| tantivy::Term::from_field_u64(fields.has, field as u64))?;
        #[expect(clippy::cast_precision_loss, reason = "an average")]
        let average = (tokens as f32 / documents.max(1) as f32).max(1.0);
        #[expect(clippy::cast_precision_loss, reason = "lengths are stored in 8 bits")]
        let norm = |id: u8| K1 * (1.0 - B + B * FieldNormReader::id_to_fieldnorm(id) as f32 / average);
        let mut by_id = [0.0; 256];
        (0..=u8::MAX).for_each(|id| by_id[usize::from(id)] = norm(id));
        Ok(Self { average, by_id: Arc::new(by_id) })
    }
}

/// What a list is worth: the constant part of its score.
#[derive(Clone)]
pub(super) struct Worth {
    pub(super) boost: f32,
    pub(super) idf: f32,
    pub(super) norms: Norms,
}

impl Worth {
    #[inline]
    pub(super) fn score(&self, norm_id: u8, frequency: f32) -> f32 {
        self.score_of(self.norms.by_id[usize::from(norm_id)], frequency)
    }

    #[inline]
    fn score_of(&self, norm: f32, frequency: f32) -> f32 {
        let saturated = frequency * (K1 + 1.0) / (frequency + norm);
        // A word that is not there as typed does not count as one that is, however short the text.
        self.boost * self.idf * (DELTA * frequency.min(1.0) + saturated)
    }

    /// Scores documents, some at a time: one operation does for four of them.
    #[inline]
    fn scores(&self, norms: &FieldNormReader, docs: &[DocId], counts: &[u32]) -> Scores {
        let mut of = [0.0; COMPRESSION_BLOCK_SIZE];
        for (norm, doc) in of.iter_mut().zip(docs) {
            *norm = self.norms.by_id[usize::from(norms.fieldnorm_id(*doc))];
        }
        for (score, count) in of.iter_mut().zip(counts) {
            *score = self.score_of(*score, frequency(*count));
        }
        of
    }

    /// No document scores more.
    pub(super) fn score_max(&self) -> f32 {
        self.boost * self.idf * (DELTA + K1 + 1.0)
    }
}

/// Returns how much a term tells: ln(1 + (N − n + ½)/(n + ½)).
pub(super) fn idf(documents: u64, with_term: u64) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a logarithm of a ratio")]
    let (all, with) = (documents.max(with_term) as f32, with_term as f32);
    ((all - with + 0.5) / (with + 0.5)).ln_1p()
}

/// Scores of the documents of one block of postings.
type Scores = [f32; COMPRESSION_BLOCK_SIZE];

/// Where a list's scores go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The list's number in the plan; `None` where it adds nothing to a score.
    pub(super) list: Option<usize>,
    /// The terms that its documents hold.
    pub(super) terms: u64,
}

/// A list over one segment, moving forward.
pub(super) struct Cursor {
    kind: CursorKind,
    norms: FieldNormReader,
    worth: Worth,
    slot: Slot,
}

#[expect(clippy::large_enum_variant, reason = "most cursors are the large one, and a query has few")]
enum CursorKind {
    Token(TokenCursor),
    Forms(Vec<(TokenCursor, f32)>),
    Phrase(PhraseMatcher),
    Sessions(SessionCursor),
}

impl Cursor {
    /// Opens a list; `None` if the segment has no document of it.
    pub(super) fn open(
        dictionaries: &Dictionaries<'_>,
        segment: usize,
        list: &RankedList<'_>,
        slot: Slot,
    ) -> Result<Option<Self>> {
        let field = list.field;
        let kind = match &list.list.sought {
            Sought::Token(token) => {
                TokenCursor::open(dictionaries, segment, field, token)?.map(CursorKind::Token)
            }
            Sought::Forms(forms) => {
                let forms = dictionaries.form_postings(segment, field, forms)?.into_iter();
                let cursors: Vec<_> =
                    forms.map(|(postings, weight)| (TokenCursor { postings, at: 0 }, weight)).collect();
                (!cursors.is_empty()).then_some(CursorKind::Forms(cursors))
            }
            Sought::Sessions(_, sessions) => {
                let reader = &dictionaries.snapshot.searcher().segment_readers()[segment];
                SessionCursor::open(reader, sessions).map_err(failed)?.map(CursorKind::Sessions)
            }
            // Nothing, until the dictionaries say what it stands for.
            Sought::Pattern(..) => None,
            Sought::Phrase(phrase, slop) => {
                PhraseMatcher::open(dictionaries, segment, field, phrase, *slop)?.map(CursorKind::Phrase)
            }
        };
        let Some(kind) = kind else { return Ok(None) };
        let snapshot = dictionaries.snapshot;
        let reader = &snapshot.searcher().segment_readers()[segment];
        let norms = reader.fieldnorms_readers().get_field(snapshot.fields().text(field)).map_err(failed)?;
        Ok(norms.map(|norms| Self { kind, norms, worth: list.worth.clone(), slot }))
    }

    /// Moves to the first document at or after `doc`.
    pub(super) fn skip_to(&mut self, doc: DocId) {
        match &mut self.kind {
            CursorKind::Token(token) => token.skip_to(doc),
            CursorKind::Forms(forms) => forms.iter_mut().for_each(|(form, _)| form.skip_to(doc)),
            CursorKind::Phrase(phrase) => phrase.skip_to(doc),
            CursorKind::Sessions(sessions) => sessions.skip_to(doc),
        }
    }

    /// Returns the next document not yet added; of a phrase, one that holds its rarest token.
    pub(super) fn doc(&self) -> DocId {
        match &self.kind {
            CursorKind::Token(token) => token.doc(),
            CursorKind::Forms(forms) => forms.iter().map(|(form, _)| form.doc()).min().unwrap_or(TERMINATED),
            CursorKind::Phrase(phrase) => phrase.rarest().doc(),
            CursorKind::Sessions(sessions) => sessions.doc(),
        }
    }

    /// Adds every document before the window's end. Returns how many postings were read.
    pub(super) fn add_to(&mut self, window: &mut Window) -> u64 {
        let Self { kind, norms, worth, slot } = self;
        let end = window.end();
        match kind {
            CursorKind::Token(token) => token.walk(end, |docs, counts| {
                window.add_all(docs, &worth.scores(norms, docs, counts), *slot);
            }),
            CursorKind::Forms(forms) => {
                let mut read = 0;
                for (form, weight) in forms {
                    read += form.walk(end, |docs, counts| {
                        for (doc, count) in docs.iter().zip(counts) {
                            window.count(*doc, worth_of(*weight, frequency(*count)));
                        }
                    });
                }
                window.add_counted(*slot, |doc, frequency| worth.score(norms.fieldnorm_id(doc), frequency));
                read
            }
            CursorKind::Sessions(sessions) => {
                let mut read = 0;
                while sessions.doc() < end {
                    let doc = sessions.doc();
                    window.add(doc, worth.score(norms.fieldnorm_id(doc), 1.0), *slot);
                    sessions.skip_to(doc + 1);
                    read += 1;
                }
                read
            }
            CursorKind::Phrase(phrase) => {
                let mut read = 0;
                let mut doc = phrase.rarest().doc();
                while doc < end {
                    if window.is_open_to(doc)
                        && let Some(frequency) = phrase.at(doc)
                    {
                        window.add(doc, worth.score(norms.fieldnorm_id(doc), frequency), *slot);
                        read += 1;
                    }
                    doc = phrase.rarest_mut().advance();
                }
                read
            }
        }
    }

    /// Adds those of some documents that the list holds. Returns how many were asked for.
    pub(super) fn add_some(&mut self, documents: &Bits, window: &mut Window) -> u64 {
        let (mut asked, slot) = (0, self.slot);
        let base = window.block_base();
        documents.each(|at| {
            asked += 1;
            let doc = base + DocId::try_from(at).expect("a place in a block");
            if let Some((_, _, score)) = self.at(doc) {
                window.add(doc, score, slot);
            }
        });
        asked
    }

    /// Returns in how many documents it may stand.
    pub(super) fn cost(&self) -> u64 {
        let documents = |token: &TokenCursor| u64::from(token.postings.doc_freq());
        match &self.kind {
            CursorKind::Token(token) => documents(token),
            CursorKind::Forms(forms) => forms.iter().map(|(form, _)| documents(form)).sum(),
            CursorKind::Phrase(phrase) => u64::from(phrase.rarest().doc_freq()),
            CursorKind::Sessions(sessions) => sessions.docs.len() as u64,
        }
    }

    /// Returns the frequency, length and score at one document, moving there; `None` if the list
    /// does not hold it. Documents must be asked for in order.
    pub(super) fn at(&mut self, doc: DocId) -> Option<(f32, u32, f32)> {
        let frequency = match &mut self.kind {
            CursorKind::Token(token) => token.at(doc),
            CursorKind::Forms(forms) => {
                let held =
                    forms.iter_mut().filter_map(|(form, weight)| Some(worth_of(*weight, form.at(doc)?)));
                // The same order as in a window, so that the sum is the same to the bit.
                held.fold(None, |sum, frequency| Some(sum.unwrap_or(0.0) + frequency))
            }
            CursorKind::Sessions(sessions) => {
                sessions.skip_to(doc);
                (sessions.doc() == doc).then_some(1.0)
            }
            CursorKind::Phrase(phrase) => phrase.at(doc),
        }?;
        let norm_id = self.norms.fieldnorm_id(doc);
        Some((frequency, FieldNormReader::id_to_fieldnorm(norm_id), self.worth.score(norm_id, frequency)))
    }

    pub(super) fn slot(&self) -> Slot {
        self.slot
    }
}

/// The documents of a token, in order.
struct TokenCursor {
    postings: BlockSegmentPostings,
    /// Place in the present block.
    at: usize,
}

impl TokenCursor {
    fn open(
        dictionaries: &Dictionaries<'_>,
        segment: usize,
        field: Field,
        token: &str,
    ) -> Result<Option<Self>> {
        let postings = dictionaries.postings(segment, field, token)?;
        Ok(postings.map(|postings| Self { postings, at: 0 }))
    }

    fn doc(&self) -> DocId {
        if self.at < self.postings.block_len() { self.postings.doc(self.at) } else { TERMINATED }
    }

    fn skip_to(&mut self, doc: DocId) {
        if self.doc() < doc {
            self.at = self.postings.seek(doc);
        }
    }

    /// Returns the frequency at one document, moving there.
    fn at(&mut self, doc: DocId) -> Option<f32> {
        self.at = self.postings.seek(doc);
        (self.doc() == doc).then(|| frequency(self.postings.freq(self.at)))
    }

    /// Visits every document before `end`, some at a time with their counts. Returns how many there were.
    #[inline]
    fn walk(&mut self, end: DocId, mut visit: impl FnMut(&[DocId], &[u32])) -> u64 {
        let mut visited = 0;
        loop {
            let length = self.postings.block_len();
            let docs = &self.postings.docs()[self.at..length];
            let inside = if docs.last().is_some_and(|last| *last < end) {
                docs.len()
            } else {
                docs.partition_point(|doc| *doc < end)
            };
            visit(&docs[..inside], &self.postings.freqs()[self.at..self.at + inside]);
            visited += inside as u64;
            self.at += inside;
            if self.at < length || length == 0 {
                return visited;
            }
            self.postings.advance();
            self.at = 0;
        }
    }
}

/// The documents of a few sessions, in order.
struct SessionCursor {
    docs: Vec<DocId>,
    at: usize,
}

impl SessionCursor {
    fn open(segment: &SegmentReader, sessions: &[tantivy::Term]) -> tantivy::Result<Option<Self>> {
        let mut docs = Vec::new();
        for session in sessions {
            let index = segment.inverted_index(session.field())?;
            let Some(mut postings) = index.read_postings(session, IndexRecordOption::Basic)? else {
                continue;
            };
            while postings.doc() != TERMINATED {
                docs.push(postings.doc());
                postings.advance();
            }
        }
        docs.sort_unstable();
        Ok((!docs.is_empty()).then_some(Self { docs, at: 0 }))
    }

    fn doc(&self) -> DocId {
        self.docs.get(self.at).copied().unwrap_or(TERMINATED)
    }

    fn skip_to(&mut self, doc: DocId) {
        self.at += self.docs[self.at..].partition_point(|own| *own < doc);
    }
}

/// The most that another form than the one typed counts, however often it stands there: less than the word
/// itself once.
const FORM_FREQUENCY_MAX: f32 = 0.95;

/// Returns how often a form counts.
fn worth_of(weight: f32, frequency: f32) -> f32 {
    if weight < 1.0 { (weight * frequency).min(FORM_FREQUENCY_MAX) } else { frequency }
}

/// Counts of words are far below 2³¹; signed, they are made numbers of four at a time.
#[expect(clippy::cast_precision_loss, reason = "frequencies are small")]
fn frequency(count: u32) -> f32 {
    count.cast_signed() as f32
}

/// Checks documents for tokens at given distances, or so far out of place.
struct PhraseMatcher {
    /// By rising document frequency: the rarest decides first.
    tokens: Vec<(u32, SegmentPostings)>,
    slop: u32,
    starts: Vec<u32>,
    positions: Vec<Vec<u32>>,
}

impl PhraseMatcher {
    fn open(
        dictionaries: &Dictionaries<'_>,
        segment: usize,
        field: Field,
        phrase: &[(u32, String)],
        slop: u32,
    ) -> Result<Option<Self>> {
        let mut tokens = Vec::with_capacity(phrase.len());
        for (distance, token) in phrase {
            match dictionaries.positions(segment, field, token)? {
                Some(postings) => tokens.push((*distance, postings)),
                None => return Ok(None),
            }
        }
        tokens.sort_by_key(|(_, postings)| postings.doc_freq());
        let positions = vec![Vec::new(); tokens.len()];
        Ok(Some(Self { tokens, slop, starts: Vec::new(), positions }))
    }

    fn rarest(&self) -> &SegmentPostings {
        &self.tokens.first().expect("a phrase has tokens").1
    }

    fn rarest_mut(&mut self) -> &mut SegmentPostings {
        &mut self.tokens.first_mut().expect("a phrase has tokens").1
    }

    fn skip_to(&mut self, doc: DocId) {
        if self.rarest().doc() < doc {
            self.rarest_mut().seek(doc);
        }
    }

    /// Returns how often the phrase stands in a document, words out of place counting less; `None`
    /// if it does not. Documents must be asked for in order.
    fn at(&mut self, doc: DocId) -> Option<f32> {
        for (_, postings) in &mut self.tokens {
            if postings.doc() < doc {
                postings.seek(doc);
            }
            if postings.doc() != doc {
                return None;
            }
        }
        let found = if self.slop == 0 { frequency(self.in_place()) } else { self.out_of_place() };
        (found > 0.0).then_some(found)
    }

    fn in_place(&mut self) -> u32 {
        let (distance, postings) = self.tokens.first_mut().expect("a phrase has tokens");
        postings.positions(&mut self.starts);
        let distance = *distance;
        self.starts.retain(|position| *position >= distance);
        self.starts.iter_mut().for_each(|position| *position -= distance);
        for ((distance, postings), positions) in self.tokens[1..].iter_mut().zip(&mut self.positions) {
            if self.starts.is_empty() {
                return 0;
            }
            postings.positions(positions);
            keep_followed(&mut self.starts, positions, *distance);
        }
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    fn out_of_place(&mut self) -> f32 {
        for ((_, postings), positions) in self.tokens.iter_mut().zip(&mut self.positions) {
            postings.positions(positions);
        }
        let words = self.tokens.iter().zip(&self.positions);
        let words: Vec<Places<'_>> =
            words.map(|((distance, _), positions)| Places { distance: *distance, positions }).collect();
        let mut found = 0.0;
        near(&words, self.slop, |_, off| found += 1.0 / (1.0 + frequency(off)));
        found
    }
}

/// How many more positions there must be than starts for a search by halves to beat a walk.
const FEW: usize = 16;

/// Keeps the starts that a position stands behind, so far away.
fn keep_followed(starts: &mut Vec<u32>, positions: &[u32], distance: u32) {
    let few = starts.len() * FEW < positions.len();
    let (mut at, mut kept) = (0, 0);
    for index in 0..starts.len() {
        let wanted = starts[index] + distance;
        if few {
            at += positions[at..].partition_point(|position| *position < wanted);
        } else {
            while at < positions.len() && positions[at] < wanted {
                at += 1;
            }
        }
        let Some(found) = positions.get(at) else { break };
        // Written whether or not it is kept: a branch that nobody can foresee costs more.
        starts[kept] = starts[index];
        kept += usize::from(*found == wanted);
    }
    starts.truncate(kept);
}
