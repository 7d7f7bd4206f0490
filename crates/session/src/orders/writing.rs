//! Writes the launch order: backend, interpreter, variables and modules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellist_kernel::Module;
use cellist_kernel::environment::{Filtered, filter, for_gateway, for_interpreter};
use cellist_kernel::gateway::{self, Gateway, Target, Which};
use cellist_kernel::order::{KernelSurroundings, Order, Way};
use cellist_kernel::python::{self, Interpreter};
use cellist_kernel::zmq::KernelCommand;
use cellist_platform::Variables;
use cellist_settings::{Resolved, Settings};

use super::choice::{self, BackendDecision, BackendRequest, InstalledSoftware};
use super::{CannotOrder, ClientEnvironment, FoundSoftware, KernelRequest, RunningKernel};

/// Default start timeout of the runner, which has less to load than a Jupyter kernel.
const RUNNER_STARTUP: Duration = Duration::from_secs(10);

impl ClientEnvironment {
    /// Chooses the backend. Returns it with the notices for the user.
    pub fn decide(
        &self,
        found: &FoundSoftware,
        settings: &Settings,
        request: &KernelRequest,
    ) -> Result<(BackendDecision, Option<String>), CannotOrder> {
        let asked = BackendRequest {
            backend: self.backend.unwrap_or(settings.python.backend),
            kernel: request.kernel.clone(),
            gateway: self.gateway.clone().or_else(|| found.variables.text("PI_PYTHON_GATEWAY_URL")),
            no_shared_gateway: !settings.python.shared_gateway,
            skip_check: found.variables.is_on("PI_PYTHON_SKIP_CHECK"),
        };
        let interpreter = found.interpreter().map(|interpreter| interpreter.path.clone());
        let has = |module: &str| interpreter.as_ref().is_some_and(|path| found.has_module(path, module));
        let (has_ipykernel, has_kernel_gateway) = (has("ipykernel"), has("kernel_gateway"));
        let offers = found.offers();
        let unreadable = &found.broken_specs;
        let available = InstalledSoftware {
            pythons: &found.pythons,
            has_ipykernel,
            has_kernel_gateway,
            offers: &offers,
            unreadable,
        };
        let decision = choice::choose(&asked, &request.wanted, &available)?;
        if request.running.is_some() && !matches!(decision, BackendDecision::Gateway(_)) {
            return Err(CannotOrder::NoGateway);
        }
        let is_named = request.kernel.is_some() || matches!(decision, BackendDecision::Gateway(_));
        let stand_in = (!is_named).then(|| choice::stand_in(&request.wanted, &available)).flatten();
        Ok((decision, stand_in))
    }

    /// Writes the order for a decision.
    pub async fn order_of(
        &self,
        found: &FoundSoftware,
        settings: &Resolved,
        decision: BackendDecision,
        cwd: &Path,
        request: &KernelRequest,
    ) -> Result<Order, CannotOrder> {
        let python = &settings.settings.python;
        let Filtered { variables, mut removed } = filter(&found.variables, &self.passes(&settings.settings));
        removed.extend(self.withheld.iter().cloned());
        let mut notices = settings.notices.clone();
        notices.extend(found.passed_over());
        let set = settings.is_set("python.startup_timeout");
        let runner_startup = if set { python.startup_timeout } else { RUNNER_STARTUP };
        let (way, variables, startup_timeout) = match decision {
            BackendDecision::Runner(interpreter) => {
                let interpreter = settle(found, interpreter, cwd).await?;
                let variables = for_interpreter(variables, &interpreter);
                (Way::Runner { python: interpreter.path }, variables, runner_startup)
            }
            BackendDecision::Ipykernel(interpreter) => {
                let interpreter = settle(found, interpreter, cwd).await?;
                let variables = for_interpreter(variables, &interpreter);
                (Way::Jupyter(KernelCommand::ipykernel(&interpreter.path)), variables, python.startup_timeout)
            }
            BackendDecision::Spec(name) => {
                let spec = found.specs.iter().find(|spec| spec.name == *name);
                let spec = spec.ok_or(CannotOrder::NoSpec(name))?;
                (Way::Jupyter(spec.command()), variables, python.startup_timeout)
            }
            BackendDecision::SharedGateway(interpreter) => {
                let interpreter = settle(found, interpreter, cwd).await?;
                let variables = for_interpreter(variables, &interpreter);
                let home =
                    std::path::absolute(found.home.path()).unwrap_or_else(|_| found.home.path().to_owned());
                (Way::SharedGateway { python: interpreter.path, home }, variables, python.startup_timeout)
            }
            BackendDecision::Gateway(url) => {
                let elsewhere = for_gateway(&found.variables, &self.passes(&settings.settings));
                notices.extend(elsewhere.withheld.iter().map(|name| {
                    format!("{name} was not sent to the gateway: secrets do not leave this machine")
                }));
                removed.extend(elsewhere.withheld.iter().cloned());
                let launch = for_launch(elsewhere.launch, &found.variables, cwd, python.startup_timeout);
                let target = Target {
                    gateway: Gateway::new(&url, self.token().map(|token| token.0))?
                        .trusting(|name| found.variables.text(name)),
                    kernel: which(request),
                    variables: launch,
                };
                (Way::Gateway(target), elsewhere.hidden, python.startup_timeout)
            }
        };
        let mut order = Order {
            way,
            cwd: cwd.to_owned(),
            environment: variables.into_list(),
            around: KernelSurroundings { hidden_variables: removed, has_pip: false },
            prelude: None,
            modules: modules(found.home.path(), &settings.modules),
            startup_timeout,
            traced: self.is_traced(),
            inherits_bridge: settings.settings.bridge.inherit,
            notices,
        };
        order.around.has_pip = order.python().is_some_and(|python| found.has_module(python, "pip"));
        Ok(order)
    }
}

