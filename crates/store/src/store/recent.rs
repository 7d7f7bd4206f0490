//! The last versions that were in a notebook's file, kept in the state folder: the cells of each, and the evidence by
//! which [`super::provenance`] tells which of them another program had read.

use std::fs::{self, DirEntry, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_notebook::{Notebook, Revision, Snapshot, SnapshotCell};
use cellist_platform::files::{self, Identity, Mark};
use cellist_settings::Home;

use super::evidence::{Evidence, Hashes, texts, values};
use super::overwritten::Overwritten;
use super::provenance::{Finding, Version, WINDOW, oldest_candidate, read_before, shares_half};

const FOLDER: &str = "recent";
const CELLS: &str = "json";
const EVIDENCE: &str = "evidence";
/// Stands in a name for a file that is not known.
const UNKNOWN: &str = "unknown";
/// How long the versions before a save are kept for the next command that changes the notebook.
const KEPT: Duration = Duration::from_secs(3600);
/// Larger versions are not kept: writing them would slow down each save. Outputs do not count.
const LARGEST: usize = 2 * 1024 * 1024;
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The versions kept of one notebook.
pub(super) struct Recent {
    folder: PathBuf,
}

/// A notebook, and the file that it is in where that is known.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    pub(super) notebook: &'a Notebook,
    pub(super) file: Option<Identity>,
}

/// Which of the versions may have been overwritten by a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// All: the file is the notebook.
    All,
    /// Those up to the last one that was in this very file: it was the notebook until ours took its place.
    OfItsFile,
}

/// A version as it is kept, named by all that is needed to sort it.
struct Entry {
    at: Duration,
    revision: Revision,
    file: Option<Identity>,
    path: PathBuf,
    length: u64,
}

impl Recent {
    pub(super) fn of(home: &Home, key: &str) -> Recent {
        Recent { folder: home.path().join(FOLDER).join(key) }
    }

    /// Notes that `new` took the place of `old`, each with the file that it was in, at the time `at`. Best effort:
    /// without it other programs write over our changes as they would over anyone's.
    pub(super) fn keep(&self, home: &Home, old: Option<Kept<'_>>, new: Kept<'_>, at: SystemTime) {
        let _ = self.forget_old(home);
        let kept = old.and_then(|old| self.write_both(home, old, new, at).ok());
        // The last version kept must be the one in the file: otherwise our own change could look like a foreign one.
        if kept.is_none() {
            self.clear();
        }
    }

    pub(super) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Takes back that these were put into the file.
    pub(super) fn forget(&self, revisions: &[Revision]) {
        self.entries().iter().filter(|entry| revisions.contains(&entry.revision)).for_each(Entry::remove);
    }

    /// The sources of ours that are not in `found` because the program that wrote it had not read them.
    pub(super) fn overwritten(&self, found: &Notebook, mark: Mark, among: Among) -> Option<Overwritten> {
        let mut entries = self.entries();
        let of_file = |entry: &Entry| entry.file == Some(mark.identity());
        if among == Among::OfItsFile {
            entries.truncate(entries.iter().rposition(of_file)? + 1);
        }
        // Checks that read no files come first: most often there is nothing to find.
        let newest = entries.last().filter(|newest| of_file(newest))?;
        let at = since_1970(mark.modified?);
        let first = oldest_candidate(entries.iter().map(|entry| entry.at), at)?;
        if newest.revision == found.revision() {
            return None;
        }
        let version = |(at, entry): (usize, &Entry)| entry.version(at >= first);
        let versions: Vec<Version> = entries.iter().enumerate().map(version).collect::<Option<_>>()?;
        let has_values = versions.iter().any(|version| !version.evidence.fresh.is_empty());
        let finding = Finding {
            at,
            revision: found.revision(),
            file: mark.identity(),
            texts: texts(found),
            values: if has_values { values(found) } else { Hashes::new() },
        };
        let base = read_before(&versions, &finding)?;
        let ours = newest.cells()?;
        shares_half(&ours, &found.snapshot().cells)
            .then(|| Some(Overwritten { base: entries[base].cells()?, ours }))?
    }

