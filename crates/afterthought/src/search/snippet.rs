//! Cuts the place out of a text that shows best why it matched. Works on any text, counts characters.
//!
//! Only what lies around the places where a word may stand is analyzed, which shows what an analysis of the
//! whole text would. Where that is more than [`SNIPPET_ANALYZED_BYTES_MAX`], the stretches go first in which
//! most of the query may stand, and the best of those that were analyzed is shown. A phrase that more than a
//! kilobyte of signs tears apart is not seen.

use std::ops::Range;

use crate::limits::{
    SNIPPET_ANALYZED_BYTES_MAX, SNIPPET_CHARS_MAX, SNIPPET_MARKS_MAX, SNIPPET_SCAN_BYTES_MAX,
};
use crate::text::{Analyzer, Kind, Tokens};

use super::collect::Ranked;
use super::near::{Places, near};
use super::plan::{Sought, Words};
use super::spots::{Spot, Spots, border_after, border_before};

/// Matches that are looked at in one stretch; more of them show nothing new.
const MATCHES_MAX: usize = 2_000;
/// A stretch goes on so far behind the place where a word may stand, in bytes, and so far for each word of
/// the longest phrase.
const AHEAD_BYTES: usize = 160;
const AHEAD_BYTES_A_WORD: usize = 48;
/// What a term weighs at least.
const WEIGHT_MIN: f32 = 0.001;
/// A snippet may begin or end this far from where it was meant to, to keep words whole.
const SNAP_CHARS_MAX: usize = 20;

