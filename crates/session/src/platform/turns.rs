//! How long a thread works before another may have its core. Linux counts it in whole ticks of its clock where nothing
//! else is asked for: with all cores busy, one of them reading what a program prints without end, the few steps of a small
//! cell may wait for such a tick each.

use std::mem::MaybeUninit;

/// In nanoseconds; the least that Linux takes.
const TURN: u64 = 100_000;

/// Gives this thread, and all that it starts from now on, short turns: it waits less and gives way sooner, and its share
/// of the machine stays the same. Only advice: systems that know nothing of it change nothing.
#[expect(unsafe_code, reason = "there is no safe call for this advice to the scheduler")]
pub(crate) fn shorten() {
    const SIZE: usize = size_of::<libc::sched_attr>();
    let mut found = MaybeUninit::<libc::sched_attr>::zeroed();
    // SAFETY: it fills a structure of ours, whose size it is told. Zeroes are a valid one.
    let mut attributes = unsafe {
        if libc::syscall(libc::SYS_sched_getattr, 0, found.as_mut_ptr(), SIZE, 0) != 0 {
            return;
        }
        found.assume_init()
    };
    // What was asked for on purpose, such as work for idle times, is left as it is.
    if attributes.sched_policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attributes.sched_runtime = TURN;
    // SAFETY: it reads a structure of ours that the system itself has filled.
    unsafe {
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_start_afterwards_take_short_turns_too() {
        let of_the_child = std::thread::spawn(|| {
            shorten();
            std::thread::spawn(turn).join().expect("a thread that only reads")
        });
        let found = of_the_child.join().expect("a thread that only asks");
        // Linux has it from 6.12 on, and not every one of them tells.
        assert!(!takes_advice() || found.is_none_or(|turn| turn == TURN), "{found:?}");
    }

    fn turn() -> Option<u64> {
        let told = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
        let line = told.lines().find(|line| line.starts_with("se.slice"))?;
        line.rsplit(':').next()?.trim().parse().ok()
    }

    fn takes_advice() -> bool {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split('.').map_while(|part| part.parse::<u32>().ok());
        (numbers.next(), numbers.next()) >= (Some(6), Some(12))
    }
}
