//! Two passes over one segment: one counts and says what its stretches can come to, the other ranks some
//! of them.

use tantivy::{DocId, SegmentReader, TERMINATED};

use crate::error::Result;
use crate::index::{BLOCK_DOCS, Bits, SegmentColumns, Snapshot, Stretch};

use super::collect::{Candidate, Ranked, RankedList, Watch, quantised, sum_of_best};
use super::dictionaries::Dictionaries;
use super::evidence::Evidence;
use super::explain::Work;
use super::facets::SegmentFacets;
use super::filter::{Filter, SegmentFilter, cause};
use super::gather::{Bound, Found, Gathered};
use super::lists::{Cursor, Slot};
use super::window::Window;

/// What the first pass adds up over all segments.
pub(super) struct Tally<'a> {
    pub(super) gathered: Gathered<'a>,
    pub(super) total: u64,
    pub(super) matched: u64,
    pub(super) watch: &'a mut Watch,
    pub(super) evidence: Evidence,
    pub(super) coverage: Coverage,
    pub(super) candidates: Vec<Candidate>,
    /// The best scores of one stretch, by list.
    best: Vec<f32>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(ranked: &Ranked<'_>, gathered: Gathered<'a>, watch: &'a mut Watch) -> Self {
        let lists = ranked.plan.lists.len();
        Self {
            gathered,
            total: 0,
            matched: 0,
            watch,
            evidence: Evidence::new(lists),
            coverage: Coverage::default(),
            candidates: Vec::new(),
            best: vec![0.0; lists],
        }
    }
}

/// The most of the query that one document holds.
#[derive(Default)]
pub(super) struct Coverage {
    pub(super) best: f32,
    /// Terms of the document that holds it.
    of: u64,
    last: u64,
}

impl Coverage {
    /// Takes in a document's terms.
    #[inline]
    pub(super) fn add(&mut self, terms: u64, ranked: &Ranked<'_>) {
        // Fewer of the same terms hold less, and neighbours often hold the same.
        if terms == self.last || terms & !self.of == 0 {
            return;
        }
        self.last = terms;
        let coverage = ranked.coverage(terms);
        if coverage > self.best || self.of == 0 {
            (self.best, self.of) = (coverage, terms);
        }
    }
}

/// One segment, as a search reads it.
pub(super) struct Scan<'a> {
    segment: &'a SegmentReader,
    ranked: &'a Ranked<'a>,
    filter: SegmentFilter<'a>,
    columns: &'a SegmentColumns,
    ord: u32,
    /// What neighbouring words can add to a document, by the terms that it holds.
    bonuses: Bonuses,
}

impl<'a> Scan<'a> {
    pub(super) fn of(
        snapshot: &'a Snapshot,
        ranked: &'a Ranked<'a>,
        filter: &'a Filter,
        ord: usize,
    ) -> Result<Self> {
        let (segment, columns) = (&snapshot.searcher().segment_readers()[ord], snapshot.columns(ord)?);
        Ok(Self {
            segment,
            ranked,
            filter: SegmentFilter::of(filter, segment, columns)?,
            columns,
            ord: u32::try_from(ord).expect("tantivy numbers segments in 32 bits"),
            bonuses: Bonuses::of(ranked),
        })
    }

    /// Counts every match, and keeps the stretches that hold some.
    pub(super) fn tally(
        &mut self,
        window: &mut Window,
        tally: &mut Tally<'_>,
        work: &mut Work,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let mut facets = tally.watch.facets.segment(self.segment, self.columns)?;
        let mut lists = self.open(&self.ranked.lists, true, Cursor::walk)?;
        let mut excluded = self.open(&self.ranked.excluded, false, Cursor::walk)?;
        loop {
            let first = self.next_candidate(&lists);
            if first == TERMINATED {
                break;
            }
            check()?;
            let number = first as usize / BLOCK_DOCS;
            let base = first - first % BLOCK;
            fill(window, (base, base.saturating_add(BLOCK).min(TERMINATED)), &mut lists, &mut excluded, work);
            self.tally_block(number, window, tally, facets.as_mut());
        }
        if let Some(facets) = facets {
            tally.watch.facets.end(facets)?;
        }
        Ok(())
    }

    /// Returns the first document that can still match: one that no list has passed, nor any of what
    /// is necessary.
    fn next_candidate(&self, lists: &[Cursor]) -> DocId {
        let next = |lists: &mut dyn Iterator<Item = &Cursor>| lists.map(Cursor::doc).min();
        let required = self.ranked.plan.necessary.iter().map(|required| {
            next(&mut lists.iter().filter(|list| list.slot().terms & required != 0)).unwrap_or(TERMINATED)
        });
        let first = next(&mut lists.iter()).unwrap_or(TERMINATED);
        if self.ranked.request.prune { required.fold(first, DocId::max) } else { first }
    }

