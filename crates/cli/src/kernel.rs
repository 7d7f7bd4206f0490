//! From flags to a kernel that is ready: what is there, which way to run code, and how it is started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellist_kernel::choice::{self, Asked, Available, Decision, Offer, Wanted, Wish};
use cellist_kernel::environment::{Filtered, PassEnv, Variables, filter, for_interpreter};
use cellist_kernel::guard::Guard;
use cellist_kernel::kernelspec::{self, KernelSpec};
use cellist_kernel::order::{Order, Way};
use cellist_kernel::python::{self, Candidate, Disk, Interpreter, has_module};
use cellist_kernel::zmq::{self, KernelCommand};
use cellist_kernel::{Kernel, Module};
use cellist_session::Home;
use cellist_session::run::Surroundings;
use cellist_session::settings::{Faults, Resolved, Settings};
use clap::{Args, ValueEnum};

use crate::error::{CliError, Exit};
use crate::settings::settings_in;
use crate::startup::{self, Stages};

/// How long the runner may take to be ready where nothing is set: it has far less to load than a Jupyter kernel.
const RUNNER_STARTUP: Duration = Duration::from_secs(10);

/// What is to run the code.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KernelFlags {
    /// The way to run code; without it, what python.backend says
    #[arg(long, value_enum, value_name = "BACKEND", display_order = 500)]
    backend: Option<Backend>,
    /// The Python to use: a program, or the folder of an environment
    #[arg(long, value_name = "PATH", display_order = 502)]
    python: Option<PathBuf>,
    /// The address of a Jupyter gateway
    #[arg(long, value_name = "URL", display_order = 503)]
    gateway: Option<String>,
    /// A variable that the kernel gets although it is not on the list, or `all`
    #[arg(long, value_name = "NAME", display_order = 504)]
    pass_env: Vec<String>,
    /// A setting for this command alone; see `cellist settings`
    #[arg(long, value_name = "NAME=VALUE", display_order = 505)]
    set: Vec<String>,
}

/// Which kernel, where one in particular is meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Particular {
    /// A kernel by name; see `cellist kernels`
    #[arg(long, value_name = "NAME", display_order = 501)]
    pub(crate) kernel: Option<String>,
    /// A kernel that runs already, by its connection file; it goes on when the command is done
    #[arg(
        long,
        value_name = "FILE",
        display_order = 503,
        conflicts_with_all = ["backend", "kernel", "python", "gateway", "pass_env"]
    )]
    existing: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// A kernelspec for other languages, ipykernel where Python has it, else the runner
    Auto,
    /// The embedded runner, which needs nothing but Python
    Runner,
    /// A Jupyter kernel over ZeroMQ
    Jupyter,
    /// A Jupyter gateway
    Gateway,
}

/// What there is to run code with, as it was found.
pub(crate) struct Found {
    pub(crate) variables: Variables,
    pub(crate) home: Home,
    pub(crate) pythons: Vec<Candidate>,
    pub(crate) specs: Vec<KernelSpec>,
    /// Files that should be kernelspecs, and why they are none.
    pub(crate) broken_specs: Vec<(PathBuf, String)>,
    folders: Vec<PathBuf>,
}

/// A kernel that is ready, with all that its user should know.
pub(crate) struct Ready {
    pub(crate) kernel: Box<dyn Kernel>,
    pub(crate) around: Surroundings,
    pub(crate) notices: Vec<String>,
}

impl Found {
    /// Looks around. `folders` are where work is done, the nearest first.
    pub(crate) fn look(folders: Vec<PathBuf>, named: Option<&Path>) -> Found {
        let (variables, home) = (Variables::of_process(), Home::from_env());
        let mut found = Found {
            variables,
            home,
            pythons: Vec::new(),
            specs: Vec::new(),
            broken_specs: Vec::new(),
            folders,
        };
        let around = found.around();
        found.pythons = match named {
            Some(path) => vec![python::named(&around, &found.absolute(path))],
            None => python::candidates(&around),
        };
        let interpreter = found.interpreter().map(|interpreter| interpreter.path.clone());
        let kernels = kernelspec::search(&found.variables, interpreter.as_deref());
        (found.specs, found.broken_specs) = (kernels.specs, kernels.broken);
        found
    }

    /// The Python that is used.
    pub(crate) fn interpreter(&self) -> Option<&Interpreter> {
        self.pythons.iter().find_map(|candidate| candidate.verdict.as_ref().ok())
    }

    pub(crate) fn has_module(&self, interpreter: &Path, module: &str) -> bool {
        has_module(&self.around(), interpreter, module)
    }

