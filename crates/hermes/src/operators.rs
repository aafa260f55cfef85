//! Reads operators as the agent's own search does: words side by side belong together before any operator
//! takes them, NOT binds closer than AND, and AND closer than OR; a word that an operator takes is meant as
//! it stands, all of its parts side by side. Everything else is the query's own.

/// Writes a query with the groups that its operators make, where it has any. With parentheses it says itself
/// how its operators are meant; where there are none, parentheses are punctuation. One whose operators stand
/// badly is text.
pub(crate) fn grouped(query: &str) -> String {
    let query = without_dangling(query);
    let has_operators = query.split(|c: char| c.is_whitespace() || "()".contains(c)).any(is_operator);
    match units(query) {
        Some(units) => explicit(&units).unwrap_or_else(|| query.to_owned()),
        None if has_operators => query.to_owned(),
        None => without_parentheses(query),
    }
}

/// Leaves out an operator with nothing before or behind it, in either case, if anything else is there.
fn without_dangling(query: &str) -> &str {
    let dangles = |word: &str| is_operator(&word.to_uppercase());
    let mut kept = query.trim();
    if let Some((first, rest)) = kept.split_once(char::is_whitespace)
        && dangles(first)
        && !rest.split_whitespace().next().is_some_and(is_operator)
    {
        kept = rest.trim_start();
    }
    if let Some((rest, last)) = kept.rsplit_once(char::is_whitespace)
        && dangles(last)
        && !rest.split_whitespace().next_back().is_some_and(is_operator)
    {
        kept = rest.trim_end();
    }
    kept
}

/// Turns parentheses outside of quotes into blanks.
fn without_parentheses(query: &str) -> String {
    let parts = query.split('"').enumerate();
    let blank =
        |(at, part): (usize, &str)| if at % 2 == 0 { part.replace(['(', ')'], " ") } else { part.to_owned() };
    parts.map(blank).collect::<Vec<_>>().join("\"")
}

/// Tells whether a word is an operator.
pub(crate) fn is_operator(word: &str) -> bool {
    matches!(word, "AND" | "OR" | "NOT")
}

fn explicit(units: &[&str]) -> Option<String> {
    let is_bad_end = |unit: Option<&&str>| unit.is_none_or(|unit| is_operator(unit));
    let doubled = units.windows(2).any(|pair| pair.iter().all(|unit| is_operator(unit)));
    if !units.iter().any(|unit| is_operator(unit))
        || is_bad_end(units.first())
        || is_bad_end(units.last())
        || doubled
    {
        return None;
    }
    let alternatives = units.split(|unit| *unit == "OR").map(|alternative| {
        let all = alternative.split(|unit| *unit == "AND").map(|part| {
            let runs: Vec<String> = part.split(|unit| *unit == "NOT").map(words).collect();
            group(&runs, " NOT ")
        });
        group(&all.collect::<Vec<_>>(), " AND ")
    });
    Some(alternatives.collect::<Vec<_>>().join(" OR "))
}

/// Groups words side by side, each as it stands.
fn words(run: &[&str]) -> String {
    let is_pattern = |unit: &str| unit.contains(['"', '*', '~']);
    let as_it_stands =
        |unit: &&str| if is_pattern(unit) { (*unit).to_owned() } else { format!("\"{unit}\"") };
    group(&run.iter().map(as_it_stands).collect::<Vec<_>>(), " AND ")
}

fn group<T: AsRef<str>>(parts: &[T], operator: &str) -> String {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    if parts.len() == 1 { parts[0].to_owned() } else { format!("({})", parts.join(operator)) }
}

/// Splits a query into what stands between blanks, and phrases; `None` where it groups by itself.
fn units(query: &str) -> Option<Vec<&str>> {
    let (mut units, mut rest) = (Vec::new(), query.trim_start());
    while !rest.is_empty() {
        let closing = rest.strip_prefix('"').and_then(|inside| inside.find('"')).map(|at| at + 2);
        let end = match closing {
            // What hangs on a phrase is a part of it, such as "these words"~3.
            Some(end) => end + rest[end..].find(char::is_whitespace).unwrap_or(rest.len() - end),
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        let unit = &rest[..end];
        if closing.is_none() && unit.contains(['(', ')', '"']) {
            return None;
        }
        units.push(unit);
        rest = rest[end..].trim_start();
    }
    Some(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: &str) {
        assert_eq!(grouped(query), expected);
    }

    #[test]
    fn words_side_by_side_belong_together_first() {
        check("lock order", "lock order");
        check("lock or order", "lock or order");
        check("lock order OR queue", r#"("lock" AND "order") OR "queue""#);
        check("lock OR order queue", r#""lock" OR ("order" AND "queue")"#);
        check("lock NOT order queue", r#"("lock" NOT ("order" AND "queue"))"#);
        check("a OR b NOT c AND d", r#""a" OR (("b" NOT "c") AND "d")"#);
        check(r#""lock order" x OR "a OR b""#, r#"("lock order" AND "x") OR "a OR b""#);
        check(r#""a b"~3 OR ключ* OR x~"#, r#""a b"~3 OR ключ* OR x~"#);
        check("getUserById OR it's", r#""getUserById" OR "it's""#);
    }

    #[test]
    fn what_says_itself_how_it_is_meant_stays() {
        for query in
            ["(a OR b) AND c", "a OR OR b", "a OR b\"c", "", "\"", "OR", "and", "a and b", "not-found"]
        {
            check(query, query);
        }
    }

    #[test]
    fn an_operator_at_an_end_says_nothing() {
        check("a OR", "a");
        check("NOT a", "a");
        check("or what is left and", "what is left");
        check("é OR", "é");
        check("and NOT one", r#"("and" NOT "one")"#);
    }

    #[test]
    fn parentheses_without_operators_are_punctuation() {
        check("list (or history) \"f(x)\"", "list  or history  \"f(x)\"");
    }
}
