//! Finds the best documents of a snapshot, exactly, with an exact total.
//!
//! A score says how well a message answers, alone and in its conversation:
//!
//! ```text
//! Σ words + Σ neighbours + session weight · Σ best of each word in the session
//! ```
//!
//! A word counts in the field where it counts most.
//!
//! The first pass visits every posting of a query's words once, in windows of documents: the total needs
//! that anyway, and so does what a session holds. Windows that lack something required are passed over.
//! The second pass ranks. What it leaves out where it cannot change the page is the costly part, the
//! check of positions for neighbouring words: a document whose score would not enter the page even with
//! every bonus it could get is not checked. So the page equals the exhaustive one by construction.

use std::collections::HashSet;
use std::time::Instant;

use tantivy::schema::Field as TantivyField;
use tantivy::{DocId, SegmentReader, TERMINATED, Term as TantivyTerm};

use crate::error::{Error, ErrorKind, Result};
use crate::index::{SegmentColumns, Snapshot, failed};
use crate::model::Field;

use super::evidence::Evidence;
use super::explain::Work;
use super::facets::{FacetCounts, SegmentFacets};
use super::filter::{Filter, SegmentFilter, Verdict, cause};
use super::gather::{Found, Gathered};
use super::lists::{Cursor, Norms, Slot, Window, Worth, idf};
use super::order::Order;
use super::plan::{List, Plan, Sought};
use super::request::SearchRequest;

/// The lists of a plan with their worth, for every segment alike.
pub(super) struct Ranked<'a> {
    pub(super) plan: &'a Plan,
    /// In plan order, then field order: scores are summed in this order everywhere.
    pub(super) lists: Vec<RankedList<'a>>,
    pub(super) pairs: Vec<RankedList<'a>>,
    excluded: Vec<RankedList<'a>>,
    /// How much each term tells, by bit.
    pub(super) telling: Vec<f32>,
    /// What comes first.
    pub(super) order: Order<'a>,
    pub(super) request: &'a SearchRequest,
}

/// One list in one field.
pub(super) struct RankedList<'a> {
    pub(super) field: Field,
    pub(super) list: &'a List,
    /// Its number in the plan.
    pub(super) number: usize,
    pub(super) worth: Worth,
}

impl<'a> Ranked<'a> {
    /// Looks up how much each list is worth in this snapshot.
    pub(super) fn of(
        snapshot: &Snapshot,
        plan: &'a Plan,
        order: Order<'a>,
        request: &'a SearchRequest,
    ) -> Result<Self> {
        let fields: Vec<(Field, f32, Norms)> = plan
            .fields
            .iter()
            .map(|(field, boost)| Ok((*field, *boost, Norms::of(snapshot, *field)?)))
            .collect::<Result<_>>()?;
        let mut lists = Vec::new();
        let mut telling = vec![0.0_f32; plan.terms.len()];
        for (number, list) in plan.lists.iter().enumerate() {
            let idf = rarity(snapshot, list, &fields)?;
            let is_one = list.terms.is_power_of_two();
            for (_, term) in telling.iter_mut().enumerate().filter(|(bit, _)| list.terms >> bit & 1 == 1) {
                // A list of several terms stands for one that has none of its own.
                if is_one || *term == 0.0 {
                    *term = term.max(idf * list.weight);
                }
            }
            push_fields(&mut lists, &fields, (number, list), list.weight, idf);
        }
        let mut pairs = Vec::new();
        // However many words a query has, all of them side by side are worth one phrase boost.
        #[expect(clippy::cast_precision_loss, reason = "at most a few dozen")]
        let share = request.weights.phrase / plan.pairs.len().max(1) as f32;
        if share > 0.0 {
            for pair in plan.pairs.iter().enumerate() {
                // A phrase is worth the mean of its words, not their sum: boosts then compare.
                let idf = rarity(snapshot, pair.1, &fields)? / 2.0;
                push_fields(&mut pairs, &fields, pair, share * pair.1.weight, idf);
            }
        }
        let mut excluded = Vec::new();
        let each = plan.excluded.iter().enumerate();
        each.for_each(|list| push_fields(&mut excluded, &fields, list, 0.0, 0.0));
        Ok(Self { plan, lists, pairs, excluded, telling, order, request })
    }

