//! A transcript in Markdown. Whatever a message holds stays inside its own block: what was said in a quote,
//! all else in fences longer than any run of backticks in it.

use afterthought::export::{Exported, ExportedSession};

use crate::paint::printable;

/// Writes messages one after another, and a heading before the first of each session.
#[derive(Default)]
pub(super) struct Markdown {
    session: Option<String>,
}

impl Markdown {
    /// Returns the next message as it stands in the transcript.
    pub(super) fn message(&mut self, message: &Exported<'_>) -> String {
        let mut text = String::new();
        if self.session.as_ref() != Some(&message.session.id) {
            if self.session.is_some() {
                text += "---\n\n";
            }
            push_session(&mut text, message.session);
            self.session = Some(message.session.id.clone());
        }
        push_message(&mut text, message);
        text
    }
}

fn push_session(text: &mut String, session: &ExportedSession) {
    let title = session.title.as_deref().map(escaped).filter(|title| !title.trim().is_empty());
    *text += &format!("# {}\n\n", title.as_deref().unwrap_or("(no title)"));
    let mut facts = vec![code(&session.id), escaped(&session.source)];
    facts.extend([&session.started, &session.model].into_iter().flatten().map(|fact| escaped(fact)));
    facts.extend([&session.cwd, &session.git_branch].into_iter().flatten().map(|fact| code(fact)));
    *text += &format!("{}\n\n", facts.join(" · "));
}

fn push_message(text: &mut String, message: &Exported<'_>) {
    let mut head = vec![escaped(&message.role)];
    head.push(message.timestamp.clone().unwrap_or_else(|| "time unknown".to_owned()));
    head.push(format!("\\#{}", message.message_id));
    let marks = [
        (!message.active && !message.compacted, "taken back"),
        (message.hidden, "hidden"),
        (message.copy, "repeats another"),
        (message.damaged, "read in part"),
    ];
    head.extend(marks.iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| (*mark).to_owned()));
    *text += &format!("## {}\n\n", head.join(" · "));
    if !message.reasoning.is_empty() {
        push_folded(text, "thought", &message.reasoning);
    }
    if message.role == "tool" {
        let tool = printable(&message.tool_name).replace(['\n', '\t'], " ");
        let tool = tool.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        push_folded(text, format!("saw {tool}").trim_end(), &message.content);
    } else if !message.content.is_empty() {
        push_said(text, &lines(&message.content));
    }
    if !message.tool_calls.is_empty() {
        *text += &format!("**did**\n\n{}\n", fenced(&lines(&message.tool_calls)));
    }
}

/// Quotes what was said, so that its own Markdown is shown and ends where it does. HTML would not: what
/// could be read as HTML is fenced.
fn push_said(text: &mut String, said: &str) {
    let mut next = said.chars().skip(1);
    let is_html = said.chars().any(|c| {
        let follows = next.next();
        c == '<' && follows.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(c))
    });
    let said = if is_html { fenced(said) } else { said.to_owned() };
    for line in said.lines() {
        *text += format!("> {line}").trim_end();
        text.push('\n');
    }
    text.push('\n');
}

fn push_folded(text: &mut String, summary: &str, content: &str) {
    *text += &format!("<details><summary>{summary}</summary>\n\n{}\n</details>\n\n", fenced(&lines(content)));
}

/// Fences a text by more backticks than stand in a row anywhere in it.
fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Returns a short text as code, in one line.
fn code(text: &str) -> String {
    let text = lines(text).replace('\n', " ");
    let ticks = "`".repeat(longest_run(&text) + 1);
    // A blank at both ends keeps a backtick there apart, and is not shown.
    if text.contains('`') { format!("{ticks} {text} {ticks}") } else { format!("{ticks}{text}{ticks}") }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Returns a text in one line in which nothing is markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in lines(text).replace('\n', " ").chars() {
        if c.is_ascii_punctuation() && !"-.:,/()".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Every end of a line that Markdown knows, as one; no character that steers a terminal.
fn lines(text: &str) -> String {
    printable(&text.replace("\r\n", "\n").replace('\r', "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("a"), "```text\na\n```\n");
        assert_eq!(fenced("````\n# out\n"), "`````text\n````\n# out\n`````\n");
    }

    #[test]
    fn what_was_said_stays_in_its_quote() {
        let mut text = String::new();
        push_said(&mut text, &lines("a\r# b\r\n```\nnever closed\u{0}"));
        assert_eq!(text, "> a\n> # b\n> ```\n> never closed\u{fffd}\n\n");
        let mut text = String::new();
        push_said(&mut text, "1 < 2, and </blockquote>");
        assert_eq!(text, "> ```text\n> 1 < 2, and </blockquote>\n> ```\n\n");
    }

    #[test]
    fn a_title_is_one_line_and_no_markup() {
        assert_eq!(escaped("a *b*\n# <c>"), r"a \*b\* \# \<c\>");
        assert_eq!(code("a`b"), "`` a`b ``");
    }
}
