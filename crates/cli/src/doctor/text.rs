//! The report as people read it: what is wrong first, names and findings in columns.

use anstyle::{AnsiColor, Style};

use crate::paint::{BOLD, DIM, printable, push_hanging_facts, styled, width};

use super::{Check, Report, State};

/// Columns of the names of checks.
const NAME_COLUMNS: usize = 14;

pub(super) fn of(report: &Report) -> String {
    let head = format!(
        "aft {}, SQLite {}, index format {}, analysis {}",
        report.aft, report.sqlite, report.index_format, report.analysis
    );
    let mut text = format!("{}\n", styled(&head, DIM));
    let mut archives = report.archives.iter().peekable();
    // Settings come first where they are what is wrong.
    let settings_first = report.checks.first().is_some_and(|check| check.state == State::Fault);
    if settings_first {
        push(&mut text, "settings", "", &report.checks);
    }
    if archives.peek().is_none() {
        text += "\nno archive has a name; [archives] in the configuration file gives some\n";
    }
    for archive in archives {
        let name = archive.name.as_deref().unwrap_or("archive");
        push(&mut text, name, &archive.archive, &archive.checks);
    }
    if !settings_first {
        push(&mut text, "settings", "", &report.checks);
    }
    text.push('\n');
    text += &summary(report);
    text
}

fn push(text: &mut String, name: &str, path: &str, checks: &[Check]) {
    let path = if path.is_empty() { String::new() } else { format!("  {}", styled(&printable(path), DIM)) };
    *text += &format!("\n{}{path}\n", styled(&printable(name), BOLD));
    for check in checks {
        let first = format!(
            "  {} {:NAME_COLUMNS$} ",
            styled(&format!("{:7}", word(check.state)), color(check.state)),
            check.name
        );
        let rest = " ".repeat(2 + 7 + 1 + NAME_COLUMNS + 1);
        push_hanging_facts(text, &printable(&check.finding), &first, &rest, width());
        if let Some(next) = &check.next {
            // In one line whatever its length: a command that was broken cannot be copied.
            *text += &format!("{rest}→ {}\n", printable(next));
        }
    }
}

fn summary(report: &Report) -> String {
    let all = || report.checks.iter().chain(report.archives.iter().flat_map(|archive| &archive.checks));
    let count = |state| all().filter(|check| check.state == state).count();
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let counts = format!(
        "{}, {}, {} ok",
        plural(count(State::Fault), "fault"),
        plural(count(State::Warning), "warning"),
        count(State::Ok)
    );
    let rest = if report.deep {
        String::new()
    } else {
        styled("; not looked at: pages of archives, bytes of indexes, what every row says (--deep)", DIM)
    };
    let mut text = String::new();
    push_hanging_facts(&mut text, &(styled(&counts, color(report.state)) + &rest), "", "", width());
    text
}

fn word(state: State) -> &'static str {
    match state {
        State::Fault => "fault",
        State::Warning => "warning",
        State::Ok => "ok",
    }
}

fn color(state: State) -> Style {
    match state {
        State::Fault => AnsiColor::Red.on_default().bold(),
        State::Warning => AnsiColor::Yellow.on_default().bold(),
        State::Ok => AnsiColor::Green.on_default(),
    }
}
