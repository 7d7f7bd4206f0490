//! The variables that a kernel gets: those that programs need, and no credentials.

mod names;

use std::collections::BTreeSet;
use std::env;
use std::path::PathBuf;

use cellist_platform::Variables;

use crate::python::Interpreter;
use names::{is_allowed, is_secret};

pub use names::SECRET_WORDS;

/// Variables that pass the filter because a setting names them.
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
    /// The remaining variables.
    pub variables: Variables,
    /// The names of the removed variables.
    pub removed: BTreeSet<String>,
}

/// Takes out all that a kernel should not see.
pub fn filter(variables: &Variables, pass: &PassEnv) -> Filtered {
    sift(variables, |name| pass.passes(name) || (is_allowed(name) && !is_secret(name)))
}

fn sift(variables: &Variables, is_kept: impl Fn(&str) -> bool) -> Filtered {
    let (mut kept, mut removed) = (Vec::new(), BTreeSet::new());
    for (name, value) in variables.iter() {
        let text = name.to_string_lossy();
        if is_kept(&text) {
            kept.push((name, value));
        } else {
            removed.insert(text.into_owned());
        }
    }
    Filtered { variables: kept.into_iter().collect(), removed }
}

/// Removes secrets and nothing else: for an environment that is still to be read, when making a kernel's
/// of it.
pub fn without_secrets(variables: &Variables, pass: &PassEnv) -> Filtered {
    sift(variables, |name| pass.passes(name) || !is_secret(name))
}

/// The part of an environment for a remote gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Sent to the gateway when it starts a kernel.
    pub launch: Vec<(String, String)>,
    /// Set in the kernel once it runs.
    pub hidden: Variables,
    /// The names of secrets that were to be passed on, and are not.
    pub withheld: BTreeSet<String>,
}

/// Variables that leave this machine: those for gateways and kernels by their name, and those that a setting names. Paths and
/// programs of this machine mean nothing there, and secrets always stay here.
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

/// The advice on a `KeyError` for a variable that the filter removed.
pub fn hint_for_key_error(message: &str, removed: &BTreeSet<String>) -> Option<String> {
    let name = message.trim().trim_matches(['\'', '"']);
    removed.contains(name).then(|| {
        format!(
            "{name} is set, but kernels do not get it: pass it on with --pass-env {name} if the code needs it"
        )
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

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
