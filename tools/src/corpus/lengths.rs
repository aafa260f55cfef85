//! Draws lengths by tables of quantiles. Integers only, so that every platform draws the same.
//!
//! The tables hold the quantiles of 46,768 messages of real agents (entireio/cli, branch
//! `entire/checkpoints/v1`, MIT), measured by role; what was bent is said at each.

/// In 1/10,000 of the texts, and the characters that this share does not exceed.
type Point = (u64, u64);

/// What people write.
pub(super) const USER: &[Point] = &[
    (0, 1),
    (100, 3),
    (500, 11),
    (1_000, 23),
    (2_500, 42),
    (5_000, 94),
    (6_000, 128),
    (7_500, 247),
    (8_500, 555),
    (9_000, 1_070),
    (9_500, 4_832),
    (9_750, 10_530),
    (9_900, 14_110),
    (9_970, 18_664),
    (9_990, 59_580),
    (10_000, 64_773),
];

/// What an agent says beside a call.
pub(super) const NOTE: &[Point] = &[
    (0, 5),
    (100, 25),
    (500, 36),
    (1_000, 44),
    (2_500, 61),
    (5_000, 90),
    (6_000, 106),
    (7_500, 146),
    (8_500, 210),
    (9_000, 271),
    (9_500, 435),
    (9_750, 665),
    (9_900, 1_079),
    (9_970, 1_907),
    (9_990, 2_830),
    (10_000, 9_594),
];

/// What an agent says to end its turn.
pub(super) const ANSWER: &[Point] = &[
    (0, 7),
    (100, 22),
    (500, 57),
    (1_000, 117),
    (2_500, 335),
    (5_000, 801),
    (6_000, 1_005),
    (7_500, 1_293),
    (8_500, 1_600),
    (9_000, 1_897),
    (9_500, 2_522),
    (9_750, 3_282),
    (9_900, 4_183),
    (9_970, 6_084),
    (9_990, 6_796),
    (10_000, 9_901),
];

/// What an agent thinks, before mix A stretches it.
pub(super) const REASONING: &[Point] = &[
    (0, 9),
    (100, 26),
    (500, 41),
    (1_000, 53),
    (2_500, 79),
    (5_000, 147),
    (6_000, 207),
    (7_500, 431),
    (8_500, 767),
    (9_000, 1_084),
    (9_500, 1_850),
    (9_750, 2_570),
    (9_900, 3_976),
    (9_970, 6_291),
    (9_990, 10_135),
    (10_000, 21_450),
];

/// The arguments of one call, as JSON.
pub(super) const ARGUMENTS: &[Point] = &[
    (0, 20),
    (100, 38),
    (500, 56),
    (1_000, 74),
    (2_500, 98),
    (5_000, 128),
    (6_000, 150),
    (7_500, 286),
    (8_500, 734),
    (9_000, 1_118),
    (9_500, 2_053),
    (9_750, 3_569),
    (9_900, 6_510),
    (9_970, 11_495),
    (9_990, 17_239),
    (10_000, 39_873),
];

/// What a tool prints.
pub(super) const OUTPUT: &[Point] = &[
    (0, 0),
    (230, 0),
    (500, 16),
    (1_000, 42),
    (2_500, 112),
    (5_000, 565),
    (6_000, 1_023),
    (7_500, 2_213),
    (8_500, 4_146),
    (9_000, 6_496),
    (9_500, 13_607),
    (9_750, 22_697),
    (9_900, 42_107),
    (9_970, 57_012),
    (9_990, 76_388),
    (10_000, 87_879),
];

/// The same for mix A, whose content is shorter by a third: up to the median it is the records',
/// above it falls behind, to 75 % of theirs at 90 % and 59 % at 99 %; the longest is theirs again.
pub(super) const OUTPUT_A: &[Point] = &[
    (0, 0),
    (230, 0),
    (500, 16),
    (1_000, 42),
    (2_500, 112),
    (5_000, 540),
    (6_000, 920),
    (7_500, 1_850),
    (8_500, 3_250),
    (9_000, 4_900),
    (9_500, 9_300),
    (9_750, 15_000),
    (9_900, 24_900),
    (9_970, 35_000),
    (9_990, 57_000),
    (10_000, 87_879),
];

