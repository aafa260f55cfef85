//! `aft doctor`: looks at everything that an answer rests on, says what is wrong and what to do. Changes
//! nothing: it writes no file, creates no folder and takes no lock for longer than a look.

mod archive;
mod index;
mod place;
mod settings;
mod text;

use std::path::PathBuf;

use afterthought::archive::sqlite_version;
use afterthought::index::{FORMAT, Folder};
use afterthought::text::FINGERPRINT;
use afterthought::{Error, Layout, Options};
use serde::Serialize;

use crate::args::{self, DoctorFormat, Global};
use crate::config::{layout_of, layout_of_others, settings_of};
use crate::fail::{EXIT_DRIFT, Failure, addressed, exit_code};
use crate::profiles::{Named, all_beside, alone, named_in};
use crate::search::flags;
use crate::stdout::{print_json, print_text};

/// How a thing is; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It does not work.
    Fault,
    /// It works, and somebody should know.
    Warning,
    Ok,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    finding: String,
    next: Option<String>,
    /// What the command exits with for it.
    #[serde(skip)]
    code: u8,
}

impl Check {
    fn ok(name: &'static str, finding: impl Into<String>) -> Self {
        Self { name, state: State::Ok, finding: finding.into(), next: None, code: 0 }
    }

    fn warning(name: &'static str, finding: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: State::Warning, next: Some(next.into()), ..Self::ok(name, finding) }
    }

    fn fault(name: &'static str, finding: impl Into<String>, next: impl Into<String>, code: u8) -> Self {
        Self { state: State::Fault, code, ..Self::warning(name, finding, next) }
    }

    /// Says what the library refused.
    fn refused(name: &'static str, error: &Error, flags: &str) -> Self {
        let next = error.next_step().unwrap_or("look at what the system says of it");
        Self::fault(name, error.to_string(), addressed(next, flags), exit_code(error.kind()))
    }
}

/// One archive and what was found of it.
#[derive(Debug, Serialize)]
struct Examined {
    name: Option<String>,
    archive: String,
    index_folder: Option<String>,
    state: State,
    checks: Vec<Check>,
}

/// All that was found.
#[derive(Debug, Serialize)]
struct Report {
    schema_version: u32,
    aft: &'static str,
    sqlite: &'static str,
    index_format: u32,
    analysis: &'static str,
    deep: bool,
    state: State,
    checks: Vec<Check>,
    archives: Vec<Examined>,
}

/// An archive to examine.
struct Subject {
    name: Option<String>,
    path: PathBuf,
    /// How to open it, unless its layout cannot be read.
    options: Result<Options, Error>,
    /// What the next command needs to reach the same place.
    flags: String,
}

pub(crate) fn run(global: &Global, args: &args::Doctor) -> Result<u8, Failure> {
    let (configuration, file) = settings::configuration();
    let named = all_beside(file.named_archives());
    let profile = global.profile.as_deref().map(|name| named_in(&named, name)).transpose();
    // A name that nothing gives is a fault of the file that was to give it.
    let profile = match profile {
        Err(failure) if configuration.state == State::Ok => return Err(failure),
        other => other.ok().flatten(),
    };
    let [archive, index] = settings_of(global, &file, profile.as_ref())?;
    let layout = layout_of(global, &file, profile.as_ref());
    let layout = if args.all { layout_of_others(global) } else { layout.map(|layout| layout.value) };
    let options = || {
        let layout = layout.as_deref().map(Layout::find).transpose()?;
        let allow_copy = global.allow_copy;
        Ok(Options { allow_copy, layout, ..Options::new(&archive.value, &index.value) })
    };
    if args.all {
        alone(global, "--all")?;
    }
    let subjects: Vec<Subject> = if args.all {
        let subject = |one: Named| Subject {
            flags: flags(global, Some(&one.name)),
            options: options().and_then(|options| one.options(&options)),
            name: Some(one.name),
            path: one.archive,
        };
        named.into_iter().map(subject).collect()
    } else {
        let (name, flags) = (global.profile.clone(), flags(global, None));
        vec![Subject { name, path: archive.value.clone(), options: options(), flags }]
    };
    let mut archives: Vec<Examined> = subjects.iter().map(|subject| examine(subject, args.deep)).collect();
    let checks = sorted(vec![configuration, settings::indexes(&index.value, &archives)]);
    // What is wrong is read first.
    archives.sort_by_key(|archive| archive.state);
    let code = code(&checks, &archives);
    let states = checks.iter().map(|check| check.state).chain(archives.iter().map(|archive| archive.state));
    let report = Report {
        schema_version: 1,
        aft: env!("CARGO_PKG_VERSION"),
        sqlite: sqlite_version(),
        index_format: FORMAT,
        analysis: FINGERPRINT,
        deep: args.deep,
        state: states.min().unwrap_or(State::Ok),
        checks,
        archives,
    };
    if global.json || args.format == DoctorFormat::Json {
        print_json(&report)?;
    } else {
        print_text(&text::of(&report))?;
    }
    Ok(code)
}

fn examine(subject: &Subject, deep: bool) -> Examined {
    let mut index_folder = None;
    let checks = match &subject.options {
        Err(error) => vec![Check::refused("layout", error, &subject.flags)],
        Ok(options) => {
            let (mut checks, archive) = archive::checks(options, &subject.flags, deep);
            if let Some(archive) = archive {
                let folder = Folder::of(&options.index_root, archive.path());
                checks.extend(index::checks(&archive, &folder, &subject.flags, deep));
                index_folder = Some(folder.path().display().to_string());
            }
            checks
        }
    };
    let checks = sorted(checks);
    Examined {
        name: subject.name.clone(),
        archive: subject.path.display().to_string(),
        index_folder,
        state: checks.first().map_or(State::Ok, |check| check.state),
        checks,
    }
}

/// Puts what is wrong first, and leaves the rest as it was looked at.
fn sorted(mut checks: Vec<Check>) -> Vec<Check> {
    checks.sort_by_key(|check| check.state);
    checks
}

/// Returns what the command exits with: what is wrong with the settings, or with the one archive; of
/// several, that something is.
fn code(checks: &[Check], archives: &[Examined]) -> u8 {
    let fault_of = |checks: &[Check]| checks.iter().map(|check| check.code).find(|code| *code > 0);
    let faults: Vec<u8> = archives.iter().filter_map(|archive| fault_of(&archive.checks)).collect();
    match (fault_of(checks), faults.as_slice(), archives.len()) {
        (Some(code), ..) => code,
        (None, [], _) => 0,
        (None, [code, ..], 1) => *code,
        _ => EXIT_DRIFT,
    }
}
