//! Facts about a file: its real path, its other names, and the kind of folder that holds it.

use std::collections::VecDeque;
use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};

use super::secrets::KNOWN;
use super::{FilePolicy, Use};

/// Folder entries examined in a search for other names of a file.
const MOST_ENTRIES: usize = 50_000;

/// The identity of a file under any name: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    number: u64,
}

/// All inputs of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileFacts {
    /// The real path.
    pub(super) real: PathBuf,
    /// The path as the call named it, and other names of the file.
    pub(super) also: Vec<PathBuf>,
    pub(super) identity: Option<FileIdentity>,
    /// The file is in the state folder, or is a hard link to a file there.
    pub(super) is_state: bool,
    /// The file is not on a disk: the system provides it.
    pub(super) is_system: bool,
    /// The file is in an environment that programs are installed into.
    pub(super) is_installed: bool,
    /// The file is in a folder that git accepts as a repository, under any name.
    pub(super) is_repository: bool,
    /// The file is in a folder on the `PATH`.
    pub(super) is_program: bool,
    /// The file has hard links that were not found.
    pub(super) has_unknown_names: bool,
}

impl FileFacts {
    pub(super) fn of(policy: &FilePolicy, named: &Path, real: &Path, wanted: Use) -> FileFacts {
        let metadata = fs::symlink_metadata(real).ok();
        let mut facts = FileFacts {
            real: real.to_owned(),
            identity: metadata.as_ref().map(FileIdentity::of),
            is_state: is_within(real, &policy.state),
            is_system: is_of_the_system(real),
            ..FileFacts::default()
        };
        let named = without_dots(named);
        if named != real {
            facts.also.push(named);
        }
        if facts.is_state || facts.is_system {
            return facts;
        }
        if let Some(metadata) = metadata.filter(|metadata| metadata.is_file() && names_of(metadata) > 1) {
            facts.find_other_names(policy, &metadata);
        }
        if wanted == Use::Change {
            facts.is_installed = real.ancestors().skip(1).any(|folder| is_installed(real, folder));
            facts.is_repository = real.ancestors().skip(1).any(is_repository);
            let folder = real.parent().and_then(FileIdentity::at);
            facts.is_program =
                folder.is_some() && policy.programs.iter().any(|known| FileIdentity::at(known) == folder);
        }
        facts
    }

    /// Searches for other names of the file: in the state folders, the usual places of secrets, and
    /// the caller's folders.
    fn find_other_names(&mut self, policy: &FilePolicy, metadata: &Metadata) {
        let wanted = FileIdentity::of(metadata);
        let mut search = LinkSearch { wanted, found: vec![self.real.clone()], left: MOST_ENTRIES };
        policy.state.iter().for_each(|folder| search.look(folder));
        // The file may be among the entries of the state folder that were not examined.
        self.is_state = search.found.len() > 1 || search.left == 0;
        search.left = MOST_ENTRIES;
        if let Some(own) = &policy.own {
            KNOWN.iter().for_each(|known| search.look(&own.join(known)));
        }
        policy.folders.iter().for_each(|folder| search.look(folder));
        search.found.sort();
        search.found.dedup();
        self.has_unknown_names = (search.found.len() as u64) < names_of(metadata);
        self.also.extend(search.found.into_iter().filter(|found| *found != self.real));
    }
}

impl FileIdentity {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> FileIdentity {
        use std::os::unix::fs::MetadataExt;
        FileIdentity { device: metadata.dev(), number: metadata.ino() }
    }

    fn at(path: &Path) -> Option<FileIdentity> {
        fs::metadata(path).ok().map(|metadata| FileIdentity::of(&metadata))
    }
}

