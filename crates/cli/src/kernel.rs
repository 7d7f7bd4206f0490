//! From flags to a kernel that is ready; what is there and which way to run code is found out by `session`.

use std::path::{Path, PathBuf};

use cellist_kernel::guard::Guard;
use cellist_kernel::order::Order;
use cellist_kernel::{Kernel, zmq};
use cellist_platform::Variables;
use cellist_session::orders::{ClientEnvironment, Job, Running};
use cellist_session::run::Surroundings;
use cellist_session::sessions::Whereabouts;
use cellist_settings::{BackendWish, Faults, Home, Resolved};
use clap::{Args, ValueEnum};

use crate::error::CliError;
use crate::notebook_access::files;
use crate::settings::{artifacts, settings_in};
use crate::startup::{self, Stages};
use crate::waiting::Waiting;

/// What is to run the code.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KernelFlags {
    /// The way to run code; without it, what python.backend says
    #[arg(long, value_enum, value_name = "BACKEND", display_order = 500)]
    backend: Option<Backend>,
    /// The Python to use: a program, or the folder of an environment
    #[arg(long, value_name = "PATH", display_order = 502)]
    python: Option<PathBuf>,
    /// The address of a Jupyter Kernel Gateway, Enterprise Gateway or Jupyter Server
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
    /// A kernel that runs on the gateway already, by its id; it goes on when the command is done
    #[arg(long, value_name = "ID", display_order = 503, conflicts_with_all = ["kernel", "existing"])]
    pub(crate) kernel_id: Option<String>,
}

impl Particular {
    /// Whether one in particular is meant.
    pub(crate) fn is_given(&self) -> bool {
        self.kernel.is_some() || self.kernel_id.is_some()
    }

    /// Whether it is a kernel that somebody else runs and that only this process can join.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.existing.is_some()
    }

    /// The kernel on a gateway that is meant, if one in particular is.
    pub(crate) fn running(&self) -> Option<Running> {
        self.kernel_id.clone().map(Running::Id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// A kernelspec for other languages, ipykernel where Python has it, else the runner
    Auto,
    /// The embedded runner, which needs nothing but Python
    Runner,
    /// A Jupyter kernel over ZeroMQ
    Jupyter,
    /// A Jupyter gateway: the one that is named, or one of our own
    Gateway,
}

/// A kernel that is ready, with all that its user should know.
pub(crate) struct Ready {
    pub(crate) kernel: Box<dyn Kernel>,
    pub(crate) around: Surroundings,
    pub(crate) notices: Vec<String>,
    /// What tells it where it is, as long as it is needed.
    pub(crate) _whereabouts: Option<Whereabouts>,
}

impl KernelFlags {
    /// Whether anything was said about what is to run the code.
    pub(crate) fn are_given(&self) -> bool {
        let KernelFlags { backend, python, gateway, pass_env, set } = self;
        let is_chosen = backend.is_some_and(|backend| backend != Backend::Auto);
        let is_set = set.iter().any(|setting| setting.trim_start().starts_with("python."));
        is_chosen || is_set || python.is_some() || gateway.is_some() || !pass_env.is_empty()
    }

    /// Whoever gave these flags, with the variables of this process.
    pub(crate) fn environment(&self) -> ClientEnvironment {
        ClientEnvironment {
            variables: Variables::of_process().into_list(),
            withheld: Vec::new(),
            backend: self.backend.map(BackendWish::from),
            python: self.python.as_deref().map(absolute),
            gateway: self.gateway.clone(),
            gateway_token: None,
            pass_env: self.pass_env.clone(),
            set: self.set.clone(),
        }
    }

    /// The settings for work in a folder.
    pub(crate) fn settings(&self, folder: &Path) -> Result<Resolved, Faults> {
        settings_in(folder, &self.set)
    }

    /// Looks around and starts a kernel in a folder, or joins the one that was named.
    pub(crate) async fn start(
        &self,
        settings: &Resolved,
        particular: &Particular,
        job: Job,
        notebook: Option<&Path>,
    ) -> Result<Ready, CliError> {
        let waiting = Waiting::new("looking for Python");
        let mut stages = Stages::new(&Variables::of_process());
        if let Some(file) = &particular.existing {
            files::check_look(file)?;
            waiting.now("joining the kernel");
            return join(file, &mut stages).await;
        }
        let home = Home::from_env();
        let cwd = job.cwd.clone();
        let running = particular.running().or_else(|| job.running.clone());
        let job = Job { kernel: particular.kernel.clone(), running, ..job };
        let mut order = self.order(settings, job, &mut stages).await?;
        let whereabouts = Whereabouts::new(&home, &artifacts(&settings.settings), &cwd, notebook);
        whereabouts.equip(&mut order);
        waiting.now(format!("starting {}", order.way.in_words()));
        let ready = start(&order, &home).await?;
        stages.done("the kernel is ready");
        Ok(Ready { _whereabouts: Some(whereabouts), ..ready })
    }

    /// Looks around and writes the order for a kernel. Nothing is started yet.
    pub(crate) async fn order(
        &self,
        settings: &Resolved,
        job: Job,
        stages: &mut Stages,
    ) -> Result<Order, CliError> {
        let order =
            self.environment().order(&Home::from_env(), settings, &job, |stage| stages.done(stage)).await;
        Ok(order?)
    }
}

impl From<Backend> for BackendWish {
    fn from(backend: Backend) -> BackendWish {
        match backend {
            Backend::Auto => BackendWish::Auto,
            Backend::Runner => BackendWish::Runner,
            Backend::Jupyter => BackendWish::Jupyter,
            Backend::Gateway => BackendWish::Gateway,
        }
    }
}

/// As it is found from any folder; a bare name is looked up on `PATH`.
fn absolute(path: &Path) -> PathBuf {
    if path.components().count() > 1 || path.exists() {
        return std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    }
    path.to_owned()
}

/// Starts a kernel in this process.
pub(crate) async fn start(order: &Order, home: &Home) -> Result<Ready, CliError> {
    // Stays from one start to the next, so that the runner is compiled once.
    let runtime_dir = home.path().join("run");
    let started = order.start(&guard(), &runtime_dir, Some(startup::trace())).await;
    let started = started.map_err(|error| CliError::kernel(&error))?;
    let around = order.around.clone();
    Ok(Ready { kernel: started.kernel, around, notices: started.notices, _whereabouts: None })
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
    Ok(Ready { kernel: joined.kernel, around, notices: joined.notices, _whereabouts: None })
}

/// Our own binary, in the role that outlives us.
pub(crate) fn guard() -> Guard {
    match std::env::current_exe() {
        Ok(program) => Guard::new(program, ["guard"]).with_ledger(Home::from_env().path().join("run")),
        Err(_) => Guard::none(),
    }
}
