//! The host process: its registration, the greeting, and the start of a detached host.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cellist_platform::aside::aside;
use cellist_platform::detached::Detached;
use cellist_platform::fault::{self, Site};
use cellist_platform::registration::{Found, Place};
use cellist_platform::without_number;
use cellist_settings::Home;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::protocol::frame;
use crate::protocol::hello::{ConnectAnswer, ConnectPurpose, Greeting, HostState, Welcome};

/// The timeouts of the greeting, the start and the exit. Each takes milliseconds on an idle machine.
const GREETING: Duration = Duration::from_secs(15);
const STARTING: Duration = Duration::from_secs(60);
const LEAVING: Duration = Duration::from_secs(30);
/// The pause between two attempts to reach a host that is starting or exiting.
const PAUSE: Duration = Duration::from_millis(5);

/// A longer log is rotated.
const LONGEST_LOG: u64 = 1 << 20;

/// The registered address of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostAddress {
    /// Its process id, for messages.
    pub pid: u32,
    /// Its version, for messages.
    pub version: String,
    /// Its socket.
    pub socket: PathBuf,
}

/// The single message of a new host on its standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartupReport {
    /// The host accepts connections.
    Ready,
    /// Another host is running.
    Taken,
    /// The state folder is not writable; with the OS error code.
    NoState(Option<i32>),
    /// The host failed to start.
    Failed {
        /// The error.
        message: String,
        /// The advice.
        hint: Option<String>,
    },
}

/// The result of stopping a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopOutcome {
    /// No host was running.
    Nobody,
    /// The host exited; with its last state.
    Left(Box<HostState>),
    /// The host did not respond and was killed; its guard ended its kernels.
    Killed {
        /// Its process id.
        pid: u32,
    },
}

/// The command that starts a host.
#[derive(Clone, Debug)]
pub struct HostStarter {
    /// The program; its standard output must begin with [`StartupReport`].
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The host of a state folder, running or not.
///
/// The registration lock decides whether a host runs; process ids are only for messages. Clients that start a host take a
/// second lock, so that many at once start one host. A host of another version is replaced only if it is not needed.
#[derive(Clone, Debug)]
pub struct Host {
    home: Home,
    version: String,
}

impl Host {
    /// The host of a state folder.
    pub fn of(home: &Home, version: impl Into<String>) -> Host {
        Host { home: home.clone(), version: version.into() }
    }

    /// The location of its registration.
    pub fn place(home: &Home) -> Place {
        Place::new(home.path().join("run"), "host").anchored(home.path())
    }

    /// Whether a host has registered. It may have exited since.
    pub(crate) fn is_registered(&self) -> bool {
        Host::place(&self.home).said::<HostAddress>().is_some()
    }

    /// The log file of a background host.
    pub fn log(home: &Home) -> PathBuf {
        home.path().join("log").join("host.log")
    }

    /// Returns the state of the running host, if there is one.
    pub async fn state(&self) -> Result<Option<HostState>> {
        Ok(self.find(ConnectPurpose::Look).await?.map(|(_, welcome)| welcome.host))
    }

    /// Stops the running host and waits until it is gone. Kills a host that does not respond.
    pub async fn stop(&self) -> Result<StopOutcome> {
        let pid = match self.find(ConnectPurpose::Stop).await {
            Ok(None) => return Ok(StopOutcome::Nobody),
            Ok(Some((_, welcome))) => {
                let host = welcome.host;
                match self.until_left(host.pid).await {
                    Ok(()) => return Ok(StopOutcome::Left(Box::new(host))),
                    Err(Error::NoAnswer { .. }) => host.pid,
                    Err(error) => return Err(error),
                }
            }
            Err(Error::NoAnswer { pid, .. }) if pid != 0 => pid,
            Err(error) => return Err(error),
        };
        // The host holds the lock, so the registered process id is valid.
        if let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(process, Signal::KILL);
        }
        self.until_left(pid).await?;
        Ok(StopOutcome::Killed { pid })
    }

