//! Cuts the place out of a text that shows best why it matched. Works on any text, counts
//! characters, reads a bounded part of it.

use std::collections::HashMap;

use crate::limits::{SNIPPET_CHARS_MAX, SNIPPET_MARKS_MAX, SNIPPET_SCAN_BYTES_MAX};
use crate::text::{Analyzer, Kind, Tokens};

use super::collect::Ranked;
use super::near::{Places, near};
use super::plan::{Sought, Words};

/// Matches that are looked at in one text; more of them show nothing new.
const MATCHES_MAX: usize = 2_000;
/// A snippet may begin or end this far from where it was meant to, to keep words whole.
const SNAP_CHARS_MAX: usize = 20;

/// What to look for in a text.
#[derive(Default)]
pub(super) struct Needles {
    tokens: HashMap<String, u64>,
    phrases: Vec<(Words, u64)>,
    /// Phrases whose words may be out of place, by so much.
    loose: Vec<(Words, u32, u64)>,
    /// How much each term tells, by bit.
    weights: Vec<f32>,
}

/// A piece of text with marked places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snippet {
    pub(super) text: String,
    /// From and to, in characters.
    pub(super) highlights: Vec<[usize; 2]>,
}

/// One place where a term stands.
#[derive(Clone, Copy, Debug)]
struct Match {
    from: usize,
    to: usize,
    /// The same in characters.
    char_from: usize,
    char_to: usize,
    position: usize,
    terms: u64,
}

impl Needles {
    pub(super) fn of(ranked: &Ranked<'_>) -> Self {
        let mut needles = Self { weights: vec![0.0; ranked.plan.terms.len()], ..Self::default() };
        for list in &ranked.lists {
            for (bit, weight) in needles.weights.iter_mut().enumerate() {
                if list.list.terms >> bit & 1 == 1 {
                    *weight = weight.max(list.worth.idf);
                }
            }
        }
        for list in &ranked.plan.lists {
            match &list.sought {
                Sought::Token(token) => needles.token(token, list.terms),
                Sought::Forms(forms) => {
                    forms.forms.iter().for_each(|(token, _)| needles.token(token, list.terms));
                }
                Sought::Pattern(..) | Sought::Sessions(..) => {}
                Sought::Phrase(phrase, 0) => needles.phrases.push((phrase.clone(), list.terms)),
                Sought::Phrase(phrase, slop) => needles.loose.push((phrase.clone(), *slop, list.terms)),
            }
        }
        needles
    }

    fn token(&mut self, token: &str, terms: u64) {
        *self.tokens.entry(token.to_owned()).or_default() |= terms;
    }

    /// Returns the best piece of a text; its beginning if nothing is found in the part read.
    pub(super) fn snippet(&self, analyzer: &mut Analyzer, text: &str) -> Snippet {
        let read = &text[..text.floor_char_boundary(SNIPPET_SCAN_BYTES_MAX)];
        let matches = self.matches(analyzer.tokens(read), read);
        let shown = self.best(&matches);
        cut(text, shown)
    }

    fn matches(&self, mut tokens: Tokens<'_>, text: &str) -> Vec<Match> {
        let mut found = Vec::new();
        let mut phrases: Vec<Vec<PhraseState>> = vec![Vec::new(); self.phrases.len()];
        let mut loose: Vec<LooseWords> =
            self.loose.iter().map(|(phrase, ..)| vec![Vec::new(); phrase.len()]).collect();
        while let Some(token) = tokens.advance() {
            if found.len() >= MATCHES_MAX {
                break;
            }
            let mut add = |from, position, terms| {
                found.push(Match { from, to: token.to, char_from: 0, char_to: 0, position, terms });
            };
            if let Some(terms) = self.tokens.get(token.text) {
                add(token.from, token.position, *terms);
            }
            if token.kind == Kind::Whole {
                continue;
            }
            for ((phrase, terms), states) in self.phrases.iter().zip(&mut phrases) {
                states.retain_mut(|state| state.accepts(phrase, token.position, token.text));
                if phrase[0].1 == token.text {
                    states.push(PhraseState { from: token.from, position: token.position, next: 1 });
                }
                for state in states.iter().filter(|state| state.next == phrase.len()) {
                    add(state.from, state.position, *terms);
                }
                states.retain(|state| state.next < phrase.len());
            }
            for ((phrase, ..), words) in self.loose.iter().zip(&mut loose) {
                let same = phrase.iter().zip(words).filter(|((_, word), _)| word == token.text);
                for (_, places) in same.filter(|(_, places)| places.len() < MATCHES_MAX) {
                    places.push((token.from, token.to, token.position));
                }
            }
        }
        for ((phrase, slop, terms), words) in self.loose.iter().zip(&loose) {
            mark_near(phrase, *slop, words, |(from, to, position)| {
                found.push(Match { from, to, char_from: 0, char_to: 0, position, terms: *terms });
            });
        }
        found.sort_unstable_by_key(|found| (found.from, std::cmp::Reverse(found.to)));
        count_chars(&mut found, text);
        found
    }

