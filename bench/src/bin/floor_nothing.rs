//! A native program that does nothing.

fn main() {}
