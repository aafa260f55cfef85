//! Turns jieba's dictionary, as its crate ships it, into tables that are searched where they lie: a program that
//! meets Han need not read half a million words first. The format stands in `src/text/dictionary.rs`.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first characters that are looked up directly.
const ROOTS: Range<u32> = 0x4E00..0xA000;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let path = dictionary();
    println!("cargo:rerun-if-changed={}", path.display());
    let text = std::fs::read_to_string(&path).expect("jieba's dictionary can be read");
    let into = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names a folder")).join("han.bin");
    std::fs::write(into, tables(&text)).expect("the tables can be written");
}

/// Asks cargo where the crate lies that ships the dictionary.
fn dictionary() -> PathBuf {
    // Most times all that cargo needs to answer is there already.
    let manifest = manifest(true).or_else(|| manifest(false)).expect("cargo says where jieba-rs lies");
    Path::new(&manifest).with_file_name("src").join("data").join("dict.txt")
}

fn manifest(offline: bool) -> Option<String> {
    let variable = |name: &str| std::env::var(name).expect("cargo sets it for a build script");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--filter-platform", &variable("TARGET")]);
    cargo.arg("--manifest-path").arg(Path::new(&variable("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let output = cargo.args(offline.then_some("--offline")).output().ok()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let packages = metadata["packages"].as_array()?;
    let jieba = packages.iter().find(|package| package["name"] == "jieba-rs")?;
    Some(jieba["manifest_path"].as_str()?.to_owned())
}

/// Builds a trie, breadth first, so that the children of a node stand side by side.
fn tables(text: &str) -> Vec<u8> {
    let lines = text.lines().filter_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        Some((columns.next()?, columns.next()?.parse::<u32>().ok()?))
    });
    let total: u64 = lines.clone().map(|(_, count)| u64::from(count)).sum();
    let is_han = |word: &str| word.chars().all(|c| u32::from(c) >= 0x2E80);
    let mut words: Vec<(Vec<char>, u32)> =
        lines.filter(|(word, _)| is_han(word)).map(|(word, count)| (word.chars().collect(), count)).collect();
    words.sort_unstable();
    words.dedup_by(|later, earlier| later.0 == earlier.0);
    let counts: BTreeSet<u32> = words.iter().map(|(_, count)| *count).collect();
    let counts: Vec<u32> = counts.into_iter().collect();

    let mut labels = vec![0];
    let mut firsts = Vec::new();
    let mut ends = Vec::new();
    let mut open = VecDeque::from([(0..words.len(), 0)]);
    while let Some((mut range, depth)) = open.pop_front() {
        let ends_here = range.start < range.end && words[range.start].0.len() == depth;
        let count =
            ends_here.then(|| counts.binary_search(&words[range.start].1).expect("all are there") + 1);
        ends.push(u16::try_from(count.unwrap_or(0)).expect("there are few different counts"));
        range.start += usize::from(ends_here);
        firsts.push(u32::try_from(labels.len()).expect("nodes are counted in 32 bits"));
        for child in words[range.clone()].chunk_by(|a, b| a.0[depth] == b.0[depth]) {
            labels.push(u32::from(child[0].0[depth]));
            open.push_back((range.start..range.start + child.len(), depth + 1));
            range.start += child.len();
        }
    }
    let nodes = u32::try_from(labels.len()).expect("nodes are counted in 32 bits");
    firsts.push(nodes);
    let root = &labels[1..firsts[1] as usize];
    let roots =
        ROOTS.map(|label| root.binary_search(&label).map_or(0, |at| u32::try_from(at).expect("few") + 1));

    let mut tables = total.to_le_bytes().to_vec();
    let numbers = [u32::try_from(counts.len()).expect("few"), nodes].into_iter().chain(counts);
    let numbers = numbers.chain(roots).chain(labels.iter().copied()).chain(firsts);
    tables.extend(numbers.flat_map(u32::to_le_bytes));
    tables.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
    tables
}
