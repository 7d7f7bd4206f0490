//! Memory for commands that are over in a few milliseconds: a good part of that time would go into asking for it page by
//! page, and into giving it back.

/// What such a command needs for a notebook of a thousand cells.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ROOM: usize = 1 << 20;

/// Makes room at once, where the system can. For commands that end soon: what they free is not given back before.
pub(crate) fn preallocate() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    populate_heap();
}

/// Leaves a value to the end of the process, which is near: to take a large one apart would be of use to nobody.
pub(crate) fn leak<T>(value: T) {
    std::mem::forget(value);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "there are no safe calls for advice on memory")]
fn populate_heap() {
    /// Buffers from this size on still come from the system and go back to it.
    const LARGE: i32 = 4 << 20;
    const KEPT: i32 = 64 << 20;
    // SAFETY: these change how memory is asked for and given back, not what anyone holds.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
    let mut room: Vec<u8> = Vec::with_capacity(ROOM);
    let whole = room.spare_capacity_mut();
    let unaligned = whole.as_ptr().align_offset(4096);
    if let Some(pages) = whole.get_mut(unaligned..) {
        // SAFETY: the advice covers a part of a buffer of ours that holds nothing, and fills it with pages. A system that does
        // not know it refuses, which is as good.
        unsafe {
            libc::madvise(pages.as_mut_ptr().cast(), pages.len(), libc::MADV_POPULATE_WRITE);
        }
    }
}
