//! What is looked at of an archive: its file, where it lies, its log, its layout, its pages.

use afterthought::archive::{Archive, Condition, Reading};
use afterthought::time::now_ms;
use afterthought::{ErrorKind, Options};

use crate::fail::exit_code;
use crate::stdout::{grouped, size};

use super::Check;
use super::place::{Place, untold};

/// An agent checkpoints at 4 MB; a log so much larger is not checkpointed any more.
const LOG_BYTES_USUAL_MAX: u64 = 64 * 1_000_000;
/// The newest version of a Hermes archive that ours was tried on.
const HERMES_VERSION_KNOWN_MAX: i64 = 30;
/// Findings of `SQLite` that are shown.
const FINDINGS_MAX: usize = 3;
/// A write so long ago is under way still, for a person who asks.
const WRITING_MS_MAX: i64 = 10_000;

/// Looks at the archive. Without one that can be read, nothing else can be looked at.
pub(super) fn checks(options: &Options, flags: &str, deep: bool) -> (Vec<Check>, Option<Archive>) {
    let seen =
        options.archive().and_then(|archive| archive.condition().map(|condition| (archive, condition)));
    let (archive, condition) = match seen {
        Ok(seen) => seen,
        Err(error) => return (vec![Check::refused("archive", &error, flags)], None),
    };
    let mut checks = vec![file(&condition)];
    checks.push(disk(&archive, &condition));
    // What another agent calls a version is no version of Hermes.
    let read = archive.read(|view| {
        let version = if view.layout() == "hermes" { view.version()? } else { None };
        Ok((view.layout().to_owned(), version))
    });
    // What is no database has no log either.
    if !matches!(&read, Err(error) if error.kind() == ErrorKind::ArchiveUnrecognized) {
        checks.push(log(&condition));
    }
    match read {
        Err(error) => {
            checks.push(Check::refused("layout", &error, flags));
            (checks, None)
        }
        Ok((layout, version)) => {
            checks.push(layout_of(&layout, version));
            if deep {
                checks.push(pages(&archive, flags));
            }
            (checks, Some(archive))
        }
    }
}

fn file(condition: &Condition) -> Check {
    let since = now_ms().saturating_sub(condition.written_ms).max(0);
    let is_written = condition.reading == Reading::BesideLog && since < WRITING_MS_MAX;
    let when = if is_written { "being written, last" } else { "last written" };
    Check::ok("archive", format!("{}, {when} {}", size(condition.bytes), ago(since)))
}

fn ago(ms: i64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        ..120 => format!("{seconds} s ago"),
        120..7_200 => format!("{} min ago", seconds / 60),
        7_200..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", grouped((seconds / 86_400).unsigned_abs())),
    }
}

/// Says where the archive lies.
fn disk(archive: &Archive, condition: &Condition) -> Check {
    const NAME: &str = "archive disk";
    let place = match Place::of(archive.path()) {
        Ok(place) => place,
        Err(error) => return untold(NAME, &error),
    };
    let has_log = matches!(condition.reading, Reading::BesideLog | Reading::Copied);
    match (place.network, place.read_only) {
        (Some(network), _) if has_log => Check::warning(
            NAME,
            format!(
                "it comes over {network}, and a log's index is shared on one machine only: what another writes may be missed"
            ),
            "read it on the machine that writes it, or read a backup of it",
        ),
        (Some(network), _) => Check::ok(NAME, format!("it comes over {network}, and no log is in use")),
        (None, true) => Check::ok(NAME, "may only be read, which is all that it is for"),
        (None, false) => Check::ok(NAME, "of this machine"),
    }
}

fn log(condition: &Condition) -> Check {
    const NAME: &str = "archive log";
    let log = condition.log_bytes.unwrap_or(0);
    match condition.reading {
        Reading::BesideLog if log > LOG_BYTES_USUAL_MAX => Check::warning(
            NAME,
            format!("{}: the agent does not get to write it back, and reads slower for it", size(log)),
            "let the agent close its archive once, and end what reads it without a pause",
        ),
        Reading::BesideLog => {
            Check::ok(NAME, format!("{}; an agent has it open, or did not close it", size(log)))
        }
        Reading::AtRest => Check::ok(NAME, "none: nobody has the archive open"),
        Reading::Locked => Check::ok(NAME, "rollback journal: readers and the agent wait for each other"),
        Reading::Copied => Check::warning(
            NAME,
            format!(
                "left so that only a private copy of {} can be read, made anew after every change",
                size(condition.bytes)
            ),
            "let the agent that owns the archive open and close it once",
        ),
    }
}

fn layout_of(layout: &str, version: Option<i64>) -> Check {
    const NAME: &str = "layout";
    match version {
        Some(version) if version > HERMES_VERSION_KNOWN_MAX => Check::warning(
            NAME,
            format!(
                "{layout}, version {version}: newer than any this aft was tried on, {HERMES_VERSION_KNOWN_MAX}; what its new columns hold is not found"
            ),
            "see whether there is a newer aft",
        ),
        Some(version) => Check::ok(NAME, format!("{layout}, version {version}")),
        None => Check::ok(NAME, layout),
    }
}

/// Has SQLite look through every page.
fn pages(archive: &Archive, flags: &str) -> Check {
    const NAME: &str = "archive pages";
    match archive.read(|view| view.quick_check(FINDINGS_MAX)) {
        Err(error) => Check::refused(NAME, &error, flags),
        Ok(findings) if findings.is_empty() => Check::ok(NAME, "sound, by SQLite's quick_check"),
        Ok(findings) => {
            // Its findings may be lists of their own.
            let findings = findings.iter().flat_map(|finding| finding.lines()).take(FINDINGS_MAX);
            Check::fault(
                NAME,
                format!("damaged: {}", findings.collect::<Vec<_>>().join("; ")),
                format!(
                    "restore a backup, or try: sqlite3 {} .recover",
                    crate::fail::quoted(&archive.path().display().to_string())
                ),
                exit_code(ErrorKind::ArchiveUnavailable),
            )
        }
    }
}
