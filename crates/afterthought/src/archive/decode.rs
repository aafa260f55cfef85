//! Turns what an agent stores into what a person could read: multimodal lists to their text,
//! doubly encoded tool arguments to their values, reasoning columns to each thought once.
//! Never fails: what cannot be decoded is kept as it stands and reported as damaged.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

/// Marks `content` that holds a JSON value instead of text.
const JSON_PREFIX: &str = "\0json:";
/// A run of base64 from here on is a payload, not text, in characters.
const BASE64_CHARS_MIN: usize = 512;
/// The same inside a data URL, which says itself that it is one.
const PAYLOAD_CHARS_MIN: usize = 32;

/// The readable parts of one column.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Decoded {
    pub(super) text: String,
    /// Thinking that stood among the parts of the content.
    pub(super) thoughts: Vec<String>,
    /// The names of the tools called, each once.
    pub(super) names: Vec<String>,
    pub(super) damaged: bool,
}

/// Decodes a `content` value.
pub(super) fn content(raw: &str) -> Decoded {
    let Some(json) = raw.strip_prefix(JSON_PREFIX) else {
        return Decoded { text: readable(raw).into_owned(), ..Decoded::default() };
    };
    let Some(value) = parse(json) else {
        return Decoded { text: readable(json).into_owned(), damaged: true, ..Decoded::default() };
    };
    let mut decoded = Decoded::default();
    collect_parts(&value, &mut decoded);
    decoded
}

/// Decodes a `content` value only so far that it is what the agent stored: text, or the JSON it encoded.
/// Broken JSON stays text.
pub(super) fn stored_content(raw: &str) -> Value {
    let json = raw.strip_prefix(JSON_PREFIX).and_then(parse);
    json.unwrap_or_else(|| Value::String(raw.to_owned()))
}

/// Returns the text of a list of parts, with placeholders for what is none.
pub(super) fn parts(value: &Value) -> String {
    let mut decoded = Decoded::default();
    collect_parts(value, &mut decoded);
    decoded.text
}

/// Decodes a `tool_calls` list: one line a call, the tool's name and its argument values.
pub(super) fn tool_calls(raw: &str) -> Decoded {
    if raw.trim().is_empty() {
        return Decoded::default();
    }
    let Some(value) = parse(raw) else {
        return Decoded { text: readable(raw).into_owned(), damaged: true, ..Decoded::default() };
    };
    let mut decoded = Decoded::default();
    for call in list(&value) {
        if let Value::String(text) = call {
            push_line(&mut decoded.text, &readable(text));
            continue;
        }
        if !call.is_object() {
            decoded.damaged |= !call.is_null();
            continue;
        }
        let function = call.get("function").unwrap_or(call);
        let mut values = Vec::new();
        if let Some(arguments) = function.get("arguments") {
            decoded.damaged |= !argument_values(arguments, &mut values);
        }
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        push_line(&mut decoded.text, &format!("{name}({})", values.join(", ")));
        if !name.is_empty() && !decoded.names.iter().any(|known| known == name) {
            decoded.names.push(name.to_owned());
        }
    }
    decoded
}

/// The reasoning columns of one row, as stored.
#[derive(Default)]
pub(super) struct ReasoningColumns<'a> {
    pub(super) reasoning: Cow<'a, str>,
    pub(super) content: Cow<'a, str>,
    pub(super) details: Cow<'a, str>,
    pub(super) codex_items: Cow<'a, str>,
}

/// Joins the reasoning columns, each text once. Signatures and encrypted payloads are left out.
pub(super) fn reasoning(columns: &ReasoningColumns<'_>, thoughts_in_content: &[String]) -> Decoded {
    let mut damaged = false;
    let mut thoughts: Vec<String> = Vec::new();
    // By hash: one row may hold a million, too many to compare each with each.
    let mut known = HashSet::new();
    let mut add = |text: &str| {
        let text = text.trim();
        if !text.is_empty() && known.insert(xxh3_128(text.as_bytes())) {
            thoughts.push(text.to_owned());
        }
    };
    add(&columns.reasoning);
    add(&columns.content);
    for item in items(&columns.details, &mut damaged) {
        let keys = ["summary", "thinking", "content", "text"];
        match keys.iter().find_map(|key| item.get(key).filter(|value| !value.is_null())) {
            Some(Value::String(text)) => add(text),
            Some(value) => texts_of(value).iter().for_each(|text| add(text)),
            None => {}
        }
    }
    for item in items(&columns.codex_items, &mut damaged) {
        if let Some(summary) = item.get("summary") {
            for text in texts_of(summary) {
                add(&text);
            }
        }
    }
    for text in thoughts_in_content {
        add(text);
    }
    Decoded { text: readable(&thoughts.join("\n\n")).into_owned(), damaged, ..Decoded::default() }
}

