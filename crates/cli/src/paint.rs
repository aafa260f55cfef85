//! How text looks on a terminal: colours by origin, marked words, lines that fit. Colours are
//! written always and dropped where they are not wanted; lines are broken on terminals only.

use std::fmt::Write as _;

use afterthought::Origin;
use anstyle::{AnsiColor, Style};
use jiff::tz::TimeZone;
use textwrap::{Options, WordSeparator, WordSplitter};

/// Less important text.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Headings.
pub(crate) const BOLD: Style = Style::new().bold();
/// Words that were looked for.
const MARK: Style = Style::new().bold().underline();

/// Narrowest and widest lines that are written for a terminal.
const WIDTH: std::ops::RangeInclusive<usize> = 40..=120;

/// Returns the colour of an origin.
pub(crate) fn color(origin: Origin) -> Style {
    let color = match origin {
        Origin::Said => AnsiColor::Green,
        Origin::Thought => AnsiColor::Magenta,
        Origin::Did => AnsiColor::Blue,
        Origin::Saw => AnsiColor::Cyan,
        Origin::Titled => AnsiColor::Yellow,
    };
    color.on_default().bold()
}

/// Returns text in a style.
pub(crate) fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns the text with its marked places styled. Places are in characters, sorted, and apart.
pub(crate) fn marked(text: &str, places: &[[usize; 2]]) -> String {
    let mut shown = String::new();
    let mut places = places.iter().peekable();
    for (at, c) in text.chars().enumerate() {
        if places.peek().is_some_and(|place| place[0] == at) {
            write!(shown, "{MARK}").expect("writing to a String cannot fail");
        }
        shown.push(c);
        if places.next_if(|place| place[1] == at + 1).is_some() {
            write!(shown, "{MARK:#}").expect("writing to a String cannot fail");
        }
    }
    shown
}

/// Returns the width to write for; `None` where lines are not broken: in a pipe or a file.
pub(crate) fn width() -> Option<usize> {
    use std::io::IsTerminal;
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(&out)?;
    Some(usize::from(columns).clamp(*WIDTH.start(), *WIDTH.end()))
}

/// Appends text as lines that fit: the first begins with `first`, the others with `rest`. Columns are
/// counted as a terminal shows them: a Chinese character takes two.
pub(crate) fn push_hanging(out: &mut String, text: &str, first: &str, rest: &str, width: Option<usize>) {
    let Some(width) = width else {
        out.push_str(format!("{first}{text}").trim_end());
        out.push('\n');
        return;
    };
    let options = Options::new(width).initial_indent(first).subsequent_indent(rest);
    for line in textwrap::wrap(text, options) {
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Appends text as indented lines that fit.
pub(crate) fn push_lines(out: &mut String, text: &str, indent: &str, width: Option<usize>) {
    for line in text.split('\n') {
        push_hanging(out, line, indent, indent, width);
    }
}

/// Appends facts (ids, paths, names) as lines that fit, broken at blanks only.
pub(crate) fn push_facts(out: &mut String, text: &str, indent: &str, width: Option<usize>) {
    push_hanging_facts(out, text, indent, indent, width);
}

/// Does the same; the first line begins with `first`, the others with `rest`.
pub(crate) fn push_hanging_facts(
    out: &mut String,
    text: &str,
    first: &str,
    rest: &str,
    width: Option<usize>,
) {
    let Some(width) = width else { return push_hanging(out, text, first, rest, None) };
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    for line in textwrap::wrap(text, options) {
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Writes an RFC 3339 time as the clock on the wall showed it, to the minute.
pub(crate) fn local_time(time: Option<&str>) -> String {
    let moment = time.and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let local = moment
        .map(|moment| moment.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string());
    local.unwrap_or_else(|| "time unknown".to_owned())
}

/// A terminal must not be steered by what an archive holds.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' && c != '\n' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_in_columns_of_the_terminal() {
        let mut out = String::new();
        push_lines(&mut out, "今天的聊天记录记忆断裂问题很严重 and 🚀🚀 shipped", "  ", Some(20));
        assert!(out.lines().count() > 2);
        assert!(out.lines().all(|line| textwrap::core::display_width(line) <= 20), "{out}");
        assert!(out.lines().all(|line| line.starts_with("  ")));
    }

    #[test]
    fn marks_stand_around_their_words() {
        let plain = anstream::adapter::strip_str(&marked("took the lock", &[[9, 13]])).to_string();
        assert_eq!(plain, "took the lock");
        assert!(marked("took the lock", &[[9, 13]]).contains(&styled("lock", MARK)));
    }

    #[test]
    fn control_characters_are_shown_as_replaced() {
        assert_eq!(printable("a\u{1b}[2Jb\tc\n"), "a\u{fffd}[2Jb\tc\n");
    }
}
