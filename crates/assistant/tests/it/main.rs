//! The assistant against a provider with scripted responses.

#![expect(clippy::unwrap_used, reason = "a failing test should name the line")]
mod attacks;
mod prompts;
mod providers;
mod secrets;
mod snapshots;
mod stops;
mod test_bed;
mod turns;
