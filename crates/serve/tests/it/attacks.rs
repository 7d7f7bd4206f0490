//! Attacks of hostile programs on the host.

mod cookies;
mod frames;
mod idle;
mod reach;
pub(crate) mod users;
