//! Validates notebooks with Python's nbformat. One process serves a whole test program.

use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::{python, repo_root};

/// A notebook that nbformat does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The file.
    pub path: PathBuf,
    /// nbformat's error: the name of the exception and its first line.
    pub complaint: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.complaint)
    }
}

/// Validates files. Returns those that nbformat refuses, in the given order.
///
/// Missing and repeated cell ids count as errors where the format requires ids, though nbformat
/// only warns.
///
/// # Panics
///
/// If a file cannot be read, or the Python environment is missing.
pub fn validate<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<Invalid> {
    let mut refused = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let bytes =
            fs::read(path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()));
        if let Err(complaint) = validate_bytes(&bytes) {
            refused.push(Invalid { path: path.to_owned(), complaint });
        }
    }
    refused
}

/// Validates the bytes of one notebook. The error is nbformat's.
///
/// # Panics
///
/// If the Python environment is missing.
pub fn validate_bytes(notebook: &[u8]) -> Result<(), String> {
    // On each call, so that every test that uses it is counted.
    let interpreter = python("nbformat");
    // A panic inside leaves no judge behind, so a poisoned lock is safe.
    let mut seat = JUDGE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut judge = seat.take().unwrap_or_else(|| Judge::start(&interpreter));
    let complaint =
        judge.ask(notebook).unwrap_or_else(|error| panic!("nbformat's process went away: {error}"));
    *seat = Some(judge);
    complaint.map_or(Ok(()), Err)
}

/// Fails the test unless nbformat accepts the file.
#[track_caller]
pub fn assert_valid(path: impl AsRef<Path>) {
    if let [refused] = validate([path]).as_slice() {
        panic!("not a valid notebook: {refused}");
    }
}

// Lives until the test program ends. Then the pipe closes and the process exits.
static JUDGE: Mutex<Option<Judge>> = Mutex::new(None);

struct Judge {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Judge {
    fn start(interpreter: &Path) -> Self {
        let mut process = Command::new(interpreter)
            .args(["-I", "-B", "-X", "utf8"])
            .arg(repo_root().join("testkit/python/judge.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", interpreter.display()));
        let requests = process.stdin.take().expect("standard input was piped");
        let answers = BufReader::new(process.stdout.take().expect("standard output was piped"));
        Self { process, requests, answers }
    }

    fn ask(&mut self, notebook: &[u8]) -> io::Result<Option<String>> {
        writeln!(self.requests, "{}", notebook.len())?;
        self.requests.write_all(notebook)?;
        self.requests.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other(format!("it ended with {}", self.process.wait()?)));
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Judge {
    // Only a judge that failed to answer is dropped. The others stay in the static.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
