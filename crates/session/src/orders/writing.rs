//! From what was found to an order: which way to run code, on which interpreter, with which variables and modules.

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

use super::choice::{self, Asked, Available, Decision};
use super::{CannotOrder, ClientEnvironment, Found, KernelRequest, Running};

/// How long the runner may take to be ready where nothing is set: it has far less to load than a Jupyter kernel.
const RUNNER_STARTUP: Duration = Duration::from_secs(10);

impl ClientEnvironment {
    /// Decides how to run code, from what is there, and what is to be said about that.
    pub fn decide(
        &self,
        found: &Found,
        settings: &Settings,
        request: &KernelRequest,
    ) -> Result<(Decision, Option<String>), CannotOrder> {
        let asked = Asked {
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
        let available = Available {
            pythons: &found.pythons,
            has_ipykernel,
            has_kernel_gateway,
            offers: &offers,
            unreadable,
        };
        let decision = choice::choose(&asked, &request.wanted, &available)?;
        if request.running.is_some() && !matches!(decision, Decision::Gateway(_)) {
            return Err(CannotOrder::NoGateway);
        }
        let is_named = request.kernel.is_some() || matches!(decision, Decision::Gateway(_));
        let stand_in = (!is_named).then(|| choice::stand_in(&request.wanted, &available)).flatten();
        Ok((decision, stand_in))
    }

    /// The order for what was decided on.
    pub async fn order_of(
        &self,
        found: &Found,
        settings: &Resolved,
        decision: Decision,
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
            Decision::Runner(interpreter) => {
                let interpreter = settle(found, interpreter, cwd).await?;
                let variables = for_interpreter(variables, &interpreter);
                (Way::Runner { python: interpreter.path }, variables, runner_startup)
            }
            Decision::Ipykernel(interpreter) => {
                let interpreter = settle(found, interpreter, cwd).await?;
                let variables = for_interpreter(variables, &interpreter);
                (Way::Jupyter(KernelCommand::ipykernel(&interpreter.path)), variables, python.startup_timeout)
            }
            Decision::Spec(name) => {
                let spec = found.specs.iter().find(|spec| spec.name == *name);
                let spec = spec.ok_or(CannotOrder::NoSpec(name))?;
                (Way::Jupyter(spec.command()), variables, python.startup_timeout)
            }
            Decision::SharedGateway(interpreter) => {
                let interpreter = settle(found, interpreter, cwd).await?;
                let variables = for_interpreter(variables, &interpreter);
                let home =
                    std::path::absolute(found.home.path()).unwrap_or_else(|_| found.home.path().to_owned());
                (Way::SharedGateway { python: interpreter.path, home }, variables, python.startup_timeout)
            }
            Decision::Gateway(url) => {
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

/// Which kernel is meant on a gateway, which only that knows.
fn which(request: &KernelRequest) -> Which {
    match &request.running {
        Some(Running::Id(id)) => Which::Join(id.clone()),
        Some(Running::OfNotebook(path)) => Which::OfNotebook(path.clone()),
        Some(Running::Existing(_)) | None => Which::Start(gateway::Wanted {
            kernel: request.kernel.clone().or_else(|| request.wanted.kernel.clone()),
            is_named: request.kernel.is_some(),
            language: if request.kernel.is_some() { None } else { request.wanted.language.clone() },
        }),
    }
}

/// What gateways go by when they start a kernel, unless it was said otherwise.
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

async fn settle(found: &Found, interpreter: Interpreter, cwd: &Path) -> Result<Interpreter, CannotOrder> {
    let memory = found.home.path().join("cache").join("interpreters.json");
    let path = interpreter.path.clone();
    let settled = python::settle(interpreter, &memory, &found.variables, cwd).await;
    settled.map_err(|flaw| CannotOrder::BadPython { path, flaw })
}

/// The user's own modules and those of a project that is trusted, by name. A project's comes in the place of the user's
/// of the same name.
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

/// The order for a kernel that another program has started and will end. Nothing is known of its interpreter; most have
/// pip.
pub(super) fn existing(connection_file: PathBuf, cwd: &Path, traced: bool) -> Order {
    let around = KernelSurroundings { has_pip: true, ..KernelSurroundings::default() };
    Order { around, traced, ..Order::new(Way::Existing { connection_file }, cwd) }
}

pub(super) fn in_words(decision: &Decision) -> String {
    match decision {
        Decision::Runner(interpreter) => format!("the runner on {}", interpreter.path.display()),
        Decision::Ipykernel(interpreter) => format!("ipykernel of {}", interpreter.path.display()),
        Decision::Spec(name) => format!("the kernel {name}"),
        Decision::Gateway(url) => format!("the gateway {}", url.split('?').next().unwrap_or_default()),
        Decision::SharedGateway(interpreter) => format!("our gateway on {}", interpreter.path.display()),
    }
}
