//! Values that a column may hold: of every type, and JSON much like an agent's.

use arbitrary::Arbitrary;
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use crate::Text;

/// One value of a row.
#[derive(Arbitrary, Debug)]
pub enum Cell {
    /// The SQL NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A flag.
    Flag(bool),
    /// A number with a fraction.
    Real(f64),
    /// Bytes of the type TEXT, whether or not they are UTF-8.
    Bytes(Vec<u8>),
    /// Bytes of the type BLOB.
    Blob(Vec<u8>),
    /// Text.
    Text(Text),
    /// A JSON text.
    Json(Json),
    /// A JSON text, marked as one.
    Parts(Json),
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Integer(number) => (*number).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::Real(number) => (*number).into(),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Text(bytes)),
            Self::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::Text(text) => text.write().into(),
            Self::Json(json) => json.write().into(),
            Self::Parts(json) => format!("\0json:{}", json.write()).into(),
        })
    }
}

impl Cell {
    /// Returns the most bytes of text that the value can be read as.
    #[must_use]
    pub fn text_bytes_max(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Integer(_) | Self::Flag(_) => 20,
            // All digits of the largest and of the smallest number.
            Self::Real(_) => 800,
            // Each byte may be one that cannot be read, and U+FFFD takes three.
            Self::Bytes(bytes) | Self::Blob(bytes) => 3 * bytes.len(),
            Self::Text(text) => text.write().len(),
            // The shortest number that is written out longest: 1e15, and a comma.
            Self::Json(json) | Self::Parts(json) => 4 * json.write().len(),
        }
    }
}

/// A JSON value, often with the keys that are looked for.
#[derive(Arbitrary, Clone, Debug)]
pub enum Json {
    /// Nothing.
    Null,
    /// A number; not always one that JSON knows.
    Number(f64),
    /// A name that is looked for.
    Name(u8),
    /// A text.
    Text(Text),
    /// JSON inside a string, as agents store arguments. Once: each further time doubles it.
    Encoded(Box<Json>),
    /// Anything else, JSON or not.
    Raw(String),
    /// A list.
    List(Vec<Json>),
    /// An object; keys may repeat.
    Object(Vec<(u8, Json)>),
}

const NAMES: [&str; 16] = [
    "type",
    "text",
    "content",
    "output",
    "input",
    "thinking",
    "summary",
    "function",
    "name",
    "arguments",
    "image_url",
    "input_audio",
    "file",
    "\\ud83d",
    "data:image/png;base64,",
    "other",
];

impl Json {
    /// Writes the value out.
    #[must_use]
    pub fn write(&self) -> String {
        self.write_in(false)
    }

    fn write_in(&self, is_encoded: bool) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Number(number) => format!("{number:e}"),
            Self::Name(name) => format!("\"{}\"", name_at(*name)),
            Self::Text(text) => quoted(&text.write()),
            Self::Encoded(json) if is_encoded => json.write_in(true),
            Self::Encoded(json) => quoted(&json.write_in(true)),
            Self::Raw(raw) => raw.clone(),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(|item| item.write_in(is_encoded)).collect();
                format!("[{}]", items.join(","))
            }
            Self::Object(fields) => {
                let field = |(name, value): &(u8, Self)| {
                    format!("\"{}\":{}", name_at(*name), value.write_in(is_encoded))
                };
                format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
            }
        }
    }
}

fn name_at(name: u8) -> &'static str {
    NAMES[usize::from(name) % NAMES.len()]
}

fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        '\0'..='\u{1f}' => format!("\\u{:04x}", u32::from(c)),
        _ => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}
