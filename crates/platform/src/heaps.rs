//! How the system's allocator keeps memory. By default each thread of a busy process may get a heap of its own, freed memory
//! in one is of no use to the others, and large pieces stay in them for the next time once one was freed.

/// Has the system's allocator give back the memory that a long-lived process no longer needs, though it has many threads.
/// To be called before they start.
pub fn keep_memory_small() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    gnu::stay_small();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod gnu {
    use libc::c_int;

    /// As many as threads that work at the same time.
    const HEAPS: c_int = 2;
    /// Pieces from here on are taken from the system and given back to it, in bytes. The allocator's own first choice; that it is
    /// said keeps it from growing.
    const LARGE: c_int = 128 << 10;

    /// Makes threads share a few heaps, and large pieces return to the system.
    #[expect(unsafe_code, reason = "there is no safe call for advice to the allocator")]
    pub(super) fn stay_small() {
        // SAFETY: it changes where memory is taken from in future, not memory in use.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, HEAPS);
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        }
    }
}
