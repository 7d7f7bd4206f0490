//! The workspaces of both sides: equal notebooks in separate folders, on the same Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::{Flavour, Jupyter};

use super::client::Client;
use crate::measure::cellist;

/// The environment of the peers, and the Python that runs code.
pub(crate) fn python() -> PathBuf {
    testkit::python("bench-mcp")
}

/// Our workspace: a folder whose host is stopped at the end.
pub(crate) struct OurWorkspace(TempDir);

impl OurWorkspace {
    pub(crate) fn new() -> OurWorkspace {
        OurWorkspace(tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written"))
    }

    pub(super) fn folder(&self) -> &Path {
        self.0.path()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(cellist());
        command.current_dir(self.folder()).env("CELLIST_HOME", self.folder().join("home"));
        command
    }

    /// The command that serves MCP with a backend.
    pub(crate) fn mcp(&self, backend: &str) -> Command {
        let mut command = self.command();
        command.args(["mcp", "--backend", backend, "--python"]).arg(python());
        command
    }

    pub(crate) fn client(&self, backend: &str) -> (Client, String) {
        Client::start(&mut self.mcp(backend))
    }

    /// The process of the host.
    pub(crate) fn host(&self) -> u32 {
        let text = fs::read(self.folder().join("home/run/host.json")).expect("a host runs");
        let said: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
        said["pid"].as_u64().and_then(|pid| pid.try_into().ok()).expect("it names its process")
    }
}

impl Drop for OurWorkspace {
    fn drop(&mut self) {
        let _ = self.command().arg("stop").stdout(Stdio::null()).status();
    }
}

/// Their workspace: a Jupyter Server with collaboration, which jupyter-mcp-server needs.
pub(super) struct PeerWorkspace(Jupyter);

impl PeerWorkspace {
    pub(super) fn new() -> PeerWorkspace {
        PeerWorkspace(Jupyter::start(Flavour::Collaboration, &[]))
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.0.root()
    }

    pub(super) fn mcp(&self) -> Command {
        let mut command = Command::new(python().with_file_name("jupyter-mcp-server"));
        command.args(["start", "--transport", "stdio", "--start-new-code-sandbox", "false"]);
        command.args(["--code-sandbox-url", &self.0.url(), "--code-sandbox-token", testkit::TOKEN]);
        command.args(["--document-url", &self.0.url(), "--document-token", testkit::TOKEN]);
        command
    }
}
