//! `aft reindex --dry-run`: what a job would cost, and whether the disk holds it. Writes nothing.

use std::path::Path;

use afterthought::jobs::{Forecast, Forecasts, Target};
use afterthought::{Error, ErrorKind};
use serde_json::json;

use crate::args::{Global, Reindex};
use crate::config::{layout, settings};
use crate::fail::{EXIT_DRIFT, Failure, exit_code};
use crate::jobs::{Bounds, table, targets};
use crate::stdout::{grouped, print_json, print_text, size};

pub(crate) fn run(global: &Global, args: &Reindex) -> Result<u8, Failure> {
    let [archive, index] = settings(global)?;
    let mut targets = targets(global, args)?;
    let mut bounds = Bounds::of_job(args);
    if targets.is_empty() {
        let layout = layout(global)?.map(|layout| layout.value);
        targets.push(Target::new(&archive.value, None)?.laid_out(layout.as_deref())?);
    }
    bounds.workers = bounds.workers.min(targets.len());
    let forecasts = Forecasts::of(&bounds.settings(&index.value, global.allow_copy), &targets)?;
    let free = free_bytes(&index.value)?;
    let fits = forecasts.disk_bytes <= free;
    if global.json {
        let mut value = serde_json::to_value(&forecasts).map_err(std::io::Error::from)?;
        value["schema_version"] = json!(1);
        value["disk_free_bytes"] = json!(free);
        value["fits"] = json!(fits);
        print_json(&value)?;
    } else {
        print_text(&as_text(&forecasts, free, fits))?;
    }
    let unreadable = forecasts.archives.iter().filter(|archive| archive.error.is_some()).count();
    Ok(match unreadable {
        0 if fits => 0,
        all if all == forecasts.archives.len() => exit_code(ErrorKind::ArchiveUnavailable),
        _ => EXIT_DRIFT,
    })
}

/// Returns how much is free where indexes are or would be.
fn free_bytes(index_root: &Path) -> Result<u64, Error> {
    let root = std::path::absolute(index_root).unwrap_or_else(|_| index_root.to_owned());
    let there = root.ancestors().find(|folder| folder.exists()).unwrap_or(&root);
    let disk = rustix::fs::statvfs(there).map_err(|error| {
        Error::new(ErrorKind::IndexUnavailable, "measure the disk of", there.display())
            .because(error)
            .hint("name another folder with --index")
    })?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn as_text(forecasts: &Forecasts, free: u64, fits: bool) -> String {
    let mut rows = vec![["archive", "time", "rows", "archive", "index", "needs"].map(str::to_owned)];
    rows.extend(forecasts.archives.iter().map(row));
    let mut text = table(&rows);
    for archive in &forecasts.archives {
        if let Some(error) = &archive.error {
            text += &format!("{}: {}\n", archive.name, error.message);
            text += &error.hint.as_ref().map_or_else(String::new, |hint| format!("  {hint}\n"));
        }
    }
    let how = if forecasts.archives.iter().any(|archive| archive.measured) {
        "by the rate of earlier jobs"
    } else {
        "by an assumed rate: no job has been measured yet"
    };
    text += &format!(
        "{} messages in about {}, {how}\ndisk: {} may be needed, {} are free{}\n",
        grouped(forecasts.rows),
        time(forecasts.seconds),
        size(forecasts.disk_bytes),
        size(free),
        if fits { "" } else { ": it does not fit; name a folder on a larger disk with --index" }
    );
    text
}

fn row(archive: &Forecast) -> [String; 6] {
    let text = |bytes: Option<u64>| bytes.map_or_else(String::new, size);
    [
        archive.name.clone(),
        archive.seconds.map_or_else(|| "unreadable".to_owned(), time),
        archive.rows.map_or_else(String::new, grouped),
        text(archive.archive_bytes),
        text(archive.index_bytes),
        text(archive.disk_bytes),
    ]
}

fn time(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}
