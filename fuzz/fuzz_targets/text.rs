#![no_main]

#[path = "../bodies/text.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &str| body::text(data));
