//! The token stream. One lane of smallest parts, one position each; names and words of the
//! dictionary are stacked on the position of their first part. See the table of `text`.

use std::ops::Range;

use crate::limits::{TOKEN_PART_BYTES_MAX, TOKEN_WHOLE_BYTES_MAX};

use super::class::{Class, Script, class_at, composes};
use super::fold::fold_into;
use super::segment::nested_words;

/// Characters of one script after which a run goes on as another.
const RUN_CHARS_MAX: usize = 2_048;
/// Longest run of Kana or Hangul that is kept whole beside its characters.
const RUN_WHOLE_CHARS_MAX: usize = 16;
/// Pictures that joiners of no width make one of: a family has four.
const PICTURES_MAX: usize = 8;
/// Longest letter with what composes with it, in bytes.
const COMPOSED_BYTES_MAX: usize = 12;

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word, a smallest part of a name, or a picture: in the lane.
    Word,
    /// One character of a script without spaces: in the lane.
    Solo,
    /// A name or a dictionary word as a whole, or another reading of a word: stacked on the lane.
    Whole,
}

/// One token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// The folded source; of a name, without what joins its parts.
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
    pub(super) folded: String,
    pub(super) parts: Vec<Range<usize>>,
    pub(super) atoms: Vec<Atom>,
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
pub(super) struct Atom {
    pub(super) source: Range<usize>,
    pub(super) parts: Range<usize>,
}

/// A token stream over one text.
pub struct Tokens<'a> {
    pub(super) source: &'a str,
    pub(super) at: usize,
    pub(super) position: usize,
    /// End of the last lane token if that was a character, to tell a run that goes on from one
    /// that was interrupted.
    pub(super) solo_end: Option<usize>,
    next: usize,
    pub(super) scratch: &'a mut Analyzer,
}