    /// Returns the live documents of a window that are what is wanted.
    fn matching(&self, number: usize, window: &Window) -> Bits {
        let mut matching = window.matched().and(&self.filter.block(number).alive);
        if self.ranked.is_any_wanted {
            return matching;
        }
        let mut last = (0, false);
        let all = matching;
        all.each(|at| {
            let terms = self.ranked.terms_of(window.scores(at)) | window.unscored(at);
            if terms != last.0 {
                last = (terms, self.ranked.plan.wanted.holds(terms));
            }
            if !last.1 {
                matching.remove(at);
            }
        });
        matching
    }

    fn tally_block(
        &mut self,
        number: usize,
        window: &Window,
        tally: &mut Tally<'_>,
        mut facets: Option<&mut SegmentFacets<'_>>,
    ) {
        let matching = self.matching(number, window);
        tally.matched += matching.count();
        let passing = self.filter.passing(number, &matching);
        let unchanged = self.filter.unchanged(number, &passing);
        let mut counted = Bits::NONE;
        for stretch in &self.filter.block(number).stretches {
            let (from, to) = (usize::from(stretch.from), usize::from(stretch.to));
            if !passing.any_within(from, to) {
                continue;
            }
            let causes = self.filter.session_causes(u64::from(stretch.session_ord));
            if causes != 0 {
                // It would count, and belongs to the conversation that asks.
                let is_current = causes == cause::CURRENT_SESSION;
                tally.watch.current += if is_current { passing.within(from, to).count() } else { 0 };
                continue;
            }
            counted = counted.or(&unchanged.within(from, to));
            self.tally_stretch(number, *stretch, (&passing, &unchanged), window, tally);
        }
        tally.total += counted.count();
        if let Some(facets) = &mut facets {
            counted.each(|at| facets.count(doc_at(number, at), &mut tally.watch.facets));
        }
        if tally.watch.diagnoses {
            matching.without(&counted).each(|at| {
                let causes = self.filter.causes(doc_at(number, at));
                for (bit, count) in tally.watch.left_out.iter_mut().enumerate() {
                    *count += u64::from(causes >> bit & 1);
                }
            });
        }
    }

    /// Takes in what a stretch's session holds. What changed is part of that: others keep their scores from
    /// one page to the next.
    fn tally_stretch(
        &mut self,
        number: usize,
        stretch: Stretch,
        (passing, unchanged): (&Bits, &Bits),
        window: &Window,
        tally: &mut Tally<'_>,
    ) {
        let ranked = self.ranked;
        let (from, to) = (usize::from(stretch.from), usize::from(stretch.to));
        let Tally { best, coverage, .. } = tally;
        best.fill(0.0);
        let (mut most, mut counted, mut some_ordinary) = (0.0_f32, 0, false);
        let ordinary = ranked.order.ordinary(self.filter.block(number), stretch);
        passing.each_within(from, to, |at| {
            let scores = window.scores(at);
            for (best, score) in best.iter_mut().zip(scores) {
                *best = best.max(*score);
            }
            if !unchanged.has(at) {
                return;
            }
            counted += 1;
            some_ordinary |= ordinary.has(at);
            let terms = ranked.terms_of(scores);
            coverage.add(terms, ranked);
            most = most.max(scores.iter().sum::<f32>() + self.bonuses.most(ranked, terms));
        });
        let session_ord = u64::from(stretch.session_ord);
        tally.evidence.add(session_ord, best);
        if counted == 0 || !tally.gathered.keeps() {
            return;
        }
        tally.gathered.count(session_ord, counted);
        let when = ranked.order.latest(|| {
            self.filter.block(number).times(self.segment, self.columns, number)
        });
        tally.candidates.push(Candidate {
            segment: self.ord,
            block: number,
            from: stretch.from,
            to: stretch.to,
            session_ord: stretch.session_ord,
            bound: Bound { ordinary: some_ordinary, score: most, when },
        });
    }

    /// Ranks the documents of some stretches, in order.
    pub(super) fn rank(
        &mut self,
        candidates: &[Candidate],
        window: &mut Window,
        evidence: &Evidence,
        gathered: &mut Gathered<'_>,
        work: &mut Work,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let mut lists = self.open(&self.ranked.lists, true, Cursor::walk)?;
        let mut excluded = self.open(&self.ranked.excluded, false, Cursor::walk)?;
        let mut pairs = self.open(&self.ranked.pairs, true, Cursor::check)?;
        for candidate in candidates {
            check()?;
            let (from, to) = (usize::from(candidate.from), usize::from(candidate.to));
            let reach = (doc_at(candidate.block, from), doc_at(candidate.block, to));
            fill(window, reach, &mut lists, &mut excluded, work);
            let matching = self.matching(candidate.block, window);
            let counted = self.filter.unchanged(candidate.block, &self.filter.passing(candidate.block, &matching));
            let of_session = self.ranked.of_session(evidence.of(u64::from(candidate.session_ord)));
            counted.each_within(from, to, |at| {
                let scores = window.scores(at);
                self.rank_document(candidate, at, scores, of_session, &mut pairs, gathered, work);
            });
        }
        Ok(())
    }

