//! What outlives a killed owner: a small process that holds a pipe to the owner of kernels and, when the pipe
//! closes, kills the process groups, with what they started outside of them, and removes the private files that are still registered.
//!
//! A record is a sign (`+` or `-`), a kind (`g` for a group, `p` for a path), its value, and a NUL byte, which no
//! path contains.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, setsid};
use tokio::signal::unix::{SignalKind, signal};

use crate::process::seal_descriptors;
use crate::process::tree::{self, Member};

/// The owner's end. Cheap to clone; the guard process starts with the first registration, in a thread of its
/// own, and ends with the last clone.
#[derive(Clone, Debug, Default)]
pub struct Guard(Option<Arc<Owner>>);

#[derive(Debug)]
struct Owner {
    program: PathBuf,
    arguments: Vec<OsString>,
    changes: OnceLock<Sender<Message>>,
}

impl Guard {
    /// A guard that runs `program` with `arguments`, which must end up in [`main`].
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Guard {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Guard(Some(Arc::new(Owner { program: program.into(), arguments, changes: OnceLock::new() })))
    }

    /// No guard: what is registered outlives an owner that is killed.
    pub fn none() -> Guard {
        Guard(None)
    }

    /// From now on the process group goes when the owner does.
    pub fn add_group(&self, group: u32) {
        self.tell(Change { add: true, what: What::Group(group) });
    }

    /// The process group is gone, or is no longer ours.
    pub fn remove_group(&self, group: u32) {
        self.tell(Change { add: false, what: What::Group(group) });
    }

    /// From now on the file, or the folder with all in it, goes when the owner does.
    pub fn add_path(&self, path: &Path) {
        self.tell(Change { add: true, what: What::Path(path.to_owned()) });
    }

    /// The file or folder is gone, or is no longer ours.
    pub fn remove_path(&self, path: &Path) {
        self.tell(Change { add: false, what: What::Path(path.to_owned()) });
    }

    /// Waits until the guard process knows of all that was registered. Without this, an owner that is killed at once
    /// may leave it behind.
    pub fn settle(&self) {
        // Longer than a process takes to start on a busy machine; then there is none to be had.
        const PATIENCE: Duration = Duration::from_secs(10);

        let (told, known) = channel();
        self.send(Message::Settle(told));
        let _ = known.recv_timeout(PATIENCE);
    }

    fn tell(&self, change: Change) {
        self.send(Message::Change(change));
    }

    fn send(&self, message: Message) {
        let Some(owner) = &self.0 else { return };
        let changes = owner.changes.get_or_init(|| {
            let (sender, receiver) = channel();
            let (program, arguments) = (owner.program.clone(), owner.arguments.clone());
            // A thread that cannot be had leaves its receiver dropped: then there is no guard, as with `none`.
            let _ = thread::Builder::new().name("guard".into()).spawn(move || {
                Link { program, arguments, held: BTreeSet::new(), running: None }.serve(&receiver)
            });
            sender
        });
        let _ = changes.send(message);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Group(u32),
    Path(PathBuf),
}

/// What the owner's thread is told.
#[derive(Debug)]
enum Message {
    Change(Change),
    /// Answer when all that came before is done.
    Settle(Sender<()>),
}

#[derive(Debug)]
struct Change {
    add: bool,
    what: What,
}

impl Change {
    fn record(add: bool, what: &What) -> Vec<u8> {
        let mut record = vec![if add { b'+' } else { b'-' }];
        match what {
            What::Group(group) => record.extend_from_slice(format!("g{group}").as_bytes()),
            What::Path(path) => {
                record.push(b'p');
                record.extend_from_slice(path.as_os_str().as_bytes());
            }
        }
        record.push(0);
        record
    }

    /// Reads a record without its NUL. A group must be one that can be killed without harm to others: 0 and 1
    /// mean "mine" and "everything" to the system.
    fn parse(record: &[u8]) -> Option<Change> {
        let (head, value) = record.split_at_checked(2)?;
        let what = match head[1] {
            b'g' => {
                let group = std::str::from_utf8(value).ok()?.parse().ok()?;
                (group > 1).then_some(What::Group(group))?
            }
            b'p' => What::Path(OsString::from_vec(value.to_vec()).into()),
            _ => return None,
        };
        match head[0] {
            b'+' => Some(Change { add: true, what }),
            b'-' => Some(Change { add: false, what }),
            _ => None,
        }
    }

