//! The token stream. One lane of smallest parts, one position each; longer forms are stacked on
//! the position of their first part, so a phrase over the lane meets every spelling:
//!
//! ```text
//! check_auth.rs   check_auth.rs@0+3  check_auth@0+2  check@0  auth@1  rs@2
//! 北京大学         北@0  北京@0+2  北京大学@0+4  京@1  大@2  大学@2+2  学@3
//! ```
//!
//! Positions never decrease, offsets lie on character borders of the source, and a token is
//! bounded in length, so a 5 MB line costs one pass and a few tokens.

use std::ops::Range;

use crate::limits::{TOKEN_PART_BYTES_MAX, TOKEN_WHOLE_BYTES_MAX};

use super::class::{ASCII, Class, Script, class_at};
use super::fold::fold_into;
use super::segment::nested_words;

/// Joiners in a row that still join: `::`, `://`, `../`.
const JOINERS_MAX: usize = 3;
/// Parts after which a chunk of joined words is cut, so that no chunk is unbounded.
const CHUNK_PARTS_MAX: usize = 32;
/// Parts after which one atom is cut: no name has that many, and a line of noise does.
const ATOM_PARTS_MAX: usize = 64;
/// Characters of one script after which a run goes on as another.
const RUN_CHARS_MAX: usize = 2_048;
/// Longest run of Kana or Hangul that is kept whole beside its characters.
const RUN_WHOLE_CHARS_MAX: usize = 16;

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word or a smallest part of an identifier: in the lane.
    Word,
    /// One character of a script without spaces: in the lane.
    Solo,
    /// An identifier, path, address or dictionary word as a whole: stacked on the lane.
    Whole,
}

/// One token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// The folded text.
    pub text: &'t str,
    /// Where it begins in the source, in bytes.
    pub from: usize,
    /// Where it ends in the source, in bytes.
    pub to: usize,
    /// Its place in the lane.
    pub position: usize,
    /// How many places of the lane it covers.
    pub span: usize,
    /// What it stands for.
    pub kind: Kind,
}

/// The analysis of text, with its buffers. Cheap to clone; keep one per thread.
#[derive(Clone, Default)]
pub struct Analyzer {
    queue: Vec<Queued>,
    folded: String,
    parts: Vec<Range<usize>>,
    atoms: Vec<Atom>,
}

impl Analyzer {
    /// Starts the token stream of a text. Lazy: cost follows the tokens taken.
    pub fn tokens<'a>(&'a mut self, source: &'a str) -> Tokens<'a> {
        self.queue.clear();
        self.folded.clear();
        Tokens { source, at: 0, position: 0, solo_end: None, next: 0, scratch: self }
    }
}

#[derive(Clone, Copy)]
struct Queued {
    folded: (usize, usize),
    from: usize,
    to: usize,
    position: usize,
    span: usize,
    kind: Kind,
}

/// A stretch between joiners, as its range of `parts`.
#[derive(Clone)]
struct Atom {
    source: Range<usize>,
    parts: Range<usize>,
}

/// A token stream over one text.
pub struct Tokens<'a> {
    source: &'a str,
    at: usize,
    position: usize,
    /// End of the last character token, to tell a run that goes on from one that was interrupted.
    solo_end: Option<usize>,
    next: usize,
    scratch: &'a mut Analyzer,
}

