//! Kernelspecs: which Jupyter kernels are installed, and how each is started. Found by reading folders, in
//! Jupyter's own order; no process is started.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cellist_platform::Variables;
use serde::Deserialize;

use crate::zmq::{InterruptMode, KernelCommand};

/// An installed kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSpec {
    /// Its name, in lower case.
    pub name: String,
    /// The folder of its `kernel.json`.
    pub folder: PathBuf,
    /// The program and its arguments; `{connection_file}` stands for a file that is not known yet.
    pub argv: Vec<String>,
    /// Its name for people.
    pub display_name: String,
    /// The language, as written.
    pub language: String,
    /// Variables to set; `${NAME}` in a value stands for a variable of the launch.
    pub env: Vec<(String, String)>,
    /// How it is interrupted.
    pub interrupt_mode: InterruptMode,
    /// The author's metadata.
    pub metadata: serde_json::Value,
    /// The interpreter, where it is started by the Python that was given.
    pub python: Option<PathBuf>,
}

impl KernelSpec {
    /// How it is started.
    pub fn command(&self) -> KernelCommand {
        KernelCommand {
            argv: self.argv.iter().map(OsString::from).collect(),
            env: self.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            name: self.name.clone(),
            display_name: self.display_name.clone(),
            language: self.language.clone(),
            python: self.python.clone(),
            interrupt_mode: self.interrupt_mode,
        }
    }

