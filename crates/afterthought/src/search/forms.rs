//! Finds the words that `prefix*` or `fuzzy~` stand for, and the inflected forms of a word, in the
//! dictionaries of what is searched.
//!
//! Near spellings come from tantivy's Levenshtein automaton, which walks the dictionary's trie and
//! leaves branches that cannot match; so the first letter may differ too.

use std::collections::HashMap;

use tantivy::Term as TantivyTerm;
use tantivy::query::FuzzyTermQuery;
use tantivy::termdict::TermDictionary;

use crate::error::Result;
use crate::index::{Snapshot, failed};
use crate::limits::{QUERY_FORMS_COMPARED_MAX, QUERY_FORMS_MAX};
use crate::model::{Field, Warning};
use crate::text::Inflection;

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
    pub(super) forms: Vec<(String, f32)>,
}

impl Plan {
    /// Looks up what patterns stand for in a snapshot.
    pub(super) fn expand(&mut self, snapshot: &Snapshot) -> Result<()> {
        let searched: Vec<Field> = self.fields.iter().map(|(field, _)| *field).collect();
        let mut cuts = Vec::new();
        for list in self.lists.iter_mut().chain(&mut self.excluded) {
            let Sought::Pattern(label, pattern) = &list.sought else { continue };
            if let Pattern::Session(part) = pattern {
                let (sessions, all) = sessions(snapshot, part)?;
                if sessions.len() < all {
                    let shown = sessions.len();
                    cuts.push(format!("{label} stands in the ids of {all} sessions; {shown} were searched"));
                }
                list.sought = Sought::Sessions(label.clone(), sessions);
                continue;
            }
            let fields: Vec<Field> =
                searched.iter().copied().filter(|field| list.fields.holds(*field)).collect();
            let Expansion { forms, all, compared } = gather(snapshot, &fields, pattern)?;
            if forms.len() < all {
                cuts.push(format!(
                    "{label} stands for {all} words; the {} most frequent were searched",
                    forms.len()
                ));
            }
            if compared >= QUERY_FORMS_COMPARED_MAX {
                cuts.push(format!(
                    "{label} was compared with {QUERY_FORMS_COMPARED_MAX} words of the index and no more"
                ));
            }
            list.sought = match (pattern, forms.len()) {
                (Pattern::Word(word, _), 1) => Sought::Token(word.clone()),
                _ => Sought::Forms(Forms { label: label.clone(), forms }),
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
    /// How many words there are.
    all: usize,
    /// How many were looked at to find them.
    compared: usize,
}

/// Looks up what a pattern stands for.
fn gather(snapshot: &Snapshot, fields: &[Field], pattern: &Pattern) -> Result<Expansion> {
    let mut compared = 0;
    let mut found: HashMap<String, Found> = HashMap::new();
    let mut forms = None;
    if let Pattern::Word(word, _) = pattern {
        forms = Inflection::of(word);
        found.insert(word.clone(), Found { documents: u64::MAX, weight: 1.0 });
    }
    for field in fields {
        let handle = snapshot.fields().text(*field);
        for segment in snapshot.searcher().segment_readers() {
            let index = segment.inverted_index(handle).map_err(failed)?;
            let mut add = |key: &[u8], documents: u32, weight: f32| {
                let Ok(word) = std::str::from_utf8(key) else { return };
                let form = found.entry(word.to_owned()).or_insert(Found { documents: 0, weight });
                form.documents = form.documents.saturating_add(u64::from(documents));
                form.weight = form.weight.max(weight);
            };
            match pattern {
                Pattern::Prefix(prefix) => {
                    begin_with(index.terms(), prefix, &mut compared, &mut |word, documents| {
                        add(word, documents, 1.0);
                    })?;
                }
                Pattern::Word(word, weight) if PROSE.contains(field) => {
                    let Some(forms) = &forms else { continue };
                    begin_with(index.terms(), forms.prefix(), &mut compared, &mut |form, documents| {
                        let is_form = std::str::from_utf8(form).is_ok_and(|form| forms.holds(form));
                        if is_form && form != word.as_bytes() {
                            add(form, documents, *weight);
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
    let mut forms: Vec<(String, Found)> = found.into_iter().collect();
    forms.sort_unstable_by(|(a, found_a), (b, found_b)| {
        found_b.documents.cmp(&found_a.documents).then_with(|| a.cmp(b))
    });
    forms.truncate(QUERY_FORMS_MAX);
    let forms = forms.into_iter().map(|(word, found)| (word, found.weight)).collect();
    Ok(Expansion { forms, all, compared })
}

/// Returns the sessions whose ids hold a text, those whose ids sort last, and how many there are.
fn sessions(snapshot: &Snapshot, part: &str) -> Result<(Vec<TantivyTerm>, usize)> {
    let holding = snapshot.session_ids_holding(part)?;
    let all = holding.len();
    let terms = holding.into_iter().rev().take(QUERY_FORMS_MAX).map(|id| snapshot.fields().session_term(id));
    Ok((terms.collect(), all))
}

struct Found {
    documents: u64,
    weight: f32,
}

fn begin_with(
    dictionary: &TermDictionary,
    prefix: &str,
    compared: &mut usize,
    add: &mut impl FnMut(&[u8], u32),
) -> Result<()> {
    let mut words =
        dictionary.range().ge(prefix.as_bytes()).into_stream().map_err(|error| failed(error.into()))?;
    while *compared < QUERY_FORMS_COMPARED_MAX
        && words.advance()
        && words.key().starts_with(prefix.as_bytes())
    {
        *compared += 1;
        add(words.key(), words.value().doc_freq);
    }
    Ok(())
}

/// Adds words by rising distance, since the automaton says whether a word is near and not how near.
fn near_spellings(
    dictionary: &TermDictionary,
    term: &TantivyTerm,
    edits: u8,
    add: &mut impl FnMut(&[u8], u32, f32),
) -> Result<()> {
    let mut nearer = std::collections::HashSet::new();
    for distance in 0..=edits {
        let automaton = FuzzyTermQuery::new(term.clone(), distance, true).automaton().map_err(failed)?;
        let mut words = dictionary.search(automaton).into_stream().map_err(|error| failed(error.into()))?;
        while words.advance() {
            if nearer.insert(words.key().to_vec()) {
                add(words.key(), words.value().doc_freq, EDIT_WEIGHT.powi(i32::from(distance)));
            }
        }
    }
    Ok(())
}
