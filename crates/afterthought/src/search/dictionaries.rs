//! What the dictionaries of a snapshot say of tokens. A search asks for the same ones when it weighs words,
//! walks their postings, ranks and explains: each is looked up once.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tantivy::Term as TantivyTerm;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::{BlockSegmentPostings, SegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;

use crate::error::Result;
use crate::index::{Fields, Snapshot, failed};
use crate::model::Field;

use super::forms::Forms;

/// A token's entries by segment; `None` where the segment lacks it.
type Entries = Arc<[Option<TermInfo>]>;

/// The entries of several forms with their weights, by segment: only what the segment holds.
type FormEntries = Arc<[Vec<(TermInfo, f32)>]>;

/// The dictionaries of every archive that is searched. What weighs words is counted over all of them, so that
/// a score means the same in each.
pub(super) struct Corpus<'a> {
    /// By the number of the archive.
    pub(super) archives: Vec<Dictionaries<'a>>,
}

impl<'a> Corpus<'a> {
    /// Opens nothing yet.
    pub(super) fn of(snapshots: &[&'a Snapshot]) -> Self {
        Self { archives: snapshots.iter().map(|snapshot| Dictionaries::of(snapshot)).collect() }
    }

    /// Returns how many documents there are, deleted ones too.
    pub(super) fn size(&self) -> u64 {
        let segments = self.archives.iter().flat_map(|one| one.snapshot.searcher().segment_readers());
        segments.map(|segment| u64::from(segment.max_doc())).sum()
    }

    /// Returns in how many documents a field holds a token, deleted ones too.
    pub(super) fn documents(&self, field: Field, token: &str) -> Result<u64> {
        self.archives.iter().map(|one| one.documents(field, token)).sum()
    }

    /// Returns how many documents have a term that is of no text.
    pub(super) fn holders(&self, term: impl Fn(&Fields) -> TantivyTerm) -> Result<u64> {
        let of = |one: &Dictionaries<'_>| one.snapshot.searcher().doc_freq(&term(one.snapshot.fields()));
        self.archives.iter().map(|one| of(one).map_err(failed)).sum()
    }

    /// Returns how many tokens a field has.
    pub(super) fn tokens(&self, field: Field) -> Result<u64> {
        let of = |one: &Dictionaries<'_>| {
            Ok(one.indexes(field)?.iter().flatten().map(|index| index.total_num_tokens()).sum::<u64>())
        };
        self.archives.iter().map(of).sum()
    }
}

/// The dictionaries of every field of one archive, by segment.
pub(super) struct Dictionaries<'a> {
    pub(super) snapshot: &'a Snapshot,
    fields: [FieldDictionaries; Field::ALL.len()],
}

#[derive(Default)]
struct FieldDictionaries {
    indexes: OnceLock<Vec<Option<Arc<InvertedIndexReader>>>>,
    known: Mutex<HashMap<String, Entries>>,
    /// By the number of the forms.
    forms: Mutex<HashMap<usize, FormEntries>>,
}

