//! Which variables a kernel gets: what a program needs to run, and nothing that opens a door elsewhere.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::python::Interpreter;

/// Environment variables as data, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(Vec<(OsString, OsString)>);

impl Variables {
    /// Those of this process.
    pub fn of_process() -> Variables {
        Variables(env::vars_os().collect())
    }

    /// The value of a variable; one that is set to nothing is as good as not set.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let set = self.0.iter().rev().find(|(known, _)| known == name);
        set.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// The value of a variable, where it is text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(OsStr::to_str).map(str::to_owned)
    }

    /// The value of a variable that holds an absolute path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The absolute folders of `PATH`, in order.
    pub fn path_folders(&self) -> Vec<PathBuf> {
        let folders = self.get("PATH").map(|value| env::split_paths(value).collect::<Vec<_>>());
        folders.unwrap_or_default().into_iter().filter(|folder| folder.is_absolute()).collect()
    }

    /// Whether a variable is switched on: set to something that does not mean no.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Gives a variable a value.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        let name = name.into();
        self.remove(&name);
        self.0.push((name, value.into()));
    }

    /// Takes a variable away.
    pub fn remove(&mut self, name: impl AsRef<OsStr>) {
        self.0.retain(|(known, _)| known != name.as_ref());
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// As a process takes them.
    pub fn into_list(self) -> Vec<(OsString, OsString)> {
        self.0
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Variables {
        Variables(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// What gets past the filter because someone named it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassEnv {
    names: BTreeSet<String>,
    all: bool,
}

impl PassEnv {
    /// From names; `all` stands for every variable.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> PassEnv {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        PassEnv { all: names.contains("all"), names }
    }

    fn passes(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }
}

/// An environment after the filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filtered {
    /// What is left.
    pub variables: Variables,
    /// The names of what was taken out.
    pub removed: BTreeSet<String>,
}

/// Takes out all that a kernel should not see.
pub fn filter(variables: &Variables, pass: &PassEnv) -> Filtered {
    sift(variables, |name| pass.passes(name) || (is_allowed(name) && !is_secret(name)))
}

fn sift(variables: &Variables, is_kept: impl Fn(&str) -> bool) -> Filtered {
    let mut filtered = Filtered::default();
    for (name, value) in variables.iter() {
        let text = name.to_string_lossy();
        if is_kept(&text) {
            filtered.variables.0.push((name.clone(), value.clone()));
        } else {
            filtered.removed.insert(text.into_owned());
        }
    }
    filtered
}

/// Takes out what is secret and nothing else: for an environment that still has to be read, by whoever makes a kernel's
/// of it.
pub fn without_secrets(variables: &Variables, pass: &PassEnv) -> Filtered {
    sift(variables, |name| pass.passes(name) || !is_secret(name))
}

/// What a gateway elsewhere gets of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// What the gateway itself is told when it starts a kernel.
    pub launch: Vec<(String, String)>,
    /// What is set in the kernel once it runs.
    pub hidden: Variables,
    /// The names of secrets that were to be passed on, and are not.
    pub withheld: BTreeSet<String>,
}

/// What leaves this machine: what is meant for gateways and for kernels by its name, and what someone named. Paths and
/// programs of this machine mean nothing there, and secrets stay here, whoever names them.
pub fn for_gateway(variables: &Variables, pass: &PassEnv) -> Elsewhere {
    const OURS: [&str; 2] = ["PI_PYTHON_GATEWAY_", "PI_TOOL_BRIDGE_"];
    let mut elsewhere = Elsewhere::default();
    for (name, value) in variables.iter() {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        let is_named = pass.names.contains(name);
        if is_secret(name) || OURS.iter().any(|prefix| name.starts_with(prefix)) {
            if is_named {
                elsewhere.withheld.insert(name.to_owned());
            }
        } else if name.starts_with("KERNEL_") {
            elsewhere.launch.push((name.to_owned(), value.to_owned()));
        } else if is_named || name.starts_with("PI_") {
            elsewhere.hidden.set(name, value);
        }
    }
    elsewhere
}

/// Makes an environment one in which an interpreter finds itself: the programs of its virtual environment
/// come first, and one that is not in use is not named.
pub fn for_interpreter(mut variables: Variables, interpreter: &Interpreter) -> Variables {
    let is_conda = |folder: &PathBuf| variables.path("CONDA_PREFIX").as_ref() == Some(folder);
    match &interpreter.environment {
        Some(folder) => {
            let programs = interpreter.path.parent().unwrap_or(folder).to_owned();
            let rest = variables.path_folders().into_iter().filter(|known| *known != programs);
            let joined = env::join_paths([programs.clone()].into_iter().chain(rest));
            let conda = is_conda(folder);
            variables.set("PATH", joined.unwrap_or_else(|_| programs.into_os_string()));
            if !conda {
                variables.set("VIRTUAL_ENV", folder);
            }
            variables.remove("PYTHONHOME");
        }
        None => variables.remove("VIRTUAL_ENV"),
    }
    variables
}