impl Tokens<'_> {
    /// Returns the next token, by position.
    pub fn advance(&mut self) -> Option<Token<'_>> {
        if self.next == self.scratch.queue.len() {
            self.refill()?;
        }
        let queued = self.scratch.queue[self.next];
        self.next += 1;
        Some(Token {
            text: &self.scratch.folded[queued.folded.0..queued.folded.1],
            from: queued.from,
            to: queued.to,
            position: queued.position,
            span: queued.span,
            kind: queued.kind,
        })
    }

    fn refill(&mut self) -> Option<()> {
        self.scratch.queue.clear();
        self.scratch.folded.clear();
        self.next = 0;
        while self.scratch.queue.is_empty() {
            let (class, width) = class_at(self.source, self.at)?;
            match class {
                Class::Separator | Class::Joiner | Class::Apostrophe | Class::Mark => self.at += width,
                Class::Emoji => self.emoji(width),
                Class::Solo(_) => self.solo_run(),
                Class::Lower | Class::Upper | Class::Digit => {
                    if !self.plain_word() {
                        self.chunk();
                    }
                }
            }
        }
        Some(())
    }

    fn push(&mut self, source: Range<usize>, position: usize, span: usize, kind: Kind) {
        let start = self.scratch.folded.len();
        fold_into(&self.source[source.clone()], &mut self.scratch.folded);
        let end = self.scratch.folded.len();
        if start < end {
            let folded = (start, end);
            self.scratch.queue.push(Queued {
                folded,
                from: source.start,
                to: source.end,
                position,
                span,
                kind,
            });
        }
    }

    fn emoji(&mut self, width: usize) {
        self.push(self.at..self.at + width, self.position, 1, Kind::Word);
        self.position += 1;
        self.at += width;
    }

    /// Cuts a run of scripts without spaces by character, and stacks the words found in it.
    fn solo_run(&mut self) {
        // "记，忆" holds no 记忆: an interrupted run leaves a gap that no phrase crosses.
        if self.solo_end.is_some_and(|end| end != self.at) {
            self.position += 1;
        }
        if let Some((Class::Solo(script), _)) = class_at(self.source, self.at) {
            let chars = self.script_run(script);
            self.script_tokens(script, &chars);
            self.position += chars.len();
        }
        self.solo_end = Some(self.at);
    }

    /// Moves past one run of one script; returns the source range of each of its characters.
    fn script_run(&mut self, script: Script) -> Vec<Range<usize>> {
        let mut chars = Vec::new();
        while let Some((class, width)) = class_at(self.source, self.at) {
            if class != Class::Solo(script) || chars.len() == RUN_CHARS_MAX {
                break;
            }
            chars.push(self.at..self.at + width);
            self.at += width;
        }
        chars
    }

    fn script_tokens(&mut self, script: Script, chars: &[Range<usize>]) {
        let whole = |range: &Range<usize>| chars[range.start].start..chars[range.end - 1].end;
        let mut words = Vec::new();
        match script {
            Script::Han if chars.len() > 1 => {
                nested_words(&self.source[whole(&(0..chars.len()))], |range| words.push(range));
            }
            Script::Kana | Script::Hangul if (2..=RUN_WHOLE_CHARS_MAX).contains(&chars.len()) => {
                words.push(0..chars.len());
            }
            _ => {}
        }
        let mut words = words.into_iter().peekable();
        for (index, char) in chars.iter().enumerate() {
            self.push(char.clone(), self.position + index, 1, Kind::Solo);
            while let Some(range) = words.next_if(|range| range.start == index) {
                self.push(whole(&range), self.position + index, range.len(), Kind::Whole);
            }
        }
    }

    /// Takes `word`, `Word` or `42` before an ASCII separator, which is most of prose, without
    /// the care that identifiers need. Returns whether it did.
    fn plain_word(&mut self) -> bool {
        let bytes = self.source.as_bytes();
        let start = self.at;
        let mut end = start;
        if bytes[end].is_ascii_digit() {
            while end < bytes.len() && bytes[end].is_ascii_digit() {
                end += 1;
            }
        } else {
            end += usize::from(bytes[end].is_ascii_uppercase());
            while end < bytes.len() && bytes[end].is_ascii_lowercase() {
                end += 1;
            }
        }
        let length = end - start;
        if length == 0 || length > TOKEN_PART_BYTES_MAX || !ends_word(bytes, end, length) {
            return false;
        }
        let folded_start = self.scratch.folded.len();
        self.scratch.folded.push_str(&self.source[start..end]);
        self.scratch.folded[folded_start..].make_ascii_lowercase();
        let folded = (folded_start, self.scratch.folded.len());
        self.scratch.queue.push(Queued {
            folded,
            from: start,
            to: end,
            position: self.position,
            span: 1,
            kind: Kind::Word,
        });
        self.position += 1;
        self.at = end;
        true
    }

    /// Cuts joined words (an identifier, a path, an address, a version) into the lane, and
    /// stacks each atom and the whole.
    fn chunk(&mut self) {
        let start = self.at;
        let end = self.cut_chunk();
        let lane = self.scratch.parts.len();
        let atoms = std::mem::take(&mut self.scratch.atoms);
        let parts = std::mem::take(&mut self.scratch.parts);
        if atoms.len() > 1 && end - start <= TOKEN_WHOLE_BYTES_MAX {
            self.push(start..end, self.position, lane, Kind::Whole);
        }
        for atom in &atoms {
            let position = self.position + atom.parts.start;
            if atom.parts.len() > 1 && atom.source.len() <= TOKEN_WHOLE_BYTES_MAX {
                self.push(atom.source.clone(), position, atom.parts.len(), Kind::Whole);
            }
            for (index, part) in parts[atom.parts.clone()].iter().enumerate() {
                self.part(part.clone(), position + index, atoms.len() > 1);
            }
        }
        self.position += lane;
        (self.scratch.atoms, self.scratch.parts) = (atoms, parts);
    }

    fn part(&mut self, source: Range<usize>, position: usize, in_chunk: bool) {
        let bytes = &self.source.as_bytes()[source.clone()];
        // v2.5.1 is found as 2.5.1: the lane takes the number, v2 is stacked on it.
        let is_short = (2..=TOKEN_PART_BYTES_MAX).contains(&bytes.len());
        if in_chunk && is_short && bytes[0] | 32 == b'v' && bytes[1..].iter().all(u8::is_ascii_digit) {
            self.push(source.start + 1..source.end, position, 1, Kind::Word);
            self.push(source, position, 1, Kind::Whole);
            return;
        }
        let end = floor_char(self.source, source.end.min(source.start + TOKEN_PART_BYTES_MAX));
        self.push(source.start..end, position, 1, Kind::Word);
    }

    /// Fills `parts` and `atoms` from the chunk at `at`, moves past it, and returns its end.
    fn cut_chunk(&mut self) -> usize {
        self.scratch.parts.clear();
        self.scratch.atoms.clear();
        let mut end;
        loop {
            end = self.cut_atom();
            let next = self.after_joiners(end);
            match next {
                Some(next) if self.scratch.parts.len() < CHUNK_PARTS_MAX => self.at = next,
                _ => break,
            }
        }
        self.at = self.at.max(end);
        end
    }

    /// Returns where the next atom begins if joiners, and nothing else, stand between.
    fn after_joiners(&self, mut at: usize) -> Option<usize> {
        let mut joiners = 0;
        loop {
            let (class, width) = class_at(self.source, at)?;
            match class {
                Class::Joiner if joiners < JOINERS_MAX => joiners += 1,
                Class::Lower | Class::Upper | Class::Digit if joiners > 0 => return Some(at),
                _ => return None,
            }
            at += width;
        }
    }

    /// Cuts one atom into parts at its changes of case, moves past it, and returns its end.
    fn cut_atom(&mut self) -> usize {
        let start = self.at;
        let first_part = self.scratch.parts.len();
        let mut part = start;
        let mut end = start;
        let mut before = Class::Separator;
        let mut capital = start;
        let mut capitals = 0;
        while let Some((class, width)) = class_at(self.source, end) {
            if self.scratch.parts.len() >= ATOM_PARTS_MAX {
                break;
            }
            match class {
                Class::Lower => {
                    // HTTPServer: the last capital of a row begins the next part.
                    if capitals >= 2 && capital - part >= 2 {
                        self.scratch.parts.push(part..capital);
                        part = capital;
                    }
                    capitals = 0;
                }
                Class::Upper => {
                    // One letter before a capital is no part: OAuth, iPhone.
                    if matches!(before, Class::Lower | Class::Digit) && end - part >= 2 {
                        self.scratch.parts.push(part..end);
                        part = end;
                        capitals = 0;
                    }
                    capitals += 1;
                    capital = end;
                }
                Class::Digit => capitals = 0,
                Class::Mark => {
                    end += width;
                    continue;
                }
                Class::Apostrophe => match self.after_apostrophe(end + width, before) {
                    AfterApostrophe::Letters(at) => {
                        end = at;
                        continue;
                    }
                    AfterApostrophe::Possessive(at) => {
                        self.at = at;
                        self.close_atom(start, end, part, first_part);
                        return end;
                    }
                    AfterApostrophe::Quote => break,
                },
                _ => break,
            }
            before = class;
            end += width;
        }
        end = self.sign_of_language(part, end);
        self.at = end;
        self.close_atom(start, end, part, first_part);
        end
    }

    fn close_atom(&mut self, start: usize, end: usize, part: usize, first_part: usize) {
        if is_hash(&self.source.as_bytes()[start..end]) {
            self.scratch.parts.truncate(first_part);
            self.scratch.parts.push(start..end);
        } else {
            self.scratch.parts.push(part..end);
        }
        self.scratch.atoms.push(Atom { source: start..end, parts: first_part..self.scratch.parts.len() });
    }

    fn after_apostrophe(&self, at: usize, before: Class) -> AfterApostrophe {
        let is_letter = |class| matches!(class, Class::Lower | Class::Upper);
        let class = |at| class_at(self.source, at).map(|(class, _)| class);
        if !is_letter(before) || !class(at).is_some_and(is_letter) {
            return AfterApostrophe::Quote;
        }
        let goes_on =
            |class| matches!(class, Class::Lower | Class::Upper | Class::Digit | Class::Joiner | Class::Mark);
        let is_s = self.source.as_bytes()[at] | 32 == b's';
        if is_s && !class(at + 1).is_some_and(goes_on) {
            return AfterApostrophe::Possessive(at + 1);
        }
        AfterApostrophe::Letters(at)
    }

    /// Lets `C++`, `C#` and `F#` keep their signs.
    fn sign_of_language(&self, part: usize, end: usize) -> usize {
        let bytes = self.source.as_bytes();
        let after = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
        if end - part != 1 {
            return end;
        }
        match (after(end), after(end + 1)) {
            (b'+', b'+') => end + 2,
            (b'#', next) if !next.is_ascii_alphanumeric() => end + 1,
            _ => end,
        }
    }
}