/// Returns the text of a reply that stands only among the provider's output items.
pub(super) fn output_items(raw: &str) -> Decoded {
    let mut decoded = Decoded::default();
    let mut damaged = false;
    for item in items(raw, &mut damaged) {
        collect_parts(&item, &mut decoded);
    }
    decoded.damaged |= damaged;
    decoded
}

fn items(raw: &str, damaged: &mut bool) -> Vec<Value> {
    if raw.trim().is_empty() {
        return Vec::new();
    }
    match parse(raw) {
        Some(Value::Array(items)) => items,
        Some(Value::Null) => Vec::new(),
        Some(value) => vec![value],
        None => {
            *damaged = true;
            Vec::new()
        }
    }
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        Value::Null => &[],
        other => std::slice::from_ref(other),
    }
}

/// Collects the `text` of a part or a list of parts.
fn texts_of(value: &Value) -> Vec<String> {
    let mut decoded = Decoded::default();
    collect_parts(value, &mut decoded);
    decoded.thoughts.push(decoded.text);
    decoded.thoughts
}

fn collect_parts(value: &Value, decoded: &mut Decoded) {
    match value {
        Value::String(text) => push_line(&mut decoded.text, &readable(text)),
        Value::Array(parts) => parts.iter().for_each(|part| collect_parts(part, decoded)),
        Value::Object(part) => {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            if kind.contains("image") || kind.contains("audio") || kind.contains("file") {
                push_line(&mut decoded.text, &format!("[{kind}]"));
            } else if let Some(Value::String(thought)) = part.get("thinking") {
                decoded.thoughts.push(thought.clone());
            } else {
                let text = ["text", "content", "output", "input"].iter().filter_map(|key| part.get(*key));
                text.for_each(|value| collect_parts(value, decoded));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Collects the leaf values of arguments that are JSON inside a JSON string; some agents write
/// plain text there. Returns whether nothing looked like JSON and was none.
fn argument_values(arguments: &Value, values: &mut Vec<String>) -> bool {
    let Value::String(encoded) = arguments else {
        leaf_values(arguments, values);
        return true;
    };
    let begins_json = encoded.trim_start().starts_with(['{', '[', '"']);
    if begins_json && let Some(decoded) = parse(encoded) {
        leaf_values(&decoded, values);
        return true;
    }
    values.push(readable(encoded).into_owned());
    !begins_json
}

fn leaf_values(value: &Value, values: &mut Vec<String>) {
    match value {
        Value::String(text) => values.push(readable(text).into_owned()),
        Value::Number(number) => values.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| leaf_values(item, values)),
        Value::Object(fields) => fields.values().for_each(|field| leaf_values(field, values)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !line.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

pub(super) fn parse(json: &str) -> Option<Value> {
    serde_json::from_str(json).ok().or_else(|| serde_json::from_str(&without_lone_surrogates(json)).ok())
}

/// Replaces `\ud83d` and the like, where the other half is missing, by U+FFFD.
fn without_lone_surrogates(json: &str) -> String {
    let bytes = json.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let escape = bytes.get(at..at + 6)?;
        let digits = escape.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at += 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str(&json[copied..at]);
                out.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            (Some(_), _) => at += 6,
            // Any other escape: the byte behind the backslash belongs to it.
            (None, _) => at += 1 + usize::from(bytes.get(at + 1).is_some_and(u8::is_ascii)),
        }
    }
    out.push_str(&json[copied..]);
    out
}

/// Strips terminal escapes and replaces payloads by placeholders.
pub(super) fn readable(text: &str) -> Cow<'_, str> {
    let plain = if text.contains('\u{1b}') { Cow::Owned(without_ansi(text)) } else { Cow::Borrowed(text) };
    if plain.len() < BASE64_CHARS_MIN && !plain.contains(";base64,") {
        return plain;
    }
    match without_payloads(&plain) {
        Some(short) => Cow::Owned(short),
        None => plain,
    }
}

/// Strips the control sequences of ECMA-48: CSI, OSC and two-byte escapes.
fn without_ansi(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => while chars.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
            Some(']') => {
                while let Some(c) = chars.next() {
                    if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                        break;
                    }
                }
            }
            Some(c @ ('\n' | '\u{1b}')) => out.push(c),
            Some(_) | None => {}
        }
    }
    out
}

