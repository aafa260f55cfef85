//! What can go wrong, as kinds for machines and sentences for people. Never prints.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A `Result` whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of thing went wrong. The wire name is the variant in kebab case, and
/// `schema/errors.json` lists every kind with its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The request itself cannot be read: a bad bound, an unknown name.
    Usage,
    /// The archive is missing or cannot be read.
    ArchiveUnavailable,
    /// The file is there and is not a database, or not an agent's archive.
    ArchiveUnrecognized,
    /// Reading needs a private copy larger than allowed.
    ArchiveNeedsCopy,
    /// The archive changed faster than it could be read.
    ArchiveUnsteady,
    /// No index stands for this archive yet, and the command may not build one.
    IndexMissing,
    /// The index folder cannot be read or written.
    IndexUnavailable,
    /// The index was written by another format or analyzer.
    IndexIncompatible,
    /// The index's files contradict each other.
    IndexDamaged,
    /// Another process holds the writer lock.
    IndexLocked,
    /// The message or session is not in the archive.
    NotFound,
    /// The text is no cursor of ours.
    CursorInvalid,
    /// The cursor continues another search.
    CursorMismatch,
    /// The state of the index that the cursor continues is gone.
    CursorStale,
    /// Too many searches wait already.
    Busy,
    /// The search took longer than its deadline.
    Timeout,
    /// The caller stopped it.
    Interrupted,
    /// A defect of ours.
    Internal,
}

impl ErrorKind {
    /// Every kind, in the order of `schema/errors.json`.
    pub const ALL: [Self; 18] = [
        Self::Usage,
        Self::ArchiveUnavailable,
        Self::ArchiveUnrecognized,
        Self::ArchiveNeedsCopy,
        Self::ArchiveUnsteady,
        Self::IndexMissing,
        Self::IndexUnavailable,
        Self::IndexIncompatible,
        Self::IndexDamaged,
        Self::IndexLocked,
        Self::NotFound,
        Self::CursorInvalid,
        Self::CursorMismatch,
        Self::CursorStale,
        Self::Busy,
        Self::Timeout,
        Self::Interrupted,
        Self::Internal,
    ];

    /// Returns the wire name, in kebab case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::ArchiveUnavailable => "archive-unavailable",
            Self::ArchiveUnrecognized => "archive-unrecognized",
            Self::ArchiveNeedsCopy => "archive-needs-copy",
            Self::ArchiveUnsteady => "archive-unsteady",
            Self::IndexMissing => "index-missing",
            Self::IndexUnavailable => "index-unavailable",
            Self::IndexIncompatible => "index-incompatible",
            Self::IndexDamaged => "index-damaged",
            Self::IndexLocked => "index-locked",
            Self::NotFound => "not-found",
            Self::CursorInvalid => "cursor-invalid",
            Self::CursorMismatch => "cursor-mismatch",
            Self::CursorStale => "cursor-stale",
            Self::Busy => "busy",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
            Self::Internal => "internal",
        }
    }

    /// Tells whether the same request may succeed a little later.
    #[must_use]
    pub fn retryable(self) -> bool {
        matches!(self, Self::ArchiveUnsteady | Self::IndexLocked | Self::Busy | Self::Timeout)
    }
}

/// An error: the act, the thing, the cause, and the next step where one is known.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    act: &'static str,
    thing: String,
    hint: Option<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Names what was being done to which thing.
    pub fn new(kind: ErrorKind, act: &'static str, thing: impl fmt::Display) -> Self {
        Self { kind, act, thing: thing.to_string(), hint: None, cause: None }
    }

    /// Adds the underlying cause; it becomes part of the message.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the kind, for machines.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the next step, if one is known.
    #[must_use]
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Writes a path as a word of a shell's command.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%=".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// An error as programs see it; `schema/error.schema.json` states it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorView {
    /// The kind.
    pub kind: ErrorKind,
    /// The act, the thing and the cause.
    pub message: String,
    /// The next step, if one is known.
    pub hint: Option<String>,
    /// Whether the same request may succeed a little later.
    pub retryable: bool,
}

impl ErrorView {
    /// Describes an error of which only this is known.
    pub fn new(kind: ErrorKind, message: impl Into<String>, hint: Option<&str>) -> Self {
        Self { kind, message: message.into(), hint: hint.map(str::to_owned), retryable: kind.retryable() }
    }
}

impl From<&Error> for ErrorView {
    fn from(error: &Error) -> Self {
        Self::new(error.kind(), error.to_string(), error.next_step())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.act, self.thing)?;
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| &**cause as _)
    }
}
