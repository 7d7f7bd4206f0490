//! How a process ended, in words for people.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::event::Death;

const SIGKILL: i32 = 9;

/// The death that an exit status reports. `out_of_memory` tells whether the system ended a process for want of memory while
/// this one ran.
pub(super) fn death(status: ExitStatus, out_of_memory: bool) -> Death {
    match (status.code(), status.signal()) {
        (Some(code), _) => Death::Exit(code),
        (None, Some(SIGKILL)) if out_of_memory => Death::OutOfMemory,
        (None, Some(signal)) => Death::Signal(signal_name(signal)),
        (None, None) => Death::Unknown,
    }
}

/// How often the system ended a process of our control group for want of memory; none where it does not say.
pub(super) fn memory_kills() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let events = fs::read_to_string(format!("/sys/fs/cgroup{own}/memory.events"))
        .or_else(|_| fs::read_to_string("/sys/fs/cgroup/memory.events"))
        .ok()?;
    let count = events.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
    count.trim().parse().ok()
}

fn signal_name(signal: i32) -> String {
    // The names whose numbers are the same on every system that we run on come first.
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        #[cfg(target_os = "linux")]
        7 => "SIGBUS",
        #[cfg(target_os = "linux")]
        10 => "SIGUSR1",
        #[cfg(target_os = "linux")]
        12 => "SIGUSR2",
        #[cfg(target_os = "linux")]
        31 => "SIGSYS",
        #[cfg(target_os = "macos")]
        10 => "SIGBUS",
        #[cfg(target_os = "macos")]
        12 => "SIGSYS",
        #[cfg(target_os = "macos")]
        30 => "SIGUSR1",
        #[cfg(target_os = "macos")]
        31 => "SIGUSR2",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_status_is_read_as_people_say_it() {
        let read = |raw, out_of_memory| death(ExitStatus::from_raw(raw), out_of_memory);
        assert_eq!(read(0, false), Death::Exit(0));
        assert_eq!(read(3 << 8, true), Death::Exit(3));
        assert_eq!(read(11, false), Death::Signal("SIGSEGV".into()));
        assert_eq!(read(9, false), Death::Signal("SIGKILL".into()));
        assert_eq!(read(9, true), Death::OutOfMemory);
        assert_eq!(read(40, false), Death::Signal("signal 40".into()));
    }
}
