//! Where an export goes: a file that appears whole or not at all, or standard output.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Seek, Write, stdout};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use afterthought::archive::Archive;
use afterthought::export::Step;
use indicatif::{ProgressBar, ProgressStyle};
use tempfile::NamedTempFile;

use crate::fail::Failure;

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// Rows between two looks at the bar.
const ROWS_SHOWN: u64 = 256;

/// Ctrl-C was pressed.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Fails if somebody asked to stop.
pub(super) fn stopped() -> Result<(), Failure> {
    if STOPPED.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("stopped; nothing was written".to_owned()));
    }
    Ok(())
}

/// What is being written to.
pub(super) enum Output {
    /// Standard output, and whether anything was printed.
    Stdout(BufWriter<io::Stdout>, bool),
    /// A nameless file, printed at the end.
    Spool(BufWriter<File>),
    /// A file beside the one that was named, which it becomes at the end.
    Named { file: BufWriter<NamedTempFile>, path: PathBuf, force: bool },
}

impl Output {
    pub(super) fn stdout() -> Self {
        Self::Stdout(BufWriter::with_capacity(BUFFER_BYTES, stdout()), false)
    }

    pub(super) fn spool() -> Result<Self, Failure> {
        Ok(Self::Spool(BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile()?)))
    }

    /// Begins a file for its owner only. Fails if one of that name is there, unless `force` is given, or if
    /// it is one of the archive's own.
    pub(super) fn file(path: &Path, force: bool, archive: &Archive) -> Result<Self, Failure> {
        if is_of_archive(path, archive.path()) {
            return Err(Failure::Usage(format!("{} is the archive's own", path.display())));
        }
        if path.is_dir() {
            return Err(Failure::Usage(format!("{} is a folder: name a file in it", path.display())));
        }
        if !force && path.symlink_metadata().is_ok() {
            return Err(Failure::Usage(format!("{} is there; --force replaces it", path.display())));
        }
        // What was begun goes when it is stopped, which a process that is killed by a signal cannot see to.
        let set = ctrlc::set_handler(|| {
            if STOPPED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        if let Err(error) = set {
            tell!("aft: Ctrl-C will leave a part of the export behind: {error}");
        }
        let named = tempfile::Builder::new().prefix(".aft-export-").tempfile_in(folder(path));
        let named = named.map_err(|error| Failure::Usage(format!("write {}: {error}", path.display())))?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, named);
        Ok(Self::Named { file, path: path.to_owned(), force })
    }

    /// Forgets what was written. Returns false where it cannot be taken back.
    pub(super) fn empty(&mut self) -> Result<bool, Failure> {
        match self {
            Self::Stdout(_, printed) => return Ok(!*printed),
            Self::Spool(file) => {
                file.rewind()?;
                file.get_ref().set_len(0)?;
            }
            Self::Named { file, .. } => {
                file.rewind()?;
                file.get_ref().as_file().set_len(0)?;
            }
        }
        Ok(true)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.write_all(bytes)?)
    }

    /// Makes what was written be seen.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(mut out, _) => out.flush()?,
            Self::Spool(file) => {
                let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.rewind()?;
                io::copy(&mut file, &mut stdout().lock())?;
                stdout().flush()?;
            }
            Self::Named { file, path, force } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.as_file().sync_all()?;
                let kept = if force { file.persist(&path) } else { file.persist_noclobber(&path) };
                kept.map_err(|error| Failure::Usage(format!("write {}: {}", path.display(), error.error)))?;
            }
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out, printed) => {
                *printed = true;
                out.write(bytes)
            }
            Self::Spool(file) => file.write(bytes),
            Self::Named { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out, _) => out.flush(),
            Self::Spool(file) => file.flush(),
            Self::Named { file, .. } => file.flush(),
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Tells whether a path is the archive or a sidecar of it, by whatever name.
fn is_of_archive(path: &Path, archive: &Path) -> bool {
    let own = ["", "-wal", "-shm", "-journal"].map(|suffix| {
        let mut name = archive.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    let place = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
    let named =
        folder(path).canonicalize().ok().zip(path.file_name()).map(|(folder, name)| folder.join(name));
    own.iter()
        .any(|own| named.as_ref() == Some(own) || place(path).is_some_and(|there| place(own) == Some(there)))
}

/// A bar on a terminal, where the export itself does not go.
pub(super) struct Bar {
    bar: Option<ProgressBar>,
    rows: u64,
}

impl Bar {
    pub(super) fn new(to_file: bool) -> Self {
        let is_seen = io::stderr().is_terminal() && (to_file || !stdout().is_terminal());
        let style =
            ProgressStyle::with_template("exporting {wide_bar} {human_pos} of {human_len} rows, {eta} left");
        let bar = is_seen.then(|| ProgressBar::new(0).with_style(style.expect("the template is constant")));
        Self { bar, rows: 0 }
    }

    pub(super) fn show(&mut self, step: &Step<'_>) {
        let Some(bar) = &self.bar else { return };
        match step {
            Step::Begin(rows) => {
                self.rows = 0;
                bar.set_length(*rows);
            }
            Step::Message(_) | Step::LeftOut => {
                self.rows += 1;
                if self.rows.is_multiple_of(ROWS_SHOWN) {
                    bar.set_position(self.rows);
                }
            }
        }
    }

    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
