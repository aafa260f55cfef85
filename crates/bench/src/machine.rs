//! What the figures were measured on: the machine, as far as it tells, and the space on its disk.

use std::fs;
use std::path::Path;
use std::process::Child;

use afterthought::{Error, ErrorKind, Result};

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
        .because(format!("{needed} MB are needed for a copy and two indexes, and {free} MB are free"))
        .hint("name a folder on a larger disk with --dir"))
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
    fn a_disk_that_is_too_small_is_refused_with_the_next_step() {
        assert!(check_space(Path::new("/"), 0).is_ok());
        let error = check_space(Path::new("/"), u64::MAX).expect_err("no disk is that large");
        assert_eq!(error.kind(), ErrorKind::IndexUnavailable);
        assert!(error.next_step().is_some_and(|hint| hint.contains("--dir")));
    }
}
