//! Reads a call's arguments as the tool always has: numbers may be text, anything may be null, and what
//! cannot be read is the default.

use afterthought::Sort;
use afterthought::time::bound_now;
use serde_json::{Map, Value};

use crate::Refusal;
use crate::limits::{EXCLUDED_MAX, ROLES_MAX, SESSIONS_DEFAULT, SESSIONS_MAX, WINDOW_DEFAULT, WINDOW_MAX};

/// How the agent links a session in a text.
const LINK: &str = "@session:";

/// A call.
#[derive(Debug, PartialEq)]
pub(crate) struct Arguments {
    query: Option<String>,
    session_id: Option<String>,
    anchor: Option<Anchor>,
    /// These roles only; empty for those of people and the model.
    pub(crate) roles: Vec<String>,
    pub(crate) limit: usize,
    pub(crate) sort: Sort,
    pub(crate) window: usize,
    pub(crate) profile: Option<String>,
    pub(crate) current_session: Option<String>,
    pub(crate) include_reasoning: bool,
    /// Only the first result has neighbours and ends.
    pub(crate) compact: bool,
    pub(crate) since_ms: Option<i64>,
    pub(crate) until_ms: Option<i64>,
    pub(crate) exclude_sessions: Vec<String>,
}

/// A message to look around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Id(i64),
    Unreadable,
}

/// What a call asks for; no argument names it.
pub(crate) enum Mode<'a> {
    Scroll { session_id: &'a str, anchor: Anchor },
    Read { session_id: &'a str },
    Browse,
    Discover { query: &'a str },
}

impl Arguments {
    /// Reads a call. Fails on a bound of time that is none, and on too many roles or sessions to exclude.
    pub(crate) fn read(given: &Map<String, Value>) -> Result<Self, Refusal> {
        let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::trim);
        let named = |name: &str| text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let within = |name: &str, default: i64, max: i64| {
            let asked = given.get(name).and_then(whole).unwrap_or(default);
            usize::try_from(asked.clamp(1, max)).unwrap_or(1)
        };
        let (linked, session_id) = link(named("session_id"));
        let profile = given.get("profile").and_then(as_text).or(linked);
        let anchor = given.get("around_message_id").filter(|anchor| !anchor.is_null());
        Ok(Self {
            query: named("query"),
            session_id,
            anchor: anchor.map(|anchor| whole(anchor).map_or(Anchor::Unreadable, Anchor::Id)),
            roles: few("role_filter", text("role_filter").map(comma_list).unwrap_or_default(), ROLES_MAX)?,
            limit: within("limit", SESSIONS_DEFAULT, SESSIONS_MAX),
            sort: match text("sort").map(str::to_lowercase).as_deref() {
                Some("newest") => Sort::Newest,
                Some("oldest") => Sort::Oldest,
                _ => Sort::Relevance,
            },
            window: within("window", WINDOW_DEFAULT, WINDOW_MAX),
            profile,
            current_session: named("current_session_id"),
            include_reasoning: given.get("include_reasoning").is_some_and(is_true),
            compact: text("detail").is_some_and(|detail| detail.eq_ignore_ascii_case("adaptive")),
            since_ms: bound(given, "after")?,
            until_ms: bound(given, "before")?,
            exclude_sessions: excluded(given)?,
        })
    }

    /// Tells what the call asks for: a slice before a session, a session before a query.
    pub(crate) fn mode(&self) -> Mode<'_> {
        match (&self.session_id, self.anchor, &self.query) {
            (Some(session_id), Some(anchor), _) => Mode::Scroll { session_id, anchor },
            (Some(session_id), None, _) => Mode::Read { session_id },
            (None, _, Some(query)) => Mode::Discover { query },
            (None, _, None) => Mode::Browse,
        }
    }
}

/// Splits `profile/id`, the inside of a link, with or without its beginning. Ids hold no slash.
fn link(given: Option<String>) -> (Option<String>, Option<String>) {
    let Some(given) = given else { return (None, None) };
    let inside = given.strip_prefix(LINK).unwrap_or(&given);
    let (profile, id) = match inside.split_once('/') {
        Some((profile, id)) if !id.is_empty() => (profile.trim(), id.trim()),
        _ => ("", inside.trim()),
    };
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    (some(profile), some(id))
}

fn comma_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn bound(given: &Map<String, Value>, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(text) = given.get(name).and_then(as_text) else { return Ok(None) };
    let read = bound_now(&text).map(Some);
    read.map_err(|why| Refusal::new(format!("read {name}: \"{text}\" is {why}")))
}

