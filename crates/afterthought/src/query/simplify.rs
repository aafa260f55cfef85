//! Says the same with fewer groups: one clause needs none, equal ones count once, a group of
//! alternatives within another is part of it.

use std::collections::HashSet;

use super::{Clause, Node, Occur};

/// Simplifies the clauses of a query; what they match stays the same. The outermost group keeps
/// its own alternatives: `--match all` requires each of its clauses, and none of a group's.
#[must_use]
pub fn simplify(clauses: Vec<Clause>) -> Vec<Clause> {
    let mut simple = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let clause = simplify_clause(clause);
        match clause {
            Clause { occur: Occur::Must, scope: None, node: Node::Group(inside) }
                if inside.iter().all(|clause| clause.occur != Occur::Should) =>
            {
                simple.extend(inside);
            }
            clause => simple.push(clause),
        }
    }
    distinct(simple)
}

fn simplify_clause(clause: Clause) -> Clause {
    let Node::Group(inside) = clause.node else { return clause };
    let mut inside = merge_choices(simplify(inside));
    if let [only] = &mut inside[..]
        && (clause.scope.is_none() || only.scope.is_none())
        && only.occur != Occur::MustNot
    {
        let scope = clause.scope.or(only.scope);
        let only = inside.remove(0);
        return Clause { occur: clause.occur, scope, node: only.node };
    }
    Clause { node: Node::Group(inside), ..clause }
}

/// Takes alternatives within alternatives out of their group.
fn merge_choices(clauses: Vec<Clause>) -> Vec<Clause> {
    let is_choice = |clauses: &[Clause]| clauses.iter().all(|clause| clause.occur == Occur::Should);
    if !is_choice(&clauses) {
        return clauses;
    }
    let mut merged = Vec::with_capacity(clauses.len());
    for clause in clauses {
        match clause {
            Clause { scope: None, node: Node::Group(inside), .. } if is_choice(&inside) => {
                merged.extend(inside);
            }
            clause => merged.push(clause),
        }
    }
    distinct(merged)
}

/// Drops what was said before. Loose words stay: their order tells which ones are neighbours.
fn distinct(clauses: Vec<Clause>) -> Vec<Clause> {
    let mut seen = HashSet::new();
    let is_word = |clause: &Clause| clause.occur == Occur::Should && matches!(clause.node, Node::Text(_));
    clauses.into_iter().filter(|clause| is_word(clause) || seen.insert(clause.clone())).collect()
}
