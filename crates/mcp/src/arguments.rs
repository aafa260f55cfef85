//! Reads arguments by their tool's input schema: refuses what does not fit, by name and with what
//! would, and fills in defaults. Knows as much of JSON Schema as `schema/mcp.json` uses.

use afterthought::time::bound_now;
use afterthought::{Error, ErrorKind, Result};
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the arguments as a type with a member for each of the schema's properties.
pub(crate) fn read<T: DeserializeOwned>(schema: &JsonObject, mut given: JsonObject) -> Result<T> {
    let properties = schema["properties"].as_object().expect("the contract has properties");
    // Many clients send null for what they leave out.
    given.retain(|_, value| !value.is_null());
    if let Some(unknown) = given.keys().find(|name| !properties.contains_key(*name)) {
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        return Err(wrong(unknown, "no such parameter").hint(format!("parameters: {}", names.join(", "))));
    }
    let mut read = JsonObject::new();
    for (name, property) in properties {
        let value = match given.remove(name) {
            Some(value) => fit(property, value).map_err(|why| describe(wrong(name, why), name, property))?,
            None => property["default"].clone(),
        };
        read.insert(name.clone(), value);
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if read[name].is_null() {
            return Err(missing(schema, name));
        }
    }
    serde_json::from_value(Value::Object(read))
        .map_err(|error| Error::new(ErrorKind::Internal, "read", "arguments that fit").because(error))
}

/// Says that an argument is missing, and what it is for.
pub(crate) fn missing(schema: &JsonObject, name: &str) -> Error {
    describe(wrong(name, "it is missing"), name, &schema["properties"][name])
}

/// Reads a bound of time.
pub(crate) fn bound(name: &str, text: Option<&str>) -> Result<Option<i64>> {
    let read = |text| bound_now(text).map_err(|why| wrong(name, format!("\"{text}\" is {why}")));
    text.map(read).transpose()
}

/// Refuses an argument.
pub(crate) fn wrong(name: &str, why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, "read parameter", name).because(why.into())
}

fn describe(error: Error, name: &str, property: &Value) -> Error {
    error.hint(format!("{name}: {}", property["description"].as_str().unwrap_or_default()))
}

/// Returns the value as its schema wants it, or what it must be.
fn fit(schema: &Value, value: Value) -> std::result::Result<Value, String> {
    let kind = schema["type"].as_str().unwrap_or_default();
    let value = unquote(kind, value);
    match (kind, value) {
        ("array", Value::Array(items)) => {
            let most = schema["maxItems"].as_u64().unwrap_or(u64::MAX);
            if items.len() as u64 > most {
                return Err(format!("must be {most} at most, not {}", items.len()));
            }
            items.into_iter().map(|item| fit(&schema["items"], item)).collect::<std::result::Result<_, _>>()
        }
        ("integer", Value::Number(number)) => {
            let (least, most) = (&schema["minimum"], &schema["maximum"]);
            let whole = number.as_u64().or_else(|| whole(number.as_f64()?));
            match whole.filter(|n| least.as_u64() <= Some(*n) && Some(*n) <= most.as_u64()) {
                Some(whole) => Ok(whole.into()),
                None => Err(format!("must be {least} to {most}, not {number}")),
            }
        }
        ("string", Value::String(text)) => match schema["enum"].as_array() {
            Some(names) if !names.iter().any(|name| *name == text) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                Err(format!("must be one of {}, not \"{text}\"", names.join(", ")))
            }
            _ => Ok(text.into()),
        },
        ("boolean", Value::Bool(flag)) => Ok(flag.into()),
        (_, value) => Err(format!("must be {}, not {value}", in_words(kind))),
    }
}

/// Reads 5.0, which is an integer to JSON Schema and to some clients.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small and whole, as was asked"
    )]
    (number.fract() == 0.0 && (0.0..1e15).contains(&number)).then_some(number as u64)
}

/// Takes a value out of the quotes that models put around it: "5" for 5, "thought" for a list of one.
fn unquote(kind: &str, value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    let meant = serde_json::from_str::<Value>(text).ok();
    match kind {
        "integer" => meant.filter(Value::is_number).unwrap_or(value),
        "boolean" => meant.filter(Value::is_boolean).unwrap_or(value),
        "array" => meant.filter(Value::is_array).unwrap_or_else(|| vec![value].into()),
        _ => value,
    }
}

fn in_words(kind: &str) -> &'static str {
    match kind {
        "array" => "a list",
        "integer" => "a whole number",
        "boolean" => "true or false",
        _ => "text",
    }
}
