//! Says why hits are missing: which words are unknown and what is near them, which filter left how
//! many out, and where there are hits that the request did not ask for. Costs nothing where there
//! is nothing to explain, else about the search once more.

use std::collections::HashMap;

use serde::Serialize;
use tantivy::Term;
use tantivy::query::FuzzyTermQuery;

use crate::error::Result;
use crate::index::failed;
use crate::limits::{NEAREST_COMPARED_MAX, NEAREST_SHOWN_MAX};
use crate::model::{Field, Origin, Warning};
use crate::text::{Analyzer, Kind};

use super::collect::{Ranked, Watch, collect};
use super::dictionaries::Corpus;
use super::explain::Work;
use super::facets::{Facet, FacetCounts};
use super::filter::{Filter, cause};
use super::forms::knows_any;
use super::gather::Gathered;
use super::nearest::{distance, slips_max};
use super::plan::{Plan, Reading, tokens};
use super::request::SearchRequest;
use super::run::Asked;

/// Why hits are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Words that stand nowhere in what was searched.
    pub unknown_terms: Vec<UnknownTerm>,
    /// Of an empty answer, what left matches out, each filter judged by itself.
    pub left_out: Vec<LeftOut>,
    /// Of an empty answer, matches in origins and roles that were not asked for.
    pub elsewhere: Vec<Elsewhere>,
    /// Hits in the conversation that asks.
    pub hidden_current: u64,
    /// Of an empty answer, rows of the archive that are not in the index yet.
    pub rows_behind: u64,
}

/// A word that stands nowhere in what was searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnknownTerm {
    /// As typed.
    pub term: String,
    /// Known words that are nearly the same, the nearest first.
    pub nearest: Vec<String>,
}

/// How many matches one filter leaves out, whatever the others do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The filter.
    pub filter: &'static str,
    /// The matches.
    pub matches: u64,
}

/// Matches that the request did not ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// Where they stand.
    pub origin: Origin,
    /// Who wrote them; `None` for titles.
    pub role: Option<String>,
    /// How many there are.
    pub matches: u64,
}

/// What a search came to.
pub(super) struct Outcome {
    pub(super) total: u64,
    /// Hits in the conversation that asks.
    pub(super) current: u64,
    /// How many were left out as they changed, which is said already.
    pub(super) stale: u64,
    /// Terms that stand nowhere in what was searched.
    pub(super) unknown: u64,
}

/// Explains what is missing, with warnings that say the same to people; `None` where nothing is.
/// Fails at the deadline.
pub(super) fn diagnose(
    asked: &Asked<'_>,
    reading: Reading,
    filters: &[Filter],
    outcome: &Outcome,
) -> Result<Option<(Diagnosis, Vec<Warning>)>> {
    let Asked { request, query, .. } = *asked;
    let unknown = outcome.unknown;
    if outcome.total > 0 && unknown == 0 && outcome.current == 0 {
        return Ok(None);
    }
    let mut plan = Plan::of(query, request, reading);
    let corpus = Corpus::of(&asked.snapshots);
    plan.expand(&corpus, filters)?;
    let ranked = Ranked::of_each(&corpus, &plan, &asked.numbers, request)?;
    let mut diagnosis = Diagnosis { hidden_current: outcome.current, ..Diagnosis::default() };
    let mut warnings = Vec::new();
    let mut compared = 0;
    for (bit, term) in plan.terms.iter().enumerate() {
        if unknown >> bit & 1 == 1 {
            let nearest = nearest_terms(&corpus, filters, &plan.fields, &term.label, &mut compared)?;
            let term = UnknownTerm { term: term.label.clone(), nearest };
            warnings.push(term.warning(compared > NEAREST_COMPARED_MAX));
            diagnosis.unknown_terms.push(term);
        }
    }
    if outcome.current > 0 {
        let message = match outcome.current {
            1 => "1 hit in the current conversation is not shown".to_owned(),
            hits => format!("{hits} hits in the current conversation are not shown"),
        };
        warnings.push(Warning::new("hidden-current", message));
    }
    if outcome.total == 0 && !plan.terms.is_empty() {
        let watch = Watch { diagnoses: true, ..Watch::default() };
        let watch = count(asked, &ranked, filters, watch)?;
        let matched = watch.matched.saturating_sub(outcome.stale);
        diagnosis.left_out = if matched > 0 { left_out(&watch) } else { Vec::new() };
        diagnosis.elsewhere = elsewhere(asked, reading, filters)?;
        warnings.extend(why_empty(&plan, matched, outcome, &diagnosis));
    }
    Ok(Some((diagnosis, warnings)))
}

impl UnknownTerm {
    fn warning(&self, cut: bool) -> Warning {
        let mut message = format!("\"{}\" stands nowhere in what was searched", self.term);
        if !self.nearest.is_empty() {
            message += &format!("; near it: {}", self.nearest.join(", "));
        }
        if cut {
            message += &format!("; no more than {NEAREST_COMPARED_MAX} known words were compared");
        }
        Warning::new("unknown-term", message)
    }
}

