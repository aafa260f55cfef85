//! Shapes messages for an answer: the members the tool always had, and bounds that say what they cut.

use afterthought::Result;
use afterthought::archive::{RowOutline, StoredMessage};
use afterthought::model::Message;
use serde_json::{Map, Value, json};

use crate::limits::{
    ANSWER_CHARS_MAX, BOOKEND_CHARS_MAX, BOOKEND_ROWS, CALLS_CHARS_MAX, CALLS_MAX, HALVINGS_MAX,
    HALVINGS_OF_TEXT, NAME_CHARS_MAX, NAME_CHARS_MIN, READ_CHARS_MAX, SAID_CHARS_MAX, SESSION_ID_CHARS_MAX,
    WINDOW_CHARS_MAX,
};
use crate::sight::Sight;

/// Where a message is shown, and so how much of it.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Window,
    Bookend,
    Read,
}

/// How often what a message may show is halved.
#[derive(Clone, Copy)]
pub(crate) struct Halvings(u32);

impl Halvings {
    /// Characters of a name: where no text is left to cut, archives hold what are none.
    fn name_chars(self) -> usize {
        if self.0 > HALVINGS_OF_TEXT { NAME_CHARS_MIN } else { NAME_CHARS_MAX }
    }
}

impl Place {
    fn chars(self) -> usize {
        match self {
            Self::Window => WINDOW_CHARS_MAX,
            Self::Bookend => BOOKEND_CHARS_MAX,
            Self::Read => READ_CHARS_MAX,
        }
    }
}

/// Writes an answer, with its messages cut until it is within its bound.
pub(crate) fn fitted(write: impl Fn(Halvings) -> Value) -> Value {
    let mut answer = write(Halvings(0));
    for halvings in 1..=HALVINGS_MAX {
        if answer.to_string().chars().count() <= ANSWER_CHARS_MAX {
            break;
        }
        answer = write(Halvings(halvings));
    }
    answer
}

/// Shapes messages of one place.
pub(crate) fn shaped(
    messages: &[StoredMessage],
    anchor: Option<i64>,
    place: Place,
    halvings: Halvings,
) -> Vec<Value> {
    messages.iter().map(|message| shape(message, anchor, place, halvings)).collect()
}

fn shape(message: &StoredMessage, anchor: Option<i64>, place: Place, halvings: Halvings) -> Value {
    let (content, content_chars) = content(message, place.chars() >> halvings.0);
    let (calls, calls_chars) = calls(&message.tool_calls, CALLS_CHARS_MAX >> halvings.0);
    let name = |text: &str| cut(text, halvings.name_chars());
    let mut shaped = Map::new();
    shaped.insert("id".into(), message.id.into());
    shaped.insert("role".into(), name(&message.role).into());
    shaped.insert("content".into(), content);
    if !message.timestamp.is_null() {
        shaped.insert("timestamp".into(), short(&message.timestamp));
    }
    if let Some(tool) = &message.tool_name {
        shaped.insert("tool_name".into(), name(tool).into());
    }
    if let Some(calls) = calls {
        shaped.insert("tool_calls".into(), calls);
    }
    if let Some(id) = &message.tool_call_id {
        shaped.insert("tool_call_id".into(), name(id).into());
    }
    if anchor == Some(message.id) {
        shaped.insert("anchor".into(), true.into());
    }
    if let Some(chars) = content_chars {
        shaped.insert("content_truncated".into(), true.into());
        shaped.insert("original_content_chars".into(), chars.into());
    }
    if let Some(chars) = calls_chars {
        shaped.insert("tool_calls_truncated".into(), true.into());
        shaped.insert("original_tool_calls_chars".into(), chars.into());
    }
    Value::Object(shaped)
}

/// Returns a message's content, and how long it was where it is cut. A list that is too long becomes its
/// text.
fn content(message: &StoredMessage, chars_max: usize) -> (Value, Option<usize>) {
    let chars = match &message.content {
        Value::Null => 0,
        Value::String(text) => text.chars().count(),
        parts => parts.to_string().chars().count(),
    };
    if chars <= chars_max {
        return (message.content.clone(), None);
    }
    (cut(&message.readable(), chars_max).into(), Some(chars))
}

