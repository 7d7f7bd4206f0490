//! `cellist mcp` from outside, as clients of the protocol see it.

mod client;
mod streams;
