//! Lowers a query to posting lists: which terms in which fields, what they are worth, what must
//! and must not be there. Pure: opens no segment, reads no clock.

use crate::limits::{QUERY_RUN_CHARS_MAX, QUERY_TERMS_MAX};
use crate::model::{Field, Warning};
use crate::query::{Clause, Occur, Query};
use crate::text::{Analyzer, Kind, segment_words};

use super::request::{Match, SearchRequest};

/// The lists that answer a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// What a hit can be said to hold, as typed; a list names the ones it stands for by bit.
    pub(super) terms: Vec<Term>,
    /// Lists that make a document a match, each in every searched field.
    pub(super) lists: Vec<List>,
    /// Neighbouring words of the query: side by side in one field they add to the score.
    pub(super) pairs: Vec<List>,
    /// For each required clause, the terms of which one must be there.
    pub(super) required: Vec<u64>,
    /// Lists whose documents are no match.
    pub(super) excluded: Vec<List>,
    /// The searched fields, with their boosts.
    pub(super) fields: Vec<(Field, f32)>,
    /// Factor on the score of pairs.
    pub(super) phrase_boost: f32,
    /// A run without spaces was read as one phrase and could be read as words instead.
    pub(super) can_relax: bool,
    pub(super) warnings: Vec<Warning>,
}

/// One thing that a hit may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// As typed.
    pub(super) label: String,
    sought: Sought,
}

/// A list and the terms it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List {
    pub(super) sought: Sought,
    pub(super) terms: u64,
}

/// What a list holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sought {
    /// Documents with a token.
    Token(String),
    /// Documents with tokens at these distances from the first.
    Phrase(Vec<(u32, String)>),
}

/// How runs of scripts without spaces are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Short ones as a phrase, found exactly where they stand in the text.
    Strict,
    /// All of them as dictionary words.
    Relaxed,
}

impl Plan {
    pub(super) fn of(query: &Query, request: &SearchRequest, reading: Reading) -> Self {
        let mut plan = Self {
            fields: request.fields(),
            phrase_boost: request.weights.phrase,
            warnings: query.warnings.clone(),
            ..Self::default()
        };
        let mut analyzer = Analyzer::default();
        let mut before = None;
        for clause in &query.clauses {
            let tokens = tokens(&mut analyzer, &clause.text);
            if tokens.is_empty() {
                let message = format!("\"{}\" holds no letter or digit and was not searched", clause.text);
                plan.warnings.push(Warning::new("nothing-to-search", message));
                continue;
            }
            plan.clause(clause, &tokens, request.matching, reading, &mut before);
        }
        plan
    }

    fn clause(
        &mut self,
        clause: &Clause,
        tokens: &[Owned],
        matching: Match,
        reading: Reading,
        before: &mut Before,
    ) {
        let required = clause.occur == Occur::Must || matching == Match::All;
        if clause.occur == Occur::MustNot {
            if self.excluded.len() >= QUERY_TERMS_MAX {
                return self.cut();
            }
            self.excluded.extend(unit(tokens).into_iter().map(|sought| List { sought, terms: 0 }));
            *before = None;
        } else if clause.quoted {
            self.strict_unit(&clause.text, tokens, true);
            *before = None;
        } else {
            for run in runs(tokens) {
                let label = &clause.text[run[0].from..run.last().expect("no run is empty").to];
                if run.iter().any(|token| token.kind == Kind::Solo) {
                    self.solo_run(label, run, required, reading);
                    *before = None;
                } else if required {
                    self.strict_unit(label, run, true);
                    *before = None;
                } else {
                    self.words(&clause.text, run, before);
                }
            }
        }
    }

    /// A clause whose tokens must stand together, in order.
    fn strict_unit(&mut self, label: &str, tokens: &[Owned], required: bool) {
        let mut sought = unit(tokens).into_iter();
        let Some(first) = sought.next() else { return };
        let Some(bit) = self.term(label, first.clone()) else { return };
        self.list(first, bit);
        sought.for_each(|whole| self.list(whole, bit));
        if required && !self.required.contains(&bit) {
            self.required.push(bit);
        }
    }

    /// Words that count each by itself; the identifiers they form count once more.
    fn words(&mut self, text: &str, run: &[Owned], before: &mut Before) {
        let mut bits: Vec<(usize, u64)> = Vec::new();
        for token in run.iter().filter(|token| token.kind == Kind::Word) {
            let sought = Sought::Token(token.text.clone());
            let Some(bit) = self.term(&text[token.from..token.to], sought.clone()) else { continue };
            self.list(sought, bit);
            if let Some((word, before_bit)) = before.take().filter(|(word, _)| *word != token.text) {
                self.pair(word, token.text.clone(), before_bit | bit);
            }
            *before = Some((token.text.clone(), bit));
            bits.push((token.position, bit));
        }
        for whole in run.iter().filter(|token| token.kind == Kind::Whole) {
            let covered = |(position, _): &&(usize, u64)| {
                (whole.position..whole.position + whole.span).contains(position)
            };
            let mask = bits.iter().filter(covered).fold(0, |mask, (_, bit)| mask | bit);
            if mask != 0 {
                self.list(Sought::Token(whole.text.clone()), mask);
            }
        }
    }

