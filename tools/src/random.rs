//! A tiny deterministic generator. Same seed, same numbers, on every platform and forever:
//! that is why it is written here and not a dependency. Never for secrets.

/// A `SplitMix64` stream.
///
/// The state walks by the golden-ratio constant and each step is mixed by Stafford's variant 13:
/// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, as in
/// Vigna's public-domain `splitmix64.c`. It is enough for test text: 64 bits of state, no
/// bias anyone could see in a word count, and one multiplication chain per number.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Starts a stream; equal seeds give equal streams.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`; a bound of 0 gives 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of a product scales without a division (Lemire 2019); the bias left
        // is below 2^-32 for any bound used here.
        let wide = u128::from(self.bits()) * u128::from(bound);
        (wide >> 64) as u64
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high);
        low + self.below(high - low + 1)
    }

    /// Returns an index below `len`; 0 for an empty range.
    #[expect(clippy::missing_panics_doc, reason = "a number below a length is a length")]
    pub fn index(&mut self, len: usize) -> usize {
        let bound = u64::try_from(len).unwrap_or(u64::MAX);
        usize::try_from(self.below(bound)).expect("a number below a length is a length")
    }

    /// Returns true in about `percent` of 100 calls.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns one of `items`, each as likely as the next.
    ///
    /// # Panics
    /// If `items` is empty: a list to pick from is written in the source, never read.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }

    /// Puts `items` into an order of its own (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.index(end + 1));
        }
    }

    /// Returns one of `items` in proportion to its weight.
    ///
    /// # Panics
    /// If all weights are 0.
    pub fn weighted<T: Copy>(&mut self, items: &[(u64, T)]) -> T {
        let mut left = self.below(items.iter().map(|(weight, _)| weight).sum());
        for &(weight, item) in items {
            if left < weight {
                return item;
            }
            left -= weight;
        }
        unreachable!("a number below the sum falls into one of the weights")
    }
}

/// Mixes a text into a seed, so that a name keeps its numbers when its neighbours change.
/// FNV-1a, 64 bits (Fowler, Noll, Vo): short names need no better.
#[must_use]
pub fn seed(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_the_published_one() {
        // The first numbers of splitmix64.c from seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_in_range_and_reach_both_ends() {
        let mut random = Random::new(7);
        let seen: Vec<u64> = (0..1000).map(|_| random.between(3, 6)).collect();
        assert!(seen.iter().all(|n| (3..=6).contains(n)));
        assert!(seen.contains(&3) && seen.contains(&6));
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn weights_decide_how_often() {
        let mut random = Random::new(7);
        let often = (0..1000).filter(|_| random.weighted(&[(9, true), (1, false)])).count();
        assert!((850..950).contains(&often), "{often}");
    }
}
