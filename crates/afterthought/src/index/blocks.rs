//! The documents of a segment by blocks of 4,096, as searches read them: who is alive, who is shown, and
//! which stand next to each other in a session. A block is read from the columns once and then kept.

use std::sync::OnceLock;

use tantivy::{DocId, SegmentReader};

use super::fields::{NO_TIME, flag};
use super::snapshot::SegmentColumns;

/// Documents of one block.
pub const BLOCK_DOCS: usize = 4_096;

/// Roles that a block knows by bit; one with more is asked by document.
const BLOCK_ROLES_MAX: usize = 32;

/// Some of a block's documents, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits(pub [u64; BLOCK_DOCS / 64]);

impl Bits {
    /// None of them.
    pub const NONE: Self = Self([0; BLOCK_DOCS / 64]);

    /// Takes one in.
    #[inline]
    pub fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    /// Tells whether one is among them.
    #[inline]
    #[must_use]
    pub fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    /// Leaves one out.
    #[inline]
    pub fn remove(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    /// Returns those that both have.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Returns those that the other does not have.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Returns those that either has.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Counts them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Tells whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Takes in those that another has in a stretch of places.
    #[inline]
    pub fn insert_within(&mut self, other: &Self, from: usize, to: usize) {
        for word in from / 64..to.div_ceil(64) {
            self.0[word] |= other.word_within(word, from, to);
        }
    }

    /// Counts those in a stretch of places.
    #[inline]
    #[must_use]
    pub fn count_within(&self, from: usize, to: usize) -> u64 {
        (from / 64..to.div_ceil(64))
            .map(|word| u64::from(self.word_within(word, from, to).count_ones()))
            .sum()
    }

    /// Visits the places of those in a stretch, in order.
    #[inline]
    pub fn each_within(&self, from: usize, to: usize, mut visit: impl FnMut(usize)) {
        for word in from / 64..to.div_ceil(64) {
            let mut bits = self.word_within(word, from, to);
            while bits != 0 {
                visit(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Tells whether there is one in a stretch of places.
    #[inline]
    #[must_use]
    pub fn any_within(&self, from: usize, to: usize) -> bool {
        (from / 64..to.div_ceil(64)).any(|word| self.word_within(word, from, to) != 0)
    }

    /// Visits the places of all, in order.
    pub fn each(&self, visit: impl FnMut(usize)) {
        self.each_within(0, BLOCK_DOCS, visit);
    }

    #[inline]
    fn word_within(&self, word: usize, from: usize, to: usize) -> u64 {
        let mut bits = self.0[word];
        if from > word * 64 {
            bits &= u64::MAX << (from - word * 64);
        }
        if to < word * 64 + 64 {
            bits &= !(u64::MAX << (to - word * 64));
        }
        bits
    }
}

/// Neighbours of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first one's place in the block.
    pub from: u16,
    /// The place behind the last.
    pub to: u16,
    /// The session's number.
    pub session_ord: u32,
}

/// What spans the times of a block's documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The earliest known one.
    pub earliest: Option<i64>,
    /// The latest known one.
    pub latest: Option<i64>,
    /// Whether some are unknown.
    pub some_unknown: bool,
}

/// Ordinals of roles, with those who have them.
type Roles = Box<[(u64, Bits)]>;

/// What searches read of a block's documents.
pub struct Block {
    /// Those that were not deleted.
    pub alive: Bits,
    /// Messages that were taken back or hidden.
    pub hidden: Bits,
    /// Messages that repeat another.
    pub copies: Bits,
    /// Documents of sessions.
    pub titles: Bits,
    /// Summaries that compaction wrote.
    pub summaries: Bits,
    /// All of them, by neighbours of one session.
    pub stretches: Box<[Stretch]>,
    times: OnceLock<Times>,
    /// Nobody, where there are too many roles to know them all.
    roles: OnceLock<Option<Roles>>,
}

impl Block {
    fn read(segment: &SegmentReader, columns: &SegmentColumns, number: usize) -> Self {
        let (from, docs) = reach(segment, number);
        let mut block = Self {
            alive: Bits::NONE,
            hidden: Bits::NONE,
            copies: Bits::NONE,
            titles: Bits::NONE,
            summaries: Bits::NONE,
            stretches: Box::default(),
            times: OnceLock::new(),
            roles: OnceLock::new(),
        };
        let mut values = vec![0_u64; docs];
        columns.flags.get_range(u64::from(from), &mut values);
        for (at, flags) in values.iter().enumerate() {
            let is_title = flags & flag::SESSION != 0;
            for (is_so, bits) in [
                (is_title, &mut block.titles),
                (!is_title && !flag::is_visible(*flags), &mut block.hidden),
                (flags & flag::COPY != 0, &mut block.copies),
                (flags & flag::SUMMARY != 0, &mut block.summaries),
            ] {
                bits.0[at / 64] |= u64::from(is_so) << (at % 64);
            }
        }
        for (doc, at) in (from..).zip(0..docs) {
            let is_alive = segment.alive_bitset().is_none_or(|alive| alive.is_alive(doc));
            block.alive.0[at / 64] |= u64::from(is_alive) << (at % 64);
        }
        columns.session_ord.get_range(u64::from(from), &mut values);
        block.stretches = stretches(&values);
        block
    }

    /// Returns what spans the times of all.
    pub fn times(&self, segment: &SegmentReader, columns: &SegmentColumns, number: usize) -> Times {
        *self.times.get_or_init(|| {
            let (from, docs) = reach(segment, number);
            let mut values = vec![0_i64; docs];
            columns.timestamp.get_range(u64::from(from), &mut values);
            let known = || values.iter().copied().filter(|time| *time != NO_TIME);
            Times { earliest: known().min(), latest: known().max(), some_unknown: values.contains(&NO_TIME) }
        })
    }

    /// Returns those whose role passes, by ordinal; `None` where the block has too many to know them all.
    pub fn of_roles(
        &self,
        segment: &SegmentReader,
        columns: &SegmentColumns,
        number: usize,
        passes: impl Fn(u64) -> bool,
    ) -> Option<Bits> {
        let roles = self.roles.get_or_init(|| {
            let (from, docs) = reach(segment, number);
            let mut values = vec![0_u64; docs];
            columns.role.get_range(u64::from(from), &mut values);
            let mut roles: Vec<(u64, Bits)> = Vec::new();
            for (at, role) in values.iter().enumerate() {
                let known = roles.iter().position(|(known, _)| known == role);
                let known = known.unwrap_or_else(|| {
                    roles.push((*role, Bits::NONE));
                    roles.len() - 1
                });
                if roles.len() > BLOCK_ROLES_MAX {
                    return None;
                }
                roles[known].1.insert(at);
            }
            Some(roles.into())
        });
        let roles = roles.as_deref()?;
        let passing = roles.iter().filter(|(role, _)| passes(*role));
        Some(passing.fold(Bits::NONE, |all, (_, bits)| all.or(bits)))
    }
}

/// Returns a block's first document, and how many it has.
fn reach(segment: &SegmentReader, number: usize) -> (DocId, usize) {
    let from = number * BLOCK_DOCS;
    let docs = (segment.max_doc() as usize).saturating_sub(from).min(BLOCK_DOCS);
    (DocId::try_from(from).expect("a block of a segment"), docs)
}

fn stretches(session_ords: &[u64]) -> Box<[Stretch]> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let place = |at: usize| u16::try_from(at).expect("a place in a block");
    for (at, ord) in session_ords.iter().enumerate() {
        // Sessions are numbered one by one: no archive has so many.
        let session_ord = u32::try_from(*ord).unwrap_or(u32::MAX);
        match stretches.last_mut() {
            Some(last) if last.session_ord == session_ord => last.to = place(at + 1),
            _ => stretches.push(Stretch { from: place(at), to: place(at + 1), session_ord }),
        }
    }
    stretches.into()
}

/// The blocks of one segment.
pub struct Blocks(Box<[OnceLock<Block>]>);

impl Blocks {
    pub(super) fn of(segment: &SegmentReader) -> Self {
        let blocks = (segment.max_doc() as usize).div_ceil(BLOCK_DOCS);
        Self((0..blocks).map(|_| OnceLock::new()).collect())
    }

    /// Returns a block, read from the columns the first time.
    #[must_use]
    pub fn get(&self, segment: &SegmentReader, columns: &SegmentColumns, number: usize) -> &Block {
        self.0[number].get_or_init(|| Block::read(segment, columns, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_stretch_are_those_between_its_ends() {
        let mut bits = Bits::NONE;
        (0..BLOCK_DOCS).step_by(3).for_each(|at| bits.insert(at));
        for (from, to) in [(0, 0), (0, 1), (1, 64), (63, 65), (64, 128), (100, 4_096), (4_095, 4_096)] {
            let expected: Vec<usize> = (from..to).filter(|at| at % 3 == 0).collect();
            let mut found = Vec::new();
            bits.each_within(from, to, |at| found.push(at));
            assert_eq!(found, expected);
            assert_eq!(bits.count_within(from, to), expected.len() as u64);
            let mut within = Bits::NONE;
            within.insert_within(&bits, from, to);
            assert_eq!(within.count(), expected.len() as u64);
            assert_eq!(bits.any_within(from, to), !expected.is_empty());
        }
    }

    #[test]
    fn neighbours_of_a_session_make_a_stretch() {
        let found = stretches(&[7, 7, 3, 7]);
        let found: Vec<_> = found.iter().map(|one| (one.from, one.to, one.session_ord)).collect();
        assert_eq!(found, [(0, 2, 7), (2, 3, 3), (3, 4, 7)]);
    }
}
