//! An order for a kernel: all decisions about it, as data. The host service writes it from the environment of a client,
//! and the session starts the kernel by it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::guard::Guard;
use crate::launch::{Launch, Module, Started};
use crate::trace::Trace;
use crate::zmq::{self, KernelCommand};
use crate::{Backend, gateway, runner, shell};

/// How long a kernel may take until it is ready, where nobody says otherwise.
const STARTUP: Duration = Duration::from_secs(60);

/// The kernel to start, with its inputs. Paths are absolute; values that are not text survive being sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The backend.
    pub way: Way,
    /// The folder to run in.
    #[serde(with = "cellist_platform::portable_path")]
    pub cwd: PathBuf,
    /// The whole environment of the kernel, already filtered.
    #[serde(with = "cellist_platform::portable_path")]
    pub environment: Vec<(OsString, OsString)>,
    /// Facts that the kernel's exceptions may be about.
    #[serde(flatten)]
    pub around: KernelSurroundings,
    /// Code of ours that runs first and is never counted or shown.
    pub prelude: Option<String>,
    /// Extension modules, in the order in which they run after the prelude.
    pub modules: Vec<Module>,
    /// How long it may take until the kernel is ready.
    pub startup_timeout: Duration,
    /// Whether every message is to be written down.
    pub traced: bool,
    /// Whether child processes of the kernel may call the host's tools, too.
    #[serde(default)]
    pub inherits_bridge: bool,
    /// Notices from the decision, for the user.
    pub notices: Vec<String>,
}

/// Facts about a kernel that its exceptions may be about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSurroundings {
    /// Names of variables that are set where the order was written and were kept from the kernel.
    pub hidden_variables: BTreeSet<String>,
    /// Whether the interpreter has pip.
    pub has_pip: bool,
}

/// The backend that was decided on, with its inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The embedded runner, in this interpreter.
    Runner {
        /// The interpreter.
        #[serde(with = "cellist_platform::portable_path")]
        python: PathBuf,
    },
    /// A Jupyter kernel over ZeroMQ.
    Jupyter(KernelCommand),
    /// A Jupyter kernel behind a gateway.
    Gateway(gateway::Target),
    /// A Jupyter kernel behind the gateway that we share between processes.
    SharedGateway {
        /// The interpreter of both.
        #[serde(with = "cellist_platform::portable_path")]
        python: PathBuf,
        /// The state folder that it belongs to.
        #[serde(with = "cellist_platform::portable_path")]
        home: PathBuf,
    },
    /// A shell, for commands.
    Shell {
        /// The program.
        #[serde(with = "cellist_platform::portable_path")]
        program: PathBuf,
    },
    /// A Jupyter kernel that another program has started and will end.
    Existing {
        /// Its connection file.
        #[serde(with = "cellist_platform::portable_path")]
        connection_file: PathBuf,
    },
}

impl Order {
    /// An order without anything that one need not have: no environment, nothing that runs first, and the usual time to
    /// start.
    pub fn new(way: Way, cwd: impl Into<PathBuf>) -> Order {
        Order {
            way,
            cwd: cwd.into(),
            environment: Vec::new(),
            around: KernelSurroundings::default(),
            prelude: None,
            modules: Vec::new(),
            startup_timeout: STARTUP,
            traced: false,
            inherits_bridge: false,
            notices: Vec::new(),
        }
    }

    /// Starts the kernel in this process and returns when it is ready. `runtime_dir` is a private folder of ours
    /// that stays from one start to the next; messages go to `trace` if the order wants them written down.
    pub async fn start(&self, guard: &Guard, runtime_dir: &Path, trace: Option<Trace>) -> Result<Started> {
        let trace = trace.filter(|_| self.traced);
        let launch = Launch {
            cwd: self.cwd.clone(),
            environment: self.environment.clone(),
            prelude: self.prelude.clone(),
            modules: self.modules.clone(),
            startup_timeout: self.startup_timeout,
            runtime_dir: runtime_dir.to_owned(),
            trace: trace.clone(),
        };
        let mut started = match &self.way {
            Way::Runner { python } => runner::start(python, launch, guard).await?,
            Way::Jupyter(command) => zmq::start(command.clone(), launch, guard).await?,
            Way::Gateway(target) => gateway::start(target.clone(), launch).await?,
            Way::SharedGateway { python, home } => gateway::start_shared(home, python, launch).await?,
            Way::Shell { program } => shell::start(program, launch, guard)?,
            Way::Existing { connection_file } => zmq::join(connection_file, trace).await?,
        };
        started.notices.splice(0..0, self.notices.iter().cloned());
        Ok(started)
    }

