//! Sessions of kernels that do what they are told, by a clock that the tests move.

pub(super) mod bed;
mod crash;
mod keep;
mod queue;
mod stop;
mod whole_calls;
