//! The host from outside: access, state and shutdown.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod attacks;
mod bed;
mod bridge;
mod chats;
mod conformance;
mod leaving;
mod notebooks;
mod page;
mod peers;
mod runs;
mod site;
mod talk;
mod versions;
