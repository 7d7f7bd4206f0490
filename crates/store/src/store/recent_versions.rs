//! The last versions of a notebook's file, kept in the state folder. Each has its cells and its
//! evidence for [`super::provenance`].

use std::fs::{self, DirEntry, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_notebook::{Notebook, Revision, Snapshot, SnapshotCell};
use cellist_platform::files::{self, Identity, Mark};
use cellist_settings::Home;

use super::evidence::{Evidence, Hashes, texts, values};
use super::overwritten::Overwritten;
use super::provenance::{FileVersion, ForeignWrite, WINDOW, oldest_candidate, read_before, shares_half};

const FOLDER: &str = "recent";
const CELLS: &str = "json";
const EVIDENCE: &str = "evidence";
/// Marks an unknown file in a name.
const UNKNOWN: &str = "unknown";
/// Time for which versions are kept for the next change of the notebook.
const KEPT: Duration = Duration::from_secs(3600);
/// Limit on the size of a version without outputs. Larger ones would slow down each save.
const LARGEST: usize = 2 * 1024 * 1024;
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The stored versions of one notebook.
pub(super) struct RecentVersions {
    folder: PathBuf,
}

/// A notebook, and its file if that is known.
#[derive(Clone, Copy)]
pub(super) struct PlacedVersion<'a> {
    pub(super) notebook: &'a Notebook,
    pub(super) file: Option<Identity>,
}

/// The versions that a foreign write may have overwritten.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionScope {
    /// All versions: the write is in the notebook's file.
    All,
    /// Versions up to the last one in the same file, which ours has displaced.
    OfItsFile,
}

/// A stored version. Its file name has everything that sorting needs.
struct StoredVersion {
    at: Duration,
    revision: Revision,
    file: Option<Identity>,
    path: PathBuf,
    length: u64,
}

impl RecentVersions {
    pub(super) fn of(home: &Home, key: &str) -> RecentVersions {
        RecentVersions { folder: home.path().join(FOLDER).join(key) }
    }

    /// Records that `new` replaced `old` at the time `at`. Best effort: without the record,
    /// overwritten changes are not restored.
    pub(super) fn keep(
        &self,
        home: &Home,
        old: Option<PlacedVersion<'_>>,
        new: PlacedVersion<'_>,
        at: SystemTime,
    ) {
        let _ = self.forget_old(home);
        let kept = old.and_then(|old| self.write_both(home, old, new, at).ok());
        // The newest record must be the version in the file. Otherwise our own change would look
        // foreign.
        if kept.is_none() {
            self.clear();
        }
    }

    pub(super) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Removes the records of these revisions.
    pub(super) fn forget(&self, revisions: &[Revision]) {
        self.entries()
            .iter()
            .filter(|entry| revisions.contains(&entry.revision))
            .for_each(StoredVersion::remove);
    }

    /// The sources of ours that are missing in `found` because its author had not read them.
    pub(super) fn overwritten(
        &self,
        found: &Notebook,
        mark: Mark,
        among: VersionScope,
    ) -> Option<Overwritten> {
        let mut entries = self.entries();
        let of_file = |entry: &StoredVersion| entry.file == Some(mark.identity());
        if among == VersionScope::OfItsFile {
            entries.truncate(entries.iter().rposition(of_file)? + 1);
        }
        // Cheap checks first: usually there is nothing to find.
        let newest = entries.last().filter(|newest| of_file(newest))?;
        let at = since_1970(mark.modified?);
        let first = oldest_candidate(entries.iter().map(|entry| entry.at), at)?;
        if newest.revision == found.revision() {
            return None;
        }
        let version = |(at, entry): (usize, &StoredVersion)| entry.version(at >= first);
        let versions: Vec<FileVersion> = entries.iter().enumerate().map(version).collect::<Option<_>>()?;
        let has_values = versions.iter().any(|version| !version.evidence.fresh.is_empty());
        let finding = ForeignWrite {
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

    /// The stored versions, oldest first.
    fn entries(&self) -> Vec<StoredVersion> {
        let found = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut entries: Vec<StoredVersion> = found.filter_map(|entry| StoredVersion::of(&entry)).collect();
        entries.sort_by_key(|entry| entry.at);
        entries
    }

    fn write_both(
        &self,
        home: &Home,
        old: PlacedVersion<'_>,
        new: PlacedVersion<'_>,
        at: SystemTime,
    ) -> io::Result<()> {
        let mut entries = self.entries();
        let last = entries.last().map(|last| (last.at, last.revision));
        // Always later than the last one, even if the clock was set back.
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

    fn write(
        &self,
        home: &Home,
        kept: PlacedVersion<'_>,
        before: Option<&Notebook>,
        at: Duration,
    ) -> io::Result<()> {
        let PlacedVersion { notebook, file } = kept;
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

    /// Removes expired versions of every notebook.
    fn forget_old(&self, home: &Home) -> io::Result<()> {
        let now = since_1970(SystemTime::now());
        for entry in fs::read_dir(home.path().join(FOLDER))? {
            let recent = RecentVersions { folder: entry?.path() };
            let entries = recent.entries();
            let Some(newest) = entries.last() else { continue };
            let is_over = now > newest.at + KEPT;
            for (at, entry) in entries.iter().enumerate() {
                // A version was in the file until the next one replaced it.
                let is_old = entries.get(at + 1).is_some_and(|next| next.at + 2 * WINDOW < newest.at);
                if is_over || is_old {
                    entry.remove();
                }
            }
            // Succeeds only if it is empty.
            let _ = fs::remove_dir(&recent.folder);
        }
        Ok(())
    }
}

impl StoredVersion {
    fn of(entry: &DirEntry) -> Option<StoredVersion> {
        let name = entry.file_name().into_string().ok()?;
        let mut parts = name.strip_suffix(CELLS)?.strip_suffix('.')?.split('-');
        let (at, revision, file) = (parts.next()?, parts.next()?, parts.next()?);
        Some(StoredVersion {
            at: Duration::from_nanos(at.parse().ok()?),
            revision: revision.parse().ok()?,
            file: identity(file),
            path: entry.path(),
            length: entry.metadata().ok()?.len(),
        })
    }

    /// The version, with its evidence on request.
    fn version(&self, with_evidence: bool) -> Option<FileVersion> {
        let evidence = if with_evidence {
            Evidence::from_bytes(&fs::read(self.path.with_extension(EVIDENCE)).ok()?)?
        } else {
            Evidence::default()
        };
        Some(FileVersion { at: self.at, revision: self.revision, file: self.file, evidence })
    }

    /// The cells. `None` if the copy is incomplete.
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
