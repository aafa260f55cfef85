//! How a score came about, as a tree for people: its numbers in one column, what each is made of below
//! it and further in.

use afterthought::search::Part;
use afterthought::{Explanation, How};

use crate::paint::{DIM, printable, push_hanging, styled};

/// Digits behind the point: enough to add up by eye.
const DIGITS: usize = 3;

/// Appends a tree as indented lines that fit.
pub(crate) fn push_explanation(
    out: &mut String,
    explanation: &Explanation,
    indent: &str,
    width: Option<usize>,
) {
    let column = widest(explanation);
    push_node(out, explanation, &Place { indent, column, width }, 0);
}

/// Where a tree stands.
struct Place<'a> {
    indent: &'a str,
    /// Columns of the widest number.
    column: usize,
    width: Option<usize>,
}

fn push_node(out: &mut String, node: &Explanation, place: &Place<'_>, depth: usize) {
    let Place { indent, column, width } = *place;
    let inner = "  ".repeat(depth);
    let first = format!("{indent}{:>column$.DIGITS$}  {inner}", node.score);
    let rest = format!("{indent}{:column$}  {inner}", "");
    push_hanging(out, &styled(&printable(&label(node)), DIM), &first, &rest, width);
    for below in &node.of {
        push_node(out, below, place, depth + 1);
    }
}

fn widest(node: &Explanation) -> usize {
    let own = format!("{:.DIGITS$}", node.score).len();
    node.of.iter().map(widest).fold(own, usize::max)
}

fn label(node: &Explanation) -> String {
    let how = match node.how {
        How::Sum if !node.of.is_empty() => ": sum of",
        How::Best => ": best of",
        How::Sum | How::Value => "",
    };
    let part = node.part.as_ref().map_or_else(String::new, |part| format!(" in {}", measures(part)));
    format!("{}{how}{part}", node.what)
}

/// Writes what a word's score in a field is made of.
fn measures(part: &Part) -> String {
    let boost = rounded(part.boost, 3);
    // It changes nothing, and lines are short.
    let boost = if boost == "1" { String::new() } else { format!("boost {boost}, ") };
    format!(
        "{}: {boost}idf {}, {} × in {} tokens, mean {}",
        part.field.name(),
        rounded(part.idf, 2),
        rounded(part.frequency, 3),
        part.length,
        rounded(part.average_length, 1)
    )
}

/// Rounds without zeros at the end.
fn rounded(number: f32, digits: usize) -> String {
    let number = format!("{number:.digits$}");
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(how: How, score: f32, what: &str, of: Vec<Explanation>) -> Explanation {
        Explanation { what: what.to_owned(), how, score, part: None, of }
    }

    fn tree() -> Explanation {
        let words = vec![node(How::Value, 9.5, "lock", vec![]), node(How::Value, 2.75, "顺序", vec![])];
        let words = node(How::Sum, 12.25, "its words and neighbours", words);
        node(How::Sum, 12.25, "score", vec![words])
    }

    #[track_caller]
    fn check(width: Option<usize>, lines: &[&str]) {
        let mut out = String::new();
        push_explanation(&mut out, &tree(), "   ", width);
        let plain = anstream::adapter::strip_str(&out).to_string();
        assert_eq!(plain.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn numbers_stand_in_a_column_and_what_they_are_of_further_in() {
        check(
            None,
            &[
                "   12.250  score: sum of",
                "   12.250    its words and neighbours: sum of",
                "    9.500      lock",
                "    2.750      顺序",
            ],
        );
    }

    #[test]
    fn what_does_not_fit_goes_on_below_itself() {
        check(
            Some(24),
            &[
                "   12.250  score: sum of",
                "   12.250    its words",
                "             and",
                "             neighbours:",
                "             sum of",
                "    9.500      lock",
                "    2.750      顺序",
            ],
        );
    }

    #[test]
    fn rounded_numbers_end_in_no_zero() {
        assert_eq!([rounded(1.0, 3), rounded(0.65, 3), rounded(20.0, 1)], ["1", "0.65", "20"]);
    }
}
