//! Where a path lies: what kind of file system, whether it may be written, and how much is free.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use super::Check;

/// The file system of a path.
pub(super) struct Place {
    /// It was mounted to be read only.
    pub(super) read_only: bool,
    /// What kind of network it comes over; `None` for this machine's own, and where nothing tells.
    pub(super) network: Option<&'static str>,
    /// How much of it anybody may still use, in bytes.
    pub(super) free_bytes: u64,
}

impl Place {
    /// Looks at the file system of a path that is there. Fails if the system does not tell.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let disk = statvfs(path)?;
        Ok(Self {
            read_only: disk.f_flag.contains(StatVfsMountFlags::RDONLY),
            network: network(path)?,
            free_bytes: disk.f_bavail.saturating_mul(disk.f_frsize),
        })
    }
}

/// Says that the system does not tell.
pub(super) fn untold(name: &'static str, error: &dyn std::error::Error) -> Check {
    Check::warning(name, format!("cannot be told: {error}"), "see what df says of it")
}

/// Tells whether we may create files in a folder.
pub(super) fn is_writable(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Returns the path itself, or the nearest folder above it that is there.
pub(super) fn nearest(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/")).to_owned()
}

/// File systems that come over a network, by the number that Linux gives them (statfs(2)).
#[cfg(target_os = "linux")]
const NETWORKS: [(u32, &str); 8] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0x0102_1997, "9P"),
    (0x5346_414F, "AFS"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
];

#[cfg(target_os = "linux")]
fn network(path: &Path) -> io::Result<Option<&'static str>> {
    let kind = u32::try_from(rustix::fs::statfs(path)?.f_type).ok();
    Ok(NETWORKS.iter().find(|(number, _)| Some(*number) == kind).map(|(_, name)| *name))
}

#[cfg(not(target_os = "linux"))]
fn network(_path: &Path) -> io::Result<Option<&'static str>> {
    Ok(None)
}
