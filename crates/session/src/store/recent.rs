//! The last versions that we put into a notebook, kept for a few seconds. A program that read one of them and
//! writes its own without looking at the file again takes back what we saved in between; with these versions
//! that can be seen and mended.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_notebook::{Notebook, Revision};

use super::ancestry::Profile;
use super::content;
use super::fresh_ids;
use crate::home::Home;
use crate::platform::{self, Identity, Mark};

const FOLDER: &str = "recent";
const NOTEBOOK: &str = "ipynb";
const PROFILE: &str = "cells";
/// Stands in a name for a file that is not known.
const UNKNOWN: &str = "unknown";
/// How long a program may take from reading to writing and still not have meant to undo our change.
const WINDOW: Duration = Duration::from_secs(5);
/// File systems stamp a file with the time of the last tick, which may be a little ago.
const TICK: Duration = Duration::from_millis(20);
/// Larger notebooks are not kept: copying them would slow down each save.
const LARGEST: usize = 2 * 1024 * 1024;
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The versions kept of one notebook.
pub(super) struct Recent {
    folder: PathBuf,
}

/// A version that was overwritten, and the older one that was edited instead.
pub(super) struct Overwritten {
    pub(super) base: Arc<Notebook>,
    pub(super) ours: Arc<Notebook>,
}

/// A notebook, and the file that it is in where that is known.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    pub(super) notebook: &'a Notebook,
    pub(super) file: Option<Identity>,
}

struct Version {
    at: Duration,
    revision: Revision,
    /// The file that it was in. Who writes without looking writes into that file; who puts another one in its place, as
    /// git does for another branch, brings a version that has nothing to do with ours.
    file: Option<Identity>,
    path: PathBuf,
    length: u64,
}

impl Recent {
    pub(super) fn of(home: &Home, key: &str) -> Recent {
        Recent { folder: home.path().join(FOLDER).join(key) }
    }

    /// Notes that `new` took the place of `old`, each with the file that it was in, at the time `at`. Best effort:
    /// without it a save is as good as anyone else's.
    pub(super) fn keep(&self, home: &Home, old: Option<Kept<'_>>, new: Kept<'_>, at: SystemTime) {
        let _ = self.forget_old(home);
        let is_small = new.notebook.pieces().len() <= LARGEST;
        let kept = if is_small { self.write_both(home, old, new, at).ok() } else { None };
        // What is kept must end with what is in the file: otherwise our own change could look like a foreign one.
        if kept.is_none() {
            self.clear();
        }
    }

    pub(super) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Takes back that these were put into the file.
    pub(super) fn forget(&self, revisions: &[Revision]) {
        self.versions()
            .iter()
            .filter(|version| revisions.contains(&version.revision))
            .for_each(Version::remove);
    }

    /// The version that was in the file when someone wrote `found` over it without having seen it, and the
    /// older one that they had seen. `None` when they had seen the newest.
    pub(super) fn overwritten(&self, found: &Notebook, mark: Mark) -> Option<Overwritten> {
        let versions = self.versions();
        let newest = versions.last()?;
        if newest.file != Some(mark.identity()) {
            return None;
        }
        // A file with an older time was put there as it is, which nobody does without looking.
        let revision = (since_1970(mark.modified?) + TICK >= newest.at).then(|| found.revision())?;
        // Who brings an earlier version back exactly as it was means to.
        if versions.iter().any(|version| version.revision == revision) {
            return None;
        }
        let (theirs, ours) = (Profile::of(found), newest.profile()?);
        let distance = ours.distance(&theirs, &ours);
        let base = self.closer(distance, &theirs, &ours, mark)?;
        Some(Overwritten { base, ours: newest.read()? })
    }

    /// The version that a notebook with the profile `theirs`, found in the file `mark`, differs least from, if
    /// that is by less than `distance`. `ours` is what we have now.
    pub(super) fn closer(
        &self,
        distance: usize,
        theirs: &Profile,
        ours: &Profile,
        mark: Mark,
    ) -> Option<Arc<Notebook>> {
        let time = since_1970(mark.modified?);
        let mut versions = self.versions();
        if versions.iter().all(|version| version.file != Some(mark.identity())) {
            return None;
        }
        // Those that were replaced a short while before, and those that came later.
        let first = versions.iter().position(|version| time <= version.at + WINDOW)?;
        let versions = versions.split_off(first.saturating_sub(1));
        let distances = versions
            .iter()
            .rev()
            .filter_map(|version| Some((version.profile()?.distance(theirs, ours), version)));
        // The newest of equals.
        let (least, closest) = distances.min_by_key(|(distance, _)| *distance)?;
        (least < distance).then(|| closest.read())?
    }

