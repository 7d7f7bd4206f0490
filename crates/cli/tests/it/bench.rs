//! Kernels to run on, and the processes that a command leaves behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use testkit::{Flavour, Jupyter, TOKEN};

use crate::desk::{Desk, Ran};

/// The kernel of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    /// The runner, in an environment that has IPython and the usual libraries.
    Runner,
    /// The runner, in an environment without IPython.
    BareRunner,
    /// ipykernel.
    Ipykernel,
    /// ipykernel behind a Jupyter Kernel Gateway.
    KernelGateway,
    /// ipykernel behind a Jupyter Server.
    JupyterServer,
    /// ipykernel behind a Jupyter Enterprise Gateway.
    EnterpriseGateway,
}

impl Backend {
    /// Counts the test as one that ran on it.
    pub(crate) fn tally(self) {
        testkit::tally(match self {
            Backend::Runner | Backend::BareRunner => "runner",
            Backend::Ipykernel => "ipykernel",
            Backend::KernelGateway | Backend::JupyterServer | Backend::EnterpriseGateway => "gateways",
        });
    }

    /// The server that it needs, for as long as it is held.
    pub(crate) fn server(self) -> Option<Arc<Jupyter>> {
        match self {
            Backend::Runner | Backend::BareRunner | Backend::Ipykernel => None,
            Backend::KernelGateway => Some(Jupyter::shared(Flavour::KernelGateway)),
            Backend::JupyterServer => Some(Jupyter::shared(Flavour::JupyterServer)),
            Backend::EnterpriseGateway => Some(Jupyter::shared(Flavour::EnterpriseGateway)),
        }
    }

    pub(crate) fn python(self) -> PathBuf {
        match self {
            Backend::Runner
            | Backend::Ipykernel
            | Backend::KernelGateway
            | Backend::JupyterServer
            | Backend::EnterpriseGateway => testkit::python("kernels"),
            Backend::BareRunner => testkit::python("nbformat"),
        }
    }

    /// The flags that choose it.
    pub(crate) fn flags(self) -> Vec<String> {
        let backend = match self {
            Backend::Runner | Backend::BareRunner => "runner",
            Backend::Ipykernel => "jupyter",
            Backend::KernelGateway | Backend::JupyterServer | Backend::EnterpriseGateway => "gateway",
        };
        vec!["--backend".into(), backend.into(), "--python".into(), self.python().display().to_string()]
    }
}

/// The Python that the environments are made from.
pub(crate) fn bare_python() -> PathBuf {
    let environment = testkit::python("kernels");
    let settings = environment.parent().and_then(Path::parent).unwrap().join("pyvenv.cfg");
    let settings = fs::read_to_string(settings).unwrap();
    let home = settings.lines().find_map(|line| line.strip_prefix("home = ")).unwrap();
    Path::new(home).join("python3")
}

/// Keeps the Pythons that the tests run among out of it, unless the command names one.
pub(crate) fn without_environments(command: &mut Command) {
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX", "JUPYTER_PATH", "PYTHONPATH"] {
        if !command.get_envs().any(|(set, _)| set == name) {
            command.env_remove(name);
        }
    }
}

/// A mark that all processes of one command carry, so that leftovers can be found.
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Mark {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Mark(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn put_on(&self, command: &mut Command) {
        command.env("PI_TEST_MARK", &self.0);
    }

    /// Processes that carry it.
    pub(crate) fn carriers(&self) -> Vec<u32> {
        let wanted = format!("PI_TEST_MARK={}", self.0);
        let is_carrier = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        };
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(is_carrier).collect()
    }

    /// Fails when a process is still there after a while.
    #[track_caller]
    pub(crate) fn assert_gone(&self, within: Duration) {
        let deadline = Instant::now() + within;
        while !self.carriers().is_empty() {
            let left = self.carriers();
            assert!(Instant::now() < deadline, "still running: {left:?}");
            std::thread::yield_now();
        }
    }
}

impl Desk {
    /// Runs a command on a kernel; nothing may be left running afterwards.
    #[track_caller]
    pub(crate) fn run_on(&self, backend: Backend, arguments: &[&str]) -> Ran {
        backend.tally();
        let (server, mut flags) = (backend.server(), backend.flags());
        if let Some(server) = &server {
            flags.extend(["--gateway".to_owned(), server.url()]);
        }
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = self.command(&[arguments, &flags].concat());
        command.env("PI_PYTHON_GATEWAY_TOKEN", TOKEN).env("KERNEL_USERNAME", "ann");
        self.run_marked(&mut command)
    }

    /// Runs a command that may start a kernel; nothing may be left running afterwards.
    #[track_caller]
    pub(crate) fn run_marked(&self, command: &mut Command) -> Ran {
        let mark = Mark::new();
        mark.put_on(command);
        without_environments(command);
        let ran = Ran::of(command);
        mark.assert_gone(Duration::from_secs(2));
        ran
    }
}
