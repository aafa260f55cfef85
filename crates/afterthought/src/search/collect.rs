//! Finds the best documents of a snapshot, exactly, with an exact total.
//!
//! Every posting of a query's words is visited once, in windows of documents: the total needs
//! that anyway. Windows that lack something required are passed over. What is left out where it cannot change the page is the costly part, the check of
//! positions for neighbouring words: a document whose score would not enter the page even with
//! every bonus it could get is not checked. So the page equals the exhaustive one by construction.

use std::time::Instant;

use tantivy::schema::Field as TantivyField;
use tantivy::{DocId, SegmentReader, TERMINATED, Term as TantivyTerm};

use crate::error::{Error, ErrorKind, Result};
use crate::index::{SegmentColumns, Snapshot, failed};
use crate::model::Field;

use super::explain::Work;
use super::filter::{Filter, SegmentFilter};
use super::gather::{Found, Gathered};
use super::lists::{Cursor, Norms, Window, Worth, idf};
use super::order::Order;
use super::plan::{List, Plan, Sought};

/// The lists of a plan with their worth, for every segment alike.
pub(super) struct Ranked<'a> {
    pub(super) plan: &'a Plan,
    /// In plan order, then field order: scores are summed in this order everywhere.
    pub(super) lists: Vec<RankedList<'a>>,
    pub(super) pairs: Vec<RankedList<'a>>,
    excluded: Vec<RankedList<'a>>,
    /// Terms that no searched field holds.
    pub(super) unknown: u64,
    /// What comes first.
    pub(super) order: Order<'a>,
    /// Exhaustive work, to compare with.
    pub(super) prune: bool,
}

/// One list in one field.
pub(super) struct RankedList<'a> {
    pub(super) field: Field,
    pub(super) list: &'a List,
    pub(super) worth: Worth,
}

impl<'a> Ranked<'a> {
    /// Looks up how much each list is worth in this snapshot.
    pub(super) fn of(snapshot: &Snapshot, plan: &'a Plan, order: Order<'a>, prune: bool) -> Result<Self> {
        let fields: Vec<(Field, f32, Norms)> = plan
            .fields
            .iter()
            .map(|(field, boost)| Ok((*field, *boost, Norms::of(snapshot, *field)?)))
            .collect::<Result<_>>()?;
        let mut known = 0;
        let mut lists = Vec::new();
        for list in &plan.lists {
            let rarity = rarity(snapshot, list, &fields)?;
            if rarity.known {
                known |= list.terms;
            }
            push_fields(&mut lists, &fields, list, 1.0, rarity.idf);
        }
        let mut pairs = Vec::new();
        // However many words a query has, all of them side by side are worth one phrase boost.
        #[expect(clippy::cast_precision_loss, reason = "at most a few dozen")]
        let share = plan.phrase_boost / plan.pairs.len().max(1) as f32;
        if share > 0.0 {
            for pair in &plan.pairs {
                // A phrase is worth the mean of its words, not their sum: boosts then compare.
                let idf = rarity(snapshot, pair, &fields)?.idf / 2.0;
                push_fields(&mut pairs, &fields, pair, share, idf);
            }
        }
        let mut excluded = Vec::new();
        plan.excluded.iter().for_each(|list| push_fields(&mut excluded, &fields, list, 0.0, 0.0));
        let all = plan.terms.iter().enumerate().fold(0, |all, (at, _)| all | 1 << at);
        Ok(Self { plan, lists, pairs, excluded, unknown: all & !known, order, prune })
    }
}

fn push_fields<'a>(
    ranked: &mut Vec<RankedList<'a>>,
    fields: &[(Field, f32, Norms)],
    list: &'a List,
    factor: f32,
    idf: f32,
) {
    for (field, boost, norms) in fields.iter().filter(|(field, ..)| list.fields.holds(*field)) {
        let worth = Worth { boost: boost * factor, idf, norms: norms.clone() };
        ranked.push(RankedList { field: *field, list, worth });
    }
}

struct Rarity {
    idf: f32,
    known: bool,
}

