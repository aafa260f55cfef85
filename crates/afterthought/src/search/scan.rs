//! Two passes over one segment: one counts and says what its stretches can come to, the other ranks some
//! of them.

use std::ops::Range;

use tantivy::{DocId, SegmentReader, TERMINATED};

use crate::error::Result;
use crate::index::{BLOCK_DOCS, Bits, Block, SegmentColumns, Snapshot, Stretch};
use crate::limits::KEPT_DOCS_MAX;

use super::collect::{Candidate, Ranked, RankedList, Watch, Weighed, quantised, sum_of_best};
use super::evidence::Evidence;
use super::explain::Work;
use super::facets::SegmentFacets;
use super::filter::{Filter, SegmentFilter, cause};
use super::floor::Floor;
use super::gather::{Bound, Found, Gathered};
use super::lists::{Cursor, Slot};
use super::neighbours;
use super::window::Window;

/// What the first pass adds up over some segments.
pub(super) struct Tally {
    pub(super) total: u64,
    pub(super) watch: Watch,
    pub(super) evidence: Evidence,
    pub(super) coverage: Coverage,
    pub(super) candidates: Vec<Candidate>,
    /// Documents of the candidates, where positions are read: reading their lists again would cost more. At
    /// most [`KEPT_DOCS_MAX`] of each thread.
    pub(super) kept: Vec<Weighed>,
    /// Whether anything is to be ranked.
    ranks: bool,
    floor: Floor,
    /// The best scores of one stretch, by list.
    best: Vec<f32>,
}

impl Tally {
    pub(super) fn new(ranked: &Ranked<'_>, gathered: &Gathered<'_>, watch: Watch) -> Self {
        let lists = ranked.plan.lists.len();
        let counts = if ranked.request.prune && ranked.order.by_score() { gathered.documents() } else { 0 };
        Self {
            total: 0,
            watch,
            evidence: Evidence::new(lists),
            coverage: Coverage::default(),
            candidates: Vec::new(),
            kept: Vec::new(),
            ranks: gathered.keeps(),
            floor: Floor::of(counts),
            best: vec![0.0; lists],
        }
    }

    /// Takes in what another thread found.
    pub(super) fn merge(&mut self, other: Self) {
        self.total += other.total;
        self.watch.merge(other.watch);
        self.evidence.merge(&other.evidence);
        self.coverage.best = self.coverage.best.max(other.coverage.best);
        let behind = range(self.kept.len());
        self.kept.extend(other.kept);
        self.candidates.extend(other.candidates.into_iter().map(|candidate| Candidate {
            kept: candidate.kept.map(|(from, to)| (from + behind, to + behind)),
            ..candidate
        }));
    }
}

fn range(docs: usize) -> u32 {
    u32::try_from(docs).expect("fewer are kept")
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
    /// Tells whether no document with some of these terms holds more.
    fn knows(&self, terms: u64) -> bool {
        terms & !self.of == 0
    }

    /// Takes in a document's terms.
    #[inline]
    pub(super) fn add(&mut self, terms: u64, ranked: &Ranked<'_>) {
        // Fewer of the same terms hold less, and neighbours often hold the same.
        if terms == self.last || self.knows(terms) {
            return;
        }
        self.last = terms;
        let coverage = ranked.coverage(terms);
        if coverage > self.best || self.of == 0 {
            (self.best, self.of) = (coverage, terms);
        }
    }
}

/// What the second pass goes by, and what it fills.
pub(super) struct Ranking<'r, 'a> {
    pub(super) evidence: &'r Evidence,
    pub(super) kept: &'r [Weighed],
    /// What earlier batches found.
    pub(super) before: &'r Gathered<'a>,
    pub(super) gathered: &'r mut Gathered<'a>,
    pub(super) work: &'r mut Work,
}