    /// A run of a script without spaces: a phrase if it is short, dictionary words if not.
    fn solo_run(&mut self, label: &str, run: &[Owned], required: bool, reading: Reading) {
        let words = words_of_run(label, run);
        let length = run.iter().filter(|token| token.kind == Kind::Solo).count();
        let as_phrase = reading == Reading::Strict && length <= QUERY_RUN_CHARS_MAX;
        if as_phrase || words.len() < 2 {
            self.can_relax |= words.len() > 1;
            return self.strict_unit(label, run, required);
        }
        for (word, tokens) in words {
            self.strict_unit(word, &tokens, required);
        }
    }

    /// Returns the bit of a term, a new one for a new term; `None` when there are too many.
    fn term(&mut self, label: &str, sought: Sought) -> Option<u64> {
        if let Some(at) = self.terms.iter().position(|term| term.sought == sought) {
            return Some(1 << at);
        }
        if self.terms.len() == QUERY_TERMS_MAX {
            self.cut();
            return None;
        }
        self.terms.push(Term { label: label.to_owned(), sought });
        Some(1 << (self.terms.len() - 1))
    }

    fn cut(&mut self) {
        let warning =
            Warning::new("query-cut", format!("only the first {QUERY_TERMS_MAX} terms were searched"));
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn list(&mut self, sought: Sought, terms: u64) {
        match self.lists.iter_mut().find(|list| list.sought == sought) {
            Some(list) => list.terms |= terms,
            None => self.lists.push(List { sought, terms }),
        }
    }

    fn pair(&mut self, first: String, second: String, terms: u64) {
        let pair = List { sought: Sought::Phrase(vec![(0, first), (1, second)]), terms };
        if !self.pairs.contains(&pair) {
            self.pairs.push(pair);
        }
    }
}

/// The word before, if the next one would be its neighbour.
type Before = Option<(String, u64)>;

/// A token, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) text: String,
    from: usize,
    to: usize,
    pub(super) position: usize,
    span: usize,
    pub(super) kind: Kind,
}

fn tokens(analyzer: &mut Analyzer, text: &str) -> Vec<Owned> {
    let mut stream = analyzer.tokens(text);
    let mut tokens = Vec::new();
    while let Some(token) = stream.advance() {
        tokens.push(Owned {
            text: token.text.to_owned(),
            from: token.from,
            to: token.to,
            position: token.position,
            span: token.span,
            kind: token.kind,
        });
    }
    tokens
}

/// Returns the phrase over the lane, and the stacked tokens that cover all of it.
fn unit(tokens: &[Owned]) -> Vec<Sought> {
    let lane: Vec<&Owned> =
        tokens.iter().filter(|token| token.kind != Kind::Whole).take(QUERY_TERMS_MAX).collect();
    let (Some(first), Some(last)) = (lane.first(), lane.last()) else { return Vec::new() };
    let covers = |token: &&Owned| {
        token.kind == Kind::Whole
            && token.position == first.position
            && token.position + token.span == last.position + 1
            && lane.len() > 1
    };
    let phrase = if lane.len() == 1 {
        Sought::Token(first.text.clone())
    } else {
        let distance = |token: &&Owned| u32::try_from(token.position - first.position).unwrap_or(u32::MAX);
        Sought::Phrase(lane.iter().map(|token| (distance(token), token.text.clone())).collect())
    };
    let wholes = tokens.iter().filter(covers).map(|token| Sought::Token(token.text.clone()));
    std::iter::once(phrase).chain(wholes).collect()
}

/// Cuts tokens into runs of words and runs of single characters that follow each other. A stacked
/// token goes with the lane token it stands on; before one, with the words that follow.
fn runs(tokens: &[Owned]) -> Vec<&[Owned]> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut last_solo: Option<usize> = None;
    for (at, token) in tokens.iter().enumerate() {
        let breaks = match token.kind {
            Kind::Solo => last_solo.is_none_or(|position| token.position > position + 1),
            Kind::Word => last_solo.is_some(),
            Kind::Whole => last_solo.is_some_and(|position| token.position > position),
        };
        if breaks && at > start {
            runs.push(&tokens[start..at]);
            start = at;
        }
        match token.kind {
            Kind::Solo => last_solo = Some(token.position),
            Kind::Word => last_solo = None,
            Kind::Whole if breaks => last_solo = None,
            Kind::Whole => {}
        }
    }
    if start < tokens.len() {
        runs.push(&tokens[start..]);
    }
    runs
}