/// Rows of a session.
pub(super) const SESSION: &[Point] = &[
    (0, 1),
    (100, 3),
    (500, 8),
    (1_000, 16),
    (2_500, 27),
    (5_000, 48),
    (7_500, 132),
    (9_000, 283),
    (9_500, 418),
    (9_900, 576),
    (10_000, 1_309),
];

/// Rows of a session of mix B, where only the mean of 26 is published; those of other
/// sources than `cron` are shortened afterwards.
pub(super) const SESSION_B: &[Point] =
    &[(0, 3), (2_500, 12), (5_000, 20), (7_500, 33), (9_000, 54), (9_900, 140), (10_000, 300)];

/// Calls of a turn: half of the records' turns have eight rows at most, one in a hundred 128.
pub(super) const CALLS: &[Point] =
    &[(0, 0), (2_000, 0), (5_000, 3), (7_500, 7), (9_000, 12), (9_900, 32), (10_000, 90)];

/// The golden ratio's fraction of 2^64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
/// Halvings of a span between two points: the last is 1/1,024 of it.
const HALVINGS: u32 = 10;

/// A table and the place where it was read last.
///
/// Each draw moves on by the golden ratio instead of by chance: any number of draws then covers
/// the table evenly (Weyl's sequence), so that a thousand rows already have the shares and nearly
/// the mean of a million. By chance the few longest texts would move the mean by percents.
pub(super) struct Lengths {
    table: &'static [Point],
    place: u64,
    per_mille: u64,
}

impl Lengths {
    pub(super) fn new(table: &'static [Point], place: u64) -> Lengths {
        Lengths { table, place, per_mille: 1_000 }
    }

    /// Stretches every length of the table.
    pub(super) fn stretched(self, per_mille: u64) -> Lengths {
        Lengths { per_mille, ..self }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.place = self.place.wrapping_add(STEP);
        quantile(self.table, self.place) * self.per_mille / 1_000
    }
}

/// Returns the length at a place of the table, as a share of 2^64. Between two points the
/// logarithm runs straight: each halving takes the geometric mean of what is left.
fn quantile(table: &[Point], place: u64) -> u64 {
    // In 1/10,000, with 20 bits behind the point.
    let at = u64::try_from((u128::from(place) * 10_000) >> 44).expect("10,000 has 14 bits");
    let upper = table.iter().position(|(share, _)| share << 20 > at).expect("the last share is 10,000");
    let ((low, short), (high, long)) = (table[upper - 1], table[upper]);
    let mut left = (at - (low << 20)) / (high - low);
    // One character more, so that 0 has a logarithm, and 8 bits behind the point.
    let (mut short, mut long) = ((short + 1) << 8, (long + 1) << 8);
    for bit in (20 - HALVINGS..20).rev() {
        let middle = (short * long).isqrt();
        if left >> bit == 0 {
            long = middle;
        } else {
            short = middle;
            left -= 1 << bit;
        }
    }
    (short >> 8) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &'static [Point], mean: u64) {
        let mut lengths = Lengths::new(table, 7);
        let mut drawn: Vec<u64> = (0..10_000).map(|_| lengths.next()).collect();
        let sum = drawn.iter().sum::<u64>();
        drawn.sort_unstable();
        for &(share, chars) in &table[..table.len() - 1] {
            let seen = drawn[usize::try_from(share).expect("small")];
            assert!(seen.abs_diff(chars) <= 2 + chars / 20, "at {share}: {seen}, not {chars}");
        }
        assert!(sum.abs_diff(mean * 10_000) <= mean * 500, "mean {}, not {mean}", sum / 10_000);
    }

    #[test]
    fn quantiles_and_means_are_the_measured_ones() {
        check(USER, 865);
        check(NOTE, 149);
        check(ANSWER, 966);
        check(REASONING, 443);
        check(ARGUMENTS, 505);
        check(OUTPUT, 2_841);
        check(SESSION, 107);
        check(SESSION_B, 28);
    }

    #[test]
    fn both_ends_of_a_table_are_reached() {
        assert_eq!(quantile(OUTPUT, 0), 0);
        assert!(quantile(OUTPUT, u64::MAX) > 87_000);
    }
}