    /// Keeps a document that counts if it is among the best.
    #[expect(clippy::too_many_arguments, reason = "what a document is ranked by")]
    fn rank_document(
        &mut self,
        candidate: &Candidate,
        at: usize,
        scores: &[f32],
        of_session: f32,
        pairs: &mut [Cursor],
        gathered: &mut Gathered<'_>,
        work: &mut Work,
    ) {
        let (ranked, columns) = (self.ranked, self.columns);
        let doc = doc_at(candidate.block, at);
        let session_ord = u64::from(candidate.session_ord);
        let mut standing = (true, 0.0);
        if ranked.order.by_score() {
            let (score, terms) = (scores.iter().sum::<f32>(), ranked.terms_of(scores));
            let stretch =
                Stretch { from: candidate.from, to: candidate.to, session_ord: candidate.session_ord };
            let is_ordinary = ranked.order.ordinary(self.filter.block(candidate.block), stretch).has(at);
            // Quantised as the keys are that it is compared with; that never turns an order around.
            let with = |bonus: f32| quantised(score + bonus + of_session);
            let least = (is_ordinary, with(0.0));
            let most = (is_ordinary, with(self.bonuses.most(ranked, terms)));
            if ranked.request.prune && gathered.is_idle(session_ord, least, most) {
                return;
            }
            standing = (is_ordinary, with(bonus(pairs, doc, terms, work)));
        }
        let key = ranked.order.key(columns, doc, standing);
        let (id, is_session) = (columns.id.get_val(doc), key.is_session);
        gathered.offer(Found { key, segment: self.ord, doc, id, session_ord, is_session, more: None });
    }

    fn open(
        &self,
        lists: &[RankedList<'_>],
        adds: bool,
        open: impl Fn(&Dictionaries<'_>, usize, &RankedList<'_>, Slot) -> Result<Option<Cursor>>,
    ) -> Result<Vec<Cursor>> {
        let mut cursors = Vec::with_capacity(lists.len());
        for ranked in lists {
            let slot = Slot { list: adds.then_some(ranked.number), terms: ranked.list.terms };
            cursors.extend(open(self.ranked.dictionaries, self.ord as usize, ranked, slot)?);
        }
        Ok(cursors)
    }
}

/// [`BLOCK_DOCS`], as documents are numbered.
const BLOCK: DocId = 4_096;

fn doc_at(number: usize, at: usize) -> DocId {
    DocId::try_from(number * BLOCK_DOCS + at).expect("a document of a segment")
}

/// Moves a window to some documents of a block and adds what every list says of them.
fn fill(
    window: &mut Window,
    (from, to): (DocId, DocId),
    lists: &mut [Cursor],
    excluded: &mut [Cursor],
    work: &mut Work,
) {
    window.move_to(from, to);
    for list in lists.iter_mut().chain(excluded) {
        list.skip_to(from);
        work.postings += list.add_to(window);
    }
}

/// The most that neighbouring words can add to a document, by the terms that it holds.
struct Bonuses {
    last: (u64, f32),
    none: bool,
}

impl Bonuses {
    fn of(ranked: &Ranked<'_>) -> Self {
        Self { last: (0, 0.0), none: ranked.pairs.is_empty() }
    }

    /// Rounded up, as the parts may be summed in another order.
    #[inline]
    fn most(&mut self, ranked: &Ranked<'_>, terms: u64) -> f32 {
        if self.none {
            return 0.0;
        }
        if terms != self.last.0 {
            let possible = ranked.pairs.iter().filter(|pair| pair.list.terms & !terms == 0);
            let most = sum_of_best(possible.map(|pair| (Some(pair.number), pair.worth.score_max())));
            self.last = (terms, most * 1.000_1);
        }
        self.last.1
    }
}

fn bonus(pairs: &mut [Cursor], doc: DocId, terms: u64, work: &mut Work) -> f32 {
    let possible = pairs.iter_mut().filter(|pair| pair.slot().terms & !terms == 0);
    sum_of_best(possible.map(|pair| {
        work.phrase_checks += 1;
        (pair.slot().list, pair.at(doc).map_or(0.0, |(_, _, score)| score))
    }))
}