/// A word is as rare as it is in the field that holds it most: rare titles do not make it rare.
/// A phrase tells as much as its words together.
fn rarity(snapshot: &Snapshot, list: &List, fields: &[(Field, f32, Norms)]) -> Result<Rarity> {
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
    let one = |with: u64| Rarity { idf: idf(documents, with), known: with > 0 };
    match &list.sought {
        Sought::Token(token) => Ok(one(most(&mut std::iter::once(token))?)),
        // Documents with several forms count several times here, which makes a frequent word more so.
        Sought::Forms(forms) => Ok(one(most(&mut forms.forms.iter().map(|(token, _)| token))?)),
        Sought::Pattern(..) => Ok(one(0)),
        Sought::Phrase(phrase, _) => {
            let mut rarity = Rarity { idf: 0.0, known: true };
            for (_, token) in phrase {
                let word = one(most(&mut std::iter::once(token))?);
                rarity.idf += word.idf;
                rarity.known &= word.known;
            }
            Ok(rarity)
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

/// What a pass adds up.
struct Tally<'a> {
    gathered: Gathered<'a>,
    total: u64,
    matched: u64,
}

/// Collects what is best into `gathered`. Fails at the deadline.
pub(super) fn collect<'a>(
    snapshot: &'a Snapshot,
    ranked: &Ranked<'_>,
    filter: &Filter,
    gathered: Gathered<'a>,
    deadline: Instant,
    work: &mut Work,
) -> Result<Collected> {
    let mut tally = Tally { gathered, total: 0, matched: 0 };
    let mut window = Window::new();
    for (ord, segment) in snapshot.searcher().segment_readers().iter().enumerate() {
        let columns = snapshot.columns(ord)?;
        let mut scan = Scan {
            ranked,
            filter: SegmentFilter::of(filter, segment, columns)?,
            columns,
            ord: u32::try_from(ord).expect("tantivy numbers segments in 32 bits"),
            lists: open_lists(snapshot, segment, &ranked.lists, Cursor::walk)?,
            pairs: open_lists(snapshot, segment, &ranked.pairs, Cursor::check)?,
            excluded: open_lists(snapshot, segment, &ranked.excluded, Cursor::walk)?,
        };
        while scan.next_window(&mut window, &mut tally, work) {
            if Instant::now() > deadline {
                return Err(Error::new(ErrorKind::Timeout, "search", "the index")
                    .because("it took longer than its deadline")
                    .hint("ask with fewer or rarer words"));
            }
        }
        work.segments += 1;
    }
    let (found, groups) = tally.gathered.finish();
    let messages = groups.map(|_| tally.total);
    Ok(Collected { found, total: groups.unwrap_or(tally.total), messages, matched: tally.matched })
}

/// One pass over one segment.
struct Scan<'a> {
    ranked: &'a Ranked<'a>,
    filter: SegmentFilter<'a>,
    columns: &'a SegmentColumns,
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
        window.drain(|doc, score, terms| self.judge(doc, score, terms, tally, work));
        true
    }

    /// Returns the first document that can still match: one that no list has passed, nor any of what
    /// is necessary.
    fn next_candidate(&self) -> DocId {
        let next = |lists: &mut dyn Iterator<Item = &Cursor>| lists.map(Cursor::doc).min();
        let required = self.ranked.plan.necessary.iter().map(|required| {
            next(&mut self.lists.iter().filter(|list| list.terms() & required != 0)).unwrap_or(TERMINATED)
        });
        let first = next(&mut self.lists.iter()).unwrap_or(TERMINATED);
        if self.ranked.prune { required.fold(first, DocId::max) } else { first }
    }

    /// Counts a matching document, and ranks it if that can change the page.
    fn judge(&mut self, doc: DocId, score: f32, terms: u64, tally: &mut Tally<'_>, work: &mut Work) {
        if !self.ranked.plan.wanted.holds(terms) || !self.filter.is_alive(doc) {
            return;
        }
        tally.matched += 1;
        if !self.filter.passes(doc) {
            return;
        }
        tally.total += 1;
        self.rank(doc, score, terms, &mut tally.gathered, work);
    }

    /// Keeps a document that counts if it is among the best.
    fn rank(&mut self, doc: DocId, score: f32, terms: u64, gathered: &mut Gathered<'_>, work: &mut Work) {
        let (order, columns) = (&self.ranked.order, self.columns);
        // Quantised as the keys are that it is compared with; that never turns an order around.
        let at_most = || quantised(score + bonus_max(&self.pairs, terms));
        let prunes = self.ranked.prune && order.by_score();
        // Before its columns are read: in the best tier there is, it would not make it.
        if prunes && gathered.is_full_above((true, at_most())) {
            return;
        }
        let session_ord = columns.session_ord.get_val(doc);
        gathered.count(session_ord);
        let mut standing = (true, 0.0);
        if order.by_score() {
            let is_ordinary = order.is_ordinary(columns, doc);
            let (least, most) = ((is_ordinary, quantised(score)), (is_ordinary, at_most()));
            if prunes && gathered.is_idle(session_ord, least, most) {
                return;
            }
            standing = (is_ordinary, quantised(score + bonus(&mut self.pairs, doc, terms, work)));
        }
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
    let possible = pairs.iter().filter(|pair| pair.terms() & !terms == 0);
    possible.map(|pair| pair.worth().score_max()).sum::<f32>() * 1.000_1
}

fn bonus(pairs: &mut [Cursor], doc: DocId, terms: u64, work: &mut Work) -> f32 {
    let mut bonus = 0.0;
    for pair in pairs.iter_mut().filter(|pair| pair.terms() & !terms == 0) {
        work.phrase_checks += 1;
        bonus += pair.at(doc).map_or(0.0, |(_, _, score)| score);
    }
    bonus
}

fn open_lists(
    snapshot: &Snapshot,
    segment: &SegmentReader,
    lists: &[RankedList<'_>],
    open: impl Fn(&SegmentReader, TantivyField, &Sought, Worth, u64) -> Result<Option<Cursor>>,
) -> Result<Vec<Cursor>> {
    let mut cursors = Vec::with_capacity(lists.len());
    for ranked in lists {
        let field = snapshot.fields().text(ranked.field);
        cursors.extend(open(segment, field, &ranked.list.sought, ranked.worth.clone(), ranked.list.terms)?);
    }
    Ok(cursors)
}
