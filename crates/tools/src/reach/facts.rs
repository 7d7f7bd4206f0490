//! What is known of a file: where it really is, which other names it has, and in what kind of folder it lies.

use std::collections::VecDeque;
use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};

use super::secrets::KNOWN;
use super::{Reach, Use};

/// How many entries of folders are looked at for other names of one file.
const MOST_ENTRIES: usize = 50_000;

/// Which file it is, whatever it is called: device and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    number: u64,
}

/// All that the table goes by.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileFacts {
    /// The file itself.
    pub(super) real: PathBuf,
    /// The path as it was named, and other names of the same file.
    pub(super) also: Vec<PathBuf>,
    pub(super) identity: Option<Identity>,
    /// It lies in the state folder, or is a file of it by another name.
    pub(super) is_state: bool,
    /// It is no file of a disk, but of the system.
    pub(super) is_system: bool,
    /// It lies in an environment into which programs are installed.
    pub(super) is_installed: bool,
    /// It lies in a folder that git takes for a repository, whatever it is called.
    pub(super) is_repository: bool,
    /// It lies in a folder in which shells look for programs.
    pub(super) is_program: bool,
    /// It has names that were not found.
    pub(super) has_unknown_names: bool,
}

impl FileFacts {
    pub(super) fn of(reach: &Reach, named: &Path, real: &Path, wanted: Use) -> FileFacts {
        let metadata = fs::symlink_metadata(real).ok();
        let mut facts = FileFacts {
            real: real.to_owned(),
            identity: metadata.as_ref().map(Identity::of),
            is_state: is_within(real, &reach.state),
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
            facts.find_other_names(reach, &metadata);
        }
        if wanted == Use::Change {
            facts.is_installed = real.ancestors().skip(1).any(|folder| is_installed(real, folder));
            facts.is_repository = real.ancestors().skip(1).any(is_repository);
            let folder = real.parent().and_then(Identity::at);
            facts.is_program =
                folder.is_some() && reach.programs.iter().any(|known| Identity::at(known) == folder);
        }
        facts
    }

    /// Looks for other names of the same file: in the state folders, where secrets usually are, and in the caller's folders.
    fn find_other_names(&mut self, reach: &Reach, metadata: &Metadata) {
        let wanted = Identity::of(metadata);
        let mut search = Search { wanted, found: vec![self.real.clone()], left: MOST_ENTRIES };
        reach.state.iter().for_each(|folder| search.look(folder));
        // What was not looked at in the state folder may be this file.
        self.is_state = search.found.len() > 1 || search.left == 0;
        search.left = MOST_ENTRIES;
        if let Some(own) = &reach.own {
            KNOWN.iter().for_each(|known| search.look(&own.join(known)));
        }
        reach.folders.iter().for_each(|folder| search.look(folder));
        search.found.sort();
        search.found.dedup();
        self.has_unknown_names = (search.found.len() as u64) < names_of(metadata);
        self.also.extend(search.found.into_iter().filter(|found| *found != self.real));
    }
}

impl Identity {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Identity {
        use std::os::unix::fs::MetadataExt;
        Identity { device: metadata.dev(), number: metadata.ino() }
    }

    fn at(path: &Path) -> Option<Identity> {
        fs::metadata(path).ok().map(|metadata| Identity::of(&metadata))
    }
}

/// How many names a file has.
fn names_of(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// A search for a file by what it is.
struct Search {
    wanted: Identity,
    found: Vec<PathBuf>,
    /// How many entries may still be looked at.
    left: usize,
}

impl Search {
    /// Looks at a file, or at all below a folder. Links are not followed.
    fn look(&mut self, start: &Path) {
        let Ok(start) = start.canonicalize() else { return };
        if Identity::at(&start) == Some(self.wanted) {
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
            && entry.metadata().is_ok_and(|metadata| Identity::of(&metadata) == self.wanted)
    }
}

/// Whether a path lies in one of some folders, by its name or because a folder above it is the same one, as with mounts and
/// file systems that know no case.
fn is_within(real: &Path, folders: &[PathBuf]) -> bool {
    let mut same: Vec<Identity> = Vec::new();
    for folder in folders {
        let whole = folder.canonicalize();
        if real.starts_with(folder) || whole.as_ref().is_ok_and(|whole| real.starts_with(whole)) {
            return true;
        }
        let Ok(whole) = whole else { continue };
        same.extend(Identity::at(&whole));
        let below = fs::read_dir(&whole).into_iter().flatten().flatten();
        let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        same.extend(below.filter_map(|entry| Identity::at(&entry.path())));
    }
    real.ancestors().any(|above| Identity::at(above).is_some_and(|it| same.contains(&it)))
}

/// Whether a path leads to what the system shows as files: processes, devices, its own settings.
fn is_of_the_system(real: &Path) -> bool {
    let is_device = real.starts_with("/dev") && !real.starts_with("/dev/shm");
    if is_device || real.starts_with("/proc") || real.starts_with("/sys") {
        return true;
    }
    let nearest = real.ancestors().find(|above| above.exists());
    nearest.is_some_and(is_on_a_system_mount)
}

/// Whether a file lies on a file system that no disk is behind, wherever it is mounted.
#[cfg(target_os = "linux")]
fn is_on_a_system_mount(path: &Path) -> bool {
    /// proc, sysfs, debugfs, tracefs, securityfs, cgroup, cgroup2, bpf, configfs, efivarfs, pstore, devpts.
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

/// Whether a file is a part of the environment that a folder is: of Python or conda.
fn is_installed(real: &Path, folder: &Path) -> bool {
    const PARTS: [&str; 10] =
        ["bin", "scripts", "lib", "lib64", "include", "share", "etc", "pyvenv.cfg", "conda-meta", "envs"];
    if !folder.join("pyvenv.cfg").exists() && !folder.join("conda-meta").exists() {
        return false;
    }
    let own = folder.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    // A project may be an environment itself, and its own files are beside the parts of that.
    let is_apart = own.starts_with('.') || own == "venv" || own == "env";
    let part = real.strip_prefix(folder).ok().and_then(|below| below.components().next());
    let part = part.map(|part| part.as_os_str().to_string_lossy().to_lowercase()).unwrap_or_default();
    is_apart || PARTS.contains(&part.as_str())
}

/// Whether git takes a folder for a repository.
fn is_repository(folder: &Path) -> bool {
    folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

/// A path as it reads, without `.` and `..`.
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