    /// Returns the matches of the window that says most: distinct terms first, side by side better.
    fn best<'a>(&self, matches: &'a [Match]) -> &'a [Match] {
        let mut best = (0.0, 0..0);
        for start in 0..matches.len() {
            let inside = |found: &&Match| found.char_to <= matches[start].char_from + SNIPPET_CHARS_MAX;
            let end = start + matches[start..].iter().take_while(inside).count();
            let score = self.score(&matches[start..end]);
            if score > best.0 {
                best = (score, start..end);
            }
        }
        if best.1.is_empty() && !matches.is_empty() { &matches[..1] } else { &matches[best.1] }
    }

    fn score(&self, window: &[Match]) -> f32 {
        let weight = |terms: u64| -> f32 {
            let weights = self.weights.iter().enumerate();
            weights.filter(|(bit, _)| terms >> bit & 1 == 1).map(|(_, weight)| weight).sum()
        };
        let mut distinct = 0;
        let mut repeats = 0.0;
        let mut neighbours = 0.0;
        for (at, found) in window.iter().enumerate() {
            if found.terms & !distinct == 0 {
                repeats += 0.1 * weight(found.terms);
            }
            distinct |= found.terms;
            let before = at.checked_sub(1).map(|before| &window[before]);
            if before
                .is_some_and(|before| before.position + 1 == found.position && before.terms != found.terms)
            {
                neighbours += 0.5 * weight(found.terms);
            }
        }
        weight(distinct) + neighbours + f32::min(repeats, 0.3 * weight(distinct))
    }
}

/// Where each word of a phrase stands: from, to, and its place in the lane.
type LooseWords = Vec<Vec<(usize, usize, usize)>>;

/// Calls back with each word of the places where a phrase's words are near each other.
fn mark_near(
    phrase: &[(u32, String)],
    slop: u32,
    words: &LooseWords,
    mut mark: impl FnMut((usize, usize, usize)),
) {
    let position = |place: &(usize, usize, usize)| u32::try_from(place.2).unwrap_or(u32::MAX);
    let positions: Vec<Vec<u32>> = words.iter().map(|places| places.iter().map(position).collect()).collect();
    let places = phrase.iter().zip(&positions);
    let places: Vec<Places<'_>> =
        places.map(|((distance, _), positions)| Places { distance: *distance, positions }).collect();
    near(&places, slop, |at, _| words.iter().zip(at).for_each(|(places, at)| mark(places[*at])));
}

/// A phrase that has begun.
#[derive(Clone, Copy)]
struct PhraseState {
    from: usize,
    position: usize,
    next: usize,
}

impl PhraseState {
    /// Moves on if the token is the next of the phrase; tells whether the phrase may still come.
    fn accepts(&mut self, phrase: &[(u32, String)], position: usize, token: &str) -> bool {
        let (distance, wanted) = &phrase[self.next];
        let wanted_at = self.position + *distance as usize;
        if position == wanted_at && token == wanted {
            self.next += 1;
            return true;
        }
        position < wanted_at
    }
}

/// Fills in where matches stand in characters. They are sorted by where they begin.
fn count_chars(matches: &mut [Match], text: &str) {
    let (mut byte, mut char) = (0, 0);
    for found in matches {
        char += text[byte..found.from].chars().count();
        byte = found.from;
        found.char_from = char;
        found.char_to = char + text[found.from..found.to].chars().count();
    }
}

