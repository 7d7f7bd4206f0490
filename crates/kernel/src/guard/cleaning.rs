//! The guard's own process: it reads registrations until its owner is gone, then kills and removes the registered remains.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, setsid};
use tokio::signal::unix::{SignalKind, signal};

use super::held::Held;
use super::ledger;
use crate::process::tree::{self, Member};

/// How long an owner may take to end after it has closed its pipe.
const OWNER_ENDS: Duration = Duration::from_secs(1);

/// Whether a group is killed whose leader is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaders {
    /// The owner has only just gone, so the number is still the group's.
    MayBeGone,
    /// The number may be another group's by now.
    MustLive,
}

/// The guard's whole life: reads registrations from standard input until it closes, then cleans up.
pub fn main() {
    // Fails only for the leader of a group, which is then out of reach of the terminal's keys already.
    let _ = setsid();
    // A listener takes the place of the default action, which is all that is wanted of it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let _entered = runtime.as_ref().ok().map(|runtime| runtime.enter());
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
    let _listeners: Vec<_> = kinds.into_iter().map(signal).collect();
    let mut held = read_until_closed(io::stdin().lock());
    // The owner may have been killed between writing a change down and telling us.
    if let Some(written) = held.ledger.take().and_then(|path| ledger::take_over(&path, OWNER_ENDS)) {
        held.groups.extend(written.groups);
        held.paths.extend(written.paths);
    }
    clean_up(&held, Leaders::MayBeGone);
}

fn read_until_closed(mut pipe: impl Read) -> Held {
    let mut held = Held::default();
    let mut pending = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => pending.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        held.read(&mut pending);
    }
    held
}

/// Kills the groups with their children outside of them, and removes the paths. Returns how many groups there were.
pub(super) fn clean_up(held: &Held, leaders: Leaders) -> usize {
    const LONGEST: Duration = Duration::from_millis(500);
    const PAUSE: Duration = Duration::from_millis(5);

    let is_ours = |group: u32, began: Option<&str>| match (began, tree::began(group)) {
        // Another process has the number now.
        (Some(then), Some(now)) if then != now => false,
        (Some(_), Some(_)) => true,
        (_, None) | (None, _) => leaders == Leaders::MayBeGone,
    };
    let known = held.groups.iter().filter(|(group, began)| is_ours(**group, began.as_deref()));
    let known = known.filter_map(|(group, _)| i32::try_from(*group).ok().and_then(Pid::from_raw));
    let mut groups: Vec<Pid> = known.chain(held.paths.iter().flat_map(|path| unregistered(path))).collect();
    groups.sort_by_key(|group| group.as_raw_nonzero());
    groups.dedup();
    let deadline = Instant::now() + LONGEST;
    let outside: Vec<Member> = groups.iter().flat_map(|group| tree::outside(*group)).collect();
    groups.retain(|group| kill_process_group(*group, Signal::KILL).is_ok());
    let killed = groups.len();
    outside.iter().for_each(Member::kill);
    held.paths.iter().for_each(|path| remove(path));
    // Killed processes stay members of their group until they are reaped, so the wait has an end.
    while !groups.is_empty() && Instant::now() < deadline {
        thread::sleep(PAUSE);
        groups.retain(|group| kill_process_group(*group, Signal::KILL).is_ok());
    }
    // A process may have written into its folder while it was being killed.
    held.paths.iter().for_each(|path| remove(path));
    killed
}

/// Kernels of a private folder that were started and not registered any more. Each leads a session, and was given the
/// connection file in the folder, which nobody else knows.
fn unregistered(folder: &Path) -> Vec<Pid> {
    let file = folder.join("connection.json");
    if !file.exists() {
        return Vec::new();
    }
    tree::session_leaders_with(file.as_os_str())
}

/// Removes a file or a folder that is there no more in the end, whatever it is.
fn remove(path: &Path) {
    let is_ours = path.is_absolute() && path.file_name().is_some_and(|name| name != OsStr::new(".."));
    if !is_ours {
        return;
    }
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => drop(fs::remove_dir_all(path)),
        Ok(_) => drop(fs::remove_file(path)),
        Err(_) => {}
    }
}
