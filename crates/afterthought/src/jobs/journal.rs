//! The files of jobs, in the folder `jobs` of the index root: one for each set of archives, replaced in one
//! step, and a lock beside it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, ErrorKind, Result};
use crate::index::replace_file_durably;
use crate::limits::JOBS_KEPT_MAX;

use super::Target;
use super::report::{Report, SCHEMA_VERSION};

/// The folder inside the index root. No archive's folder has such a short name.
const FOLDER: &str = "jobs";

/// Names a job by its archives, in whatever order they were given.
pub(super) fn job_of(targets: &[Target]) -> String {
    let mut paths: Vec<&str> = targets.iter().map(|target| target.path.as_str()).collect();
    paths.sort_unstable();
    format!("{:016x}", xxh3_64(paths.join("\0").as_bytes()))
}

/// The journal of one job, which nobody else runs meanwhile.
pub(super) struct Journal {
    path: PathBuf,
    _lock: File,
}

impl Journal {
    /// Takes the right to run a job. Fails with `index-locked` if another process runs it.
    pub(super) fn take(index_root: &Path, job: &str) -> Result<Self> {
        let folder = index_root.join(FOLDER);
        let open = || -> io::Result<File> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            open_lock(&folder, job)
        };
        let lock = open().map_err(|error| unavailable(&folder, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: folder.join(format!("{job}.json")), _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(ErrorKind::IndexLocked, "reindex", "these archives")
                    .because("another process runs the same job")
                    .hint("wait for it to finish; searches work meanwhile"))
            }
            Err(TryLockError::Error(error)) => Err(unavailable(&folder, error)),
        }
    }

    pub(super) fn read(&self) -> Result<Option<Report>> {
        read(&self.path)
    }

    /// Writes how far the job is. After a power cut it is this or what was written before.
    pub(super) fn write(&self, report: &Report) -> Result<()> {
        let written = serde_json::to_vec_pretty(report)
            .map_err(io::Error::from)
            .and_then(|bytes| replace_file_durably(&self.path, &bytes));
        written.map_err(|error| unavailable(&self.path, error))
    }
}

/// Returns the report of the job that was last heard of; `None` if there was none.
pub fn last(index_root: &Path) -> Result<Option<Report>> {
    Ok(reports(index_root)?.into_iter().next())
}

/// Returns the reports of all jobs, the latest first.
pub(super) fn reports(index_root: &Path) -> Result<Vec<Report>> {
    let mut reports = Vec::new();
    for path in files(&index_root.join(FOLDER))? {
        reports.extend(read(&path)?);
    }
    reports.sort_by_key(|report| std::cmp::Reverse(report.touched_ms));
    Ok(reports)
}

/// Removes the reports of the oldest jobs, but those that run.
pub(super) fn prune(index_root: &Path) -> Result<()> {
    let folder = index_root.join(FOLDER);
    for report in reports(index_root)?.iter().skip(JOBS_KEPT_MAX) {
        let remove = || -> io::Result<()> {
            if open_lock(&folder, &report.job)?.try_lock().is_ok() {
                fs::remove_file(folder.join(format!("{}.json", report.job)))?;
                fs::remove_file(folder.join(format!("{}.lock", report.job)))?;
            }
            Ok(())
        };
        remove().map_err(|error| unavailable(&folder, error))?;
    }
    Ok(())
}

fn open_lock(folder: &Path, job: &str) -> io::Result<File> {
    fs::OpenOptions::new().create(true).append(true).mode(0o600).open(folder.join(format!("{job}.lock")))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| unavailable(folder, error))?,
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = paths.map_err(|error| unavailable(folder, error))?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    Ok(paths)
}

/// Reads a journal. One that cannot be understood is none: it costs rebuilding what it said was done.
fn read(path: &Path) -> Result<Option<Report>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|error| unavailable(path, error))?,
    };
    match serde_json::from_slice::<Report>(&bytes) {
        Ok(report) if report.schema_version == SCHEMA_VERSION => Ok(Some(report)),
        Ok(_) => Ok(None),
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "a job's journal cannot be read; the job begins anew");
            Ok(None)
        }
    }
}

fn unavailable(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::IndexUnavailable, "keep the journal of a job in", path.display())
        .because(error)
        .hint("check the folder's permissions and free space, or name another with --index")
}
