//! Builds the tree from pieces. Operators count in upper case and between operands only; AND binds
//! closer than OR, and OR closer than standing side by side.

use crate::limits::{QUERY_BYTES_MAX, QUERY_DEPTH_MAX};
use crate::model::Warning;

use super::pieces::{Piece, Sign, pieces, warn};
use super::{Clause, Node, Occur, Query, Scope};

/// Reads a query. Never fails; costs a few passes over at most [`QUERY_BYTES_MAX`] bytes.
#[must_use]
pub fn parse(typed: &str) -> Query {
    let mut warnings = Vec::new();
    let text = &typed[..typed.floor_char_boundary(QUERY_BYTES_MAX)];
    if text.len() < typed.len() {
        let message = format!("only the first {QUERY_BYTES_MAX} bytes of the query were read");
        warn(&mut warnings, "query-cut", message);
    }
    read(text, false, warnings.clone()).unwrap_or_else(|| {
        let message = format!("parentheses go deeper than {QUERY_DEPTH_MAX} and were read as text");
        warn(&mut warnings, "operator-as-text", message);
        read(text, true, warnings).expect("a query without parentheses nests three deep at most")
    })
}

/// Reads a query; `None` if its groups nest too deep.
fn read(text: &str, flat: bool, mut warnings: Vec<Warning>) -> Option<Query> {
    let pieces = pieces(text, flat, &mut warnings);
    if nesting(&pieces) > QUERY_DEPTH_MAX {
        return None;
    }
    let mut reader = Reader { pieces: &pieces, at: 0, warnings };
    let mut clauses = reader.group();
    debug_assert_eq!(reader.at, pieces.len(), "every Close has its Open");
    if !clauses.is_empty() && clauses.iter().all(is_excluded) {
        // Nothing is left to find: the operator was a word.
        for clause in &mut clauses {
            let is_phrase = matches!(clause.node, Node::Phrase { .. });
            clause.occur = if is_phrase { Occur::Must } else { Occur::Should };
        }
        reader.warn("NOT excludes from nothing here and was read as text");
    }
    let warnings = reader.warnings;
    (depth(&clauses) <= QUERY_DEPTH_MAX).then_some(Query { clauses, warnings })
}

