//! Receipts: what ran in a notebook, from which text, in which order, on which kernel and interpreter. They are kept in
//! the state folder, one line a run, and never in the notebook's file.

mod stale;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cellist_notebook::Revision;
use cellist_output::{Backend, Status};
use cellist_platform::files;
use cellist_settings::Home;
use serde::{Deserialize, Serialize};

pub use stale::{Freshness, Stale, freshness};

const FOLDER: &str = "receipts";
/// A file that has grown to this loses its older half.
const LARGEST: u64 = 1024 * 1024;

/// One run of one cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The cell, by the name that it goes by: its id, or a handle where the file stores none.
    pub cell: String,
    /// The text that ran, by its mark.
    pub source: String,
    /// The number of the execution.
    pub execution_count: Option<u64>,
    /// Which kernel ran it: another after each start.
    pub kernel: String,
    /// How that kernel was run.
    pub backend: Backend,
    /// The interpreter, where it is a local Python.
    #[serde(with = "cellist_platform::portable_path")]
    pub python: Option<PathBuf>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// How it ended.
    pub status: Status,
    /// Where all of its output is kept.
    pub artifact: Option<String>,
}

/// The mark of a text: another text has another mark.
pub fn mark(source: &str) -> String {
    Revision::of([source.as_bytes()]).to_string()
}

/// The receipts of all notebooks of a state folder. Cheap to clone; making it touches no disk.
#[derive(Clone, Debug)]
pub struct Receipts {
    home: Home,
}

impl Receipts {
    /// The receipts in a state folder.
    pub fn new(home: &Home) -> Receipts {
        Receipts { home: home.clone() }
    }

    /// Adds what just ran, in order.
    pub fn add(&self, notebook: &Path, receipts: &[Receipt]) -> io::Result<()> {
        if receipts.is_empty() {
            return Ok(());
        }
        let mut opened = self.open(notebook)?;
        receipts.iter().try_for_each(|receipt| opened.add(receipt))
    }

    /// Opens the receipts of one notebook, for many that come soon after each other.
    pub fn open(&self, notebook: &Path) -> io::Result<OpenReceipts> {
        self.home.folder(FOLDER)?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        Ok(OpenReceipts(files::private(&mut options).open(self.path(notebook))?))
    }

    /// All that ran, in order, as far back as is known. A line that cannot be read is passed over.
    pub fn of(&self, notebook: &Path) -> Vec<Receipt> {
        let text = fs::read_to_string(self.path(notebook)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// One file for each notebook, whatever way leads to it.
    fn path(&self, notebook: &Path) -> PathBuf {
        let real = notebook.canonicalize().unwrap_or_else(|_| notebook.to_owned());
        let name = Revision::of([real.as_os_str().as_encoded_bytes()]);
        self.home.path().join(FOLDER).join(format!("{name}.jsonl"))
    }
}

/// The receipts of one notebook, open.
#[derive(Debug)]
pub struct OpenReceipts(File);

impl OpenReceipts {
    /// Adds what just ran.
    pub fn add(&mut self, receipt: &Receipt) -> io::Result<()> {
        let mut line = serde_json::to_vec(receipt)?;
        line.push(b'\n');
        self.0.lock()?;
        let added = self.append(&line);
        self.0.unlock()?;
        added
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.0.metadata()?.len() > LARGEST {
            forget_half(&mut self.0)?;
        }
        self.0.write_all(line)
    }
}

fn forget_half(file: &mut File) -> io::Result<()> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut text)?;
    let middle = text.len() / 2;
    let line = text[middle..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| middle + at + 1);
    file.set_len(0)?;
    file.write_all(&text[line..])
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    fn receipt(cell: &str, count: u64) -> Receipt {
        Receipt {
            cell: cell.into(),
            source: mark("x = 1"),
            execution_count: Some(count),
            kernel: "k".into(),
            backend: Backend::Runner,
            python: Some("/usr/bin/python3".into()),
            started_ms: 1,
            duration_ms: 2,
            status: Status::Ok,
            artifact: None,
        }
    }

    #[test]
    fn what_ran_is_read_as_it_was_written_and_each_notebook_has_its_own() {
        let scratch = Scratch::new();
        let receipts = Receipts::new(&Home::at(scratch.path().join("home")));
        let (one, other) = (scratch.write("one.ipynb", ""), scratch.write("other.ipynb", ""));
        let all = [receipt("a", 1), receipt("b", 2), receipt("a", 3)];
        receipts.add(&one, &all).unwrap();
        assert_eq!(receipts.of(&one), all);
        assert_eq!(receipts.of(&scratch.path().join(".").join("one.ipynb")), all);
        assert_eq!(receipts.of(&other), []);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(receipts.path(&one)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn those_who_have_them_open_take_turns() {
        let scratch = Scratch::new();
        let receipts = Receipts::new(&Home::at(scratch.path()));
        let notebook = scratch.write("nb.ipynb", "");
        let mut opened = receipts.open(&notebook).unwrap();
        opened.add(&receipt("a", 1)).unwrap();
        receipts.add(&notebook, &[receipt("b", 2)]).unwrap();
        opened.add(&receipt("c", 3)).unwrap();
        let all = [receipt("a", 1), receipt("b", 2), receipt("c", 3)];
        assert_eq!(receipts.of(&notebook), all);
    }

    #[test]
    fn a_file_that_grows_too_large_forgets_the_oldest_and_a_broken_line_is_passed_over() {
        let scratch = Scratch::new();
        let receipts = Receipts::new(&Home::at(scratch.path()));
        let notebook = scratch.write("nb.ipynb", "");
        receipts.add(&notebook, &[receipt("a", 0)]).unwrap();
        let line = fs::read(receipts.path(&notebook)).unwrap();
        let many = line.repeat(LARGEST as usize / line.len() + 1);
        fs::write(receipts.path(&notebook), [many.as_slice(), b"{broken\n"].concat()).unwrap();
        receipts.add(&notebook, &[receipt("last", 7)]).unwrap();
        let kept = receipts.of(&notebook);
        let expected = LARGEST as usize / line.len() / 2;
        assert!(kept.len().abs_diff(expected) < 5, "{} of {expected}", kept.len());
        assert_eq!(kept.last(), Some(&receipt("last", 7)));
    }
}
