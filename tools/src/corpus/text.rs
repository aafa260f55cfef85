//! Strings words together into prose, code, JSON, and the lines that tools print.

use std::io::Write;

use super::kind::Kind;
use super::scripts::Scripts;
use super::words::{CELL_BYTES, Zipf, vocabulary};
use crate::random::Random;

/// Of the texts that are prose.
const FOREIGN_PERCENT: u64 = 8;

const EXTENSIONS: [&str; 10] = ["rs", "py", "ts", "go", "toml", "md", "sql", "sh", "json", "yaml"];

pub(super) struct Text {
    words: Vec<Word>,
    zipf: Zipf,
    scripts: Scripts,
    /// Own stream for [`Text::word`] and [`Text::path`], which name things outside of rows.
    names: Random,
}

/// A word and a space in a cell of fixed size: most of the time goes into appending words, and
/// a copy whose length is known when compiling takes a third of the time of one that is not.
struct Word {
    cell: [u8; CELL_BYTES],
    len: usize,
}

impl Word {
    fn new(word: &str) -> Word {
        let mut cell = [b' '; CELL_BYTES];
        cell[..word.len()].copy_from_slice(word.as_bytes());
        Word { cell, len: word.len() }
    }

    fn bytes(&self) -> &[u8] {
        &self.cell[..self.len]
    }
}

impl Text {
    pub(super) fn new(seed: u64) -> Text {
        let words: Vec<Word> = vocabulary().iter().map(|word| Word::new(word)).collect();
        let ranks = u32::try_from(words.len()).expect("a vocabulary is counted in thousands");
        Text { words, zipf: Zipf::new(ranks), scripts: Scripts::new(), names: Random::new(!seed) }
    }

    pub(super) fn word(&mut self) -> String {
        // Names want sense of difference: the commonest words name nothing.
        let rank = self.names.index(self.words.len() - 200) + 200;
        text_of(self.words[rank].bytes().to_vec())
    }

    pub(super) fn path(&mut self) -> String {
        let extension = self.names.pick(&EXTENSIONS);
        let folder = self.word();
        format!("src/{folder}/{}.{extension}", self.word())
    }

    /// Returns a word of running text, drawn as those of the rows are.
    pub(super) fn common_word(&self, random: &mut Random) -> &str {
        std::str::from_utf8(self.common(random).bytes()).expect("all words are ASCII")
    }

    /// Returns a text of `chars` characters, give or take a word or what closes it.
    pub(super) fn write(&self, kind: Kind, random: &mut Random, chars: u64) -> String {
        if chars == 0 {
            return String::new();
        }
        if kind == Kind::Prose && random.percent(FOREIGN_PERCENT) {
            return self.scripts.prose(random, chars, |random| self.identifier(random));
        }
        let end = usize::try_from(chars).expect("a text is far shorter than memory");
        let mut out = Vec::with_capacity(end + 300);
        match kind {
            Kind::Prose => self.prose(random, &mut out, end),
            Kind::Json => self.json(random, &mut out, end),
            lines => self.lines(lines, random, &mut out, end),
        }
        text_of(out)
    }

    fn prose(&self, random: &mut Random, out: &mut Vec<u8>, end: usize) {
        let mut left = random.between(5, 16);
        loop {
            self.token(random, out);
            if out.len() > end {
                break;
            }
            left -= 1;
            if left == 0 {
                out.pop();
                out.extend(if random.below(6) > 0 { b". ".as_slice() } else { b".\n\n" });
                left = random.between(5, 16);
            } else if left.is_multiple_of(6) {
                out.pop();
                out.extend(b", ");
            }
        }
        out.pop();
    }

    fn lines(&self, kind: Kind, random: &mut Random, out: &mut Vec<u8>, end: usize) {
        let mut number = random.below(400);
        loop {
            number += 1;
            if kind == Kind::Numbered {
                print(out, format_args!("{number:6}|"));
            }
            let words = match kind {
                Kind::Log => self.log_head(random, out),
                Kind::Listing => self.place(random, out),
                _ => self.code(random, out),
            };
            for _ in 0..words {
                self.token(random, out);
                if out.len() > end {
                    break;
                }
            }
            if words > 0 {
                out.pop();
            }
            if out.len() >= end {
                return;
            }
            out.push(b'\n');
        }
    }

