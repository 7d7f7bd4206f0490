//! Chooses the kernel for a client and writes its launch order. The client's environment and settings decide, on
//! any machine.

pub mod choice;
mod error;
mod found;
mod shell;
mod stages;
mod tool_mode;
mod writing;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cellist_kernel::environment::{Filtered, PassEnv, without_secrets};
use cellist_kernel::gateway::{TOKEN_VARIABLE, Token};
use cellist_kernel::order::Order;
use cellist_platform::Variables;
use cellist_platform::aside::aside;
use cellist_settings::{BackendWish, Faults, Home, Resolved, Settings, Sources, resolve};
use serde::{Deserialize, Serialize};

pub use choice::WantedKernel;
pub use error::CannotOrder;
pub use found::{FoundSoftware, NamedKernel};
pub use shell::{ShellOrder, shell};
pub use stages::{StageLog, Stages};

/// The environment and options of a client, which decide the kernel for its code.
///
/// A client sends it once. [`ClientEnvironment::withhold`] removes secrets before it leaves the process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientEnvironment {
    /// Environment variables.
    #[serde(with = "cellist_platform::portable_path")]
    pub variables: Vec<(OsString, OsString)>,
    /// Names of the variables that were withheld.
    pub withheld: Vec<String>,
    /// Requested backend.
    pub backend: Option<BackendWish>,
    /// Requested Python: an absolute path, or a name to look up on `PATH`.
    #[serde(with = "cellist_platform::portable_path")]
    pub python: Option<PathBuf>,
    /// Requested gateway.
    pub gateway: Option<String>,
    /// Gateway token. The only secret sent to the host; kernels never get it.
    pub gateway_token: Option<Token>,
    /// Variables that kernels get in addition to the allow-list.
    pub pass_env: Vec<String>,
    /// Settings from the command line, as `name=value`.
    pub set: Vec<String>,
}

/// The kernel that a client asks for. All fields are optional: its environment and settings decide the rest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KernelRequest {
    /// Folders to search for Python, after the working folder.
    #[serde(with = "cellist_platform::portable_path")]
    pub folders: Vec<PathBuf>,
    /// Name of a kernelspec.
    pub kernel: Option<String>,
    /// The kernel and language named by the notebook.
    pub wanted: WantedKernel,
    /// A kernel that is already running.
    pub running: Option<RunningKernel>,
    /// Whether an existing session must have exactly this kernel.
    pub is_particular: bool,
}

