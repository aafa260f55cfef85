//! What is looked at of an index: its folder, who may read it, what stands in it, who works on it, whether
//! it is of this version, and whether it holds what the archive holds.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use afterthought::archive::Archive;
use afterthought::index::{FORMAT, Folder, Generation, Role, Snapshot, Store, Survey, Work};
use afterthought::limits::{REINDEX_INDEX_PERCENT_ASSUMED, REINDEX_ROOM};
use afterthought::mirror::{Note, verify};
use afterthought::text::FINGERPRINT;
use afterthought::time::rfc3339;
use afterthought::{Depth, Error, ErrorKind, Verdict};

use crate::fail::{EXIT_DRIFT, exit_code, quoted};
use crate::stdout::{grouped, size};

use super::Check;
use super::place::{Place, is_writable, nearest, untold};

/// Looks at the index of an archive that can be read.
pub(super) fn checks(archive: &Archive, folder: &Folder, flags: &str, deep: bool) -> Vec<Check> {
    let survey = folder.survey();
    let live = survey.as_ref().ok().and_then(Option::as_ref).and_then(|survey| of_role(survey, Role::Live));
    let live_bytes = live.map(|live| live.bytes);
    let mut checks = vec![folder_of(folder.path(), live.is_some())];
    checks.push(space(archive, folder.path(), live_bytes));
    match &survey {
        Err(error) => checks.push(Check::refused("generations", error, flags)),
        Ok(None) => checks.push(nothing_yet(flags)),
        Ok(Some(survey)) => {
            checks.push(permissions(folder.path()));
            checks.push(at_work(survey, folder.path()));
            checks.push(generations(survey, flags));
            match live {
                Some(live) => checks.extend(of_live(archive, folder, &live.path, flags, deep)),
                None => checks.push(of_no_live(folder, flags)),
            }
        }
    }
    checks
}

fn of_role(survey: &Survey, role: Role) -> Option<&Generation> {
    survey.generations.iter().find(|generation| generation.role == role)
}

fn nothing_yet(flags: &str) -> Check {
    let next = format!("the first search builds it, or: aft{flags} index");
    Check::warning("index", "there is none yet", next)
}

/// Says where the index lies or would lie, and whether it can be written.
fn folder_of(folder: &Path, is_there: bool) -> Check {
    const NAME: &str = "index folder";
    let there = nearest(folder);
    let shown = folder.display();
    let next = format!("make {} yours to write, or name another folder with --index", there.display());
    let (place, owner) = match Place::of(&there).and_then(|place| Ok((place, there.metadata()?.uid()))) {
        Ok(seen) => seen,
        Err(error) => return Check::fault(NAME, format!("{shown}: {error}"), next, 3),
    };
    let why = if place.read_only {
        Some("its file system may only be read".to_owned())
    } else if !there.is_dir() {
        Some(format!("{} is no folder", there.display()))
    } else if !is_writable(&there) {
        Some(format!("it belongs to user {owner} and may not be written"))
    } else {
        None
    };
    // What we write in another's folder is for us alone to read.
    let own = rustix::process::geteuid().as_raw();
    match (why, place.network) {
        (Some(why), _) if is_there => {
            let finding = format!(
                "{shown}: {why}; searches answer from what is there, and nothing brings it up to date"
            );
            Check::warning(NAME, finding, next)
        }
        (Some(why), _) => {
            let finding = format!("{shown}: {why}, so that no index can be made");
            Check::fault(NAME, finding, next, exit_code(ErrorKind::IndexUnavailable))
        }
        (None, Some(network)) => {
            let finding =
                format!("{shown} comes over {network}, where locks and mapped files cannot be relied on");
            Check::warning(NAME, finding, "name a folder of this machine with --index")
        }
        (None, None) if is_there && owner != own => {
            let finding = format!(
                "{shown} belongs to user {owner} and you are user {own}: what you write there, they cannot read"
            );
            Check::warning(NAME, finding, "be that user, or name another folder with --index")
        }
        (None, None) => Check::ok(NAME, shown.to_string()),
    }
}

/// Compares what is free with what a rebuild may need beside the present index.
fn space(archive: &Archive, folder: &Path, live_bytes: Option<u64>) -> Check {
    const NAME: &str = "space";
    let (free, archive_bytes) = match (Place::of(&nearest(folder)), archive.stamp()) {
        (Ok(place), Ok(stamp)) => (place.free_bytes, stamp.bytes()),
        (Err(error), _) => return untold(NAME, &error),
        (_, Err(error)) => return untold(NAME, &error),
    };
    let expected = live_bytes.unwrap_or(archive_bytes / 100 * REINDEX_INDEX_PERCENT_ASSUMED);
    let needed = expected.saturating_mul(REINDEX_ROOM);
    let what = if live_bytes.is_some() { "to build it anew" } else { "to build it" };
    let finding = format!("{} free; {what} may need {}", size(free), size(needed));
    if needed <= free {
        return Check::ok(NAME, finding);
    }
    Check::warning(NAME, finding, "free some, or name a folder on a larger disk with --index")
}

