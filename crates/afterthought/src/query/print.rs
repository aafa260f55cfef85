//! Prints a tree as a query that is read as the same tree: signs for AND, parentheses for groups.

use std::fmt::{Display, Formatter, Result};

use super::{Clause, Node, Occur, Query};

impl Display for Query {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        group(out, &self.clauses, " ")
    }
}

impl Display for Clause {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        clause(out, self, true)
    }
}

fn group(out: &mut Formatter<'_>, clauses: &[Clause], between: &str) -> Result {
    for (at, part) in clauses.iter().enumerate() {
        if at > 0 {
            out.write_str(between)?;
        }
        clause(out, part, between == " ")?;
    }
    Ok(())
}

/// Prints a clause that stands beside others, or between ORs.
fn clause(out: &mut Formatter<'_>, clause: &Clause, beside: bool) -> Result {
    let is_operator = clause.scope.is_none()
        && matches!(&clause.node, Node::Text(text) if matches!(text.as_str(), "AND" | "OR" | "NOT"));
    // Beside others, a phrase without a sign is required.
    let is_optional = beside && matches!(clause.node, Node::Phrase { .. });
    out.write_str(match clause.occur {
        Occur::Must => "+",
        Occur::MustNot if is_operator => "NOT ++",
        Occur::MustNot => "NOT ",
        Occur::Should if is_operator || is_optional => "++",
        Occur::Should => "",
    })?;
    if let Some(scope) = clause.scope {
        write!(out, "{}:", scope.name())?;
    }
    write!(out, "{}", clause.node)
}

impl Display for Node {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::Text(text) => out.write_str(text),
            Self::Phrase { text, slop: 0 } => write!(out, "\"{text}\""),
            Self::Phrase { text, slop } => write!(out, "\"{text}\"~{slop}"),
            Self::Prefix(text) => write!(out, "{text}*"),
            Self::Fuzzy { text, edits } => write!(out, "{text}~{edits}"),
            Self::Group(clauses) => {
                let is_choice =
                    clauses.len() > 1 && clauses.iter().all(|clause| clause.occur == Occur::Should);
                // Blanks keep parentheses of words from being taken for the group's.
                out.write_str("( ")?;
                group(out, clauses, if is_choice { " OR " } else { " " })?;
                out.write_str(" )")
            }
        }
    }
}
