//! The tables of `schema/` and the schemas themselves: compared with the library's constants, with
//! the statements it sends, with a real index and with the archives that the tools write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use afterthought::index::{FORMAT, NO_TIME, flag};
use afterthought::limits::{
    AUDIT_IDS_MAX, AUDIT_WORDS_MAX, CONTEXT_HITS_MAX, FACET_VALUES_MAX, NEAREST_SHOWN_MAX, PAGE_HITS_MAX,
    QUERY_TERMS_MAX, SNIPPET_MARKS_MAX, VERIFY_LISTED_MAX,
};
use afterthought::search::FILTER_NAMES;
use afterthought::text::FINGERPRINT;
use afterthought::{Depth, Engine, ErrorKind, Facet, Field, Options, Origin, Reindex, SearchRequest, Tier};
use afterthought_server::status_of;
use afterthought_tests::{Fixture, aft, ids, root, run, search, sync};
use afterthought_tools::archive::Shape;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::fixtures::{checkpoint, folder, generation, harbor, meta};
use crate::{Change, SCHEMAS, assert_none, breaches, contract, schema};

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn names<'a>(value: &'a Value, member: &str) -> Vec<&'a str> {
    list(value).map(|row| row[member].as_str().expect("a name")).collect()
}

// --- errors.json

#[test]
fn errors_json_is_the_kinds_of_errors() {
    let table = contract("errors.json");
    assert_eq!(names(&table["errors"], "kind"), ErrorKind::ALL.map(ErrorKind::name));
    for (row, kind) in list(&table["errors"]).zip(ErrorKind::ALL) {
        assert_eq!(serde_json::to_value(kind).expect("JSON"), row["kind"]);
        assert_eq!(row["retryable"], kind.retryable(), "{kind:?}");
        assert_eq!(row["http"], status_of(kind), "{kind:?}");
        let keys: Vec<&String> = row.as_object().expect("a row").keys().collect();
        assert_eq!(keys, ["kind", "exit", "http", "retryable", "meaning", "next_step"]);
    }
    let schema = contract("error.schema.json");
    let kinds = &schema["properties"]["error"]["properties"]["kind"]["enum"];
    assert_eq!(*kinds, json!(ErrorKind::ALL.map(ErrorKind::name)));
}

#[test]
fn every_exit_code_means_something() {
    let table = contract("errors.json");
    let stated: Vec<u64> = list(&table["exit_codes"]).filter_map(|row| row["code"].as_u64()).collect();
    assert_eq!(stated, [0, 1, 2, 3, 4, 5, 6, 7, 8, 130]);
    let mut used: BTreeSet<u64> = list(&table["errors"]).filter_map(|row| row["exit"].as_u64()).collect();
    // Not errors: success, and a proof that index and archive differ.
    used.extend([0, 7]);
    assert!(used.iter().eq(&stated), "{used:?}");
}

#[test]
fn help_names_exit_codes_of_the_table() {
    let table = contract("errors.json");
    let stated: Vec<u64> = list(&table["exit_codes"]).filter_map(|row| row["code"].as_u64()).collect();
    for command in ["search", "index"] {
        let help = run(aft().args([command, "--help"])).stdout;
        let (_, codes) = help.split_once("Exit codes: ").expect("exit codes in the help");
        let numbers = codes.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
        let numbers: Vec<u64> = numbers.collect();
        assert!(numbers.len() > 6, "{command}: {codes}");
        assert!(numbers.iter().all(|code| stated.contains(code)), "{command}: {codes}");
    }
}

// --- index.json

#[test]
fn index_json_is_the_layout_of_a_real_index() {
    let fixture = harbor();
    sync(&fixture.engine());
    let (stated, real) = (contract("index.json"), meta(&fixture));
    let real: Vec<Value> = list(&real["schema"]).cloned().collect();
    assert_eq!(names(&stated["fields"], "name"), names(&Value::from(real.clone()), "name"));
    for (field, real) in list(&stated["fields"]).zip(&real) {
        assert_eq!(as_tantivy(field), *real);
    }
}

/// Writes a field as tantivy does.
fn as_tantivy(field: &Value) -> Value {
    let (indexed, fast) = (&field["indexed"], &field["fast"]);
    let mut options = json!({"stored": false, "fast": fast});
    if field["type"] != "text" {
        options["indexed"] = indexed.clone();
        options["fieldnorms"] = false.into();
    } else if *indexed == true {
        let record = if field["positions"] == true { "position" } else { "basic" };
        options["indexing"] =
            json!({"record": record, "fieldnorms": field["lengths"], "tokenizer": field["tokenizer"]});
    }
    json!({"name": field["name"], "type": field["type"], "options": options})
}