/// One segment, as a search reads it.
pub(super) struct Scan<'a> {
    segment: &'a SegmentReader,
    ranked: &'a Ranked<'a>,
    filter: SegmentFilter<'a>,
    columns: &'a SegmentColumns,
    ord: u32,
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
        })
    }

    /// Returns how many blocks of documents it has.
    pub(super) fn blocks(&self) -> usize {
        (self.segment.max_doc() as usize).div_ceil(BLOCK_DOCS)
    }

    /// Counts every match in some blocks, and keeps the stretches that hold some.
    pub(super) fn tally(
        &self,
        blocks: Range<usize>,
        window: &mut Window,
        tally: &mut Tally,
        work: &mut Work,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let mut facets = tally.watch.facets.segment(self.segment, self.columns)?;
        let mut lists = self.open_lists()?;
        let (from, behind) = (first_of(blocks.start), first_of(blocks.end));
        lists.scored.iter_mut().for_each(|list| list.skip_to(from));
        loop {
            let first = self.next_candidate(&lists.scored);
            if first >= behind {
                break;
            }
            check()?;
            let number = first as usize / BLOCK_DOCS;
            let end = first_of(number + 1);
            window.move_to(number, end, &self.open_to(number, &tally.watch));
            lists.fill(window, first, work);
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

    /// Returns the documents of a block whose positions can matter: those that can count, or all where every
    /// match is asked for.
    fn open_to(&self, number: usize, watch: &Watch) -> Bits {
        let block = self.filter.block(number);
        match (self.ranked.reads_positions, watch.diagnoses) {
            (false, _) => Bits::NONE,
            (true, true) => block.alive,
            (true, false) => self.filter.passing(number, &block.alive),
        }
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
        &self,
        number: usize,
        window: &Window,
        tally: &mut Tally,
        mut facets: Option<&mut SegmentFacets<'_>>,
    ) {
        let matching = self.matching(number, window);
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
                tally.watch.current += if is_current { passing.count_within(from, to) } else { 0 };
                continue;
            }
            counted.insert_within(&unchanged, from, to);
            self.tally_stretch(number, *stretch, (&passing, &unchanged), window, tally);
        }
        tally.total += counted.count();
        if let Some(facets) = &mut facets {
            counted.each(|at| facets.count(doc_at(number, at), &mut tally.watch.facets));
        }
        if tally.watch.diagnoses {
            let matching = self.filter.known(number, &matching);
            tally.watch.matched += matching.count();
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
        &self,
        number: usize,
        stretch: Stretch,
        (passing, unchanged): (&Bits, &Bits),
        window: &Window,
        tally: &mut Tally,
    ) {
        let (from, to) = (usize::from(stretch.from), usize::from(stretch.to));
        best_of(window, passing, stretch, &mut tally.best);
        let session_ord = u64::from(stretch.session_ord);
        tally.evidence.add(session_ord, &tally.best);
        let counted = unchanged.count_within(from, to);
        if counted == 0 || !tally.ranks {
            return;
        }
        let first_kept = tally.kept.len();
        let keeps = self.ranked.reads_positions && first_kept < KEPT_DOCS_MAX;
        let (order, block) = (&self.ranked.order, self.filter.block(number));
        let Some(most) = self.weigh_stretch(block, stretch, unchanged, window, keeps, tally) else { return };
        let when = order.latest(|| block.times(self.segment, self.columns, number));
        tally.candidates.push(Candidate {
            segment: self.ord,
            block: number,
            stretch,
            counted,
            bound: Bound { ordinary: order.some_ordinary(block, stretch, unchanged), score: most, when },
            kept: keeps.then(|| (range(first_kept), range(tally.kept.len()))),
        });
    }

    /// Returns the most that a document of a stretch comes to without its session; `None` if all of them
    /// surely come to less than the page's last hit.
    fn weigh_stretch(
        &self,
        block: &Block,
        stretch: Stretch,
        unchanged: &Bits,
        window: &Window,
        keeps: bool,
        tally: &mut Tally,
    ) -> Option<f32> {
        let Tally { best, coverage, floor, kept, evidence, .. } = tally;
        let (ranked, least) = (self.ranked, floor.least);
        let is_known = coverage.knows(ranked.terms_of(best));
        if is_known && best.iter().sum::<f32>() + ranked.reach < least {
            return None;
        }
        let (mut top, mut most) = (0.0_f32, None);
        unchanged.each_within(usize::from(stretch.from), usize::from(stretch.to), |at| {
            let scores = window.scores(at);
            let score: f32 = scores.iter().sum();
            top = larger(top, score);
            if !is_known {
                coverage.add(ranked.terms_of(scores), ranked);
            }
            if score + ranked.reach < least {
                return;
            }
            let weighed = self.weigh(at, scores);
            let can = weighed.score + weighed.bonus;
            if can + ranked.reach_of_session < least {
                return;
            }
            most = Some(most.map_or(can, |most| larger(most, can)));
            if keeps {
                kept.push(weighed);
            }
        });
        if ranked.order.is_all_ordinary(block, stretch) {
            let of_session = ranked.of_session(evidence.of(u64::from(stretch.session_ord)));
            floor.raise(quantised(top + of_session));
        }
        most
    }

    /// Ranks the documents of some stretches, in order.
    pub(super) fn rank(
        &self,
        candidates: &[Candidate],
        window: &mut Window,
        mut ranking: Ranking<'_, '_>,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let is_kept = candidates.iter().all(|candidate| candidate.kept.is_some());
        let mut lists = if is_kept { None } else { Some(self.open_lists()?) };
        let mut pairs = self.open(&self.ranked.pairs, true)?;
        let mut again = Vec::new();
        for candidate in candidates {
            check()?;
            let stretch = candidate.stretch;
            let block = self.filter.block(candidate.block);
            let of_session = self.ranked.of_session(ranking.evidence.of(u64::from(stretch.session_ord)));
            let documents = if let Some((from, to)) = candidate.kept {
                &ranking.kept[from as usize..to as usize]
            } else if let Some(lists) = &mut lists {
                let (from, to) = (usize::from(stretch.from), usize::from(stretch.to));
                let first = doc_at(candidate.block, from);
                let open = self.filter.passing(candidate.block, &block.alive);
                window.move_to(candidate.block, doc_at(candidate.block, to), &open);
                lists.fill(window, first, ranking.work);
                self.weigh_again(candidate, window, &mut again);
                &again
            } else {
                continue;
            };
            for weighed in documents {
                let is_ordinary = self.ranked.order.is_ordinary(block, stretch, usize::from(weighed.at));
                let of_stretch = (is_ordinary, of_session);
                self.rank_document(candidate, *weighed, of_stretch, &mut pairs, &mut ranking);
            }
        }
        Ok(())
    }

    /// Weighs the documents of a stretch that were not kept.
    fn weigh_again(&self, candidate: &Candidate, window: &Window, documents: &mut Vec<Weighed>) {
        let (block, stretch) = (candidate.block, candidate.stretch);
        let passing = self.filter.passing(block, &self.matching(block, window));
        documents.clear();
        let (from, to) = (usize::from(stretch.from), usize::from(stretch.to));
        self.filter.unchanged(block, &passing).each_within(from, to, |at| {
            documents.push(self.weigh(at, window.scores(at)));
        });
    }

    /// Weighs a document by its words' scores.
    #[inline]
    fn weigh(&self, at: usize, scores: &[f32]) -> Weighed {
        let terms = self.ranked.terms_of(scores);
        let bonus = neighbours::most(&self.ranked.bonuses, scores, terms);
        Weighed { at: place(at), score: scores.iter().sum(), bonus, terms }
    }

    /// Keeps a document that counts if it is among the best.
    fn rank_document(
        &self,
        candidate: &Candidate,
        weighed: Weighed,
        (is_ordinary, of_session): (bool, f32),
        pairs: &mut [Cursor],
        ranking: &mut Ranking<'_, '_>,
    ) {
        let (ranked, columns) = (self.ranked, self.columns);
        let doc = doc_at(candidate.block, usize::from(weighed.at));
        let session_ord = u64::from(candidate.stretch.session_ord);
        let mut standing = (true, 0.0);
        if ranked.order.by_score() {
            // Quantised as the keys are that it is compared with; that never turns an order around.
            let with = |bonus: f32| quantised(weighed.score + bonus + of_session);
            let (least, most) = ((is_ordinary, with(0.0)), (is_ordinary, with(weighed.bonus)));
            let is_idle = |gathered: &Gathered<'_>| gathered.is_idle(session_ord, least, most);
            if ranked.request.prune && (is_idle(ranking.before) || is_idle(ranking.gathered)) {
                return;
            }
            standing = (is_ordinary, with(bonus(pairs, doc, weighed.terms, ranking.work)));
        }
        let key = ranked.order.key(columns, doc, standing);
        let (id, is_session) = (columns.id.get_val(doc), key.is_session);
        let found = Found { key, segment: self.ord, doc, id, session_ord, is_session, more: None };
        ranking.gathered.offer(found);
    }

    fn open_lists(&self) -> Result<Lists> {
        let mut lists = self.open(&self.ranked.lists, true)?;
        let excluded = self.open(&self.ranked.excluded, false)?;
        let cost = |terms: &u64| {
            lists.iter().filter(|list| list.slot().terms & terms != 0).map(Cursor::cost).sum::<u64>()
        };
        let rarest = self.ranked.plan.necessary.iter().copied().min_by_key(cost);
        let rarest = rarest.filter(|_| self.ranked.request.prune && self.ranked.plan.demands);
        let is_required = |list: &Cursor| rarest.is_some_and(|terms| list.slot().terms & terms != 0);
        lists.sort_by_key(|list| !is_required(list));
        let required = lists.iter().filter(|list| is_required(list)).count();
        Ok(Lists { scored: lists, required, excluded })
    }

    fn open(&self, lists: &[RankedList<'_>], adds: bool) -> Result<Vec<Cursor>> {
        let mut cursors = Vec::with_capacity(lists.len());
        for ranked in lists {
            let slot = Slot { list: adds.then_some(ranked.number), terms: ranked.list.terms };
            cursors.extend(Cursor::open(self.ranked.dictionaries, self.ord as usize, ranked, slot)?);
        }
        Ok(cursors)
    }
}

/// Writes the best score of every list over some documents of a stretch.
fn best_of(window: &Window, documents: &Bits, stretch: Stretch, best: &mut [f32]) {
    let (from, to) = (usize::from(stretch.from), usize::from(stretch.to));
    best.fill(0.0);
    if let [best] = best {
        // In a register, as it is asked again and again.
        let mut most = 0.0_f32;
        documents.each_within(from, to, |at| most = larger(most, window.scores(at)[0]));
        *best = most;
        return;
    }
    documents.each_within(from, to, |at| {
        for (best, score) in best.iter_mut().zip(window.scores(at)) {
            *best = larger(*best, *score);
        }
    });
}

/// The larger of two numbers: [`f32::max`] also looks for what is none.
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

fn place(at: usize) -> u16 {
    u16::try_from(at).expect("a place in a block")
}

/// Returns the first document of a block; the end of all where there is none.
fn first_of(number: usize) -> DocId {
    DocId::try_from(number * BLOCK_DOCS).map_or(TERMINATED, |doc| doc.min(TERMINATED))
}

fn doc_at(number: usize, at: usize) -> DocId {
    DocId::try_from(number * BLOCK_DOCS + at).expect("a document of a segment")
}

/// The open lists of a segment: the first ones are those of which every match holds one.
struct Lists {
    scored: Vec<Cursor>,
    required: usize,
    excluded: Vec<Cursor>,
}

/// Documents that other lists are asked for one by one; of more, reading on is cheaper.
const FEW_DOCS: u64 = 64;

impl Lists {
    /// Adds what every list says of the documents of a window, which begins at `from`.
    fn fill(&mut self, window: &mut Window, from: DocId, work: &mut Work) {
        let (required, others) = self.scored.split_at_mut(self.required);
        let mut read = |list: &mut Cursor, window: &mut Window| {
            list.skip_to(from);
            work.postings += list.add_to(window);
        };
        for list in &mut *required {
            read(list, window);
        }
        let others = others.iter_mut().chain(&mut self.excluded);
        if required.is_empty() || window.matched().count() > FEW_DOCS {
            for list in others {
                read(list, window);
            }
            return;
        }
        let some = *window.matched();
        for list in others {
            work.postings += list.add_some(&some, window);
        }
    }
}

fn bonus(pairs: &mut [Cursor], doc: DocId, terms: u64, work: &mut Work) -> f32 {
    let possible = pairs.iter_mut().filter(|pair| pair.slot().terms & !terms == 0);
    sum_of_best(possible.map(|pair| {
        work.phrase_checks += 1;
        (pair.slot().list, pair.at(doc).map_or(0.0, |(_, _, score)| score))
    }))
}
