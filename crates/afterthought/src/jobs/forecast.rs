//! What a job would cost, from what archives and indexes are now. Writes nothing.

use std::path::PathBuf;

use serde::Serialize;

use crate::archive::View;
use crate::error::{ErrorView, Result};
use crate::index::generation_bytes;
use crate::limits::{REINDEX_INDEX_PERCENT_ASSUMED, REINDEX_ROOM, REINDEX_ROWS_PER_S_ASSUMED};

use super::journal::reports;
use super::report::{Entry, Report};
use super::{Settings, Target};

/// What one archive would cost.
#[derive(Clone, Debug, Serialize)]
pub struct Forecast {
    /// What the job calls it.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Its message rows.
    pub rows: Option<u64>,
    /// Size of the archive's files, in bytes.
    pub archive_bytes: Option<u64>,
    /// Size of the live index, in bytes; `None` where there is none.
    pub index_bytes: Option<u64>,
    /// Estimated time, in seconds.
    pub seconds: Option<f64>,
    /// The rate was measured by an earlier job.
    pub measured: bool,
    /// Disk space that its rebuild may need meanwhile, in bytes.
    pub disk_bytes: Option<u64>,
    /// Why it cannot be read.
    pub error: Option<ErrorView>,
    /// By how many bytes its indexes would grow for good.
    #[serde(skip)]
    growth_bytes: u64,
}

/// What a job would cost.
#[derive(Clone, Debug, Serialize)]
pub struct Forecasts {
    /// Its archives, in the order they were given.
    pub archives: Vec<Forecast>,
    /// Rows of all of them.
    pub rows: u64,
    /// Estimated time of the job, in seconds.
    pub seconds: f64,
    /// Disk space that it may need meanwhile, in bytes.
    pub disk_bytes: u64,
}

impl Forecasts {
    /// Looks at archives and indexes. Costs a count of every archive's rows. An archive that cannot be read
    /// is told with its error; fails only if the reports of earlier jobs cannot be read.
    pub fn of(settings: &Settings, targets: &[Target]) -> Result<Self> {
        settings.check()?;
        let reports = reports(&settings.index_root)?;
        let look = |target: &Target| {
            Forecast::of(settings, target, &reports)
                .unwrap_or_else(|error| Forecast::refused(target, ErrorView::from(&error)))
        };
        let archives: Vec<Forecast> = targets.iter().map(look).collect();
        let seconds = archives.iter().filter_map(|archive| archive.seconds);
        let longest = seconds.clone().fold(0.0, f64::max);
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let seconds = longest.max(seconds.sum::<f64>() / settings.workers as f64);
        let mut rooms: Vec<u64> = archives.iter().filter_map(|archive| archive.disk_bytes).collect();
        rooms.sort_unstable_by_key(|room| std::cmp::Reverse(*room));
        // The largest at a time, beside what the others have grown by.
        let disk_bytes = rooms.iter().take(settings.workers).sum::<u64>()
            + archives.iter().map(|archive| archive.growth_bytes).sum::<u64>();
        let rows = archives.iter().filter_map(|archive| archive.rows).sum();
        Ok(Self { archives, rows, seconds, disk_bytes })
    }
}

impl Forecast {
    #[expect(clippy::cast_precision_loss, reason = "estimates")]
    fn of(settings: &Settings, target: &Target, reports: &[Report]) -> Result<Self> {
        let options = settings.options(target.path(), target.layout.as_deref())?;
        let archive = options.archive()?;
        let count =
            |view: &View<'_>| Ok(view.signatures()?.iter().map(|signature| signature.rows).sum::<u64>());
        let rows = archive.read(count)?;
        let archive_bytes = archive.stamp()?.bytes();
        let folder = options.folder(&archive);
        // A pointer that names nothing is what a rebuild is for.
        let bytes_of = |generation: Option<PathBuf>| {
            generation.filter(|path| path.is_dir()).map(|path| generation_bytes(&path))
        };
        let index_bytes = bytes_of(folder.live().ok().flatten());
        let before_bytes = bytes_of(folder.previous().ok().flatten());
        let expected = index_bytes.unwrap_or(archive_bytes / 100 * REINDEX_INDEX_PERCENT_ASSUMED);
        let rate = rate_of(target, reports);
        Ok(Self {
            name: target.name.clone(),
            path: target.path.clone(),
            rows: Some(rows),
            archive_bytes: Some(archive_bytes),
            index_bytes,
            seconds: Some(rows as f64 / rate.unwrap_or(REINDEX_ROWS_PER_S_ASSUMED)),
            measured: rate.is_some(),
            disk_bytes: Some(expected.saturating_mul(REINDEX_ROOM)),
            error: None,
            growth_bytes: expected.saturating_sub(before_bytes.unwrap_or(0)),
        })
    }

    fn refused(target: &Target, error: ErrorView) -> Self {
        Self {
            name: target.name.clone(),
            path: target.path.clone(),
            rows: None,
            archive_bytes: None,
            index_bytes: None,
            seconds: None,
            measured: false,
            disk_bytes: None,
            error: Some(error),
            growth_bytes: 0,
        }
    }
}

/// Returns the rate of the archive's own last rebuild, else of the last job: rows a second.
fn rate_of(target: &Target, reports: &[Report]) -> Option<f64> {
    let mut own =
        reports.iter().flat_map(|report| &report.archives).filter(|entry| entry.path == target.path);
    own.find_map(measured).or_else(|| reports.iter().find_map(mean_rate))
}

fn measured(entry: &Entry) -> Option<f64> {
    entry.rows_per_s.filter(|rate| *rate > 0.0)
}

fn mean_rate(report: &Report) -> Option<f64> {
    let rates: Vec<f64> = report.archives.iter().filter_map(measured).collect();
    #[expect(clippy::cast_precision_loss, reason = "a mean of a few rates")]
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    (!rates.is_empty()).then_some(mean)
}
