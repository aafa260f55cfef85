//! Benches only; see `engine.rs`. Measurements on an archive of one's own: `aft bench`.
