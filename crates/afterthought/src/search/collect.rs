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
//! The first pass visits every posting of a query's words once, in blocks of documents: the total needs
//! that anyway, and so does what a session holds. Blocks that lack something required are passed over. It
//! keeps no documents, only the stretches of neighbours of one session that hold some, each with the most
//! that a document of it can come to: its words, every bonus that it could get, and its session's evidence.
//!
//! The second pass ranks, in batches of stretches by falling bound, until no stretch that is left can
//! change the page. So the page equals the exhaustive one by construction.

use std::ops::Range;

use crate::error::Result;
use crate::index::{Snapshot, Stretch};
use crate::limits::SEARCH_THREADS_MAX;
use crate::model::Field;

use super::deadline::Deadline;
use super::dictionaries::{Corpus, Dictionaries};
use super::evidence::Evidence;
use super::explain::Work;
use super::facets::FacetCounts;
use super::filter::{Filter, cause};
use super::gather::{Bound, Found, Gathered};
use super::lists::{Norms, Worth, idf};
use super::neighbours::{Most, ROUNDED_UP};
use super::order::Order;
use super::plan::{List, Plan, Sought};
use super::request::SearchRequest;
use super::scan::{Ranking, Scan, Tally};
use super::threads::share_out;
use super::wanted::Wanted;
use super::window::Window;

/// The lists of a plan with their worth, for every segment of every archive alike, and one archive to rank.
#[derive(Clone)]
pub(super) struct Ranked<'a> {
    pub(super) dictionaries: &'a Dictionaries<'a>,
    pub(super) plan: &'a Plan,
    /// In plan order, then field order: scores are summed in this order everywhere.
    pub(super) lists: Vec<RankedList<'a>>,
    pub(super) pairs: Vec<RankedList<'a>>,
    /// The most that each pair can add.
    pub(super) bonuses: Vec<Most>,
    pub(super) excluded: Vec<RankedList<'a>>,
    /// The terms of every list of the plan.
    terms: Vec<u64>,
    /// How much each term tells, by bit.
    pub(super) telling: Vec<f32>,
    /// The most that a session's evidence adds, and that with what neighbours add.
    pub(super) reach_of_session: f32,
    pub(super) reach: f32,
    /// Positions decide what matches or what it is worth.
    pub(super) reads_positions: bool,
    /// Whatever holds one of the lists is wanted.
    pub(super) is_any_wanted: bool,
    /// What comes first.
    pub(super) order: Order<'a>,
    /// Threads that share its search.
    threads: usize,
    pub(super) request: &'a SearchRequest,
}

/// One list in one field.
#[derive(Clone)]
pub(super) struct RankedList<'a> {
    pub(super) field: Field,
    pub(super) list: &'a List,
    /// Its number in the plan.
    pub(super) number: usize,
    pub(super) worth: Worth,
}

impl<'a> Ranked<'a> {
    /// Looks up how much each list is worth, and returns this for every archive.
    pub(super) fn of_each(
        corpus: &'a Corpus<'a>,
        plan: &'a Plan,
        numbers: &[u8],
        request: &'a SearchRequest,
    ) -> Result<Vec<Self>> {
        let mut each: Vec<Self> = Vec::with_capacity(corpus.archives.len());
        for (number, dictionaries) in numbers.iter().zip(&corpus.archives) {
            let order = Order::of(dictionaries.snapshot, *number, request)?;
            each.push(match each.first() {
                Some(first) => Self { dictionaries, order, ..first.clone() },
                None => Self::of(corpus, dictionaries, plan, order, request)?,
            });
        }
        // Threads that share out archives share no archive.
        if let [one] = &mut *each {
            one.threads = threads(std::slice::from_ref(one))?;
        }
        Ok(each)
    }

