#![no_main]

#[path = "../bodies/load.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::load(data));
