//! Faults on purpose, for tests. A debug build fails where a file says so that `CELLIST_FAULTS` names: the `n`-th time
//! that a thread, a process, a file or a large buffer is wanted, or the next time that some work is done. Release builds
//! know nothing of it.

/// What may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A thread.
    Thread,
    /// A process.
    Process,
    /// A descriptor.
    File,
    /// A large buffer.
    Memory,
}

/// Asks for something that may be missing.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn point(_: Kind) -> std::io::Result<()> {
    Ok(())
}

/// Begins work that may panic.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn panic_point(_: &str) {}

#[cfg(debug_assertions)]
pub use planned::{panic_point, point};

#[cfg(debug_assertions)]
mod planned {
    use std::fs;
    use std::io;
    use std::path::PathBuf;
    use std::sync::{Mutex, OnceLock, PoisonError};

    use rustix::io::Errno;

    use super::Kind;

    /// The plan that was read last, and how many points were passed since.
    static PASSED: Mutex<(String, u64)> = Mutex::new((String::new(), 0));

    /// The file with the plan: `fail N` or `panic WHERE`. It is removed when it was carried out.
    fn file() -> Option<&'static PathBuf> {
        static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
        FILE.get_or_init(|| std::env::var_os("CELLIST_FAULTS").map(PathBuf::from)).as_ref()
    }

    /// Asks for something that may be missing.
    pub fn point(kind: Kind) -> io::Result<()> {
        let Some(file) = file() else { return Ok(()) };
        let Ok(plan) = fs::read_to_string(file) else { return Ok(()) };
        let wanted = plan.strip_prefix("fail ").and_then(|number| number.trim().parse::<u64>().ok());
        let Some(wanted) = wanted else { return Ok(()) };
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        if passed.0 != plan {
            *passed = (plan, 0);
        }
        passed.1 += 1;
        if passed.1 != wanted {
            return Ok(());
        }
        let _ = fs::remove_file(file);
        Err(match kind {
            Kind::Thread | Kind::Process => Errno::AGAIN.into(),
            Kind::File => Errno::MFILE.into(),
            Kind::Memory => Errno::NOMEM.into(),
        })
    }

    /// Begins work that may panic.
    pub fn panic_point(place: &str) {
        let Some(file) = file() else { return };
        let is_planned = fs::read_to_string(file).is_ok_and(|plan| plan.trim() == format!("panic {place}"));
        if is_planned && fs::remove_file(file).is_ok() {
            panic!("a fault of the test in {place}");
        }
    }
}
