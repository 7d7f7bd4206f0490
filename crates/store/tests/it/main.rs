//! The store on real files, with real processes beside it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod artifacts;
mod bed;
mod crowd;
mod foreign;
mod interrupted;
mod killed;
mod locked;
mod overwritten;
mod paths;
mod reading;
mod refused;
mod remembered;
