//! `aft watch`: follows the archive until it is told to stop, and prints what it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use afterthought::time::{now_ms, rfc3339};
use afterthought::{Engine, ErrorView, Event, follow};
use serde_json::{Value, json};

use crate::args::Global;
use crate::fail::Failure;
use crate::index::work_done;
use crate::paint::local_time;
use crate::paths;
use crate::progress::line;
use crate::stdout::{grouped, print_json, print_text};

/// Long syncs say how far they are this often.
const PROGRESS: Duration = Duration::from_secs(1);

pub(crate) fn run(global: &Global) -> Result<u8, Failure> {
    let engine = Engine::open(&paths::options(global)?)?;
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    let set = ctrlc::set_handler(move || {
        // The first asks for good order, a second does not wait for it.
        if handler.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    if let Err(error) = set {
        tell!("aft: Ctrl-C will end the watch at once: {error}");
    }
    if !global.json {
        tell!("following {}; Ctrl-C ends it", engine.archive().display());
    }
    let mut said = Instant::now();
    let mut failure = None;
    follow(&engine, &stop, |event| {
        if matches!(event, Event::Current) {
            return;
        }
        if let Event::Progress(progress) = &event {
            if progress.since.elapsed() < PROGRESS || said.elapsed() < PROGRESS {
                return;
            }
            said = Instant::now();
            return if global.json {
                tell!("{}", line(*progress));
            } else {
                tell!("indexing: {} of {} rows", grouped(progress.rows_done), grouped(progress.rows_total));
            };
        }
        // Nobody listens any more: that ends the watch.
        if let Err(error) = say(global, &engine, &event) {
            failure.get_or_insert(error);
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    failure.map_or(Ok(0), Err)
}

fn say(global: &Global, engine: &Engine, event: &Event) -> Result<(), Failure> {
    let time = rfc3339(now_ms());
    if global.json {
        let mut value = as_json(engine, event)?;
        value["schema_version"] = json!(1);
        value["time"] = json!(time);
        print_json(&value)
    } else {
        print_text(&format!("{}  {}\n", local_time(time.as_deref()), as_text(event)))
    }
}

fn as_json(engine: &Engine, event: &Event) -> Result<Value, Failure> {
    let mut value = json!({"event": null, "work": null, "index": null, "elapsed_ms": null, "error": null});
    match event {
        Event::Synced { report, took } => {
            value["event"] = json!("synced");
            value["work"] = json!(report.stats);
            value["index"] = json!(engine.status()?.index);
            value["elapsed_ms"] = json!(took.as_secs_f64() * 1_000.0);
        }
        Event::Behind(error) => {
            value["event"] = json!("behind");
            value["error"] = json!(ErrorView::from(error));
        }
        Event::Recovered => value["event"] = json!("recovered"),
        Event::Progress(_) | Event::Current => unreachable!("nothing is printed of it"),
    }
    Ok(value)
}

fn as_text(event: &Event) -> String {
    match event {
        Event::Synced { report, took } => {
            format!("{} in {:.0} ms", work_done(report.stats), took.as_secs_f64() * 1_000.0)
        }
        Event::Behind(error) => {
            let hint = error.next_step().map_or_else(String::new, |hint| format!("; {hint}"));
            format!("behind: {error}{hint}")
        }
        Event::Recovered => "up to date again".to_owned(),
        Event::Progress(_) | Event::Current => unreachable!("nothing is printed of it"),
    }
}