    fn of(
        corpus: &Corpus<'_>,
        dictionaries: &'a Dictionaries<'a>,
        plan: &'a Plan,
        order: Order<'a>,
        request: &'a SearchRequest,
    ) -> Result<Self> {
        let fields: Vec<(Field, f32, Norms)> = plan
            .fields
            .iter()
            .map(|(field, boost)| Ok((*field, *boost, Norms::of(corpus, *field)?)))
            .collect::<Result<_>>()?;
        let mut lists = Vec::new();
        let mut telling = vec![0.0_f32; plan.terms.len()];
        for (number, list) in plan.lists.iter().enumerate() {
            let idf = rarity(corpus, list, &fields)?;
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
                let idf = rarity(corpus, pair.1, &fields)? / 2.0;
                push_fields(&mut pairs, &fields, pair, share * pair.1.weight, idf);
            }
        }
        let mut excluded = Vec::new();
        let each = plan.excluded.iter().enumerate();
        each.for_each(|list| push_fields(&mut excluded, &fields, list, 0.0, 0.0));
        let bonuses = Most::of(&pairs, &lists);
        let all = plan.lists.iter().fold(0, |all, list| all | list.terms);
        let is_any_wanted = plan.lists.iter().all(|list| list.terms != 0)
            && matches!(plan.wanted, Wanted::Leaf(any) if any & all == all);
        let terms = plan.lists.iter().map(|list| list.terms).collect();
        let most = |lists: &[RankedList<'_>]| {
            sum_of_best(lists.iter().map(|list| (Some(list.number), list.worth.score_max()))) * ROUNDED_UP
        };
        let reach_of_session = request.weights.session * most(&lists);
        let reach = reach_of_session + most(&pairs);
        let is_phrase = |list: &List| matches!(list.sought, Sought::Phrase(..));
        let reads_positions = !pairs.is_empty() || plan.lists.iter().chain(&plan.excluded).any(is_phrase);
        Ok(Self {
            dictionaries,
            plan,
            lists,
            pairs,
            bonuses,
            excluded,
            terms,
            telling,
            reach_of_session,
            reach,
            reads_positions,
            is_any_wanted,
            order,
            threads: 1,
            request,
        })
    }

    /// Returns about how many postings a search reads.
    fn postings(&self) -> Result<u64> {
        let mut sum = 0;
        for list in &self.lists {
            let documents = |token: &String| self.dictionaries.documents(list.field, token);
            sum += match &list.list.sought {
                Sought::Token(token) => documents(token)?,
                Sought::Forms(forms) => {
                    let each = forms.tokens.iter().map(|(token, _)| documents(token));
                    each.sum::<Result<u64>>()?
                }
                Sought::Phrase(phrase, _) => {
                    let each = phrase.iter().map(|(_, token)| documents(token));
                    let rarest = each.collect::<Result<Vec<_>>>()?.into_iter().min();
                    rarest.unwrap_or_default() * POSITIONS_COST
                }
                Sought::Sessions(..) | Sought::Pattern(..) => 0,
            };
        }
        Ok(sum)
    }

    /// Returns the terms that no searched field of any document of the archive holds that the request may know of.
    pub(super) fn unknown(&self, filter: &Filter) -> Result<u64> {
        let snapshot = self.dictionaries.snapshot;
        let mut unknown = self.plan.terms.iter().enumerate().fold(0, |all, (at, _)| all | 1 << at);
        for list in self.plan.lists.iter().filter(|list| list.terms != 0) {
            if unknown & list.terms != 0 && is_known(snapshot, filter, list, &self.plan.fields)? {
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

    /// Returns the terms that a document or a session holds with these scores by list.
    #[inline]
    pub(super) fn terms_of(&self, scores: &[f32]) -> u64 {
        let held = self
            .terms
            .iter()
            .zip(scores)
            .map(|(terms, score)| terms & u64::from(*score > 0.0).wrapping_neg());
        held.fold(0, |held, terms| held | terms)
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
fn is_known(snapshot: &Snapshot, filter: &Filter, list: &List, fields: &[(Field, f32)]) -> Result<bool> {
    let fields = fields.iter().map(|(field, _)| *field).filter(|field| list.fields.holds(*field));
    let is_held = |token: &String| any(fields.clone().map(|field| filter.knows_word(snapshot, field, token)));
    match &list.sought {
        Sought::Token(token) => is_held(token),
        Sought::Forms(forms) => any(forms.tokens.iter().map(|(token, _)| is_held(token))),
        Sought::Sessions(_, sessions) => any(sessions.iter().map(|session| filter.knows(snapshot, session))),
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
fn rarity(corpus: &Corpus<'_>, list: &List, fields: &[(Field, f32, Norms)]) -> Result<f32> {
    let documents = corpus.size();
    let most = |tokens: &mut dyn Iterator<Item = &String>| -> Result<u64> {
        let fields: Vec<Field> =
            fields.iter().map(|(field, ..)| *field).filter(|field| list.fields.holds(*field)).collect();
        let mut with = vec![0; fields.len()];
        for token in tokens {
            for (with, field) in with.iter_mut().zip(&fields) {
                *with += corpus.documents(*field, token)?;
            }
        }
        Ok(with.into_iter().max().unwrap_or(0).min(documents))
    };
    let one = |with: u64| idf(documents, with);
    match &list.sought {
        Sought::Token(token) => Ok(one(most(&mut std::iter::once(token))?)),
        // Documents with several forms count several times here, which makes a frequent word more so.
        Sought::Forms(forms) => Ok(one(most(&mut forms.tokens.iter().map(|(token, _)| token))?)),
        Sought::Sessions(_, sessions) => {
            let each = sessions.iter().map(|session| corpus.holders(|_| session.clone()));
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
/// be equal for time to decide. What only marks that a word is there is nothing.
pub(super) fn quantised(score: f32) -> f32 {
    if score < PRESENT_MAX { 0.0 } else { f32::from_bits(score.to_bits() & !0x7FF) }
}

/// What a word counts that counts nothing and is there, and more than all such words together.
pub(super) const PRESENT: f32 = f32::MIN_POSITIVE;
const PRESENT_MAX: f32 = 1e-35;

/// The best documents and how many there are.
pub(super) struct Collected {
    /// Best first.
    pub(super) found: Vec<Found>,
    /// Documents that match and pass the filters, or groups of them.
    pub(super) total: u64,
    /// The documents, where they are grouped.
    pub(super) messages: Option<u64>,
    /// What the sessions of these documents hold.
    pub(super) evidence: Evidence,
    /// The most of the query that one of these documents holds.
    pub(super) coverage: f32,
}

/// What is counted beside the page.
#[derive(Default)]
pub(super) struct Watch {
    /// Hits by attribute.
    pub(super) facets: FacetCounts,
    /// Count all matches, and what leaves them out; asked of searches that found nothing.
    pub(super) diagnoses: bool,
    /// Documents that match, whatever the filters say, if that was asked.
    pub(super) matched: u64,
    /// Matches that each cause leaves out, whatever others do.
    pub(super) left_out: [u64; cause::NAMES.len()],
    /// Hits that belong to the conversation that asks.
    pub(super) current: u64,
}

impl Watch {
    /// Returns the same without counts.
    pub(super) fn emptied(&self) -> Self {
        Self { facets: self.facets.emptied(), diagnoses: self.diagnoses, ..Self::default() }
    }

    /// Takes in the counts of another thread.
    pub(super) fn merge(&mut self, other: Self) {
        self.facets.merge(other.facets);
        self.matched += other.matched;
        self.current += other.current;
        self.left_out.iter_mut().zip(other.left_out).for_each(|(count, more)| *count += more);
    }
}

/// Neighbours of one session, some of which count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) segment: u32,
    pub(super) block: usize,
    pub(super) stretch: Stretch,
    /// How many of its documents count.
    pub(super) counted: u64,
    /// No document of it comes first to more.
    pub(super) bound: Bound,
    /// Where its documents are kept, from and to; `None` where its lists are to be read again.
    pub(super) kept: Option<(u32, u32)>,
}

/// A document that counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighed {
    /// Its place in the block.
    pub(super) at: u16,
    /// Of its words, without neighbours.
    pub(super) score: f32,
    /// The most that neighbours add.
    pub(super) bonus: f32,
    pub(super) terms: u64,
}

/// Collects what is best into `gathered`, and counts into `watch`. Fails at the deadline.
pub(super) fn collect(
    snapshot: &Snapshot,
    ranked: &Ranked<'_>,
    filter: &Filter,
    mut gathered: Gathered<'_>,
    deadline: &Deadline,
    work: &mut Work,
    watch: &mut Watch,
) -> Result<Collected> {
    let segments = 0..snapshot.searcher().segment_readers().len();
    let scans = segments.map(|segment| Scan::of(snapshot, ranked, filter, segment)).collect::<Result<_>>()?;
    let passes = Passes { scans, ranked, deadline, threads: ranked.threads };
    let tally = passes.first(&gathered, watch, work)?;
    let coverage = tally.coverage.best;
    let Tally { total, watch: counted, evidence, mut candidates, kept, .. } = tally;
    *watch = counted;
    for candidate in &mut candidates {
        gathered.count(u64::from(candidate.stretch.session_ord), candidate.counted);
        candidate.bound.add(ranked, &evidence, candidate.stretch.session_ord);
    }
    let mut rest = &mut *candidates;
    let mut size = if ranked.request.prune { BATCH_FIRST } else { rest.len() };
    while !rest.is_empty() {
        let (batch, later) = best_of(rest, size);
        let most = batch.iter().map(|candidate| candidate.bound).max();
        if ranked.request.prune && most.is_none_or(|most| gathered.is_settled(most)) {
            break;
        }
        passes.second(batch, (&evidence, &kept), &mut gathered, work)?;
        (rest, size) = (later, size * BATCH_GROWTH);
    }
    let (found, groups) = gathered.finish();
    let messages = groups.map(|_| total);
    Ok(Collected { found, total: groups.unwrap_or(total), messages, evidence, coverage })
}

/// Both passes over the segments, which several threads share.
struct Passes<'a> {
    /// By segment.
    scans: Vec<Scan<'a>>,
    ranked: &'a Ranked<'a>,
    deadline: &'a Deadline,
    threads: usize,
}

impl Passes<'_> {
    /// Tallies all that matches.
    fn first(&self, gathered: &Gathered<'_>, watch: &Watch, work: &mut Work) -> Result<Tally> {
        let tally = || Tally::new(self.ranked, gathered, watch.emptied());
        let blocks: Vec<usize> = self.scans.iter().map(Scan::blocks).collect();
        let shares = share_out(
            &pieces(&blocks, self.threads),
            self.threads,
            || (tally(), self.window(), Work::default()),
            |piece, (tally, window, work)| {
                work.segments += u64::from(piece.blocks.start == 0);
                let blocks = piece.blocks.clone();
                self.scans[piece.segment].tally(blocks, window, tally, work, || self.check())
            },
        )?;
        let mut all: Option<Tally> = None;
        for (tally, _, of_share) in shares {
            work.add(of_share);
            match &mut all {
                Some(all) => all.merge(tally),
                None => all = Some(tally),
            }
        }
        Ok(all.unwrap_or_else(tally))
    }

    /// Ranks the documents of some candidates.
    fn second(
        &self,
        batch: &mut [Candidate],
        (evidence, kept): (&Evidence, &[Weighed]),
        gathered: &mut Gathered<'_>,
        work: &mut Work,
    ) -> Result<()> {
        batch.sort_unstable_by_key(|candidate| (candidate.segment, candidate.block, candidate.stretch.from));
        let each = if self.threads == 1 { batch.len() } else { batch.len().div_ceil(self.threads * PIECES) };
        let tasks: Vec<&[Candidate]> = batch
            .chunk_by(|a, b| a.segment == b.segment)
            .flat_map(|of_segment| of_segment.chunks(each.max(BATCH_FIRST)))
            .collect();
        let before = &*gathered;
        let shares = share_out(
            &tasks,
            self.threads,
            || (before.emptied(), self.window(), Work::default()),
            |task, (gathered, window, work)| {
                let ranking = Ranking { evidence, kept, before, gathered, work };
                self.scans[task[0].segment as usize].rank(task, window, ranking, || self.check())
            },
        )?;
        for (of_share, _, work_of_share) in shares {
            work.add(work_of_share);
            gathered.merge(of_share);
        }
        Ok(())
    }

    fn window(&self) -> Window {
        Window::new(self.ranked.plan.lists.len(), !self.ranked.excluded.is_empty())
    }

    fn check(&self) -> Result<()> {
        self.deadline.check("it took longer than its deadline", "ask with fewer or rarer words")
    }
}

/// Returns how many threads are worth it to search these archives.
pub(super) fn threads(archives: &[Ranked<'_>]) -> Result<usize> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(SEARCH_THREADS_MAX);
    let postings: u64 = archives.iter().map(Ranked::postings).sum::<Result<_>>()?;
    Ok(if postings < SHARED_POSTINGS_MIN { 1 } else { threads })
}

/// Some blocks of one segment.
#[derive(Debug, PartialEq)]
struct Piece {
    segment: usize,
    blocks: Range<usize>,
}

/// Cuts segments of so many blocks into pieces for some threads: words are not spread evenly, so whoever is
/// done first takes the next.
fn pieces(blocks: &[usize], threads: usize) -> Vec<Piece> {
    let each = match threads {
        1 => usize::MAX,
        _ => blocks.iter().sum::<usize>().div_ceil(threads * PIECES).max(1),
    };
    let of_segment = |(segment, count): (usize, &usize)| {
        let count = *count;
        (0..count)
            .step_by(each)
            .map(move |from| Piece { segment, blocks: from..from.saturating_add(each).min(count) })
    };
    blocks.iter().enumerate().flat_map(of_segment).collect()
}

/// Tasks for each thread. Each opens its lists anew.
const PIECES: usize = 4;

/// Postings that are worth a second thread: reading so many takes ten times as long as starting it.
const SHARED_POSTINGS_MIN: u64 = 50_000;

/// What a document costs whose positions are read, in postings.
const POSITIONS_COST: u64 = 10;

/// Stretches that are ranked first, and how much more in each batch after.
const BATCH_FIRST: usize = 32;
const BATCH_GROWTH: usize = 4;

/// Brings those with the highest bounds to the front. Returns them, and the others.
fn best_of(candidates: &mut [Candidate], count: usize) -> (&mut [Candidate], &mut [Candidate]) {
    if count < candidates.len() {
        candidates.select_nth_unstable_by(count, |a, b| b.bound.cmp(&a.bound));
    }
    candidates.split_at_mut(count.min(candidates.len()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_in_one_piece() {
        for (blocks, threads) in [(vec![], 4), (vec![1, 2], 1), (vec![7, 0, 3], 2), (vec![2, 640], 4)] {
            let pieces = pieces(&blocks, threads);
            let of_piece =
                |piece: &Piece| piece.blocks.clone().map(|block| (piece.segment, block)).collect::<Vec<_>>();
            let all = |(segment, count): (usize, &usize)| (0..*count).map(move |block| (segment, block));
            let expected: Vec<_> = blocks.iter().enumerate().flat_map(all).collect();
            assert_eq!(pieces.iter().flat_map(of_piece).collect::<Vec<_>>(), expected);
            assert!(pieces.len() <= threads * PIECES + blocks.len(), "{blocks:?}");
        }
    }

    #[test]
    fn one_thread_reads_segments_whole() {
        assert_eq!(pieces(&[5], 1), [Piece { segment: 0, blocks: 0..5 }]);
    }
}
