//! Cuts a query at blanks, quotes and those parentheses that group: they balance, and stand at the
//! borders of words, so that `foo(bar)` is text. A few passes over the text, no recursion.

use std::ops::Range;

use crate::limits::QUERY_SLOP_MAX;
use crate::model::Warning;

use super::{Node, Scope};

/// One piece of a query, in the order typed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    And,
    Or,
    Not,
    Open(Sign, Option<Scope>),
    Close,
    Leaf(Sign, Option<Scope>, Node),
}

/// What stood before an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    None,
    /// `+`: it must be there.
    Plus,
    /// `++`: an operand, whatever it looks like, that need not be there. Queries are printed so.
    PlusPlus,
}

/// Cuts a query into pieces; every `Open` has its `Close`. With `flat`, no parenthesis groups.
pub(super) fn pieces(text: &str, flat: bool, warnings: &mut Vec<Warning>) -> Vec<Piece> {
    let spans = spans(text, warnings);
    let parentheses = if flat { vec![Paren::Stray; text.len()] } else { parentheses(text, &spans) };
    let mut reader = Reader { text, parentheses, pieces: Vec::new(), sign: Sign::None, scope: None };
    for (at, span) in spans.iter().enumerate() {
        match span {
            Span::Phrase { inside, slop, .. } => reader.phrase(inside.clone(), *slop),
            Span::Word(word) => {
                let phrase_follows =
                    matches!(spans.get(at + 1), Some(Span::Phrase { from, .. }) if *from == word.end);
                reader.word(word.clone(), phrase_follows, warnings);
            }
        }
    }
    reader.pieces
}

/// Warns once of each thing.
pub(super) fn warn(warnings: &mut Vec<Warning>, kind: &'static str, message: impl Into<String>) {
    let warning = Warning::new(kind, message);
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}

/// What blanks and quotes leave.
enum Span {
    Word(Range<usize>),
    Phrase { from: usize, inside: Range<usize>, slop: u32 },
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{FF02}')
}

fn spans(text: &str, warnings: &mut Vec<Warning>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if is_quote(first) {
            let start = at + first.len_utf8();
            let Some(end) = text[start..].find(is_quote).map(|end| start + end) else {
                warn(warnings, "open-quote", "a quote without its end was read as text");
                at = start;
                continue;
            };
            let close = end + text[end..].chars().next().map_or(1, char::len_utf8);
            let (slop, length) = slop(&text[close..], warnings);
            spans.push(Span::Phrase { from: at, inside: start..end, slop });
            at = close + length;
        } else if first.is_whitespace() {
            at += first.len_utf8();
        } else {
            let end = text[at..].find(|c: char| c.is_whitespace() || is_quote(c));
            let end = end.map_or(text.len(), |end| at + end);
            spans.push(Span::Word(at..end));
            at = end;
        }
    }
    spans
}

/// Reads `~3` behind a phrase; returns the number and its length in bytes.
fn slop(after: &str, warnings: &mut Vec<Warning>) -> (u32, usize) {
    let Some(rest) = after.strip_prefix('~') else { return (0, 0) };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let ends = rest[digits..].chars().next().is_none_or(|c| c.is_whitespace() || c == ')' || is_quote(c));
    if digits == 0 || !ends {
        return (0, 0);
    }
    let slop = rest[..digits].parse().unwrap_or(u32::MAX);
    if slop > QUERY_SLOP_MAX {
        let message = format!("words of a phrase may be {QUERY_SLOP_MAX} out of place, and no more");
        warn(warnings, "query-cut", message);
    }
    (slop.min(QUERY_SLOP_MAX), 1 + digits)
}

/// What a parenthesis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paren {
    /// Part of a word.
    Text,
    /// At the border of a word, and without its other half.
    Stray,
    Groups,
}

/// Says of every byte of the text which kind of parenthesis it is, if it is one.
fn parentheses(text: &str, spans: &[Span]) -> Vec<Paren> {
    let mut kinds = vec![Paren::Text; text.len()];
    let mut open = Vec::new();
    for span in spans {
        let Span::Word(word) = span else { continue };
        let (opens, closes) = edges(&text[word.clone()]);
        for at in opens {
            kinds[word.start + at] = Paren::Stray;
            open.push(word.start + at);
        }
        for at in closes {
            kinds[word.start + at] = Paren::Stray;
            if let Some(partner) = open.pop() {
                kinds[partner] = Paren::Groups;
                kinds[word.start + at] = Paren::Groups;
            }
        }
    }
    kinds
}

/// Returns the parentheses at a word's borders that do not belong to the word itself, as `f(x)`'s do.
fn edges(word: &str) -> (Vec<usize>, Range<usize>) {
    let trail = word.trim_end_matches(')').len();
    let partners = partners(word);
    let mut opens = Vec::new();
    let mut at = 0;
    loop {
        let (_, _, length) = lead(&word[at..trail]);
        at += length;
        let groups = word[at..trail].starts_with('(') && partners[at].is_none_or(|partner| partner >= trail);
        if !groups {
            break;
        }
        opens.push(at);
        at += 1;
    }
    let own = |close: &usize| partners[*close].is_some_and(|partner| opens.binary_search(&partner).is_err());
    let first = (trail..word.len()).rfind(own).map_or(trail, |last| last + 1);
    (opens, first..word.len())
}

/// Returns for each byte the other half of the parenthesis there, within the word.
fn partners(word: &str) -> Vec<Option<usize>> {
    let mut partners = vec![None; word.len()];
    let mut open = Vec::new();
    for (at, byte) in word.bytes().enumerate() {
        match byte {
            b'(' => open.push(at),
            b')' => {
                if let Some(partner) = open.pop() {
                    (partners[at], partners[partner]) = (Some(partner), Some(at));
                }
            }
            _ => {}
        }
    }
    partners
}

