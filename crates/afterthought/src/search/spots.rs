//! Finds cheaply where in a text the words of a query may stand: a superset of where the analysis of the
//! text would find them. Compares bytes and analyzes nothing.
//!
//! A token is what its source folds to. Most sources fold letter by letter, in ways that are few: capitals,
//! the joiners of a name, `ё`. Those are looked for as they stand. Words with any other letter (accents,
//! ligatures, wide letters, marks) are folded one by one, and looked at then.

use memchr::memmem::Finder;
use memchr::{memchr_iter, memchr2_iter};

use crate::limits::SNIPPET_SCAN_BYTES_MAX;
use crate::text::fold;

/// Places of one word that are looked at; more of them show nothing new.
const SPOTS_MAX: usize = 2_000;
/// Further ones are looked for so far around the places of other words, in bytes.
const NEAR_BYTES: usize = 512;
/// Words with letters that do not fold one by one that are looked at in one text.
const FOLDED_WORDS_MAX: usize = 4_096;
/// Longest stretch that is folded at once, in bytes, and how much of it the next one repeats: more than any
/// token has.
const FOLDED_BYTES_MAX: usize = 512;
const FOLDED_BYTES_AGAIN: usize = 160;
/// Text that is looked through for words, once for each of them, in bytes: 32 times the longest. Those that
/// tell most come first.
const SOUGHT_BYTES_MAX: usize = 32 * SNIPPET_SCAN_BYTES_MAX;
/// Forms of a word that are looked for one by one; more of them are by what they have in common.
const FORMS_MAX: usize = 4;

/// Where a word of the query may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// It begins here or later,
    pub(super) from: usize,
    /// and here or earlier.
    pub(super) last: usize,
    /// The terms that it would be.
    pub(super) terms: u64,
}

/// What is looked for.
#[derive(Default)]
pub(super) struct Spots {
    anchors: Vec<Anchor>,
}

/// A word, or what words begin with.
struct Anchor {
    folded: String,
    terms: u64,
    way: Way,
}

/// How an anchor is looked for where letters fold one by one.
enum Way {
    /// ASCII: by the letter that is rarest in most texts.
    Rarest(usize),
    /// Others: every way to write its beginning.
    Spellings(Vec<Finder<'static>>),
}

impl Anchor {
    /// Adds where it stands in a part of a text that begins at `offset`, so many places at most.
    fn look_in(&self, text: &[u8], offset: usize, most: usize, spots: &mut Vec<Spot>) {
        let found = spots.len();
        let mut add = |at: usize| {
            let from = offset + at;
            spots.push(Spot { from, last: from, terms: self.terms });
            spots.len() < found + most
        };
        match &self.way {
            Way::Rarest(rarest) => plain_spots(text, self.folded.as_bytes(), *rarest, add),
            Way::Spellings(spellings) => {
                for spelling in spellings {
                    // Stops at the bound; the next spelling adds one more.
                    let _all = spelling.find_iter(text).try_for_each(|at| add(at).then_some(()));
                }
            }
        }
    }
}

impl Spots {
    /// Looks for one word or several forms of it.
    pub(super) fn word<'a>(&mut self, forms: impl Iterator<Item = &'a str> + Clone, terms: u64) {
        let count = forms.clone().take(FORMS_MAX + 1).count();
        if count <= FORMS_MAX {
            return forms.for_each(|form| self.anchor(form, terms));
        }
        // Near spellings have little in common, and are many: what three letters begin is enough.
        let common = forms.clone().reduce(common_prefix).unwrap_or_default();
        if common.chars().nth(2).is_some() {
            return self.anchor(common, terms);
        }
        let mut beginnings: Vec<&str> = forms.map(|form| prefix(form, 3)).collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        for beginning in beginnings {
            self.anchor(beginning, terms);
        }
    }

    /// Looks for a phrase: characters side by side are sought as they stand, else its first word.
    pub(super) fn phrase(&mut self, phrase: &[(u32, String)], terms: u64) {
        let [(_, first), rest @ ..] = phrase else { return };
        let is_solo = |token: &str| token.chars().all(|c| is_plain(c) && !c.is_ascii() && !has_case(c));
        match rest {
            [(1, second), ..] if is_solo(first) && is_solo(second) => {
                self.anchor(&format!("{first}{second}"), terms);
            }
            _ => self.anchor(first, terms),
        }
    }

    fn anchor(&mut self, folded: &str, terms: u64) {
        if folded.is_empty() {
            return;
        }
        if let Some(anchor) = self.anchors.iter_mut().find(|anchor| anchor.folded == folded) {
            anchor.terms |= terms;
            return;
        }
        let way = if folded.is_ascii() {
            let rarity = |(_, byte): &(usize, &u8)| COMMON.iter().position(|common| common == *byte);
            // The commonest letter stands last; what is not among them is rarest.
            let rarest =
                folded.as_bytes().iter().enumerate().min_by_key(|at| rarity(at).map_or(0, |at| at + 1));
            Way::Rarest(rarest.map_or(0, |(at, _)| at))
        } else {
            Way::Spellings(
                spellings(folded).iter().map(|spelling| Finder::new(spelling).into_owned()).collect(),
            )
        };
        self.anchors.push(Anchor { folded: folded.to_owned(), terms, way });
    }

