//! Afterthought: an embedded search engine for the archives that AI agents leave behind.

pub mod archive;
pub mod error;
pub mod index;
pub mod limits;
pub mod mirror;
pub mod model;
pub mod query;
pub mod search;
pub mod text;
pub mod time;