/// Selects the kernel on a gateway, which only the gateway can resolve.
fn which(request: &KernelRequest) -> Which {
    match &request.running {
        Some(RunningKernel::Id(id)) => Which::Join(id.clone()),
        Some(RunningKernel::OfNotebook(path)) => Which::OfNotebook(path.clone()),
        Some(RunningKernel::Existing(_)) | None => Which::Start(gateway::Wanted {
            kernel: request.kernel.clone().or_else(|| request.wanted.kernel.clone()),
            is_named: request.kernel.is_some(),
            language: if request.kernel.is_some() { None } else { request.wanted.language.clone() },
        }),
    }
}

/// Adds the `KERNEL_` variables that gateways read at a kernel start, unless they are set.
fn for_launch(
    mut said: Vec<(String, String)>,
    variables: &Variables,
    cwd: &Path,
    startup_timeout: Duration,
) -> Vec<(String, String)> {
    let usual = [
        ("KERNEL_USERNAME", variables.text("USER").or_else(|| variables.text("LOGNAME"))),
        ("KERNEL_WORKING_DIR", cwd.to_str().map(str::to_owned)),
        ("KERNEL_LAUNCH_TIMEOUT", Some(startup_timeout.as_secs().to_string())),
    ];
    for (name, value) in usual {
        if let Some(value) = value.filter(|_| said.iter().all(|(known, _)| known != name)) {
            said.push((name.to_owned(), value));
        }
    }
    said
}

async fn settle(
    found: &FoundSoftware,
    interpreter: Interpreter,
    cwd: &Path,
) -> Result<Interpreter, CannotOrder> {
    let memory = found.home.path().join("cache").join("interpreters.json");
    let path = interpreter.path.clone();
    let settled = python::settle(interpreter, &memory, &found.variables, cwd).await;
    settled.map_err(|flaw| CannotOrder::BadPython { path, flaw })
}

/// Returns the modules of the user and of trusted projects, by name. A project's module replaces the user's.
fn modules(home: &Path, projects: &[PathBuf]) -> Vec<Module> {
    let entries = std::fs::read_dir(home.join("modules")).into_iter().flatten().flatten();
    let own = entries.map(|entry| entry.path());
    let own = own.filter(|path| path.extension().is_some_and(|ending| ending == "py") && path.is_file());
    let mut modules = BTreeMap::new();
    for path in own.chain(projects.iter().cloned()) {
        if let Some(stem) = path.file_stem() {
            modules.insert(stem.to_string_lossy().into_owned(), path);
        }
    }
    modules.into_iter().map(|(name, path)| Module { name, path }).collect()
}

/// Writes the order for a kernel that another program started and will end. Its interpreter is unknown; most have
/// pip.
pub(super) fn existing(connection_file: PathBuf, cwd: &Path, traced: bool) -> Order {
    let around = KernelSurroundings { has_pip: true, ..KernelSurroundings::default() };
    Order { around, traced, ..Order::new(Way::Existing { connection_file }, cwd) }
}

pub(super) fn in_words(decision: &BackendDecision) -> String {
    match decision {
        BackendDecision::Runner(interpreter) => format!("the runner on {}", interpreter.path.display()),
        BackendDecision::Ipykernel(interpreter) => format!("ipykernel of {}", interpreter.path.display()),
        BackendDecision::Spec(name) => format!("the kernel {name}"),
        BackendDecision::Gateway(url) => format!("the gateway {}", url.split('?').next().unwrap_or_default()),
        BackendDecision::SharedGateway(interpreter) => {
            format!("our gateway on {}", interpreter.path.display())
        }
    }
}
