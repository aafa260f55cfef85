//! Finds the words that `prefix*` or `fuzzy~` stand for, and the inflected forms of a word, in the
//! dictionaries of what is searched.
//!
//! Near spellings come from tantivy's Levenshtein automaton, which walks the dictionary's trie and
//! leaves branches that cannot match; so the first letter may differ too.

use std::collections::{BTreeMap, HashMap};

use tantivy::Term as TantivyTerm;
use tantivy::postings::TermInfo;
use tantivy::query::FuzzyTermQuery;
use tantivy::termdict::TermDictionary;

use crate::error::Result;
use crate::index::failed;
use crate::limits::{QUERY_FORMS_COMPARED_MAX, QUERY_FORMS_MAX};
use crate::model::{Field, Warning};
use crate::text::Inflection;

use super::collect::any;
use super::dictionaries::Corpus;
use super::filter::Filter;
use super::plan::{List, Plan, Sought};

/// What one more edit leaves of a form's weight.
const EDIT_WEIGHT: f32 = 0.5;

/// Where forms are looked for: where people and models write sentences.
const PROSE: [Field; 3] = [Field::Content, Field::Reasoning, Field::Title];

/// A word that stands for several.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    /// Words that begin so.
    Prefix(String),
    /// Sessions whose ids hold it.
    Session(String),
    /// The word and its inflected forms, which count so much.
    Word(String, f32),
    /// Words that become this one by at most so many edits; a swap of neighbours is one.
    Fuzzy(String, u8),
}

/// Words that count as one: a document holds it as often as it holds any of them, by weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Forms {
    /// As typed.
    pub(super) label: String,
    /// Tokens with weights of at most 1.
    pub(super) tokens: Vec<(String, f32)>,
    /// No other forms of the search have it.
    pub(super) number: usize,
}

