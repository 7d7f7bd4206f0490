//! Children of a process in sessions of their own: a signal to its group does not reach them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use rustix::process::{Pid, Signal, kill_process};

/// A process, known by its number and by when it began, so that another one with its number is not taken for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pid: Pid,
    began: String,
}

impl Member {
    /// Kills it, if it still lives.
    pub(crate) fn kill(&self) {
        if stat(self.pid).is_some_and(|(_, began)| began == self.began) {
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }
}

/// The living descendants of a group's leader that are in other groups. Nobody knows them once the leader is gone;
/// only Linux tells of them.
pub(crate) fn outside(group: Pid) -> Vec<Member> {
    let (mut found, mut next) = (Vec::new(), children(group));
    while let Some(pid) = next.pop() {
        next.extend(children(pid));
        if let Some((its_group, began)) = stat(pid)
            && its_group != group.as_raw_nonzero().get()
        {
            found.push(Member { pid, began });
        }
    }
    found
}

/// When a process began, in words that no other process of its number has: on this system, since it was booted, in this
/// space of numbers. `None` when it is gone, or the system does not tell.
pub(crate) fn began(process: u32) -> Option<String> {
    static MACHINE: OnceLock<String> = OnceLock::new();
    let (_, began) = stat(Pid::from_raw(i32::try_from(process).ok()?)?)?;
    let machine = MACHINE.get_or_init(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        format!("{} {}", boot.trim(), space.display())
    });
    Some(format!("{began} {machine}"))
}

/// The living processes that lead their session and have this word among their arguments.
pub(crate) fn session_leaders_with(argument: &OsStr) -> Vec<Pid> {
    const SESSION: usize = 3;
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| pid(entry.file_name().to_str()?));
    let has_it = |pid: &Pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())
    };
    let leads = |pid: &Pid| {
        fields(*pid).is_some_and(|fields| fields.get(SESSION).is_some_and(|id| *id == pid.to_string()))
    };
    pids.filter(|pid| has_it(pid) && leads(pid)).collect()
}

fn children(of: Pid) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(pid).collect::<Vec<_>>()).collect()
}

fn pid(number: &str) -> Option<Pid> {
    Pid::from_raw(number.parse().ok()?)
}

/// The group of a process, and when it began.
fn stat(pid: Pid) -> Option<(i32, String)> {
    const GROUP: usize = 2;
    const BEGAN: usize = 19;
    let fields = fields(pid)?;
    Some((fields.get(GROUP)?.parse().ok()?, fields.get(BEGAN)?.to_owned()))
}

/// The system's line about a process, from its state on.
fn fields(pid: Pid) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may contain anything.
    Some(stat.rsplit_once(") ")?.1.split_whitespace().map(str::to_owned).collect())
}