/// Cuts a run of single characters into dictionary words, each with its tokens.
fn words_of_run<'a>(label: &'a str, run: &[Owned]) -> Vec<(&'a str, Vec<Owned>)> {
    let start = run[0].from;
    let mut at = start;
    let mut words = Vec::new();
    for word in segment_words(label) {
        let end = at + word.len();
        let tokens: Vec<Owned> =
            run.iter().filter(|token| token.from >= at && token.to <= end).cloned().collect();
        if !tokens.is_empty() {
            words.push((word, tokens));
        }
        at = end;
    }
    words
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::query::parse;

    fn show(sought: &Sought) -> String {
        match sought {
            Sought::Token(token) => token.clone(),
            Sought::Phrase(phrase) => {
                let words: Vec<_> = phrase.iter().map(|(at, word)| format!("{at}:{word}")).collect();
                format!("({})", words.join(" "))
            }
        }
    }

    fn check_reading(typed: &str, matching: Match, reading: Reading, expected: &Expect) {
        let mut request = SearchRequest::new(typed);
        request.matching = matching;
        let plan = Plan::of(&parse(typed), &request, reading);
        let labels: Vec<_> = plan.terms.iter().map(|term| term.label.as_str()).collect();
        let list = |list: &List| format!("{}={:b}", show(&list.sought), list.terms);
        let lists: Vec<_> = plan.lists.iter().map(list).collect();
        let pairs: Vec<_> = plan.pairs.iter().map(list).collect();
        let excluded: Vec<_> = plan.excluded.iter().map(|list| show(&list.sought)).collect();
        let mut shown = format!("{} | {}", labels.join(" "), lists.join(" "));
        for (name, values) in [("pairs", pairs), ("not", excluded)] {
            if !values.is_empty() {
                shown += &format!(" | {name} {}", values.join(" "));
            }
        }
        if !plan.required.is_empty() {
            shown += &format!(" | required {:b}", plan.required.iter().fold(0, |all, one| all | one));
        }
        expected.assert_eq(&shown);
    }

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value that is used once")]
    fn check(typed: &str, expected: Expect) {
        check_reading(typed, Match::Any, Reading::Strict, &expected);
    }

    #[test]
    fn words_are_optional_and_neighbours_make_pairs() {
        check(
            "lock order bug",
            expect![
                "lock order bug | lock=1 order=10 bug=100 | pairs (0:lock 1:order)=11 (0:order 1:bug)=110"
            ],
        );
    }

    #[test]
    fn a_repeated_word_is_one_list() {
        check(
            "the the lock the",
            expect!["the lock | the=1 lock=10 | pairs (0:the 1:lock)=11 (0:lock 1:the)=11"],
        );
    }

    #[test]
    fn an_identifier_counts_by_part_and_as_a_whole() {
        check("checkAuth", expect!["check Auth | check=1 auth=10 checkauth=11 | pairs (0:check 1:auth)=11"]);
    }

    #[test]
    fn a_required_identifier_is_a_phrase_or_its_whole() {
        check("+checkAuth", expect!["checkAuth | (0:check 1:auth)=1 checkauth=1 | required 1"]);
    }

    #[test]
    fn quotes_make_a_required_phrase() {
        check("\"lock order\" bug", expect!["lock order bug | (0:lock 1:order)=1 bug=10 | required 1"]);
    }

    #[test]
    fn a_short_han_run_is_found_as_it_stands() {
        check("记忆断裂", expect!["记忆断裂 | (0:记 1:忆 2:断 3:裂)=1"]);
        check("用Rust写", expect!["用 Rust 写 | 用=1 rust=10 写=100"]);
    }

    #[test]
    fn a_long_han_run_is_cut_into_words() {
        check(
            "今天的数据库连接池已经修好",
            expect![
                "今天 的 数据库 连接池 已经 修好 | (0:今 1:天)=1 今天=1 的=10 (0:数 1:据 2:库)=100 数据库=100 (0:连 1:接 2:池)=1000 连接池=1000 (0:已 1:经)=10000 已经=10000 (0:修 1:好)=100000 修好=100000"
            ],
        );
    }

    #[test]
    fn a_relaxed_run_is_cut_into_words() {
        let expected = expect!["记忆 断裂 | (0:记 1:忆)=1 记忆=1 (0:断 1:裂)=10 断裂=10"];
        check_reading("记忆断裂", Match::Any, Reading::Relaxed, &expected);
    }

    #[test]
    fn not_excludes_words_and_phrases() {
        check("disk NOT \"read only\"", expect!["disk | disk=1 | not (0:read 1:only)"]);
    }

    #[test]
    fn match_all_requires_every_clause() {
        check_reading(
            "lock order",
            Match::All,
            Reading::Strict,
            &expect!["lock order | lock=1 order=10 | required 11"],
        );
    }
}
