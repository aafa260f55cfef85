//! Writes JSON the way Python's `json.dumps` does by default, because that is what stands in
//! the archive: `", "` and `": "` between parts, every non-ASCII character as `\uXXXX`.

use std::fmt::Write;

use serde_json::Value;

/// Returns `value` as Python would store it. Pure ASCII, on one line.
#[must_use]
pub fn python_json(value: &Value) -> String {
    let mut text = String::new();
    push(&mut text, value);
    text
}

fn push(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => push_string(text, string),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                push(text, item);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                push_string(text, name);
                text.push_str(": ");
                push(text, field);
            }
            text.push('}');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

fn push_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            ' '..='~' => text.push(character),
            // Above the first plane JSON wants the two UTF-16 halves, each escaped.
            _ => push_escapes(text, character),
        }
    }
    text.push('"');
}

fn push_escapes(text: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        write!(text, "\\u{unit:04x}").expect("writing to a String never fails");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_what_python_prints() {
        let value = json!({"a": [1, true, null, 2.5], "b": "x\"\\\n\u{7f}部🚀"});
        let python = r#"{"a": [1, true, null, 2.5], "b": "x\"\\\n\u007f\u90e8\ud83d\ude80"}"#;
        assert_eq!(python_json(&value), python);
        assert_eq!(serde_json::from_str::<Value>(python).expect("it is JSON"), value);
    }
}
