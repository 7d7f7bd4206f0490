//! The store on real files, with real processes beside it, and sessions on real kernels.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod artifacts;
mod bed;
mod crowd;
mod documents;
mod foreign;
mod interrupted;
mod killed;
mod locked;
mod overwritten;
mod paths;
mod reading;
mod refused;
mod remembered;
mod sessions;
mod settings;
mod trust;
mod writers;
