//! The gateway that we start ourselves: one for all of a user's processes and each interpreter. It holds its lock for as
//! long as it lives, since the locked file is its standard input; a free lock means that there is none.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cellist_platform::aside::aside;
use cellist_platform::detached::Detached;
use cellist_platform::fault::{self, Site};
use cellist_platform::registration::{Claim, Found, Place, Turn};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::address::Gateway;
use super::rest;
use crate::error::{Error, Result};
use crate::jupyter::message::random_hex;

/// How long a gateway may take to start, and a client may wait for its turn to start one.
const START: Duration = Duration::from_secs(60);
/// How long one that runs may take to show that it is well.
const WELL: Duration = Duration::from_secs(10);
/// How long one that was asked to end may take before it is killed: it ends its kernels first.
const END: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// After how much time without a kernel one ends itself. Kernels that nobody is connected to are ended after the same.
const IDLE: Duration = Duration::from_secs(15 * 60);
const SCRIPT: &str = include_str!("shared.py");

/// Ports are looked for and then used, and another process may be quicker.
const TRIES: usize = 5;

/// Where the shared gateways of a state folder are, one folder for each interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedGateways {
    folder: PathBuf,
    log: PathBuf,
    idle: Duration,
}

/// The announcement of a shared gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// Its process.
    pub pid: u32,
    /// Where it listens, on this machine alone.
    pub port: u16,
    /// The token of its clients.
    token: String,
    /// Its interpreter.
    #[serde(with = "cellist_platform::portable_path")]
    pub python: PathBuf,
}

impl Announcement {
    /// As it is reached.
    pub fn gateway(&self) -> Gateway {
        Gateway::shared(self.port, self.token.clone())
    }
}

/// How a shared gateway is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its announcement.
    pub announcement: Announcement,
    /// How many kernels it runs; none when it does not answer.
    pub kernels: Option<usize>,
}

impl SharedGateways {
    /// Those of a state folder.
    pub fn of(home: &Path) -> SharedGateways {
        SharedGateways { folder: home.join("gateway"), log: home.join("log").join("gateway.log"), idle: IDLE }
    }

    /// Those that are started from now on end after this time without a kernel.
    pub fn ending_after(self, idle: Duration) -> SharedGateways {
        SharedGateways { idle, ..self }
    }

    /// After how much time without a kernel one ends itself.
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// The one of this interpreter, which is started unless it runs. Of concurrent callers one starts it.
    pub async fn obtain(&self, python: &Path, environment: &[(OsString, OsString)]) -> Result<Gateway> {
        let place = self.place(python);
        if let Some(known) = place.said::<Announcement>()
            && is_well(&known, Duration::ZERO).await
        {
            return Ok(known.gateway());
        }
        let _turn = self.turn(&place).await?;
        // The previous holder of the turn may have started it.
        match place.look::<Announcement>().map_err(|error| self.no_state(error))? {
            Found::Owned(known) if is_well(&known, WELL).await => return Ok(known.gateway()),
            Found::Owned(known) => end(&place, Some(known.pid)).await,
            // It cannot be found by anyone any more.
            Found::Unsaid => end(&place, holder(&place)).await,
            Found::Nobody => {}
        }
        for _ in 0..TRIES {
            if let Some(gateway) = self.start(&place, python, environment).await? {
                return Ok(gateway);
            }
        }
        Err(cannot("no port is free for it".into()))
    }

    /// Those that run.
    pub async fn list(&self) -> Vec<Standing> {
        let mut all = Vec::new();
        for place in self.places() {
            let Ok(Found::Owned(announcement)) = place.look::<Announcement>() else { continue };
            let gateway = announcement.gateway();
            let listed = rest::get::<Vec<serde_json::Value>>(&gateway, "/api/kernels").await;
            all.push(Standing { announcement, kernels: listed.ok().map(|kernels| kernels.len()) });
        }
        all
    }

    /// Ends those that run, with their kernels, and says which they were.
    pub async fn stop(&self) -> Vec<Announcement> {
        let mut ended = Vec::new();
        for place in self.places() {
            match place.look::<Announcement>() {
                Ok(Found::Owned(announcement)) => {
                    end(&place, Some(announcement.pid)).await;
                    ended.push(announcement);
                }
                Ok(Found::Unsaid) => end(&place, holder(&place)).await,
                Ok(Found::Nobody) | Err(_) => {}
            }
        }
        ended
    }

    /// Ends the one of this interpreter, unless code runs on it or it cannot be asked; whether it did.
    pub(super) async fn end_unless_busy(&self, python: &Path) -> bool {
        let place = self.place(python);
        let Ok(_turn) = self.turn(&place).await else { return false };
        let Ok(Found::Owned(known)) = place.look::<Announcement>() else { return false };
        let kernels = rest::get::<Vec<serde_json::Value>>(&known.gateway(), "/api/kernels").await;
        let is_busy = |kernel: &serde_json::Value| kernel["execution_state"] != "idle";
        if kernels.map_or(true, |kernels| kernels.iter().any(is_busy)) {
            return false;
        }
        end(&place, Some(known.pid)).await;
        true
    }

    /// The process of the one of this interpreter, if it runs.
    pub(super) fn process(&self, python: &Path) -> Option<u32> {
        match self.place(python).look::<Announcement>() {
            Ok(Found::Owned(known)) => Some(known.pid),
            Ok(Found::Nobody | Found::Unsaid) | Err(_) => None,
        }
    }

