//! The way to a host: where it registers, how it is greeted, and how one is started that has nothing of its starter.

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

/// How long a host may take to greet, to start and to leave. It does each in milliseconds on a quiet machine.
const GREETING: Duration = Duration::from_secs(15);
const STARTING: Duration = Duration::from_secs(60);
const LEAVING: Duration = Duration::from_secs(30);
/// How long to wait before looking again at a host that is just coming or just going.
const PAUSE: Duration = Duration::from_millis(5);

/// The log of a host is begun anew when it is longer than this.
const LONGEST_LOG: u64 = 1 << 20;

/// How to reach a host, as it registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostAddress {
    /// Its process, for people.
    pub pid: u32,
    /// Its version, for people.
    pub version: String,
    /// Its socket.
    pub socket: PathBuf,
}

/// What a host that was just started says on its standard output, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartupReport {
    /// It can be reached.
    Ready,
    /// Another one is there already.
    Taken,
    /// The state folder does not take what it has to write there; the system's number for the reason.
    NoState(Option<i32>),
    /// It cannot do its work.
    Failed {
        /// Why.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

/// What came of stopping a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopOutcome {
    /// None was running.
    Nobody,
    /// It ended; this is what it was.
    Left(Box<HostState>),
    /// It did not answer and was killed; its guard ended its kernels.
    Killed {
        /// The process that it was.
        pid: u32,
    },
}

/// How to start a host.
#[derive(Clone, Debug)]
pub struct HostStarter {
    /// The program; its standard output must begin with [`StartupReport`].
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The host of a state folder, running or not, as this version sees it.
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

    /// Where it registers.
    pub fn place(home: &Home) -> Place {
        Place::new(home.path().join("run"), "host").anchored(home.path())
    }

    /// Whether a host has registered; it need not run any more.
    pub(crate) fn is_registered(&self) -> bool {
        Host::place(&self.home).said::<HostAddress>().is_some()
    }

    /// Where one that runs in the background writes down what it does.
    pub fn log(home: &Home) -> PathBuf {
        home.path().join("log").join("host.log")
    }

    /// What the running host is, or nothing when none is running.
    pub async fn state(&self) -> Result<Option<HostState>> {
        Ok(self.find(ConnectPurpose::Look).await?.map(|(_, welcome)| welcome.host))
    }

    /// Ends the running host and waits until it is gone. One that does not answer is killed.
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
        // It holds the lock, so the process that it registered is its own.
        if let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(process, Signal::KILL);
        }
        self.until_left(pid).await?;
        Ok(StopOutcome::Killed { pid })
    }

    /// Reaches the running host.
    pub(crate) async fn attach(&self) -> Result<UnixStream> {
        match self.find(ConnectPurpose::Attach).await? {
            None => Err(Error::NoHost),
            Some((stream, Welcome { answer: ConnectAnswer::Attached, .. })) => Ok(stream),
            Some((_, Welcome { answer: ConnectAnswer::Full, host })) => Err(full(host)),
            Some((_, welcome)) => Err(self.other_version(welcome.host)),
        }
    }

    /// Reaches the running host, or starts one. One of another version that keeps nothing is replaced.
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
                    // Between two looks it may have got something to keep.
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

    /// Starts a host in the background, unless one is running, and says what is running now.
    pub async fn start_in_background(&self, starter: &HostStarter) -> Result<HostState> {
        drop(self.attach_or_start(starter).await?);
        self.state().await?.ok_or(Error::NoHost)
    }

    /// Greets the running host. One that is just coming or going is waited for.
    async fn find(&self, wish: ConnectPurpose) -> Result<Option<(UnixStream, Welcome)>> {
        self.home.refuse_foreign().map_err(|source| self.no_state(source))?;
        let place = Host::place(&self.home);
        let greeting = Greeting { cellist: self.version.clone(), wish };
        // Whoever wants it to end has waited for it already.
        let patience = if wish == ConnectPurpose::Stop { GREETING / 3 } else { GREETING };
        let deadline = Instant::now() + patience;
        // Mostly it is there, and then this is all there is to do.
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
                Some(_) if Instant::now() >= deadline => "it did not greet in time".into(),
                Some(address) => match greet(&address.socket, &greeting, patience).await {
                    Ok(met) => return Ok(Some(met)),
                    Err(GreetError::OtherUser) => {
                        return Err(Error::OtherUser { socket: address.socket.clone() });
                    }
                    Err(GreetError::Failed(error)) => without_number(&error),
                },
                None => "it has not said how to reach it".into(),
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
        // Whoever started it and lives on reaps it. Where there is no thread for that, the system does later.
        drop(fault::thread(Site::ReaperThread, std::thread::Builder::new(), move || child.wait()));
        let heard = blocking(move || {
            let mut words = String::new();
            said.read_to_string(&mut words).map(|_| words)
        });
        let words = match timeout(STARTING, heard).await {
            Ok(Ok(words)) => words,
            Ok(Err(error)) => return Err(cannot(without_number(&error))),
            Err(_) => return Err(cannot(format!("it was not ready within {} seconds", STARTING.as_secs()))),
        };
        match serde_json::from_str(&words) {
            Ok(StartupReport::Ready | StartupReport::Taken) => Ok(()),
            Ok(StartupReport::NoState(code)) => {
                Err(self
                    .no_state(code.map_or_else(|| io::ErrorKind::Other.into(), io::Error::from_raw_os_error)))
            }
            Ok(StartupReport::Failed { message, hint }) => Err(Error::CannotStart { reason: message, hint }),
            Err(_) => Err(cannot("it ended before it was ready".into())),
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
                let reason = format!("it was asked to end {} seconds ago", LEAVING.as_secs());
                Err(Error::NoAnswer { pid, reason })
            }
            Err(source) => Err(self.no_state(source)),
        }
    }

    fn other_version(&self, host: HostState) -> Error {
        Error::OtherVersion { ours: self.version.clone(), host: Box::new(host) }
    }

    /// Why nothing could be waited for: for want of a thread, or of the state folder.
    fn cannot_wait(&self, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::WouldBlock => {
                let hint = "end other programs, or raise the limit of processes (`ulimit -u`)";
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
        // A socket outside our own folder might be anyone's.
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
