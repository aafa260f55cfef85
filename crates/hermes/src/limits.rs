//! Every bound of the tool. Quantity, unit, bound: in that order.

/// Sessions that a query shows: the default,
pub(crate) const SESSIONS_DEFAULT: i64 = 3;
/// and the most.
pub(crate) const SESSIONS_MAX: i64 = 10;
/// Messages on each side of an anchor: the default,
pub(crate) const WINDOW_DEFAULT: i64 = 5;
/// and the most.
pub(crate) const WINDOW_MAX: i64 = 20;
/// Messages from each end of a session beside a window.
pub(crate) const BOOKEND_ROWS: usize = 3;
/// Messages from the beginning of a session that is read,
pub(crate) const READ_HEAD_ROWS: usize = 20;
/// and from its end.
pub(crate) const READ_TAIL_ROWS: usize = 10;
/// Sessions that a call may exclude.
pub(crate) const EXCLUDED_MAX: usize = 20;
/// Roles that a call may name.
pub(crate) const ROLES_MAX: usize = 20;
/// Sessions of one lineage that are looked at; more are damage.
pub(crate) const LINEAGE_MAX: usize = 10_000;
/// Sessions of one chain of compressions.
pub(crate) const CHAIN_MAX: usize = 100;
/// Hits in the conversation that asks that are looked at for one that left its context.
pub(crate) const CURRENT_HITS_MAX: usize = 1_000;
/// The same at once.
pub(crate) const CURRENT_HITS_PAGE: usize = 50;

/// Characters of one message in a window,
pub(crate) const WINDOW_CHARS_MAX: usize = 4_000;
/// at one end of a session,
pub(crate) const BOOKEND_CHARS_MAX: usize = 1_200;
/// in a session that is read,
pub(crate) const READ_CHARS_MAX: usize = 2_000;
/// and of the calls in one message.
pub(crate) const CALLS_CHARS_MAX: usize = 2_000;
/// Calls of one message, where they are cut.
pub(crate) const CALLS_MAX: usize = 20;
/// Characters of a role, a name, an id of a call, a title.
pub(crate) const NAME_CHARS_MAX: usize = 200;
/// Characters of a session's id: the longest that a search knows.
pub(crate) const SESSION_ID_CHARS_MAX: usize = 1_024;
/// Characters of what is said beside messages: a query that is repeated, a note, a refusal.
pub(crate) const SAID_CHARS_MAX: usize = 1_000;
/// Notes of one answer,
pub(crate) const NOTES_MAX: usize = 10;
/// and words in it that stand nowhere.
pub(crate) const UNKNOWN_WORDS_MAX: usize = 10;
/// Longest query that may be a title, in bytes; the agent cuts titles far before.
pub(crate) const TITLE_BYTES_MAX: usize = 2_000;
/// Characters of a list's preview.
pub(crate) const PREVIEW_CHARS_MAX: usize = 60;
/// Characters of one answer; where it would be longer, messages are cut to half, and half again,
pub(crate) const ANSWER_CHARS_MAX: usize = 100_000;
/// this many times at most;
pub(crate) const HALVINGS_MAX: u32 = 8;
/// after so many of them, names as well,
pub(crate) const HALVINGS_OF_TEXT: u32 = 5;
/// to so many characters.
pub(crate) const NAME_CHARS_MIN: usize = 16;
