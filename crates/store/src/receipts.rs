//! Receipts: a record of every cell run, with its source, order, kernel and interpreter. One JSON
//! line per run, in the state folder, never in the notebook's file.

mod freshness;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cellist_notebook::Revision;
use cellist_output::{Backend, Status};
use cellist_platform::files;
use cellist_settings::Home;
use serde::{Deserialize, Serialize};

pub use freshness::{Freshness, Stale, freshness};

const FOLDER: &str = "receipts";
/// A file above this size loses its older half.
const LARGEST: u64 = 1024 * 1024;

/// The record of one run of one cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The cell's id, or its handle if the file stores no id.
    pub cell: String,
    /// Hash of the source that ran, by [`mark`].
    pub source: String,
    /// The execution count that the kernel reported.
    pub execution_count: Option<u64>,
    /// Identity of the kernel process. Every start gets a new one.
    pub kernel: String,
    /// The backend of that kernel.
    pub backend: Backend,
    /// The interpreter, for a local Python.
    #[serde(with = "cellist_platform::portable_path")]
    pub python: Option<PathBuf>,
    /// Time of the start, in milliseconds since 1970.
    pub started_ms: u64,
    /// Duration of the run.
    pub duration_ms: u64,
    /// Result of the run.
    pub status: Status,
    /// Id of the artifact with the complete output.
    pub artifact: Option<String>,
}

/// Hash of a source, to compare it with that of a receipt.
pub fn mark(source: &str) -> String {
    Revision::of([source.as_bytes()]).to_string()
}

/// The receipts of all notebooks in a state folder. Cheap to clone; making one touches no disk.
#[derive(Clone, Debug)]
pub struct Receipts {
    home: Home,
}

impl Receipts {
    /// The receipts in a state folder.
    pub fn new(home: &Home) -> Receipts {
        Receipts { home: home.clone() }
    }

    /// Appends receipts in the order of the runs.
    pub fn add(&self, notebook: &Path, receipts: &[Receipt]) -> io::Result<()> {
        if receipts.is_empty() {
            return Ok(());
        }
        let mut opened = self.open(notebook)?;
        receipts.iter().try_for_each(|receipt| opened.add(receipt))
    }

    /// Opens the receipts of a notebook, for callers that append many.
    pub fn open(&self, notebook: &Path) -> io::Result<OpenReceipts> {
        self.home.folder(FOLDER)?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        Ok(OpenReceipts(files::private(&mut options).open(self.path(notebook))?))
    }

    /// Reads all receipts of a notebook, oldest first. Skips damaged lines.
    pub fn of(&self, notebook: &Path) -> Vec<Receipt> {
        let text = fs::read_to_string(self.path(notebook)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The file of a notebook. All paths to the notebook lead to the same one.
    fn path(&self, notebook: &Path) -> PathBuf {
        let real = notebook.canonicalize().unwrap_or_else(|_| notebook.to_owned());
        let name = Revision::of([real.as_os_str().as_encoded_bytes()]);
        self.home.path().join(FOLDER).join(format!("{name}.jsonl"))
    }
}

/// The open receipts of one notebook. Each append locks the file, so that processes take turns.
#[derive(Debug)]
pub struct OpenReceipts(File);

impl OpenReceipts {
    /// Appends a receipt.
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
            drop_older_half(&mut self.0)?;
        }
        self.0.write_all(line)
    }
}

fn drop_older_half(file: &mut File) -> io::Result<()> {
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
    fn receipts_are_kept_per_notebook() {
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
    fn concurrent_appends_take_turns() {
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
    fn a_large_file_loses_its_older_half_and_damaged_lines_are_skipped() {
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
