//! Why a kernel cannot be started or asked.

use std::path::PathBuf;
use std::time::Duration;

use cellist_output::notices;

use crate::event::Death;

/// The result of asking a kernel something.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a kernel. The message names values; advice is in [`Error::hint`].
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum Error {
    #[error("{} cannot be started: {reason}", .program.display())]
    CannotStart { program: PathBuf, reason: String },
    #[error("the kernel was not ready within {} seconds{}", .within.as_secs(), said(.stderr))]
    NotReady { within: Duration, stderr: String },
    #[error("the kernel ended before it was ready: {}{}", notices::kernel_died(.death), said(.stderr))]
    DiedAtStart { death: Death, stderr: String },
    #[error("{} is not a folder", .path.display())]
    NoFolder { path: PathBuf },
    #[error("the kernel is busy")]
    Busy,
    #[error("{}", notices::kernel_died(.death))]
    Dead { death: Death },
    #[error("the kernel did not answer within {} ms", .within.as_millis())]
    NoAnswer { within: Duration },
    #[error("unexpected message from the kernel: {what}")]
    Protocol { what: String },
    #[error("{message}")]
    Unsupported { message: String, hint: Option<String> },
    #[error("{message}")]
    Gateway { message: String, hint: Option<String> },
    #[error("the shared gateway {url} has {open} of {most} files open, which leaves none for a kernel")]
    GatewayFull { url: String, open: u64, most: u64 },
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
}

impl Error {
    /// Whether the process, or the system, has as many files open as it may.
    pub fn is_out_of_files(&self) -> bool {
        match self {
            Error::Io { source, .. } => is_out_of_files(source),
            Error::GatewayFull { .. } => true,
            _ => false,
        }
    }

    /// Advice for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::NoFolder { .. } => Some("name a folder that exists".into()),
            Error::NotReady { .. } => {
                Some("raise python.startup_timeout, or look at the kernel's log".into())
            }
            Error::GatewayFull { .. } => {
                Some("end sessions that are not needed, or raise the limit (`ulimit -n`) and start it anew with `cellist gateway stop`".into())
            }
            Error::Unsupported { hint, .. } | Error::Gateway { hint, .. } => hint.clone(),
            _ => None,
        }
    }
}

pub(crate) fn is_out_of_files(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let errors = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|error| errors.contains(&error))
}

fn said(stderr: &str) -> String {
    let stderr = stderr.trim_end();
    if stderr.is_empty() { String::new() } else { format!("; it said:\n{stderr}") }
}
