//! Asks Linux to back a large buffer by large pages: a big notebook is then read without a page fault for
//! every 4 KiB of it.

/// The size from which it pays: memory that is rounded up to a large page is used too.
const LARGE: usize = 16 << 20;
const PAGE: usize = 4096;

/// Asks for large pages behind the room that `buffer` has. Only advice: a refusal changes nothing.
#[expect(unsafe_code, reason = "no safe wrapper gives advice about memory that is not a mapping of its own")]
pub(crate) fn advise(buffer: &mut Vec<u8>) {
    if buffer.capacity() < LARGE {
        return;
    }
    let start = (buffer.as_mut_ptr() as usize).next_multiple_of(PAGE);
    let end = (buffer.as_mut_ptr() as usize + buffer.capacity()) / PAGE * PAGE;
    // SAFETY: the range lies inside the buffer's own allocation, and this advice leaves its content alone.
    unsafe {
        libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
    }
}
