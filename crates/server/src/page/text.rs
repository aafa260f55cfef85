//! Texts, times and numbers as a page shows them. Everything is escaped: nothing in an archive is markup.

use std::ops::Range;

use afterthought::Origin;
use maud::{Markup, html};

/// Shows a moment; the script writes it as the reader's clock has it.
pub(super) fn moment(rfc3339: &str) -> Markup {
    let shown = rfc3339.get(..16).unwrap_or(rfc3339).replacen('T', " ", 1);
    html! { time datetime=(rfc3339) { (shown) " UTC" } }
}

pub(super) fn maybe_moment(rfc3339: Option<&str>) -> Markup {
    html! { @if let Some(at) = rfc3339 { (moment(at)) } @else { span.quiet { "at an unknown time" } } }
}

/// Writes a number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a size with the unit that fits, of 1,000 steps.
#[expect(clippy::cast_precision_loss, reason = "a rounded size")]
pub(super) fn size(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["bytes", "kB", "MB", "GB"] {
        if size < 1_000.0 {
            return if unit == "bytes" { format!("{bytes} bytes") } else { format!("{size:.1} {unit}") };
        }
        size /= 1_000.0;
    }
    format!("{size:.1} TB")
}

pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Names how something came about, in its colour.
pub(super) fn badge(origin: Origin) -> Markup {
    html! { span class={ "origin " (origin.name()) } { (origin.name()) } }
}

/// Shows a text with marks; `places` are from and to in Unicode scalar values, in order.
pub(super) fn marked(text: &str, places: &[[usize; 2]]) -> Markup {
    let mut bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    bounds.push(text.len());
    let byte = |place: usize| bounds[place.min(bounds.len() - 1)];
    shown(text, places.iter().map(|[from, to]| byte(*from)..byte(*to)))
}

/// Returns what stands at those places.
pub(super) fn words<'a>(text: &'a str, places: &'a [[usize; 2]]) -> impl Iterator<Item = String> {
    places.iter().map(|[from, to]| text.chars().take(*to).skip(*from).collect())
}

/// Places that are marked in one text: nobody looks at more, and a log may have one in each line.
const MARKS: usize = 500;

/// Shows a text with these words marked wherever they stand, in any case.
pub(super) fn with_words(text: &str, words: &[String]) -> Markup {
    shown(text, places(text, words, MARKS).into_iter())
}

fn shown(text: &str, places: impl Iterator<Item = Range<usize>>) -> Markup {
    let mut parts: Vec<(&str, bool)> = Vec::new();
    let mut done = 0;
    for place in places {
        if place.start < done || place.is_empty() {
            continue;
        }
        parts.push((&text[done..place.start], false));
        parts.push((&text[place.clone()], true));
        done = place.end;
    }
    parts.push((&text[done..], false));
    html! { @for (part, is_marked) in parts { @if is_marked { mark { (part) } } @else { (part) } } }
}

/// Finds words where they stand as such: not inside longer ones, unless their script has no spaces.
fn places(text: &str, words: &[String], most: usize) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut before = None;
    let mut from = 0;
    while let Some(first) = text[from..].chars().next() {
        if places.len() == most {
            break;
        }
        let longest = words.iter().filter_map(|word| begins(&text[from..], word)).max();
        let ends = longest.filter(|length| {
            let after = text[from + length..].chars().next();
            let last = text[from..from + length].chars().next_back();
            !joins(before, Some(first)) && !joins(last, after)
        });
        let length = ends.unwrap_or(first.len_utf8());
        if ends.is_some() {
            places.push(from..from + length);
        }
        before = text[from..from + length].chars().next_back();
        from += length;
    }
    places
}

/// Returns how much of a text is the word that it begins with, in any case.
fn begins(text: &str, word: &str) -> Option<usize> {
    let mut letters = text.chars();
    for wanted in word.chars() {
        let letter = letters.next()?;
        if letter != wanted && !letter.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(text.len() - letters.as_str().len()).filter(|length| *length > 0)
}

/// Tells whether two letters belong to one word.
fn joins(a: Option<char>, b: Option<char>) -> bool {
    let is_spaced = |letter: char| letter.is_alphanumeric() && (letter as u32) < 0x2e80;
    a.is_some_and(is_spaced) && b.is_some_and(is_spaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, words: &[&str], shown: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(with_words(text, &words).into_string(), shown);
    }

    #[test]
    fn words_are_marked_in_any_case_and_not_inside_others() {
        check("Lock the lock, unlock", &["lock"], "<mark>Lock</mark> the <mark>lock</mark>, unlock");
        check("locks lock's", &["lock", "locks"], "<mark>locks</mark> <mark>lock</mark>'s");
        check("记忆断裂了", &["断裂"], "记忆<mark>断裂</mark>了");
        check("ÉTÉ 🚀 été", &["été", "🚀"], "<mark>ÉTÉ</mark> <mark>🚀</mark> <mark>été</mark>");
        check("", &["a"], "");
        assert_eq!(places("lock lock lock", &["lock".to_owned()], 2), [0..4, 5..9]);
        check("a", &[""], "a");
    }

    #[test]
    fn nothing_is_markup() {
        check("<b>lock</b>", &["lock"], "&lt;b&gt;<mark>lock</mark>&lt;/b&gt;");
        assert_eq!(
            marked("a <i> é", &[[2, 5], [6, 99]]).into_string(),
            "a <mark>&lt;i&gt;</mark> <mark>é</mark>"
        );
    }

    #[test]
    fn numbers_and_sizes() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([999, 1_500, 2_000_000_000_000].map(size), ["999 bytes", "1.5 kB", "2.0 TB"]);
    }
}
