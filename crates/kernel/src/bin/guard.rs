//! The guard as a program of its own, for tests and for users of this crate as a library.

fn main() {
    cellist_kernel::guard::main();
}