/// Replaces base64 payloads and the data URLs around them; `None` where there are none.
fn without_payloads(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(run) = next_long_run(bytes, at) {
        // A run is ASCII, so it begins and ends on character borders.
        let kind = data_url_kind(&text[copied..run.start]);
        if is_payload(&bytes[run.clone()], kind.is_some()) {
            let (before, label) = kind.unwrap_or((run.start - copied, "base64"));
            out.push_str(&text[copied..copied + before]);
            out.push_str(&format!("[{label}, {} characters]", run.len()));
            copied = run.end;
        }
        at = run.end;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// Finds the next run that may be a payload. Looks from where such a run would end back to where it would begin,
/// and so at few bytes of running text.
fn next_long_run(bytes: &[u8], mut at: usize) -> Option<Range<usize>> {
    loop {
        let least = bytes.get(at..at + PAYLOAD_CHARS_MIN)?;
        if let Some(other) = least.iter().rposition(|byte| !BASE64[usize::from(*byte)]) {
            at += other + 1;
            continue;
        }
        let more = bytes[at + PAYLOAD_CHARS_MIN..].iter();
        let more = more.take_while(|byte| BASE64[usize::from(**byte)]).count();
        return Some(at..at + PAYLOAD_CHARS_MIN + more);
    }
}

/// The bytes that base64 is written with, in either alphabet.
static BASE64: [bool; 256] = {
    let mut is_base64 = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        is_base64[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-');
        byte += 1;
    }
    is_base64
};

fn is_payload(run: &[u8], in_data_url: bool) -> bool {
    let has = |class: fn(&u8) -> bool| run.iter().any(class);
    let mixed = || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    // Paths and rules of dashes are long too, but never letters and digits of both cases alone.
    let dense = || run.iter().filter(|byte| b"/_-".contains(byte)).count() * 16 < run.len();
    in_data_url || (run.len() >= BASE64_CHARS_MIN && mixed() && dense())
}

/// If the text ends in `data:image/png;base64,`, returns where that begins, and `image/png`.
fn data_url_kind(before: &str) -> Option<(usize, &str)> {
    let head = before.strip_suffix(";base64,")?;
    let tail_start = head.floor_char_boundary(head.len().saturating_sub(128));
    let at = tail_start + head[tail_start..].rfind("data:")?;
    Some((at, &head[at + "data:".len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_content_stays() {
        assert_eq!(content("deploy failed").text, "deploy failed");
    }

    #[test]
    fn multimodal_content_is_its_text_and_thinking_is_a_thought() {
        let raw = "\0json:[{\"type\":\"text\",\"text\":\"\\u8bf7\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:\"}},{\"type\":\"thinking\",\"thinking\":\"hm\"}]";
        let decoded = content(raw);
        assert_eq!((decoded.text.as_str(), decoded.thoughts), ("请\n[image_url]", vec!["hm".to_owned()]));
    }

    #[test]
    fn a_broken_tail_is_kept_as_text() {
        let decoded = content("\0json:[{\"type\":\"text\",\"text\":\"cut");
        assert!(decoded.damaged && decoded.text.contains("cut"));
    }

    #[test]
    fn a_lone_surrogate_becomes_a_replacement() {
        assert_eq!(content("\0json:\"a\\ud83d b \\\\ud83d \\ud83d\\ude80\"").text, "a\u{fffd} b \\ud83d 🚀");
    }

    #[test]
    fn long_runs_are_found_wherever_they_stand() {
        let run = |length| "a".repeat(length);
        let text = format!("{} {}.{}中{}", run(31), run(32), run(3), run(70));
        assert_eq!(next_long_run(text.as_bytes(), 0), Some(32..64));
        assert_eq!(next_long_run(text.as_bytes(), 64), Some(71..141));
        assert_eq!(next_long_run(text.as_bytes(), 141), None);
        assert_eq!(next_long_run(run(33).as_bytes(), 0), Some(0..33));
    }

    #[test]
    fn doubly_encoded_arguments_are_values() {
        let raw = r#"[{"id":"call_1","function":{"name":"terminal","arguments":"{\"command\":\"echo \\u90e8\\u7f72\",\"n\":3}"}}]"#;
        assert_eq!(tool_calls(raw).text, "terminal(echo 部署, 3)");
        let twice = r#"[{"name":"read","arguments":"a\nb("},{"name":"b"},{"name":"read"}]"#;
        assert_eq!(tool_calls(twice).names, ["read", "b"]);
        assert_eq!(tool_calls(r#"[{"name":"read","arguments":{"path":"a.rs"}}]"#).text, "read(a.rs)");
        let plain = tool_calls(r#"[{"function":{"name":"Glob","arguments":"pattern `*.rs`"}}]"#);
        assert_eq!((plain.text.as_str(), plain.damaged), ("Glob(pattern `*.rs`)", false));
        assert!(tool_calls("[{oops").damaged);
        assert!(tool_calls(r#"[{"name":"x","arguments":"{cut"}]"#).damaged);
    }

    #[test]
    fn each_thought_stands_once() {
        let columns = ReasoningColumns {
            reasoning: "port 7781".into(),
            content: " port 7781 ".into(),
            details: r#"[{"type":"thinking","thinking":"port 7781","signature":"sig"},{"text":"more"}]"#
                .into(),
            codex_items: r#"[{"encrypted_content":"xx","summary":[{"type":"summary_text","text":"sum"}]}]"#
                .into(),
        };
        assert_eq!(reasoning(&columns, &[]).text, "port 7781\n\nmore\n\nsum");
    }

    #[test]
    fn one_row_may_hold_very_many_thoughts() {
        let thoughts: Vec<String> = (0..300_000).map(|at| format!("{at:06}")).collect();
        assert_eq!(reasoning(&ReasoningColumns::default(), &thoughts).text, thoughts.join("\n\n"));
    }

    #[test]
    fn escapes_and_payloads_go() {
        assert_eq!(content("\u{1b}[31mfailed\u{1b}[0m \u{1b}]0;title\u{7}build").text, "failed build");
        let payload = "iVBORw0KGgo5".repeat(100);
        let url = format!("see data:image/png;base64,{payload} there");
        assert_eq!(content(&url).text, "see [image/png, 1200 characters] there");
        assert_eq!(content(&payload).text, "[base64, 1200 characters]");
        let around = format!("検索{}データ", &url);
        assert_eq!(content(&around).text, "検索see [image/png, 1200 characters] thereデータ");
        let path = "/usr/lib/Abc1".repeat(60);
        assert_eq!(content(&path).text, path);
    }

    #[test]
    fn any_text_is_read_without_a_panic() {
        let pieces = [
            "\0json:",
            "[",
            "{\"type\":\"text\",\"text\":\"",
            "\\ud83d",
            "\\",
            "\"}",
            "]",
            "\u{1b}[31m",
            "\u{1b}]",
            "\u{7}",
            "data:",
            "image/png;base64,",
            "QUJD1",
            "検索",
            "é",
            "😀",
            " ",
            "\n",
            "{\"function\":{\"name\":\"x\",\"arguments\":\"",
        ];
        let mut state = 5_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..random(12) {
                let repeat = if random(8) == 0 { 150 } else { 1 };
                text += &pieces[random(pieces.len())].repeat(repeat);
            }
            content(&text);
            tool_calls(&text);
            output_items(&text);
            let columns = ReasoningColumns {
                details: text.as_str().into(),
                codex_items: text.as_str().into(),
                ..ReasoningColumns::default()
            };
            reasoning(&columns, &[]);
        }
    }
}