/// A kernel that is already running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunningKernel {
    /// On a gateway, by its id.
    Id(String),
    /// On a Jupyter Server, for this notebook.
    OfNotebook(#[serde(with = "cellist_platform::portable_path")] PathBuf),
    /// Of another program, by its connection file.
    Existing(#[serde(with = "cellist_platform::portable_path")] PathBuf),
}

/// A launch order, with the settings that it was derived from.
#[derive(Clone, Debug)]
pub struct WrittenOrder {
    /// The order.
    pub order: Order,
    /// Settings of the working folder.
    pub settings: Resolved,
}

impl ClientEnvironment {
    /// Returns the environment variables.
    pub fn variables(&self) -> Variables {
        self.variables.iter().cloned().collect()
    }

    /// Resolves the settings for work in a folder.
    pub fn settings(&self, home: &Home, folder: &Path) -> Result<Resolved, Faults> {
        let variables = self.variables();
        resolve(&Sources { home, folder: Some(folder), variables: &variables, flags: &self.set })
    }

    /// Removes the secrets that kernels must not get, and keeps their names. Returns names and values.
    #[must_use = "a model must not read the values"]
    pub fn withhold(&mut self, settings: &Settings) -> Vec<(String, String)> {
        self.gateway_token = self.token();
        let all = self.variables();
        let Filtered { variables, removed } = without_secrets(&all, &self.passes(settings));
        let secrets = removed.iter().filter_map(|name| Some((name.clone(), all.text(name)?)));
        let secrets: Vec<(String, String)> = secrets.collect();
        self.variables = variables.into_list();
        self.withheld.extend(removed);
        secrets
    }

    /// Whether every kernel message is logged.
    fn is_traced(&self) -> bool {
        self.variables().is_on("PI_PYTHON_IPC_TRACE")
    }

    /// Returns the gateway token.
    fn token(&self) -> Option<Token> {
        self.gateway_token.clone().or_else(|| self.variables().text(TOKEN_VARIABLE).map(Token))
    }

    /// Returns the variables allowed in addition to the allow-list.
    fn passes(&self, settings: &Settings) -> PassEnv {
        PassEnv::new(self.pass_env.iter().chain(&settings.python.pass_env).cloned())
    }
}

/// Decides on the kernel for a request in a folder, and writes its launch order. Starts nothing. Reads the disk on
/// a separate thread. `stages` logs each step with its time.
pub async fn write(
    environment: &ClientEnvironment,
    home: &Home,
    cwd: &Path,
    request: KernelRequest,
    mut stages: Stages,
) -> Result<WrittenOrder, CannotOrder> {
    let (own, place, folder) = (environment.clone(), home.clone(), cwd.to_owned());
    let looked = aside(move || {
        let settings = own.settings(&place, &folder)?;
        if let Some(RunningKernel::Existing(file)) = request.running {
            return Ok(Err((file, settings)));
        }
        let folders = [vec![folder], request.folders.clone()].concat();
        let found = FoundSoftware::look(&own, &place, folders);
        stages.done("looked for Python and kernels");
        let (decision, said) = own.decide(&found, &settings.settings, &request)?;
        stages.done(&format!("decided: {}", writing::in_words(&decision)));
        Ok(Ok((found, settings, decision, said, request, stages)))
    });
    let looked: Result<_, CannotOrder> = looked.await.map_err(|_| CannotOrder::Lost)?;
    let (found, settings, decision, said, request, mut stages) = match looked? {
        Ok(looked) => looked,
        Err((connection_file, settings)) => {
            let order = writing::existing(connection_file, cwd, environment.is_traced());
            return Ok(WrittenOrder { order, settings });
        }
    };
    let mut order = environment.order_of(&found, &settings, decision, cwd, &request).await?;
    order.notices.extend(said);
    stages.done("made the environment");
    Ok(WrittenOrder { order, settings })
}

/// Finds a kernel by name for work in some folders. Reads the disk on a separate thread.
pub async fn kernel(
    environment: &ClientEnvironment,
    home: &Home,
    folders: Vec<PathBuf>,
    name: &str,
) -> Result<NamedKernel, CannotOrder> {
    let (environment, home, name) = (environment.clone(), home.clone(), name.to_owned());
    let looked = aside(move || FoundSoftware::look(&environment, &home, folders).named(&name));
    Ok(looked.await.map_err(|_| CannotOrder::Lost)??)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> ClientEnvironment {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        ClientEnvironment { variables, ..ClientEnvironment::default() }
    }

    fn names(environment: &ClientEnvironment) -> Vec<String> {
        environment.variables.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn secrets_are_withheld_and_only_their_names_are_sent() {
        let mut environment =
            environment(&[("HOME", "/h"), ("OPENAI_API_KEY", "k"), ("MY_TOKEN", "t"), ("OTHER", "o")]);
        environment.pass_env = vec!["MY_TOKEN".to_owned()];
        assert_eq!(
            environment.withhold(&Settings::default()),
            [("OPENAI_API_KEY".to_owned(), "k".to_owned())]
        );
        assert_eq!(environment.withhold(&Settings::default()), [], "nothing is left");
        assert_eq!(names(&environment), ["HOME", "MY_TOKEN", "OTHER"]);
        assert_eq!(environment.withheld, ["OPENAI_API_KEY"]);
    }

    #[test]
    fn an_environment_survives_serialization() {
        let mut environment = environment(&[("HOME", "/h")]);
        (environment.backend, environment.python) = (Some(BackendWish::Runner), Some("/py".into()));
        let sent = serde_json::to_value(&environment).unwrap();
        assert_eq!(sent["backend"], "runner");
        let got: ClientEnvironment = serde_json::from_value(sent).unwrap();
        assert_eq!(
            (got.variables, got.backend, got.python),
            (environment.variables, environment.backend, environment.python)
        );
    }

    #[tokio::test]
    async fn an_order_follows_the_clients_variables_and_settings() {
        let folder = tempfile::tempdir().unwrap();
        let (home, cwd) = (Home::at(folder.path().join("home")), folder.path().join("work"));
        fs::create_dir_all(home.path()).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        fs::write(home.path().join("config.toml"), "[python]\nstartup_timeout = 7\n").unwrap();
        let python = testkit::python("nbformat");
        let mut environment = environment(&[
            ("PATH", python.parent().unwrap().to_str().unwrap()),
            ("MARK", "x"),
            ("PI_MARK", "y"),
            ("CELLIST_PYTHON_BACKEND", "runner"),
        ]);
        environment.withheld = vec!["GH_TOKEN".to_owned()];
        let write = |environment: &ClientEnvironment| {
            let (environment, home, cwd) = (environment.clone(), home.clone(), cwd.clone());
            async move { write(&environment, &home, &cwd, KernelRequest::default(), Stages::silent()).await }
        };
        let WrittenOrder { order, settings } = write(&environment).await.unwrap();
        assert_eq!(settings.settings.python.backend, BackendWish::Runner);
        assert_eq!(order.cwd, cwd);
        assert_eq!(order.startup_timeout.as_secs(), 7);
        assert!(order.environment.contains(&("PI_MARK".into(), "y".into())), "{:?}", order.environment);
        let hidden: Vec<&str> = order.around.hidden_variables.iter().map(String::as_str).collect();
        assert_eq!(hidden, ["CELLIST_PYTHON_BACKEND", "GH_TOKEN", "MARK"]);

        environment.set = vec!["python.nothing=1".to_owned()];
        let refused = write(&environment).await.unwrap_err();
        assert_eq!(refused.kind().as_str(), "invalid_setting");
        (environment.set, environment.variables) = (Vec::new(), Vec::new());
        let refused = write(&environment).await.unwrap_err();
        assert_eq!(
            (refused.kind().as_str(), refused.to_string().as_str()),
            ("no_python", "no Python was found")
        );
    }
}