enum AfterApostrophe {
    Letters(usize),
    Possessive(usize),
    Quote,
}

/// Tells whether the byte at `end` closes a plain word of that length.
fn ends_word(bytes: &[u8], end: usize, length: usize) -> bool {
    let class = |at: usize| match bytes.get(at) {
        None => Class::Separator,
        Some(byte) if *byte < 128 => ASCII[*byte as usize],
        Some(_) => Class::Lower,
    };
    match class(end) {
        Class::Separator => length > 1 || !matches!(bytes.get(end), Some(b'+' | b'#')),
        Class::Joiner => class(end + 1) == Class::Separator,
        _ => false,
    }
}

/// Commit ids and digests are one part, whatever their letters look like.
fn is_hash(atom: &[u8]) -> bool {
    atom.len() >= 7 && atom.iter().all(u8::is_ascii_hexdigit) && atom.iter().any(u8::is_ascii_digit)
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn show(text: &str) -> String {
        let mut analyzer = Analyzer::default();
        let mut tokens = analyzer.tokens(text);
        let mut shown = Vec::new();
        while let Some(token) = tokens.advance() {
            let span = if token.span > 1 { format!("+{}", token.span) } else { String::new() };
            shown.push(format!("{}@{}{span}", token.text, token.position));
        }
        shown.join(" ")
    }

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value that is used once")]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&show(text));
    }

    #[test]
    fn camel_case_stands_whole_and_in_parts() {
        check(
            "getUserById HTTPServer",
            expect!["getuserbyid@0+4 get@0 user@1 by@2 id@3 httpserver@4+2 http@4 server@5"],
        );
    }

    #[test]
    fn one_letter_is_no_part_before_a_capital() {
        check("OAuth iPhone utf8 i32", expect!["oauth@0 iphone@1 utf8@2 i32@3"]);
    }

    #[test]
    fn joined_words_stand_whole_and_in_parts() {
        check("check_auth chat-send", expect!["check_auth@0+2 check@0 auth@1 chat-send@2+2 chat@2 send@3"]);
        check(
            "src/auth/checkAuth.rs ok",
            expect!["src/auth/checkauth.rs@0+5 src@0 auth@1 checkauth@2+2 check@2 auth@3 rs@4 ok@5"],
        );
        check("std::sync::Arc ../a.b", expect!["std::sync::arc@0+3 std@0 sync@1 arc@2 a.b@3+2 a@3 b@4"]);
    }

    #[test]
    fn addresses_stand_whole_and_in_parts() {
        check(
            "dev@example.com https://docs.rs",
            expect!["dev@example.com@0+3 dev@0 example@1 com@2 https://docs.rs@3+3 https@3 docs@4 rs@5"],
        );
    }

    #[test]
    fn versions_are_found_without_their_letter() {
        check("v2.5.1 and 2.5.1", expect!["v2.5.1@0+3 2@0 v2@0 5@1 1@2 and@3 2.5.1@4+3 2@4 5@5 1@6"]);
    }

    #[test]
    fn hashes_are_one_token() {
        check("a3f5B2c9d0e1 commit", expect!["a3f5b2c9d0e1@0 commit@1"]);
    }

    #[test]
    fn signs_of_languages_stay() {
        check("C++, C# and F#. #4821 --amend 87%", expect!["c++@0 c#@1 and@2 f#@3 4821@4 amend@5 87@6"]);
    }

    #[test]
    fn apostrophes_join_and_possessives_go() {
        check("don't user's 'quoted' it’s", expect!["dont@0 user@1 quoted@2 it@3"]);
    }

    #[test]
    fn han_stands_by_character_and_by_word() {
        check(
            "用Rust写北京大学",
            expect!["用@0 rust@1 写@3 北@4 北京@4+2 北京大学@4+4 京@5 大@6 大学@6+2 学@7"],
        );
    }

    #[test]
    fn an_interrupted_run_leaves_a_gap() {
        check("记，忆", expect!["记@0 忆@2"]);
    }

    #[test]
    fn kana_hangul_and_thai_stand_by_character() {
        check("カナ 한국 ไทย", expect!["カ@0 カナ@0+2 ナ@1 한@3 한국@3+2 국@4 ไ@6 ท@7 ย@8"]);
    }

    #[test]
    fn emoji_are_tokens() {
        check("shipped 🚀 today👍🏽", expect!["shipped@0 🚀@1 today@2 👍@3"]);
    }

    #[test]
    fn a_long_line_is_bounded() {
        let line = "a".repeat(5 << 20);
        assert_eq!(show(&line), format!("{}@0", "a".repeat(TOKEN_PART_BYTES_MAX)));
        let version = format!("a/v{}", "1".repeat(5 << 20));
        assert_eq!(show(&version), format!("a@0 v{}@1", "1".repeat(TOKEN_PART_BYTES_MAX - 1)));
        let path = "part/".repeat(1_000);
        assert!(show(&path).split(' ').count() <= 1_000 + 1_000 / CHUNK_PARTS_MAX + 1);
    }

    #[test]
    fn offsets_and_positions_hold_on_any_text() {
        let alphabet: Vec<char> =
            "aZ9_-./:@'é ёЁ中文北京大学カナ한ไ\u{301}\u{200d}😀#+v \nß".chars().collect();
        let mut state = 3_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        let mut analyzer = Analyzer::default();
        for _ in 0..20_000 {
            let length = random(40);
            let text: String = (0..length).map(|_| alphabet[random(alphabet.len())]).collect();
            let mut tokens = analyzer.tokens(&text);
            let mut last = 0;
            while let Some(token) = tokens.advance() {
                let (from, to) = (token.from, token.to);
                assert!(from < to && token.position >= last && token.span >= 1 && !token.text.is_empty());
                last = token.position;
                assert!(text.is_char_boundary(from) && text.is_char_boundary(to), "{text:?} {from}..{to}");
            }
        }
    }
}
