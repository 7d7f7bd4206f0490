//! Remains of processes, read from `/proc`.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The living processes of a group, without zombies.
pub(crate) fn in_group(group: u32) -> Vec<u32> {
    processes(|fields| fields[2] == group.to_string() && fields[0] != "Z")
}

/// The living children of a process.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    processes(|fields| fields[1] == parent.to_string() && fields[0] != "Z")
}

/// Waits until nothing of a group lives; fails after the two seconds that it may take.
pub(crate) fn until_gone(group: u32) {
    let began = Instant::now();
    loop {
        let left = in_group(group);
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(2), "of group {group} are left: {left:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The processes whose state, parent and group are as wanted.
fn processes(wanted: impl Fn(&[&str]) -> bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { return false };
        // The name stands in parentheses and may contain anything.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split_whitespace().collect();
        fields.len() > 2 && wanted(&fields)
    })
    .collect()
}
