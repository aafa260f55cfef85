//! What the lists of a plan say of a stretch of documents: of each the score by list, and which lists
//! that exclude it hold it.

use tantivy::DocId;

use crate::index::{BLOCK_DOCS, Bits};

use super::collect::PRESENT;
use super::lists::Slot;

/// The scores of the documents from `base` to `end`, which lie in one block.
pub(super) struct Window {
    /// Its first document's place.
    block_base: DocId,
    end: DocId,
    /// Documents that are worth a look at their positions.
    open: Bits,
    lists: usize,
    /// By document, then by list of the plan: the most that any field gives; 0 where the list lacks it.
    scores: Box<[f32]>,
    /// Documents that some list holds.
    matched: Bits,
    /// By document: the terms of lists that add no score. Empty if the plan has none.
    unscored: Box<[u64]>,
    unscored_held: Bits,
    /// How often documents hold the forms of one list, while it is added.
    frequencies: Box<[f32]>,
    counted: Bits,
}

impl Window {
    /// Makes room for the lists of a plan.
    pub(super) fn new(lists: usize, has_unscored: bool) -> Self {
        Self {
            block_base: 0,
            end: 0,
            open: Bits::NONE,
            lists: lists.max(1),
            scores: vec![0.0; BLOCK_DOCS * lists.max(1)].into(),
            matched: Bits::NONE,
            unscored: vec![0; if has_unscored { BLOCK_DOCS } else { 0 }].into(),
            unscored_held: Bits::NONE,
            frequencies: Box::default(),
            counted: Bits::NONE,
        }
    }

    /// Moves to the documents of a block before `end` and forgets all others. Positions are read of `open` ones only.
    pub(super) fn move_to(&mut self, block: usize, end: DocId, open: &Bits) {
        self.clear();
        self.open = *open;
        self.block_base = DocId::try_from(block * BLOCK_DOCS).expect("a block of a segment");
        self.end = end;
    }

    fn clear(&mut self) {
        for (word, _) in self.matched.0.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            self.scores[word * 64 * self.lists..][..64 * self.lists].fill(0.0);
        }
        self.matched = Bits::NONE;
        if !self.unscored_held.is_empty() {
            self.unscored.fill(0);
            self.unscored_held = Bits::NONE;
        }
    }

    /// Tells whether a document is worth a look at its positions.
    #[inline]
    pub(super) fn is_open_to(&self, doc: DocId) -> bool {
        self.open.has(self.place(doc))
    }

    pub(super) fn block_base(&self) -> DocId {
        self.block_base
    }

    pub(super) fn end(&self) -> DocId {
        self.end
    }

    /// Returns the documents that some list holds.
    pub(super) fn matched(&self) -> &Bits {
        &self.matched
    }

    /// Returns a document's scores by list.
    #[inline]
    pub(super) fn scores(&self, at: usize) -> &[f32] {
        &self.scores[at * self.lists..][..self.lists]
    }

    /// Returns the terms of the lists without scores that hold a document.
    pub(super) fn unscored(&self, at: usize) -> u64 {
        self.unscored.get(at).copied().unwrap_or_default()
    }

    /// Takes in documents of a list, in order.
    #[inline]
    pub(super) fn add_all(&mut self, docs: &[DocId], scores: &[f32], slot: Slot) {
        let Some(list) = slot.list else {
            docs.iter().zip(scores).for_each(|(doc, score)| self.add(*doc, *score, slot));
            return;
        };
        let (base, lists) = (self.block_base, self.lists);
        let (held, matched) = (&mut *self.scores, &mut self.matched.0);
        // Neighbours share a word of bits, which is written once for all of them.
        let (mut word, mut bits) = (0, 0);
        for (doc, score) in docs.iter().zip(scores) {
            let at = (doc - base) as usize;
            let best = &mut held[at * lists + list];
            let score = score.max(PRESENT);
            if score > *best {
                *best = score;
            }
            if at / 64 != word {
                matched[word] |= bits;
                (word, bits) = (at / 64, 0);
            }
            bits |= 1 << (at % 64);
        }
        matched[word] |= bits;
    }

    /// Takes in a document of a list; of several scores that it gives, the best counts.
    #[inline]
    pub(super) fn add(&mut self, doc: DocId, score: f32, slot: Slot) {
        let at = self.place(doc);
        let Some(list) = slot.list else {
            self.unscored[at] |= slot.terms;
            return self.unscored_held.insert(at);
        };
        // However little it counts, it is there.
        let score = score.max(PRESENT);
        let best = &mut self.scores[at * self.lists + list];
        if score > *best {
            *best = score;
        }
        self.matched.insert(at);
    }

    /// Counts a form of a list that is being added.
    #[inline]
    pub(super) fn count(&mut self, doc: DocId, frequency: f32) {
        if self.frequencies.is_empty() {
            self.frequencies = vec![0.0; BLOCK_DOCS].into();
        }
        let at = self.place(doc);
        self.frequencies[at] += frequency;
        self.counted.insert(at);
    }

    /// Adds every document that was counted, once, with the score of its frequency.
    pub(super) fn add_counted(&mut self, slot: Slot, mut score: impl FnMut(DocId, f32) -> f32) {
        let counted = std::mem::replace(&mut self.counted, Bits::NONE);
        counted.each(|at| {
            let doc = self.block_base + DocId::try_from(at).expect("a place in a block");
            let frequency = std::mem::take(&mut self.frequencies[at]);
            self.add(doc, score(doc, frequency), slot);
        });
    }

    #[inline]
    fn place(&self, doc: DocId) -> usize {
        debug_assert!(doc >= self.block_base && doc < self.end);
        (doc - self.block_base) as usize
    }
}
