//! Whether a difference of two means could be chance: the paired randomisation test.
//!
//! If the two systems were alike, each query's two scores might as well be swapped. The test swaps them
//! by coin, many times, and counts how often the difference of the means is at least as large as the one
//! that was seen (Smucker, Allan and Carterette, "A comparison of statistical significance tests for
//! information retrieval evaluation", CIKM 2007). The coins come from a seed.

use afterthought_tools::random::Random;

/// How often the coins are thrown.
pub const ROUNDS: u32 = 10_000;

/// Returns the two-sided p of the difference of the means of two lists of scores, query by query. It is
/// never 0: the order that was seen counts as one of the throws.
///
/// # Panics
/// If the lists differ in length.
#[must_use]
pub fn randomised_p(one: &[f64], other: &[f64], rounds: u32, seed: u64) -> f64 {
    assert_eq!(one.len(), other.len(), "a score each for every query");
    let differences: Vec<f64> = one.iter().zip(other).map(|(one, other)| one - other).collect();
    // Equal scores stay equal however the coin falls.
    let differences: Vec<f64> = differences.into_iter().filter(|by| *by != 0.0).collect();
    let seen = differences.iter().sum::<f64>().abs();
    let mut random = Random::new(seed);
    let mut as_large = 0u32;
    for _ in 0..rounds {
        let sum = differences.chunks(64).fold(0.0, |sum, chunk| {
            let coins = random.bits();
            let signed =
                chunk.iter().enumerate().map(|(at, by)| if coins >> at & 1 == 1 { *by } else { -by });
            sum + signed.sum::<f64>()
        });
        // Sums of the same numbers in another order may differ in the last bit.
        if sum.abs() >= seen - 1e-9 {
            as_large += 1;
        }
    }
    f64::from(as_large + 1) / f64::from(rounds + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_are_chance() {
        let p = randomised_p(&[0.5, 0.7], &[0.5, 0.7], 100, 7);
        assert!((p - 1.0).abs() < 1e-9);
    }

    #[test]
    fn three_of_three_is_one_in_four() {
        // Of 8 ways the coins fall, two have a sum as large: all as they were, and all swapped.
        let p = randomised_p(&[1.0, 1.0, 1.0], &[0.0, 0.0, 0.0], ROUNDS, 7);
        assert!((p - 0.25).abs() < 0.02, "{p}");
    }

    #[test]
    fn a_large_and_steady_difference_is_none() {
        let p = randomised_p(&[1.0; 40], &[0.5; 40], ROUNDS, 7);
        assert!((p - 1.0 / 10_001.0).abs() < 1e-9, "{p}");
    }

    #[test]
    fn same_seed_same_p() {
        let (one, other) = ([0.1, 0.9, 0.4, 0.3], [0.2, 0.3, 0.1, 0.3]);
        let first = randomised_p(&one, &other, 1_000, 7);
        assert!((first - randomised_p(&one, &other, 1_000, 7)).abs() < 1e-12);
    }
}
