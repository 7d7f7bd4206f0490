//! Sessions on real kernels.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../store/tests/it/bed.rs"]
#[allow(dead_code, reason = "shared with the tests of the store")]
mod bed;
mod sessions;
