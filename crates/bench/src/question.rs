//! One question, put to every side in its own words.

use afterthought::query::{Clause, Node, Occur, parse};
use afterthought::{Filters, Match, Origin, SearchRequest};
use rusqlite::types::Value;

/// Hits of a page.
pub(crate) const PAGE_HITS: usize = 10;

/// Where a match may stand. Session titles are left out: no other side searches them.
const ORIGINS: [Origin; 4] = [Origin::Said, Origin::Thought, Origin::Did, Origin::Saw];

/// A query and what narrows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The query as typed.
    pub query: String,
    /// Whether a hit needs every word.
    pub all: bool,
    /// Only messages of this role.
    pub role: Option<String>,
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
        Self { query: query.to_owned(), all: false, role: None }
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
        arguments.extend(["--", &self.query].map(str::to_owned));
        arguments
    }

    /// Returns the question in FTS5's query language: every clause a phrase, joined by operators.
    pub(crate) fn fts5(&self) -> String {
        let phrase = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        joined(&self.clauses(), self.all, "NOT", &mut |text| phrase(text))
    }

    /// Returns the question as a scan's condition on `messages m`: words as substrings of any text, of
    /// reasoning on an assistant's rows only.
    pub(crate) fn scan(&self) -> Condition {
        let mut condition = Condition { sql: String::new(), values: Vec::new() };
        let sql = joined(&self.clauses(), self.all, "AND NOT", &mut |text| condition.holds(text));
        Condition { sql, ..condition }
    }

    /// Returns the first word or phrase that is looked for.
    pub(crate) fn first_words(&self) -> String {
        let mut first = None;
        joined(&self.clauses(), self.all, "NOT", &mut |text| first.get_or_insert(text.to_owned()).clone());
        first.unwrap_or_default()
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

/// Writes a group as every side reads it: what is wanted, then what is excluded. Fields, prefixes and
/// near spellings have no twin on the other sides: their words are looked for.
fn joined(clauses: &[Clause], needs_every: bool, not: &str, leaf: &mut dyn FnMut(&str) -> String) -> String {
    let (excluded, mut wanted): (Vec<_>, Vec<_>) =
        clauses.iter().partition(|clause| clause.occur == Occur::MustNot);
    let has_must = wanted.iter().any(|clause| clause.occur == Occur::Must);
    if has_must && !needs_every {
        // Beside a required word the others only rank.
        wanted.retain(|clause| clause.occur == Occur::Must);
    }
    let mut one = |clause: &Clause| match &clause.node {
        Node::Group(inside) => format!("({})", joined(inside, false, not, leaf)),
        Node::Text(text) | Node::Prefix(text) | Node::Phrase { text, .. } | Node::Fuzzy { text, .. } => {
            leaf(text)
        }
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
    fn what_fts5_would_take_for_syntax_is_text() {
        check(&Question::any("it's C++ near(x*)"), r#"("it's" OR "C++" OR "near(x*)")"#);
    }

    #[test]
    fn wildcards_of_the_scan_are_text() {
        let condition = Question::any(r"50%_\ ").scan();
        assert_eq!(condition.values, [Value::Text(r"%50\%\_\\%".to_owned())]);
    }
}
