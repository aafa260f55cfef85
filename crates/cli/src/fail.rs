//! How failure looks: a sentence for people, a JSON line for machines, an exit code for both.

use std::ffi::OsString;
use std::process::ExitCode;

use afterthought::{Error, ErrorKind, ErrorView};
use clap::error::{ContextKind, ContextValue, ErrorKind as ClapKind};
use clap::{CommandFactory, Parser};
use serde_json::json;

use crate::args::{Cli, Global};
use crate::search::flags;

/// Why a command ended early.
pub(crate) enum Failure {
    /// The library refused.
    Library(Error),
    /// An argument cannot be read.
    Usage(String),
    /// Standard output was closed; nobody listens any more.
    BrokenPipe,
    /// Ctrl-C.
    Interrupted(String),
    /// Anything else that the system refused.
    Io(std::io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Io(error),
        }
    }
}

/// Exit code when index and archive differ.
pub(crate) const EXIT_DRIFT: u8 = 7;

impl Failure {
    /// Prints the failure and returns its exit code.
    pub(crate) fn report(&self, global: &Global) -> ExitCode {
        let json = global.json;
        match self {
            Self::BrokenPipe => ExitCode::SUCCESS,
            Self::Library(error) => {
                let hint = error.next_step().map(|hint| addressed(hint, &flags(global, None)));
                say(json, error.kind(), &error.to_string(), hint.as_deref())
            }
            Self::Usage(message) => say(json, ErrorKind::Usage, message, Some("see: aft --help")),
            Self::Interrupted(message) => say(json, ErrorKind::Interrupted, message, None),
            Self::Io(error) => say(json, ErrorKind::Internal, &error.to_string(), None),
        }
    }
}

/// Addresses a command of the library's hint to the archive that was asked: the library knows the command, and
/// not how it was called.
pub(crate) fn addressed(hint: &str, flags: &str) -> String {
    hint.replacen("run: aft ", &format!("run: aft{flags} "), 1)
}

fn say(json: bool, kind: ErrorKind, message: &str, hint: Option<&str>) -> ExitCode {
    if json {
        tell!("{}", json!({ "error": ErrorView::new(kind, message, hint) }));
    } else {
        tell!("aft: {message}");
        if let Some(hint) = hint {
            tell!("     {hint}");
        }
    }
    ExitCode::from(exit_code(kind))
}

/// Returns the exit code of a kind of error; `schema/errors.json` states the same.
pub(crate) fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::NotFound | ErrorKind::Internal => 1,
        ErrorKind::Usage | ErrorKind::CursorInvalid | ErrorKind::CursorMismatch | ErrorKind::CursorStale => 2,
        ErrorKind::ArchiveUnavailable
        | ErrorKind::ArchiveUnrecognized
        | ErrorKind::ArchiveNeedsCopy
        | ErrorKind::ArchiveUnsteady
        | ErrorKind::IndexMissing
        | ErrorKind::IndexUnavailable => 3,
        ErrorKind::IndexIncompatible => 4,
        ErrorKind::IndexDamaged => 5,
        ErrorKind::IndexLocked => 6,
        ErrorKind::Busy | ErrorKind::Timeout => 8,
        ErrorKind::Interrupted => 130,
    }
}

/// Reports arguments that could not be read. A query that looks like a flag gets the exact line
/// to type.
pub(crate) fn refused(error: &clap::Error, typed: &[OsString], json: bool) -> ExitCode {
    let asked_for_help = matches!(
        error.kind(),
        ClapKind::DisplayHelp | ClapKind::DisplayVersion | ClapKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if asked_for_help && error.kind() != ClapKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Help into a closed pipe is no failure.
        let _closed = error.print();
        return ExitCode::SUCCESS;
    }
    let line = (error.kind() == ClapKind::UnknownArgument).then(|| with_separator(typed)).flatten();
    let meant = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(argument)) => format!("did you mean {argument}? If not, "),
        _ => String::new(),
    };
    let hint = line.as_ref().map(|line| format!("{meant}to search for it, type: {line}"));
    if json || hint.is_some() {
        return say(
            json,
            ErrorKind::Usage,
            &in_one_line(error),
            Some(hint.as_deref().unwrap_or("see: aft --help")),
        );
    }
    let _closed = error.print();
    ExitCode::from(exit_code(ErrorKind::Usage))
}

/// Returns what clap has to say, without its usage and tips, in one line.
fn in_one_line(error: &clap::Error) -> String {
    let message = error.to_string();
    let lines = message.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("  tip:"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

/// Writes a search line so that what `aft` does not know becomes part of the query.
fn with_separator(typed: &[OsString]) -> Option<String> {
    let words: Vec<&str> = typed.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let command = Cli::command();
    let search = command.find_subcommand("search")?;
    let known: Vec<_> = command.get_arguments().chain(search.get_arguments()).collect();
    let at = words.iter().position(|word| *word == "search")?;
    let (mut flags, mut query) = (words[..at].to_vec(), Vec::new());
    flags.push("search");
    let mut rest = words[at + 1..].iter().copied();
    while let Some(word) = rest.next() {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let argument = known.iter().find(|argument| {
            argument.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long))
                || argument.get_short().is_some_and(|short| name == format!("-{short}"))
                || is_short_with_value(argument, word)
        });
        match argument {
            Some(argument) => {
                flags.push(word);
                let has_value = word.contains('=') || is_short_with_value(argument, word);
                if argument.get_action().takes_values() && !has_value {
                    flags.extend(rest.next());
                }
            }
            None => query.push(word),
        }
    }
    let words: Vec<&str> = std::iter::once("aft").chain(flags).chain(["--"]).chain(query).collect();
    // A line that does not work either is no help.
    Cli::try_parse_from(&words).ok()?;
    Some(words.into_iter().map(quoted).collect::<Vec<_>>().join(" "))
}

/// Tells whether a word is a short flag with its value attached: `-n5`.
fn is_short_with_value(argument: &clap::Arg, word: &str) -> bool {
    let mut chars = word.chars();
    let is_short =
        chars.next() == Some('-') && argument.get_short().is_some_and(|short| chars.next() == Some(short));
    is_short && argument.get_action().takes_values() && chars.next().is_some()
}

/// Quotes a word for a shell where it needs it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, line: &str) {
        let typed: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
        assert_eq!(with_separator(&typed).as_deref(), Some(line));
    }

    #[test]
    fn unknown_flags_go_behind_the_separator() {
        check("aft search git commit --amend", "aft search -- git commit --amend");
    }

    #[test]
    fn known_flags_stay_before_it() {
        check(
            "aft --json search -n 3 --amend --role=user x",
            "aft --json search -n 3 --role=user -- --amend x",
        );
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
