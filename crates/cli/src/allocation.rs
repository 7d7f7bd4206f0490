//! Memory for commands that finish in a few milliseconds. Page faults and deallocation would take a large part
//! of that time.

/// Enough for a notebook of a thousand cells.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ROOM: usize = 1 << 20;

/// Populates the heap in one step, where the system can. Only for short commands: freed memory is kept until
/// the process ends.
pub(crate) fn preallocate() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    populate_heap();
}

/// Leaks a value. The process ends soon, and dropping a large value would only take time.
pub(crate) fn leak<T>(value: T) {
    std::mem::forget(value);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "there are no safe calls for advice on memory")]
fn populate_heap() {
    /// Buffers from this size on still come from the system and go back to it.
    const LARGE: i32 = 4 << 20;
    const KEPT: i32 = 64 << 20;
    // SAFETY: these calls change how memory is requested and returned; allocations keep their content.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
    let mut room: Vec<u8> = Vec::with_capacity(ROOM);
    let whole = room.spare_capacity_mut();
    let unaligned = whole.as_ptr().align_offset(4096);
    if let Some(pages) = whole.get_mut(unaligned..) {
        // SAFETY: the advice covers part of an empty buffer that we own, and populates its pages. A system
        // without this advice returns an error, which is harmless.
        unsafe {
            libc::madvise(pages.as_mut_ptr().cast(), pages.len(), libc::MADV_POPULATE_WRITE);
        }
    }
}
