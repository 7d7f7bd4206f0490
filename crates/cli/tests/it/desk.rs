//! A folder to work in, and the binary to work with.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use testkit::Scratch;

/// A folder with a state folder of its own. When it goes, every notebook left in it is shown to nbformat.
pub(crate) struct Desk {
    scratch: Scratch,
    state: Scratch,
    judged: bool,
    written: AtomicU64,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk { scratch: Scratch::new(), state: Scratch::new(), judged: true, written: AtomicU64::new(0) }
    }

    /// For notebooks that nbformat never liked.
    pub(crate) fn unjudged() -> Desk {
        let mut desk = Desk::new();
        desk.judged = false;
        desk
    }

    /// With a notebook `nb.ipynb` of format 4.5 that has these code cells, named `a`, `b` and so on.
    pub(crate) fn with(sources: &[&str]) -> Desk {
        let desk = Desk::new();
        desk.write("nb.ipynb", notebook(sources));
        desk
    }

    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.scratch.write(name, bytes);
        // A file that was just written might not be finished, and would be waited for. git takes files of one
        // second and one size for the same.
        let age = Duration::from_secs(7200 - self.written.fetch_add(1, Ordering::Relaxed));
        let before = SystemTime::now() - age;
        File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// A fixture, copied in as `nb.ipynb`.
    pub(crate) fn fixture(&self, name: &str) -> Vec<u8> {
        let bytes = fs::read(testkit::fixture(name)).unwrap();
        self.write("nb.ipynb", &bytes);
        bytes
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cellist"));
        command.args(arguments);
        self.prepare(&mut command);
        command
    }

    /// Lets a program run in this folder, with nothing of the user's around it.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command.current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CELLIST_"))
        {
            command.env_remove(name);
        }
        command.env("CELLIST_HOME", self.state()).env("HOME", self.state()).env("TERM", "xterm-256color");
        for name in ["NO_COLOR", "GIT_PAGER_IN_USE", "XDG_CONFIG_HOME", "COLUMNS"] {
            command.env_remove(name);
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    pub(crate) fn feed(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
        Ran::fed(&mut self.command(arguments), input.as_ref())
    }

    /// The answer of a command that must do it, as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).json()
    }

    /// The revision that `read` tells.
    pub(crate) fn revision(&self) -> String {
        self.json(&["read", "nb.ipynb"])["revision"].as_str().unwrap().to_owned()
    }

    /// The sources of `nb.ipynb`.
    pub(crate) fn sources(&self) -> Vec<String> {
        let notebook: Value = serde_json::from_slice(&self.read("nb.ipynb")).unwrap();
        notebook["cells"].as_array().unwrap().iter().map(|cell| source(&cell["source"])).collect()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // Also when the test fails: a host outlives its starter.
        if self.state().join("run").join("host.json").exists() {
            let _ = self.command(&["stop"]).output();
        }
        if !self.judged || std::thread::panicking() {
            return;
        }
        let files = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        let notebooks = files.filter(|path| path.extension().is_some_and(|ending| ending == "ipynb"));
        let refused = testkit::validate(notebooks);
        assert!(refused.is_empty(), "not valid: {}", refused[0]);
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Ran {
        let done = command.output().unwrap();
        Ran {
            exit: done.status.code().unwrap_or_else(|| panic!("ended by a signal: {:?}", done.status)),
            out: done.stdout,
            err: String::from_utf8(done.stderr).unwrap(),
        }
    }

    pub(crate) fn fed(command: &mut Command, input: &[u8]) -> Ran {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that refuses its arguments does not read, and closes the pipe.
        let _ = child.stdin.take().unwrap().write_all(input);
        let done = child.wait_with_output().unwrap();
        Ran {
            exit: done.status.code().unwrap(),
            out: done.stdout,
            err: String::from_utf8(done.stderr).unwrap(),
        }
    }

    /// The output of a command that must succeed without notices.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.exit, self.err.as_str()), (0, ""), "{}", String::from_utf8_lossy(&self.out));
        String::from_utf8(self.out).unwrap()
    }

    /// The one object that a command printed that must do it.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// The error of a command that must fail and print nothing else.
    #[track_caller]
    pub(crate) fn refused(self, exit: i32) -> String {
        assert_eq!(self.exit, exit, "{}", self.err);
        assert_eq!(String::from_utf8_lossy(&self.out), "");
        self.err
    }

    /// The one object that a command printed that must fail and was asked for JSON.
    #[track_caller]
    pub(crate) fn failed_json(self, exit: i32) -> Value {
        assert_eq!((self.exit, self.err.as_str()), (exit, ""), "{}", String::from_utf8_lossy(&self.out));
        serde_json::from_slice(&self.out).unwrap()
    }

    /// All there is, for a snapshot.
    pub(crate) fn all(&self) -> String {
        let mut all = String::from_utf8_lossy(&self.out).into_owned();
        if !self.err.is_empty() {
            all.push_str("--- stderr\n");
            all.push_str(&self.err);
        }
        all.push_str(&format!("--- exit {}\n", self.exit));
        all
    }
}

/// A 4.5 notebook of code cells, named `a`, `b` and so on, as Jupyter writes it.
pub(crate) fn notebook(sources: &[&str]) -> String {
    let cells: Vec<Value> = (sources.iter().zip('a'..='z'))
        .map(|(source, id)| {
            let lines: Vec<&str> = source.split_inclusive('\n').collect();
            serde_json::json!({
                "cell_type": "code", "execution_count": null, "id": id.to_string(),
                "metadata": {}, "outputs": [], "source": lines,
            })
        })
        .collect();
    let notebook = serde_json::json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    let mut text = Vec::new();
    let layout = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, layout);
    serde::Serialize::serialize(&notebook, &mut serializer).unwrap();
    String::from_utf8(text).unwrap() + "\n"
}

/// A source, be it a string or a list of lines.
pub(crate) fn source(value: &Value) -> String {
    match value {
        Value::Array(lines) => lines.iter().map(|line| line.as_str().unwrap()).collect(),
        other => other.as_str().unwrap().to_owned(),
    }
}
