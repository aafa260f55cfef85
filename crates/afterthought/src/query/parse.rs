//! The grammar: words; `"a phrase"`; `+must`; `NOT this`; `this AND that`; `this OR that`.
//! Operators count in upper case and between operands only. A leading `-` is text: people search
//! for command-line flags.

use crate::limits::QUERY_BYTES_MAX;
use crate::model::Warning;

use super::{Clause, Occur, Query};

/// Reads a query. Never fails.
#[must_use]
pub fn parse(typed: &str) -> Query {
    let mut query = Query::default();
    let mut text = typed;
    if text.len() > QUERY_BYTES_MAX {
        text = &text[..text.floor_char_boundary(QUERY_BYTES_MAX)];
        let message = format!("only the first {QUERY_BYTES_MAX} bytes of the query were read");
        query.warnings.push(Warning::new("query-cut", message));
    }
    let pieces = pieces(text, &mut query.warnings);
    read_clauses(&pieces, &mut query);
    if !query.clauses.is_empty() && query.clauses.iter().all(|clause| clause.occur == Occur::MustNot) {
        // Nothing is left to find: the operator was a word.
        query.clauses.iter_mut().for_each(|clause| clause.occur = Occur::Should);
        query
            .warnings
            .push(Warning::new("operator-as-text", "NOT excludes from nothing here and was read as text"));
    }
    query
}

#[derive(Debug)]
struct Piece<'a> {
    text: &'a str,
    quoted: bool,
    plus: bool,
}

impl Piece<'_> {
    fn operator(&self) -> Option<&str> {
        (!self.quoted && !self.plus && matches!(self.text, "AND" | "OR" | "NOT")).then_some(self.text)
    }
}

/// Cuts at blanks and quotes.
fn pieces<'a>(text: &'a str, warnings: &mut Vec<Warning>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let plus = rest
            .strip_prefix('+')
            .is_some_and(|after| after.starts_with(|c: char| c.is_alphanumeric() || is_quote(c)));
        let body = if plus { &rest[1..] } else { rest };
        let Some(first) = body.chars().next() else { return pieces };
        if is_quote(first) {
            let inside = &body[first.len_utf8()..];
            if let Some(end) = inside.find(is_quote) {
                let close = inside[end..].chars().next().map_or(1, char::len_utf8);
                pieces.push(Piece { text: &inside[..end], quoted: true, plus });
                rest = &inside[end + close..];
            } else {
                warnings.push(Warning::new("open-quote", "a quote without its end was read as text"));
                rest = inside;
            }
            continue;
        }
        let end = body.find(|c: char| c.is_whitespace() || is_quote(c)).unwrap_or(body.len());
        pieces.push(Piece { text: &body[..end], quoted: false, plus });
        rest = &body[end..];
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201C}' | '\u{201D}' | '\u{201E}')
}

fn read_clauses(pieces: &[Piece<'_>], query: &mut Query) {
    let mut next_is_must = false;
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        let operand_follows = pieces.get(at + 1).is_some_and(|next| next.operator().is_none());
        let operand_before = at > 0 && pieces[at - 1].operator().is_none();
        match piece.operator() {
            Some("NOT") if operand_follows => {
                query.clauses.push(clause(&pieces[at + 1], Occur::MustNot));
                next_is_must = false;
                at += 1;
            }
            // `a AND NOT b` asks the same as `a NOT b`, and requires a.
            Some("AND") if operand_before && at + 1 < pieces.len() => {
                require_last(query);
                next_is_must = true;
            }
            // Words are alternatives already.
            Some("OR") if operand_before && operand_follows => {}
            Some(operator) => {
                let message = format!("{operator} has nothing to join here and was left out");
                query.warnings.push(Warning::new("operator-as-text", message));
            }
            None => {
                let occur = if piece.plus || next_is_must { Occur::Must } else { Occur::Should };
                query.clauses.push(clause(piece, occur));
                next_is_must = false;
            }
        }
        at += 1;
    }
}

fn require_last(query: &mut Query) {
    if let Some(last) = query.clauses.last_mut().filter(|last| last.occur == Occur::Should) {
        last.occur = Occur::Must;
    }
}

fn clause(piece: &Piece<'_>, occur: Occur) -> Clause {
    Clause { occur, text: piece.text.to_owned(), quoted: piece.quoted }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value that is used once")]
    fn check(typed: &str, expected: Expect) {
        let query = parse(typed);
        let mut shown: Vec<String> = query
            .clauses
            .iter()
            .map(|clause| {
                let sign = match clause.occur {
                    Occur::Should => "",
                    Occur::Must => "+",
                    Occur::MustNot => "!",
                };
                let quote = if clause.quoted { "\"" } else { "" };
                format!("{sign}{quote}{}{quote}", clause.text)
            })
            .collect();
        shown.extend(query.warnings.iter().map(|warning| format!("({})", warning.kind)));
        expected.assert_eq(&shown.join(" "));
    }

    #[test]
    fn words_and_phrases() {
        check("disk \"lock order\" full", expect![[r#"disk "lock order" full"#]]);
        check("“lock order”", expect![[r#""lock order""#]]);
    }

    #[test]
    fn flags_and_signs_are_text() {
        check("git commit --amend -m a+b + C++", expect!["git commit --amend -m a+b + C++"]);
    }

    #[test]
    fn must_and_must_not() {
        check("+disk full NOT quota NOT \"read only\"", expect![[r#"+disk full !quota !"read only""#]]);
        check("+\"lock order\" x", expect![[r#"+"lock order" x"#]]);
    }

    #[test]
    fn and_requires_both_sides_and_or_neither() {
        check("a AND b c", expect!["+a +b c"]);
        check("a OR b", expect!["a b"]);
        check("a AND NOT b", expect!["+a !b"]);
    }

    #[test]
    fn operators_in_lower_case_are_words() {
        check("this or that and not those", expect!["this or that and not those"]);
    }

    #[test]
    fn operators_without_operands_are_said() {
        check("lattice OR OR lattice", expect!["lattice lattice (operator-as-text) (operator-as-text)"]);
        check("AND x", expect!["x (operator-as-text)"]);
        check("NOT x", expect!["x (operator-as-text)"]);
        check("x NOT", expect!["x (operator-as-text)"]);
    }

    #[test]
    fn broken_input_is_text() {
        check(r#"disk "full"#, expect!["disk full (open-quote)"]);
        check("\"", expect!["(open-quote)"]);
        check("( * NEAR(", expect!["( * NEAR("]);
        check("", expect![""]);
        assert_eq!(parse(&"\"".repeat(5_000)).clauses.len(), 2_500);
        assert_eq!(parse(&"x".repeat(100_000)).clauses[0].text.len(), QUERY_BYTES_MAX);
    }
}
