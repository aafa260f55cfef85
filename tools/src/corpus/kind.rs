//! Which tool a call names, and what kind of text such a tool takes and prints.

use crate::random::Random;

/// Kinds of text, each with a grammar of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Sentences, now and then in another script.
    Prose,
    /// Lines as compilers and servers print them.
    Log,
    /// Source text.
    Code,
    /// Source text with a number before each line, as an agent reads files.
    Numbered,
    /// Paths, line numbers and the lines there.
    Listing,
    /// One JSON object.
    Json,
}

use Kind::{Code, Json, Listing, Log, Numbered, Prose};

/// A tool's name and the shares of the kinds it prints.
pub(super) struct Tool {
    pub(super) name: &'static str,
    kinds: &'static [(u64, Kind)],
}

const TERMINAL: Tool = Tool { name: "terminal", kinds: &[(70, Log), (15, Listing), (10, Code), (5, Json)] };
const READ_FILE: Tool = Tool { name: "read_file", kinds: &[(85, Numbered), (10, Json), (5, Prose)] };
const SEARCH_FILES: Tool = Tool { name: "search_files", kinds: &[(100, Listing)] };
const WRITE_FILE: Tool = Tool { name: "write_file", kinds: &[(100, Json)] };
const PATCH: Tool = Tool { name: "patch", kinds: &[(60, Json), (40, Code)] };
const WEB_SEARCH: Tool = Tool { name: "web_search", kinds: &[(100, Json)] };
const WEB_EXTRACT: Tool = Tool { name: "web_extract", kinds: &[(70, Prose), (30, Json)] };
const MEMORY: Tool = Tool { name: "memory", kinds: &[(100, Json)] };
const TODO: Tool = Tool { name: "todo", kinds: &[(100, Json)] };

/// Arguments of this length carry a file or a part of one.
pub(super) const LONG_ARGUMENTS_CHARS: u64 = 400;
/// Outputs of up to this length only say that it is done.
const SHORT_OUTPUT_CHARS: u64 = 110;
/// Nothing but a program or a file prints this much.
const LONG_OUTPUT_CHARS: u64 = 4_000;
/// The shortest JSON with anything in it.
const JSON_CHARS_MIN: u64 = 16;

/// Returns a tool that would be called with this much and print this much.
pub(super) fn tool(random: &mut Random, arguments: u64, output: u64) -> &'static Tool {
    let shares: &[(u64, &Tool)] = match (arguments, output) {
        (LONG_ARGUMENTS_CHARS.., LONG_OUTPUT_CHARS..) => &[(1, &TERMINAL)],
        (LONG_ARGUMENTS_CHARS.., _) => &[(6, &PATCH), (3, &WRITE_FILE), (1, &TERMINAL)],
        (_, ..=SHORT_OUTPUT_CHARS) => &[(55, &TERMINAL), (20, &SEARCH_FILES), (15, &TODO), (10, &MEMORY)],
        (_, LONG_OUTPUT_CHARS..) => &[(60, &READ_FILE), (25, &TERMINAL), (15, &WEB_EXTRACT)],
        _ => &[(35, &TERMINAL), (30, &READ_FILE), (20, &SEARCH_FILES), (8, &WEB_SEARCH), (7, &WEB_EXTRACT)],
    };
    random.weighted(shares)
}

impl Tool {
    pub(super) fn kind(&self, random: &mut Random, chars: u64) -> Kind {
        match random.weighted(self.kinds) {
            Json if chars < JSON_CHARS_MIN => Prose,
            kind => kind,
        }
    }
}