    /// Connects to the running host.
    pub(crate) async fn attach(&self) -> Result<UnixStream> {
        match self.find(ConnectPurpose::Attach).await? {
            None => Err(Error::NoHost),
            Some((stream, Welcome { answer: ConnectAnswer::Attached, .. })) => Ok(stream),
            Some((_, Welcome { answer: ConnectAnswer::Full, host })) => Err(full(host)),
            Some((_, welcome)) => Err(self.other_version(welcome.host)),
        }
    }

    /// Connects to the running host, or starts one. Replaces an unneeded host of another version.
    pub(crate) async fn attach_or_start(&self, starter: &HostStarter) -> Result<UnixStream> {
        let mut turn = None;
        loop {
            match self.find(ConnectPurpose::Attach).await? {
                Some((stream, Welcome { answer: ConnectAnswer::Attached, .. })) => return Ok(stream),
                Some((_, Welcome { answer: ConnectAnswer::Full, host })) => return Err(full(host)),
                Some((_, welcome)) if welcome.host.is_needed() => {
                    return Err(self.other_version(welcome.host));
                }
                Some(_) => {
                    // The host may have become needed since the first look.
                    if let Some((_, welcome)) = self.find(ConnectPurpose::Replace).await? {
                        if welcome.answer != ConnectAnswer::Leaving {
                            return Err(self.other_version(welcome.host));
                        }
                        self.until_left(welcome.host.pid).await?;
                    }
                }
                None if turn.is_none() => {
                    let place = Host::place(&self.home);
                    let waited = blocking(move || place.turn(STARTING)).await;
                    turn = waited.map_err(|source| self.cannot_wait(source))?;
                    if turn.is_none() {
                        let reason = format!(
                            "another process has been starting it for {} seconds",
                            STARTING.as_secs()
                        );
                        return Err(Error::CannotStart { reason, hint: Some("try again".into()) });
                    }
                }
                None => self.start(starter).await?,
            }
        }
    }

    /// Starts a background host unless one is running. Returns the state of the running host.
    pub async fn start_in_background(&self, starter: &HostStarter) -> Result<HostState> {
        drop(self.attach_or_start(starter).await?);
        self.state().await?.ok_or(Error::NoHost)
    }