impl Tokens<'_> {
    /// Returns the next token, by position.
    pub fn advance(&mut self) -> Option<Token<'_>> {
        if self.next == self.scratch.queue.len() {
            if let Some(word) = self.plain_word() {
                return Some(self.plain_token(word));
            }
            self.refill(self.at)?;
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

    /// Fills the queue with the next tokens; at `tried` stands no plain word.
    fn refill(&mut self, tried: usize) -> Option<()> {
        self.scratch.queue.clear();
        self.scratch.folded.clear();
        self.next = 0;
        while self.scratch.queue.is_empty() {
            let (class, width) = class_at(self.source, self.at)?;
            match class {
                Class::Joiner if self.is_escape(self.at) => self.escape(),
                Class::Separator | Class::Joiner | Class::Apostrophe | Class::Mark => self.at += width,
                Class::Emoji => {
                    self.solo_end = None;
                    self.pictures();
                }
                Class::Solo(script) => self.solo_run(script),
                Class::Lower | Class::Upper | Class::Digit => {
                    self.solo_end = None;
                    let plain = if self.at == tried { None } else { self.plain_word() };
                    match plain {
                        Some(word) => self.push(word, self.position - 1, 1, Kind::Word),
                        None => self.chunk(),
                    }
                }
            }
        }
        Some(())
    }

    /// Returns a plain word without a way through the queue, and without a copy if it is small.
    fn plain_token(&mut self, word: Range<usize>) -> Token<'_> {
        let text = &self.source[word.clone()];
        let folded = &mut self.scratch.folded;
        let text = if text.as_bytes()[0].is_ascii_uppercase() {
            folded.clear();
            folded.push_str(text);
            folded.make_ascii_lowercase();
            folded
        } else {
            text
        };
        let (from, to, position) = (word.start, word.end, self.position - 1);
        Token { text, from, to, position, span: 1, kind: Kind::Word }
    }

    /// Queues a token of what a stretch folds to.
    pub(super) fn push(&mut self, source: Range<usize>, position: usize, span: usize, kind: Kind) {
        let start = self.scratch.folded.len();
        fold_into(&self.source[source.clone()], &mut self.scratch.folded);
        self.queue(start, source, position, span, kind);
    }

    /// Queues a token of what was folded from `start` on.
    pub(super) fn queue(
        &mut self,
        start: usize,
        source: Range<usize>,
        position: usize,
        span: usize,
        kind: Kind,
    ) {
        let folded = (start, self.scratch.folded.len());
        if folded.0 < folded.1 {
            let (from, to) = (source.start, source.end);
            self.scratch.queue.push(Queued { folded, from, to, position, span, kind });
        }
    }

    /// Tells whether a line break or tab stands here as text inside text writes it: `\\n`.
    pub(super) fn is_escape(&self, at: usize) -> bool {
        let bytes = self.source.as_bytes();
        bytes[at] == b'\\' && matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't'))
    }

    /// Takes `\\n` for a line break, and keeps what else it may be: `\\nabla`, `src\\tests`.
    fn escape(&mut self) {
        let bytes = self.source.as_bytes();
        let letter = self.at + 1;
        self.at += 2;
        let letters = bytes[letter..].iter().take(TOKEN_PART_BYTES_MAX);
        let end = letter + letters.take_while(|byte| byte.is_ascii_lowercase()).count();
        if end > self.at {
            self.push(letter..end, self.position, 1, Kind::Whole);
        }
    }

    /// Takes a picture with its colours, a flag, or several pictures that make one.
    fn pictures(&mut self) {
        let start = self.at;
        let mut pictures = std::mem::take(&mut self.scratch.parts);
        pictures.clear();
        loop {
            let picture = self.picture();
            pictures.push(picture);
            let is_joined = self.source[..self.at].ends_with('\u{200D}');
            let goes_on = matches!(class_at(self.source, self.at), Some((Class::Emoji, _)));
            if !is_joined || !goes_on || pictures.len() == PICTURES_MAX {
                break;
            }
        }
        let end = pictures.last().map_or(start, |last| last.end);
        if pictures.len() > 1 && end - start <= TOKEN_WHOLE_BYTES_MAX {
            self.push(start..end, self.position, pictures.len(), Kind::Whole);
        }
        for picture in &pictures {
            self.push(picture.clone(), self.position, 1, Kind::Word);
            self.position += 1;
        }
        self.scratch.parts = pictures;
    }

    /// Moves past one picture and what shapes it; two letters of a flag are one picture.
    fn picture(&mut self) -> Range<usize> {
        let is_flag = |at: usize| {
            let c = self.source[at..].chars().next();
            c.is_some_and(|c| ('\u{1F1E6}'..='\u{1F1FF}').contains(&c))
        };
        let start = self.at;
        let width = class_at(self.source, start).map_or(0, |(_, width)| width);
        let is_pair = is_flag(start) && is_flag(start + width);
        let end = if is_pair { start + 2 * width } else { start + width };
        self.at = end;
        while let Some((Class::Mark, width)) = class_at(self.source, self.at) {
            self.at += width;
        }
        start..end
    }

    /// Cuts a run of scripts without spaces by character, and stacks the words found in it.
    fn solo_run(&mut self, script: Script) {
        // "记，忆" holds no 记忆: an interrupted run leaves a gap that no phrase crosses.
        if self.solo_end.is_some_and(|end| end != self.at) {
            self.position += 1;
        }
        let mut chars = std::mem::take(&mut self.scratch.parts);
        chars.clear();
        self.script_run(script, &mut chars);
        self.script_tokens(script, &chars);
        self.position += chars.len();
        self.solo_end = Some(self.at);
        self.scratch.parts = chars;
    }

    /// Moves past one run of one script; fills in the source range of each of its characters.
    fn script_run(&mut self, script: Script, chars: &mut Vec<Range<usize>>) {
        while let Some((class, width)) = class_at(self.source, self.at) {
            let range = self.at..self.at + width;
            let is_full = chars.len() == RUN_CHARS_MAX;
            let before = chars.last_mut().filter(|last| last.end == range.start);
            match (class, before) {
                (_, Some(before)) if self.composes(script, &range) => {
                    if range.end - before.start <= COMPOSED_BYTES_MAX {
                        before.end = range.end;
                    }
                }
                // Variants of a character are that character.
                (Class::Mark, _) => {}
                (Class::Solo(other), _) if other == script && !is_full => chars.push(range),
                _ => break,
            }
            self.at += width;
        }
    }

    fn composes(&self, script: Script, char: &Range<usize>) -> bool {
        matches!(script, Script::Kana | Script::Hangul)
            && self.source[char.clone()].chars().next().is_some_and(|c| composes(script, c))
    }

    fn script_tokens(&mut self, script: Script, chars: &[Range<usize>]) {
        let whole = |range: &Range<usize>| chars[range.start].start..chars[range.end - 1].end;
        let mut words = Vec::new();
        match script {
            Script::Han if chars.len() > 1 => self.dictionary_words(chars, &mut words),
            Script::Kana | Script::Hangul if (2..=RUN_WHOLE_CHARS_MAX).contains(&chars.len()) => {
                // Letters of Korean that stand apart would fold to a syllable that is not there.
                let apart = |c: char| matches!(c, '\u{3131}'..='\u{318E}' | '\u{FFA0}'..='\u{FFDC}');
                if !self.source[whole(&(0..chars.len()))].contains(apart) {
                    words.push(0..chars.len());
                }
            }
            _ => {}
        }
        let mut words = words.into_iter().peekable();
        for (index, char) in chars.iter().enumerate() {
            self.push(char.clone(), self.position + index, 1, Kind::Solo);
            while let Some(range) = words.next_if(|range| range.start == index) {
                let source = whole(&range);
                if source.len() <= TOKEN_WHOLE_BYTES_MAX {
                    self.push(source, self.position + index, range.len(), Kind::Whole);
                }
            }
        }
    }

    fn dictionary_words(&self, chars: &[Range<usize>], words: &mut Vec<Range<usize>>) {
        let run = &self.source[chars[0].start..chars[chars.len() - 1].end];
        let bare: usize = chars.iter().map(Range::len).sum();
        if bare == run.len() {
            return nested_words(run, |range| words.push(range));
        }
        let run: String = chars.iter().map(|char| &self.source[char.clone()]).collect();
        nested_words(&run, |range| words.push(range));
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::fold::fold;
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
        check("check_auth chat-send", expect!["checkauth@0+2 check@0 auth@1 chatsend@2+2 chat@2 send@3"]);
        check("src/auth/checkAuth.rs ok", expect!["src@0 auth@1 checkauth@2+2 check@2 auth@3 rs@4 ok@5"]);
        check("std::sync::Arc ../a.b", expect!["std@0 sync@1 arc@2 a@3 b@4"]);
    }

    #[test]
    fn addresses_stand_whole_and_in_parts() {
        check("dev@example.com https://docs.rs", expect!["dev@0 example@1 com@2 https@3 docs@4 rs@5"]);
    }

    #[test]
    fn versions_are_found_without_their_letter() {
        check("v2.5.1 and 2.5.1", expect!["2.5.1@0+3 2@0 v2@0 5@1 1@2 and@3 2.5.1@4+3 2@4 5@5 1@6"]);
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
            expect!["用@0 rust@1 写@2 北@3 北京@3+2 北京大学@3+4 京@4 大@5 大学@5+2 学@6"],
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
        assert!(show(&path).split(' ').count() <= 1_000);
    }

    #[test]
    fn names_lose_what_joins_them_and_nothing_else_does() {
        check(
            "utf-8 __init__ a1b2c3d4-e5f6 2026-06-03 MAX_fooBar",
            expect![
                "utf8@0+2 utf@0 8@1 init@2 a1b2c3d4@3 e5f6@4 2026@5 06@6 03@7 maxfoobar@8+3 max@8 foo@9 bar@10"
            ],
        );
        check(
            "0.25 127.0.0.1 1.2.3.4.5",
            expect!["0@0 25@1 127.0.0.1@2+4 127@2 0@3 0@4 1@5 1@6 2@7 3@8 4@9 5@10"],
        );
    }

    #[test]
    fn files_keep_their_dot_and_calls_do_not() {
        check(
            ".env src/.gitignore a.env foo().map(x) .map(x) 3 ...so",
            expect![
                ".env@0 env@0 src@1 .gitignore@2 gitignore@2 a@3 env@4 foo@5 map@6 x@7 map@8 x@9 3@10 so@11"
            ],
        );
    }

    #[test]
    fn an_escaped_line_break_parts_words() {
        check(
            r"one\nTwo\n\nthree C:\new\to \\srv\tmp \theta \\n",
            expect!["one@0 two@1 nthree@2 three@2 c@3 new@4 to@5 srv@6 tmp@7 theta@8 heta@8"],
        );
    }

    #[test]
    fn a_border_between_scripts_parts_a_word() {
        check(
            "gitом PDFка 10MΩ cервер第3章",
            expect!["gitом@0+2 git@0 ом@1 pdfка@2+2 pdf@2 ка@3 10mω@4+2 10@4 mω@5 cервер@6 第@7 3@8 章@9"],
        );
    }

    #[test]
    fn pictures_flags_and_their_colours_are_one_each() {
        check(
            "👨🏽\u{200D}💻x 🇩🇪🇪 1\u{FE0F}\u{20E3} ❤\u{FE0F}",
            expect!["👨💻@0+2 👨@0 💻@1 x@2 🇩🇪@3 🇪@4 1@5 ❤@6"],
        );
    }

    #[test]
    fn spelled_out_kana_and_hangul_are_composed() {
        check(
            "か\u{3099}ｶﾞ \u{1112}\u{1161}\u{11AB} ㅋㅏ 葛\u{E0100}城",
            expect!["が@0 がガ@0+2 ガ@1 한@3 ᄏ@5 ᅡ@6 葛@8 城@9"],
        );
    }

    #[test]
    fn small_letters_find_any_spelling() {
        let alphabet: Vec<char> = "abRXYz019éЖд".chars().collect();
        let mut state = 5_u64;
        let mut analyzer = Analyzer::default();
        for _ in 0..20_000 {
            let mut word = String::new();
            for _ in 0..=word_length(&mut state) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                word.push(alphabet[usize::try_from(state >> 33).unwrap_or(0) % alphabet.len()]);
            }
            let small = show(&word.to_lowercase());
            let Some(small) = small.strip_suffix("@0") else { continue };
            let mut tokens = analyzer.tokens(&word);
            let mut is_found = false;
            while let Some(token) = tokens.advance() {
                is_found |= token.text == small;
            }
            assert!(is_found, "{small} does not find {word}");
        }
    }

    fn word_length(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) % 14
    }

    /// Characters of every kind and plane, those that join, shape and fold strangely among them.
    fn any_char(random: &mut impl FnMut(usize) -> usize) -> char {
        const KNOWN: &str = "aZ9_-./:@'\\\"`é ёЁЙ中文北京大学カナｶﾞ한\u{1112}\u{1161}\u{11AB}ㅋไ\u{301}\u{3099}\
            \u{200C}\u{200D}\u{AD}\u{FE0F}\u{E0100}😀👍🏽🇩🇪#+vntr \nßİıﷺ①㎏½Ωµæ𝐀𠮷كِـ\u{5B0}हि్‐‑’";
        let code = match random(8) {
            0 => random(0x11_0000),
            1 => random(0x3000),
            _ => {
                let known: Vec<char> = KNOWN.chars().collect();
                return known[random(known.len())];
            }
        };
        u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(' ')
    }

    #[test]
    fn tokens_are_what_their_source_folds_to_in_order_and_within_bounds() {
        let mut state = 3_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        let mut analyzer = Analyzer::default();
        for _ in 0..30_000 {
            let length = random(40);
            let text: String = (0..length).map(|_| any_char(&mut random)).collect();
            check_laws(&mut analyzer, &text);
        }
    }

    fn check_laws(analyzer: &mut Analyzer, text: &str) {
        let mut tokens = analyzer.tokens(text);
        let (mut last, mut lane_end, mut lane_position) = (0, 0, None);
        let mut reach = 0;
        while let Some(token) = tokens.advance() {
            let source = text.get(token.from..token.to).expect("offsets lie on borders of characters");
            let mut joined = fold(source);
            if token.kind == Kind::Whole && token.text != joined {
                joined.retain(|c| !matches!(c, '-' | '_' | '\u{2010}'));
            }
            assert_eq!(token.text, joined, "{text:?} {token:?}");
            assert!(!source.is_empty() && source.len() <= TOKEN_WHOLE_BYTES_MAX, "{text:?} {token:?}");
            assert!(token.position >= last && token.span >= 1, "{text:?} {token:?}");
            last = token.position;
            if token.kind == Kind::Whole {
                reach = reach.max(token.position + token.span);
            } else {
                assert!(token.from >= lane_end && token.span == 1, "{text:?} {token:?}");
                assert!(lane_position.is_none_or(|before| token.position > before), "{text:?} {token:?}");
                (lane_end, lane_position) = (token.to, Some(token.position));
            }
        }
        assert!(reach <= lane_position.map_or(0, |position| position + 1), "{text:?}: over the lane");
    }
}