#[test]
fn index_json_is_the_constants_of_the_library() {
    let stated = contract("index.json");
    assert_eq!(stated["format"], FORMAT);
    assert_eq!(stated["analyzer"], FINGERPRINT);
    assert_eq!(stated["no_time"], NO_TIME);
    let flags = [
        ("active", flag::ACTIVE),
        ("compacted", flag::COMPACTED),
        ("hidden", flag::HIDDEN),
        ("copy", flag::COPY),
        ("damaged", flag::DAMAGED),
        ("session", flag::SESSION),
        ("orphan", flag::ORPHAN),
        ("archived", flag::ARCHIVED),
        ("summary", flag::SUMMARY),
    ];
    let bits: Vec<(&str, u64)> = list(&stated["flags"])
        .map(|flag| (flag["name"].as_str().expect("a name"), 1 << flag["bit"].as_u64().expect("a bit")))
        .collect();
    assert_eq!(bits, flags);
    for (searched, field) in list(&stated["searched_fields"]).zip(Field::ALL) {
        assert_eq!(searched["name"], field.name());
        assert_eq!(searched["number"], field as u64);
        assert_eq!(searched["origin"], field.origin().name());
    }
    let positional = list(&stated["fields"]).filter(|field| field["positions"] == true);
    let positional: Vec<&str> = positional.filter_map(|field| field["name"].as_str()).collect();
    assert_eq!(positional, Field::ALL.map(Field::name));
}

#[test]
fn index_json_is_the_checkpoint_of_a_real_commit() {
    let fixture = harbor();
    sync(&fixture.engine());
    let (stated, real) = (contract("index.json"), checkpoint(&fixture));
    let kind = |value: &Value| match value {
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Number(_) => "integer",
        _ => "no kind of ours",
    };
    let real_fields: Vec<(&str, &str)> = real
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, value)| (name.as_str(), kind(value)))
        .collect();
    let stated_fields: Vec<(&str, &str)> =
        names(&stated["checkpoint"], "name").into_iter().zip(names(&stated["checkpoint"], "type")).collect();
    assert_eq!(real_fields, stated_fields);
    assert_eq!((&real["complete"], &real["id_max"]), (&json!(true), &json!(21)));
    assert_eq!(real["session_next"], 7);
    let bytes = meta(&fixture)["payload"].as_str().map_or(usize::MAX, str::len);
    assert!(bytes as u64 <= stated["checkpoint_bytes_max"].as_u64().expect("a number"), "{bytes}");
}

#[test]
fn index_json_is_the_folder_of_a_real_index() {
    let fixture = harbor();
    sync(&fixture.engine());
    assert_eq!(fixture.aft(&["reindex"]).code, 0);
    // One that was left unfinished.
    drop(Reindex::start(&Options::new(fixture.archive(), fixture.index())).expect("a start"));
    let stated = contract("index.json");
    for entry in list(&stated["generation"]) {
        assert!(generation(&fixture).join(entry["name"].as_str().expect("a name")).exists(), "{entry}");
    }
    let stated: BTreeSet<(String, bool)> = list(&stated["folder"])
        .map(|entry| (entry["name"].as_str().expect("a name").to_owned(), entry["kind"] == "folder"))
        .collect();
    let real = fs::read_dir(folder(&fixture).path()).expect("a folder");
    let real: BTreeSet<(String, bool)> = real
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), path.is_dir()))
        // One generation stands for all of them.
        .map(|(name, is_folder)| (if is_folder { "g1".to_owned() } else { name }, is_folder))
        .collect();
    assert_eq!(real, stated);
    assert!(generation(&fixture).join(".tantivy-writer.lock").exists());
}

// --- archive.json

/// Returns the columns of a table, each with the version that brought it.
fn columns(table: &str, needs: &[&str]) -> Vec<(String, i64)> {
    let stated = contract("archive.json");
    let table = &stated["tables"][table];
    let rows = needs.iter().flat_map(|need| list(&table[need]));
    rows.map(|row| {
        (row["name"].as_str().expect("a name").to_owned(), row["since"].as_i64().expect("a version"))
    })
    .collect()
}

const NEEDS: [&str; 2] = ["required", "optional"];