    /// Returns the terms that no searched field of any document holds.
    pub(super) fn unknown(&self, snapshot: &Snapshot) -> Result<u64> {
        let mut unknown = self.plan.terms.iter().enumerate().fold(0, |all, (at, _)| all | 1 << at);
        for list in self.plan.lists.iter().filter(|list| list.terms != 0) {
            if unknown & list.terms != 0 && is_known(snapshot, list, &self.plan.fields)? {
                unknown &= !list.terms;
            }
        }
        Ok(unknown)
    }

    /// Returns the share of the query that these terms are, each by how much it tells: 0 to 1.
    pub(super) fn coverage(&self, terms: u64) -> f32 {
        let held = |(bit, telling): (usize, &f32)| if terms >> bit & 1 == 1 { *telling } else { 0.0 };
        let all: f32 = self.telling.iter().sum();
        if all > 0.0 { self.telling.iter().enumerate().map(held).sum::<f32>() / all } else { 1.0 }
    }

    /// Returns what a session's evidence adds to each of its messages.
    pub(super) fn of_session(&self, evidence: &[f32]) -> f32 {
        self.request.weights.session * evidence.iter().sum::<f32>()
    }

    /// Returns the terms that a session holds in all.
    pub(super) fn terms_of(&self, evidence: &[f32]) -> u64 {
        let held = self.plan.lists.iter().zip(evidence).filter(|(_, best)| **best > 0.0);
        held.fold(0, |held, (list, _)| held | list.terms)
    }
}

fn push_fields<'a>(
    ranked: &mut Vec<RankedList<'a>>,
    fields: &[(Field, f32, Norms)],
    (number, list): (usize, &'a List),
    factor: f32,
    idf: f32,
) {
    for (field, boost, norms) in fields.iter().filter(|(field, ..)| list.fields.holds(*field)) {
        let worth = Worth { boost: boost * factor, idf, norms: norms.clone() };
        ranked.push(RankedList { field: *field, list, number, worth });
    }
}

/// Tells whether documents hold a word of a list, or each word of a phrase somewhere.
fn is_known(snapshot: &Snapshot, list: &List, fields: &[(Field, f32)]) -> Result<bool> {
    let fields = fields.iter().map(|(field, _)| *field).filter(|field| list.fields.holds(*field));
    let is_held = |token: &String| any(fields.clone().map(|field| snapshot.has_word(field, token)));
    match &list.sought {
        Sought::Token(token) => is_held(token),
        Sought::Forms(forms) => any(forms.forms.iter().map(|(token, _)| is_held(token))),
        Sought::Sessions(_, sessions) => any(sessions.iter().map(|session| snapshot.holds(session))),
        Sought::Pattern(..) => Ok(false),
        Sought::Phrase(phrase, _) => {
            Ok(!any(phrase.iter().map(|(_, token)| is_held(token).map(|is_held| !is_held)))?)
        }
    }
}

/// Tells whether any of these is true; asks no further then.
pub(super) fn any(mut of: impl Iterator<Item = Result<bool>>) -> Result<bool> {
    of.find(|one| !matches!(one, Ok(false))).unwrap_or(Ok(false))
}

/// A word is as rare as it is in the field that holds it most: rare titles do not make it rare.
/// A phrase tells as much as its words together.
fn rarity(snapshot: &Snapshot, list: &List, fields: &[(Field, f32, Norms)]) -> Result<f32> {
    let searcher = snapshot.searcher();
    let documents: u64 = searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum();
    let most = |tokens: &mut dyn Iterator<Item = &String>| -> Result<u64> {
        let handles = fields.iter().filter(|(field, ..)| list.fields.holds(*field));
        let handles: Vec<_> = handles.map(|(field, ..)| snapshot.fields().text(*field)).collect();
        let mut with = vec![0; handles.len()];
        for token in tokens {
            for (with, handle) in with.iter_mut().zip(&handles) {
                let term = TantivyTerm::from_field_text(*handle, token);
                *with += searcher.doc_freq(&term).map_err(failed)?;
            }
        }
        Ok(with.into_iter().max().unwrap_or(0).min(documents))
    };
    let one = |with: u64| idf(documents, with);
    match &list.sought {
        Sought::Token(token) => Ok(one(most(&mut std::iter::once(token))?)),
        // Documents with several forms count several times here, which makes a frequent word more so.
        Sought::Forms(forms) => Ok(one(most(&mut forms.forms.iter().map(|(token, _)| token))?)),
        Sought::Sessions(_, sessions) => {
            let each = sessions.iter().map(|session| searcher.doc_freq(session).map_err(failed));
            Ok(one(each.sum::<Result<u64>>()?.min(documents)))
        }
        Sought::Pattern(..) => Ok(one(0)),
        Sought::Phrase(phrase, _) => {
            let mut sum = 0.0;
            for (_, token) in phrase {
                sum += one(most(&mut std::iter::once(token))?);
            }
            Ok(sum)
        }
    }
}

