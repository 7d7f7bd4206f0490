//! The ledger: all that an owner has registered, in a file that it holds locked for as long as it lives. A ledger that is
//! not locked belongs to an owner that is gone; whatever it names and still exists is removed.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::geteuid;

use super::cleaning::{self, Leaders};
use super::held::{Change, Held};
use crate::jupyter::message::random_hex;

/// How long a kernel may take until it listens: a younger folder that no ledger names is let be.
const STARTING: Duration = Duration::from_secs(120);
/// How often a lock is tried while its owner ends.
const RETRY: Duration = Duration::from_millis(2);

/// The ledger of an owner that lives.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    file: File,
    held: Held,
}

fn folder(runtime_dir: &Path) -> PathBuf {
    runtime_dir.join("held")
}

impl Ledger {
    pub(super) fn create(runtime_dir: &Path) -> io::Result<Ledger> {
        let folder = folder(runtime_dir);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        // The guard works from another folder.
        let folder = folder.canonicalize()?;
        loop {
            let path = folder.join(random_hex(8)?);
            let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path)?;
            match file.try_lock() {
                // A sweep may have taken it for a leftover in between.
                Ok(()) if is_at(&file, &path) => return Ok(Ledger { path, file, held: Held::default() }),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    let _ = fs::remove_file(&path);
                    return Err(error);
                }
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A change that cannot be written (the disk is full) is still known to the guard process.
    pub(super) fn append(&mut self, change: &Change) {
        self.held.apply(change.clone());
        if self.held.is_empty() {
            let _ = self.file.set_len(0);
        } else {
            let _ = self.file.write_all(&change.record());
        }
    }
}

/// The registrations of an owner that is gone. Removes the ledger; `None` while its owner lives, or when another process
/// has taken it over. Waits up to `patience` for an owner that is about to end: the system closes its files one by one.
pub(super) fn take_over(path: &Path, patience: Duration) -> Option<Held> {
    let mut file = File::open(path).ok()?;
    let is_ours = file.metadata().is_ok_and(|ledger| ledger.uid() == geteuid().as_raw());
    if !is_ours || !is_locked_within(&file, patience) || !is_at(&file, path) {
        return None;
    }
    let (mut held, mut records) = (Held::default(), Vec::new());
    file.read_to_end(&mut records).ok()?;
    held.read(&mut records);
    fs::remove_file(path).ok()?;
    Some(held)
}

fn is_locked_within(file: &File, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while file.try_lock().is_err() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(RETRY);
    }
    true
}

/// Removes leftovers of owners that are gone, and returns how many kernels and folders they were.
pub(super) fn sweep(runtime_dir: &Path) -> (usize, usize) {
    let Ok(runtime_dir) = runtime_dir.canonicalize() else { return (0, 0) };
    let ledgers = entries(&folder(&runtime_dir));
    let mut left = Held::default();
    for found in ledgers.iter().filter_map(|path| take_over(path, Duration::ZERO)) {
        left.groups.extend(found.groups);
        left.paths.extend(found.paths);
    }
    left.paths.retain(|path| is_private_folder(path, &runtime_dir));
    left.paths.extend(unlisted(&runtime_dir));
    if left.is_empty() {
        return (0, 0);
    }
    // Long after its owner, a number may be another process's.
    (cleaning::clean_up(&left, Leaders::MustLive), left.paths.len())
}

/// Folders of kernels that no ledger names: those of an earlier version. Nobody may listen in them any more.
fn unlisted(runtime_dir: &Path) -> Vec<PathBuf> {
    let mut alive = Held::default();
    for ledger in entries(&folder(runtime_dir)) {
        alive.read(&mut fs::read(ledger).unwrap_or_default());
    }
    let is_old = |path: &Path| {
        let changed = fs::symlink_metadata(path).and_then(|folder| folder.modified());
        changed.is_ok_and(|then| SystemTime::now().duration_since(then).is_ok_and(|age| age > STARTING))
    };
    let is_silent = |path: &Path| {
        // By ports it cannot be told, so they count as in use.
        path.join("s-1").exists() && UnixStream::connect(path.join("s-1")).is_err()
    };
    let mut folders = entries(runtime_dir);
    folders.retain(|path| {
        is_private_folder(path, runtime_dir) && !alive.paths.contains(path) && is_old(path) && is_silent(path)
    });
    folders
}

