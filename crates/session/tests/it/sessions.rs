//! Kernel sessions on real kernels, of each backend.

mod artifacts;
mod bed;
mod crash;
mod files;
mod keep;
mod queue;
mod rules;
mod stop;
mod stress;
