//! The one owner among a user's processes of a unique resource. The owner holds a lock for as long as it lives
//! and announces its address in a file beside it. A process id decides nothing: another process may have it by now.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::{self, Site};
use crate::file_lock::{is_at, lock_within};

/// How long to wait before looking again at a lock.
const PAUSE: Duration = Duration::from_millis(2);

/// Where an owner registers: a private folder, and a name in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
    name: String,
    anchor: Option<PathBuf>,
}

/// The state of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// It has no owner. The files of a former owner are not shown.
    Nobody,
    /// It has an owner with this address.
    Owned(T),
    /// It has an owner whose address is not announced yet, or is malformed.
    Unsaid,
}

/// Ownership. It ends when this is dropped or the process ends, in whatever way.
#[derive(Debug)]
pub struct Claim {
    place: Place,
    lock: File,
    /// The anchor, locked too. None where there is none, or where the system does not lock folders.
    anchor: Option<File>,
    /// Whether another process holds the lock as well, and owns it from now on.
    handed_on: bool,
}

/// The right to start an owner, which one process has at a time.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "holding it is its purpose")] File);

impl Place {
    /// A place by name. Nothing is made before a process claims it.
    pub fn new(folder: impl Into<PathBuf>, name: impl Into<String>) -> Place {
        Place { folder: folder.into(), name: name.into(), anchor: None }
    }

    /// Owners also lock this folder, which is above the place's own: nobody else can become the owner when the files of a
    /// living owner are removed, and the owner can restore them.
    pub fn anchored(mut self, anchor: impl Into<PathBuf>) -> Place {
        self.anchor = Some(anchor.into());
        self
    }

