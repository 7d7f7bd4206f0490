//! How someone who wants code to run gets a kernel: their variables and wishes decide, wherever the order is written and
//! wherever the kernel is started.

mod error;
mod found;
mod shell;
mod tool_mode;
mod writing;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cellist_kernel::aside::aside;
use cellist_kernel::choice::Wish;
use cellist_kernel::environment::{Filtered, PassEnv, Variables, without_secrets};
use cellist_kernel::gateway::{TOKEN_VARIABLE, Token};
use cellist_kernel::order::Order;
use serde::{Deserialize, Serialize};

use crate::home::Home;
use crate::redaction::Redaction;
use crate::settings::{Faults, Resolved, Settings, Sources, resolve};

pub use cellist_kernel::choice::Wanted;
pub use error::CannotOrder;
pub use found::{Found, Named};
pub use shell::{ShellOrder, shell};

/// Someone who wants code to run, as far as it decides on what.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Asker {
    /// Their environment; before it is sent anywhere, [`Asker::withhold`] takes out what no kernel may get.
    #[serde(with = "cellist_kernel::order")]
    pub variables: Vec<(OsString, OsString)>,
    /// The names of what was left out of it.
    pub withheld: Vec<String>,
    /// The way to run code that was asked for.
    pub backend: Option<Wish>,
    /// The Python that was named: an absolute path, or a name to look for on `PATH`.
    #[serde(with = "cellist_kernel::order")]
    pub python: Option<PathBuf>,
    /// The gateway that was named.
    pub gateway: Option<String>,
    /// What lets them into a gateway: the one secret that is sent to whoever starts their kernels, and to no kernel.
    pub gateway_token: Option<Token>,
    /// Variables that kernels get although they are not on the list.
    pub pass_env: Vec<String>,
    /// Settings that were given on the command line, as `name=value`.
    pub set: Vec<String>,
    /// What is taken out of all that a model reads for them. It knows what was withheld, and does not have it.
    #[serde(default)]
    pub redaction: Redaction,
}

/// What a kernel is wanted for.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The folder to run in.
    pub cwd: PathBuf,
    /// Where to look for Python, the nearest first.
    pub folders: Vec<PathBuf>,
    /// A kernel by name.
    pub kernel: Option<String>,
    /// What the notebook says, or nothing.
    pub wanted: Wanted,
    /// A kernel that runs on a gateway already.
    pub running: Option<Running>,
}

/// A kernel that runs on a gateway already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Running {
    /// The one of this id.
    Id(String),
    /// The one that a Jupyter Server has for this notebook.
    OfNotebook(PathBuf),
}

/// An order, with the settings that it was written by.
#[derive(Clone, Debug)]
pub struct Written {
    /// The order.
    pub order: Order,
    /// The settings of the folder to run in.
    pub settings: Resolved,
}

impl Asker {
    /// Their environment.
    pub fn environment(&self) -> Variables {
        self.variables.iter().cloned().collect()
    }

    /// The settings that hold for their work in a folder.
    pub fn settings(&self, home: &Home, folder: &Path) -> Result<Resolved, Faults> {
        let variables = self.environment();
        resolve(&Sources { home, folder: Some(folder), variables: &variables, flags: &self.set })
    }