/// Looks for what others may read or write: an index holds every word of the archive.
fn permissions(folder: &Path) -> Check {
    const NAME: &str = "permissions";
    let mut open = Vec::new();
    let mut paths = vec![folder.to_owned()];
    while let Some(path) = paths.pop() {
        // What went meanwhile is not open to anybody.
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.mode() & 0o077 != 0 {
            open.push(path.clone());
        }
        if metadata.is_dir() {
            match std::fs::read_dir(&path) {
                // What went while it was listed is not open to anybody either.
                Ok(entries) => paths.extend(entries.flatten().map(|entry| entry.path())),
                Err(error) => {
                    let finding = format!("{} cannot be read: {error}", path.display());
                    return Check::fault(
                        NAME,
                        finding,
                        "make it yours, or name another folder with --index",
                        3,
                    );
                }
            }
        }
    }
    open.sort();
    match open.as_slice() {
        [] => Check::ok(NAME, "its owner's alone"),
        [first, rest @ ..] => {
            let more = if rest.is_empty() {
                String::new()
            } else {
                format!(" and {} more", grouped(rest.len() as u64))
            };
            Check::warning(
                NAME,
                format!(
                    "others may reach {}{more}, and an index holds every word of its archive",
                    first.display()
                ),
                format!("chmod -R go= {}", quoted(&folder.display().to_string())),
            )
        }
    }
}

fn at_work(survey: &Survey, folder: &Path) -> Check {
    const NAME: &str = "locks";
    let doing = |work: &Work| match work {
        Work::Writing => "writes the index",
        Work::Rebuilding => "builds a new one beside it",
        Work::Changing => "makes or removes a generation",
    };
    if survey.at_work.is_empty() {
        return Check::ok(NAME, "nobody writes the index");
    }
    let doing: Vec<&str> = survey.at_work.iter().map(doing).collect();
    Check::warning(
        NAME,
        format!("another process {}; searches go on meanwhile", doing.join(", and ")),
        format!("it ends with that process; to see which: lsof +D {}", quoted(&folder.display().to_string())),
    )
}

fn generations(survey: &Survey, flags: &str) -> Check {
    const NAME: &str = "generations";
    let is_building = survey.at_work.contains(&Work::Rebuilding);
    let list: Vec<String> = survey
        .generations
        .iter()
        .map(|generation| {
            let name = generation.path.file_name().unwrap_or_default().to_string_lossy();
            let role = match generation.role {
                Role::Live => "answers",
                Role::Staged if is_building => "is being built",
                Role::Staged => "was left unfinished",
                Role::Previous => "answered before",
                Role::Unused => "is of no use",
            };
            format!("{name} {role} ({})", size(generation.bytes))
        })
        .collect();
    let finding = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
    if of_role(survey, Role::Unused).is_some() {
        let next = format!("removed when something new is next indexed: aft{flags} index");
        return Check::warning(NAME, finding, next);
    }
    if of_role(survey, Role::Staged).is_some() && !is_building {
        let next = format!("to go on with it, within a day: aft{flags} reindex");
        return Check::warning(NAME, finding, next);
    }
    Check::ok(NAME, finding)
}

/// Says why no generation answers.
fn of_no_live(folder: &Folder, flags: &str) -> Check {
    match folder.live() {
        Ok(None) => nothing_yet(flags),
        Ok(Some(path)) => {
            let finding = format!("its pointer names {}, which is not there", path.display());
            let next = format!("to build it anew: aft{flags} reindex");
            Check::fault("index", finding, next, exit_code(ErrorKind::IndexDamaged))
        }
        Err(error) => Check::refused("index", &error, flags),
    }
}

/// Looks at the generation that answers.
fn of_live(archive: &Archive, folder: &Folder, path: &Path, flags: &str, deep: bool) -> Vec<Check> {
    const NAME: &str = "index";
    let opened = Store::look_at(folder, path).and_then(|store| {
        let snapshot = store.guarded(|| store.snapshot())?;
        Ok((store, snapshot))
    });
    let (store, snapshot) = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::IndexIncompatible => {
            let next = format!("the next search builds it anew, or: aft{flags} index");
            return vec![Check::warning(NAME, error.to_string(), next)];
        }
        Err(error) => return vec![Check::refused(NAME, &error, flags)],
    };
    let finding = format!(
        "format {FORMAT}, analysis {FINGERPRINT}, as this aft writes it; {} segments",
        snapshot.segments()
    );
    let mut checks = vec![Check::ok(NAME, finding)];
    let standing = store.guarded(|| Standing::of(archive, &store, &snapshot));
    match standing {
        Err(error) => checks.push(Check::refused("rows", &error, flags)),
        Ok(standing) => {
            checks.push(standing.rows(flags));
            if deep {
                checks.push(bytes(&store, flags));
                let verdict = store.guarded(|| verify(archive, &snapshot, Depth::Text));
                checks.push(standing.proof(verdict, flags));
            }
        }
    }
    checks
}