    /// The file in which an owner says how to reach it.
    pub fn entry(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.name))
    }

    /// The last announcement, be its owner alive or not: for callers that try the address.
    pub fn said<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&fs::read(self.entry()).ok()?).ok()
    }

    /// Whether it has an owner, and its announcement.
    pub fn look<T: DeserializeOwned>(&self) -> io::Result<Found<T>> {
        // Readers do not keep each other out, and claiming is tried more than once.
        let is_owned = match File::open(self.lock_path()) {
            Ok(lock) => match lock.try_lock_shared() {
                Ok(()) => false,
                Err(TryLockError::WouldBlock) => true,
                Err(TryLockError::Error(error)) => return Err(error),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if !is_owned && !self.is_anchor_held() {
            return Ok(Found::Nobody);
        }
        Ok(self.said().map_or(Found::Unsaid, Found::Owned))
    }

    fn is_anchor_held(&self) -> bool {
        let anchor = self.anchor.as_deref().and_then(|path| File::open(path).ok());
        anchor.is_some_and(|anchor| matches!(anchor.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Becomes the owner, unless there is one. The files of a former owner are removed.
    pub fn claim(&self) -> io::Result<Option<Claim>> {
        // Longer than anyone looks.
        const PATIENCE: Duration = Duration::from_millis(200);

        let deadline = Instant::now() + PATIENCE;
        loop {
            make(&self.folder)?;
            // First: the process that has it may be about to restore the lock.
            let Some(anchor) = self.lock_anchor(deadline) else { return Ok(None) };
            let lock = open(&self.folder, &self.lock_path())?;
            match lock.try_lock() {
                // The file may have been removed between opening and locking it.
                Ok(()) if !is_at(&lock, &self.lock_path()) => continue,
                Ok(()) => {
                    remove(&self.entry())?;
                    return Ok(Some(Claim { place: self.clone(), lock, anchor, handed_on: false }));
                }
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Locks the anchor. The outer `None` means that another process has it, the inner that it cannot be locked.
    fn lock_anchor(&self, deadline: Instant) -> Option<Option<File>> {
        let Some(anchor) = self.anchor.as_deref().and_then(|path| File::open(path).ok()) else {
            return Some(None);
        };
        loop {
            match anchor.try_lock() {
                Ok(()) => return Some(Some(anchor)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return None,
                Err(TryLockError::Error(_)) => return Some(None),
            }
        }
    }

    /// Waits until nobody else is starting an owner; `None` when that takes too long. The caller then looks
    /// again before it starts one.
    pub fn turn(&self, patience: Duration) -> io::Result<Option<Turn>> {
        let file = open(&self.folder, &self.folder.join(format!("{}.turn", self.name)))?;
        Ok(lock_within(file, patience, Site::TurnThread)?.map(Turn))
    }

    /// Waits until there is no owner; `false` when that takes too long.
    pub fn until_left(&self, patience: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + patience;
        loop {
            if self.look::<serde_json::Value>()? == Found::Nobody {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }

    /// The file that the owner holds locked; its content is not used here.
    pub fn lock(&self) -> PathBuf {
        self.lock_path()
    }

    fn lock_path(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.name))
    }
}

impl Claim {
    /// Says how to reach the owner. A reader sees all of it or nothing.
    pub fn announce<T: Serialize>(&self, how: &T) -> io::Result<()> {
        let entry = self.place.entry();
        let draft = entry.with_extension("draft");
        remove(&draft)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        let mut text = serde_json::to_vec_pretty(how)?;
        text.push(b'\n');
        let written = file.write_all(&text).and_then(|()| fs::rename(&draft, &entry));
        written.inspect_err(|_| drop(fs::remove_file(&draft)))
    }

    /// The lock for a child: as long as it has the file open, the place has an owner.
    pub fn share(&self) -> io::Result<File> {
        self.lock.try_clone()
    }

    /// Leaves ownership to the process that got the lock, with the announcement made for it.
    pub fn hand_on(mut self) {
        self.handed_on = true;
    }

    /// Whether others would still find this owner: not so once the folder was removed or made anew.
    pub fn holds(&self) -> bool {
        is_at(&self.lock, &self.place.lock_path())
    }

    /// Whether it is still said how to reach the owner.
    pub fn is_announced(&self) -> bool {
        self.place.entry().exists()
    }

    /// Makes the lock anew when it was removed while the anchor stayed. `false` when the place is lost.
    pub fn restore(&mut self) -> bool {
        // Longer than anyone looks.
        const PATIENCE: Duration = Duration::from_millis(200);

        let deadline = Instant::now() + PATIENCE;
        while !self.holds() {
            let anchor = self.anchor.as_ref().zip(self.place.anchor.as_deref());
            if !anchor.is_some_and(|(file, path)| is_at(file, path)) || Instant::now() > deadline {
                return false;
            }
            let Ok(lock) = open(&self.place.folder, &self.place.lock_path()) else { return false };
            match lock.try_lock() {
                Ok(()) => self.lock = lock,
                Err(_) => thread::sleep(PAUSE),
            }
        }
        true
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Before the lock goes, so that it is not a later owner's.
        if !self.handed_on && self.holds() {
            let _ = fs::remove_file(self.place.entry());
        }
    }
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn open(folder: &Path, path: &Path) -> io::Result<File> {
    make(folder)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    fault::open(Site::RegistrationFile, &options, path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Barrier;

    use testkit::Scratch;

    use super::*;

    fn place(scratch: &Scratch) -> Place {
        Place::new(scratch.path().join("run"), "host")
    }

    fn look(place: &Place) -> Found<u32> {
        place.look().unwrap()
    }

    #[test]
    fn an_owner_is_found_by_what_it_said_until_it_lets_go() {
        let scratch = Scratch::new();
        let place = place(&scratch);
        assert_eq!(look(&place), Found::Nobody);
        let claim = place.claim().unwrap().unwrap();
        assert_eq!(look(&place), Found::Unsaid);
        assert!(place.claim().unwrap().is_none(), "there is one already");
        claim.announce(&7).unwrap();
        assert_eq!(look(&place), Found::Owned(7));
        drop(claim);
        assert_eq!(look(&place), Found::Nobody);
        assert!(!place.entry().exists());
    }

    #[test]
    fn what_a_killed_owner_left_counts_for_nothing_whole_or_half() {
        for left in ["7", "{\"pid\": 1, \"soc"] {
            let scratch = Scratch::new();
            let place = place(&scratch);
            scratch.write("run/host.json", left);
            scratch.write("run/host.lock", "");
            scratch.write("run/host.draft", "{");
            assert_eq!(look(&place), Found::Nobody);
            let claim = place.claim().unwrap().unwrap();
            assert_eq!(look(&place), Found::Unsaid, "the old words are gone before new ones are said");
            claim.announce(&8).unwrap();
            assert_eq!(look(&place), Found::Owned(8));
        }
    }

    #[test]
    fn files_and_folder_are_private() {
        let scratch = Scratch::new();
        let place = place(&scratch);
        let claim = place.claim().unwrap().unwrap();
        claim.announce(&7).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&scratch.path().join("run")), 0o700);
        assert_eq!((mode(&place.entry()), mode(&place.lock_path())), (0o600, 0o600));
    }

    #[test]
    fn of_twenty_that_claim_at_once_while_others_look_one_gets_it() {
        let scratch = Scratch::new();
        let place = place(&scratch);
        let start = Barrier::new(40);
        let claims: Vec<Option<Claim>> = thread::scope(|scope| {
            let lookers: Vec<_> = (0..20)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        for _ in 0..100 {
                            place.look::<u32>().unwrap();
                        }
                    })
                })
                .collect();
            let claimers: Vec<_> = (0..20)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        place.claim().unwrap()
                    })
                })
                .collect();
            lookers.into_iter().for_each(|looker| looker.join().unwrap());
            claimers.into_iter().map(|claimer| claimer.join().unwrap()).collect()
        });
        assert_eq!(claims.iter().flatten().count(), 1);
    }

    #[test]
    fn an_owner_whose_folder_was_removed_knows_it_and_spares_the_next_owners_words() {
        let scratch = Scratch::new();
        let place = place(&scratch);
        let old = place.claim().unwrap().unwrap();
        fs::remove_dir_all(scratch.path().join("run")).unwrap();
        assert!(!old.holds());
        let new = place.claim().unwrap().unwrap();
        new.announce(&9).unwrap();
        drop(old);
        assert!(new.holds());
        assert_eq!(look(&place), Found::Owned(9));
    }

    #[test]
    fn an_anchored_owner_whose_folder_was_removed_restores_it_and_nobody_takes_its_place() {
        let scratch = Scratch::new();
        let place = place(&scratch).anchored(scratch.path());
        let mut owner = place.claim().unwrap().unwrap();
        owner.announce(&7).unwrap();
        fs::remove_dir_all(scratch.path().join("run")).unwrap();
        assert_eq!(look(&place), Found::Unsaid);
        assert!(place.claim().unwrap().is_none(), "the owner lives");
        assert!(!owner.holds() && !owner.is_announced());
        assert!(owner.restore() && owner.holds());
        owner.announce(&8).unwrap();
        assert_eq!(look(&place), Found::Owned(8));
        assert!(place.claim().unwrap().is_none());
        // Where the folder above is gone too, the place is given up.
        fs::remove_dir_all(scratch.path()).unwrap();
        assert!(!owner.restore());
        let next = place.claim().unwrap().unwrap();
        drop(owner);
        assert!(next.holds());
    }

    #[test]
    fn turns_are_taken_one_after_the_other() {
        let scratch = Scratch::new();
        let place = place(&scratch);
        let first = place.turn(Duration::ZERO).unwrap().unwrap();
        assert!(place.turn(Duration::from_millis(1)).unwrap().is_none());
        let next = thread::scope(|scope| {
            let waiting = scope.spawn(|| place.turn(Duration::from_secs(60)).unwrap());
            drop(first);
            waiting.join().unwrap()
        });
        assert!(next.is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_and_not_an_absence() {
        let scratch = Scratch::new();
        scratch.write("run", "a file");
        assert!(place(&scratch).claim().is_err());
        assert!(place(&scratch).look::<u32>().is_err());
    }
}