    async fn turn(&self, place: &Place) -> Result<Turn> {
        let waiting = place.clone();
        let turn = aside(move || waiting.turn(START)).await;
        let turn = turn.unwrap_or_else(|error| Err(error.into())).map_err(|error| self.no_state(error))?;
        turn.ok_or_else(|| cannot(format!("another process has been starting it for {START:?}")))
    }

    fn place(&self, python: &Path) -> Place {
        use std::os::unix::ffi::OsStrExt;
        let digest = Sha256::digest(python.as_os_str().as_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Place::new(self.folder.join(name), "gateway")
    }

    fn places(&self) -> Vec<Place> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort();
        folders.into_iter().map(|folder| Place::new(folder, "gateway")).collect()
    }

    /// Starts one; none when another process took its port.
    async fn start(
        &self,
        place: &Place,
        python: &Path,
        environment: &[(OsString, OsString)],
    ) -> Result<Option<Gateway>> {
        let claim = place.claim().map_err(|error| self.no_state(error))?;
        let claim = claim.ok_or_else(|| cannot("another one is there".into()))?;
        let token = random_hex(24).map_err(|error| cannot(error.to_string()))?;
        let port = free_port().map_err(|error| cannot(error.to_string()))?;
        let mut child = self.spawn(&claim, python, environment, port, &token)?;
        let announcement = Announcement { pid: child.id(), port, token, python: python.to_owned() };
        let _ = fs::write(place.lock(), child.id().to_string());
        let began = Instant::now();
        while !answers(&announcement).await {
            if let Ok(Some(status)) = child.try_wait() {
                let said = last_lines(&self.log);
                if said.contains("already in use") || said.contains("available port") {
                    return Ok(None);
                }
                return Err(cannot(format!("it ended with {status}; see {}\n{said}", self.log.display())));
            }
            if began.elapsed() > START {
                let _ = child.kill();
                let _ = child.wait();
                return Err(cannot(format!("it was not ready within {} seconds", START.as_secs())));
            }
            tokio::time::sleep(LOOK).await;
        }
        claim.announce(&announcement).map_err(|error| self.no_state(error))?;
        claim.hand_on();
        // The process that started it reaps it.
        drop(fault::thread(Site::ReaperThread, std::thread::Builder::new(), move || child.wait()));
        Ok(Some(announcement.gateway()))
    }

    fn spawn(
        &self,
        claim: &Claim,
        python: &Path,
        environment: &[(OsString, OsString)],
        port: u16,
        token: &str,
    ) -> Result<std::process::Child> {
        let log = open_log(&self.log).map_err(|error| self.no_state(error))?;
        let idle = self.idle.as_secs_f64();
        let arguments = [
            "-c".to_owned(),
            SCRIPT.to_owned(),
            idle.to_string(),
            "--KernelGatewayApp.ip=127.0.0.1".to_owned(),
            format!("--KernelGatewayApp.port={port}"),
            "--KernelGatewayApp.port_retries=0".to_owned(),
            "--JupyterWebsocketPersonality.list_kernels=True".to_owned(),
            // They throw output away.
            "--ZMQChannelsWebsocketConnection.limit_rate=False".to_owned(),
            // Only of kernels without a connection: those of killed owners.
            format!("--MappingKernelManager.cull_idle_timeout={}", idle.ceil()),
            format!("--MappingKernelManager.cull_interval={}", (idle / 10.0).ceil()),
        ];
        let mut environment = environment.to_vec();
        // Not among the arguments, which everyone on this machine can read; it does not hand it to its kernels.
        environment.push(("KG_AUTH_TOKEN".into(), token.into()));
        let lock = claim.share().map_err(|error| self.no_state(error))?;
        let detached = Detached {
            program: python.to_owned(),
            arguments: arguments.map(OsString::from).into(),
            environment,
            stdin: lock.into(),
            stdout: log.try_clone().map_err(|error| self.no_state(error))?.into(),
            stderr: log.into(),
        };
        detached.spawn().map_err(|error| cannot(format!("{}: {error}", python.display())))
    }

    fn no_state(&self, source: io::Error) -> Error {
        Error::Io { what: format!("{} cannot be used", self.folder.display()), source }
    }
}

fn cannot(reason: String) -> Error {
    Error::Gateway {
        message: format!("the shared gateway cannot be started: {reason}"),
        hint: Some("`cellist gateway stop` ends one that is in the way; --backend jupyter needs none".into()),
    }
}

/// The process that holds the lock, as its starter recorded it.
fn holder(place: &Place) -> Option<u32> {
    fs::read_to_string(place.lock()).ok()?.trim().parse().ok()
}

/// Ends a gateway and waits until it is gone. It holds its lock, so the process is its own.
async fn end(place: &Place, pid: Option<u32>) {
    let process = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    let Some(process) = process else { return };
    for (signal, patience) in [(Signal::TERM, END), (Signal::KILL, WELL)] {
        let _ = kill_process(process, signal);
        let leaving = place.clone();
        let left = aside(move || leaving.until_left(patience)).await;
        if matches!(left, Ok(Ok(true))) {
            let _ = fs::remove_file(place.entry());
            return;
        }
    }
}

async fn is_well(known: &Announcement, patience: Duration) -> bool {
    let began = Instant::now();
    loop {
        if answers(known).await {
            return true;
        }
        if began.elapsed() >= patience {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn answers(known: &Announcement) -> bool {
    rest::get::<serde_json::Value>(&known.gateway(), "/api/kernelspecs").await.is_ok()
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn open_log(path: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap_or(path))?;
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}
