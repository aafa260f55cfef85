//! What the figures were measured on: the machine, as far as it tells, and the space on its disk.

use std::fs;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::path::Path;
use std::process::Child;

use afterthought::{Error, ErrorKind, Result};

#[cfg(target_os = "linux")]
use crate::failed;
use crate::report::{Machine, Versions};

/// Asks the system about itself.
pub(crate) fn machine() -> Machine {
    let field = |path: &str, name: &str, separator: char| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start().strip_prefix(separator)?.trim().trim_matches('"').to_owned())
    };
    let kb = field("/proc/meminfo", "MemTotal", ':');
    let memory = kb.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    let system = field("/etc/os-release", "PRETTY_NAME", '=').unwrap_or(std::env::consts::OS.to_owned());
    Machine {
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        cpu: field("/proc/cpuinfo", "model name", ':'),
        memory_bytes: memory.map(|kb| kb * 1_024),
        system: kernel.map_or(system.clone(), |kernel| format!("{system}, kernel {}", kernel.trim())),
    }
}

/// Returns the versions of what is compared.
pub(crate) fn versions() -> Versions {
    Versions {
        aft: env!("CARGO_PKG_VERSION").to_owned(),
        tantivy: locked("tantivy").to_owned(),
        sqlite: rusqlite::version().to_owned(),
        optimised: !cfg!(debug_assertions),
    }
}

/// Returns the version of a dependency that this program was built with.
fn locked(name: &str) -> &'static str {
    let entry = format!("name = \"{name}\"\nversion = \"");
    let after = include_str!("../../../Cargo.lock").split_once(&entry).map_or("", |(_, after)| after);
    after.split('"').next().unwrap_or_default()
}

/// Refuses a folder whose disk surely does not hold `bytes` more.
pub(crate) fn check_space(folder: &Path, bytes: u64) -> Result<()> {
    let refused = || Error::new(ErrorKind::IndexUnavailable, "measure in", folder.display());
    let disk = rustix::fs::statvfs(folder)
        .map_err(|error| refused().because(error).hint("name a folder that is there with --dir"))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= bytes {
        return Ok(());
    }
    let (needed, free) = (bytes.div_ceil(1_000_000), free / 1_000_000);
    Err(refused()
        .because(format!("{needed} MB are needed for a copy and the indexes, and {free} MB are free"))
        .hint("name a folder on a larger disk with --dir"))
}

/// Takes every file of a folder out of the page cache, so that the next reader waits for the disk.
/// Files that a process has mapped stay. Returns `false` where the system cannot do that.
#[cfg(target_os = "linux")]
pub(crate) fn evict(folder: &Path) -> Result<bool> {
    use rustix::fs::{Advice, fadvise, fdatasync, fstatfs};
    /// What keeps its files in memory has no disk to read them from again.
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    let act = "take from the page cache";
    for entry in fs::read_dir(folder).map_err(failed(act, folder.display()))? {
        let path = entry.map_err(failed(act, folder.display()))?.path();
        if path.is_dir() {
            evict(&path)?;
            continue;
        }
        let evict = || -> std::io::Result<bool> {
            let file = File::open(&path)?;
            if u64::try_from(fstatfs(&file)?.f_type).is_ok_and(|kind| kind == TMPFS_MAGIC) {
                return Ok(false);
            }
            // Only what is on disk can be dropped.
            fdatasync(&file)?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
            Ok(true)
        };
        if !evict().map_err(failed(act, path.display()))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Says that this system has no such advice.
#[cfg(not(target_os = "linux"))]
pub(crate) fn evict(_: &Path) -> Result<bool> {
    Ok(false)
}

/// Returns the memory that belongs to a process alone, mapped files left out; `None` where the system
/// does not tell.
pub(crate) fn anonymous_bytes(child: &Child) -> Option<u64> {
    let path = Path::new("/proc").join(child.id().to_string()).join("status");
    let status = fs::read_to_string(path).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kb = line.and_then(|value| value.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kb.map(|kb| kb * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let versions = versions();
        assert!(versions.tantivy.starts_with("0."), "{versions:?}");
        assert!(versions.sqlite.starts_with("3."), "{versions:?}");
    }

    #[test]
    fn files_stay_what_they_are_when_they_leave_the_cache() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let inside = folder.path().join("index");
        fs::create_dir(&inside).expect("a folder");
        fs::write(inside.join("file"), "heron").expect("a file");
        evict(folder.path()).expect("advice that is taken or not");
        assert_eq!(fs::read_to_string(inside.join("file")).expect("a file"), "heron");
        assert!(evict(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn a_disk_that_is_too_small_is_refused_with_the_next_step() {
        assert!(check_space(Path::new("/"), 0).is_ok());
        let error = check_space(Path::new("/"), u64::MAX).expect_err("no disk is that large");
        assert_eq!(error.kind(), ErrorKind::IndexUnavailable);
        assert!(error.next_step().is_some_and(|hint| hint.contains("--dir")));
    }
}