/// Returns a message's calls, `None` if there are none, and how long they were where they are cut.
fn calls(stored: &Value, chars_max: usize) -> (Option<Value>, Option<usize>) {
    let is_empty = match stored {
        Value::Null => true,
        Value::Array(calls) => calls.is_empty(),
        Value::Object(call) => call.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0),
    };
    if is_empty {
        return (None, None);
    }
    let chars = stored.to_string().chars().count();
    if chars <= chars_max {
        return (Some(stored.clone()), None);
    }
    let shown = match stored {
        Value::Array(calls) => {
            let shown = calls.len().min(CALLS_MAX).min((chars_max / 100).max(1));
            calls[..shown].iter().map(|call| short_call(call, chars_max / shown)).collect()
        }
        other => vec![Value::from(cut(&other.to_string(), chars_max))],
    };
    (Some(shown.into()), Some(chars))
}

/// Keeps of a call what names it, and the beginning of its arguments.
fn short_call(call: &Value, chars_max: usize) -> Value {
    let Value::Object(members) = call else { return cut(&call.to_string(), chars_max).into() };
    let mut short = Map::new();
    for (member, value) in members {
        match (member.as_str(), value) {
            ("function", Value::Object(_)) => short.insert(member.clone(), short_call(value, chars_max)),
            ("arguments", Value::String(text)) => short.insert(member.clone(), cut(text, chars_max).into()),
            ("arguments", other) => short.insert(member.clone(), cut(&other.to_string(), chars_max).into()),
            ("id" | "type" | "name", Value::String(text)) => short.insert(member.clone(), name(text).into()),
            _ => None,
        };
    }
    Value::Object(short)
}

/// Cuts a name, an id or a title that is none: whole ones are far shorter.
pub(crate) fn name(text: &str) -> String {
    cut(text, NAME_CHARS_MAX)
}

/// Cuts a session's id that is none: one that is can be given again.
pub(crate) fn session_id(id: &str) -> String {
    cut(id, SESSION_ID_CHARS_MAX)
}

/// Cuts what is said beside messages, which may repeat what was given.
pub(crate) fn said(text: &str) -> String {
    cut(text, SAID_CHARS_MAX)
}

