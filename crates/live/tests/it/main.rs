//! Open notebooks on real files, with real processes beside them and on real kernels.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../store/tests/it/bed.rs"]
#[allow(dead_code, reason = "shared with the tests of the store")]
mod bed;
mod documents;
mod gone;
mod late;
#[allow(dead_code, reason = "shared with the simulation")]
mod replica;
#[path = "../../../session/tests/it/sessions/bed.rs"]
#[allow(dead_code, reason = "shared with the tests of sessions")]
mod sessions;
mod widgets;
mod writers;
