//! What every kernel can be asked.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use cellist_output::{Backend, MimeBundle};
use serde::Serialize;
use tokio::sync::{mpsc, watch};

use crate::error::Result;
use crate::event::{Death, Event};

/// What a kernel's methods return: they are called through `dyn Kernel`.
pub type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// A running kernel. All methods may be called while code runs; only one piece of code runs at a time, and
/// queueing is the caller's.
pub trait Kernel: Send + Sync {
    /// What this kernel is.
    fn identity(&self) -> Identity;

    /// Whether it is idle, busy or dead, now and from now on.
    fn state(&self) -> watch::Receiver<State>;

    /// Starts running code. Its events end with [`Event::Done`] or [`Event::Died`]; dropping the receiver
    /// does not stop the code.
    fn execute(&self, request: Request) -> Future<'_, Result<Execution>>;

    /// Returns the next output of an earlier execution that comes while no execution takes it, as [`Event::Late`]; it
    /// does not return where none comes. It may be dropped at any time, and still has the last output of a kernel that
    /// has ended.
    ///
    /// Only output with a tag comes here. An execution that has a tag itself takes what waits with its own events, and so
    /// it does with all that comes while it runs. Code that writes more than fits waits, where its kernel can be made to.
    fn late(&self) -> Future<'_, Event> {
        Box::pin(std::future::pending())
    }

    /// Interrupts the execution if it is the one that runs now, and returns at once; the execution's own
    /// events tell whether it stopped.
    fn interrupt(&self, execution: ExecutionId) -> Future<'_, Result<()>>;

    /// What could be written at `cursor`, counted in characters. A kernel that does not say knows nothing.
    fn complete<'a>(&'a self, _code: &'a str, cursor: usize) -> Future<'a, Result<Completion>> {
        Box::pin(async move { Ok(Completion { matches: Vec::new(), start: cursor, end: cursor }) })
    }

    /// What is known of the name at `cursor`, counted in characters; with `detail`, its source too. A kernel that does
    /// not say knows nothing.
    fn inspect<'a>(
        &'a self,
        _code: &'a str,
        _cursor: usize,
        _detail: bool,
    ) -> Future<'a, Result<Inspection>> {
        Box::pin(async { Ok(Inspection::default()) })
    }

    /// Whether code could be run as it stands.
    fn is_complete<'a>(&'a self, _code: &'a str) -> Future<'a, Result<Completeness>> {
        Box::pin(async { Ok(Completeness::Unknown) })
    }

    /// Returns when the kernel has shown that it is there, in a way that nothing which runs in it notices.
    fn beat(&self) -> Future<'_, Result<()>>;

    /// Ends the process and starts it anew, with all that was given at its launch. Returns when it is ready.
    fn restart(&self) -> Future<'_, Result<Vec<String>>>;

    /// Ends the kernel and everything it started; for one that was only joined, lets go of it.
    fn shutdown(&self) -> Future<'_, ()>;
}

/// What a kernel is, for people and for results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// How it is run.
    pub backend: Backend,
    /// The name of its kernelspec, such as `python3`.
    pub name: String,
    /// The language it runs, in lower case.
    pub language: String,
    /// The language's version, where the kernel said one.
    pub version: Option<String>,
    /// The interpreter, where it is a local Python.
    pub python: Option<PathBuf>,
    /// The process, where it is a local one.
    pub pid: Option<u32>,
    /// What a notebook file keeps as `language_info`, as the kernel gave it.
    pub language_info: Option<serde_json::Value>,
}

/// Whether a kernel can be asked something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Not ready yet, or starting again.
    Starting,
    /// Waiting for code.
    Idle,
    /// Running this.
    Busy(ExecutionId),
    /// Gone.
    Dead(Death),
}

/// A piece of code to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The code.
    pub code: String,
    /// Whether it counts: hidden code gets no number, stays out of the history and shows no result.
    pub hidden: bool,
    /// Environment variables to set in the kernel's process first, or to remove (`None`).
    pub variables: Vec<(String, Option<String>)>,
    /// A name for it. Output that comes after its end carries the name, where the kernel knows whose output it is. An
    /// execution with a name hears such output of others.
    pub tag: Option<Arc<str>>,
}

impl Request {
    /// Code that counts as an execution.
    pub fn new(code: impl Into<String>) -> Request {
        Request { code: code.into(), ..Request::default() }
    }

    /// Whether its listener is told the late output of other executions.
    pub(crate) fn takes_late(&self) -> bool {
        !self.hidden && self.tag.is_some()
    }

    /// Code of our own, that no one sees.
    pub fn hidden(code: impl Into<String>) -> Request {
        Request { code: code.into(), hidden: true, ..Request::default() }
    }
}

/// Names one run of one piece of code in one kernel process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExecutionId(pub u64);

/// Code that runs.
#[derive(Debug)]
pub struct Execution {
    /// Its name.
    pub id: ExecutionId,
    /// What it does, in order. The channel is bounded: whoever does not read it slows the kernel down, and
    /// nothing is lost.
    pub events: mpsc::Receiver<Event>,
}

/// How code could go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Completion {
    /// What could be written, each in place of the characters `start..end`.
    pub matches: Vec<String>,
    /// The first character that a match replaces.
    pub start: usize,
    /// The character behind the last one that a match replaces.
    pub end: usize,
}

/// What is known of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Whether anything was found.
    pub found: bool,
    /// The documentation.
    pub data: MimeBundle,
}

/// Whether code could be run as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It could.
    Complete,
    /// It goes on, indented by this.
    Incomplete {
        /// White space for the next line.
        indent: String,
    },
    /// It never can.
    Invalid,
    /// The kernel does not say.
    Unknown,
}
