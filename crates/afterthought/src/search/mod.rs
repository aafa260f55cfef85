//! Answers requests from a snapshot: plan, rank, hydrate, show. Knows tantivy and the archive's
//! rows, and nothing of doors.

mod collect;
mod cursor;
mod diagnosis;
mod dictionaries;
mod evidence;
mod explain;
mod facets;
mod filter;
mod forms;
mod gather;
mod hydrate;
mod kept;
mod lineage;
mod lists;
mod near;
mod nearest;
mod neighbours;
mod order;
mod page;
mod plan;
mod pool;
mod request;
mod run;
mod scan;
mod sessions;
mod snippet;
mod spots;
mod wanted;
mod weights;
mod window;
mod workspace;

pub use cursor::commit_of;
pub use diagnosis::{Diagnosis, Elsewhere, LeftOut, UnknownTerm};
pub use explain::{Explanation, How, Part, Work};
pub use facets::{Facet, FacetValue, Facets, FacetsMore, facet_line};
pub use filter::cause::NAMES as FILTER_NAMES;
pub use hydrate::Fetch;
pub use kept::Kept;
pub use page::{Confidence, Count, Hit, IndexState, IndexView, Page};
pub use pool::Pool;
pub use request::{Filters, Group, Match, SearchRequest, Sort};
pub use run::search;
pub use sessions::{SessionList, SessionView, list_sessions};
pub use weights::Weights;
pub use workspace::workspace_path;
