//! Tools as an agent calls them, on real files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod artifacts;
mod attacks;
mod bed;
mod cells;
mod identity;
mod modes;
mod notebooks;
mod paths;
mod redaction;
mod runs;
mod search;
mod text;
mod undo;
