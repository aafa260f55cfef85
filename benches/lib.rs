//! Benches and measurements only; see `engine.rs` and `first_build.rs`.
