//! Fixtures of the tests: notebooks, the writes of foreign programs, and processes of our own.

use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use cellist_notebook::{CellType, Ids, Notebook};
use cellist_settings::Home;
use cellist_store::{Changed, Missing, Result, Store};
use testkit::Scratch;

/// Environment variable with the role of a process that a test started.
pub(crate) const ROLE: &str = "CELLIST_TEST_ROLE";

/// A state folder, and a notebook `nb.ipynb` in its own folder.
pub(crate) struct Bed {
    pub(crate) scratch: Scratch,
    pub(crate) store: Store,
    pub(crate) path: PathBuf,
}

impl Bed {
    /// A notebook with one code cell for each source.
    pub(crate) fn new(sources: &[&str]) -> Bed {
        let scratch = Scratch::new();
        let path = scratch.write("work/nb.ipynb", notebook(sources));
        let store = Store::new(Home::at(scratch.path().join("home")));
        Bed { scratch, store, path }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap()
    }

    /// The sources in the file, which must be valid.
    #[track_caller]
    pub(crate) fn sources(&self) -> Vec<String> {
        sources(&self.path)
    }

    /// Appends a cell.
    pub(crate) fn add(&self, source: &str) -> Result<Changed<()>> {
        add(&self.store, &self.path, source)
    }

    /// Appends a cell and calls `meanwhile` between load and save.
    pub(crate) fn add_while(&self, source: &str, mut meanwhile: impl FnMut()) -> Result<Changed<()>> {
        self.store.change(&self.path, Missing::Refuse, |notebook| {
            notebook.insert(notebook.cells().len(), CellType::Code, source);
            meanwhile();
            Ok(())
        })
    }

    /// Fails unless the notebook is alone in its folder.
    #[track_caller]
    pub(crate) fn assert_tidy(&self) {
        assert_eq!(names(self.folder()), ["nb.ipynb"]);
    }

    /// The files in the `recovered` folder.
    pub(crate) fn recovered(&self) -> Vec<PathBuf> {
        let folder = self.store.home().path().join("recovered");
        if !folder.exists() {
            return Vec::new();
        }
        names(&folder).into_iter().map(|name| folder.join(name)).collect()
    }
}

pub(crate) fn add(store: &Store, path: &Path, source: &str) -> Result<Changed<()>> {
    store.change(path, Missing::Refuse, |notebook| {
        notebook.insert(notebook.cells().len(), CellType::Code, source);
        Ok(())
    })
}

/// A notebook as Jupyter writes it.
pub(crate) fn notebook(sources: &[&str]) -> String {
    let mut notebook = Notebook::empty(Ids::seeded(1));
    for (index, source) in sources.iter().enumerate() {
        notebook.insert(index, CellType::Code, source);
    }
    String::from_utf8(notebook.to_bytes()).unwrap()
}

/// The sources in a file, which must be valid.
#[track_caller]
pub(crate) fn sources(path: &Path) -> Vec<String> {
    testkit::assert_valid(path);
    let notebook = Notebook::parse(fs::read(path).unwrap(), Ids::seeded(0)).unwrap();
    notebook.cells().iter().map(|cell| cell.source().into_owned()).collect()
}

/// Replaces text in a file as foreign programs do: in place, as a whole, without a lock.
pub(crate) fn write_in_place(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from:?} is not in {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// [`write_in_place`] with equal length and time, so that only a comparison of contents finds it.
pub(crate) fn write_unseen(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    write_in_place(path, from, to);
    File::options()
        .append(true)
        .open(path)
        .unwrap()
        .set_times(FileTimes::new().set_modified(modified))
        .unwrap();
}

/// Makes a file too old to be an unfinished write.
pub(crate) fn make_old(path: &Path) {
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    File::options().append(true).open(path).unwrap().set_times(FileTimes::new().set_modified(old)).unwrap();
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The temporary files in a folder.
pub(crate) fn temporaries(folder: &Path) -> Vec<String> {
    names(folder).into_iter().filter(|name| name.ends_with(".tmp")).collect()
}

pub(crate) fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// Runs `work` as a user without files and privileges.
pub(crate) fn as_nobody<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    use rustix::process::{Gid, Uid, geteuid};
    let thread = thread::spawn(|| {
        if geteuid().is_root() {
            let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
            rustix::thread::set_thread_groups(&[]).unwrap();
            rustix::thread::set_thread_res_gid(group, group, group).unwrap();
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
        }
        work()
    });
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Gives a folder and its content to the user of `as_nobody`.
pub(crate) fn give_to_nobody(path: &Path) {
    assert!(rustix::process::geteuid().is_root(), "tests of owners need the right to change them");
    std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    if path.is_dir() {
        names(path).iter().for_each(|name| give_to_nobody(&path.join(name)));
    }
}

/// Starts this program again to run one test with a role.
pub(crate) fn start(program: &mut Command, test: &str, role: &[&str]) -> Child {
    program
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, role.join("\n"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The role of this process, if `start` started it.
pub(crate) fn role() -> Option<Vec<String>> {
    Some(std::env::var(ROLE).ok()?.split('\n').map(str::to_owned).collect())
}

/// Runs the rest of a test in a process with private mounts. `false` in the parent, which only
/// waits.
#[track_caller]
pub(crate) fn with_own_mounts(test: &str) -> bool {
    if role().is_some() {
        return true;
    }
    let mut program = Command::new("unshare");
    program.arg(if rustix::process::geteuid().is_root() { "-m" } else { "-rm" });
    let output = start(&mut program, test, &["mounts"]).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    false
}

#[track_caller]
pub(crate) fn mount(arguments: &[&str]) {
    let done = Command::new("mount").args(arguments).status().unwrap();
    assert!(done.success(), "mount {arguments:?}");
}

/// Prints a word for the parent process.
pub(crate) fn say(word: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{word}").unwrap();
    out.flush().unwrap();
}