    /// Takes out of their environment what is secret and not passed on, and keeps the names of it.
    pub fn withhold(&mut self, settings: &Settings) {
        self.gateway_token = self.token();
        let all = self.environment();
        let Filtered { variables, removed } = without_secrets(&all, &self.passes(settings));
        let secrets = removed.iter().filter_map(|name| Some((name.clone(), all.text(name)?)));
        let secrets: Vec<(String, String)> = secrets.collect();
        self.redaction.withhold(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        self.redaction.switch(settings.tools.redact);
        self.variables = variables.into_list();
        self.withheld.extend(removed);
    }

    /// What lets them into a gateway.
    fn token(&self) -> Option<Token> {
        self.gateway_token.clone().or_else(|| self.environment().text(TOKEN_VARIABLE).map(Token))
    }

    /// What gets past the filter.
    fn passes(&self, settings: &Settings) -> PassEnv {
        PassEnv::new(self.pass_env.iter().chain(&settings.python.pass_env).cloned())
    }

    /// Looks around and writes the order for a kernel. Nothing is started yet. Each stage is told when it is done.
    pub async fn order(
        &self,
        home: &Home,
        settings: &Resolved,
        job: &Job,
        mut stage: impl FnMut(&str),
    ) -> Result<Order, CannotOrder> {
        let found = Found::look(self, home, job.folders.clone());
        stage("looked for Python and kernels");
        let (decision, said) = self.decide(&found, &settings.settings, job)?;
        stage(&format!("decided: {}", writing::in_words(&decision)));
        let mut order = self.order_of(&found, settings, decision, job).await?;
        order.notices.extend(said);
        stage("made the environment");
        Ok(order)
    }
}

/// Looks around on a thread where that may take its time, and writes the order for a kernel. Nothing is started yet.
pub async fn write(asker: &Asker, home: &Home, job: Job) -> Result<Written, CannotOrder> {
    let (own, place) = (asker.clone(), home.clone());
    let looked = aside(move || {
        let settings = own.settings(&place, &job.cwd)?;
        let found = Found::look(&own, &place, job.folders.clone());
        let (decision, said) = own.decide(&found, &settings.settings, &job)?;
        Ok((found, settings, decision, said, job))
    });
    let looked: Result<_, CannotOrder> = looked.await.map_err(|_| CannotOrder::Lost)?;
    let (found, settings, decision, said, job) = looked?;
    let mut order = asker.order_of(&found, &settings, decision, &job).await?;
    order.notices.extend(said);
    Ok(Written { order, settings })
}

/// Finds the kernel of this name for work in some folders, on a thread where that may take its time.
pub async fn kernel(
    asker: &Asker,
    home: &Home,
    folders: Vec<PathBuf>,
    name: &str,
) -> Result<Named, CannotOrder> {
    let (asker, home, name) = (asker.clone(), home.clone(), name.to_owned());
    let looked = aside(move || Found::look(&asker, &home, folders).named(&name));
    Ok(looked.await.map_err(|_| CannotOrder::Lost)??)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn asker(variables: &[(&str, &str)]) -> Asker {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Asker { variables, ..Asker::default() }
    }

    fn names(asker: &Asker) -> Vec<String> {
        asker.variables.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_is_secret_stays_with_who_asks_and_only_its_name_is_known() {
        let mut asker = asker(&[("HOME", "/h"), ("OPENAI_API_KEY", "k"), ("MY_TOKEN", "t"), ("OTHER", "o")]);
        asker.pass_env = vec!["MY_TOKEN".to_owned()];
        asker.withhold(&Settings::default());
        assert_eq!(names(&asker), ["HOME", "MY_TOKEN", "OTHER"]);
        assert_eq!(asker.withheld, ["OPENAI_API_KEY"]);
    }

    #[test]
    fn what_was_withheld_is_known_when_it_is_seen_and_cannot_be_had_from_who_knows_it() {
        let mut asker = asker(&[("OPENAI_API_KEY", "quite-long-key-7"), ("PASSED_TOKEN", "handed-on-1234")]);
        asker.pass_env = vec!["PASSED_TOKEN".to_owned()];
        asker.withhold(&Settings::default());
        // A second time nothing is left to be withheld.
        asker.withhold(&Settings::default());
        let sent = serde_json::to_string(&asker).unwrap();
        assert!(!sent.contains("quite-long"), "{sent}");
        let got: Asker = serde_json::from_str(&sent).unwrap();
        let seen = got.redaction.text("it printed quite-long-key-7 and handed-on-1234");
        assert_eq!(seen, "it printed [redacted: OPENAI_API_KEY] and handed-on-1234");
        let mut settings = Settings::default();
        settings.tools.redact = false;
        asker.withhold(&settings);
        assert_eq!(asker.redaction.text("quite-long-key-7"), "quite-long-key-7");
    }

    #[test]
    fn an_asker_is_the_same_after_it_was_sent() {
        let mut asker = asker(&[("HOME", "/h")]);
        (asker.backend, asker.python) = (Some(Wish::Runner), Some("/py".into()));
        let sent = serde_json::to_value(&asker).unwrap();
        assert_eq!(sent["backend"], "runner");
        let got: Asker = serde_json::from_value(sent).unwrap();
        assert_eq!((got.variables, got.backend, got.python), (asker.variables, asker.backend, asker.python));
    }

    #[tokio::test]
    async fn an_order_is_written_from_the_variables_and_settings_of_who_asks() {
        let folder = tempfile::tempdir().unwrap();
        let (home, cwd) = (Home::at(folder.path().join("home")), folder.path().join("work"));
        fs::create_dir_all(home.path()).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        fs::write(home.path().join("config.toml"), "[python]\nstartup_timeout = 7\n").unwrap();
        let python = testkit::python("nbformat");
        let mut asker = asker(&[
            ("PATH", python.parent().unwrap().to_str().unwrap()),
            ("MARK", "x"),
            ("PI_MARK", "y"),
            ("CELLIST_PYTHON_BACKEND", "runner"),
        ]);
        asker.withheld = vec!["GH_TOKEN".to_owned()];
        let job = Job { folders: vec![cwd.clone()], cwd: cwd.clone(), ..Job::default() };
        let Written { order, settings } = write(&asker, &home, job.clone()).await.unwrap();
        assert_eq!(settings.settings.python.backend, Wish::Runner);
        assert_eq!(order.cwd, cwd);
        assert_eq!(order.startup_timeout.as_secs(), 7);
        assert!(order.environment.contains(&("PI_MARK".into(), "y".into())), "{:?}", order.environment);
        let hidden: Vec<&str> = order.hidden_variables.iter().map(String::as_str).collect();
        assert_eq!(hidden, ["CELLIST_PYTHON_BACKEND", "GH_TOKEN", "MARK"]);

        asker.set = vec!["python.nothing=1".to_owned()];
        let refused = write(&asker, &home, job.clone()).await.unwrap_err();
        assert_eq!(refused.kind(), "invalid_setting");
        (asker.set, asker.variables) = (Vec::new(), Vec::new());
        let refused = write(&asker, &home, job).await.unwrap_err();
        assert_eq!((refused.kind(), refused.to_string().as_str()), ("no_python", "no Python was found"));
    }
}
