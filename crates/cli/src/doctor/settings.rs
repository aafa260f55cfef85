//! What is looked at once, whatever archives there are: the settings, and the folder of all indexes.

use std::path::Path;

use crate::config::{File, file_path, read_file};
use crate::fail::Failure;
use crate::stdout::size;

use super::{Check, Examined};

/// Looks at the configuration file. What it says of no use is as if it were not there.
pub(super) fn configuration() -> (Check, File) {
    const NAME: &str = "configuration";
    let Some(path) = file_path() else {
        return (Check::ok(NAME, "there is no home folder to have one in: defaults stand"), File::default());
    };
    let shown = path.display();
    match std::fs::File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return (Check::ok(NAME, format!("{shown} is not there: defaults stand")), File::default());
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let finding = format!("{shown} may not be read ({error}): defaults stand");
            return (Check::warning(NAME, finding, "make it yours, or set HOME"), File::default());
        }
        _ => {}
    }
    match read_file() {
        Ok(file) => {
            let named = match file.named_archives().len() {
                1 => "1 archive has a name".to_owned(),
                named => format!("{named} archives have names"),
            };
            (Check::ok(NAME, format!("{shown}: {named}")), file)
        }
        Err(failure) => {
            let why = match failure {
                Failure::Usage(why) => one_line(&why),
                _ => format!("{shown} cannot be read"),
            };
            let next = format!("correct {shown}; it may say archive, layout, index and [archives]");
            (Check::fault(NAME, why, next, 2), File::default())
        }
    }
}

/// Returns what a parser draws over several lines as one.
fn one_line(text: &str) -> String {
    let drawn = |line: &str| line.trim_start_matches([' ', '|', '^']).is_empty();
    let lines: Vec<&str> = text.lines().filter(|line| !drawn(line)).map(str::trim).collect();
    lines.join("; ")
}

/// Says what all indexes take, and which belong to no archive that was looked at: the index of an archive
/// that was moved or is gone stays where it was.
pub(super) fn indexes(root: &Path, examined: &[Examined]) -> Check {
    const NAME: &str = "indexes";
    let folders = match std::fs::read_dir(root) {
        Ok(entries) => {
            entries.flatten().map(|entry| entry.path()).filter(|path| path.join("current").exists())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Check::ok(NAME, format!("none yet: {} is not there", root.display()));
        }
        Err(error) => {
            let finding = format!("{} cannot be read: {error}", root.display());
            return Check::fault(NAME, finding, "name another folder with --index", 3);
        }
    };
    let (mut own, mut others, mut bytes) = (0, Vec::new(), 0);
    for folder in folders {
        bytes += bytes_below(&folder);
        let shown = folder.display().to_string();
        if examined.iter().any(|one| one.index_folder.as_ref() == Some(&shown)) {
            own += 1;
        } else {
            others.push(folder.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    let mut finding = format!("{} in {}, {}", own + others.len(), root.display(), size(bytes));
    if !others.is_empty() {
        finding += &format!("; of archives not looked at, or that were moved: {}", others.join(", "));
    }
    Check::ok(NAME, finding)
}

/// Returns the size of all files in a folder and in its folders; what cannot be read counts for nothing.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(bytes).sum()
}
