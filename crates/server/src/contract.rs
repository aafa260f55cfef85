//! `schema/openapi.json`, compiled in: what `/openapi.json` shows and what parameters are read by, so that
//! the two cannot differ.

use std::sync::LazyLock;

use serde_json::Value;

/// The contract as it stands in the repository; answers are named there by the files beside it.
pub const OPENAPI: &str = include_str!("../../../schema/openapi.json");

/// The files that it names.
const SCHEMAS: [(&str, &str); 11] = [
    ("audit", include_str!("../../../schema/audit.schema.json")),
    ("audit-word", include_str!("../../../schema/audit-word.schema.json")),
    ("error", include_str!("../../../schema/error.schema.json")),
    ("facets", include_str!("../../../schema/facets.schema.json")),
    ("search", include_str!("../../../schema/search.schema.json")),
    ("session", include_str!("../../../schema/session.schema.json")),
    ("session-search", include_str!("../../../schema/session-search.schema.json")),
    ("sessions", include_str!("../../../schema/sessions.schema.json")),
    ("show", include_str!("../../../schema/show.schema.json")),
    ("status", include_str!("../../../schema/status.schema.json")),
    ("syncs", include_str!("../../../schema/syncs.schema.json")),
];

static CONTRACT: LazyLock<Value> = LazyLock::new(|| parse(OPENAPI));

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("a file that is compiled in is JSON")
}

/// Returns the parameters that stand in a route's query.
pub(crate) fn parameters(route: &str) -> impl Iterator<Item = &'static Value> {
    let parameters = CONTRACT["paths"][route]["get"]["parameters"].as_array();
    parameters.expect("the contract has every route").iter().filter(|parameter| parameter["in"] == "query")
}

/// Returns the contract as one document, with every schema in it.
#[must_use]
pub fn openapi() -> Value {
    let mut whole = CONTRACT.clone();
    rewrite(&mut whole, &|reference| {
        let name = reference.strip_suffix(".schema.json")?;
        Some(format!("#/components/schemas/{name}"))
    });
    for (name, text) in SCHEMAS {
        let mut schema = parse(text);
        if let Some(members) = schema.as_object_mut() {
            members.remove("$schema");
        }
        rewrite(&mut schema, &|reference| {
            let inside = reference.strip_prefix('#')?;
            Some(format!("#/components/schemas/{name}{inside}"))
        });
        whole["components"]["schemas"][name] = schema;
    }
    whole
}

/// Changes every reference that `change` knows.
fn rewrite(value: &mut Value, change: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member.as_str().and_then(change)) {
                    ("$ref", Some(changed)) => *member = changed.into(),
                    _ => rewrite(member, change),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(item, change)),
        _ => {}
    }
}