/// Cuts a value that is text.
pub(crate) fn short(value: &Value) -> Value {
    value.as_str().map_or_else(|| value.clone(), |text| name(text).into())
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The messages around one of them.
pub(crate) struct Window {
    pub(crate) messages: Vec<StoredMessage>,
    /// How many rows before and after the anchor are in reach of the window, of all roles.
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// The messages around one of them, without what tools said, and both ends of the session.
#[derive(Default)]
pub(crate) struct Anchored {
    pub(crate) start: Vec<StoredMessage>,
    pub(crate) window: Vec<StoredMessage>,
    pub(crate) end: Vec<StoredMessage>,
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// Returns the window around a row; `None` if it is none of the session's visible ones.
pub(crate) fn window(
    sight: &Sight<'_>,
    rows: &[RowOutline],
    anchor: i64,
    size: usize,
) -> Result<Option<Window>> {
    let Some(around) = Around::of(rows, anchor, size) else { return Ok(None) };
    let messages = sight.messages(&rows[around.from..around.to])?;
    Ok(Some(Window { messages, before: around.at - around.from, after: around.to - around.at - 1 }))
}

/// Returns what a result shows around a row; nothing if it is none of the session's visible ones.
pub(crate) fn anchored(sight: &Sight<'_>, rows: &[RowOutline], anchor: i64, size: usize) -> Result<Anchored> {
    let Some(around) = Around::of(rows, anchor, size) else { return Ok(Anchored::default()) };
    let spoken: Vec<RowOutline> = rows[around.from..around.to]
        .iter()
        .filter(|row| row.id == anchor || is_spoken(row))
        .cloned()
        .collect();
    let mut end = bookend(sight, rows[around.to..].iter().rev())?;
    end.reverse();
    Ok(Anchored {
        start: bookend(sight, rows[..around.from].iter())?,
        window: sight.messages(&spoken)?,
        end,
        before: around.at - around.from,
        after: around.to - around.at - 1,
    })
}

/// Where an anchor and its window stand among rows.
struct Around {
    from: usize,
    at: usize,
    to: usize,
}

impl Around {
    fn of(rows: &[RowOutline], anchor: i64, size: usize) -> Option<Self> {
        let at = rows.binary_search_by_key(&anchor, |row| row.id).ok()?;
        Some(Self { from: at.saturating_sub(size), at, to: (at + 1 + size).min(rows.len()) })
    }
}

/// Returns the first messages that say something. A summary that compaction wrote is nobody's opening.
fn bookend<'a>(sight: &Sight<'_>, rows: impl Iterator<Item = &'a RowOutline>) -> Result<Vec<StoredMessage>> {
    let mut found = Vec::new();
    for row in rows.filter(|row| row.says && is_spoken(row)) {
        if found.len() == BOOKEND_ROWS {
            break;
        }
        let messages = sight.messages(std::slice::from_ref(row))?;
        found.extend(messages.into_iter().filter(|message| !is_summary(message)));
    }
    Ok(found)
}

fn is_spoken(row: &RowOutline) -> bool {
    matches!(row.role.as_str(), "user" | "assistant")
}

fn is_summary(message: &StoredMessage) -> bool {
    let content = cut(message.content.as_str().unwrap_or_default().trim_start(), NAME_CHARS_MAX);
    Message { role: message.role.clone(), content, ..Message::default() }.is_summary()
}

/// Writes what is known of a session beside its messages.
pub(crate) fn session_meta(session: &afterthought::archive::StoredSession) -> Value {
    let text = |value: &Option<String>| value.as_deref().map(name);
    json!({
        "when": crate::when::when(&short(&session.started)),
        "source": text(&session.source),
        "model": text(&session.model),
        "title": text(&session.title),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(content: Value) -> StoredMessage {
        StoredMessage { id: 7, role: "user".into(), content, ..StoredMessage::default() }
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        let shaped = shape(&said("ж".repeat(80_000).into()), Some(7), Place::Read, Halvings(0));
        assert_eq!(shaped["content"].as_str().map(|text| text.chars().count()), Some(2_001));
        assert_eq!(shaped["original_content_chars"], 80_000);
        assert_eq!((&shaped["content_truncated"], &shaped["anchor"]), (&json!(true), &json!(true)));
        let short = shape(&said("short".into()), None, Place::Read, Halvings(0));
        assert_eq!(short, json!({"id": 7, "role": "user", "content": "short"}));
    }

    #[test]
    fn a_picture_is_a_placeholder() {
        let url = format!("data:image/png;base64,{}", "iVBORw0KGgo".repeat(500_000));
        let parts =
            json!([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]);
        let shaped = shape(&said(parts), None, Place::Window, Halvings(0));
        assert_eq!(shaped["content"], "look\n[image_url]");
        let small = json!([{"type": "text", "text": "look"}]);
        assert_eq!(shape(&said(small.clone()), None, Place::Window, Halvings(0))["content"], small);
        let plain = shape(&said(format!("see {url} there").into()), None, Place::Window, Halvings(0));
        assert_eq!(plain["content"], "see [image/png, 5500000 characters] there");
    }

    #[test]
    fn calls_keep_their_names_and_are_cut() {
        let call = json!({"id": "c1", "type": "function", "extra": "x".repeat(9_000),
            "function": {"name": "terminal", "arguments": "y".repeat(100_000)}});
        let message = StoredMessage { tool_calls: json!(vec![call; 50]), ..said(Value::Null) };
        let shaped = shape(&message, None, Place::Window, Halvings(0));
        assert_eq!(shaped["tool_calls"].as_array().map(Vec::len), Some(20));
        assert_eq!(shaped["tool_calls"][0]["function"]["name"], "terminal");
        assert!(shaped["tool_calls"].to_string().len() < 5_000);
        assert_eq!((&shaped["tool_calls_truncated"], &shaped["content"]), (&json!(true), &Value::Null));
    }
}
