//! Answers requests from a snapshot: plan, rank, hydrate, show. Knows tantivy and the archive's
//! rows, and nothing of doors.

mod collect;
mod cursor;
mod evidence;
mod explain;
mod filter;
mod forms;
mod gather;
mod hydrate;
mod kept;
mod lists;
mod near;
mod order;
mod page;
mod plan;
mod pool;
mod request;
mod run;
mod sessions;
mod snippet;
mod wanted;
mod weights;

pub use cursor::commit_of;
pub use explain::{Explanation, How, Part, Work};
pub use hydrate::Fetch;
pub use kept::Kept;
pub use page::{Confidence, Count, Hit, IndexState, IndexView, Page};
pub use pool::Pool;
pub use request::{Filters, Group, Match, SearchRequest, Sort, workspace_path};
pub use run::search;
pub use sessions::{SessionList, SessionView, list_sessions};
pub use weights::Weights;
