//! Leases: how Linux tells whether anyone has a file open, and keeps others from opening it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::Writers;

// Missing in the `libc` crate for most targets; the same on all of them.
const F_SETSIG: libc::c_int = 10;

/// Whether some process has `file` open for writing. `file` must be open for reading only.
pub(super) fn writers(file: &File) -> Writers {
    let granted = lease(file, libc::F_RDLCK);
    if granted == Writers::None {
        let _ = fcntl(file, libc::F_SETLEASE, libc::F_UNLCK);
    }
    granted
}

/// Blocks other opens of `file` until it is closed here, unless some process has it open already.
pub(super) fn keep_others_out(file: &File) -> Writers {
    lease(file, libc::F_WRLCK)
}

fn lease(file: &File, kind: libc::c_int) -> Writers {
    // An open of the file while we have the lease makes the kernel send a signal. SIGIO, the default, would
    // end this process; SIGURG is ignored unless asked for.
    let granted = fcntl(file, F_SETSIG, libc::SIGURG).and_then(|()| fcntl(file, libc::F_SETLEASE, kind));
    match granted {
        Ok(()) => Writers::None,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Writers::Some,
        // Not our file, or a file system without leases.
        Err(_) => Writers::Unknown,
    }
}

#[expect(unsafe_code, reason = "no safe wrapper of fcntl knows leases")]
fn fcntl(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` is borrowed, and both commands take a plain number.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
