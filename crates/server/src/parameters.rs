//! Reads the query of an address by the contract of its route: refuses what does not fit, by name and
//! with what would, and fills in defaults. Knows as much of JSON Schema as `schema/openapi.json` uses.

use std::collections::BTreeMap;
use std::fmt::Display;

use afterthought::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::contract::parameters;

/// Returns the parameters as a type with a member for each that the contract names. An empty value is as
/// if it were left out; but a flag that is only named is set, and a query may be empty.
pub(crate) fn read<T: DeserializeOwned>(route: &str, query: Option<&str>) -> Result<T> {
    let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        given.entry(name.into_owned()).or_default().push(value.into_owned());
    }
    let mut read = Map::new();
    for parameter in parameters(route) {
        let name = parameter["name"].as_str().unwrap_or_default();
        let (schema, texts) = (&parameter["schema"], given.remove(name).unwrap_or_default());
        let value = fit(schema, &texts, name == "q").map_err(|why| {
            wrong(name, why)
                .hint(format!("{name}: {}", parameter["description"].as_str().unwrap_or_default()))
        })?;
        read.insert(name.to_owned(), value.unwrap_or_else(|| schema["default"].clone()));
    }
    if let Some(unknown) = given.keys().next() {
        let names: Vec<&String> = read.keys().collect();
        let hint = match names.as_slice() {
            [] => "this address takes no parameters".to_owned(),
            names => format!(
                "parameters: {}",
                names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
            ),
        };
        return Err(wrong(unknown, "no such parameter").hint(hint));
    }
    serde_json::from_value(Value::Object(read))
        .map_err(|error| Error::new(ErrorKind::Internal, "read", "parameters that fit").because(error))
}

/// Refuses a parameter.
pub(crate) fn wrong(name: impl Display, why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, "read parameter", name).because(why.into())
}

/// Returns a value as its schema wants it, `None` where none is given, or says what it must be.
fn fit(schema: &Value, texts: &[String], may_be_empty: bool) -> std::result::Result<Option<Value>, String> {
    let kind = schema["type"].as_str().unwrap_or_default();
    if kind == "array" {
        let items = texts.iter().flat_map(|text| text.split(',')).filter(|item| !item.is_empty());
        let items: Vec<Value> =
            items.map(|item| fit_one(&schema["items"], item)).collect::<std::result::Result<_, _>>()?;
        return Ok(Some(items).filter(|items| !items.is_empty()).map(Value::Array));
    }
    match texts {
        [] => Ok(None),
        [text] if text.is_empty() && kind == "boolean" => Ok(Some(true.into())),
        [text] if text.is_empty() && !may_be_empty => Ok(None),
        [text] => fit_one(schema, text).map(Some),
        _ => Err("it is given more than once".to_owned()),
    }
}

fn fit_one(schema: &Value, text: &str) -> std::result::Result<Value, String> {
    let (least, most) = (&schema["minimum"], &schema["maximum"]);
    match schema["type"].as_str().unwrap_or_default() {
        "integer" => {
            let number: i64 = text.parse().map_err(|_| format!("\"{text}\" is no whole number"))?;
            let fits = least.as_i64() <= Some(number) && most.as_i64().is_none_or(|most| number <= most);
            if fits { Ok(number.into()) } else { Err(format!("must be {least} to {most}, not {number}")) }
        }
        "number" => {
            let number: f64 = text.parse().map_err(|_| format!("\"{text}\" is no number"))?;
            let bounds = least.as_f64().unwrap_or(f64::MIN)..=most.as_f64().unwrap_or(f64::MAX);
            if bounds.contains(&number) {
                Ok(number.into())
            } else {
                Err(format!("must be {least} to {most}, not {number}"))
            }
        }
        "boolean" => match text {
            "true" | "1" => Ok(true.into()),
            "false" | "0" => Ok(false.into()),
            _ => Err(format!("must be true or false, not \"{text}\"")),
        },
        _ => match schema["enum"].as_array() {
            Some(names) if !names.iter().any(|name| name == text) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                Err(format!("must be one of {}, not \"{text}\"", names.join(", ")))
            }
            _ => Ok(text.into()),
        },
    }
}
