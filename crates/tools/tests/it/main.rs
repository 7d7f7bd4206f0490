//! Tools as an agent calls them, on real files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod bed;
mod cells;
mod modes;
mod paths;
