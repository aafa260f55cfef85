//! Keeps the map in ARCHITECTURE.md, the order of the rooms and the fences around dependencies true.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use afterthought_tests::root;

/// The rooms of the library, each with its floor: a room names only rooms of lower floors.
const FLOORS: [(&str, u8); 19] = [
    ("error", 0),
    ("limits", 0),
    ("model", 0),
    ("time", 0),
    ("archive", 1),
    ("query", 1),
    ("text", 1),
    ("index", 2),
    ("mirror", 3),
    ("search", 3),
    ("audit", 4),
    ("context", 4),
    ("export", 4),
    ("engine", 5),
    ("federation", 6),
    ("follow", 6),
    ("reindex", 6),
    ("jobs", 7),
    ("lib", 8),
];

/// Crates that only some rooms may know.
const FENCES: [(&str, &[&str]); 6] = [
    ("rusqlite", &["archive"]),
    ("tantivy", &["index", "search"]),
    ("jieba_rs", &["text"]),
    ("frostem", &["text"]),
    ("unicode_normalization", &["text"]),
    ("tempfile", &["archive", "index"]),
];

/// What the library must never do: these belong to doors.
const FORBIDDEN: [&str; 7] = ["println!", "eprintln!", "print!(", "dbg!", "env::var", "tokio", "clap"];

struct Source {
    room: String,
    path: PathBuf,
    code: String,
}

/// Reads the library's sources without their comments and tests.
fn sources() -> Vec<Source> {
    let library = root().join("crates/afterthought/src");
    let mut files = Vec::new();
    collect(&library, &mut files);
    files
        .into_iter()
        .map(|path| {
            let inside = path.strip_prefix(&library).expect("a file of the library");
            let first = inside.components().next().expect("a file has a name").as_os_str();
            let room = first.to_string_lossy().trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).expect("a source that can be read");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            Source { room, code: code.join("\n"), path }
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("a folder that can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn floor(room: &str) -> u8 {
    let found = FLOORS.iter().find(|(name, _)| *name == room);
    found.unwrap_or_else(|| panic!("the room \"{room}\" has no floor: add it here and to ARCHITECTURE.md")).1
}

/// Returns the rooms that a source names.
fn named(code: &str) -> BTreeSet<&'static str> {
    let rooms = FLOORS.iter().map(|(room, _)| *room);
    rooms.filter(|room| code.contains(&format!("crate::{room}"))).collect()
}

#[test]
fn a_room_names_only_lower_rooms() {
    for source in sources() {
        for other in named(&source.code) {
            let is_lower = floor(other) < floor(&source.room);
            assert!(is_lower || other == source.room, "{} names {other}", source.path.display());
        }
    }
}

#[test]
fn only_some_rooms_know_some_crates() {
    for source in sources() {
        for (dependency, rooms) in FENCES {
            let names = source.code.contains(&format!("{dependency}::"));
            assert!(
                !names || rooms.contains(&source.room.as_str()),
                "{} names {dependency}",
                source.path.display()
            );
        }
    }
}

#[test]
fn the_library_neither_prints_nor_reads_the_environment() {
    for source in sources() {
        for word in FORBIDDEN {
            assert!(!source.code.contains(word), "{} holds {word}", source.path.display());
        }
    }
}

#[test]
fn the_library_depends_on_no_door() {
    let manifest = fs::read_to_string(root().join("crates/afterthought/Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let dependencies = manifest["dependencies"].as_table().expect("a table");
    for door in ["tokio", "rmcp", "clap", "axum", "hyper", "indicatif", "anstream"] {
        assert!(!dependencies.contains_key(door), "{door}");
    }
}

/// Packages of the workspace that may know `SQLite`: those that read, write and measure archives.
const SQLITE: [&str; 6] = [
    "afterthought",
    "afterthought-bench",
    "afterthought-benches",
    "afterthought-eval",
    "afterthought-tests",
    "afterthought-tools",
];

/// Packages that may know tantivy: the library, the tests that put faults under it, and the benches
/// that measure our analysis beside its own.
const TANTIVY: [&str; 3] = ["afterthought", "afterthought-benches", "afterthought-tests"];

#[test]
fn doors_know_no_database() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let workspace: toml::Table = workspace.parse().expect("a manifest is TOML");
    let members = workspace["workspace"]["members"].as_array().expect("a list");
    for member in members.iter().filter_map(toml::Value::as_str) {
        let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
        let name = manifest["package"]["name"].as_str().expect("a name");
        let knows = |dependency| manifest["dependencies"].get(dependency).is_some();
        assert!(!knows("rusqlite") || SQLITE.contains(&name), "{name} depends on rusqlite");
        assert!(!knows("tantivy") || TANTIVY.contains(&name), "{name} depends on tantivy");
    }
}

#[test]
fn two_crates_have_an_async_runtime() {
    for package in [
        "crates/afterthought",
        "crates/bench",
        "crates/cli",
        "crates/eval",
        "crates/hermes",
        "tools",
        "tests",
        "benches",
    ] {
        let manifest = fs::read_to_string(root().join(package).join("Cargo.toml")).expect("a manifest");
        for door in ["tokio", "rmcp", "axum", "hyper"] {
            assert!(!manifest.contains(door), "{package} knows {door}");
        }
    }
}

#[test]
fn the_map_names_every_room_and_nothing_else() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a map");
    let map = map.split("\n## ").find(|part| part.starts_with("The map")).expect("a part named The map");
    // Its rows begin with the path of what they describe: | `crates/…` | … |
    let mapped: BTreeSet<PathBuf> = map
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(|path| root().join(path.trim_end_matches('/')))
        .collect();
    for path in &mapped {
        assert!(path.exists(), "ARCHITECTURE.md names {}, which is not there", path.display());
    }
    let mut there = BTreeMap::new();
    for source in sources() {
        let library = root().join("crates/afterthought/src");
        let (folder, file) = (library.join(&source.room), library.join(format!("{}.rs", source.room)));
        there.insert(source.room.clone(), if folder.is_dir() { folder } else { file });
    }
    for (room, path) in there {
        assert!(room == "lib" || mapped.contains(&path), "ARCHITECTURE.md does not name {}", path.display());
    }
    for package in [
        "crates/afterthought",
        "crates/bench",
        "crates/cli",
        "crates/eval",
        "crates/hermes",
        "crates/mcp",
        "crates/server",
        "schema",
        "tests",
        "benches",
        "tools",
    ] {
        assert!(mapped.contains(&root().join(package)), "ARCHITECTURE.md does not name {package}");
    }
}
