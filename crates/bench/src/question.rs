//! One question, put to every side in its own words.

use afterthought::query::{Clause, Node, Occur, parse};
use afterthought::{Facet, Filters, Group, Match, Origin, SearchRequest, Sort};
use rusqlite::types::Value;
use serde::{Deserialize, Serialize};

/// Hits of a page.
pub(crate) const PAGE_HITS: usize = 10;

/// Where a match may stand. Session titles are left out: no other side searches them.
const ORIGINS: [Origin; 4] = [Origin::Said, Origin::Thought, Origin::Did, Origin::Saw];

/// What is counted where counts are asked for.
const FACETS: [Facet; 2] = [Facet::Role, Facet::Source];

/// A query, what narrows it, and the shape of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The query as typed.
    pub query: String,
    /// Whether a hit needs every word.
    pub all: bool,
    /// Only messages of this role.
    pub role: Option<String>,
    /// What the answer looks like.
    pub shape: Shape,
}

/// What an answer looks like, besides ten hits with snippets and the total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// The best.
    Best,
    /// The newest.
    Newest,
    /// Each session once by its best message; the total counts sessions.
    BySession,
    /// The best, and all that match counted by role and by source.
    Facets,
    /// The best after the first thousand.
    After1000,
}

impl Shape {
    /// Returns how many hits come before the page.
    pub(crate) fn offset(self) -> usize {
        if self == Self::After1000 { 1_000 } else { 0 }
    }
}

/// A condition on a row with the values of its parameters.
pub(crate) struct Condition {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

impl Question {
    /// Asks for any of the words of a query, from anyone.
    #[must_use]
    pub fn any(query: &str) -> Self {
        Self { query: query.to_owned(), all: false, role: None, shape: Shape::Best }
    }

    /// Asks for all of the words.
    #[must_use]
    pub fn all(query: &str) -> Self {
        Self { all: true, ..Self::any(query) }
    }

    /// Asks among messages of one role.
    #[must_use]
    pub fn of_role(&self, role: &str) -> Self {
        Self { role: Some(role.to_owned()), ..self.clone() }
    }

    /// Asks for an answer of another shape.
    #[must_use]
    pub fn shaped(&self, shape: Shape) -> Self {
        Self { shape, ..self.clone() }
    }

    /// Returns the question as our engine takes it. Repeated messages count, as they do elsewhere.
    #[must_use]
    pub fn request(&self) -> SearchRequest {
        SearchRequest {
            origins: ORIGINS.to_vec(),
            filters: Filters {
                roles: self.role.iter().cloned().collect(),
                include_copies: true,
                ..Filters::default()
            },
            matching: if self.all { Match::All } else { Match::Any },
            limit: PAGE_HITS,
            offset: self.shape.offset(),
            sort: if self.shape == Shape::Newest { Sort::Newest } else { Sort::Relevance },
            group: if self.shape == Shape::BySession { Group::Session } else { Group::None },
            facets: if self.shape == Shape::Facets { FACETS.to_vec() } else { Vec::new() },
            ..SearchRequest::new(self.query.as_str())
        }
    }

    /// Returns the question as `aft search` takes it.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let origins: Vec<&str> = ORIGINS.iter().map(|origin| origin.name()).collect();
        let mut arguments = vec!["search".to_owned(), "--in".to_owned(), origins.join(",")];
        arguments.push("--include-copies".to_owned());
        arguments.extend(["--match", if self.all { "all" } else { "any" }].map(str::to_owned));
        if let Some(role) = &self.role {
            arguments.extend(["--role", role].map(str::to_owned));
        }
        let shape: &[&str] = match self.shape {
            Shape::Best => &[],
            Shape::Newest => &["--sort", "newest"],
            Shape::BySession => &["--group", "session"],
            Shape::Facets => &["--facets", "role,source"],
            Shape::After1000 => &["--offset", "1000"],
        };
        arguments.extend(shape.iter().map(|&argument| argument.to_owned()));
        arguments.extend(["--", &self.query].map(str::to_owned));
        arguments
    }

    /// Returns the question in FTS5's query language: every clause a phrase, joined by operators.
    pub(crate) fn fts5(&self) -> String {
        joined(&self.clauses(), self.all, "NOT", &mut |text, is_prefix| {
            format!("\"{}\"{}", text.replace('"', "\"\""), if is_prefix { " *" } else { "" })
        })
    }

