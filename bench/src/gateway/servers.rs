//! The gateways under test. Each stops when it is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cellist_kernel::gateway::Gateway;
use serde_json::Value;
use tempfile::TempDir;
use testkit::{Flavour, Jupyter, TOKEN};

use crate::measure::{self, cellist};

/// Our own gateway, with its own state folder.
pub(crate) struct OwnGateway {
    folder: TempDir,
}

impl OwnGateway {
    pub(crate) fn start(python: &Path) -> OwnGateway {
        let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
        let ours = OwnGateway { folder };
        measure::run(ours.command().args(["gateway", "start", "--python"]).arg(python).stdout(Stdio::null()));
        ours
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(cellist());
        command.current_dir(self.folder()).env("CELLIST_HOME", self.home());
        command
    }

    /// Its address and token, from its file.
    pub(crate) fn credentials(&self) -> [String; 2] {
        let mut folders = fs::read_dir(self.home().join("gateway")).expect("its folder").flatten();
        let entry = folders.next().expect("one of them").path().join("gateway.json");
        let words: Value =
            serde_json::from_slice(&fs::read(entry).expect("its connection file")).expect("it is JSON");
        let token = words["token"].as_str().expect("a token").to_owned();
        [format!("http://127.0.0.1:{}", words["port"]), token]
    }

    /// A host with a limit on sessions.
    pub(crate) fn host(&self, sessions: usize) -> GatewayHost<'_> {
        let config = format!("[python]\nmax_sessions = {sessions}\n");
        fs::write(self.home().join("config.toml"), config).expect("the state folder can be written");
        GatewayHost(self)
    }
}

impl Drop for OwnGateway {
    fn drop(&mut self) {
        let _ = self.command().args(["gateway", "stop"]).stdout(Stdio::null()).status();
    }
}

/// A host, started by the first command that needs it.
pub(crate) struct GatewayHost<'a>(&'a OwnGateway);

impl GatewayHost<'_> {
    pub(crate) fn command(&self) -> Command {
        self.0.command()
    }

    /// Its memory.
    pub(crate) fn memory(&self) -> u64 {
        let status = self.command().args(["status", "--json"]).output().expect("it starts");
        let status: Value = serde_json::from_slice(&status.stdout).expect("it is JSON");
        let pid = status["pid"].as_u64().expect("a host runs");
        measure::held_by(&pid.to_string()).expect("a system that tells of processes")
    }
}

impl Drop for GatewayHost<'_> {
    fn drop(&mut self) {
        let _ = self.command().arg("stop").stdout(Stdio::null()).status();
    }
}

/// An Enterprise Gateway.
pub(crate) struct EnterpriseServer(Jupyter);

impl EnterpriseServer {
    pub(crate) fn start() -> EnterpriseServer {
        EnterpriseServer(Jupyter::start(Flavour::EnterpriseGateway, &[]))
    }

    pub(crate) fn gateway(&self) -> Gateway {
        let [url, token] = self.credentials();
        Gateway::new(&url, Some(token)).expect("an address")
    }

    pub(crate) fn credentials(&self) -> [String; 2] {
        [self.0.url(), TOKEN.to_owned()]
    }
}