impl Plan {
    /// Looks up what patterns stand for in all that is searched, of what the request may know of.
    pub(super) fn expand(&mut self, corpus: &Corpus<'_>, filters: &[Filter]) -> Result<()> {
        let searched: Vec<Field> = self.fields.iter().map(|(field, _)| *field).collect();
        let mut cuts = Vec::new();
        for (number, list) in self.lists.iter_mut().chain(&mut self.excluded).enumerate() {
            let Sought::Pattern(label, pattern) = &list.sought else { continue };
            if let Pattern::Session(part) = pattern {
                let (sessions, all) = sessions(corpus, part, filters)?;
                if sessions.len() < all {
                    let shown = sessions.len();
                    cuts.push(format!("{label} stands in the ids of {all} sessions; {shown} were searched"));
                }
                list.sought = Sought::Sessions(label.clone(), sessions);
                continue;
            }
            let fields: Vec<Field> =
                searched.iter().copied().filter(|field| list.fields.holds(*field)).collect();
            let Expansion { forms, cut, compared } = gather(corpus, &fields, pattern, filters)?;
            let all = match cut {
                Cut::None => None,
                Cut::Some => Some("more".to_owned()),
                Cut::Of(all) => Some(all.to_string()),
            };
            if let Some(all) = all {
                let shown = forms.len();
                cuts.push(format!("{label} stands for {all} words; the {shown} most frequent were searched"));
            }
            if compared >= QUERY_FORMS_COMPARED_MAX {
                cuts.push(format!(
                    "{label} was compared with {QUERY_FORMS_COMPARED_MAX} words of the index and no more"
                ));
            }
            list.sought = match (pattern, forms.len()) {
                (Pattern::Word(word, _), 1) => Sought::Token(word.clone()),
                _ => Sought::Forms(Forms { label: label.clone(), tokens: forms, number }),
            };
        }
        let found =
            |list: &List| !matches!(&list.sought, Sought::Sessions(_, sessions) if sessions.is_empty());
        self.lists.retain(found);
        for cut in cuts {
            let warning = Warning::new("forms-cut", cut);
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Ok(())
    }
}

/// What a pattern stands for.
struct Expansion {
    /// The most frequent words, with their weights.
    forms: Vec<(String, f32)>,
    cut: Cut,
    /// How many were looked at to find them.
    compared: usize,
}

/// Whether a pattern stands for more words than a search takes.
enum Cut {
    None,
    /// It does; how many there are may not be told.
    Some,
    /// So many there are.
    Of(usize),
}

/// Looks up what a pattern stands for.
fn gather(corpus: &Corpus<'_>, fields: &[Field], pattern: &Pattern, filters: &[Filter]) -> Result<Expansion> {
    let mut compared = 0;
    let mut found: HashMap<String, Found> = HashMap::new();
    let mut forms = None;
    if let Pattern::Word(word, _) = pattern {
        forms = Inflection::of(word);
        found.insert(word.clone(), Found { documents: u64::MAX, weight: 1.0, entries: Vec::new() });
    }
    let places = corpus.archives.iter().enumerate();
    for (archive, dictionaries, field) in
        places.flat_map(|(archive, one)| fields.iter().map(move |field| (archive, one, *field)))
    {
        let handle = dictionaries.snapshot.fields().text(field);
        for (segment, index) in dictionaries.indexes(field)?.iter().enumerate() {
            let Some(index) = index else { continue };
            let mut add = |key: &[u8], info: &TermInfo, weight: f32| {
                let Ok(word) = std::str::from_utf8(key) else { return };
                if !found.contains_key(word) {
                    found.insert(word.to_owned(), Found { documents: 0, weight, entries: Vec::new() });
                }
                let Some(form) = found.get_mut(word) else { return };
                form.documents = form.documents.saturating_add(u64::from(info.doc_freq));
                form.weight = form.weight.max(weight);
                form.entries.push(Entry { archive, field, segment, info: info.clone() });
            };
            match pattern {
                Pattern::Prefix(prefix) => {
                    begin_with(index.terms(), prefix, &mut compared, &mut |word, info| {
                        add(word, info, 1.0);
                    })?;
                }
                Pattern::Word(word, weight) if PROSE.contains(&field) => {
                    let Some(forms) = &forms else { continue };
                    begin_with(index.terms(), forms.prefix(), &mut compared, &mut |form, info| {
                        let is_form = std::str::from_utf8(form).is_ok_and(|form| forms.holds(form));
                        if is_form && form != word.as_bytes() {
                            add(form, info, *weight);
                        }
                    })?;
                }
                Pattern::Word(..) | Pattern::Session(_) => {}
                Pattern::Fuzzy(word, edits) => {
                    let term = TantivyTerm::from_field_text(handle, word);
                    near_spellings(index.terms(), &term, *edits, &mut add)?;
                }
            }
        }
    }
    let all = found.len();
    let is_typed = |word: &str| matches!(pattern, Pattern::Word(typed, _) if typed == word);
    let mut forms: Vec<(String, Found)> = found.into_iter().collect();
    forms.sort_unstable_by(|(a, found_a), (b, found_b)| {
        found_b.documents.cmp(&found_a.documents).then_with(|| a.cmp(b))
    });
    let cut = if filters.iter().any(Filter::is_confined) {
        let knows = |word: &str| knows_any(corpus, filters, fields, word);
        keep_known(&mut forms, |word| if is_typed(word) { Ok(true) } else { knows(word) })?
    } else {
        forms.truncate(QUERY_FORMS_MAX);
        if forms.len() < all { Cut::Of(all) } else { Cut::None }
    };
    // The word itself was not walked over, and is looked up when it is needed.
    // Of a walk that was cut short some entries are missing.
    let is_whole = compared < QUERY_FORMS_COMPARED_MAX;
    for (word, found) in forms.iter().filter(|(word, _)| is_whole && !is_typed(word)) {
        let is_walked = |field: &&Field| !matches!(pattern, Pattern::Word(..)) || PROSE.contains(field);
        for field in fields.iter().filter(is_walked) {
            for (archive, dictionaries) in corpus.archives.iter().enumerate() {
                let own =
                    found.entries.iter().filter(|entry| (entry.archive, entry.field) == (archive, *field));
                let entries: Vec<_> = own.map(|entry| (entry.segment, entry.info.clone())).collect();
                dictionaries.know(*field, word, &entries);
            }
        }
    }
    let forms = forms.into_iter().map(|(word, found)| (word, found.weight)).collect();
    Ok(Expansion { forms, cut, compared })
}

/// Keeps the first words that the request may know of, as many as a search takes. Says of these whether there
/// are more.
fn keep_known(forms: &mut Vec<(String, Found)>, knows: impl Fn(&str) -> Result<bool>) -> Result<Cut> {
    let mut known = Vec::new();
    let mut cut = Cut::None;
    for form in std::mem::take(forms) {
        if !knows(&form.0)? {
            continue;
        }
        if known.len() == QUERY_FORMS_MAX {
            cut = Cut::Some;
            break;
        }
        known.push(form);
    }
    *forms = known;
    Ok(cut)
}

/// Returns the sessions whose ids hold a text, those whose ids sort last, and how many there are.
fn sessions(corpus: &Corpus<'_>, part: &str, filters: &[Filter]) -> Result<(Vec<TantivyTerm>, usize)> {
    let mut known = BTreeMap::new();
    for (one, filter) in corpus.archives.iter().zip(filters) {
        for id in one.snapshot.session_ids_holding(part)? {
            let term = one.snapshot.fields().session_term(id);
            if !filter.is_confined() || filter.knows(one.snapshot, &term)? {
                known.insert(id, term);
            }
        }
    }
    let all = known.len();
    Ok((known.into_values().rev().take(QUERY_FORMS_MAX).collect(), all))
}

/// Tells whether fields of any document that the request may know of hold a word.
pub(super) fn knows_any(
    corpus: &Corpus<'_>,
    filters: &[Filter],
    fields: &[Field],
    word: &str,
) -> Result<bool> {
    let archives = corpus.archives.iter().zip(filters);
    any(archives
        .flat_map(|(one, filter)| fields.iter().map(|field| filter.knows_word(one.snapshot, *field, word))))
}

struct Found {
    documents: u64,
    weight: f32,
    entries: Vec<Entry>,
}

/// What the dictionary of a field says of a word.
struct Entry {
    archive: usize,
    field: Field,
    segment: usize,
    info: TermInfo,
}

fn begin_with(
    dictionary: &TermDictionary,
    prefix: &str,
    compared: &mut usize,
    add: &mut impl FnMut(&[u8], &TermInfo),
) -> Result<()> {
    let mut words =
        dictionary.range().ge(prefix.as_bytes()).into_stream().map_err(|error| failed(error.into()))?;
    while *compared < QUERY_FORMS_COMPARED_MAX
        && words.advance()
        && words.key().starts_with(prefix.as_bytes())
    {
        *compared += 1;
        add(words.key(), words.value());
    }
    Ok(())
}

/// Adds words by rising distance, since the automaton says whether a word is near and not how near.
fn near_spellings(
    dictionary: &TermDictionary,
    term: &TantivyTerm,
    edits: u8,
    add: &mut impl FnMut(&[u8], &TermInfo, f32),
) -> Result<()> {
    let mut nearer = std::collections::HashSet::new();
    for distance in 0..=edits {
        let automaton = FuzzyTermQuery::new(term.clone(), distance, true).automaton().map_err(failed)?;
        let mut words = dictionary.search(automaton).into_stream().map_err(|error| failed(error.into()))?;
        while words.advance() {
            if nearer.insert(words.key().to_vec()) {
                add(words.key(), words.value(), EDIT_WEIGHT.powi(i32::from(distance)));
            }
        }
    }
    Ok(())
}