/// Returns the number of hard links.
fn names_of(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// A search for a file by its identity.
struct LinkSearch {
    wanted: FileIdentity,
    found: Vec<PathBuf>,
    /// Entries left to examine.
    left: usize,
}

impl LinkSearch {
    /// Examines a file, or everything below a folder. Does not follow symbolic links.
    fn look(&mut self, start: &Path) {
        let Ok(start) = start.canonicalize() else { return };
        if FileIdentity::at(&start) == Some(self.wanted) {
            self.found.push(start.clone());
        }
        let mut folders = VecDeque::from([start]);
        while let Some(folder) = folders.pop_front() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                if self.left == 0 {
                    return;
                }
                self.left -= 1;
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push_back(entry.path()),
                    Ok(kind) if kind.is_file() && self.is_it(&entry) => self.found.push(entry.path()),
                    _ => {}
                }
            }
        }
    }

    fn is_it(&self, entry: &fs::DirEntry) -> bool {
        use std::os::unix::fs::DirEntryExt;
        entry.ino() == self.wanted.number
            && entry.metadata().is_ok_and(|metadata| FileIdentity::of(&metadata) == self.wanted)
    }
}

/// Returns whether a path is in one of the folders, by name or by identity. Mounts and
/// case-insensitive file systems give one folder several names.
fn is_within(real: &Path, folders: &[PathBuf]) -> bool {
    let mut same: Vec<FileIdentity> = Vec::new();
    for folder in folders {
        let whole = folder.canonicalize();
        if real.starts_with(folder) || whole.as_ref().is_ok_and(|whole| real.starts_with(whole)) {
            return true;
        }
        let Ok(whole) = whole else { continue };
        same.extend(FileIdentity::at(&whole));
        let below = fs::read_dir(&whole).into_iter().flatten().flatten();
        let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        same.extend(below.filter_map(|entry| FileIdentity::at(&entry.path())));
    }
    real.ancestors().any(|above| FileIdentity::at(above).is_some_and(|it| same.contains(&it)))
}

/// Returns whether the system provides a file: processes, devices, kernel settings.
fn is_of_the_system(real: &Path) -> bool {
    let is_device = real.starts_with("/dev") && !real.starts_with("/dev/shm");
    if is_device || real.starts_with("/proc") || real.starts_with("/sys") {
        return true;
    }
    let nearest = real.ancestors().find(|above| above.exists());
    nearest.is_some_and(is_on_a_system_mount)
}

/// Returns whether a file is on a file system without a disk, wherever that is mounted.
#[cfg(target_os = "linux")]
fn is_on_a_system_mount(path: &Path) -> bool {
    /// proc, sysfs, debugfs, tracefs, securityfs, cgroup, cgroup2, bpf, configfs, efivarfs, pstore,
    /// devpts.
    const SYSTEM: [u32; 12] = [
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x27_e0eb,
        0x6367_7270,
        0xcafe_4a11,
        0x6265_6570,
        0xde5e_81e4,
        0x6165_676c,
        0x1cd1,
    ];
    let kind = rustix::fs::statfs(path).ok().and_then(|told| u32::try_from(told.f_type).ok());
    kind.is_some_and(|kind| SYSTEM.contains(&kind))
}

#[cfg(not(target_os = "linux"))]
fn is_on_a_system_mount(_: &Path) -> bool {
    false
}

/// Returns whether a file is part of the Python or conda environment in `folder`.
fn is_installed(real: &Path, folder: &Path) -> bool {
    const PARTS: [&str; 10] =
        ["bin", "scripts", "lib", "lib64", "include", "share", "etc", "pyvenv.cfg", "conda-meta", "envs"];
    if !folder.join("pyvenv.cfg").exists() && !folder.join("conda-meta").exists() {
        return false;
    }
    let own = folder.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    // The folder of a project may be an environment too. Its own files are then beside the parts of
    // the environment.
    let is_apart = own.starts_with('.') || own == "venv" || own == "env";
    let part = real.strip_prefix(folder).ok().and_then(|below| below.components().next());
    let part = part.map(|part| part.as_os_str().to_string_lossy().to_lowercase()).unwrap_or_default();
    is_apart || PARTS.contains(&part.as_str())
}

/// Returns whether git accepts a folder as a repository.
fn is_repository(folder: &Path) -> bool {
    folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

/// Resolves `.` and `..` in a path without reading the file system.
fn without_dots(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(part),
        }
    }
    whole
}
