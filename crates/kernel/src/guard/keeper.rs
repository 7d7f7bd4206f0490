//! The owner's thread: starts the guard process, tells it of every change, and replaces it as soon as it has died.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cellist_platform::fault::{self, Site};

use super::held::{Change, Held};
use super::ledger;
use crate::process::seal_descriptors;

/// A guard that lived for this long did not die of its own start.
const SOUND: Duration = Duration::from_secs(10);
/// So many guards that died young are replaced at once; then there is a pause before each.
const AT_ONCE: u32 = 5;
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A command for the thread.
#[derive(Debug)]
pub(super) enum KeeperMessage {
    Change(Change),
    /// Remove leftovers of others.
    Sweep,
    /// Answer when all that came before is done.
    Settle(Sender<()>),
    /// The guard process of this number has ended.
    Lost(u32, io::Result<ExitStatus>),
    /// The owner needs no guard any more.
    End,
}

/// Keeps all that is registered, so that a guard that was lost can be replaced.
pub(super) struct Keeper {
    command: (PathBuf, Vec<OsString>),
    runtime_dir: Option<PathBuf>,
    log: Option<fn(&str)>,
    held: Held,
    running: Option<RunningGuard>,
    /// How many died young, one after the other.
    losses: u32,
    /// When to start the next, where one is needed.
    due: Option<Instant>,
    has_swept: bool,
    own: Sender<KeeperMessage>,
}

struct RunningGuard {
    pid: u32,
    pipe: io::PipeWriter,
    began: Instant,
    /// Waits for the process and tells of its end.
    watcher: JoinHandle<()>,
}

impl Keeper {
    pub(super) fn new(
        command: (PathBuf, Vec<OsString>),
        runtime_dir: Option<PathBuf>,
        log: Option<fn(&str)>,
        own: Sender<KeeperMessage>,
    ) -> Keeper {
        Keeper {
            command,
            runtime_dir,
            log,
            held: Held::default(),
            running: None,
            losses: 0,
            due: None,
            has_swept: false,
            own,
        }
    }

    pub(super) fn serve(mut self, messages: &Receiver<KeeperMessage>) {
        loop {
            let received = match self.due {
                // Not after queued commands: a caller that settles counts on it.
                Some(due) if due <= Instant::now() => Err(RecvTimeoutError::Timeout),
                Some(due) => messages.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match received {
                Ok(KeeperMessage::Change(change)) => self.change(change),
                Ok(KeeperMessage::Sweep) => self.sweep(),
                // The receiver is gone where nobody waits any more.
                Ok(KeeperMessage::Settle(told)) => drop(told.send(())),
                Ok(KeeperMessage::Lost(pid, status)) => self.lost(pid, status),
                Ok(KeeperMessage::End) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.start(),
            }
        }
        match self.running.take() {
            Some(RunningGuard { pipe, watcher, .. }) => {
                drop(pipe);
                let _ = watcher.join();
            }
            // There is no guard to remove it.
            None if self.held.is_empty() => {
                let _ = self.held.ledger.take().map(std::fs::remove_file);
            }
            None => {}
        }
    }

    fn change(&mut self, change: Change) {
        let record = change.record();
        let adds = matches!(change, Change::Add(_));
        self.held.apply(change);
        if let Some(running) = &mut self.running {
            // A guard that cannot be told is gone, and its watcher says so.
            let _ = running.pipe.write_all(&record);
        } else if adds && self.due.is_none() {
            self.start();
            // After our own are safe: leftovers can take a moment.
            if !self.has_swept {
                self.sweep();
            }
        }
    }

    fn sweep(&mut self) {
        self.has_swept = true;
        let Some(runtime_dir) = &self.runtime_dir else { return };
        let (kernels, folders) = ledger::sweep(runtime_dir);
        if kernels + folders > 0 {
            self.note(&format!(
                "removed leftovers of killed processes: {kernels} kernels, {folders} folders"
            ));
        }
    }

    fn lost(&mut self, pid: u32, status: io::Result<ExitStatus>) {
        let Some(running) = self.running.take_if(|running| running.pid == pid) else { return };
        self.losses = if running.began.elapsed() < SOUND { self.losses + 1 } else { 1 };
        let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        self.again(&format!("the guard of the kernels (process {pid}) ended: {how}"));
    }

    /// Starts a guard that knows all that is registered.
    fn start(&mut self) {
        self.due = None;
        let started = spawn(&self.command.0, &self.command.1).and_then(|(guard, mut pipe)| {
            let (pid, own) = (guard.id(), self.own.clone());
            let watcher = watch(guard, own)?;
            // Only now: a guard that knows of kernels ends them when its pipe closes. One that has died meanwhile is
            // noticed by its watcher.
            let _ = pipe.write_all(&self.held.records());
            Ok(RunningGuard { pid, pipe, began: Instant::now(), watcher })
        });
        match started {
            Ok(running) => self.running = Some(running),
            Err(error) => {
                self.losses += 1;
                self.again(&format!("the guard of the kernels cannot be started: {error}"));
            }
        }
    }

    fn again(&mut self, why: &str) {
        if self.held.is_empty() {
            // The next registration starts one.
            return self.note(why);
        }
        match pause(self.losses) {
            Duration::ZERO => {
                self.note(&format!("{why}; another is started"));
                self.due = Some(Instant::now());
            }
            pause => {
                self.note(&format!("{why}; another is started in {} s", pause.as_secs()));
                self.due = Some(Instant::now() + pause);
            }
        }
    }

    fn note(&self, line: &str) {
        if let Some(log) = self.log {
            log(line);
        }
    }
}

/// How long to wait before the next guard when so many died young.
fn pause(losses: u32) -> Duration {
    match losses.checked_sub(AT_ONCE) {
        None | Some(0) => Duration::ZERO,
        Some(more) => Duration::from_secs(1 << more.min(10)).min(LONGEST_PAUSE),
    }
}

fn spawn(program: &Path, arguments: &[OsString]) -> io::Result<(Child, io::PipeWriter)> {
    seal_descriptors();
    let (reader, writer) = fault::pipe(Site::GuardPipe)?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir("/");
    command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null());
    let guard = fault::process(Site::GuardProcess, &mut command)?;
    // The command owns our copy of the reader.
    drop(command);
    Ok((guard, writer))
}

/// A thread that reaps the guard. Where there is none to be had the guard goes again: its pipe closes.
fn watch(mut guard: Child, own: Sender<KeeperMessage>) -> io::Result<JoinHandle<()>> {
    let builder = thread::Builder::new().name("guard watch".into()).stack_size(64 * 1024);
    fault::thread(Site::GuardWatchThread, builder, move || {
        let pid = guard.id();
        let status = guard.wait();
        let _ = own.send(KeeperMessage::Lost(pid, status));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_that_die_young_are_replaced_at_once_and_then_ever_more_slowly() {
        let pauses: Vec<u64> = [0, 1, 5, 6, 7, 8, 11, 12, 1000].map(|losses| pause(losses).as_secs()).into();
        assert_eq!(pauses, [0, 0, 0, 2, 4, 8, 60, 60, 60]);
    }
}
