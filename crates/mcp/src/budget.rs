//! How much an answer may take of a model's context: counts tokens from above, and cuts texts with a mark.
//! Never cuts silently: whoever cuts learns how much was left out.

use afterthought::Warning;
use afterthought::limits::ANSWER_FRAME_TOKENS;
use serde_json::{Map, Value, json};

/// What an answer may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    tokens: usize,
}

impl Budget {
    pub(crate) fn of(max_tokens: usize) -> Self {
        Self { tokens: max_tokens }
    }

    pub(crate) fn tokens(self) -> usize {
        self.tokens
    }

    /// Tells whether both forms of an answer keep to it. The structured one repeats the names of its
    /// members, which is what its frame is for.
    pub(crate) fn holds(self, text: &str, structured: &Value) -> bool {
        tokens(text) <= self.tokens && json_tokens(structured) <= self.tokens + ANSWER_FRAME_TOKENS
    }
}

/// Counts the tokens of a text, from above: beside the tokenizer `o200k_base` it says 1.4 to 1.9 times as many
/// for English and code, 1.5 for Chinese, 2.8 for Russian, and 1.0 to 1.1 for base64, hexadecimal digits and
/// lists of numbers, which are the worst that archives hold. Only words of random letters are more.
#[must_use]
pub fn tokens(text: &str) -> usize {
    let mut meter = Meter::default();
    text.chars().for_each(|c| meter.add(c));
    meter.tokens()
}

/// Counts the tokens of an answer as JSON, from above: 1.3 to 1.5 times those of `o200k_base`, and still more
/// than them where spaces stand between its members. Texts are counted as [`tokens`] does, what stands between
/// them as one token each, since tokenizers know how JSON looks.
#[must_use]
pub fn json_tokens(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 1,
        Value::Number(number) => 1 + tokens(&number.to_string()),
        Value::String(text) => 1 + escaped_tokens(text),
        Value::Array(items) => 1 + items.iter().map(json_tokens).sum::<usize>(),
        Value::Object(members) => {
            1 + members.iter().map(|(name, value)| 1 + tokens(name) + json_tokens(value)).sum::<usize>()
        }
    }
}

fn escaped_tokens(text: &str) -> usize {
    let mut meter = Meter::default();
    text.chars().for_each(|c| meter.add_escaped(c));
    meter.tokens()
}

/// Adds up what characters take, in thirds of a token.
#[derive(Clone, Copy, Default)]
struct Meter {
    thirds: usize,
    before: Option<char>,
}

impl Meter {
    fn add(&mut self, c: char) {
        self.thirds += thirds(self.before, c);
        self.before = Some(c);
    }

    /// Adds a character as JSON writes it.
    fn add_escaped(&mut self, c: char) {
        match c {
            '"' | '\\' => ['\\', c].into_iter().for_each(|c| self.add(c)),
            '\n' | '\r' | '\t' => ['\\', 'n'].into_iter().for_each(|c| self.add(c)),
            c if c.is_control() => r"\u0000".chars().for_each(|c| self.add(c)),
            c => self.add(c),
        }
    }

    fn tokens(self) -> usize {
        self.thirds.div_ceil(3)
    }
}

/// Returns what a character takes behind another, in thirds of a token: a letter a third, a sign or another
/// alphabet's character a whole. What breaks a word up takes more, as in encoded bytes; what repeats less.
fn thirds(before: Option<char>, c: char) -> usize {
    let follows = |is: fn(&char) -> bool| before.as_ref().is_some_and(is);
    match c {
        'a'..='z' if follows(char::is_ascii_digit) => 3,
        'a'..='z' | ' ' => 1,
        'A'..='Z' if follows(char::is_ascii_uppercase) => 2,
        '0'..='9' if follows(char::is_ascii_digit) => 1,
        '\u{80}'..='\u{6ff}' => 2,
        '\u{10000}'.. => 9,
        c if before == Some(c) && c.is_ascii_punctuation() => 1,
        _ => 3,
    }
}