    /// Puts the words that tell most first.
    pub(super) fn sort(&mut self, tells: impl Fn(u64) -> f32) {
        self.anchors.sort_by(|a, b| tells(b.terms).total_cmp(&tells(a.terms)));
    }

    /// Returns where any of it may stand, in order. Of a word that stands there very often these are the first
    /// places, and those near other words.
    pub(super) fn in_text(&self, text: &str) -> Vec<Spot> {
        let (mut spots, mut sure, mut cut) = (Vec::new(), Vec::new(), Vec::new());
        for anchor in self.anchors.iter().take(SOUGHT_BYTES_MAX / text.len().max(1)) {
            let found = spots.len();
            anchor.look_in(text.as_bytes(), 0, SPOTS_MAX, &mut spots);
            match spots.last().filter(|_| spots.len() >= found + SPOTS_MAX) {
                Some(last) => cut.push((anchor, last.from + 1)),
                None => sure.extend(spots[found..].iter().map(|spot| spot.from)),
            }
        }
        sure.sort_unstable();
        for (anchor, mut next) in cut {
            for at in &sure {
                let to = (at + NEAR_BYTES).min(text.len());
                let from = at.saturating_sub(NEAR_BYTES).max(next);
                if from < to {
                    anchor.look_in(&text.as_bytes()[from..to], from, NEAR_BYTES, &mut spots);
                    next = to;
                }
            }
        }
        if !text.is_ascii() {
            self.folded_spots(text, &mut spots);
        }
        spots.sort_unstable_by_key(|spot| (spot.from, spot.last));
        spots
    }

    /// Adds the words that have letters which do not fold one by one.
    fn folded_spots(&self, text: &str, spots: &mut Vec<Spot>) {
        let mut at = 0;
        for _ in 0..FOLDED_WORDS_MAX {
            let Some(strange) = next_strange(text, at) else { return };
            let (from, to) = (border_before(text, strange), border_after(text, strange));
            let folded = fold(&text[from..to]);
            let bare: String = folded.chars().filter(|c| !is_joiner(*c)).collect();
            let holds = |anchor: &&Anchor| bare.contains(&anchor.folded) || folded.contains(&anchor.folded);
            let terms = self.anchors.iter().filter(holds).fold(0, |terms, anchor| terms | anchor.terms);
            if terms != 0 {
                spots.push(Spot { from, last: to, terms });
            }
            let is_cut = to - from >= FOLDED_BYTES_MAX;
            at = if is_cut { text.floor_char_boundary(to - FOLDED_BYTES_AGAIN).max(strange + 1) } else { to };
            at = text.ceil_char_boundary(at);
        }
    }
}

/// The letters of running text, the rarest first.
const COMMON: &[u8] = b"jqxzkvwybpgfmucdhl0123456789rsnioate";

/// Calls back with where a word of ASCII begins, in any case, with joiners between its letters; until
/// that is enough.
fn plain_spots(text: &[u8], word: &[u8], rarest: usize, mut add: impl FnMut(usize) -> bool) {
    let byte = word[rarest];
    let mut check = |at: usize| {
        let begins = start_of(text, &word[..rarest], at).filter(|start| may_begin(text, *start));
        match begins {
            Some(start) if holds_rest(text, &word[rarest + 1..], at + 1) => add(start),
            _ => true,
        }
    };
    let upper = byte.to_ascii_uppercase();
    if upper == byte {
        let _all = memchr_iter(byte, text).try_for_each(|at| check(at).then_some(()));
    } else {
        let _all = memchr2_iter(byte, upper, text).try_for_each(|at| check(at).then_some(()));
    }
}

/// Goes back over a beginning that ends at `at`, and over joiners in it. Returns where it starts.
fn start_of(text: &[u8], beginning: &[u8], mut at: usize) -> Option<usize> {
    for wanted in beginning.iter().rev() {
        loop {
            let byte = *text.get(at.checked_sub(1)?)?;
            if byte.eq_ignore_ascii_case(wanted) {
                at -= 1;
                break;
            }
            at -= joiner_before(text, at)?;
        }
    }
    Some(at)
}

/// Tells whether the rest of a word stands at `at`, joiners between its letters or not.
fn holds_rest(text: &[u8], rest: &[u8], mut at: usize) -> bool {
    for wanted in rest {
        loop {
            match text.get(at) {
                Some(byte) if byte.eq_ignore_ascii_case(wanted) => break at += 1,
                Some(_) => match joiner_at(text, at) {
                    Some(width) => at += width,
                    None => return false,
                },
                None => return false,
            }
        }
    }
    true
}

fn joiner_at(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at..)? {
        [b'-' | b'_' | b'\'', ..] => Some(1),
        [0xE2, 0x80, 0x90 | 0x91 | 0x99 | 0x8C, ..] => Some(3),
        _ => None,
    }
}

