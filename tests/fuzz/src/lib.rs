//! What the fuzz targets share: where an archive lies, what it answers, and texts that meet.
//!
//! `.ci/fuzz 60` runs every target for a minute; `cargo +nightly fuzz run --fuzz-dir tests/fuzz text`
//! runs one until it finds something. A finding becomes a test of the library before it is mended.

mod place;
mod row;
mod said;
mod snippet;
mod text;
mod typed;

pub use place::{Contents, Place, SessionRows};
pub use row::{Cell, Json};
pub use said::{Role, Said};
pub use snippet::check_snippet;
pub use text::Text;
pub use typed::{Typed, common_words};
