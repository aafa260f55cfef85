//! What a document has to come to, as far as is known before all of them were seen.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The least that the page's last hit can have: the scores that so many documents reach at least.
pub(super) struct Floor {
    /// How many; 0 where nothing can be said.
    count: usize,
    /// Scores that are not negative, as their bits: these are in the same order.
    best: BinaryHeap<Reverse<u32>>,
    /// No document that comes to less is on the page.
    pub(super) least: f32,
}

impl Floor {
    /// Looks for what the best `count` documents reach.
    pub(super) fn of(count: usize) -> Self {
        Self { count, best: BinaryHeap::new(), least: 0.0 }
    }

    /// Takes in what one document reaches at least. No document is taken in twice.
    pub(super) fn raise(&mut self, score: f32) {
        if self.count == 0 || score <= self.least {
            return;
        }
        self.best.push(Reverse(score.to_bits()));
        if self.best.len() > self.count {
            self.best.pop();
        }
        if let Some(Reverse(least)) = self.best.peek().filter(|_| self.best.len() == self.count) {
            self.least = f32::from_bits(*least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_what_so_many_reach() {
        let mut floor = Floor::of(2);
        let mut seen = Vec::new();
        for score in [1.0, 0.5, 3.0, 0.1, 2.0, 2.5] {
            floor.raise(score);
            seen.push(floor.least);
        }
        assert_eq!(seen, [0.0, 0.5, 1.0, 1.0, 2.0, 2.5]);
    }

    #[test]
    fn of_none_nothing_is_said() {
        let mut floor = Floor::of(0);
        floor.raise(7.0);
        assert!(floor.least.abs() < f32::EPSILON);
    }
}
