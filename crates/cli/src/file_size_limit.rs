//! The limit on the size of files that the system sets for this process.

use std::ptr;

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error. By default a signal ends the
/// process in the middle of a save. The handler does nothing: an ignored signal would stay ignored in child
/// processes, while `exec` resets a handler.
#[expect(unsafe_code, reason = "there is no safe call that sets a handler without a runtime")]
pub(crate) fn turn_signal_into_error() {
    extern "C" fn do_nothing(_: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = do_nothing;
    // SAFETY: all zeros is a valid action without flags and with an empty mask, and the handler touches nothing. Should
    // the call fail, the signal keeps its earlier action.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, &raw const action, ptr::null_mut());
    }
}