fn excluded(given: &Map<String, Value>) -> Result<Vec<String>, Refusal> {
    let ids: Vec<String> = match given.get("exclude_session_ids") {
        Some(Value::Array(ids)) => ids.iter().filter_map(as_text).collect(),
        Some(Value::String(ids)) => comma_list(ids),
        _ => Vec::new(),
    };
    few("exclude_session_ids", ids, EXCLUDED_MAX)
}

fn few(name: &str, list: Vec<String>, max: usize) -> Result<Vec<String>, Refusal> {
    if list.len() > max {
        return Err(Refusal::new(format!("read {name}: {} are given, {max} at most", list.len())));
    }
    Ok(list)
}

/// Reads any value as text; nothing where it is blank or null.
fn as_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    Some(text).filter(|text| !text.is_empty())
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(yes) => *yes,
        Value::String(text) => ["true", "yes", "1"].iter().any(|yes| text.trim().eq_ignore_ascii_case(yes)),
        other => whole(other).is_some_and(|number| number != 0),
    }
}

/// Reads a whole number as Python's `int()` does, beyond its bounds as the bound.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(yes) => Some(i64::from(*yes)),
        Value::Number(number) => {
            let beyond = number.is_u64().then_some(i64::MAX);
            #[expect(clippy::cast_possible_truncation, reason = "what int() does, and beyond i64 its bound")]
            let cut = || number.as_f64().map(|number| number as i64);
            number.as_i64().or(beyond).or_else(cut)
        }
        Value::String(text) => {
            let text = text.trim();
            let (sign, digits) = match text.strip_prefix('-') {
                Some(digits) => (-1, digits),
                None => (1, text.strip_prefix('+').unwrap_or(text)),
            };
            let parts_are_digits =
                digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
            let read = || digits.replace('_', "").parse().unwrap_or(i64::MAX);
            parts_are_digits.then(|| sign * read())
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(given: &Value) -> Arguments {
        Arguments::read(given.as_object().expect("an object")).expect("arguments")
    }

    #[test]
    fn limits_are_numbers_texts_or_the_default() {
        let limit = |value: Value| read(&json!({"limit": value})).limit;
        let odd = [json!(null), json!("many"), json!([]), json!({}), json!("5.0"), json!("")];
        assert_eq!(odd.map(limit), [3; 6]);
        let read = [json!(5), json!("5"), json!(" 5 "), json!(5.9), json!("1_0"), json!("+7"), json!(true)];
        assert_eq!(read.map(limit), [5, 5, 5, 5, 10, 7, 1]);
        let clamped = [json!(0), json!(-1), json!(9999), json!("99999999999999999999"), json!(1e300)];
        assert_eq!(clamped.map(limit), [1, 1, 10, 10, 10]);
    }

    #[test]
    fn links_are_split_and_a_named_profile_stands() {
        let of = |given: Value| {
            let read = read(&given);
            (read.profile, read.session_id)
        };
        let some = |profile: &str, id: &str| (Some(profile.to_owned()), Some(id.to_owned()));
        assert_eq!(of(json!({"session_id": "work/2026_a"})), some("work", "2026_a"));
        assert_eq!(of(json!({"session_id": "@session:work/2026_a"})), some("work", "2026_a"));
        assert_eq!(of(json!({"session_id": "work/2026_a", "profile": "home"})), some("home", "2026_a"));
        assert_eq!(of(json!({"session_id": "@session:2026_a"})), (None, Some("2026_a".to_owned())));
        assert_eq!(of(json!({"session_id": "work/"})), (None, Some("work/".to_owned())));
    }

    #[test]
    fn the_mode_is_what_is_given() {
        let mode = |given: Value| match read(&given).mode() {
            Mode::Scroll { .. } => "scroll",
            Mode::Read { .. } => "read",
            Mode::Browse => "browse",
            Mode::Discover { .. } => "discover",
        };
        assert_eq!(mode(json!({"query": "x", "session_id": "a", "around_message_id": "7"})), "scroll");
        assert_eq!(mode(json!({"query": "x", "session_id": "a", "around_message_id": null})), "read");
        assert_eq!(mode(json!({"query": " ", "session_id": " ", "around_message_id": 7})), "browse");
        assert_eq!(mode(json!({"query": 7})), "browse");
        assert_eq!(mode(json!({"query": "x", "around_message_id": 7})), "discover");
    }
}