/// Drops the low bits of a score: sums of the same parts may differ there, and equal scores must
/// be equal for time to decide.
pub(super) fn quantised(score: f32) -> f32 {
    f32::from_bits(score.to_bits() & !0x7FF)
}

/// The best documents and how many there are.
pub(super) struct Collected {
    /// Best first.
    pub(super) found: Vec<Found>,
    /// Documents that match and pass the filters, or groups of them.
    pub(super) total: u64,
    /// The documents, where they are grouped.
    pub(super) messages: Option<u64>,
    /// Documents that match, whatever the filters say.
    pub(super) matched: u64,
    /// What the sessions of these documents hold.
    pub(super) evidence: Evidence,
    /// The most of the query that one of these documents holds.
    pub(super) coverage: f32,
}

impl Collected {
    /// Takes messages of a page out of the counts.
    pub(super) fn leave_out(&mut self, page: &[Found], stale: &[i64]) {
        let gone = |found: &&Found| !found.is_session && stale.contains(&found.id);
        // A group that has more is still one.
        let alone = page.iter().filter(gone).filter(|found| found.more.is_none_or(|more| more == 0)).count();
        self.total -= alone as u64;
        self.messages = self.messages.map(|messages| messages - stale.len() as u64);
    }
}

/// What is counted beside the page.
#[derive(Default)]
pub(super) struct Watch {
    /// Hits by attribute.
    pub(super) facets: FacetCounts,
    /// Count what leaves matches out; asked of searches that found nothing.
    pub(super) diagnoses: bool,
    /// Matches that each cause leaves out, whatever others do.
    pub(super) left_out: [u64; cause::NAMES.len()],
    /// Hits that belong to the conversation that asks.
    pub(super) current: u64,
}

/// What the first pass adds up.
struct Tally<'a> {
    gathered: Gathered<'a>,
    total: u64,
    matched: u64,
    watch: &'a mut Watch,
    evidence: Evidence,
    /// The documents of this segment that count, to be ranked.
    candidates: Vec<Candidate>,
}

/// A document that counts.
struct Candidate {
    doc: DocId,
    /// Of its words, without neighbours.
    score: f32,
    terms: u64,
}

/// Collects what is best into `gathered`, and counts into `watch`. Fails at the deadline.
pub(super) fn collect(
    snapshot: &Snapshot,
    ranked: &Ranked<'_>,
    filter: &Filter,
    gathered: Gathered<'_>,
    deadline: Instant,
    work: &mut Work,
    watch: &mut Watch,
) -> Result<Collected> {
    let evidence = Evidence::new(ranked.plan.lists.len());
    let mut tally = Tally { gathered, total: 0, matched: 0, watch, evidence, candidates: Vec::new() };
    let mut window = Window::new(ranked.plan.lists.len());
    let mut scans = Vec::new();
    for (ord, segment) in snapshot.searcher().segment_readers().iter().enumerate() {
        let columns = snapshot.columns(ord)?;
        let mut scan = Scan {
            ranked,
            filter: SegmentFilter::of(filter, segment, columns)?,
            columns,
            facets: tally.watch.facets.segment(segment, columns)?,
            ord: u32::try_from(ord).expect("tantivy numbers segments in 32 bits"),
            lists: open_lists(snapshot, segment, &ranked.lists, true, Cursor::walk)?,
            pairs: open_lists(snapshot, segment, &ranked.pairs, true, Cursor::check)?,
            excluded: open_lists(snapshot, segment, &ranked.excluded, false, Cursor::walk)?,
        };
        while scan.next_window(&mut window, &mut tally, work) {
            check(deadline)?;
        }
        if let Some(facets) = scan.facets.take() {
            tally.watch.facets.end(facets)?;
        }
        work.segments += 1;
        // Only neighbours are looked at again.
        (scan.lists, scan.excluded) = (Vec::new(), Vec::new());
        scans.push((scan, std::mem::take(&mut tally.candidates)));
    }
    let coverage = best_coverage(ranked, scans.iter().flat_map(|(_, candidates)| candidates));
    for (scan, candidates) in &mut scans {
        for candidates in candidates.chunks(CANDIDATES_CHUNK) {
            for candidate in candidates {
                scan.rank(candidate, &tally.evidence, &mut tally.gathered, work);
            }
            check(deadline)?;
        }
    }
    let (found, groups) = tally.gathered.finish();
    let messages = groups.map(|_| tally.total);
    let (total, evidence) = (groups.unwrap_or(tally.total), tally.evidence);
    Ok(Collected { found, total, messages, matched: tally.matched, evidence, coverage })
}