/// What to say about a `KeyError` for a variable that the filter took out.
pub fn hint_for_key_error(message: &str, removed: &BTreeSet<String>) -> Option<String> {
    let name = message.trim().trim_matches(['\'', '"']);
    removed.contains(name).then(|| {
        format!(
            "{name} is set, but kernels do not get it: pass it on with --pass-env {name} if the code needs it"
        )
    })
}

/// Names that any program may need to run.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "LINES",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "TMP",
    "TEMP",
    "PWD",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "HOSTNAME",
    "VIRTUAL_ENV",
    "VIRTUAL_ENV_PROMPT",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
    "PYTHONNOUSERSITE",
    "PYTHONUSERBASE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX",
    "PYTHONMALLOC",
    "PYTHONFAULTHANDLER",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "IPYTHONDIR",
    "JUPYTER_PATH",
    "JUPYTER_DATA_DIR",
    "JUPYTER_CONFIG_DIR",
    "MPLBACKEND",
    "MPLCONFIGDIR",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "TOKENIZERS_PARALLELISM",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "R_HOME",
    "R_LIBS",
    "R_LIBS_USER",
    "JULIA_DEPOT_PATH",
    "JULIA_PROJECT",
    "JULIA_NUM_THREADS",
    "JAVA_HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "PIP_CONFIG_FILE",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "NODE_EXTRA_CA_CERTS",
    // What Windows needs.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
    "OS",
];

const ALLOWED_PREFIXES: &[&str] = &["LC_", "XDG_", "PI_", "CONDA_", "CUDA_"];

/// Names of secrets that their spelling does not give away, or that nothing may let through.
const SECRETS: &[&str] = &[
    "PI_PYTHON_GATEWAY_TOKEN",
    "PI_TOOL_BRIDGE_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CREDENTIALS",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_CONNECTION_STRING",
    "APPLICATIONINSIGHTS_CONNECTION_STRING",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITHUB_PAT",
    "GITLAB_TOKEN",
    "CI_JOB_TOKEN",
    "BITBUCKET_TOKEN",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HUGGINGFACEHUB_API_TOKEN",
    "REPLICATE_API_TOKEN",
    "WANDB_API_KEY",
    "KAGGLE_KEY",
    "SLACK_BOT_TOKEN",
    "SLACK_WEBHOOK_URL",
    "DISCORD_TOKEN",
    "STRIPE_SECRET_KEY",
    "TWILIO_AUTH_TOKEN",
    "SENDGRID_API_KEY",
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
    "TWINE_PASSWORD",
    "UV_PUBLISH_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "DOCKER_AUTH_CONFIG",
    "DOCKER_PASSWORD",
    "VAULT_TOKEN",
    "KUBECONFIG",
    "DATABASE_URL",
    "POSTGRES_PASSWORD",
    "PGPASSWORD",
    "PGPASSFILE",
    "MYSQL_PWD",
    "MYSQL_PASSWORD",
    "MONGODB_URI",
    "MONGO_URL",
    "REDIS_URL",
    "REDIS_PASSWORD",
    "SENTRY_DSN",
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "NETRC",
];

/// Whose variables are about access, whatever they are called.
const SECRET_PREFIXES: &[&str] = &[
    "OPENAI_",
    "ANTHROPIC_",
    "CLAUDE_",
    "GEMINI_",
    "GOOGLE_",
    "VERTEX_",
    "AWS_",
    "AZURE_",
    "GITHUB_",
    "GH_",
    "GITLAB_",
    "HUGGING",
    "HF_",
    "COHERE_",
    "CO_API",
    "MISTRAL_",
    "GROQ_",
    "DEEPSEEK_",
    "XAI_",
    "OPENROUTER_",
    "PERPLEXITY_",
    "TOGETHER_",
    "FIREWORKS_",
    "REPLICATE_",
    "SLACK_",
    "STRIPE_",
    "NPM_",
    "PYPI_",
    "TWINE_",
    "DOCKER_",
];

/// Words that make a name that of a secret, as a whole part between underscores.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "BEARER",
    "PAT",
    "DSN",
];

