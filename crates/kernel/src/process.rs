//! A child process in a session and group of its own: started with exactly the given inputs, watched until it dies, killed
//! as a tree.

mod death;
mod limits;
pub(crate) mod tree;

use std::ffi::OsString;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};

use cellist_platform::without_number;
use command_fds::{CommandFdExt, FdMapping};
use process_wrap::tokio::{CommandWrap, CommandWrapper, ProcessSession};
use rustix::process::{Pid, kill_process_group};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

pub(crate) use limits::{FOR_A_KERNEL, open_files};
pub use limits::{has_files_for_a_kernel, raise_open_files};
pub use rustix::process::Signal;

use crate::error::{Error, Result, is_out_of_files};
use crate::event::Death;
use crate::guard::Guard;
use cellist_platform::fault::{self, Site};
use tree::Member;

/// The inputs of a process. Nothing else of ours reaches it: no variable, no descriptor.
#[derive(Debug)]
pub struct Spawn {
    /// The program; a name without a slash is looked up on the `PATH` of `environment`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder to run in; it must exist.
    pub cwd: PathBuf,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Standard input.
    pub stdin: Stdio,
    /// Standard output.
    pub stdout: Stdio,
    /// Standard error.
    pub stderr: Stdio,
    /// Further descriptors, each with the number it has in the child. Ours are closed once it runs.
    pub descriptors: Vec<(OwnedFd, RawFd)>,
}

/// A running child. Dropping it kills the rest of its group, as a backstop.
#[derive(Debug)]
pub struct Process {
    group: Pid,
    death: watch::Receiver<Option<Death>>,
    // Set before we kill, so that our own SIGKILL is not taken for the system's.
    killed: Arc<AtomicBool>,
    // Its children outside its group, as far as we looked. They go when the process has.
    outside: Outside,
}

type Outside = Arc<Mutex<Vec<Member>>>;

impl Process {
    /// Starts it, registered with the guard until its whole group is gone. Needs a tokio runtime.
    pub fn spawn(spawn: Spawn, guard: &Guard) -> Result<Process> {
        let Spawn { program, arguments, cwd, environment, stdin, stdout, stderr, descriptors } = spawn;
        if !cwd.is_dir() {
            return Err(Error::NoFolder { path: cwd });
        }
        seal_descriptors();
        unignore_interrupts();
        let cannot_start = |reason: String| Error::CannotStart { program: program.clone(), reason };
        let mut command = Command::new(&program);
        command
            .args(arguments)
            .env_clear()
            .envs(environment)
            .current_dir(cwd)
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr);
        // A session of its own is a group of its own, too, and without a terminal: a program that asks for a
        // password there fails, where it would be stopped for good if it were only in the background.
        let core = CommandWrap::from(Command::new(&program));
        ProcessSession.pre_spawn(&mut command, &core).map_err(|error| cannot_start(error.to_string()))?;
        limits::restore(&mut command);
        if !descriptors.is_empty() {
            let mappings = descriptors
                .into_iter()
                .map(|(parent_fd, child_fd)| FdMapping { parent_fd, child_fd })
                .collect();
            command.fd_mappings(mappings).map_err(|collision| cannot_start(collision.to_string()))?;
        }
        let memory_kills = death::memory_kills();
        let spawned = fault::point(Site::KernelProcess).and_then(|()| command.spawn());
        let mut child = spawned.map_err(|source| match is_out_of_files(&source) {
            true => Error::Io { what: format!("{} cannot be started", program.display()), source },
            false => cannot_start(why_not_started(&source)),
        })?;
        // The command owns our ends of the inherited pipes: a reader must see the end when the child closes it.
        drop(command);
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group = group.ok_or_else(|| cannot_start("it ended at once".into()))?;
        guard.add_group(number(group));

        let (tell, death) = watch::channel(None);
        let killed = Arc::new(AtomicBool::new(false));
        let outside = Outside::default();
        let process = Process { group, death, killed: killed.clone(), outside: outside.clone() };
        let guard = guard.clone();
        tokio::spawn(async move {
            let status = child.wait().await;
            // Whatever it left running goes with it; its number cannot be given to another group while one
            // of them lives.
            let _ = kill_process_group(group, Signal::KILL);
            outside.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Member::kill);
            guard.remove_group(number(group));
            let starved = !killed.load(Ordering::Relaxed) && death::memory_kills() > memory_kills;
            let death = status.map_or(Death::Unknown, |status| death::death(status, starved));
            tell.send_replace(Some(death));
        });
        Ok(process)
    }

    /// Its process id, which is also its group's.
    pub fn id(&self) -> u32 {
        number(self.group)
    }

    /// How it ended, when it has, now and from now on.
    pub fn death(&self) -> watch::Receiver<Option<Death>> {
        self.death.clone()
    }

    /// Whether we ended it by force.
    pub(crate) fn was_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// Waits until it has ended and was reaped; its children are killed by then. May be dropped and called again.
    pub async fn wait(&self) -> Death {
        let mut death = self.death.clone();
        match death.wait_for(Option::is_some).await {
            Ok(death) => death.clone().unwrap_or(Death::Unknown),
            Err(_) => Death::Unknown,
        }
    }

    /// Sends a signal to the whole group; nothing happens when the process is gone.
    pub fn signal(&self, signal: Signal) {
        if self.death.borrow().is_none() {
            let _ = kill_process_group(self.group, signal);
        }
    }

    /// Records its children, so that they go with it although it is asked to leave by itself: once it has left,
    /// children in a session of their own cannot be found any more.
    pub(crate) fn look_at_tree(&self) {
        let found = tree::outside(self.group);
        self.outside.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }

    /// Kills the group at once, with its children in sessions of their own, and waits until the process was reaped.
    pub async fn kill_tree(&self) -> Death {
        self.kill();
        self.wait().await
    }

    /// Kills all of that and waits for nothing.
    pub(crate) fn kill(&self) {
        if self.death.borrow().is_none() {
            self.look_at_tree();
            self.killed.store(true, Ordering::Relaxed);
            let _ = kill_process_group(self.group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Makes sure that nothing which our own parent left open reaches a child. Ours are close-on-exec from the start.
pub(crate) fn seal_descriptors() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| close_fds::set_fds_cloexec(3, &[]));
}

/// Makes sure that interrupts reach a child although we were started without them, as a shell starts jobs in the
/// background: children inherit ignored signals. A listener that nobody hears is as good for us.
fn unignore_interrupts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        for number in ignored(&status).filter(|number| [INTERRUPT, QUIT].contains(number)) {
            let _ = signal(SignalKind::from_raw(number));
        }
    });
}

const INTERRUPT: i32 = 2;
const QUIT: i32 = 3;

/// The signals that are ignored, as Linux tells it of a process.
fn ignored(status: &str) -> impl Iterator<Item = i32> + use<> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    (1..=64).filter(move |number| mask >> (number - 1) & 1 == 1)
}

fn number(group: Pid) -> u32 {
    group.as_raw_nonzero().get().unsigned_abs()
}

/// Why a program does not start.
fn why_not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such program".into(),
        io::ErrorKind::PermissionDenied => "it is not a program, or may not be run".into(),
        _ => without_number(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_off_a_mask() {
        let status =
            "Name:\tsh\nSigBlk:\t0000000000000000\nSigIgn:\t0000000080000006\nSigCgt:\t0000000000010000\n";
        assert_eq!(ignored(status).collect::<Vec<_>>(), [INTERRUPT, QUIT, 32]);
        assert_eq!(ignored("").count(), 0);
    }
}
