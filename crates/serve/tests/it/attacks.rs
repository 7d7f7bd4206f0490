//! What hostile programs try on the host, and what it does about it.

mod cookies;
mod frames;
mod idle;
mod reach;
pub(crate) mod users;
