//! The public interface, as the crates above use it.

mod cleaning;
mod fuzz_bodies;
mod html;
mod outputs;
mod reading;
mod sink;
mod sink_model;
