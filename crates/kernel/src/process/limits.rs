//! How many files may be open. A process that owns many kernels needs more than is usual; its children do not,
//! and programs that count on the usual limit get it back.

use std::fs::{self, File};
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::process::Command;

use crate::error::is_out_of_files;

/// The limit before it was raised.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Raises our own limit as far as the system allows, and returns it. Processes that are started from now on get the
/// former one.
pub fn raise_open_files() -> Option<u64> {
    let before = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: before.maximum, maximum: before.maximum };
    // A second time there is nothing to raise, and the first limit is the one to give back.
    let _ = BEFORE.set(before);
    match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => wanted.current,
        Err(_) => before.current,
    }
}

/// More than the owner of a kernel needs for it.
pub(crate) const FOR_A_KERNEL: u32 = 32;

/// Whether a kernel finds the files that it needs. Where it does not, the failure of a start may look like anything.
pub fn has_files_for_a_kernel() -> bool {
    let opened = std::iter::repeat_with(|| File::open("/dev/null")).take(FOR_A_KERNEL as usize);
    let opened: std::io::Result<Vec<File>> = opened.collect();
    !opened.is_err_and(|error| is_out_of_files(&error))
}

/// How many files a process has open, and how many it may have, where the system tells.
pub(crate) fn open_files(pid: u32) -> Option<(u64, u64)> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64;
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    // The first number is the limit; without one there is none.
    Some((open, line.split_whitespace().next()?.parse().ok()?))
}

/// Gives the process that `command` starts the limit that we had at first.
pub(super) fn restore(command: &mut Command) {
    let Some(before) = BEFORE.get().copied() else { return };
    #[expect(unsafe_code, reason = "between fork and exec there is no other place to run code in")]
    // SAFETY: it makes one system call, on a copied value: no memory is asked for and no lock is taken.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(Resource::Nofile, before)?));
    }
}
