//! The least a native program can do.

fn main() {}