    /// The versions kept, oldest first.
    fn versions(&self) -> Vec<Version> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut versions: Vec<Version> = entries.filter_map(|entry| Version::of(&entry)).collect();
        versions.sort_by_key(|version| version.at);
        versions
    }

    fn write_both(
        &self,
        home: &Home,
        old: Option<Kept<'_>>,
        new: Kept<'_>,
        at: SystemTime,
    ) -> io::Result<()> {
        let mut versions = self.versions();
        let last = versions.last().map(|last| (last.at, last.revision));
        // Always behind the last one, whatever the clock says.
        let at = since_1970(at).max(last.map_or(Duration::ZERO, |(at, _)| at + Duration::from_nanos(2)));
        if let Some(old) = old
            && last.is_none_or(|(_, revision)| revision != old.notebook.revision())
        {
            self.write(home, old, at - Duration::from_nanos(1))?;
        }
        self.write(home, new, at)?;
        let mut room = MOST_BYTES;
        while let Some(version) = versions.pop() {
            match room.checked_sub(version.length) {
                Some(rest) => room = rest,
                None => version.remove(),
            }
        }
        Ok(())
    }

    fn write(&self, home: &Home, kept: Kept<'_>, at: Duration) -> io::Result<()> {
        let Kept { notebook, file } = kept;
        let key = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let folder = home.folder(&format!("{FOLDER}/{key}"))?;
        let file = file.map_or_else(
            || UNKNOWN.to_owned(),
            |Identity { device, number, made }| format!("{device:x}_{number:x}_{made:x}"),
        );
        let path = folder.join(format!("{:020}-{}-{file}.{NOTEBOOK}", at.as_nanos(), notebook.revision()));
        let create = |path: &Path| {
            let mut options = OpenOptions::new();
            platform::private(options.write(true).create_new(true)).open(path)
        };
        // First the profile: a version without one is not looked at.
        create(&path.with_extension(PROFILE))?.write_all(&Profile::of(notebook).to_bytes())?;
        content::write(&create(&path)?, notebook)
    }

    /// Removes what is too old to matter, of every notebook.
    fn forget_old(&self, home: &Home) -> io::Result<()> {
        let now = since_1970(SystemTime::now());
        for entry in fs::read_dir(home.path().join(FOLDER))? {
            let folder = entry?.path();
            let recent = Recent { folder };
            for version in recent.versions() {
                if now > version.at + WINDOW + WINDOW {
                    version.remove();
                }
            }
            // Succeeds when it is empty.
            let _ = fs::remove_dir(&recent.folder);
        }
        Ok(())
    }
}

impl Version {
    fn of(entry: &fs::DirEntry) -> Option<Version> {
        let name = entry.file_name().into_string().ok()?;
        let mut parts = name.strip_suffix(NOTEBOOK)?.strip_suffix('.')?.split('-');
        let (at, revision, file) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Version {
            at: Duration::from_nanos(at.parse().ok()?),
            revision: revision.parse().ok()?,
            file: identity(file),
            path: entry.path(),
            length: entry.metadata().ok()?.len(),
        })
    }

    fn profile(&self) -> Option<Profile> {
        Profile::from_bytes(&fs::read(self.path.with_extension(PROFILE)).ok()?)
    }

    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension(PROFILE));
    }

    /// The notebook, unless the copy is not whole.
    fn read(&self) -> Option<Arc<Notebook>> {
        let bytes = fs::read(&self.path).ok()?;
        let is_whole = Revision::of([bytes.as_slice()]) == self.revision;
        is_whole.then(|| Notebook::parse(bytes, fresh_ids()).ok().map(Arc::new))?
    }
}

fn identity(text: &str) -> Option<Identity> {
    let mut parts = text.split('_');
    let mut part = || u128::from_str_radix(parts.next()?, 16).ok();
    let (device, number, made) = (part()?, part()?, part()?);
    Some(Identity { device: device.try_into().ok()?, number: number.try_into().ok()?, made })
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}
