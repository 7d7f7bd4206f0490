#![no_main]

#[path = "../bodies/ansi.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::ansi(data));