    fn apply(self, held: &mut BTreeSet<What>) {
        if self.add {
            held.insert(self.what);
        } else {
            held.remove(&self.what);
        }
    }
}

/// The owner's thread: keeps what is registered, so that a guard that was lost can be replaced.
struct Link {
    program: PathBuf,
    arguments: Vec<OsString>,
    held: BTreeSet<What>,
    running: Option<(Child, io::PipeWriter)>,
}

impl Link {
    fn serve(mut self, changes: &Receiver<Message>) {
        while let Ok(message) = changes.recv() {
            let change = match message {
                Message::Change(change) => change,
                Message::Settle(told) => {
                    // Who does not wait any more need not know.
                    let _ = told.send(());
                    continue;
                }
            };
            let record = Change::record(change.add, &change.what);
            let adds = change.add;
            change.apply(&mut self.held);
            let told = match &mut self.running {
                Some((_, pipe)) => pipe.write_all(&record).is_ok(),
                None => !adds,
            };
            if !told {
                self.start();
            }
        }
        if let Some((mut guard, pipe)) = self.running.take() {
            drop(pipe);
            let _ = guard.wait();
        }
    }

    /// A guard that does not start is tried again with the next registration.
    fn start(&mut self) {
        if let Some((mut lost, pipe)) = self.running.take() {
            drop(pipe);
            let _ = lost.wait();
        }
        let Ok((guard, mut pipe)) = spawn(&self.program, &self.arguments) else { return };
        let records: Vec<u8> = self.held.iter().flat_map(|what| Change::record(true, what)).collect();
        if pipe.write_all(&records).is_ok() {
            self.running = Some((guard, pipe));
        }
    }
}

fn spawn(program: &Path, arguments: &[OsString]) -> io::Result<(Child, io::PipeWriter)> {
    seal_descriptors();
    let (reader, writer) = io::pipe()?;
    let guard = Command::new(program)
        .args(arguments)
        .env_clear()
        .current_dir("/")
        .stdin(reader)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((guard, writer))
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
    let held = read_until_closed(io::stdin().lock());
    clean_up(&held);
}

fn read_until_closed(mut pipe: impl Read) -> BTreeSet<What> {
    let mut held = BTreeSet::new();
    let mut pending = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => pending.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        while let Some(end) = pending.iter().position(|byte| *byte == 0) {
            let record: Vec<u8> = pending.drain(..=end).collect();
            if let Some(change) = Change::parse(&record[..end]) {
                change.apply(&mut held);
            }
        }
    }
    held
}

fn clean_up(held: &BTreeSet<What>) {
    const LONGEST: Duration = Duration::from_millis(500);
    const PAUSE: Duration = Duration::from_millis(5);

    let mut groups: Vec<Pid> = Vec::new();
    let mut paths: Vec<&Path> = Vec::new();
    for what in held {
        match what {
            What::Group(group) => groups.extend(i32::try_from(*group).ok().and_then(Pid::from_raw)),
            What::Path(path) => paths.push(path),
        }
    }
    let deadline = Instant::now() + LONGEST;
    let outside: Vec<Member> = groups.iter().flat_map(|group| tree::outside(*group)).collect();
    groups.retain(|group| kill_process_group(*group, Signal::KILL).is_ok());
    outside.iter().for_each(Member::kill);
    paths.iter().for_each(|path| remove(path));
    // Killed processes stay members of their group until someone reaps them, so the wait has an end.
    while !groups.is_empty() && Instant::now() < deadline {
        thread::sleep(PAUSE);
        groups.retain(|group| kill_process_group(*group, Signal::KILL).is_ok());
    }
    // A process may have written into its folder while it was being killed.
    paths.iter().for_each(|path| remove(path));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_registered_and_not_taken_back_is_held() {
        let group = What::Group(4711);
        let path = What::Path("/tmp/with\nnewline".into());
        let mut pipe = Vec::new();
        for (add, what) in [
            (true, &group),
            (true, &path),
            (true, &What::Group(12)),
            (false, &What::Group(12)),
            (false, &What::Group(99)),
        ] {
            pipe.extend(Change::record(add, what));
        }
        assert_eq!(read_until_closed(pipe.as_slice()), BTreeSet::from([group, path]));
    }

    #[test]
    fn groups_that_mean_everyone_and_records_cut_short_are_not_taken() {
        let pipe = b"+g0\0+g1\0+g-5\0+gx\0\0+\0?g7\0+x7\0+g123";
        assert_eq!(read_until_closed(pipe.as_slice()), BTreeSet::new());
    }
}
