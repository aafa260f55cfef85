//! The engine behind the tools, shared with the one of another agent.

pub(crate) use afterthought_hermes::LazyEngine;