    /// Whether it runs this language, in whatever case it is written.
    pub fn speaks(&self, language: &str) -> bool {
        self.language.to_lowercase() == language.to_lowercase()
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelspecSearch {
    /// The kernels, the first of each name, in the order of the search.
    pub specs: Vec<KernelSpec>,
    /// Files that cannot be read as a kernelspec, and why.
    pub broken: Vec<(PathBuf, String)>,
}

impl KernelspecSearch {
    /// The kernel of that name, in whatever case it is written.
    pub fn named(&self, name: &str) -> Option<&KernelSpec> {
        let name = name.to_lowercase();
        self.specs.iter().find(|spec| spec.name == name)
    }

    /// The first kernel of a language.
    pub fn of_language(&self, language: &str) -> Option<&KernelSpec> {
        self.specs.iter().find(|spec| spec.speaks(language))
    }
}

/// The kernels that can be found with these variables and this Python; broken ones are passed over.
pub fn discover(variables: &Variables, python: Option<&Path>) -> Vec<KernelSpec> {
    search(variables, python).specs
}

/// The same, with broken kernelspecs.
pub fn search(variables: &Variables, python: Option<&Path>) -> KernelspecSearch {
    let mut found = KernelspecSearch::default();
    let mut names = BTreeSet::new();
    for folder in folders(variables, python) {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for entry in entries {
            let file = entry.join("kernel.json");
            let name = entry.file_name().and_then(|name| name.to_str()).map(str::to_lowercase);
            let Some(name) = name.filter(|name| is_name(name) && file.is_file()) else { continue };
            if !names.insert(name.clone()) {
                continue;
            }
            match read(&file, name, python) {
                Ok(spec) => found.specs.push(spec),
                Err(why) => found.broken.push((file, why)),
            }
        }
    }
    found
}

/// The folders in which kernelspecs are looked for, in order.
pub fn folders(variables: &Variables, python: Option<&Path>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut add = |folder: PathBuf| {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    };
    if let Some(given) = variables.get("JUPYTER_PATH") {
        env::split_paths(given)
            .filter(|folder| folder.is_absolute())
            .for_each(|folder| add(folder.join("kernels")));
    }
    let user = user_folders(variables).into_iter().map(|folder| folder.join("kernels"));
    let own = python.map(|python| prefix(python).join("share/jupyter/kernels"));
    if prefers_environment(variables, python) {
        own.into_iter().chain(user).for_each(&mut add);
    } else {
        user.chain(own).for_each(&mut add);
    }
    for folder in ["/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"] {
        add(folder.into());
    }
    let ipython = variables.path("IPYTHONDIR").or_else(|| Some(variables.path("HOME")?.join(".ipython")));
    if let Some(ipython) = ipython {
        add(ipython.join("kernels"));
    }
    folders
}

fn user_folders(variables: &Variables) -> Vec<PathBuf> {
    let home = variables.path("HOME");
    let of_platform = || {
        if cfg!(target_os = "macos") {
            return Some(home.as_ref()?.join("Library/Jupyter"));
        }
        let data = variables.path("XDG_DATA_HOME").or_else(|| Some(home.as_ref()?.join(".local/share")))?;
        Some(data.join("jupyter"))
    };
    let data = variables.path("JUPYTER_DATA_DIR").or_else(of_platform);
    // The scheme of `pip install --user`.
    let user_base = variables.path("PYTHONUSERBASE").or_else(|| Some(home.as_ref()?.join(".local")));
    data.into_iter().chain(user_base.map(|base| base.join("share/jupyter"))).collect()
}

/// An environment's own kernels come before the user's, as long as nobody says otherwise.
fn prefers_environment(variables: &Variables, python: Option<&Path>) -> bool {
    if variables.get("JUPYTER_PREFER_ENV_PATH").is_some() {
        return variables.is_on("JUPYTER_PREFER_ENV_PATH");
    }
    let Some(prefix) = python.map(prefix) else { return false };
    let is_conda = variables.path("CONDA_PREFIX").is_some_and(|conda| prefix.starts_with(conda))
        && variables.get("CONDA_DEFAULT_ENV").is_some_and(|name| name != "base");
    prefix.join("pyvenv.cfg").is_file() || is_conda
}

/// The folder that a Python is installed in: of a virtual environment its own, else the one behind links.
fn prefix(python: &Path) -> PathBuf {
    let above = |program: &Path| program.parent().and_then(Path::parent).map(Path::to_owned);
    if let Some(folder) = above(python)
        && folder.join("pyvenv.cfg").is_file()
    {
        return folder;
    }
    let real = python.canonicalize().unwrap_or_else(|_| python.to_owned());
    above(&real).unwrap_or_default()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
}

fn read(file: &Path, name: String, python: Option<&Path>) -> Result<KernelSpec, String> {
    #[derive(Deserialize)]
    struct Json {
        argv: Vec<String>,
        #[serde(default)]
        display_name: String,
        #[serde(default)]
        language: String,
        #[serde(default)]
        env: serde_json::Map<String, serde_json::Value>,
        #[serde(default)]
        interrupt_mode: Option<String>,
        #[serde(default)]
        metadata: serde_json::Value,
    }
    let text = fs::read(file).map_err(|error| error.to_string())?;
    let json: Json = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let interrupt_mode = match json.interrupt_mode.as_deref() {
        None | Some("signal" | "") => InterruptMode::Signal,
        Some("message") => InterruptMode::Message,
        Some(other) => return Err(format!("interrupt_mode is {other}, which is neither signal nor message")),
    };
    if json.argv.is_empty() {
        return Err("argv is empty".into());
    }
    let folder = file.parent().unwrap_or(file).to_owned();
    let mut argv: Vec<String> = json.argv.iter().map(|argument| fill_in(argument, &folder, python)).collect();
    let mut own = None;
    if let Some(python) = python.filter(|_| is_any_python(&argv[0])) {
        argv[0] = python.to_string_lossy().into_owned();
        own = Some(python.to_owned());
    }
    let env = json.env.into_iter().map(|(name, value)| match value {
        serde_json::Value::String(value) => (name, value),
        other => (name, other.to_string()),
    });
    Ok(KernelSpec {
        display_name: if json.display_name.is_empty() { name.clone() } else { json.display_name },
        name,
        folder,
        argv,
        language: json.language,
        env: env.collect(),
        interrupt_mode,
        metadata: json.metadata,
        python: own,
    })
}

/// Puts known names into an argument; `{connection_file}` and unknown ones stay.
fn fill_in(argument: &str, folder: &Path, python: Option<&Path>) -> String {
    let argument = argument.replace("{resource_dir}", &folder.to_string_lossy());
    match python {
        Some(python) => argument.replace("{prefix}", &prefix(python).to_string_lossy()),
        None => argument,
    }
}

/// Whether a program only says that it is Python, not which: `python`, `python3`, `python3.12`.
fn is_any_python(program: &str) -> bool {
    let version = program.strip_prefix("python");
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Puts the values of variables into a text: `$NAME`, `${NAME}`, and `$$` for a dollar sign. Unknown ones stay.
pub(crate) fn expand(text: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let name_in = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
            let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            if starts { end } else { 0 }
        };
        let braced = after.strip_prefix('{').and_then(|inner| {
            let end = name_in(inner);
            (end > 0 && inner[end..].starts_with('}')).then(|| (&inner[..end], end + 2))
        });
        let bare = Some(name_in(after)).filter(|end| *end > 0).map(|end| (&after[..end], end));
        match (after.starts_with('$'), braced.or(bare)) {
            (true, _) => {
                expanded.push('$');
                rest = &after[1..];
            }
            (false, Some((name, length))) => {
                match variable(name) {
                    Some(value) => expanded.push_str(&value),
                    None => expanded.push_str(&rest[at..at + 1 + length]),
                }
                rest = &after[length..];
            }
            (false, None) => {
                expanded.push('$');
                rest = after;
            }
        }
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_their_names_stood() {
        let known = |name: &str| match name {
            "HOME" => Some("/home/me".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("${HOME}/lib:$HOME/x", "/home/me/lib:/home/me/x"),
            ("a$$b ${UNKNOWN} $UNKNOWN", "a$b ${UNKNOWN} $UNKNOWN"),
            ("[${EMPTY}]", "[]"),
            ("100$ ${ ${} ${1} $1 $", "100$ ${ ${} ${1} $1 $"),
            ("", ""),
        ] {
            assert_eq!(expand(text, known), expected, "{text}");
        }
    }

    #[test]
    fn a_program_that_names_no_python_in_particular_is_ours_to_choose() {
        assert!(["python", "python3", "python3.12"].into_iter().all(is_any_python));
        assert!(
            ["/usr/bin/python", "pythonw", "bash", "python-x"].into_iter().all(|name| !is_any_python(name))
        );
    }
}
