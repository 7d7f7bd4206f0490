//! The one road to each resource that can run out (threads, processes, descriptors, large buffers), and faults on purpose,
//! for tests. A debug build fails where a file says so that `CELLIST_FAULTS` names: the next time that a site asks, or the
//! next time that some work is done. Release builds know nothing of it.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};

/// The resource that may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A thread.
    Thread,
    /// A process.
    Process,
    /// A descriptor.
    File,
    /// A large buffer.
    Memory,
}

macro_rules! sites {
    ($($site:ident = $name:literal, $kind:ident;)*) => {
        /// A place that asks the system for something that it may not get. Its name tells which.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names say it")]
        pub enum Site {
            $($site,)*
        }

        impl Site {
            /// All of them.
            pub const ALL: &[Site] = &[$(Site::$site),*];

            /// Its name in a plan.
            pub fn name(self) -> &'static str {
                match self {
                    $(Site::$site => $name,)*
                }
            }

            /// The resource that it asks for.
            pub fn kind(self) -> Kind {
                match self {
                    $(Site::$site => Kind::$kind,)*
                }
            }
        }
    };
}

sites! {
    AsideJob = "aside-job", Thread;
    AsideThread = "aside-thread", Thread;
    SessionThread = "session-thread", Thread;
    LockThread = "lock-thread", Thread;
    TurnThread = "turn-thread", Thread;
    ArtifactThread = "artifact-thread", Thread;
    GuardThread = "guard-thread", Thread;
    GuardWatchThread = "guard-watch-thread", Thread;
    RevisionThread = "revision-thread", Thread;
    ReaperThread = "reaper-thread", Thread;
    WatcherThread = "watcher-thread", Thread;
    KernelProcess = "kernel-process", Process;
    GuardProcess = "guard-process", Process;
    DetachedProcess = "detached-process", Process;
    InterpreterProcess = "interpreter-process", Process;
    RunnerPipe = "runner-pipe", File;
    ShellPipe = "shell-pipe", File;
    KernelLogPipe = "kernel-log-pipe", File;
    GuardPipe = "guard-pipe", File;
    KernelSocket = "kernel-socket", File;
    ServerSocket = "server-socket", File;
    PageListener = "page-listener", File;
    Netlink = "netlink", File;
    FolderWatch = "folder-watch", File;
    LockFile = "lock-file", File;
    RegistrationFile = "registration-file", File;
    NotebookFile = "notebook-file", File;
    SavedFile = "saved-file", File;
    TemporaryFile = "temporary-file", File;
    ArtifactFile = "artifact-file", File;
    ArtifactRead = "artifact-read", File;
    HostFrame = "host-frame", Memory;
    KernelMessage = "kernel-message", Memory;
    GatewayMessage = "gateway-message", Memory;
    RunnerFrame = "runner-frame", Memory;
    NotebookBuffer = "notebook-buffer", Memory;
    McpMessage = "mcp-message", Memory;
    ProviderEvent = "provider-event", Memory;
}

/// Starts a thread.
pub fn thread<T: Send + 'static>(
    site: Site,
    builder: thread::Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    point(site)?;
    builder.spawn(work)
}

/// Starts a process.
pub fn process(site: Site, command: &mut Command) -> io::Result<Child> {
    point(site)?;
    command.spawn()
}

/// Opens a file.
pub fn open(site: Site, options: &OpenOptions, path: &Path) -> io::Result<File> {
    point(site)?;
    options.open(path)
}

/// Makes a pipe.
pub fn pipe(site: Site) -> io::Result<(io::PipeReader, io::PipeWriter)> {
    point(site)?;
    io::pipe()
}

/// Takes room for so many bytes more.
pub fn reserve(site: Site, buffer: &mut Vec<u8>, more: usize) -> io::Result<()> {
    point(site)?;
    buffer.try_reserve_exact(more).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// Makes sure that there is room for so many bytes now, for a library that aborts where there is none.
pub fn check_room(site: Site, bytes: usize) -> io::Result<()> {
    reserve(site, &mut Vec::new(), bytes)
}

/// Asks for something that may be missing.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn point(_: Site) -> io::Result<()> {
    Ok(())
}

/// Begins work that may panic.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn panic_point(_: &str) {}

#[cfg(debug_assertions)]
pub use planned::{panic_point, point};

#[cfg(debug_assertions)]
mod planned {
    use std::fs;
    use std::io;
    use std::path::PathBuf;
    use std::sync::OnceLock;

    use rustix::io::Errno;

    use super::{Kind, Site};

    /// The file with the plan: `fail SITE` or `panic WHERE`. It is removed when it was carried out.
    fn file() -> Option<&'static PathBuf> {
        static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
        FILE.get_or_init(|| std::env::var_os("CELLIST_FAULTS").map(PathBuf::from)).as_ref()
    }

    /// Whether this was planned, once: the process that removes the plan carries it out.
    fn is_due(plan: &str) -> bool {
        let Some(file) = file() else { return false };
        fs::read_to_string(file).is_ok_and(|text| text.trim() == plan) && fs::remove_file(file).is_ok()
    }

    /// Asks for something that may be missing.
    pub fn point(site: Site) -> io::Result<()> {
        if file().is_none() || !is_due(&format!("fail {}", site.name())) {
            return Ok(());
        }
        Err(match site.kind() {
            Kind::Thread | Kind::Process => Errno::AGAIN.into(),
            Kind::File => Errno::MFILE.into(),
            Kind::Memory => Errno::NOMEM.into(),
        })
    }

    /// Begins work that may panic.
    pub fn panic_point(place: &str) {
        if file().is_some() && is_due(&format!("panic {place}")) {
            panic!("a fault of the test in {place}");
        }
    }
}
