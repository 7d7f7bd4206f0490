//! The assistant with a provider that says what the test wrote for it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod attacks;
mod bed;
mod prompts;
mod providers;
mod secrets;
mod snapshots;
mod turns;
