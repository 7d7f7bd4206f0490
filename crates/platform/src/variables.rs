//! Environment variables as data.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

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