/// Returns the deepest nesting of parentheses.
fn nesting(pieces: &[Piece]) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    for piece in pieces {
        match piece {
            Piece::Open(..) => depth += 1,
            Piece::Close => depth -= 1,
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// Returns the deepest nesting of groups.
fn depth(clauses: &[Clause]) -> usize {
    let below = clauses.iter().filter_map(|clause| match &clause.node {
        Node::Group(clauses) => Some(1 + depth(clauses)),
        _ => None,
    });
    below.max().unwrap_or(0)
}

fn is_excluded(clause: &Clause) -> bool {
    clause.occur == Occur::MustNot
}

struct Reader<'a> {
    pieces: &'a [Piece],
    at: usize,
    warnings: Vec<Warning>,
}

/// What an operator joins: one clause to find, or several to exclude, or nothing.
struct Operand {
    clauses: Vec<Clause>,
    /// A phrase without a sign: required where it stands by itself.
    is_bare_phrase: bool,
}

impl Operand {
    fn finds(&self) -> bool {
        self.clauses.iter().any(|clause| !is_excluded(clause))
    }
}

impl Reader<'_> {
    fn warn(&mut self, message: impl Into<String>) {
        warn(&mut self.warnings, "operator-as-text", message);
    }

    /// Reads clauses side by side, up to a `Close` or the end.
    fn group(&mut self) -> Vec<Clause> {
        let mut clauses = Vec::new();
        while self.at < self.pieces.len() && self.pieces[self.at] != Piece::Close {
            self.alternatives(&mut clauses);
        }
        clauses
    }

    /// Reads operands joined by OR.
    fn alternatives(&mut self, clauses: &mut Vec<Clause>) {
        let mut first = self.conjunction();
        let mut excluded = Vec::new();
        let mut more = Vec::new();
        while self.pieces.get(self.at) == Some(&Piece::Or) {
            let joins = first.finds() && self.is_operand(self.at + 1);
            self.at += 1;
            let next = if joins {
                self.conjunction()
            } else {
                Operand { clauses: Vec::new(), is_bare_phrase: false }
            };
            if next.finds() {
                more.push(next);
            } else {
                excluded.extend(next.clauses);
                self.warn("OR has nothing to join here and was left out");
            }
        }
        if more.is_empty() {
            if first.is_bare_phrase {
                first.clauses[0].occur = Occur::Must;
            }
            clauses.append(&mut first.clauses);
        } else {
            let all = std::iter::once(first).chain(more).map(|operand| one(operand.clauses)).collect();
            clauses.push(Clause { occur: Occur::Should, scope: None, node: Node::Group(all) });
        }
        clauses.append(&mut excluded);
    }

    /// Reads operands joined by AND.
    fn conjunction(&mut self) -> Operand {
        let mut all = self.operand();
        while self.pieces.get(self.at) == Some(&Piece::And) {
            let joins = !all.clauses.is_empty() && self.is_operand_or_not(self.at + 1);
            self.at += 1;
            if !joins {
                self.warn("AND has nothing to join here and was left out");
                continue;
            }
            all.clauses.extend(self.operand().clauses);
            all.is_bare_phrase = false;
            for clause in all.clauses.iter_mut().filter(|clause| clause.occur == Occur::Should) {
                clause.occur = Occur::Must;
            }
        }
        all
    }

    fn is_operand(&self, at: usize) -> bool {
        matches!(self.pieces.get(at), Some(Piece::Leaf(..) | Piece::Open(..)))
    }

    fn is_operand_or_not(&self, at: usize) -> bool {
        self.is_operand(at) || (self.pieces.get(at) == Some(&Piece::Not) && self.is_operand(at + 1))
    }

    fn operand(&mut self) -> Operand {
        let piece = &self.pieces[self.at];
        self.at += 1;
        let mut is_bare_phrase = false;
        let clauses = match piece {
            Piece::Leaf(sign, scope, node) => {
                is_bare_phrase = *sign == Sign::None && matches!(node, Node::Phrase { .. });
                vec![Clause { occur: occur(*sign), scope: *scope, node: node.clone() }]
            }
            Piece::Open(sign, scope) => self.parenthesis(*sign, *scope),
            Piece::Not if self.is_operand(self.at) => excluded(self.operand().clauses),
            // The conjunction and the alternatives say what they leave out.
            Piece::And | Piece::Or | Piece::Close => {
                self.at -= 1;
                Vec::new()
            }
            Piece::Not => {
                self.warn("NOT has nothing to join here and was left out");
                Vec::new()
            }
        };
        Operand { clauses, is_bare_phrase }
    }

    fn parenthesis(&mut self, sign: Sign, scope: Option<Scope>) -> Vec<Clause> {
        let mut inside = self.group();
        debug_assert_eq!(self.pieces[self.at], Piece::Close, "every Open has its Close");
        self.at += 1;
        if let [Clause { occur: Occur::Should, scope: None, node: Node::Group(only) }] = &mut inside[..] {
            inside = std::mem::take(only);
        }
        if inside.is_empty() {
            let message = "parentheses without anything inside were left out";
            warn(&mut self.warnings, "nothing-to-search", message);
            return inside;
        }
        if inside.iter().all(is_excluded) {
            return inside.into_iter().map(|clause| scoped(clause, scope)).collect();
        }
        vec![Clause { occur: occur(sign), scope, node: Node::Group(inside) }]
    }
}

fn occur(sign: Sign) -> Occur {
    if sign == Sign::Plus { Occur::Must } else { Occur::Should }
}

/// Makes one clause of several.
fn one(mut clauses: Vec<Clause>) -> Clause {
    if clauses.len() == 1 {
        return clauses.remove(0);
    }
    Clause { occur: Occur::Should, scope: None, node: Node::Group(clauses) }
}

/// Excludes one clause; what was excluded already is wanted again.
fn excluded(mut clauses: Vec<Clause>) -> Vec<Clause> {
    if clauses.is_empty() {
        return clauses;
    }
    let twice = clauses.iter().all(is_excluded);
    let occur = if twice { Occur::Should } else { Occur::MustNot };
    for clause in &mut clauses {
        clause.occur = occur;
    }
    vec![one(clauses)]
}