    /// Makes room where a kernel could not be started because too many files were open elsewhere; whether it could.
    pub async fn make_room(&self) -> bool {
        match &self.way {
            Way::SharedGateway { python, home } => gateway::end_shared_unless_busy(home, python).await,
            Way::Runner { .. }
            | Way::Jupyter(_)
            | Way::Gateway(_)
            | Way::Shell { .. }
            | Way::Existing { .. } => false,
        }
    }

    /// How the kernel will be run.
    pub fn backend(&self) -> Backend {
        match self.way {
            Way::Runner { .. } => Backend::Runner,
            Way::Jupyter(_) | Way::Existing { .. } => Backend::Jupyter,
            Way::Gateway(_) | Way::SharedGateway { .. } => Backend::Gateway,
            Way::Shell { .. } => Backend::Shell,
        }
    }

    /// The language that it runs; of a kernel that only its gateway knows, the requested one.
    pub fn language(&self) -> &str {
        match &self.way {
            Way::Runner { .. } | Way::SharedGateway { .. } => "python",
            Way::Jupyter(command) => &command.language,
            Way::Gateway(gateway::Target { kernel: gateway::Which::Start(wanted), .. }) => {
                wanted.language.as_deref().unwrap_or("python")
            }
            Way::Gateway(_) | Way::Existing { .. } => "python",
            Way::Shell { .. } => "bash",
        }
    }

    /// The interpreter, where it is a local Python.
    pub fn python(&self) -> Option<&Path> {
        match &self.way {
            Way::Runner { python } | Way::SharedGateway { python, .. } => Some(python),
            Way::Jupyter(command) => command.python.as_deref(),
            Way::Gateway(_) | Way::Shell { .. } | Way::Existing { .. } => None,
        }
    }
}

impl Way {
    /// A description of the kernel for people.
    pub fn in_words(&self) -> &'static str {
        match self {
            Way::Runner { .. } => "Python",
            Way::Jupyter(_) => "the Jupyter kernel",
            Way::Gateway(_) => "a kernel on the gateway",
            Way::SharedGateway { .. } => "a kernel on the shared gateway",
            Way::Shell { .. } => "a shell",
            Way::Existing { .. } => "the kernel that runs",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn order(way: Way) -> Order {
        let strange = || OsString::from_vec(vec![b'a', 0xff, b'"', 0xc3]);
        Order {
            way,
            cwd: PathBuf::from(strange()),
            environment: vec![("HOME".into(), "/home/é".into()), (strange(), strange())],
            around: KernelSurroundings {
                hidden_variables: BTreeSet::from(["AWS_SECRET".to_owned()]),
                has_pip: true,
            },
            prelude: Some("import os\n".into()),
            modules: vec![Module { name: "m".into(), path: PathBuf::from(strange()).join("m.py") }],
            startup_timeout: Duration::from_millis(1500),
            traced: true,
            inherits_bridge: true,
            notices: vec!["one was passed over".into()],
        }
    }

    #[test]
    fn an_order_is_the_same_after_it_was_sent_whatever_its_names_are_made_of() {
        let strange = PathBuf::from(OsString::from_vec(vec![b'/', 0xfe]));
        let mut command = KernelCommand::ipykernel(&strange);
        command.env.push(("A".into(), OsString::from_vec(vec![0x80])));
        for way in [Way::Runner { python: strange.clone() }, Way::Jupyter(command)] {
            let order = order(way);
            let sent = serde_json::to_string(&order).unwrap();
            assert_eq!(serde_json::from_str::<Order>(&sent).unwrap(), order, "{sent}");
        }
    }

    #[test]
    fn what_is_text_is_sent_as_text() {
        let order = Order { cwd: "/work".into(), ..order(Way::Runner { python: "/usr/bin/python3".into() }) };
        let sent = serde_json::to_value(&order).unwrap();
        assert_eq!(sent["cwd"], "/work");
        assert_eq!(sent["environment"][0], serde_json::json!(["HOME", "/home/é"]));
        assert_eq!(sent["way"], serde_json::json!({ "runner": { "python": "/usr/bin/python3" } }));
        assert_eq!(sent["environment"][1][0], serde_json::json!({ "bytes": [97, 255, 34, 195] }));
    }
}
