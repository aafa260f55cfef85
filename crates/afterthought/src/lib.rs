//! Afterthought: an embedded search engine for the archives that AI agents leave behind.
//!
//! An agent writes every message into one SQLite file: what was said, what the model thought,
//! which tools it called. [`Engine`] mirrors that file, without ever writing to it, into an index
//! with a field for each, and answers ranked searches over all of them.
//!
//! ```no_run
//! use std::time::Duration;
//! use afterthought::{Engine, Level, Options, SearchRequest};
//!
//! let engine = Engine::open(&Options::new("state.db", "index"))?;
//! engine.freshen(Level::Quick, Duration::from_secs(10), |_| {})?;
//! for hit in engine.search(SearchRequest::new("why did the deploy fail"))?.results {
//!     println!("{} {}: {}", hit.origin.name(), hit.session_id, hit.snippet);
//! }
//! # Ok::<(), afterthought::Error>(())
//! ```
//!
//! Rooms, lower never names higher: `model` `limits` `error` `time` → `archive` `text` `query` →
//! `index` → `mirror` `search` → `audit` `context` `export` → `engine` → `federation`
//! `follow` `reindex` → `jobs`.

pub mod archive;
mod audit;
mod context;
mod engine;
pub mod error;
pub mod export;
mod federation;
mod follow;
pub mod index;
pub mod jobs;
pub mod limits;
pub mod mirror;
pub mod model;
pub mod query;
mod reindex;
pub mod search;
pub mod text;
pub mod time;

pub use archive::Layout;
pub use audit::{Audit, ThoughtWord, WordAudit};
pub use context::{Context, ContextHit, ContextPage, ContextQuery, Entry, slice_bounds};
pub use engine::{Engine, MessageView, Opening, Options, SessionHits, SessionMessages, Shown, Status};
pub use error::{Error, ErrorKind, ErrorView, Result};
pub use federation::Federation;
pub use follow::{Event, follow};
pub use mirror::{Depth, Freshness, Level, Pace, Progress, SyncReport, Verdict};
pub use model::{Field, Origin, Tier, Warning};
pub use reindex::{Means, Outcome, Reindex, Reindexed, RolledBack, roll_back};
pub use search::{
    ArchiveView, Confidence, Explanation, Facet, Filters, Group, Hit, How, Match, Page, SearchRequest,
    SessionList, SessionView, Sort, Weights,
};