/// Puts a field around an excluded clause.
fn scoped(clause: Clause, scope: Option<Scope>) -> Clause {
    if scope.is_none() || clause.scope.is_none() {
        return Clause { scope: scope.or(clause.scope), ..clause };
    }
    let inside = Clause { occur: Occur::Should, ..clause };
    Clause { occur: Occur::MustNot, scope, node: Node::Group(vec![inside]) }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::query::simplify;

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value that is used once")]
    fn check(typed: &str, expected: Expect) {
        let query = parse(typed);
        let mut shown = query.to_string();
        for warning in &query.warnings {
            shown += &format!(" ({})", warning.kind);
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn words_and_phrases() {
        check("disk \"lock order\" full", expect![[r#"disk +"lock order" full"#]]);
        check("“lock order” „a b“ ＂c d＂", expect![[r#"+"lock order" +"a b" +"c d""#]]);
        check("\"a b\"~3 \"a b\"~x \"a b\"~99", expect![[r#"+"a b"~3 +"a b" ~x +"a b"~32 (query-cut)"#]]);
    }

    #[test]
    fn flags_and_signs_are_text() {
        check("git commit --amend -m a+b C++ -x", expect!["git commit --amend -m a+b C++ -x"]);
        check("C + D", expect!["C D (nothing-to-search)"]);
        check("x `NOT` `foo*`", expect!["x `NOT` `foo*`"]);
    }

    #[test]
    fn must_and_must_not() {
        check("+disk full NOT quota NOT \"read only\"", expect![[r#"+disk full NOT quota NOT "read only""#]]);
        check("+\"lock order\" x +(a b)", expect![[r#"+"lock order" x +( a OR b )"#]]);
        check("x NOT (a b)", expect!["x NOT ( a OR b )"]);
        check("x (NOT a) NOT (NOT b NOT c)", expect!["x NOT a ( b OR c )"]);
    }

    #[test]
    fn and_binds_closer_than_or() {
        check("a AND b c", expect!["+a +b c"]);
        check("a OR b", expect!["( a OR b )"]);
        check("a AND NOT b", expect!["+a NOT b"]);
        check("a AND b OR c", expect!["( ( +a +b ) OR c )"]);
        check("a OR b AND c d", expect!["( a OR ( +b +c ) ) d"]);
        check("(a OR b) AND c", expect!["+( a OR b ) +c"]);
        check("\"a b\" OR c", expect![[r#"( "a b" OR c )"#]]);
    }

    #[test]
    fn operators_in_lower_case_are_words() {
        check("this or that and not those", expect!["this or that and not those"]);
    }

    #[test]
    fn operators_without_operands_are_said() {
        check("lattice OR OR lattice", expect!["( lattice OR lattice ) (operator-as-text)"]);
        check("AND x", expect!["x (operator-as-text)"]);
        check("NOT x", expect!["x (operator-as-text)"]);
        check("x NOT", expect!["x (operator-as-text)"]);
        check("a OR NOT b", expect!["a NOT b (operator-as-text)"]);
        check("NOT NOT AND OR", expect![" (operator-as-text) (operator-as-text) (operator-as-text)"]);
    }

    #[test]
    fn parentheses_group_at_the_borders_of_words() {
        check("foo(bar) NEAR( (see f(x))", expect!["foo(bar) NEAR( ( see OR f(x) )"]);
        check("(a (b c) x:)", expect!["( a OR ( b OR c ) OR x: )"]);
        check("(open and shut) :)", expect!["( open OR and OR shut ) :"]);
        check("(a", expect!["a"]);
        check("() x", expect!["x (nothing-to-search)"]);
    }

    #[test]
    fn fields_have_known_names() {
        check(
            "said:lock title:\"a b\" +did:(run NOT rm) saw:no*",
            expect![[r#"said:lock +title:"a b" +did:( run NOT rm ) saw:no*"#]],
        );
        check(
            "TODO: fix error:timeout C:\\x https://x.y",
            expect!["TODO: fix error:timeout C:\\x https://x.y"],
        );
        check("said: x content:said:y", expect!["said: x content:said:y"]);
        check("role:user lock user: hi", expect!["role:user lock user: hi (operator-as-text)"]);
    }

    #[test]
    fn prefixes_and_near_spellings() {
        check("sp_new* суббот* 北* x* * **bold**", expect!["sp_new* суббот* 北* x* * **bold**"]);
        check("lattice~ cat~ cat~2 ~/x a~ x.rs~", expect!["lattice~2 cat~1 cat~2 ~/x a~ x.rs~"]);
    }

    #[test]
    fn broken_input_is_text() {
        check(r#"disk "full"#, expect!["disk full (open-quote)"]);
        check("\"", expect![" (open-quote)"]);
        check("( * NEAR(", expect!["* NEAR( (nothing-to-search)"]);
        check("", expect![""]);
        check(&("(".repeat(40) + "a b" + &")".repeat(40)), expect!["a b (operator-as-text)"]);
        assert_eq!(parse(&"\"".repeat(5_000)).clauses.len(), 2_500);
        assert_eq!(parse(&"(".repeat(100_000)).clauses, []);
        assert_eq!(parse(&("(".repeat(8_000) + "a" + &")".repeat(8_000))).clauses.len(), 1);
        let long = Node::Text("x".repeat(QUERY_BYTES_MAX));
        assert_eq!(parse(&"x".repeat(100_000)).clauses[0].node, long);
    }

    const ALPHABET: [&str; 43] = [
        "a",
        "b",
        "cat",
        "foo(bar)",
        "记忆",
        "北",
        "é",
        " ",
        " ",
        " ",
        "(",
        ")",
        "(",
        ")",
        "\"",
        "“",
        "+",
        "++",
        "AND",
        "OR",
        "NOT",
        " AND ",
        " OR ",
        " NOT ",
        " NOT (",
        "\"a b\"",
        "~",
        "~2",
        "*",
        ":",
        "said:",
        "title:",
        "content:(",
        "`",
        "-",
        "'",
        "/",
        "\\",
        "x:",
        "\u{3000}",
        "＂",
        "AND",
        ".",
    ];

    fn random_queries(count: usize, mut visit: impl FnMut(&str, &mut dyn FnMut(usize) -> usize)) {
        let mut state = 7_u64;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        for _ in 0..count {
            let length = random(24);
            let typed: String = (0..length).map(|_| ALPHABET[random(ALPHABET.len())]).collect();
            visit(&typed, &mut random);
        }
    }

    #[test]
    fn a_query_prints_as_itself() {
        random_queries(30_000, |typed, _| {
            let query = parse(typed);
            let printed = query.to_string();
            assert_eq!(parse(&printed).clauses, query.clauses, "{typed:?} printed {printed:?}");
        });
    }

    #[test]
    fn a_group_holds_something_to_find() {
        fn check(clauses: &[Clause], typed: &str) {
            assert!(clauses.iter().any(|clause| !is_excluded(clause)), "{typed:?}");
            for clause in clauses {
                if let Node::Group(inside) = &clause.node {
                    check(inside, typed);
                }
            }
        }
        random_queries(30_000, |typed, _| {
            let clauses = parse(typed).clauses;
            if !clauses.is_empty() {
                check(&clauses, typed);
            }
        });
    }

    /// Whether a group matches where `holds` says what a leaf matches, by its field.
    fn matches(clauses: &[Clause], scopes: &mut Vec<Scope>, holds: &dyn Fn(&str) -> bool) -> bool {
        let mut of = |occur| -> Vec<bool> {
            let clauses: Vec<&Clause> = clauses.iter().filter(|clause| clause.occur == occur).collect();
            clauses.into_iter().map(|clause| matches_one(clause, scopes, holds)).collect()
        };
        let (should, must, not) = (of(Occur::Should), of(Occur::Must), of(Occur::MustNot));
        let any = !must.is_empty() || should.contains(&true);
        any && !must.contains(&false) && !not.contains(&true)
    }

    fn matches_one(clause: &Clause, scopes: &mut Vec<Scope>, holds: &dyn Fn(&str) -> bool) -> bool {
        scopes.extend(clause.scope);
        let matched = match &clause.node {
            Node::Group(inside) => matches(inside, scopes, holds),
            leaf => {
                let mut names: Vec<_> = scopes.iter().map(|scope| scope.name()).collect();
                names.sort_unstable();
                names.dedup();
                holds(&format!("{leaf} {names:?}"))
            }
        };
        scopes.truncate(scopes.len() - usize::from(clause.scope.is_some()));
        matched
    }

    #[test]
    fn a_simplified_query_matches_the_same() {
        let mut smaller = 0;
        random_queries(30_000, |typed, random| {
            let clauses = parse(typed).clauses;
            let simple = simplify(clauses.clone());
            smaller += usize::from(simple != clauses);
            assert_eq!(simplify(simple.clone()), simple, "{typed:?}: once is enough");
            for _ in 0..4 {
                let salt = random(1_000_000) as u64;
                let holds = |leaf: &str| xxhash_rust::xxh3::xxh3_64_with_seed(leaf.as_bytes(), salt) & 1 == 1;
                let (before, after) =
                    (matches(&clauses, &mut Vec::new(), &holds), matches(&simple, &mut Vec::new(), &holds));
                assert_eq!(before, after, "{typed:?}: {clauses:?} {simple:?}");
            }
        });
        assert!(smaller > 500, "{smaller}");
    }
}