    /// Starts a line; returns how many words are to follow.
    fn log_head(&self, random: &mut Random, out: &mut Vec<u8>) -> u64 {
        let number = random.below(900) + 1;
        match random.below(8) {
            0 => {
                print(out, format_args!("[{number:03}] {:016x} ", random.bits()));
                3
            }
            1..=3 => {
                let (hour, minute) = (random.below(24), random.below(60));
                let level = random.pick(&["INFO", "INFO", "INFO", "WARN", "ERROR"]);
                print(out, format_args!("{hour:02}:{minute:02}:{:02} {level} ", number % 60));
                9
            }
            4 => self.place(random, out),
            _ => {
                out.extend(b"    ");
                11
            }
        }
    }

    /// Starts a line with a path and a line number.
    fn place(&self, random: &mut Random, out: &mut Vec<u8>) -> u64 {
        out.extend(b"src/");
        self.joined(random, out, b'/');
        print(out, format_args!(".{}:{}: ", random.pick(&EXTENSIONS), random.between(1, 900)));
        7
    }

    /// Appends a line of source text; returns how many words of a comment are to follow.
    fn code(&self, random: &mut Random, out: &mut Vec<u8>) -> u64 {
        const TEMPLATES: &[(u64, &str)] = &[
            (3, "    let % = %.%(&%)?;"),
            (3, "        self.% = %.get(\"%\", @)"),
            (2, "pub fn %(%: &str) -> Result<%> {"),
            (2, "def %(self, %, %=None):"),
            (3, "        if %.% > @ && !% {"),
            (2, "            return %(%, @);"),
            (2, "const % = await %.%({ %: @ });"),
            (2, "assert_eq!(%.%(@), \"% %\");"),
            (3, "    }"),
            (1, ""),
            (3, "    // "),
            (1, "# "),
        ];
        let template = random.weighted(TEMPLATES);
        for byte in template.bytes() {
            match byte {
                b'%' => self.name(random, out),
                b'@' => print(out, format_args!("{}", random.below(1_000))),
                byte => out.push(byte),
            }
        }
        if template.ends_with("/ ") || template == "# " { random.between(5, 12) } else { 0 }
    }

    /// Appends one object, closed properly however short it is to be.
    fn json(&self, random: &mut Random, out: &mut Vec<u8>, end: usize) {
        print(out, format_args!("{{\"{}\": ", random.pick(&["ok", "success", "done"])));
        out.extend(if random.below(8) > 0 { b"true".as_slice() } else { b"false" });
        if out.len() + 30 < end {
            out.extend(b", \"results\": [");
            while out.len() + 3 < end {
                self.json_item(random, out, end);
            }
            out.truncate(out.len() - 2);
            out.push(b']');
        }
        out.push(b'}');
    }

    fn json_item(&self, random: &mut Random, out: &mut Vec<u8>, end: usize) {
        out.extend(b"{\"path\": \"src/");
        self.joined(random, out, b'/');
        print(out, format_args!("\", \"line\": {}, \"text\": \"", random.between(1, 900)));
        for _ in 0..random.between(4, 20) {
            self.token(random, out);
            if out.len() > end {
                break;
            }
        }
        out.pop();
        out.extend(b"\"}, ");
    }

    /// Appends a word and a space, or one time in 25 something only a program would write.
    fn token(&self, random: &mut Random, out: &mut Vec<u8>) {
        if random.below(25) > 0 {
            let word = self.common(random);
            out.extend_from_slice(&word.cell);
            return out.truncate(out.len() - CELL_BYTES + word.len + 1);
        }
        match random.below(6) {
            0 | 1 => self.name(random, out),
            2 => self.joined(random, out, b'.'),
            3 => {
                out.extend(b"src/");
                self.joined(random, out, b'/');
            }
            4 => print(out, format_args!("{:010x}", random.bits() >> 24)),
            _ => print(out, format_args!("{}", random.below(1_000))),
        }
        out.push(b' ');
    }

    fn identifier(&self, random: &mut Random) -> String {
        let mut out = Vec::new();
        self.name(random, &mut out);
        text_of(out)
    }

    /// Appends a name of one word or two, in one of the usual spellings.
    fn name(&self, random: &mut Random, out: &mut Vec<u8>) {
        match random.below(3) {
            0 => out.extend(self.common(random).bytes()),
            1 => self.joined(random, out, b'_'),
            _ => {
                out.extend(self.common(random).bytes());
                let word = self.common(random).bytes();
                out.push(word[0].to_ascii_uppercase());
                out.extend(&word[1..]);
            }
        }
    }

    fn joined(&self, random: &mut Random, out: &mut Vec<u8>, by: u8) {
        out.extend(self.common(random).bytes());
        out.push(by);
        out.extend(self.common(random).bytes());
    }

    fn common(&self, random: &mut Random) -> &Word {
        &self.words[self.zipf.rank(random)]
    }
}

fn print(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to memory never fails");
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("all words are ASCII")
}