/// Whether a path is a folder of the kind that we make for kernels and sockets, of this user. A ledger is a file that others
/// may have written, where the state folder is badly kept; it must not be able to name anything else.
fn is_private_folder(path: &Path, runtime_dir: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_hex = |rest: &str| rest.len() >= 10 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_named = name.strip_prefix('k').or(name.strip_prefix("cellist-")).is_some_and(is_hex);
    let is_placed = path.parent().is_some_and(|parent| parent == runtime_dir || parent == Path::new("/tmp"));
    is_named
        && is_placed
        && fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn is_at(file: &File, path: &Path) -> bool {
    let number = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata().map(number), fs::symlink_metadata(path).map(number)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::super::held::What;
    use super::*;

    #[test]
    fn a_ledger_can_be_taken_over_once_its_owner_is_gone_and_by_one_alone() {
        let scratch = Scratch::new();
        let mut ledger = Ledger::create(scratch.path()).unwrap();
        let path = ledger.path().to_owned();
        ledger.append(&Change::Add(What::Path("/tmp/k0123456789".into())));
        assert_eq!(take_over(&path, Duration::ZERO), None, "its owner lives");
        // The guard hears of the end of its owner before the lock is free.
        let (begins, begun) = std::sync::mpsc::channel();
        let waiting = thread::spawn({
            let path = path.clone();
            move || {
                begins.send(()).unwrap();
                take_over(&path, Duration::from_secs(60))
            }
        });
        begun.recv().unwrap();
        drop(ledger);
        let held = waiting.join().unwrap().unwrap();
        assert_eq!(held.paths, ["/tmp/k0123456789".into()].into());
        assert_eq!(take_over(&path, Duration::ZERO), None);
    }

    #[test]
    fn a_ledger_names_no_more_than_folders_of_our_own_kind() {
        let scratch = Scratch::new();
        let run = scratch.path().canonicalize().unwrap();
        for name in ["k0123456789", "k01234567-9", "kernels", "precious", "cellist-0123456789abcdef"] {
            fs::create_dir(run.join(name)).unwrap();
        }
        let target = scratch.write("precious/file", "");
        std::os::unix::fs::symlink(run.join("precious"), run.join("kaaaaaaaaaa")).unwrap();
        let mut ledger = Ledger::create(&run).unwrap();
        for path in [
            run.join("k0123456789"),
            run.join("k01234567-9"),
            run.join("kernels"),
            run.join("precious"),
            run.join("kaaaaaaaaaa"),
            run.join("k0123456789/../precious"),
            run.join("cellist-0123456789abcdef"),
            "/".into(),
        ] {
            ledger.append(&Change::Add(What::Path(path)));
        }
        drop(ledger);
        assert_eq!(sweep(&run), (0, 2));
        assert!(target.exists());
        let mut left: Vec<String> =
            entries(&run).iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        left.sort();
        assert_eq!(left, ["held", "k01234567-9", "kaaaaaaaaaa", "kernels", "precious"]);
    }

    #[test]
    fn an_old_folder_without_a_ledger_goes_when_nobody_listens_in_it() {
        let scratch = Scratch::new();
        let run = scratch.path().canonicalize().unwrap();
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        let make = |name: &str| {
            let folder = run.join(name);
            fs::create_dir(&folder).unwrap();
            let listener = std::os::unix::net::UnixListener::bind(folder.join("s-1")).unwrap();
            File::open(&folder).unwrap().set_modified(hour_ago).unwrap();
            listener
        };
        let _alive = make("kaaaaaaaaaa");
        drop(make("kbbbbbbbbbb"));
        drop(make("kcccccccccc"));
        File::open(run.join("kcccccccccc")).unwrap().set_modified(SystemTime::now()).unwrap();
        drop(make("kdddddddddd"));
        let mut ledger = Ledger::create(&run).unwrap();
        ledger.append(&Change::Add(What::Path(run.join("kdddddddddd"))));
        assert_eq!(sweep(&run), (0, 1));
        let left =
            ["kaaaaaaaaaa", "kbbbbbbbbbb", "kcccccccccc", "kdddddddddd"].map(|name| run.join(name).exists());
        assert_eq!(left, [true, false, true, true], "listened to, silent, young, of a living owner");
    }
}
