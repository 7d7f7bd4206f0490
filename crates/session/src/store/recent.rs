//! The last versions that we put into a notebook, kept for a few seconds. A program that read one of them and
//! writes its own without looking at the file again takes back what we saved in between; with these versions
//! that can be seen and mended.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_notebook::{Notebook, Revision};

use super::ancestry::Closest;
use super::content;
use super::fresh_ids;
use crate::home::Home;
use crate::platform;

const FOLDER: &str = "recent";
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

struct Version {
    at: Duration,
    revision: Revision,
    path: PathBuf,
    length: u64,
}

impl Recent {
    pub(super) fn of(home: &Home, key: &str) -> Recent {
        Recent { folder: home.path().join(FOLDER).join(key) }
    }

    /// Notes that `new` took the place of `old`. Best effort: without it a save is as good as anyone else's.
    pub(super) fn keep(&self, home: &Home, old: Option<&Notebook>, new: &Notebook) {
        let _ = self.forget_old(home);
        let kept = if new.pieces().len() > LARGEST { None } else { self.write_both(home, old, new).ok() };
        // What is kept must end with what is in the file: otherwise our own change could look like a foreign one.
        if kept.is_none() {
            self.clear();
        }
    }

    pub(super) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Takes back that `new` was put into the file.
    pub(super) fn forget(&self, new: Revision) {
        if let Some(last) = self.versions().last().filter(|last| last.revision == new) {
            let _ = fs::remove_file(&last.path);
        }
    }

    /// The version that was in the file when someone wrote `found` over it without having seen it, and the
    /// older one that they had seen. `None` when they had seen the newest.
    pub(super) fn overwritten(&self, found: &Notebook, modified: Option<SystemTime>) -> Option<Overwritten> {
        let versions = self.versions();
        let newest = versions.last()?;
        let time = modified?.duration_since(UNIX_EPOCH).ok()?;
        // A file with an older time was put there as it is, which nobody does without looking.
        let revision = (time + TICK >= newest.at).then(|| found.revision())?;
        // Who brings an earlier version back exactly as it was means to.
        if versions.iter().any(|version| version.revision == revision) {
            return None;
        }
        let older = self.seen_before(modified);
        if older.len() < 2 {
            return None;
        }
        let ours = newest.read()?;
        let mut closest = Closest::new(found, &ours);
        closest.look_among(older.iter().rev().skip(1).map_while(Version::read));
        closest.other().map(|base| Overwritten { base, ours })
    }

    /// The versions that someone who wrote at the time `modified` may have read without knowing of a newer one.
    pub(super) fn candidates(&self, modified: Option<SystemTime>) -> impl Iterator<Item = Arc<Notebook>> {
        self.seen_before(modified).into_iter().rev().map_while(|version| version.read())
    }

    fn seen_before(&self, modified: Option<SystemTime>) -> Vec<Version> {
        let time = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
        let Some(time) = time else { return Vec::new() };
        let mut versions = self.versions();
        // All that were replaced a short while before, and the one that was there then.
        let first = versions.iter().position(|version| time <= version.at + WINDOW);
        match first {
            Some(first) => versions.split_off(first.saturating_sub(1)),
            None => Vec::new(),
        }
    }

    /// The versions kept, oldest first.
    fn versions(&self) -> Vec<Version> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut versions: Vec<Version> = entries.filter_map(|entry| Version::of(&entry)).collect();
        versions.sort_by_key(|version| version.at);
        versions
    }

    fn write_both(&self, home: &Home, old: Option<&Notebook>, new: &Notebook) -> io::Result<()> {
        let versions = self.versions();
        if let Some(old) = old
            && versions.last().is_none_or(|last| last.revision != old.revision())
        {
            self.write(home, old)?;
        }
        self.write(home, new)?;
        let mut room = MOST_BYTES;
        for version in versions.iter().rev() {
            match room.checked_sub(version.length) {
                Some(rest) => room = rest,
                None => fs::remove_file(&version.path)?,
            }
        }
        Ok(())
    }

    fn write(&self, home: &Home, notebook: &Notebook) -> io::Result<()> {
        let key = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let folder = home.folder(&format!("{FOLDER}/{key}"))?;
        let at = now().as_nanos();
        let path = folder.join(format!("{at:020}-{}.ipynb", notebook.revision()));
        let mut options = OpenOptions::new();
        let file = platform::private(options.write(true).create_new(true)).open(&path)?;
        content::write(&file, notebook).inspect_err(|_| {
            let _ = fs::remove_file(&path);
        })
    }

    /// Removes what is too old to matter, of every notebook.
    fn forget_old(&self, home: &Home) -> io::Result<()> {
        let now = now();
        for entry in fs::read_dir(home.path().join(FOLDER))? {
            let folder = entry?.path();
            let recent = Recent { folder };
            for version in recent.versions() {
                if now > version.at + WINDOW + WINDOW {
                    let _ = fs::remove_file(version.path);
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
        let (at, revision) = name.strip_suffix(".ipynb")?.split_once('-')?;
        Some(Version {
            at: Duration::from_nanos(at.parse().ok()?),
            revision: revision.parse().ok()?,
            path: entry.path(),
            length: entry.metadata().ok()?.len(),
        })
    }

    /// The notebook, unless the copy is not whole.
    fn read(&self) -> Option<Arc<Notebook>> {
        let bytes = fs::read(&self.path).ok()?;
        let is_whole = Revision::of([bytes.as_slice()]) == self.revision;
        is_whole.then(|| Notebook::parse(bytes, fresh_ids()).ok().map(Arc::new))?
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
