//! The interface of every kernel.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use cellist_output::{Backend, MimeBundle};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

use crate::comm::CommMessage;
use crate::error::{Error, Result};
use crate::event::{Death, Event};

/// The futures of a kernel's methods, boxed since they are called through `dyn Kernel`.
pub type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// A running kernel.
///
/// - **Ownership.** Callers share a kernel and may call every method while code runs. Dropping a local kernel kills its
///   process group, as a backstop; [`Kernel::shutdown`] is the orderly way. A kernel that was only joined is never ended:
///   shutdown disconnects from it, and restart is an error.
/// - **Order.** One execution runs at a time; a second one is refused as [`Error::Busy`], and queueing is the caller's
///   part. Events arrive in the order of the program and end with [`Event::Done`] or [`Event::Died`]. A reader that has
///   received the end may execute at once: the state is [`State::Idle`], or [`State::Dead`], before the end is sent.
/// - **Backpressure.** The channel of events is bounded. A slow reader slows the kernel down; nothing is lost. Where a
///   kernel cannot be made to wait, lost output is an [`Event::OutputLost`].
/// - **Cancellation.** Every future may be dropped. An `execute` that is dropped has sent all of its request or nothing.
///   Dropping the receiver of events does not stop the code; [`Kernel::interrupt`], [`Kernel::restart`] and
///   [`Kernel::shutdown`] do. A restart that is dropped leaves a dead kernel, never one that starts for ever.
/// - **Errors.** An exception of the code is an event, and only where the kernel published one. `Err` means that the kernel
///   could not carry out the request; [`Error::Dead`] means that no later request can succeed without a restart.
pub trait Kernel: Send + Sync {
    /// The identity of this kernel.
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
    /// Only output with a tag comes here. An execution that has a tag itself takes the waiting output with its own events, and so
    /// it does with all that comes while it runs. Code that writes more than fits waits, where its kernel can be made to.
    fn late(&self) -> Future<'_, Event> {
        Box::pin(std::future::pending())
    }

    /// Sends a message of a widget to the program. It is an execution of its own, without a number: handlers in the program
    /// may print and display. The default refuses.
    fn comm(&self, _message: CommMessage) -> Future<'_, Result<Execution>> {
        let message = "this kernel has no widgets".to_owned();
        Box::pin(async { Err(Error::Unsupported { message, hint: None }) })
    }

    /// Interrupts the execution if it is the one that runs now, and returns at once; the execution's own
    /// events tell whether it stopped.
    fn interrupt(&self, execution: ExecutionId) -> Future<'_, Result<()>>;

    /// Completions at `cursor`, counted in characters. The default has none.
    fn complete<'a>(&'a self, _code: &'a str, cursor: usize) -> Future<'a, Result<Completion>> {
        Box::pin(async move { Ok(Completion { matches: Vec::new(), start: cursor, end: cursor }) })
    }

    /// Documentation of the name at `cursor`, counted in characters; with `detail`, its source too. The default has none.
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

/// The identity of a kernel, for people and for results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(with = "cellist_platform::portable_path")]
    pub python: Option<PathBuf>,
    /// The process, where it is a local one.
    pub pid: Option<u32>,
    /// The `language_info` for notebook files, as the kernel gave it.
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
    /// The events, in order. The channel is bounded: a slow reader slows the kernel down, and
    /// nothing is lost.
    pub events: mpsc::Receiver<Event>,
}

/// How code could go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Completion {
    /// Completions, each in place of the characters `start..end`.
    pub matches: Vec<String>,
    /// The first character that a match replaces.
    pub start: usize,
    /// The character behind the last one that a match replaces.
    pub end: usize,
}

/// Documentation of a name.
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
