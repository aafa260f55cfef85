//! Figures of one ranking against what was judged. Pure arithmetic.
//!
//! - recall@k: judged units among the first k, divided by all judged units.
//! - hit@k: 1 if any judged unit is among the first k, else 0.
//! - MRR@10: the mean of 1 / rank of the first judged unit, 0 if none is among the first ten.
//! - nDCG@10: the gains of the first ten, each divided by log2(rank + 1), summed, over the same sum of the
//!   best possible order (Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques",
//!   2002, in the form of `trec_eval`'s `ndcg_cut`: the gain is the grade itself). With grades of 1 it is
//!   the binary one.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// A unit that was judged: a message, a session or a document, by its number.
pub type Unit = u32;

/// Units that answer a query, with their grades, 1 or more.
pub type Judged = HashMap<Unit, u32>;

/// The figures of one query, or their means over many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the figure of its name")]
pub struct Figures {
    pub ndcg_10: f64,
    pub hit_1: f64,
    pub hit_5: f64,
    pub hit_10: f64,
    pub recall_5: f64,
    pub recall_10: f64,
    pub mrr_10: f64,
}

impl Figures {
    /// Measures a ranking, best first, without repetitions.
    #[must_use]
    pub fn of(ranking: &[Unit], judged: &Judged) -> Self {
        Self {
            ndcg_10: ndcg(ranking, judged, 10),
            hit_1: hit(ranking, judged, 1),
            hit_5: hit(ranking, judged, 5),
            hit_10: hit(ranking, judged, 10),
            recall_5: recall(ranking, judged, 5),
            recall_10: recall(ranking, judged, 10),
            mrr_10: reciprocal_rank(ranking, judged, 10),
        }
    }

    /// Returns the means over queries; of none, zeros.
    #[must_use]
    pub fn mean<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let (mut sum, mut count) = (Self::default(), 0.0);
        for one in all {
            count += 1.0;
            sum = sum.with(one, |sum, one| sum + one);
        }
        sum.with(&sum, |sum, _| if count > 0.0 { sum / count } else { 0.0 })
    }

    fn with(&self, other: &Self, join: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            ndcg_10: join(self.ndcg_10, other.ndcg_10),
            hit_1: join(self.hit_1, other.hit_1),
            hit_5: join(self.hit_5, other.hit_5),
            hit_10: join(self.hit_10, other.hit_10),
            recall_5: join(self.recall_5, other.recall_5),
            recall_10: join(self.recall_10, other.recall_10),
            mrr_10: join(self.mrr_10, other.mrr_10),
        }
    }
}

/// Returns the share of the judged units that stand among the first `k`.
#[must_use]
pub fn recall(ranking: &[Unit], judged: &Judged, k: usize) -> f64 {
    let found = ranking.iter().take(k).filter(|unit| judged.contains_key(unit)).count();
    if judged.is_empty() { 0.0 } else { number(found) / number(judged.len()) }
}

/// Returns 1 if a judged unit stands among the first `k`, else 0.
#[must_use]
pub fn hit(ranking: &[Unit], judged: &Judged, k: usize) -> f64 {
    if ranking.iter().take(k).any(|unit| judged.contains_key(unit)) { 1.0 } else { 0.0 }
}

/// Returns 1 over the rank of the first judged unit among the first `k`, or 0.
#[must_use]
pub fn reciprocal_rank(ranking: &[Unit], judged: &Judged, k: usize) -> f64 {
    let place = ranking.iter().take(k).position(|unit| judged.contains_key(unit));
    place.map_or(0.0, |place| 1.0 / number(place + 1))
}

/// Returns the normalised discounted cumulated gain of the first `k`.
#[must_use]
pub fn ndcg(ranking: &[Unit], judged: &Judged, k: usize) -> f64 {
    let gains = ranking.iter().map(|unit| judged.get(unit).copied().unwrap_or(0));
    let mut best: Vec<u32> = judged.values().copied().collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let best = dcg(best.into_iter().take(k));
    if best > 0.0 { dcg(gains.take(k)) / best } else { 0.0 }
}

fn dcg(gains: impl Iterator<Item = u32>) -> f64 {
    gains.enumerate().map(|(place, gain)| f64::from(gain) / number(place + 2).log2()).sum()
}

#[expect(clippy::cast_precision_loss, reason = "ranks and counts of judged units")]
fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(grades: &[(Unit, u32)]) -> Judged {
        grades.iter().copied().collect()
    }

    #[track_caller]
    fn check(ranking: &[Unit], grades: &[(Unit, u32)], expect: [f64; 7]) {
        let figures = Figures::of(ranking, &judged(grades));
        let Figures { ndcg_10, hit_1, hit_5, hit_10, recall_5, recall_10, mrr_10 } = figures;
        let found = [ndcg_10, hit_1, hit_5, hit_10, recall_5, recall_10, mrr_10];
        let near = found.iter().zip(expect).all(|(found, expect)| (found - expect).abs() < 1e-4);
        assert!(near, "{found:?}, not {expect:?}");
    }

    #[test]
    fn first_of_one_is_perfect() {
        check(&[7, 1, 2], &[(7, 1)], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn second_and_sixth_of_three() {
        // DCG = 1/log2(3) + 1/log2(7) = 0.63093 + 0.35621 = 0.98714; ideal 1 + 0.63093 + 0.5 = 2.13093.
        let figures = [0.463_24, 0.0, 1.0, 1.0, 1.0 / 3.0, 2.0 / 3.0, 0.5];
        check(&[9, 1, 8, 4, 5, 2], &[(1, 1), (2, 1), (3, 1)], figures);
    }

    #[test]
    fn grades_weigh() {
        // DCG = 1 + 3/log2(3) = 2.89279; ideal 3 + 1/log2(3) = 3.63093.
        check(&[1, 2], &[(1, 1), (2, 3)], [0.796_71, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn eleventh_does_not_count() {
        let ranking: Vec<Unit> = (0..20).collect();
        check(&ranking, &[(10, 1)], [0.0; 7]);
    }

    #[test]
    fn nothing_found_and_nothing_judged_are_zero() {
        check(&[], &[(1, 1)], [0.0; 7]);
        check(&[1], &[], [0.0; 7]);
        assert_eq!(Figures::mean([]), Figures::default());
    }

    #[test]
    fn more_judged_than_ten_can_still_be_perfect() {
        let ranking: Vec<Unit> = (0..10).collect();
        let grades: Vec<(Unit, u32)> = (0..20).map(|unit| (unit, 1)).collect();
        check(&ranking, &grades, [1.0, 1.0, 1.0, 1.0, 0.25, 0.5, 1.0]);
    }

    #[test]
    fn means_are_over_queries() {
        let one = Figures::of(&[1], &judged(&[(1, 1)]));
        let mean = Figures::mean([&one, &Figures::default()]);
        assert!((mean.ndcg_10 - 0.5).abs() < 1e-9 && (mean.mrr_10 - 0.5).abs() < 1e-9);
    }
}