/// Says in sentences why there is no hit.
fn why_empty(plan: &Plan, matched: u64, outcome: &Outcome, diagnosis: &Diagnosis) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let filters: Vec<String> =
        diagnosis.left_out.iter().map(|out| format!("{} {}", out.filter, out.matches)).collect();
    if matched > 0 {
        let matches = if matched == 1 { "1 match was" } else { "matches were" };
        let count = if matched == 1 { String::new() } else { format!("{matched} ") };
        let message = format!("{count}{matches} left out: {}", filters.join(", "));
        warnings.push(Warning::new("filtered-out", message));
    } else if outcome.stale > 0 {
        // Said already.
    } else if plan.demands {
        let labels: Vec<_> = plan.terms.iter().map(|term| format!("\"{}\"", term.label)).collect();
        let message = format!("no message holds all that is required among {}", labels.join(", "));
        warnings.push(Warning::new("no-match", message));
    } else if outcome.unknown == 0 {
        warnings.push(Warning::new("no-match", "no message holds any of these words"));
    }
    if !diagnosis.elsewhere.is_empty() {
        let places = diagnosis.elsewhere.iter().map(|place| match &place.role {
            Some(role) => format!("{} {} of role {role}", place.matches, place.origin.name()),
            None => format!("{} {}", place.matches, place.origin.name()),
        });
        let places: Vec<String> = places.collect();
        let message = format!("matches that were not asked for: {}", places.join(", "));
        warnings.push(Warning::new("found-elsewhere", message));
    }
    warnings
}

fn left_out(watch: &Watch) -> Vec<LeftOut> {
    let counts = cause::NAMES.into_iter().zip(watch.left_out).filter(|(_, matches)| *matches > 0);
    counts.map(|(filter, matches)| LeftOut { filter, matches }).collect()
}

/// Looks in every origin by itself, and for every role, under the other filters of the request.
fn elsewhere(asked: &Asked<'_>, reading: Reading, filters: &[Filter]) -> Result<Vec<Elsewhere>> {
    let Asked { request, query, .. } = *asked;
    if request.origins.is_empty() && request.filters.roles.is_empty() {
        return Ok(Vec::new());
    }
    let anyone: Vec<Filter> = filters.iter().map(Filter::of_any_role).collect();
    let mut found = Vec::new();
    for origin in Origin::ALL {
        let request = SearchRequest { origins: vec![origin], ..request.clone() };
        let mut plan = Plan::of(query, &request, reading);
        let corpus = Corpus::of(&asked.snapshots);
        plan.expand(&corpus, filters)?;
        let ranked = Ranked::of_each(&corpus, &plan, &asked.numbers, &request)?;
        let watch = Watch { facets: FacetCounts::of(&[Facet::Role]), ..Watch::default() };
        let roles = count(asked, &ranked, &anyone, watch)?.facets.by_role();
        found.extend(roles.map(|(role, matches)| Elsewhere { origin, role, matches }));
    }
    Ok(found)
}

/// Counts what a watch counts over every archive.
fn count(asked: &Asked<'_>, ranked: &[Ranked<'_>], filters: &[Filter], mut all: Watch) -> Result<Watch> {
    for ((snapshot, ranked), filter) in asked.snapshots.iter().zip(ranked).zip(filters) {
        let (mut watch, nothing) = (all.emptied(), Gathered::nothing());
        collect(snapshot, ranked, filter, nothing, asked.deadline, &mut Work::default(), &mut watch)?;
        all.merge(watch);
    }
    Ok(all)
}

/// Returns the known words of the searched fields that are nearest to one word: with the same first
/// letter, and a slip or two apart. Of equally near ones, those in most documents first.
fn nearest_terms(
    corpus: &Corpus<'_>,
    filters: &[Filter],
    fields: &[(Field, f32)],
    word: &str,
    compared: &mut usize,
) -> Result<Vec<String>> {
    let tokens = tokens(&mut Analyzer::default(), word);
    let [token] = &*tokens else { return Ok(Vec::new()) };
    let (Kind::Word, Some(first)) = (token.kind, token.text.chars().next()) else { return Ok(Vec::new()) };
    let from = first.to_string().into_bytes();
    let mut to = from.clone();
    // No byte of UTF-8 is 255, so the next one is behind all words with this letter.
    if let Some(last) = to.last_mut() {
        *last += 1;
    }
    let mut near: HashMap<String, (usize, u64)> = HashMap::new();
    let fields: Vec<Field> = fields.iter().map(|(field, _)| *field).collect();
    let of_archive = |one| fields.iter().map(move |field| (one, *field));
    for (one, field) in corpus.archives.iter().flat_map(of_archive) {
        let term = Term::from_field_text(one.snapshot.fields().text(field), &token.text);
        let query = FuzzyTermQuery::new(term, slips_max(&token.text), true);
        for index in one.indexes(field)?.iter().flatten() {
            // The automaton leaves branches of the dictionary in which nothing is near.
            let automaton = query.automaton().map_err(failed)?;
            let range = index.terms().search(automaton).ge(&from).lt(&to);
            let mut terms = range.into_stream().map_err(|error| failed(error.into()))?;
            while *compared <= NEAREST_COMPARED_MAX && terms.advance() {
                *compared += 1;
                let Ok(known) = std::str::from_utf8(terms.key()) else { continue };
                if let Some(slips) = distance(&token.text, known).filter(|slips| *slips > 0) {
                    let entry = near.entry(known.to_owned()).or_insert((slips, 0));
                    entry.1 += u64::from(terms.value().doc_freq);
                }
            }
        }
    }
    let mut near: Vec<_> = near.into_iter().collect();
    near.sort_unstable_by(|(a, (a_slips, a_count)), (b, (b_slips, b_count))| {
        a_slips.cmp(b_slips).then(b_count.cmp(a_count)).then_with(|| a.cmp(b))
    });
    let mut shown = Vec::new();
    for (known, _) in near {
        // What was deleted is not named, nor what the request may not know of.
        if shown.len() < NEAREST_SHOWN_MAX && knows_any(corpus, filters, &fields, &known)? {
            shown.push(known);
        }
    }
    Ok(shown)
}