/// What to look for in a text.
#[derive(Default)]
pub(super) struct Needles {
    /// By token.
    tokens: Vec<(String, u64)>,
    phrases: Vec<(Words, u64)>,
    /// Phrases whose words may be out of place, by so much.
    loose: Vec<(Words, u32, u64)>,
    /// How much each term tells, by bit.
    weights: Vec<f32>,
    spots: Spots,
    /// How far a stretch goes on behind a spot, in bytes.
    ahead: usize,
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
        // What counts nothing is marked all the same.
        let weights = ranked.telling.iter().map(|telling| telling.max(WEIGHT_MIN)).collect();
        let mut needles = Self { weights, ..Self::default() };
        for list in &ranked.plan.lists {
            match &list.sought {
                Sought::Token(token) => needles.word(&[(token.clone(), 1.0)], list.terms),
                Sought::Forms(forms) => needles.word(&forms.tokens, list.terms),
                Sought::Pattern(..) | Sought::Sessions(..) => {}
                Sought::Phrase(phrase, slop) => needles.phrase(phrase, *slop, list.terms),
            }
        }
        needles.ready()
    }

    fn word(&mut self, forms: &[(String, f32)], terms: u64) {
        self.tokens.extend(forms.iter().map(|(form, _)| (form.clone(), terms)));
        self.spots.word(forms.iter().map(|(form, _)| form.as_str()), terms);
    }

    fn phrase(&mut self, phrase: &Words, slop: u32, terms: u64) {
        if slop == 0 {
            self.spots.phrase(phrase, terms);
            self.phrases.push((phrase.clone(), terms));
        } else {
            for (_, word) in phrase {
                self.spots.word(std::iter::once(word.as_str()), terms);
            }
            self.loose.push((phrase.clone(), slop, terms));
        }
    }

    /// Puts in order what was added.
    fn ready(mut self) -> Self {
        self.tokens.sort_unstable();
        self.tokens.dedup_by(|(other, terms), (token, all)| {
            let is_same = other == token;
            *all |= if is_same { *terms } else { 0 };
            is_same
        });
        let words = self.phrases.iter().map(|(phrase, _)| phrase.len());
        let longest = words.chain(self.loose.iter().map(|(phrase, ..)| phrase.len())).max().unwrap_or(0);
        self.ahead = AHEAD_BYTES + AHEAD_BYTES_A_WORD * longest;
        let mut spots = std::mem::take(&mut self.spots);
        spots.sort(|terms| self.weight(terms));
        self.spots = spots;
        self
    }

    fn terms_of(&self, token: &str) -> Option<u64> {
        let at = self.tokens.binary_search_by(|(known, _)| known.as_str().cmp(token)).ok()?;
        Some(self.tokens[at].1)
    }

    fn weight(&self, mut terms: u64) -> f32 {
        let mut sum = 0.0;
        while terms != 0 {
            sum += self.weights.get(terms.trailing_zeros() as usize).copied().unwrap_or(0.0);
            terms &= terms - 1;
        }
        sum
    }

    /// Returns the best piece of a text, its beginning if nothing is found in the part read; and how many
    /// bytes of it were analyzed.
    pub(super) fn snippet(&self, analyzer: &mut Analyzer, text: &str) -> (Snippet, usize) {
        let read = &text[..text.floor_char_boundary(SNIPPET_SCAN_BYTES_MAX)];
        let stretches = self.stretches(read);
        let analyzed = stretches.iter().map(Range::len).sum();
        (cut(text, &self.best_of(analyzer, read, &stretches)), analyzed)
    }

    /// Returns the matches of the best window of some stretches of a text; of equals, of the first.
    fn best_of(&self, analyzer: &mut Analyzer, text: &str, stretches: &[Range<usize>]) -> Vec<Match> {
        let mut best = (-1.0, Vec::new());
        for stretch in stretches {
            let mut matches = self.matches(analyzer.tokens(&text[stretch.clone()]), &text[stretch.clone()]);
            let (score, window) = self.best(&matches);
            if score > best.0 && !window.is_empty() {
                matches = matches.drain(window).collect();
                for found in &mut matches {
                    (found.from, found.to) = (found.from + stretch.start, found.to + stretch.start);
                }
                best = (score, matches);
            }
        }
        best.1
    }

    /// Returns what to analyze of a text, in order.
    fn stretches(&self, text: &str) -> Vec<Range<usize>> {
        let spots = self.spots.in_text(text);
        let all = self.around(text, &spots);
        if all.iter().map(Range::len).sum::<usize>() <= SNIPPET_ANALYZED_BYTES_MAX {
            return all;
        }
        let mut spare = SNIPPET_ANALYZED_BYTES_MAX;
        let mut chosen: Vec<Range<usize>> = Vec::new();
        for window in self.windows(&spots) {
            let stretches = self.around(text, &spots[window]);
            let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { continue };
            let stretch = first.start..last.end;
            if chosen.iter().any(|other| other.start < stretch.end && stretch.start < other.end) {
                continue;
            }
            spare = spare.saturating_sub(stretch.len());
            if spare == 0 {
                break;
            }
            chosen.push(stretch);
        }
        chosen.sort_unstable_by_key(|stretch| stretch.start);
        chosen
    }

    /// Returns the stretches of text around spots. What may be in one snippet is in one stretch.
    fn around(&self, text: &str, spots: &[Spot]) -> Vec<Range<usize>> {
        let mut stretches: Vec<Range<usize>> = Vec::new();
        let mut last = 0;
        for spot in spots {
            let end = border_after(text, text.ceil_char_boundary((spot.last + self.ahead).min(text.len())));
            match stretches.last_mut() {
                Some(stretch) if spot.from <= stretch.end || is_near(text, last, spot.from) => {
                    stretch.end = stretch.end.max(end);
                }
                _ => stretches.push(border_before(text, spot.from)..end),
            }
            last = last.max(spot.last);
        }
        // The beginning of one may reach into the one before it.
        for at in (1..stretches.len()).rev() {
            if stretches[at].start < stretches[at - 1].end {
                stretches[at - 1].end = stretches[at].end;
                stretches.remove(at);
            }
        }
        stretches
    }

    /// Returns windows of spots as large as a snippet, those first that may hold most of the query.
    fn windows(&self, spots: &[Spot]) -> Vec<Range<usize>> {
        let mut windows: Vec<(f32, Range<usize>)> = Vec::new();
        let (mut end, mut held) = (0, [0_usize; 64]);
        let count = |spot: &Spot, add: bool, held: &mut [usize; 64]| {
            let mut terms = spot.terms;
            while terms != 0 {
                let bit = terms.trailing_zeros() as usize;
                held[bit] = if add { held[bit] + 1 } else { held[bit] - 1 };
                terms &= terms - 1;
            }
        };
        let (mut before, mut worth) = (0, 0.0);
        for start in 0..spots.len() {
            while end < spots.len() && spots[end].from <= spots[start].from + SNIPPET_CHARS_MAX {
                count(&spots[end], true, &mut held);
                end += 1;
            }
            let terms = held.iter().enumerate().fold(0, |all, (bit, n)| all | u64::from(*n > 0) << bit);
            if terms != before {
                (before, worth) = (terms, self.weight(terms));
            }
            windows.push((worth, start..end));
            count(&spots[start], false, &mut held);
        }
        windows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        windows.into_iter().map(|(_, window)| window).collect()
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
            if let Some(terms) = self.terms_of(token.text) {
                add(token.from, token.position, terms);
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

    /// Returns the window of matches that says most, and its score: distinct terms first, side by side
    /// better.
    fn best(&self, matches: &[Match]) -> (f32, Range<usize>) {
        let mut best = (0.0, 0..matches.len().min(1));
        let mut end = 0;
        for start in 0..matches.len() {
            end = end.max(start);
            let last = matches[start].char_from + SNIPPET_CHARS_MAX;
            while end < matches.len() && matches[end].char_to <= last {
                end += 1;
            }
            let score = self.score(&matches[start..end]);
            if score > best.0 {
                best = (score, start..end);
            }
        }
        best
    }

    fn score(&self, window: &[Match]) -> f32 {
        let weight = |terms: u64| self.weight(terms);
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

/// Tells whether two places may be in one snippet.
fn is_near(text: &str, from: usize, to: usize) -> bool {
    from >= to || to - from <= 4 * SNIPPET_CHARS_MAX && text[from..to].chars().count() <= SNIPPET_CHARS_MAX
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
        let mut needles = Needles { weights: vec![1.0; tokens.len() + phrases.len()], ..Needles::default() };
        for (at, token) in tokens.iter().enumerate() {
            needles.word(&[((*token).to_owned(), 1.0)], 1 << at);
        }
        for (at, words) in phrases.iter().enumerate() {
            needles.phrase(&phrase(words), 0, 1 << (tokens.len() + at));
        }
        needles.ready()
    }

    fn phrase(words: &[&str]) -> Words {
        let words = words.iter().enumerate();
        words.map(|(at, word)| (u32::try_from(at).unwrap_or(0), (*word).to_owned())).collect()
    }

    fn snippet(needles: &Needles, text: &str) -> Snippet {
        needles.snippet(&mut Analyzer::default(), text).0
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
        assert_eq!(show(&snippet(needles, text)), expected);
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
        let mut needles = Needles { weights: vec![1.0], ..Needles::default() };
        needles.phrase(&phrase(&["lock", "order"]), 2, 1);
        let needles = needles.ready();
        check(&needles, "a lock, an order; lock", "a [lock], an [order]; [lock]");
        check(&needles, "a lock and no such order", "a lock and no such order");
    }

    #[test]
    fn the_window_with_most_words_wins() {
        let far = "x ".repeat(400);
        let text = format!("lock {far}lock order");
        let snippet = snippet(&needles(&["lock", "order"], &[]), &text);
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
            let snippet = snippet(&needles, &text);
            let chars = snippet.text.chars().count();
            assert!(snippet.highlights.iter().all(|[from, to]| from < to && *to <= chars), "{text:?}");
            assert!(snippet.highlights.windows(2).all(|pair| pair[0][1] <= pair[1][0]), "{text:?}");
        }
    }

    /// Words in the spellings that fold to them, signs, other scripts, and what may confuse a search of bytes.
    const PIECES: &str = "lock Lock LOCK lo\u{301}ck l-ock lo_ck lo’ck ｌｏｃｋ blocked unlock lockOrder orderLock \
        HTTPLock ORDER order's o\u{AD}rder or-der ord10 10lock \\nlock C:\\new\\lock checkAuth check_auth \
        check-auth CHECKAUTH chéck_auth an94 AN-94 a-n94 utf-8 v2.5.1 2.5.1 12.5.1 .env a.env C++ c# Straße \
        strasse ﬁle file Café cafe CAFE\u{301} ещё Еще ЕЩЁ ще щека за\u{301}мок замок ЗАМОК 记忆 记，忆 忆记忆 \
        北京大学 北京 京都 カナ ｶﾅ かな\u{3099} 한국 \u{1112}\u{1161}\u{11AB}국 ไทย كِتَاب كتاب हिन्दी 😀 👍🏽 👨\u{200D}💻 \
        ㎏ 10㎏ x² — … “lock” (order), [file]; {cafe} <lock> =order &amp; a/lock.rs dev@lock.com --order \
        don't don’t dont 1,234 lock，order。 用lock写 lockом";

    fn random_text(random: &mut impl FnMut(usize) -> usize, pieces: usize) -> String {
        let known: Vec<&str> = PIECES.split_whitespace().collect();
        let joins = [" ", " ", "\n", "", ", ", "\t", "-", "。", " x ", " and so on and on "];
        let mut text = String::new();
        for _ in 0..pieces {
            text += if random(4) == 0 { "filler" } else { known[random(known.len())] };
            text += joins[random(joins.len())];
        }
        text
    }

    #[test]
    fn what_is_analyzed_shows_what_the_whole_text_would() {
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        let words = [
            "lock",
            "order",
            "checkauth",
            "check",
            "auth",
            "an94",
            "utf8",
            "2.5.1",
            ".env",
            "c++",
            "strasse",
            "file",
            "cafe",
            "еще",
            "замок",
            "记",
            "北京",
            "カ",
            "한국",
            "한",
            "ไ",
            "كتاب",
            "हिन्दी",
            "😀",
            "👨💻",
            "kg",
            "10kg",
            "dont",
            "ord10",
            "nlock",
            "ом",
        ];
        let phrases: [&[&str]; 6] = [
            &["lock", "order"],
            &["记", "忆"],
            &["カ", "ナ"],
            &["check", "auth"],
            &["ไ", "ท", "ย"],
            &["a", "lock", "rs"],
        ];
        let mut analyzer = Analyzer::default();
        let mut found = 0;
        for round in 0..4_000 {
            let chosen: Vec<&str> = (0..=random(4)).map(|_| words[random(words.len())]).collect();
            let phrases: Vec<&[&str]> = (0..random(3)).map(|_| phrases[random(phrases.len())]).collect();
            let needles = needles(&chosen, &phrases);
            let pieces = if round % 10 == 0 { 600 } else { 40 };
            let length = 1 + random(pieces);
            let text = random_text(&mut random, length);
            let text = &text[..text.floor_char_boundary(SNIPPET_ANALYZED_BYTES_MAX)];
            let whole =
                cut(text, &needles.best_of(&mut analyzer, text, std::slice::from_ref(&(0..text.len()))));
            found += usize::from(!whole.highlights.is_empty());
            let (quick, _) = needles.snippet(&mut analyzer, text);
            assert_eq!(show(&quick), show(&whole), "{chosen:?} {phrases:?} in {text:?}");
        }
        assert!(found > 2_000, "{found}");
    }

    #[test]
    fn a_large_text_costs_no_more_than_its_bound() {
        let line = "an order of lock and lock, ";
        let text = line.repeat(SNIPPET_SCAN_BYTES_MAX / line.len()) + "the very end";
        let (_, analyzed) = needles(&["lock", "order"], &[]).snippet(&mut Analyzer::default(), &text);
        assert!((1..=SNIPPET_ANALYZED_BYTES_MAX).contains(&analyzed));
        // What is rare in it is found, with what is frequent beside it.
        let text = line.repeat(10_000) + "the kestrel and an order, " + &line.repeat(10_000);
        let needles = needles(&["lock", "order", "kestrel"], &[]);
        let (snippet, analyzed) = needles.snippet(&mut Analyzer::default(), &text);
        assert!(
            analyzed <= SNIPPET_ANALYZED_BYTES_MAX && show(&snippet).contains("[lock], the [kestrel] and")
        );
        let text = "filler ".repeat(100_000) + "kestrel";
        let (_, analyzed) = needles.snippet(&mut Analyzer::default(), &text);
        assert!(analyzed < 1_000);
    }
}