    pub(crate) fn version(&self, interpreter: &Path) -> Option<String> {
        python::version(&self.around(), interpreter)
    }

    /// The kernelspecs as the choice sees them.
    pub(crate) fn offers(&self) -> Vec<Offer> {
        let offer = |spec: &KernelSpec| Offer {
            name: spec.name.clone(),
            language: spec.language.clone(),
            missing_program: self.missing_program(spec),
        };
        self.specs.iter().map(offer).collect()
    }

    /// The program that a kernelspec starts with, if that is not there.
    pub(crate) fn missing_program(&self, spec: &KernelSpec) -> Option<String> {
        let program = Path::new(spec.argv.first()?);
        let is_there = if program.components().count() > 1 {
            program.is_file()
        } else {
            self.variables.path_folders().iter().any(|folder| folder.join(program).is_file())
        };
        (!is_there).then(|| program.display().to_string())
    }

    fn around(&self) -> python::Surroundings<'_> {
        python::Surroundings {
            files: &Disk,
            variables: &self.variables,
            folders: &self.folders,
            home: self.home.path(),
        }
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        // A bare name is looked up on PATH.
        if path.components().count() > 1 || path.exists() {
            return std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        }
        path.to_owned()
    }
}

impl KernelFlags {
    /// Whether anything was said about what is to run the code.
    pub(crate) fn are_given(&self) -> bool {
        let KernelFlags { backend, python, gateway, pass_env, set } = self;
        let is_chosen = backend.is_some_and(|backend| backend != Backend::Auto);
        let is_set = set.iter().any(|setting| setting.trim_start().starts_with("python."));
        is_chosen || is_set || python.is_some() || gateway.is_some() || !pass_env.is_empty()
    }

    /// The Python that was named.
    pub(crate) fn python(&self) -> Option<&Path> {
        self.python.as_deref()
    }

    /// The settings for work in a folder.
    pub(crate) fn settings(&self, folder: &Path) -> Result<Resolved, Faults> {
        settings_in(folder, &self.set)
    }

    /// Decides how to run code, from what is there, and what is to be said about that.
    pub(crate) fn decide(
        &self,
        found: &Found,
        settings: &Settings,
        kernel: Option<&str>,
        wanted: &Wanted,
    ) -> Result<(Decision, Option<String>), CliError> {
        let asked = Asked {
            backend: match self.backend {
                None => settings.python.backend,
                Some(Backend::Auto) => Wish::Auto,
                Some(Backend::Runner) => Wish::Runner,
                Some(Backend::Jupyter) => Wish::Jupyter,
                Some(Backend::Gateway) => Wish::Gateway,
            },
            kernel: kernel.map(str::to_owned),
            gateway: self.gateway.clone().or_else(|| found.variables.text("PI_PYTHON_GATEWAY_URL")),
            skip_check: found.variables.is_on("PI_PYTHON_SKIP_CHECK"),
        };
        let interpreter = found.interpreter().map(|interpreter| interpreter.path.clone());
        let has_ipykernel = interpreter.is_some_and(|path| found.has_module(&path, "ipykernel"));
        let offers = found.offers();
        let unreadable = &found.broken_specs;
        let available = Available { pythons: &found.pythons, has_ipykernel, offers: &offers, unreadable };
        let decision = choice::choose(&asked, wanted, &available).map_err(|refusal| {
            let failure = CliError::new(refusal.kind(), Exit::NoKernel, refusal.to_string());
            match refusal.hint() {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        })?;
        let stand_in = kernel.is_none().then(|| choice::stand_in(wanted, &available)).flatten();
        Ok((decision, stand_in))
    }

    /// Looks around and starts a kernel in a folder, or joins the one that was named.
    pub(crate) async fn start(
        &self,
        settings: &Resolved,
        cwd: &Path,
        folders: Vec<PathBuf>,
        particular: &Particular,
        wanted: &Wanted,
    ) -> Result<Ready, CliError> {
        let mut stages = Stages::new(&Variables::of_process());
        if let Some(file) = &particular.existing {
            return join(file, &mut stages).await;
        }
        let order =
            self.order(settings, cwd, folders, particular.kernel.as_deref(), wanted, &mut stages).await?;
        let ready = start(&order, &Home::from_env()).await?;
        stages.done("the kernel is ready");
        Ok(ready)
    }

    /// Looks around and writes the order for a kernel that runs in a folder. Nothing is started yet.
    pub(crate) async fn order(
        &self,
        settings: &Resolved,
        cwd: &Path,
        folders: Vec<PathBuf>,
        kernel: Option<&str>,
        wanted: &Wanted,
        stages: &mut Stages,
    ) -> Result<Order, CliError> {
        let found = Found::look(folders, self.python.as_deref());
        stages.done("looked for Python and kernels");
        let (decision, said) = self.decide(&found, &settings.settings, kernel, wanted)?;
        stages.done(&format!("decided: {}", in_words(&decision)));
        let mut order = self.order_of(&found, settings, decision, cwd).await?;
        order.notices.extend(said);
        stages.done("made the environment");
        Ok(order)
    }

    /// The order for what was decided on.
    pub(crate) async fn order_of(
        &self,
        found: &Found,
        settings: &Resolved,
        decision: Decision,
        cwd: &Path,
    ) -> Result<Order, CliError> {
        let python = &settings.settings.python;
        let passed = self.pass_env.iter().chain(&python.pass_env).cloned();
        let Filtered { variables, removed } = filter(&found.variables, &PassEnv::new(passed));
        let mut notices = settings.notices.clone();
        notices.extend(passed_over(found));
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
                let spec = found.specs.iter().find(|spec| spec.name == *name).ok_or_else(|| {
                    CliError::new("no_kernel", Exit::NoKernel, format!("no kernel `{name}`"))
                })?;
                (Way::Jupyter(spec.command()), variables, python.startup_timeout)
            }
        };
        let modules = modules(found.home.path(), &settings.modules);
        let mut order = Order {
            way,
            cwd: cwd.to_owned(),
            environment: variables.into_list(),
            hidden_variables: removed,
            has_pip: false,
            prelude: None,
            modules,
            startup_timeout,
            traced: startup::is_traced(&found.variables),
            notices,
        };
        order.has_pip = order.python().is_some_and(|python| found.has_module(python, "pip"));
        Ok(order)
    }
}

