//! Finds words near each other. How far a group of places is from the phrase is what Lucene's
//! sloppy phrases measure: with each place moved back by its word's distance from the first word,
//! the greatest less the least. In order and side by side that is 0; two swapped words are 2 off.

/// One word of a phrase, and where it stands in a text.
pub(super) struct Places<'a> {
    /// Its distance from the first word.
    pub(super) distance: u32,
    /// Rising positions.
    pub(super) positions: &'a [u32],
}

/// Calls back with an index into every word's positions, and how far off they are, for places
/// that are at most `slop` off. Costs a step for each position.
pub(super) fn near(words: &[Places<'_>], slop: u32, mut found: impl FnMut(&[usize], u32)) {
    let moved = |word: &Places<'_>, at: usize| i64::from(word.positions[at]) - i64::from(word.distance);
    let mut at = vec![0; words.len()];
    if words.is_empty() || words.iter().any(|word| word.positions.is_empty()) {
        return;
    }
    loop {
        let places = || words.iter().zip(&at).map(|(word, at)| moved(word, *at));
        let (Some(least), Some(most)) = (places().min(), places().max()) else { return };
        let off = u32::try_from(most - least).unwrap_or(u32::MAX);
        if off <= slop && are_distinct(words, &at) {
            found(&at, off);
        }
        // Only a word that is least can bring the others nearer; of several the one that the phrase has first,
        // in whatever order they were given.
        let least = |word: &usize| (moved(&words[*word], at[*word]), words[*word].distance);
        let next = (0..words.len()).min_by_key(least).expect("there are words");
        at[next] += 1;
        if at[next] == words[next].positions.len() {
            return;
        }
    }
}

/// A word that a phrase has twice must stand there twice.
fn are_distinct(words: &[Places<'_>], at: &[usize]) -> bool {
    let place = |word: usize| words[word].positions[at[word]];
    (0..words.len()).all(|one| (0..one).all(|other| place(one) != place(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[(u32, &[u32])], slop: u32, expected: &[u32]) {
        let words: Vec<_> =
            words.iter().map(|(distance, positions)| Places { distance: *distance, positions }).collect();
        let mut found = Vec::new();
        near(&words, slop, |_, off| found.push(off));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_gap_costs_its_words_and_a_swap_two() {
        check(&[(0, &[3]), (1, &[4])], 0, &[0]);
        check(&[(0, &[3]), (1, &[6])], 1, &[]);
        check(&[(0, &[3]), (1, &[6])], 2, &[2]);
        check(&[(0, &[4]), (1, &[3])], 1, &[]);
        check(&[(0, &[4]), (1, &[3])], 2, &[2]);
    }

    #[test]
    fn every_place_is_found() {
        check(&[(0, &[0, 10, 20]), (1, &[1, 12, 40])], 1, &[0, 1]);
        check(&[(0, &[0]), (1, &[])], 9, &[]);
    }

    #[test]
    fn the_order_of_the_words_does_not_matter() {
        let words: [(u32, &[u32]); 3] = [(0, &[1, 4, 9]), (1, &[3, 5, 7]), (2, &[2, 6, 8])];
        for [a, b, c] in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            check(&[words[a], words[b], words[c]], 9, &[2, 3, 2, 0, 5, 5, 3]);
        }
    }

    #[test]
    fn a_word_twice_needs_two_places() {
        check(&[(0, &[5]), (1, &[5])], 9, &[]);
        check(&[(0, &[5, 6]), (1, &[5, 6])], 0, &[0]);
    }
}