/// A part of a text that keeps to a number of tokens.
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    /// Its characters.
    pub(crate) chars: usize,
    /// What it takes of the budget.
    pub(crate) tokens: usize,
}

/// Takes the beginning of a text, as much as keeps to so many tokens in either form.
pub(crate) fn beginning(text: &str, tokens_max: usize) -> Part<'_> {
    let (mut meter, mut chars) = (Meter::default(), 0);
    for (at, c) in text.char_indices() {
        let before = meter;
        meter.add_escaped(c);
        if meter.tokens() > tokens_max {
            return Part { text: &text[..at], chars, tokens: before.tokens() };
        }
        chars += 1;
    }
    Part { text, chars, tokens: meter.tokens() }
}

/// Shortens a text to so many characters, an ellipsis among them. Tells whether it had to.
pub(crate) fn clip(text: &mut String, chars_max: usize) -> bool {
    if text.chars().count() <= chars_max {
        return false;
    }
    let end = text.char_indices().nth(chars_max.saturating_sub(1)).map_or(0, |(at, _)| at);
    text.truncate(end);
    text.push('…');
    true
}

/// Shortens a snippet around its first highlight, and its highlights with it. Tells whether it had to.
pub(crate) fn clip_snippet(snippet: &mut String, highlights: &mut Vec<[usize; 2]>, chars_max: usize) -> bool {
    let chars: Vec<char> = snippet.chars().collect();
    if chars.len() <= chars_max {
        return false;
    }
    // Room for an ellipsis on either side.
    let room = chars_max.saturating_sub(2);
    let first = highlights.first().map_or(0, |[from, _]| *from);
    let from = first.saturating_sub(room / 3).min(chars.len() - room);
    let to = from + room;
    let (start, end) = (if from > 0 { "…" } else { "" }, if to < chars.len() { "…" } else { "" });
    let shift = start.chars().count();
    highlights.retain(|[start, end]| from <= *start && *end <= to);
    highlights.iter_mut().flatten().for_each(|at| *at = *at - from + shift);
    *snippet = format!("{start}{}{end}", chars[from..to].iter().collect::<String>());
    true
}

/// How long the parts of an answer may be.
#[derive(Clone, Copy)]
pub(crate) struct Level {
    /// Characters of a snippet.
    pub(crate) snippet: usize,
    /// Characters of a title, a name, a value; a sentence may have twice as many.
    pub(crate) text: usize,
    /// Warnings, words of a diagnosis, values of a facet.
    pub(crate) list: usize,
}

const WHOLE: Level = Level { snippet: usize::MAX, text: usize::MAX / 2, list: usize::MAX };
pub(crate) const LEAST: Level = Level { snippet: 60, text: 40, list: 3 };
/// From what an answer is to what makes room for hits.
pub(crate) const LEVELS: [Level; 4] =
    [WHOLE, Level { snippet: 160, text: 120, list: 12 }, Level { snippet: 100, text: 80, list: 6 }, LEAST];
/// For an answer without hits.
pub(crate) const BARE: Level = Level { snippet: 0, text: 20, list: 0 };

/// What an answer leaves out to keep to its budget.
#[derive(Clone, Default)]
pub(crate) struct Cut {
    pub(crate) left_out: usize,
    pub(crate) shortened: usize,
    /// Other members that are shortened.
    pub(crate) rest: Vec<&'static str>,
}

/// What can be left out, and what shortened.
pub(crate) type Cuttable = (&'static str, &'static str);
pub(crate) const HITS: Cuttable = ("hits", "snippets");
pub(crate) const MESSAGES: Cuttable = ("messages", "messages");
pub(crate) const SESSIONS: Cuttable = ("sessions", "names");

impl Cut {
    /// Says it to programs; null where there is nothing.
    pub(crate) fn structured(&self, (things, parts): Cuttable) -> Value {
        if self.left_out + self.shortened + self.rest.len() == 0 {
            return Value::Null;
        }
        let mut cut = Map::new();
        cut.insert(format!("{things}_left_out"), self.left_out.into());
        cut.insert(format!("{parts}_shortened"), self.shortened.into());
        cut.insert("rest_shortened".to_owned(), json!(self.rest));
        cut.into()
    }