    /// Greets the running host. Waits for one that is starting or exiting.
    async fn find(&self, wish: ConnectPurpose) -> Result<Option<(UnixStream, Welcome)>> {
        self.home.refuse_foreign().map_err(|source| self.no_state(source))?;
        let place = Host::place(&self.home);
        let greeting = Greeting { cellist: self.version.clone(), wish };
        // Stopping has a shorter timeout: the user has often waited already.
        let patience = if wish == ConnectPurpose::Stop { GREETING / 3 } else { GREETING };
        let deadline = Instant::now() + patience;
        // The common case: a host is running and responds.
        if let Some(address) = place.said::<HostAddress>()
            && let Ok(met) = greet(&address.socket, &greeting, patience).await
        {
            return Ok(Some(met));
        }
        loop {
            let address = match place.look::<HostAddress>() {
                Ok(Found::Nobody) => return Ok(None),
                Ok(Found::Owned(address)) => Some(address),
                Ok(Found::Unsaid) => None,
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
                Err(source) => return Err(self.no_state(source)),
            };
            let failed = match &address {
                Some(_) if Instant::now() >= deadline => "no greeting in time".into(),
                Some(address) => match greet(&address.socket, &greeting, patience).await {
                    Ok(met) => return Ok(Some(met)),
                    Err(GreetError::OtherUser) => {
                        return Err(Error::OtherUser { socket: address.socket.clone() });
                    }
                    Err(GreetError::Failed(error)) => without_number(&error),
                },
                None => "it has not registered its address".into(),
            };
            if Instant::now() >= deadline {
                return Err(Error::NoAnswer {
                    pid: address.map_or(0, |address| address.pid),
                    reason: failed,
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn start(&self, starter: &HostStarter) -> Result<()> {
        let (mut said, say) = io::pipe().map_err(|source| self.no_state(source))?;
        let log = self.open_log().map_err(|source| self.no_state(source))?;
        let home = std::path::absolute(self.home.path()).unwrap_or_else(|_| self.home.path().to_owned());
        let detached = Detached {
            program: starter.program.clone(),
            arguments: starter.arguments.iter().map(Into::into).collect(),
            environment: vec![("CELLIST_HOME".into(), home.into())],
            stdin: std::process::Stdio::null(),
            stdout: say.into(),
            stderr: log.into(),
        };
        let cannot = |reason: String| Error::CannotStart {
            reason,
            hint: Some(format!("see {}", Host::log(&self.home).display())),
        };
        let mut child = detached
            .spawn()
            .map_err(|error| cannot(format!("{}: {}", starter.program.display(), without_number(&error))))?;
        // A long-lived parent must reap the child. Without a thread for that, init does it later.
        drop(fault::thread(Site::ReaperThread, std::thread::Builder::new(), move || child.wait()));
        let heard = blocking(move || {
            let mut words = String::new();
            said.read_to_string(&mut words).map(|_| words)
        });
        let words = match timeout(STARTING, heard).await {
            Ok(Ok(words)) => words,
            Ok(Err(error)) => return Err(cannot(without_number(&error))),
            Err(_) => return Err(cannot(format!("not ready within {} seconds", STARTING.as_secs()))),
        };
        match serde_json::from_str(&words) {
            Ok(StartupReport::Ready | StartupReport::Taken) => Ok(()),
            Ok(StartupReport::NoState(code)) => {
                Err(self
                    .no_state(code.map_or_else(|| io::ErrorKind::Other.into(), io::Error::from_raw_os_error)))
            }
            Ok(StartupReport::Failed { message, hint }) => Err(Error::CannotStart { reason: message, hint }),
            Err(_) => Err(cannot("it exited before it was ready".into())),
        }
    }

    fn open_log(&self) -> io::Result<File> {
        let path = Host::log(&self.home);
        DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap_or(&path))?;
        if fs::metadata(&path).is_ok_and(|log| log.len() > LONGEST_LOG) {
            fs::rename(&path, path.with_extension("log.before"))?;
        }
        OpenOptions::new().append(true).create(true).mode(0o600).open(&path)
    }

    async fn until_left(&self, pid: u32) -> Result<()> {
        let place = Host::place(&self.home);
        match blocking(move || place.until_left(LEAVING)).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let reason = format!("still running {} seconds after the stop request", LEAVING.as_secs());
                Err(Error::NoAnswer { pid, reason })
            }
            Err(source) => Err(self.no_state(source)),
        }
    }

    fn other_version(&self, host: HostState) -> Error {
        Error::OtherVersion { ours: self.version.clone(), host: Box::new(host) }
    }

    /// The error of a failed wait: no thread, or no state folder.
    fn cannot_wait(&self, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::WouldBlock => {
                let hint = "close other programs, or raise the process limit (`ulimit -u`)";
                Error::CannotStart { reason: without_number(&source), hint: Some(hint.into()) }
            }
            _ => self.no_state(source),
        }
    }

    fn no_state(&self, source: io::Error) -> Error {
        Error::NoState { folder: self.home.path().to_owned(), source }
    }
}

fn full(host: HostState) -> Error {
    Error::Full { host: Box::new(host) }
}

enum GreetError {
    OtherUser,
    Failed(io::Error),
}

impl From<io::Error> for GreetError {
    fn from(error: io::Error) -> GreetError {
        GreetError::Failed(error)
    }
}

async fn greet(
    socket: &Path,
    greeting: &Greeting,
    patience: Duration,
) -> std::result::Result<(UnixStream, Welcome), GreetError> {
    let greeted = async {
        let mut stream = UnixStream::connect(socket).await?;
        // A socket outside our own folder may belong to another user.
        if stream.peer_cred()?.uid() != rustix::process::geteuid().as_raw() {
            return Err(GreetError::OtherUser);
        }
        frame::write(&mut stream, greeting).await?;
        match frame::read(&mut stream).await? {
            Some(welcome) => Ok((stream, welcome)),
            None => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
        }
    };
    match timeout(patience, greeted).await {
        Ok(met) => met,
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    aside(work).await.unwrap_or_else(|error| Err(error.into()))
}