/// Returns the most of the query that one of these holds. They hold few different sets of terms.
fn best_coverage<'a>(ranked: &Ranked<'_>, candidates: impl Iterator<Item = &'a Candidate>) -> f32 {
    let (mut seen, mut last) = (HashSet::new(), 0);
    for candidate in candidates {
        if candidate.terms != last {
            last = candidate.terms;
            seen.insert(last);
        }
    }
    seen.into_iter().map(|terms| ranked.coverage(terms)).fold(0.0, f32::max)
}

/// Documents that are ranked between two looks at the clock.
const CANDIDATES_CHUNK: usize = 4_096;

fn check(deadline: Instant) -> Result<()> {
    if Instant::now() <= deadline {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Timeout, "search", "the index")
        .because("it took longer than its deadline")
        .hint("ask with fewer or rarer words"))
}

/// One pass over one segment.
struct Scan<'a> {
    ranked: &'a Ranked<'a>,
    filter: SegmentFilter<'a>,
    columns: &'a SegmentColumns,
    facets: Option<SegmentFacets<'a>>,
    ord: u32,
    lists: Vec<Cursor>,
    pairs: Vec<Cursor>,
    excluded: Vec<Cursor>,
}

impl Scan<'_> {
    /// Ranks the next window of documents; `false` when the segment is done.
    fn next_window(&mut self, window: &mut Window, tally: &mut Tally<'_>, work: &mut Work) -> bool {
        let base = self.next_candidate();
        if base == TERMINATED {
            return false;
        }
        window.move_to(base);
        fill(window, base, &mut self.lists, work);
        fill(window, base, &mut self.excluded, work);
        window.drain(|doc, scores, terms| self.judge(doc, scores, terms, tally));
        true
    }

    /// Returns the first document that can still match: one that no list has passed, nor any of what
    /// is necessary.
    fn next_candidate(&self) -> DocId {
        let next = |lists: &mut dyn Iterator<Item = &Cursor>| lists.map(Cursor::doc).min();
        let required = self.ranked.plan.necessary.iter().map(|required| {
            next(&mut self.lists.iter().filter(|list| list.slot().terms & required != 0))
                .unwrap_or(TERMINATED)
        });
        let first = next(&mut self.lists.iter()).unwrap_or(TERMINATED);
        if self.ranked.request.prune { required.fold(first, DocId::max) } else { first }
    }

    /// Counts a matching document, and keeps it to be ranked.
    fn judge(&mut self, doc: DocId, scores: &[f32], terms: u64, tally: &mut Tally<'_>) {
        if !self.ranked.plan.wanted.holds(terms) || !self.filter.is_alive(doc) {
            return;
        }
        tally.matched += 1;
        let verdict = self.filter.verdict(doc);
        if matches!(verdict, Verdict::Counts | Verdict::IsStale) {
            tally.evidence.add(self.columns.session_ord.get_val(doc), scores);
        }
        if verdict != Verdict::Counts {
            return self.leave_out(doc, verdict, tally.watch);
        }
        tally.total += 1;
        if let Some(facets) = &mut self.facets {
            facets.count(doc, &mut tally.watch.facets);
        }
        tally.candidates.push(Candidate { doc, score: scores.iter().sum(), terms });
    }

    /// Counts a match that is no hit.
    fn leave_out(&self, doc: DocId, verdict: Verdict, watch: &mut Watch) {
        watch.current += u64::from(verdict == Verdict::IsCurrent);
        if watch.diagnoses {
            let causes = self.filter.causes(doc);
            for (bit, count) in watch.left_out.iter_mut().enumerate() {
                *count += u64::from(causes >> bit & 1);
            }
        }
    }

    /// Keeps a document that counts if it is among the best.
    fn rank(
        &mut self,
        candidate: &Candidate,
        evidence: &Evidence,
        gathered: &mut Gathered<'_>,
        work: &mut Work,
    ) {
        let Candidate { doc, score, terms } = *candidate;
        let (ranked, columns) = (self.ranked, self.columns);
        let session_ord = columns.session_ord.get_val(doc);
        gathered.count(session_ord);
        let mut standing = (true, 0.0);
        if ranked.order.by_score() {
            let is_ordinary = ranked.order.is_ordinary(columns, doc);
            let of_session = ranked.of_session(evidence.of(session_ord));
            // Quantised as the keys are that it is compared with; that never turns an order around.
            let with = |bonus: f32| quantised(score + bonus + of_session);
            let least = (is_ordinary, with(0.0));
            let most = (is_ordinary, with(bonus_max(&self.pairs, terms)));
            if ranked.request.prune && gathered.is_idle(session_ord, least, most) {
                return;
            }
            standing = (is_ordinary, with(bonus(&mut self.pairs, doc, terms, work)));
        }
        let order = &ranked.order;
        let key = order.key(columns, doc, standing);
        let (id, is_session) = (columns.id.get_val(doc), key.is_session);
        gathered.offer(Found { key, segment: self.ord, doc, id, session_ord, is_session, more: None });
    }
}

