//! How many heaps the system's allocator may keep. By default each thread of a busy process may get one of its own, and
//! what was freed in one is of no use to the others.

/// As many as threads that work at the same time.
const HEAPS: i32 = 2;

/// Makes threads share a few heaps.
#[expect(unsafe_code, reason = "there is no safe call for advice to the allocator")]
pub(crate) fn share() {
    // SAFETY: it changes where memory is taken from in future, not what anyone holds.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
    }
}
