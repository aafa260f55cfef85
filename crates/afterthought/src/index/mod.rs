//! The derived index: documents in, snapshots out. Knows tantivy, and neither SQLite nor how a
//! query is ranked. Deleting what it keeps on disk loses nothing.

mod blocks;
mod budget;
mod document;
mod fields;
mod folder;
mod snapshot;
mod storage;
mod store;
mod survey;
mod tokenizer;
mod writer;

pub use blocks::{BLOCK_DOCS, Bits, Block, Blocks, Stretch, Times};
pub use fields::{FORMAT, Fields, NO_TIME, flag};
pub use folder::Folder;
pub use snapshot::{
    Activity, KnownSession, RowMark, SegmentColumns, SessionPlace, SessionSums, Snapshot, TextMark,
};
pub use storage::{Disk, Storage};
pub use store::{Access, Stage, Store};
pub use survey::{Generation, Role, Survey, Work};
pub use writer::{Merged, Writer};

pub(crate) use document::{message_hash, session_hash};
pub(crate) use folder::{replace_file, replace_file_durably};
pub(crate) use snapshot::{SessionHead, failed};
pub(crate) use store::generation_bytes;