/// Cuts a text around the matches shown, with more after than before.
fn cut(text: &str, shown: &[Match]) -> Snippet {
    let (from, to) = match (shown.first(), shown.iter().map(|found| found.to).max()) {
        (Some(first), Some(to)) => (first.from, to),
        _ => (0, 0),
    };
    // A phrase may span any length of punctuation; a snippet may not.
    let longest = text[from..to].char_indices().nth(SNIPPET_CHARS_MAX).map_or(to, |(byte, _)| from + byte);
    let (to, used) = (longest, text[from..longest].chars().count());
    let spare = SNIPPET_CHARS_MAX.saturating_sub(used);
    let start = back(text, from, spare / 3);
    let left = spare - text[start..from].chars().count();
    let end = ahead(text, to, left);
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    let line: String = text[start..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut highlights: Vec<[usize; 2]> = Vec::new();
    let place = |byte: usize| before.chars().count() + text[start..byte].chars().count();
    for found in shown {
        let (from, to) = (place(found.from.min(end)), place(found.to.min(end)));
        if from == to {
            continue;
        }
        match highlights.last_mut() {
            Some(last) if from < last[1] => last[1] = last[1].max(to),
            _ => highlights.push([from, to]),
        }
    }
    highlights.truncate(SNIPPET_MARKS_MAX);
    Snippet { text: format!("{before}{line}{after}"), highlights }
}

/// Goes back some characters, then forward to the beginning of a word if one is near.
fn back(text: &str, from: usize, chars: usize) -> usize {
    let start = text[..from].char_indices().rev().take(chars).last().map_or(from, |(byte, _)| byte);
    if start == 0 {
        return 0;
    }
    let blank = text[start..from].char_indices().take(SNAP_CHARS_MAX).find(|(_, c)| c.is_whitespace());
    blank.map_or(start, |(byte, c)| start + byte + c.len_utf8())
}

/// Goes ahead some characters, then back to the end of a word if one is near.
fn ahead(text: &str, to: usize, chars: usize) -> usize {
    let end = text[to..].char_indices().nth(chars).map_or(text.len(), |(byte, _)| to + byte);
    if end == text.len() {
        return end;
    }
    let blank = text[to..end].char_indices().rev().take(SNAP_CHARS_MAX).find(|(_, c)| c.is_whitespace());
    blank.map_or(end, |(byte, _)| to + byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needles(tokens: &[&str], phrases: &[&[&str]]) -> Needles {
        let bit = |at: usize| 1_u64 << at;
        let phrase = |(at, words): (usize, &&[&str])| {
            let words = words.iter().enumerate();
            let words = words.map(|(at, word)| (u32::try_from(at).unwrap_or(0), (*word).to_owned()));
            (words.collect(), bit(tokens.len() + at))
        };
        Needles {
            tokens: tokens.iter().enumerate().map(|(at, token)| ((*token).to_owned(), bit(at))).collect(),
            phrases: phrases.iter().enumerate().map(phrase).collect(),
            weights: vec![1.0; tokens.len() + phrases.len()],
            loose: Vec::new(),
        }
    }

    /// Marks the highlighted places with brackets.
    fn show(snippet: &Snippet) -> String {
        let mut shown = String::new();
        for (at, c) in snippet.text.chars().enumerate() {
            shown.extend(snippet.highlights.iter().filter(|mark| mark[1] == at).map(|_| ']'));
            shown.extend(snippet.highlights.iter().filter(|mark| mark[0] == at).map(|_| '['));
            shown.push(c);
        }
        let length = snippet.text.chars().count();
        shown.extend(snippet.highlights.iter().filter(|mark| mark[1] == length).map(|_| ']'));
        shown
    }

    #[track_caller]
    fn check(needles: &Needles, text: &str, expected: &str) {
        assert_eq!(show(&needles.snippet(&mut Analyzer::default(), text)), expected);
    }

    #[test]
    fn words_are_marked_in_their_own_spelling() {
        check(&needles(&["lock", "order"], &[]), "took the Lock\norder", "took the [Lock] [order]");
    }

    #[test]
    fn a_phrase_is_marked_only_where_it_stands() {
        check(&needles(&[], &[&["记", "忆"]]), "记录忆，记忆", "记录忆，[记忆]");
    }

    #[test]
    fn words_out_of_place_are_marked_where_they_are_near() {
        let phrase = vec![(0, "lock".to_owned()), (1, "order".to_owned())];
        let needles = Needles { loose: vec![(phrase, 2, 1)], weights: vec![1.0], ..Needles::default() };
        check(&needles, "a lock, an order; lock", "a [lock], an [order]; [lock]");
        check(&needles, "a lock and no such order", "a lock and no such order");
    }

    #[test]
    fn the_window_with_most_words_wins() {
        let far = "x ".repeat(400);
        let text = format!("lock {far}lock order");
        let snippet = needles(&["lock", "order"], &[]).snippet(&mut Analyzer::default(), &text);
        assert!(show(&snippet).starts_with('…') && show(&snippet).ends_with("[lock] [order]"));
        assert!(snippet.text.chars().count() <= SNIPPET_CHARS_MAX + 2);
    }

    #[test]
    fn nothing_found_shows_the_beginning() {
        check(&needles(&["absent"], &[]), "short text", "short text");
    }

    #[test]
    fn stacked_tokens_make_one_mark() {
        check(&needles(&["check", "auth", "checkauth"], &[]), "call checkAuth()", "call [checkAuth]()");
    }

    #[test]
    fn marks_lie_inside_any_text() {
        let alphabet: Vec<char> = "ab .中文é😀\n\u{301}".chars().collect();
        let mut state = 11_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        let needles = needles(&["a", "中", "ab"], &[&["中", "文"]]);
        for _ in 0..5_000 {
            let length = random(600);
            let text: String = (0..length).map(|_| alphabet[random(alphabet.len())]).collect();
            let snippet = needles.snippet(&mut Analyzer::default(), &text);
            let chars = snippet.text.chars().count();
            assert!(snippet.highlights.iter().all(|[from, to]| from < to && *to <= chars), "{text:?}");
            assert!(snippet.highlights.windows(2).all(|pair| pair[0][1] <= pair[1][0]), "{text:?}");
        }
    }
}
