//! Answers requests from a snapshot: plan, rank, hydrate, show. Knows tantivy and the archive's
//! rows, and nothing of doors.

mod collect;
mod explain;
mod filter;
mod hydrate;
mod lists;
mod page;
mod plan;
mod pool;
mod request;
mod run;
mod sessions;
mod snippet;

pub use explain::{Part, Work};
pub use hydrate::Fetch;
pub use page::{Count, Hit, IndexState, IndexView, Page};
pub use pool::Pool;
pub use request::{Filters, Match, SearchRequest, Weights, workspace_path};
pub use run::search;
pub use sessions::{SessionList, SessionView, list_sessions};
