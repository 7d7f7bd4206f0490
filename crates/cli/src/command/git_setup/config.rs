//! Reads and changes git's configuration with `git config`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::error::{CliError, Exit, FailureKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConfigScope {
    Local,
    Global,
}

impl ConfigScope {
    fn flag(self) -> &'static str {
        match self {
            ConfigScope::Local => "--local",
            ConfigScope::Global => "--global",
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            ConfigScope::Local => "in this repository",
            ConfigScope::Global => "for this user",
        }
    }
}

pub(super) struct GitConfig {
    pub(super) scope: ConfigScope,
}

impl GitConfig {
    /// Sets missing keys. Returns a message for each.
    pub(super) fn set(&self, program: &str) -> Result<Vec<String>, CliError> {
        let mut done = Vec::new();
        for (key, value) in [
            ("diff.cellist.command", format!("{program} diff --driver")),
            ("diff.cellist.textconv", format!("{program} diff --textconv")),
            ("merge.cellist.name", "notebooks by cells".into()),
            ("merge.cellist.driver", format!("{program} merge --driver %O %A %B %L %P")),
        ] {
            if self.get(key)?.as_deref() != Some(&value) {
                self.config(&["--replace-all", key, &value])?;
                done.push(format!("Set {key} = {value}"));
            }
        }
        Ok(done)
    }

    /// Removes our sections. Returns a message for each.
    pub(super) fn unset(&self) -> Result<Vec<String>, CliError> {
        let mut done = Vec::new();
        for section in ["diff.cellist", "merge.cellist"] {
            let pattern = format!("^{}\\.", section.replace('.', "\\."));
            let found = self.ask(&["config", self.scope.flag(), "--get-regexp", &pattern])?;
            if found.status.success() {
                self.config(&["--remove-section", section])?;
                done.push(format!("Removed {section}"));
            }
        }
        Ok(done)
    }

    /// The attributes file of the scope.
    pub(super) fn attributes_file(&self) -> Result<PathBuf, CliError> {
        match self.scope {
            ConfigScope::Local => {
                let top = self.ask(&["rev-parse", "--show-toplevel"])?;
                if !top.status.success() {
                    return Err(CliError::input(
                        FailureKind::NoRepository,
                        "the current folder is not in a git repository",
                    )
                    .with_hint("run `git init` first, or pass --global"));
                }
                Ok(Path::new(line(&top).as_str()).join(".gitattributes"))
            }
            ConfigScope::Global => {
                let set = self.ask(&["config", "--global", "--type=path", "--get", "core.attributesFile"])?;
                if set.status.success() {
                    return Ok(line(&set).into());
                }
                let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
                let config = folder("XDG_CONFIG_HOME")
                    .map(PathBuf::from)
                    .or_else(|| folder("HOME").map(|home| Path::new(&home).join(".config")));
                config.map(|config| config.join("git").join("attributes")).ok_or_else(|| {
                    CliError::input(
                        FailureKind::NoHome,
                        "HOME is not set, so git has no global configuration",
                    )
                })
            }
        }
    }

    fn get(&self, key: &str) -> Result<Option<String>, CliError> {
        let answer = self.ask(&["config", self.scope.flag(), "--get", key])?;
        Ok(answer.status.success().then(|| line(&answer)))
    }

    fn config(&self, arguments: &[&str]) -> Result<(), CliError> {
        let answer = self.ask(&[&["config", self.scope.flag()], arguments].concat())?;
        if answer.status.success() {
            return Ok(());
        }
        let problem = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
        Err(CliError::new(
            FailureKind::Git,
            Exit::NotSaved,
            format!("git cannot set {}: {problem}", arguments[1]),
        ))
    }

    fn ask(&self, arguments: &[&str]) -> Result<Output, CliError> {
        Command::new("git").args(arguments).output().map_err(|error| {
            CliError::input(FailureKind::NoGit, format!("cannot start git: {}", crate::error::reason(&error)))
                .with_hint("install git, or check that it is on the PATH")
        })
    }
}

/// The first line of git's output.
fn line(answer: &Output) -> String {
    String::from_utf8_lossy(&answer.stdout).trim_end_matches(['\n', '\r']).to_owned()
}
