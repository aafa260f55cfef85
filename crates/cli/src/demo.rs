//! `aft demo`: generates an archive, mirrors it, and asks it what the agent's own search cannot
//! answer. Needs nothing and leaves the next command to type.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use afterthought::{Engine, Level, Options, SearchRequest};
use afterthought_tools::archive::{Shape, Writer, hermes_search};
use afterthought_tools::demo::{QUESTIONS, write};
use anstyle::Style;
use serde_json::json;

use crate::args::{Demo, Global, GroupArg};
use crate::fail::{Failure, quoted};
use crate::search;
use crate::stdout::{grouped, print_json, print_text, size};

/// Hits shown of each search.
const HITS: usize = 2;

pub(crate) fn run(global: &Global, args: &Demo) -> Result<u8, Failure> {
    let folder = place(args)?;
    let (archive, index) = (folder.join("state.db"), folder.join("index"));
    let began = Instant::now();
    let summary = write(&archive, Shape::V22).map_err(refused)?;
    say(
        global,
        &format!(
            "Wrote an agent's half year to {}: {} messages in {} sessions.\n{} of them were only thought: no word was said, no tool was called.\n",
            archive.display(),
            grouped(summary.messages),
            grouped(summary.sessions),
            grouped(summary.reasoning_only)
        ),
    )?;
    let engine = Engine::open(&Options::new(&archive, &index))?;
    let report = engine.freshen(Level::Full, Duration::MAX, |_| {})?.ended()?;
    let status = engine.status()?;
    say(
        global,
        &format!(
            "Mirrored {} of text into an index of {} in {:.1} s.\n\n",
            size(report.stats.text_bytes),
            size(status.index_bytes),
            began.elapsed().as_secs_f64()
        ),
    )?;
    let mut answers = Vec::new();
    for question in QUESTIONS {
        let theirs = fts_hits(&archive, question.query)?;
        let mut request = SearchRequest::new(question.query);
        request.limit = HITS;
        let page = engine.search(request)?;
        say(global, &heading(question.query, question.about, theirs, page.total.value))?;
        say(global, &search::as_text(global, &page, GroupArg::None))?;
        answers.push(json!({"about": question.about, "fts5_hits": theirs, "page": page}));
    }
    if global.json {
        print_json(&json!({
            "schema_version": 1,
            "archive": archive.display().to_string(),
            "index_root": index.display().to_string(),
            "messages": summary.messages,
            "sessions": summary.sessions,
            "answers": answers,
        }))?;
        return Ok(0);
    }
    print_text(&next_steps(&archive, &index))?;
    Ok(0)
}

/// Returns a folder to write to: the one named, else that of the last demo, else a new one.
fn place(args: &Demo) -> Result<PathBuf, Failure> {
    if let Some(folder) = &args.dir {
        make_room(folder)?;
        return Ok(folder.clone());
    }
    let usual = std::env::temp_dir().join("afterthought-demo");
    if make_room(&usual).is_ok() {
        return Ok(usual);
    }
    // Another user's, or something else of that name.
    let folder = tempfile::Builder::new().prefix("afterthought-demo-").tempdir()?.keep();
    make_room(&folder)?;
    Ok(folder)
}

/// The file that says that a folder was made here and may be written again.
const MARKER: &str = "made-by-aft-demo";

/// Makes the folder, or empties one of an earlier demo. Any other folder with something in it is
/// refused: there may be somebody's archive in it.
fn make_room(folder: &Path) -> Result<(), Failure> {
    let refused = |why: String| Failure::Usage(format!("use folder {}: {why}", folder.display()));
    let act = || -> std::io::Result<bool> {
        std::fs::create_dir_all(folder)?;
        if folder.join(MARKER).exists() {
            for name in ["state.db", "state.db-wal", "state.db-shm"] {
                let _absent = std::fs::remove_file(folder.join(name));
            }
            let _absent = std::fs::remove_dir_all(folder.join("index"));
        } else if std::fs::read_dir(folder)?.next().is_some() {
            return Ok(false);
        }
        std::fs::write(folder.join(MARKER), "A demo of aft. This folder may be deleted.\n")?;
        Ok(true)
    };
    match act() {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused("there is something in it; name another with --dir".to_owned())),
        Err(error) => Err(refused(error.to_string())),
    }
}

fn say(global: &Global, text: &str) -> Result<(), Failure> {
    if global.json { Ok(()) } else { print_text(text) }
}

fn heading(query: &str, about: &str, theirs: usize, ours: u64) -> String {
    let bold = Style::new().bold();
    let hits = |count: u64| match count {
        0 => "nothing".to_owned(),
        1 => "1 hit".to_owned(),
        count => format!("{} hits", grouped(count)),
    };
    let (theirs, ours) = (hits(theirs as u64), hits(ours));
    format!("{bold}{query}{bold:#}\n  {about}\n  the agent's own FTS5 search: {theirs}; here: {ours}\n\n")
}

/// Counts what the agent's own search returns.
fn fts_hits(archive: &Path, query: &str) -> Result<usize, Failure> {
    let writer = Writer::open(archive).map_err(refused)?;
    let hits = hermes_search(writer.connection(), query, 300).map_err(refused)?;
    writer.close().map_err(refused)?;
    Ok(hits.len())
}

fn next_steps(archive: &Path, index: &Path) -> String {
    let aft = invocation();
    let place = format!("--archive {} --index {}", shell(archive), shell(index));
    format!(
        "Next, on this archive:\n  {aft} {place} search --in thought '\"lock file\"'\non your own (a Hermes state.db is found by itself):\n  {aft} search WHAT YOU REMEMBER\n  {aft} --archive PATH search WHAT YOU REMEMBER\n"
    )
}

/// Returns what to type to run this very program again.
fn invocation() -> String {
    let ran_by_cargo =
        std::env::var_os("CARGO").is_some() && std::env::var_os("CARGO_MANIFEST_DIR").is_some();
    if ran_by_cargo {
        return "cargo run -q --".to_owned();
    }
    std::env::args_os().next().map_or_else(|| "aft".to_owned(), |program| shell(&PathBuf::from(program)))
}

fn shell(path: &Path) -> String {
    quoted(&path.display().to_string())
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::Io(std::io::Error::other(error))
}