/// Reads signs and the name of a field; returns their length in bytes.
fn lead(word: &str) -> (Sign, Option<Scope>, usize) {
    let signs = word.bytes().take_while(|byte| *byte == b'+').count();
    let sign = match signs {
        0 => Sign::None,
        1 => Sign::Plus,
        _ => Sign::PlusPlus,
    };
    let name = word[signs..].split_once(':').and_then(|(name, _)| Scope::named(name));
    (sign, name, signs + name.map_or(0, |scope| scope.name().len() + 1))
}

/// What people type before a colon and every door has a filter for.
const FILTERS: [&str; 10] =
    ["role", "source", "session", "user", "model", "workspace", "branch", "tool", "since", "until"];

struct Reader<'a> {
    text: &'a str,
    parentheses: Vec<Paren>,
    pieces: Vec<Piece>,
    /// What stood before the operand that comes.
    sign: Sign,
    scope: Option<Scope>,
}

impl Reader<'_> {
    fn phrase(&mut self, inside: Range<usize>, slop: u32) {
        let text = self.text[inside].to_owned();
        self.leaf(Node::Phrase { text, slop });
    }

    fn leaf(&mut self, node: Node) {
        let (sign, scope) = self.take_lead();
        self.pieces.push(Piece::Leaf(sign, scope, node));
    }

    fn take_lead(&mut self) -> (Sign, Option<Scope>) {
        (std::mem::replace(&mut self.sign, Sign::None), self.scope.take())
    }

    fn word(&mut self, word: Range<usize>, phrase_follows: bool, warnings: &mut Vec<Warning>) {
        let before = self.pieces.len();
        let is_edge = |at: &usize| self.parentheses[*at] != Paren::Text && self.text.as_bytes()[*at] == b')';
        let end = word.clone().rev().take_while(is_edge).last().unwrap_or(word.end);
        let start = self.opens(word.start..end);
        let body = &self.text[start..end];
        let is_bare = self.sign == Sign::None && self.scope.is_none();
        match (body, self.scope) {
            ("AND", _) if is_bare => self.pieces.push(Piece::And),
            ("OR", _) if is_bare => self.pieces.push(Piece::Or),
            ("NOT", _) if is_bare => self.pieces.push(Piece::Not),
            ("", _) if phrase_follows && end == word.end => return,
            ("", Some(scope)) => {
                self.scope = None;
                self.leaf(Node::Text(format!("{}:", scope.name())));
            }
            ("", None) => self.sign = Sign::None,
            _ => {
                let filter =
                    body.split_once(':').filter(|(name, value)| FILTERS.contains(name) && !value.is_empty());
                if let Some((name, _)) = filter {
                    let message =
                        format!("\"{body}\" was searched as text: {name} is a filter beside the query");
                    warn(warnings, "operator-as-text", message);
                }
                self.leaf(node(body));
            }
        }
        let groups = (end..word.end).filter(|at| self.parentheses[*at] == Paren::Groups);
        self.pieces.extend(groups.map(|_| Piece::Close));
        if self.pieces.len() == before {
            let message = format!("\"{}\" holds no letter or digit and was not searched", &self.text[word]);
            warn(warnings, "nothing-to-search", message);
        }
    }

    /// Reads signs, fields and parentheses before a word; returns where the word begins.
    fn opens(&mut self, word: Range<usize>) -> usize {
        let mut at = word.start;
        loop {
            let (sign, scope, length) = lead(&self.text[at..word.end]);
            at += length;
            self.scope = scope.or(self.scope);
            if sign != Sign::None {
                self.sign = sign;
            }
            if at >= word.end || self.text.as_bytes()[at] != b'(' {
                return at;
            }
            match self.parentheses[at] {
                Paren::Text => return at,
                Paren::Stray => {}
                Paren::Groups => {
                    let (sign, scope) = self.take_lead();
                    self.pieces.push(Piece::Open(sign, scope));
                }
            }
            at += 1;
        }
    }
}

/// Reads a word: `prefix*`, `fuzzy~`, or text.
fn node(word: &str) -> Node {
    if let Some(stem) = word.strip_suffix('*').filter(|stem| is_prefix(stem)) {
        return Node::Prefix(stem.to_owned());
    }
    let fuzzy = [("~", None), ("~1", Some(1)), ("~2", Some(2))].into_iter().find_map(|(suffix, edits)| {
        word.strip_suffix(suffix).filter(|stem| is_word(stem)).map(|stem| (stem, edits))
    });
    match fuzzy {
        Some((stem, edits)) => {
            // A short word with two edits is any other short word.
            let edits = edits.unwrap_or(if stem.chars().count() <= 5 { 1 } else { 2 });
            Node::Fuzzy { text: stem.to_owned(), edits }
        }
        None => Node::Text(word.to_owned()),
    }
}

/// Two letters, or one character of a script whose characters are words.
fn is_prefix(stem: &str) -> bool {
    let may_stand = |c: char| c.is_alphanumeric() || !c.is_ascii() || "_-./\\:@'".contains(c);
    let is_han =
        |c: char| matches!(c, '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}');
    stem.chars().all(may_stand)
        && (stem.chars().filter(|c| c.is_alphanumeric()).count() >= 2 || stem.chars().any(is_han))
}

/// One word of three letters or more.
fn is_word(stem: &str) -> bool {
    stem.chars().all(|c| c.is_alphanumeric() || !c.is_ascii())
        && stem.chars().filter(|c| c.is_alphanumeric()).count() >= 3
}