    /// Says it to models, with the way to more.
    pub(crate) fn push(&self, text: &mut String, (things, parts): Cuttable, budget: Budget) {
        let mut said = Vec::new();
        if self.left_out > 0 {
            said.push(format!("{} {things} are left out", self.left_out));
        }
        if self.shortened > 0 {
            said.push(format!("{} {parts} are shortened", self.shortened));
        }
        if !self.rest.is_empty() {
            said.push(format!("{} are shortened", self.rest.join(", ")));
        }
        if !said.is_empty() {
            let (said, tokens) = (said.join(", "), budget.tokens());
            *text += &format!("note: {said} to keep to max_tokens {tokens}; a larger one shows more\n");
        }
    }
}

/// Shortens warnings to a level. Tells whether it had to.
pub(crate) fn clip_warnings(warnings: &mut Vec<Warning>, level: Level) -> bool {
    let mut clipped = warnings.len() > level.list;
    warnings.truncate(level.list);
    for warning in warnings {
        clipped |= clip(&mut warning.message, level.text.saturating_mul(2));
    }
    clipped
}

/// Returns the largest number of `0..=most` that passes, where all below one that passes pass too; `None`
/// where not even 0 does.
pub(crate) fn largest(most: usize, passes: impl Fn(usize) -> bool) -> Option<usize> {
    if !passes(0) {
        return None;
    }
    let (mut good, mut bad) = (0, most + 1);
    while good + 1 < bad {
        let middle = good.midpoint(bad);
        if passes(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_snippet(snippet: &str, marks: &[[usize; 2]], chars_max: usize, expected: &str, kept: &[&str]) {
        let (mut cut, mut highlights) = (snippet.to_owned(), marks.to_vec());
        assert_eq!(clip_snippet(&mut cut, &mut highlights, chars_max), cut != snippet);
        assert_eq!(cut, expected);
        let chars: Vec<char> = cut.chars().collect();
        let marked: Vec<String> =
            highlights.iter().map(|[from, to]| chars[*from..*to].iter().collect()).collect();
        assert_eq!(marked, kept);
    }

    #[test]
    fn a_snippet_is_cut_around_its_first_highlight_and_highlights_move_with_it() {
        let text = "the anchor may drag, the кость not";
        check_snippet(text, &[[4, 10], [25, 30]], 40, text, &["anchor", "кость"]);
        check_snippet(text, &[[4, 10], [25, 30]], 16, "the anchor may…", &["anchor"]);
        check_snippet(text, &[[25, 30]], 16, "… the кость not", &["кость"]);
        check_snippet(text, &[[15, 19], [25, 30]], 14, "…may drag, th…", &["drag"]);
        check_snippet(text, &[], 6, "the …", &[]);
        check_snippet(text, &[[4, 10]], 0, "……", &[]);
    }

    #[test]
    fn a_text_is_begun_up_to_its_share_in_either_form() {
        let begun = |text, tokens| (beginning(text, tokens).text, beginning(text, tokens).chars);
        assert_eq!(begun("anchor", 2), ("anchor", 6));
        assert_eq!(begun("anchor", 1), ("anc", 3));
        assert_eq!(begun("锚链锚链", 3), ("锚链锚", 3));
        // Two signs where it is quoted.
        assert_eq!(begun("a\n\n", 2), ("a\n", 2));
        assert_eq!(begun("anchor", 0), ("", 0));
    }

    #[test]
    fn the_largest_that_passes_is_found() {
        for (most, limit) in [(0, 0), (9, 0), (9, 4), (9, 9), (9, 20)] {
            assert_eq!(largest(most, |number| number <= limit), Some(most.min(limit)));
        }
        assert_eq!(largest(9, |_| false), None);
    }
}