fn joiner_before(text: &[u8], at: usize) -> Option<usize> {
    match text.get(..at)? {
        [.., b'-' | b'_' | b'\''] => Some(1),
        [.., 0xE2, 0x80, 0x90 | 0x91 | 0x99 | 0x8C] => Some(3),
        _ => None,
    }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '-' | '_' | '\'' | '\u{2010}' | '\u{2011}' | '\u{2019}' | '\u{200C}')
}

/// Tells whether a token may begin here: a small letter goes on with the word before it, but after `\n`
/// that is text.
fn may_begin(text: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map_or(b' ', |at| text[at]);
    let is_inside = text[at].is_ascii_lowercase() && before(1).is_ascii_alphanumeric();
    !is_inside || before(2) == b'\\' && matches!(before(1), b'n' | b'r' | b't')
}

/// Returns every way to write the beginning of a word whose letters fold one by one.
fn spellings(folded: &str) -> Vec<String> {
    let mut spellings = vec![String::new()];
    // Two letters are rare enough; a character that has no case may be followed by what shapes it.
    let letters = if folded.chars().take(2).all(is_plain) { 2 } else { 1 };
    for letter in folded.chars().take(letters) {
        let ways = ways(letter);
        let longer = spellings.iter().flat_map(|before| ways.iter().map(move |way| format!("{before}{way}")));
        spellings = longer.collect();
    }
    spellings
}

/// Returns the characters that fold to this one alone.
fn ways(letter: char) -> Vec<char> {
    let mut ways = vec![letter];
    ways.extend(letter.to_uppercase().filter(|capital| *capital != letter));
    if letter == 'е' {
        ways.extend(['ё', 'Ё']);
    }
    ways
}

fn has_case(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase()
}

fn common_prefix<'a>(a: &'a str, b: &'a str) -> &'a str {
    let same = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b);
    let end = same.map_or(a.len().min(b.len()), |((at, _), _)| at);
    &a[..a.floor_char_boundary(end)]
}

fn prefix(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// Returns where the next character stands that does not fold by itself.
fn next_strange(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        if bytes[at].is_ascii() {
            at += 1;
            continue;
        }
        let c = text[at..].chars().next()?;
        if !is_plain(c) {
            return Some(at);
        }
        at += c.len_utf8();
    }
    None
}

/// Tells whether a character folds by itself, to itself or its small letter, or is in no token.
fn is_plain(c: char) -> bool {
    matches!(u32::from(c),
        0..=0x7F
        // Signs of Latin-1 that separate.
        | 0xA0 | 0xA7 | 0xAB | 0xB0 | 0xB1 | 0xB6 | 0xB7 | 0xBB | 0xD7
        // Russian.
        | 0x0401 | 0x0410..=0x044F | 0x0451
        // Blanks, dashes and quotes; among them joiners, which are passed over.
        | 0x2000..=0x200A | 0x200C | 0x2010..=0x2027 | 0x2030..=0x203A
        // Arrows, boxes, and the signs between.
        | 0x2190..=0x2319 | 0x2500..=0x25FF
        // Signs between Chinese and Japanese words, their characters, Korean syllables.
        | 0x3001..=0x3003 | 0x3008..=0x3011 | 0x3041..=0x3096 | 0x30A1..=0x30FA | 0x30FC
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3
        | 0xFF01 | 0xFF08 | 0xFF09 | 0xFF0C | 0xFF1A | 0xFF1B | 0xFF1F
        // Pictures, but for skin tones.
        | 0x1F300..=0x1F3FA | 0x1F400..=0x1FAFF
    )
}

/// Returns where the stretch around a place begins, at what separates tokens wherever it stands.
pub(super) fn border_before(text: &str, at: usize) -> usize {
    let least = text.floor_char_boundary(at.saturating_sub(FOLDED_BYTES_MAX));
    let border = text[least..at].char_indices().rev().find(|(_, c)| separates(*c));
    border.map_or(least, |(before, _)| least + before)
}

/// Returns where the stretch around a place ends, behind what separates tokens wherever it stands.
pub(super) fn border_after(text: &str, at: usize) -> usize {
    let most = text.ceil_char_boundary((at + FOLDED_BYTES_MAX).min(text.len()));
    let border = text[at..most].char_indices().find(|(_, c)| separates(*c));
    border.map_or(most, |(after, c)| at + after + c.len_utf8())
}

/// Tells whether no token and no rule about what joins tokens reaches over a character.
fn separates(c: char) -> bool {
    match c {
        '_' | '-' | '.' | '/' | '\\' | ':' | '@' | '\'' | '+' | '#' => false,
        _ if c.is_ascii() => !c.is_ascii_alphanumeric(),
        '\u{3001}' | '\u{3002}' | '\u{FF01}' | '\u{FF0C}' | '\u{FF1A}' | '\u{FF1B}' | '\u{FF1F}' => true,
        _ => false,
    }
}
