//! The tool `session_search` of Hermes, answered by Afterthought: the same arguments, modes, clamps
//! and JSON, with ranked hits, the model's reasoning on request, and a reason where nothing is found.
//! Blocking, prints nothing, writes nothing but indexes.
//!
//! ```no_run
//! use afterthought_hermes::{Config, Recall};
//! use serde_json::json;
//!
//! let recall = Recall::new(Config::of_archive("state.db", "index"));
//! let answer = recall.call(json!({"query": "lock order", "limit": "5"}).as_object().unwrap());
//! println!("{answer}");
//! ```

mod arguments;
mod browse;
mod discover;
mod lazy;
mod limits;
mod message;
mod operators;
mod profiles;
mod read;
mod reasons;
mod scroll;
mod sight;
mod when;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use afterthought::Error;
use serde_json::{Map, Value, json};

use arguments::{Arguments, Mode};
use message::said;
use profiles::Profiles;

pub use lazy::{LazyEngine, Ready, Waits};
pub use profiles::profiles_below;

/// The tool's contract: its name, description, `inputSchema` and the shapes of its answers.
pub const CONTRACT: &str = include_str!("../../../schema/session_search.json");

/// What the host decides for every call.
#[derive(Clone, Debug)]
pub struct Config {
    /// The archive of the profile that asks.
    pub archive: PathBuf,
    /// The root of all profiles: its own `state.db` is that of `default`, a named one's lies below
    /// `profiles/NAME`.
    pub root: PathBuf,
    /// Folder below which every archive's index has a folder of its own.
    pub index_root: PathBuf,
    /// Confines every mode to the sessions of this person; whatever is another's is not there.
    pub user: Option<String>,
    /// The session that asks, unless a call names one.
    pub current_session: Option<String>,
    /// Longest wait for an index to come up to date before a search.
    pub wait: Duration,
    /// Copy an archive of any size where it cannot be read in place.
    pub allow_copy: bool,
}

impl Config {
    /// Takes an archive and looks for other profiles where the agent has them: around it. A path that is
    /// relative is of the folder that the process is in now.
    #[must_use]
    pub fn of_archive(archive: impl Into<PathBuf>, index_root: impl Into<PathBuf>) -> Self {
        let archive = archive.into();
        // What is around a path shows in a whole one only. One that has none is refused when it is opened.
        let archive = std::path::absolute(&archive).unwrap_or(archive);
        let home = archive.parent().unwrap_or(Path::new("")).to_owned();
        let profiles = home.parent().filter(|parent| parent.ends_with("profiles"));
        let root = profiles.and_then(Path::parent).map_or_else(|| home.clone(), Path::to_owned);
        Self {
            archive,
            root,
            index_root: index_root.into(),
            user: None,
            current_session: None,
            wait: Duration::from_secs(2),
            allow_copy: false,
        }
    }
}

/// The tool over all profiles. Opens an archive when it is first asked for, an index when a query is.
pub struct Recall {
    config: Config,
    profiles: Profiles,
}

impl Recall {
    /// Makes the tool; opens nothing yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { profiles: Profiles::new(&config, None), config }
    }

    /// Makes the tool over an engine that others ask as well: that of the archive of `config`, opened for
    /// the same person. Opens nothing yet.
    #[must_use]
    pub fn beside(config: Config, engine: Arc<LazyEngine>) -> Self {
        Self { profiles: Profiles::new(&config, Some(engine)), config }
    }

    /// Answers a call. Never fails: what goes wrong is an answer with `error` and `success: false`.
    /// Blocks, for as long as the index needs to come up to date at most, and a search.
    #[must_use]
    pub fn call(&self, arguments: &Map<String, Value>) -> Value {
        self.answer(arguments).unwrap_or_else(Refusal::into_answer)
    }

    fn answer(&self, given: &Map<String, Value>) -> Result<Value, Refusal> {
        let arguments = Arguments::read(given)?;
        let profile = self.profiles.profile(arguments.profile.as_deref())?;
        // The session that asks lives in the profile that asks.
        let current = match &arguments.profile {
            Some(_) => None,
            None => arguments.current_session.as_deref().or(self.config.current_session.as_deref()),
        };
        let asker = Asker { user: self.config.user.as_deref(), current };
        match arguments.mode() {
            Mode::Scroll { session_id, anchor } => {
                scroll::scroll(&profile, asker, session_id, anchor, arguments.window)
            }
            Mode::Read { session_id } => {
                let read = read::read(&profile, asker, session_id);
                read.map_err(|refusal| refusal.or_hint(|| self.profiles.hint()))
            }
            Mode::Browse => browse::browse(&profile, asker, arguments.limit),
            Mode::Discover { query } => discover::discover(&profile, asker, query, &arguments),
        }
    }
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
struct Asker<'a> {
    /// Sessions of this person only.
    user: Option<&'a str>,
    /// The session that asks.
    current: Option<&'a str>,
}

/// Why a call has no answer.
#[derive(Debug)]
struct Refusal {
    message: String,
    hint: Option<String>,
}

impl Refusal {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn or_hint(self, hint: impl FnOnce() -> Option<String>) -> Self {
        Self { hint: self.hint.or_else(hint), ..self }
    }

    /// Writes it, cut where what was given makes it long.
    fn into_answer(self) -> Value {
        let mut answer = json!({"error": said(&self.message), "success": false});
        if let Some(hint) = self.hint {
            answer["hint"] = said(&hint).into();
        }
        answer
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { message: error.to_string(), hint: error.next_step().map(str::to_owned) }
    }
}