#[test]
fn archive_json_lists_the_columns_that_are_read() {
    let source = root().join("crates/afterthought/src/archive/columns.rs");
    let source = fs::read_to_string(source).expect("the source of the statements");
    let constant = |name: &str| -> BTreeSet<String> {
        let (_, after) = source.split_once(&format!("const {name}: ")).expect("the constant");
        let (_, after) = after.split_once('=').expect("a value");
        let (body, _) = after.split_once("];").expect("the end of a list");
        body.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    for (table, need, names) in [
        ("messages", "required", &["MESSAGE_REQUIRED"][..]),
        ("messages", "optional", &["MESSAGE_OPTIONAL", "MESSAGE_STORED"]),
        ("sessions", "required", &["SESSION_REQUIRED"]),
        ("sessions", "optional", &["SESSION_LIGHT", "SESSION_STORED"]),
    ] {
        let stated: BTreeSet<String> = columns(table, &[need]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(stated, names.iter().flat_map(|name| constant(name)).collect(), "{names:?}");
    }
}

#[test]
fn archive_json_dates_the_columns_as_the_archives_have_them() {
    for shape in Shape::ALL {
        for (table, has) in [("messages", shape.message_columns()), ("sessions", shape.session_columns())] {
            for (column, since) in columns(table, &NEEDS) {
                let is_there = has.contains(&column.as_str());
                assert_eq!(is_there, since <= shape.version(), "{table}.{column} in {shape:?}");
            }
        }
    }
    let stated = contract("archive.json");
    let versions: Vec<i64> = list(&stated["versions"]).filter_map(|row| row["version"].as_i64()).collect();
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    assert!(Shape::ALL.iter().all(|shape| versions.contains(&shape.version())), "{versions:?}");
    for table in ["messages", "sessions"] {
        for (column, since) in columns(table, &NEEDS) {
            assert!(versions.contains(&since), "{table}.{column}");
            let brings = list(&stated["versions"]).find(|row| row["version"] == since).expect("a version");
            let named = brings["brings"].as_str().expect("a sentence").contains(&column);
            assert!(named || since == 6, "version {since} brings {column}");
        }
    }
}

/// Writes an archive of the columns that are read, but one.
fn archive_without(table: &str, column: &str) -> Fixture {
    let fixture = Fixture::new();
    let connection = Connection::open(fixture.archive()).expect("a new database");
    for (name, row) in [
        (
            "messages",
            json!({"id": 1, "session_id": "s", "role": "user", "content": "lock", "timestamp": 1.8e9}),
        ),
        ("sessions", json!({"id": "s", "source": "cli", "started_at": 1.8e9})),
    ] {
        let columns = columns(name, &NEEDS).into_iter().map(|(name, _)| name);
        let columns: Vec<String> =
            columns.filter(|other| (name, other.as_str()) != (table, column)).collect();
        let value = |column: &String| match &row[column] {
            Value::Null => "NULL".to_owned(),
            Value::String(text) => format!("'{text}'"),
            other => other.to_string(),
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        let (columns, values) = (columns.join(", "), values.join(", "));
        let statements = format!("CREATE TABLE {name} ({columns}); INSERT INTO {name} VALUES ({values})");
        connection.execute_batch(&statements).expect("statements that run");
    }
    connection.close().expect("a clean close");
    fixture
}

#[test]
fn an_archive_without_a_required_column_is_refused_by_its_name() {
    for table in ["messages", "sessions"] {
        for (column, _) in columns(table, &["required"]) {
            let fixture = archive_without(table, &column);
            let Err(error) = Engine::open(&Options::new(fixture.archive(), fixture.index())) else {
                panic!("{table}.{column} is required");
            };
            assert_eq!(error.kind(), ErrorKind::ArchiveUnrecognized, "{table}.{column}: {error}");
            let name = format!("table \"{table}\" has no column \"{column}\"");
            assert!(error.to_string().contains(&name), "{error}");
        }
    }
}

#[test]
fn an_archive_without_an_optional_column_is_read() {
    for table in ["messages", "sessions"] {
        for (column, _) in columns(table, &["optional"]) {
            let fixture = archive_without(table, &column);
            let engine = fixture.engine();
            sync(&engine);
            assert_eq!(ids(&search(&engine, "lock")), [1], "{table}.{column}");
            assert!(engine.verify(Depth::Text).expect("a proof").equal, "{table}.{column}");
        }
    }
}

#[test]
fn archive_json_tells_what_is_assumed_of_every_optional_column() {
    let stated = contract("archive.json");
    for table in ["messages", "sessions"] {
        for (need, row) in NEEDS.into_iter().flat_map(|need| {
            list(&stated["tables"][table][need]).map(move |row| (need, row)).collect::<Vec<_>>()
        }) {
            assert_eq!(row.get("absent").is_some(), need == "optional", "{row}");
            assert!(row["meaning"].as_str().is_some_and(|meaning| meaning.ends_with('.')), "{row}");
        }
    }
}

// --- the schemas

#[test]
fn every_schema_is_one() {
    for name in SCHEMAS {
        let schema = contract(&format!("{name}.schema.json"));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn every_file_of_the_folder_is_compared() {
    let files = fs::read_dir(root().join("schema")).expect("schema/");
    let files: BTreeSet<String> =
        files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    let mut compared: BTreeSet<String> = SCHEMAS.iter().map(|name| format!("{name}.schema.json")).collect();
    compared.extend(
        [
            "archive.json",
            "audit.sql",
            "errors.json",
            "facets.schema.json",
            "index.json",
            "layouts",
            "mcp.json",
            "openapi.json",
            "session_search.json",
            "status-all.schema.json",
            "syncs.schema.json",
        ]
        .map(str::to_owned),
    );
    assert_eq!(files, compared);
}

/// Members that an answer may leave out; of all others, null says that there is nothing.
const LEFT_OUT: [&str; 10] =
    ["archives", "work", "explain", "part", "of", "missing", "surplus", "state", "text", "session"];

#[test]
fn every_object_is_closed_and_every_member_described() {
    let mut problems = Vec::new();
    for name in SCHEMAS {
        walk(name, &contract(&format!("{name}.schema.json")), &mut problems);
    }
    assert_none(&problems);
}

fn walk(path: &str, schema: &Value, problems: &mut Vec<String>) {
    let mut must = |holds: bool, what: &str| {
        if !holds {
            problems.push(format!("{path}: {what}"));
        }
    };
    if let Some(properties) = schema["properties"].as_object() {
        let is_object = schema["type"] == "object" || schema["type"] == json!(["object", "null"]);
        must(is_object, "an object says that it is one");
        must(schema["additionalProperties"] == false, "it is closed");
        let required: BTreeSet<&str> = list(&schema["required"]).filter_map(Value::as_str).collect();
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            must(false, &format!("{name} is required and not there"));
        }
        for (name, member) in properties {
            must(member["description"].is_string(), &format!("{name} is described"));
            let may_lack = LEFT_OUT.contains(&name.as_str());
            must(required.contains(name.as_str()) || may_lack, &format!("{name} is required"));
            let is_nullable = member["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
            let says = member["description"].as_str().is_some_and(|text| text.contains("null"));
            must(!is_nullable || says, &format!("{name} says what null means"));
        }
    }
    for key in ["properties", "$defs"] {
        for (name, part) in schema[key].as_object().into_iter().flatten() {
            walk(&format!("{path}/{name}"), part, problems);
        }
    }
    if schema["items"].is_object() {
        walk(&format!("{path}/items"), &schema["items"], problems);
    }
}

#[test]
fn parts_that_several_schemas_share_are_the_same() {
    let search = contract("search.schema.json");
    let mut page = search.clone();
    for own in ["$schema", "title", "$defs"] {
        page.as_object_mut().expect("an object").remove(own);
    }
    assert_eq!(contract("demo.schema.json")["$defs"]["page"], page);
    let mut shared = BTreeMap::new();
    for name in SCHEMAS {
        let schema = contract(&format!("{name}.schema.json"));
        for (part, body) in schema["$defs"].as_object().into_iter().flatten() {
            let first = shared.entry(part.clone()).or_insert_with(|| body.clone());
            assert_eq!(body, first, "{name}: {part}");
        }
    }
    let inside = &contract("session-search.schema.json")["properties"]["results"]["items"]["properties"];
    for member in ["matched_fields", "matched_terms", "terms_total", "snippet", "highlights"] {
        assert_eq!(inside[member], search["$defs"]["hit"]["properties"][member], "{member}");
    }
}

#[test]
fn bounds_of_the_schemas_are_the_bounds_of_the_library() {
    let search = contract("search.schema.json");
    let (page, hit) = (&search["properties"], &search["$defs"]["hit"]["properties"]);
    assert_eq!(page["limit"]["maximum"], PAGE_HITS_MAX);
    assert_eq!(page["results"]["maxItems"], PAGE_HITS_MAX);
    assert_eq!(hit["terms_total"]["maximum"], QUERY_TERMS_MAX);
    assert_eq!(hit["highlights"]["maxItems"], SNIPPET_MARKS_MAX);
    let listed = |name: &str, member: &str| {
        contract(&format!("{name}.schema.json"))["properties"][member]["maxItems"].clone()
    };
    assert_eq!(search["$defs"]["facet"]["maxItems"], FACET_VALUES_MAX);
    let nearest =
        &search["$defs"]["diagnosis"]["properties"]["unknown_terms"]["items"]["properties"]["nearest"];
    assert_eq!(nearest["maxItems"], NEAREST_SHOWN_MAX);
    assert_eq!(listed("status", "damaged_ids"), VERIFY_LISTED_MAX);
    assert_eq!(listed("sessions", "sessions"), PAGE_HITS_MAX);
    assert_eq!(listed("session-search", "results"), CONTEXT_HITS_MAX);
    assert_eq!(listed("audit", "only_in_reasoning"), AUDIT_WORDS_MAX);
    let words = &contract("audit.schema.json")["properties"]["only_in_reasoning"]["items"]["properties"];
    assert_eq!(words["message_ids"]["maxItems"], AUDIT_IDS_MAX);
    assert_eq!(listed("verify", "drift"), VERIFY_LISTED_MAX);
}

#[test]
fn names_of_the_schemas_are_the_names_of_the_library() {
    let search = contract("search.schema.json");
    let stated = |part: &str| -> Vec<Value> {
        list(&search["$defs"][part]["oneOf"]).map(|name| name["const"].clone()).collect()
    };
    assert_eq!(stated("field"), Field::ALL.map(|field| json!(field)));
    assert_eq!(stated("origin"), Origin::ALL.map(|origin| json!(origin)));
    let tiers = &search["$defs"]["hit"]["properties"]["tier"]["enum"];
    assert_eq!(*tiers, json!(Tier::ALL.map(Some).into_iter().chain([None]).collect::<Vec<_>>()));
    assert_eq!(stated("facet_name"), Facet::ALL.map(|facet| json!(facet)));
    let filters = &search["$defs"]["diagnosis"]["properties"]["left_out"]["items"]["properties"]["filter"];
    assert_eq!(filters["enum"], json!(FILTER_NAMES));
}

/// Makes a node of an explanation.
fn node(how: &str, more: &Value) -> Value {
    let mut node = json!({"what": "score", "how": how, "score": 1.0});
    node.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    node
}

#[test]
fn a_schema_refuses_what_it_should() {
    let fixture = harbor();
    let engine = fixture.engine();
    sync(&engine);
    let page = engine.search(SearchRequest::new("scheduler")).expect("a page");
    let page = serde_json::to_value(&page).expect("JSON");
    let schema = schema("search");
    assert_eq!(breaches(&schema, &page), Vec::<String>::new());
    let breaks: [(&str, Change); 12] = [
        ("a new member", |page| page["more"] = json!(1)),
        ("a new member of a hit", |page| page["results"][0]["more"] = json!(1)),
        ("a member that is gone", |page| drop(page.as_object_mut().expect("an object").remove("facets"))),
        ("a score that is not finite", |page| page["results"][0]["score"] = Value::Null),
        ("a warning of no kind", |page| page["warnings"] = json!([{"kind": "odd", "message": "odd"}])),
        ("a time with a zone", |page| page["index"]["last_sync"] = json!("2026-03-01T10:00:00+01:00")),
        ("a state of no kind", |page| page["index"]["state"] = json!("partial")),
        ("a confidence of no kind", |page| page["confidence"] = json!("high")),
        ("more than all of the query", |page| page["results"][0]["coverage"] = json!(1.1)),
        ("a best of nothing", |page| page["results"][0]["explain"] = node("best", &json!({}))),
        ("a value of something", |page| {
            page["results"][0]["explain"] = node("value", &json!({"of": [node("value", &json!({}))]}));
        }),
        ("a title with a message", |page| {
            let titled = list(&page["results"]).position(|hit| hit["message_id"].is_null()).expect("a title");
            page["results"][titled]["message_id"] = json!(1);
        }),
    ];
    for (what, break_it) in breaks {
        let mut broken = page.clone();
        break_it(&mut broken);
        assert_ne!(breaches(&schema, &broken), Vec::<String>::new(), "{what}");
    }
}
