//! Cuts what stands between separators: plain words, and chunks of joined ones (identifiers, paths,
//! addresses, versions) into names and their parts.

use std::ops::Range;

use crate::limits::{TOKEN_PART_BYTES_MAX, TOKEN_WHOLE_BYTES_MAX};

use super::class::{ASCII, Class, class_at, is_latin};
use super::fold::fold_into;
use super::token::{Atom, Kind, Tokens};

/// Joiners in a row that still join: `::`, `://`, `../`.
const JOINERS_MAX: usize = 3;
/// Parts after which a chunk of joined words is cut, so that no chunk is unbounded.
const CHUNK_PARTS_MAX: usize = 32;
/// Parts after which one atom is cut: no name has that many, and a line of noise does.
const ATOM_PARTS_MAX: usize = 64;
/// Most parts of a joined name that is kept as one word beside them.
const NAME_PARTS_MAX: usize = 8;

impl Tokens<'_> {
    /// Moves past `word`, `Word` or `42` before an ASCII separator, which is most of prose, without
    /// the care that identifiers need. Returns it, its position taken, if there is one.
    #[inline]
    pub(super) fn plain_word(&mut self) -> Option<Range<usize>> {
        let bytes = self.source.as_bytes();
        let is_separator = |byte: u8| byte < 128 && ASCII[byte as usize] == Class::Separator;
        while self.at < bytes.len() && is_separator(bytes[self.at]) {
            self.at += 1;
        }
        let start = self.at;
        let mut end = start;
        if bytes.get(start)?.is_ascii_digit() {
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
        let is_dotted = start > 0 && bytes[start - 1] == b'.';
        if length == 0 || length > TOKEN_PART_BYTES_MAX || is_dotted || !self.ends_word(end, length) {
            return None;
        }
        self.solo_end = None;
        self.position += 1;
        self.at = end;
        Some(start..end)
    }

    /// Tells whether what stands at `end` closes a plain word of that length.
    fn ends_word(&self, end: usize, length: usize) -> bool {
        let class = |at: usize| class_at(self.source, at).unwrap_or((Class::Separator, 0));
        match class(end).0 {
            Class::Separator => length > 1 || !matches!(self.source.as_bytes().get(end), Some(b'+' | b'#')),
            Class::Joiner => class(end + class(end).1).0 == Class::Separator,
            _ => false,
        }
    }

    /// Cuts joined words (an identifier, a path, an address, a version) into the lane, and stacks
    /// the names in it.
    pub(super) fn chunk(&mut self) {
        self.cut_chunk();
        let atoms = std::mem::take(&mut self.scratch.atoms);
        let parts = std::mem::take(&mut self.scratch.parts);
        if let Some(numbers) = self.numbers(&atoms) {
            self.push(numbers, self.position, atoms.len(), Kind::Whole);
        }
        let mut rest = &atoms[..];
        while !rest.is_empty() {
            let (name, after) = rest.split_at(self.atoms_of_name(rest));
            self.name(name, &parts, atoms.len() > 1);
            rest = after;
        }
        self.position += parts.len();
        (self.scratch.atoms, self.scratch.parts) = (atoms, parts);
    }

    /// Returns the numbers of a version or an address, `2.5.1` of `v2.5.1`: each by itself says little.
    fn numbers(&self, atoms: &[Atom]) -> Option<Range<usize>> {
        let bytes = self.source.as_bytes();
        let (first, last) = (atoms.first()?.source.clone(), atoms.last()?.source.clone());
        let start = first.start + usize::from(bytes[first.start] | 32 == b'v');
        let is_numeric = |at: usize| bytes[at].is_ascii_digit() || bytes[at] == b'.';
        let is_short = (3..=4).contains(&atoms.len()) && last.end - first.start <= TOKEN_PART_BYTES_MAX;
        (is_short && (start..last.end).all(is_numeric)).then_some(start..last.end)
    }

    /// Returns how many atoms make one name: `check_auth` of `check_auth.rs`.
    fn atoms_of_name(&self, atoms: &[Atom]) -> usize {
        let joins = |pair: &[Atom]| {
            let gap = &self.source[pair[0].source.end..pair[1].source.start];
            matches!(gap, "-" | "\u{2010}" | "\u{2011}" | "\u{200C}") || gap.bytes().all(|byte| byte == b'_')
        };
        1 + atoms.windows(2).take_while(|pair| joins(pair)).count()
    }

    /// Puts a name's parts into the lane, and the name on the first: in one word however it joins
    /// its parts, so that `checkAuth`, `check_auth`, `check-auth` and `checkauth` meet.
    fn name(&mut self, atoms: &[Atom], parts: &[Range<usize>], in_chunk: bool) {
        let lane = atoms[0].parts.start..atoms[atoms.len() - 1].parts.end;
        let source = atoms[0].source.start..atoms[atoms.len() - 1].source.end;
        if self.is_name(&source, atoms.len(), &parts[lane.clone()]) {
            let start = self.scratch.folded.len();
            for atom in atoms {
                fold_into(&self.source[atom.source.clone()], &mut self.scratch.folded);
            }
            self.queue(start, source, self.position + lane.start, lane.len(), Kind::Whole);
        }
        for atom in atoms {
            if let Some(dotted) = self.dotted(atom) {
                self.push(dotted, self.position + atom.parts.start, 1, Kind::Whole);
            }
            for (index, part) in parts[atom.parts.clone()].iter().enumerate() {
                self.part(part.clone(), self.position + atom.parts.start + index, in_chunk);
            }
        }
    }

    /// Tells whether parts make a name. What only its capitals part is one whatever it is, so that
    /// small letters find it: `10MB`. Joined ones are if letters come first and no ids are among them.
    fn is_name(&self, source: &Range<usize>, atoms: usize, parts: &[Range<usize>]) -> bool {
        let bytes = self.source.as_bytes();
        if parts.len() < 2 || source.len() > TOKEN_WHOLE_BYTES_MAX {
            return false;
        }
        let has_id = || parts.iter().any(|part| is_hash(&bytes[part.clone()]));
        atoms == 1 || parts.len() <= NAME_PARTS_MAX && !bytes[source.start].is_ascii_digit() && !has_id()
    }

    /// Returns a file's first name with its dot: `.env`, which is not `env`, nor the call `.env()`.
    fn dotted(&self, atom: &Atom) -> Option<Range<usize>> {
        let bytes = self.source.as_bytes();
        let dot = atom.source.start.checked_sub(1).filter(|dot| bytes[*dot] == b'.')?;
        let before = dot.checked_sub(1).map_or(b' ', |at| bytes[at]);
        let begins = matches!(before, b'/' | b'\\' | b'`' | b'"' | b'\'' | b'(' | b'=' | b':' | b'!' | b'*')
            || before.is_ascii_whitespace();
        let is_call = bytes.get(atom.source.end) == Some(&b'(');
        let is_letter = bytes[atom.source.start].is_ascii_alphabetic();
        let is_short = atom.source.len() < TOKEN_PART_BYTES_MAX;
        (begins && !is_call && is_letter && is_short).then_some(dot..atom.source.end)
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

    /// Fills `parts` and `atoms` from the chunk at `at`, and moves past it.
    fn cut_chunk(&mut self) {
        self.scratch.parts.clear();
        self.scratch.atoms.clear();
        let bytes = self.source.as_bytes();
        let begins_at = |at: usize, text: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(text));
        // On Windows \n begins a folder's name; C:\ and \\ tell.
        let mut is_windows = begins_at(self.at + 1, b":\\") || self.at > 0 && bytes[self.at - 1] == b'\\';
        loop {
            let end = self.cut_atom();
            match self.after_joiners(end, is_windows) {
                Some(next) if self.scratch.parts.len() < CHUNK_PARTS_MAX => {
                    is_windows |= bytes[end] == b'\\';
                    self.at = next;
                }
                _ => break,
            }
        }
    }

    /// Returns where the next atom begins if joiners, and nothing else, stand between.
    fn after_joiners(&self, mut at: usize, is_windows: bool) -> Option<usize> {
        let mut joiners = 0;
        loop {
            let (class, width) = class_at(self.source, at)?;
            match class {
                Class::Joiner if joiners == JOINERS_MAX || !is_windows && self.is_escape(at) => return None,
                Class::Joiner => joiners += 1,
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
        let mut script = None;
        let bytes = self.source.as_bytes();
        while let Some((class, width)) = class_at(self.source, end) {
            if self.scratch.parts.len() >= ATOM_PARTS_MAX {
                break;
            }
            if matches!(class, Class::Lower | Class::Upper)
                && self.is_border(&mut script, end, width)
                && self.is_part(part..end)
            {
                self.scratch.parts.push(part..end);
                part = end;
                capitals = 0;
            }
            match class {
                Class::Lower => {
                    // HTTPServer: the last capital of a row begins the next part.
                    if capitals >= 2 && self.is_part(part..capital) {
                        self.scratch.parts.push(part..capital);
                        part = capital;
                    }
                    capitals = 0;
                }
                Class::Upper => {
                    // One letter before a capital is no part: OAuth, iPhone.
                    if matches!(before, Class::Lower | Class::Digit) && self.is_part(part..end) {
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
            if class == Class::Lower && width == 1 {
                end += bytes[end..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
            }
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

    /// Tells whether a stretch is long enough for a part: one letter is none.
    fn is_part(&self, stretch: Range<usize>) -> bool {
        self.source[stretch].chars().nth(1).is_some()
    }

    /// Tells whether two letters of another script begin here: `git` in `gitом`. One is no word,
    /// and many a unit: `MΩ`.
    fn is_border(&self, script: &mut Option<bool>, at: usize, width: usize) -> bool {
        let latin = |at: usize| self.source[at..].chars().next().filter(|c| c.is_alphabetic()).map(is_latin);
        let here = if width == 1 { Some(true) } else { latin(at) };
        let before = std::mem::replace(script, here);
        before.is_some() && before != here && here == latin(at + width)
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