/// Starts a kernel in this process.
pub(crate) async fn start(order: &Order, home: &Home) -> Result<Ready, CliError> {
    // Stays from one start to the next, so that the runner is compiled once.
    let runtime_dir = home.path().join("run");
    let started = order.start(&guard(), &runtime_dir, Some(startup::trace())).await;
    let started = started.map_err(|error| CliError::kernel(&error))?;
    let around = Surroundings { hidden_variables: order.hidden_variables.clone(), has_pip: order.has_pip };
    Ok(Ready { kernel: started.kernel, around, notices: started.notices })
}

/// Joins a kernel that somebody else started, and will end.
async fn join(file: &Path, stages: &mut Stages) -> Result<Ready, CliError> {
    let trace = startup::is_traced(&Variables::of_process()).then(startup::trace);
    let joined = zmq::join(file, trace).await.map_err(|error| {
        let failure = CliError::kernel(&error);
        match error {
            cellist_kernel::Error::Io { .. } => failure.with_hint(
                "name the connection file of a kernel that runs: they are in `jupyter --runtime-dir`",
            ),
            _ => failure,
        }
    })?;
    stages.done("joined the kernel");
    // Nothing is known of what is around it; most have pip.
    let around = Surroundings { has_pip: true, ..Surroundings::default() };
    Ok(Ready { kernel: joined.kernel, around, notices: joined.notices })
}

async fn settle(found: &Found, interpreter: Interpreter, cwd: &Path) -> Result<Interpreter, CliError> {
    let memory = found.home.path().join("cache").join("interpreters.json");
    let path = interpreter.path.clone();
    python::settle(interpreter, &memory, &found.variables, cwd).await.map_err(|flaw| {
        CliError::new("no_python", Exit::NoKernel, format!("{} cannot be used: {flaw}", path.display()))
            .with_hint("name another one with --python PATH")
    })
}

/// Our own binary, in the role that outlives us.
pub(crate) fn guard() -> Guard {
    match std::env::current_exe() {
        Ok(program) => Guard::new(program, ["guard"]),
        Err(_) => Guard::none(),
    }
}

/// Interpreters that were wanted before the one that is used, and why they are not.
fn passed_over(found: &Found) -> Vec<String> {
    let before = found.pythons.iter().take_while(|candidate| candidate.verdict.is_err());
    let said = before.filter_map(|candidate| {
        let flaw = candidate.verdict.as_ref().err()?;
        Some(format!("{} was passed over: {flaw}", candidate.path.display()))
    });
    said.collect()
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

fn in_words(decision: &Decision) -> String {
    match decision {
        Decision::Runner(interpreter) => format!("the runner on {}", interpreter.path.display()),
        Decision::Ipykernel(interpreter) => format!("ipykernel of {}", interpreter.path.display()),
        Decision::Spec(name) => format!("the kernel {name}"),
    }
}