/// How index and archive stand to each other, by counts and by the files' stamp.
struct Standing {
    archive_rows: u64,
    index_rows: u64,
    /// Rows above the highest that is indexed.
    behind: u64,
    /// A first build has come to its end.
    complete: bool,
    /// The archive's files are not as they were when the two were last compared.
    changed: bool,
    /// It is proven that nobody has written to them since.
    untouched: bool,
    compared_ms: i64,
}

impl Standing {
    fn of(archive: &Archive, store: &Store, snapshot: &Snapshot) -> Result<Self, Error> {
        let checkpoint = snapshot.checkpoint();
        let note = Note::read(&store.note()).filter(|note| note.committed_ms == checkpoint.committed_ms);
        // Before the rows are counted: what is written in between is not to pass for a lie.
        let stamp = archive.stamp()?;
        let (archive_rows, behind) =
            archive.read(|view| Ok((view.rows_above(i64::MIN)?, view.rows_above(checkpoint.id_max)?)))?;
        let changed = note.as_ref().is_none_or(|note| note.stamp != stamp)
            || archive.stamp().is_ok_and(|now| now != stamp);
        let is_proof = |note: &Note| note.full && stamp.is_settled(note.stamped_ms);
        let untouched = !changed && note.as_ref().is_some_and(is_proof);
        Ok(Self {
            archive_rows,
            index_rows: snapshot.rows()?,
            behind,
            complete: checkpoint.complete,
            changed,
            untouched,
            compared_ms: note.map_or(checkpoint.committed_ms, |note| note.compared_ms),
        })
    }

    fn rows(&self, flags: &str) -> Check {
        const NAME: &str = "rows";
        let counts = format!(
            "{} in the archive, {} in the index",
            grouped(self.archive_rows),
            grouped(self.index_rows)
        );
        let next = format!("the next search takes in what is new, or: aft{flags} index");
        if !self.complete {
            return Check::warning(
                NAME,
                format!("{counts}: a build was not finished"),
                format!("to go on with it: aft{flags} index"),
            );
        }
        match (self.archive_rows == self.index_rows, self.untouched) {
            (true, _) if self.behind == 0 => {
                let since = match (self.changed, self.untouched) {
                    (true, _) => ", and the next search looks whether anything changed since",
                    (false, true) => ", and nothing was written since",
                    (false, false) => "",
                };
                let when = rfc3339(self.compared_ms).unwrap_or_default();
                Check::ok(NAME, format!("{} in both; compared {when}{since}", grouped(self.index_rows)))
            }
            (_, true) => Check::fault(
                NAME,
                format!("{counts}, and nothing was written since they were found equal"),
                format!("to mend it: aft{flags} verify --deep --repair"),
                EXIT_DRIFT,
            ),
            _ => Check::warning(NAME, format!("{counts}, {} of them newer", grouped(self.behind)), next),
        }
    }

    /// Says what the comparison of every row found.
    fn proof(&self, verdict: Result<Verdict, Error>, flags: &str) -> Check {
        const NAME: &str = "texts";
        let verdict = match verdict {
            Ok(verdict) => verdict,
            Err(error) => return Check::refused(NAME, &error, flags),
        };
        if verdict.equal {
            let rows = grouped(verdict.archive_rows);
            return Check::ok(NAME, format!("all {rows} rows say what was indexed"));
        }
        let counts: Vec<String> =
            verdict.differing.iter().map(|(how, count)| format!("{} {how}", grouped(*count))).collect();
        let finding = format!("different: {}", counts.join(", "));
        // A text that was edited in place is not read again by itself, nor is what seems to be untouched.
        let is_seen = !self.untouched && !verdict.differing.contains_key("text");
        if verdict.only_newer() || is_seen {
            return Check::warning(
                NAME,
                finding,
                format!("the next search takes it in, or: aft{flags} index"),
            );
        }
        Check::fault(NAME, finding, format!("to mend it: aft{flags} verify --deep --repair"), EXIT_DRIFT)
    }
}

/// Compares every file of the index with its checksum.
fn bytes(store: &Store, flags: &str) -> Check {
    match store.check_files() {
        Ok(()) => Check::ok("index bytes", format!("{}, as their checksums say", size(store.bytes()))),
        Err(error) => Check::refused("index bytes", &error, flags),
    }
}
