//! Which known words are nearly one that is unknown.

use crate::limits::NEAREST_SHOWN_MAX;

/// Returns the known values that are nearest to an unknown one, at most three: another case, a slip
/// or two of the fingers, or one that holds the other.
pub(super) fn nearest<'a>(value: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = value.to_lowercase();
    let mut near: Vec<(usize, &str)> = Vec::new();
    for other in known.filter(|other| !other.is_empty()) {
        let folded = other.to_lowercase();
        let holds = wanted.chars().count() >= 3 && (folded.contains(&wanted) || wanted.contains(&folded));
        match distance(&wanted, &folded) {
            Some(slips) => near.push((slips, other)),
            None if holds => near.push((usize::MAX, other)),
            None => {}
        }
    }
    near.sort_unstable();
    near.truncate(NEAREST_SHOWN_MAX);
    near.into_iter().map(|(_, other)| other.to_owned()).collect()
}

/// Returns how many slips of the fingers still make a word near another.
pub(super) fn slips_max(word: &str) -> u8 {
    if word.chars().nth(4).is_some() { 2 } else { 1 }
}

/// Counts the letters inserted, left out, changed or swapped with a neighbour between two words;
/// `None` if they are more than a slip: one in words of up to four letters, two in longer ones.
pub(super) fn distance(a: &str, b: &str) -> Option<usize> {
    let most = usize::from(slips_max(a));
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        if row.iter().all(|slips| *slips > most) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    Some(last[b.len()]).filter(|slips| *slips <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_fingers_is_near() {
        for (a, b, slips) in [
            ("kestrel", "kestrel", Some(0)),
            ("kestral", "kestrel", Some(1)),
            ("ketsrel", "kestrel", Some(1)),
            ("kstrl", "kestrel", Some(2)),
            ("kestrel", "petrol", None),
            ("cat", "dog", None),
            ("cli", "clo", Some(1)),
            ("", "ab", None),
        ] {
            assert_eq!(distance(a, b), slips, "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_come_first_and_are_few() {
        let known = ["assistant", "assistent", "user", "tool", "assist", "Asistant", "system"];
        assert_eq!(nearest("asistant", known.into_iter()), ["Asistant", "assistant", "assistent"]);
        assert_eq!(nearest("tele", ["telegram", "cli"].into_iter()), ["telegram"]);
        assert!(nearest("email", ["cli"].into_iter()).is_empty());
    }
}
