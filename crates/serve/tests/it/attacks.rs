//! What hostile programs try on the host, and what it does about it.

mod frames;
mod idle;