/// Adds every list's documents of the window that begins at `base`.
fn fill(window: &mut Window, base: DocId, lists: &mut [Cursor], work: &mut Work) {
    for list in lists {
        list.skip_to(base);
        work.postings += list.add_to(window);
    }
}

/// The most that neighbouring words can add to a document that holds these terms. Rounded up, as
/// its parts may be summed in another order.
fn bonus_max(pairs: &[Cursor], terms: u64) -> f32 {
    let possible = pairs.iter().filter(|pair| pair.slot().terms & !terms == 0);
    sum_of_best(possible.map(|pair| (pair.slot().list, pair.worth().score_max()))) * 1.000_1
}

fn bonus(pairs: &mut [Cursor], doc: DocId, terms: u64, work: &mut Work) -> f32 {
    let possible = pairs.iter_mut().filter(|pair| pair.slot().terms & !terms == 0);
    sum_of_best(possible.map(|pair| {
        work.phrase_checks += 1;
        (pair.slot().list, pair.at(doc).map_or(0.0, |(_, _, score)| score))
    }))
}

/// Adds up the best score of every list; those of one list follow each other.
pub(super) fn sum_of_best(scores: impl Iterator<Item = (Option<usize>, f32)>) -> f32 {
    let (mut sum, mut best, mut of) = (0.0, 0.0_f32, None);
    for (list, score) in scores {
        if list != of {
            sum += best;
            (best, of) = (0.0, list);
        }
        best = best.max(score);
    }
    sum + best
}

fn open_lists(
    snapshot: &Snapshot,
    segment: &SegmentReader,
    lists: &[RankedList<'_>],
    adds: bool,
    open: impl Fn(&SegmentReader, TantivyField, &Sought, Worth, Slot) -> Result<Option<Cursor>>,
) -> Result<Vec<Cursor>> {
    let mut cursors = Vec::with_capacity(lists.len());
    for ranked in lists {
        let field = snapshot.fields().text(ranked.field);
        let slot = Slot { list: adds.then_some(ranked.number), terms: ranked.list.terms };
        cursors.extend(open(segment, field, &ranked.list.sought, ranked.worth.clone(), slot)?);
    }
    Ok(cursors)
}