    /// Returns the question as a scan's condition on `messages m`: words as substrings of any text, of
    /// reasoning on an assistant's rows only.
    pub(crate) fn scan(&self) -> Condition {
        let mut condition = Condition { sql: String::new(), values: Vec::new() };
        let sql = joined(&self.clauses(), self.all, "AND NOT", &mut |text, _| condition.holds(text));
        Condition { sql, ..condition }
    }

    /// Returns the first word or phrase that is looked for.
    pub(crate) fn first_words(&self) -> String {
        self.words().into_iter().next().unwrap_or_default()
    }

    /// Returns the words and phrases of the query, also those that must not be there.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        joined(&self.clauses(), self.all, "NOT", &mut |text, _| {
            words.push(text.to_owned());
            String::new()
        });
        words
    }

    /// Tells whether a word boundary says nothing about the query: it holds Han, which has none.
    pub(crate) fn has_han(&self) -> bool {
        self.query.chars().any(is_han)
    }

    fn clauses(&self) -> Vec<Clause> {
        parse(&self.query).clauses
    }
}

impl Condition {
    fn holds(&mut self, text: &str) -> String {
        let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        self.values.push(Value::Text(format!("%{escaped}%")));
        let place = self.values.len();
        let like = |column: &str| format!("m.{column} LIKE ?{place} ESCAPE '\\'");
        let texts = ["content", "tool_name", "tool_calls"].map(like).join(" OR ");
        let thoughts = ["reasoning", "reasoning_content"].map(like).join(" OR ");
        // A column that is NULL must not make the whole condition unknown, or NOT would fail.
        format!("coalesce({texts} OR (m.role = 'assistant' AND ({thoughts})), 0)")
    }
}

pub(crate) fn is_han(character: char) -> bool {
    ('\u{3400}'..='\u{4dbf}').contains(&character) || ('\u{4e00}'..='\u{9fff}').contains(&character)
}

/// Writes a word, and hears whether it is only the beginning of one.
type Leaf<'a> = dyn FnMut(&str, bool) -> String + 'a;

/// Writes a group as every side reads it: what is wanted, then what is excluded. Fields and near
/// spellings have no twin on the other sides: their words are looked for.
fn joined(clauses: &[Clause], needs_every: bool, not: &str, leaf: &mut Leaf<'_>) -> String {
    let (excluded, mut wanted): (Vec<_>, Vec<_>) =
        clauses.iter().partition(|clause| clause.occur == Occur::MustNot);
    let has_must = wanted.iter().any(|clause| clause.occur == Occur::Must);
    if has_must && !needs_every {
        // Beside a required word the others only rank.
        wanted.retain(|clause| clause.occur == Occur::Must);
    }
    let mut one = |clause: &Clause| match &clause.node {
        Node::Group(inside) => format!("({})", joined(inside, false, not, leaf)),
        Node::Text(text) | Node::Phrase { text, .. } | Node::Fuzzy { text, .. } => leaf(text, false),
        Node::Prefix(text) => leaf(text, true),
    };
    let wanted: Vec<String> = wanted.into_iter().map(&mut one).collect();
    let mut text = format!("({})", wanted.join(if needs_every || has_must { " AND " } else { " OR " }));
    for clause in excluded {
        text += &format!(" {not} {}", one(clause));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(question: &Question, fts5: &str) {
        assert_eq!(question.fts5(), fts5);
    }

    #[test]
    fn words_are_alternatives_unless_all_are_asked_for() {
        check(&Question::any("lock order"), r#"("lock" OR "order")"#);
        check(&Question::all("lock order"), r#"("lock" AND "order")"#);
    }

    #[test]
    fn operators_mean_the_same_to_fts5() {
        check(&Question::any(r#"+lock order NOT "dead lock""#), r#"("lock") NOT "dead lock""#);
    }

    #[test]
    fn groups_mean_the_same_to_fts5() {
        check(&Question::any("(a OR b) AND c"), r#"((("a" OR "b")) AND "c")"#);
        check(&Question::any("a AND b OR c NOT d"), r#"((((("a" AND "b")) OR "c"))) NOT "d""#);
    }

    #[test]
    fn a_prefix_is_one_to_fts5() {
        check(&Question::any("loc*"), r#"("loc" *)"#);
    }

    #[test]
    fn what_fts5_would_take_for_syntax_is_text() {
        check(&Question::any("it's C++ near(x*)"), r#"("it's" OR "C++" OR "near(x*)")"#);
    }

    #[test]
    fn wildcards_of_the_scan_are_text() {
        let condition = Question::any(r"50%_\ ").scan();
        assert_eq!(condition.values, [Value::Text(r"%50\%\_\\%".to_owned())]);
    }
}