    /// The versions kept, oldest first.
    fn entries(&self) -> Vec<Entry> {
        let found = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut entries: Vec<Entry> = found.filter_map(|entry| Entry::of(&entry)).collect();
        entries.sort_by_key(|entry| entry.at);
        entries
    }

    fn write_both(&self, home: &Home, old: Kept<'_>, new: Kept<'_>, at: SystemTime) -> io::Result<()> {
        let mut entries = self.entries();
        let last = entries.last().map(|last| (last.at, last.revision));
        // Always behind the last one, whatever the clock says.
        let at = since_1970(at).max(last.map_or(Duration::ZERO, |(at, _)| at + Duration::from_nanos(2)));
        if last.is_none_or(|(_, revision)| revision != old.notebook.revision()) {
            self.write(home, old, None, at - Duration::from_nanos(1))?;
        }
        self.write(home, new, Some(old.notebook), at)?;
        let mut room = MOST_BYTES;
        while let Some(entry) = entries.pop() {
            match room.checked_sub(entry.length) {
                Some(rest) => room = rest,
                None => entry.remove(),
            }
        }
        Ok(())
    }

    fn write(&self, home: &Home, kept: Kept<'_>, before: Option<&Notebook>, at: Duration) -> io::Result<()> {
        let Kept { notebook, file } = kept;
        let cells = serde_json::to_vec(&notebook.snapshot())?;
        if cells.len() > LARGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let key = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let folder = home.folder(&format!("{FOLDER}/{key}"))?;
        let file = file.map_or_else(
            || UNKNOWN.to_owned(),
            |Identity { device, number, made }| format!("{device:x}_{number:x}_{made:x}"),
        );
        let path = folder.join(format!("{:020}-{}-{file}.{CELLS}", at.as_nanos(), notebook.revision()));
        let create = |path: &Path, bytes: &[u8]| {
            let mut options = OpenOptions::new();
            files::private(options.write(true).create_new(true)).open(path)?.write_all(bytes)
        };
        create(&path.with_extension(EVIDENCE), &Evidence::of(notebook, before).to_bytes())?;
        create(&path, &cells)
    }

    /// Removes expired entries of every notebook.
    fn forget_old(&self, home: &Home) -> io::Result<()> {
        let now = since_1970(SystemTime::now());
        for entry in fs::read_dir(home.path().join(FOLDER))? {
            let recent = Recent { folder: entry?.path() };
            let entries = recent.entries();
            let Some(newest) = entries.last() else { continue };
            let is_over = now > newest.at + KEPT;
            for (at, entry) in entries.iter().enumerate() {
                // It was in the file until the next one came.
                let is_old = entries.get(at + 1).is_some_and(|next| next.at + 2 * WINDOW < newest.at);
                if is_over || is_old {
                    entry.remove();
                }
            }
            // Succeeds when it is empty.
            let _ = fs::remove_dir(&recent.folder);
        }
        Ok(())
    }
}

impl Entry {
    fn of(entry: &DirEntry) -> Option<Entry> {
        let name = entry.file_name().into_string().ok()?;
        let mut parts = name.strip_suffix(CELLS)?.strip_suffix('.')?.split('-');
        let (at, revision, file) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Entry {
            at: Duration::from_nanos(at.parse().ok()?),
            revision: revision.parse().ok()?,
            file: identity(file),
            path: entry.path(),
            length: entry.metadata().ok()?.len(),
        })
    }

    /// The version, with its evidence if that is asked for.
    fn version(&self, with_evidence: bool) -> Option<Version> {
        let evidence = if with_evidence {
            Evidence::from_bytes(&fs::read(self.path.with_extension(EVIDENCE)).ok()?)?
        } else {
            Evidence::default()
        };
        Some(Version { at: self.at, revision: self.revision, file: self.file, evidence })
    }

    /// The cells, unless the copy is not whole.
    fn cells(&self) -> Option<Vec<SnapshotCell>> {
        let snapshot: Snapshot = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        Some(snapshot.cells)
    }

    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension(EVIDENCE));
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
