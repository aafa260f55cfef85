//! A vocabulary and how often each word comes: Zipf's law with Mandelbrot's shift. The words
//! are the same for every seed, so that a bench can name its queries once.

use std::collections::HashSet;

use crate::random::Random;

const WORDS_MAX: usize = 60_000;
const SHIFT: f64 = 2.7;

/// Room for the longest word and the space after it.
pub(super) const CELL_BYTES: usize = 16;

/// Real words first, in about their real order: stop words and common terms cost an engine
/// something, and made-up ones would not.
const COMMON: &str = "the to and of a in is it for that this on with be as not are was we if from \
    at by an or have but can so will which has then when all there should one they been more no \
    only after now file into first same use before line because test error value run what new \
    out call does path change add fix set check still also where two build index name code log \
    read write list type state open server time service table request query user key commit job \
    branch data version deploy failed config cache queue retry lock timeout port script memory \
    database column worker session message report response release schema update process thread \
    module function string default result output input message order batch record token backup";

/// Returns the words of a corpus, the commonest first.
#[must_use]
pub fn vocabulary() -> Vec<String> {
    let mut random = Random::new(0x5EED);
    let mut seen = HashSet::new();
    let mut words: Vec<String> = Vec::with_capacity(WORDS_MAX);
    for word in COMMON.split_whitespace() {
        if seen.insert(word.to_owned()) {
            words.push(word.to_owned());
        }
    }
    while words.len() < WORDS_MAX {
        let word = made_up(&mut random);
        if word.len() < CELL_BYTES && seen.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}

fn made_up(random: &mut Random) -> String {
    const ONSETS: [&str; 24] = [
        "b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "st", "tr",
        "pl", "gr", "cl", "sh",
    ];
    const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "ou", "ai"];
    const CODAS: [&str; 10] = ["", "", "", "n", "r", "s", "l", "t", "nd", "ck"];
    let mut word = String::new();
    for _ in 0..random.between(1, 3) {
        word.push_str(random.pick(&ONSETS));
        word.push_str(random.pick(&VOWELS));
        word.push_str(random.pick(&CODAS));
    }
    word
}

/// Draws ranks by their weight in constant time: Walker's alias method in Vose's form ("A linear
/// algorithm for generating random numbers with a given distribution", 1991). Built with
/// divisions only, which round the same everywhere; a power function would not.
pub(super) struct Zipf {
    /// For each slot the share, of 2^32, that keeps the slot's own rank.
    keep: Vec<u64>,
    alias: Vec<usize>,
}

impl Zipf {
    pub(super) fn new(ranks: u32) -> Zipf {
        let weight = |rank: u32| 1.0 / (f64::from(rank) + SHIFT);
        let mean = (0..ranks).map(weight).sum::<f64>() / f64::from(ranks);
        let mut share: Vec<f64> = (0..ranks).map(|rank| weight(rank) / mean).collect();
        let mut alias: Vec<usize> = (0..share.len()).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            alias.iter().partition(|slot| share[**slot] < 1.0);
        while let (Some(under), Some(over)) = (small.pop(), large.pop()) {
            alias[under] = over;
            share[over] -= 1.0 - share[under];
            if share[over] < 1.0 {
                small.push(over);
            } else {
                large.push(over);
            }
        }
        Zipf { keep: share.into_iter().map(of_two_to_32).collect(), alias }
    }

    pub(super) fn rank(&self, random: &mut Random) -> usize {
        let bits = random.bits();
        let (high, low) = (bits >> 32, bits & 0xFFFF_FFFF);
        let slots = u64::try_from(self.keep.len()).unwrap_or(u64::MAX);
        let slot = usize::try_from((high * slots) >> 32).unwrap_or(0);
        if low < self.keep[slot] { slot } else { self.alias[slot] }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share lies between 0 and 1 up to rounding, and the cast saturates"
)]
fn of_two_to_32(share: f64) -> u64 {
    (share * 4_294_967_296.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_and_start_with_real_ones() {
        let words = vocabulary();
        assert_eq!(words.len(), WORDS_MAX);
        assert_eq!(words.iter().collect::<HashSet<_>>().len(), WORDS_MAX);
        assert_eq!(words[0], "the");
    }

    #[test]
    fn frequency_falls_with_the_rank() {
        let (zipf, mut random) = (Zipf::new(1_000), Random::new(7));
        let mut counts = vec![0_i32; 1_000];
        for _ in 0..200_000 {
            counts[zipf.rank(&mut random)] += 1;
        }
        // 1/2.7 to 1/11.7 to 1/101.7, of a sum near 5.7.
        for (rank, share) in [(0, 0.0645), (9, 0.0149), (99, 0.0017)] {
            let seen = f64::from(counts[rank]) / 200_000.0;
            assert!((seen / share - 1.0).abs() < 0.15, "rank {rank}: {seen}");
        }
        assert!(counts[900..].iter().sum::<i32>() > 0);
    }
}
