//! Tests with scripted kernels and a paused clock.

pub(super) mod bed;
mod crash;
mod keep;
mod queue;
mod stop;
mod whole_calls;
