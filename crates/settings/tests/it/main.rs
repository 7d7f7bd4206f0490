//! Settings and trust, in real folders.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod settings;
mod trust;
