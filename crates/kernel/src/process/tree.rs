//! What a process started and put into sessions of their own: a signal to its group does not reach it.

use std::fs;

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
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    Some((fields.get(GROUP)?.parse().ok()?, (*fields.get(BEGAN)?).to_owned()))
}