fn is_allowed(name: &str) -> bool {
    let known =
        |allowed: &str| if cfg!(windows) { allowed.eq_ignore_ascii_case(name) } else { allowed == name };
    ALLOWED.iter().any(|allowed| known(allowed))
        || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRETS.contains(&upper.as_str())
        || SECRET_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
        || upper.split('_').any(|part| SECRET_WORDS.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python::Origin;

    fn kept(names: &[&str], pass: &[&str]) -> Vec<String> {
        let variables: Variables = names.iter().map(|name| (*name, "value")).collect();
        let filtered = filter(&variables, &PassEnv::new(pass.iter().copied()));
        filtered.variables.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_a_program_needs_is_kept() {
        let needed = [
            "PATH",
            "HOME",
            "USER",
            "SHELL",
            "LANG",
            "TERM",
            "TMPDIR",
            "VIRTUAL_ENV",
            "PYTHONPATH",
            "CONDA_PREFIX",
            "CONDA_DEFAULT_ENV",
            "LD_LIBRARY_PATH",
            "HTTPS_PROXY",
            "no_proxy",
            "REQUESTS_CA_BUNDLE",
            "CUDA_VISIBLE_DEVICES",
            "SYSTEMROOT",
            "LC_ALL",
            "XDG_RUNTIME_DIR",
            "PI_SESSION_FILE",
        ];
        assert_eq!(kept(&needed, &[]), needed);
    }

    #[test]
    fn secrets_are_taken_out_whatever_else_would_let_them_through() {
        for name in [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AZURE_CLIENT_SECRET",
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "GITLAB_TOKEN",
            "HF_TOKEN",
            "HUGGING_FACE_HUB_TOKEN",
            "COHERE_API_KEY",
            "MISTRAL_API_KEY",
            "GROQ_API_KEY",
            "DEEPSEEK_API_KEY",
            "XAI_API_KEY",
            "SLACK_BOT_TOKEN",
            "STRIPE_SECRET_KEY",
            "NPM_TOKEN",
            "PYPI_TOKEN",
            "TWINE_PASSWORD",
            "DOCKER_PASSWORD",
            "PGPASSWORD",
            "DATABASE_URL",
            "PI_PYTHON_GATEWAY_TOKEN",
            "PI_ANTHROPIC_API_KEY",
            "CONDA_TOKEN",
            "CUDA_API_KEY",
            "XDG_SECRET",
            "LC_PASSWORD",
            "openai_api_key",
        ] {
            assert!(kept(&[name], &[]).is_empty(), "{name} got through");
            assert_eq!(kept(&[name], &[name]), [name], "{name} was named and did not get through");
            assert_eq!(kept(&[name], &["all"]), [name]);
        }
    }

    #[test]
    fn what_nobody_listed_stays_out_until_it_is_named() {
        assert_eq!(kept(&["MY_SETTING", "DJANGO_SETTINGS_MODULE"], &["MY_SETTING"]), ["MY_SETTING"]);
        assert!(kept(&["MY_SETTING"], &["MY_"]).is_empty(), "a name is not a pattern");
    }

    #[test]
    fn a_missing_name_gets_a_hint_only_if_the_filter_took_it() {
        let removed = BTreeSet::from(["OPENAI_API_KEY".to_owned()]);
        let hint = hint_for_key_error("'OPENAI_API_KEY'", &removed).unwrap();
        assert!(hint.contains("--pass-env OPENAI_API_KEY"), "{hint}");
        assert_eq!(hint_for_key_error("'column'", &removed), None);
    }

    #[test]
    fn an_environment_in_use_comes_first_and_another_is_not_named() {
        let variables: Variables =
            [("PATH", "/usr/bin:/v/bin"), ("VIRTUAL_ENV", "/old"), ("PYTHONHOME", "/x")]
                .into_iter()
                .collect();
        let mut interpreter = Interpreter {
            path: "/v/bin/python".into(),
            origin: Origin::Located,
            environment: Some("/v".into()),
            shim: None,
        };
        let given = for_interpreter(variables.clone(), &interpreter);
        assert_eq!(given.text("PATH").as_deref(), Some("/v/bin:/usr/bin"));
        assert_eq!(given.text("VIRTUAL_ENV").as_deref(), Some("/v"));
        assert_eq!(given.get("PYTHONHOME"), None);
        interpreter.environment = None;
        assert_eq!(for_interpreter(variables, &interpreter).get("VIRTUAL_ENV"), None);
    }

    #[test]
    fn only_what_is_meant_for_it_leaves_for_a_gateway_and_no_secret_does() {
        let variables: Variables = [
            ("PATH", "/bin"),
            ("HOME", "/h"),
            ("KERNEL_USERNAME", "ann"),
            ("KERNEL_API_TOKEN", "hush"),
            ("PI_MARK", "m"),
            ("PI_PYTHON_GATEWAY_TOKEN", "hush"),
            ("PI_PYTHON_GATEWAY_URL", "u"),
            ("PI_TOOL_BRIDGE_URL", "b"),
            ("OPENAI_API_KEY", "hush"),
            ("AWS_SECRET_ACCESS_KEY", "hush"),
            ("STAGE", "test"),
        ]
        .into_iter()
        .collect();
        let found = for_gateway(&variables, &PassEnv::new(["STAGE", "OPENAI_API_KEY", "all"]));
        assert_eq!(found.launch, [("KERNEL_USERNAME".to_owned(), "ann".to_owned())]);
        let hidden: Vec<(OsString, OsString)> = found.hidden.into_list();
        assert_eq!(hidden, [("PI_MARK".into(), "m".into()), ("STAGE".into(), "test".into())]);
        assert_eq!(found.withheld, BTreeSet::from(["OPENAI_API_KEY".to_owned()]));
    }
}