impl<'a> Dictionaries<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, fields: Field::ALL.map(|_| FieldDictionaries::default()) }
    }

    /// Returns the indexes of a field, by segment; `None` where no document has the field.
    pub(super) fn indexes(&self, field: Field) -> Result<&[Option<Arc<InvertedIndexReader>>]> {
        let kept = &self.fields[field as usize].indexes;
        if let Some(indexes) = kept.get() {
            return Ok(indexes);
        }
        let handle = self.snapshot.fields().text(field);
        let mut indexes = Vec::new();
        for (ord, segment) in self.snapshot.searcher().segment_readers().iter().enumerate() {
            let has_field = self.snapshot.has_field(ord, field)?;
            let open = || segment.inverted_index(handle).map_err(failed);
            indexes.push(has_field.then(open).transpose()?);
        }
        Ok(kept.get_or_init(|| indexes))
    }

    /// Returns in how many documents a field holds a token, deleted ones too.
    pub(super) fn documents(&self, field: Field, token: &str) -> Result<u64> {
        let entries = self.entries(field, token)?;
        Ok(entries.iter().flatten().map(|entry| u64::from(entry.doc_freq)).sum())
    }

    /// Opens the postings of a token with frequencies; `None` where the segment lacks it.
    pub(super) fn postings(
        &self,
        segment: usize,
        field: Field,
        token: &str,
    ) -> Result<Option<BlockSegmentPostings>> {
        self.open(segment, field, token, |index, entry| {
            index.read_block_postings_from_terminfo(entry, IndexRecordOption::WithFreqs)
        })
    }

    /// Opens the postings of every form that the segment holds, with its weight.
    pub(super) fn form_postings(
        &self,
        segment: usize,
        field: Field,
        forms: &Forms,
    ) -> Result<Vec<(BlockSegmentPostings, f32)>> {
        let entries = self.form_entries(field, forms)?;
        let Some(index) = &self.indexes(field)?[segment] else { return Ok(Vec::new()) };
        let open = |(entry, weight): &(TermInfo, f32)| {
            let postings = index.read_block_postings_from_terminfo(entry, IndexRecordOption::WithFreqs)?;
            Ok((postings, *weight))
        };
        entries[segment]
            .iter()
            .map(open)
            .collect::<std::io::Result<_>>()
            .map_err(|error| failed(error.into()))
    }

    fn form_entries(&self, field: Field, forms: &Forms) -> Result<FormEntries> {
        let kept = &self.fields[field as usize].forms;
        if let Some(entries) = kept.lock().get(&forms.number) {
            return Ok(Arc::clone(entries));
        }
        let mut by_segment = vec![Vec::new(); self.snapshot.segments()];
        for (token, weight) in &forms.tokens {
            for (held, entry) in by_segment.iter_mut().zip(&*self.entries(field, token)?) {
                held.extend(entry.clone().map(|entry| (entry, *weight)));
            }
        }
        let entries: FormEntries = by_segment.into();
        kept.lock().insert(forms.number, Arc::clone(&entries));
        Ok(entries)
    }

    /// Opens the postings of a token with positions; `None` where the segment lacks it.
    pub(super) fn positions(
        &self,
        segment: usize,
        field: Field,
        token: &str,
    ) -> Result<Option<SegmentPostings>> {
        self.open(segment, field, token, |index, entry| {
            index.read_postings_from_terminfo(entry, IndexRecordOption::WithFreqsAndPositions)
        })
    }

    /// Opens what stands at a token's entry; `None` where the segment lacks it.
    fn open<T>(
        &self,
        segment: usize,
        field: Field,
        token: &str,
        open: impl FnOnce(&InvertedIndexReader, &TermInfo) -> std::io::Result<T>,
    ) -> Result<Option<T>> {
        let entries = self.entries(field, token)?;
        let place = self.indexes(field)?[segment].as_ref().zip(entries[segment].as_ref());
        place.map(|(index, entry)| open(index, entry)).transpose().map_err(|error| failed(error.into()))
    }

    /// Takes in what a walk over the dictionaries of a field said of a token.
    pub(super) fn know(&self, field: Field, token: &str, found: &[(usize, TermInfo)]) {
        let mut entries = vec![None; self.snapshot.segments()];
        for (segment, entry) in found {
            entries[*segment] = Some(entry.clone());
        }
        self.fields[field as usize].known.lock().insert(token.to_owned(), entries.into());
    }

    fn entries(&self, field: Field, token: &str) -> Result<Entries> {
        let of_field = &self.fields[field as usize];
        if let Some(entries) = of_field.known.lock().get(token) {
            return Ok(Arc::clone(entries));
        }
        let term = TantivyTerm::from_field_text(self.snapshot.fields().text(field), token);
        let entry = |index: &Option<Arc<InvertedIndexReader>>| match index {
            Some(index) => index.get_term_info(&term),
            None => Ok(None),
        };
        let entries = self.indexes(field)?.iter().map(entry);
        let entries: Entries =
            entries.collect::<std::io::Result<_>>().map_err(|error| failed(error.into()))?;
        of_field.known.lock().insert(token.to_owned(), Arc::clone(&entries));
        Ok(entries)
    }
}
