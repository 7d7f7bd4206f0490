//! Which tools that run code there are to offer: what was asked for, and what is on disk. Nothing is started to find out.

use std::path::Path;

use cellist_settings::{Home, Settings, ToolMode};

use super::{ClientEnvironment, Found};

/// The variable that is stronger than the setting.
const VARIABLE: &str = "PI_PY";

impl ClientEnvironment {
    /// Which tools that run code are offered for work in a folder, and what is to be said about that.
    pub fn tool_mode(&self, home: &Home, folder: &Path, settings: &Settings) -> (ToolMode, Vec<String>) {
        let variables = self.variables();
        let mut notices = Vec::new();
        let mut mode = settings.python.tool_mode;
        if let Some(word) = variables.text(VARIABLE) {
            match said(&word) {
                Some(said) => mode = said,
                None => notices.push(format!(
                    "{VARIABLE} is {word:?}, which means nothing: it is one of 0, bash, 1, py, mix and both"
                )),
            }
        }
        if mode != ToolMode::BashOnly && !self.is_elsewhere() {
            let found = Found::pythons(self, home, vec![folder.to_owned()]);
            if found.interpreter().is_none() {
                notices.push(format!(
                    "no Python was found{}, so the tools that run it are not offered",
                    found.passed_over().first().map(|first| format!(" ({first})")).unwrap_or_default()
                ));
                mode = ToolMode::BashOnly;
            }
        }
        (mode, notices)
    }

    /// Whether there is a Python for work in a folder, here or on a gateway.
    pub fn has_python(&self, home: &Home, folder: &Path) -> bool {
        self.is_elsewhere() || Found::pythons(self, home, vec![folder.to_owned()]).interpreter().is_some()
    }

    /// Whether their code runs on a gateway that was named.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.gateway.is_some() || self.variables().text("PI_PYTHON_GATEWAY_URL").is_some()
    }
}

fn said(word: &str) -> Option<ToolMode> {
    match word.trim().to_ascii_lowercase().as_str() {
        "0" | "bash" => Some(ToolMode::BashOnly),
        "1" | "py" => Some(ToolMode::IpyOnly),
        "mix" | "both" => Some(ToolMode::Both),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_goes_before_the_setting_and_what_is_not_there_is_not_offered() {
        use ToolMode::{BashOnly, Both, IpyOnly};
        let python = testkit::python("nbformat");
        let path = python.parent().unwrap().to_str().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let check = |word: &str, path: &str, set: ToolMode, expected: ToolMode, notices: usize| {
            let variables = [("PI_PY", word), ("PATH", path)];
            let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            let environment = ClientEnvironment { variables, ..ClientEnvironment::default() };
            let mut settings = Settings::default();
            settings.python.tool_mode = set;
            let (mode, said) = environment.tool_mode(&home, folder.path(), &settings);
            assert_eq!((mode, said.len()), (expected, notices), "{word:?} on {path:?}: {said:?}");
        };
        check("", path, Both, Both, 0);
        check("", path, IpyOnly, IpyOnly, 0);
        check("0", path, Both, BashOnly, 0);
        check("bash", path, IpyOnly, BashOnly, 0);
        check("1", path, Both, IpyOnly, 0);
        check("PY", path, BashOnly, IpyOnly, 0);
        check("mix", path, BashOnly, Both, 0);
        check("both", path, BashOnly, Both, 0);
        check("2", path, IpyOnly, IpyOnly, 1);
        check("", "/nowhere", Both, BashOnly, 1);
        check("1", "/nowhere", Both, BashOnly, 1);
        check("0", "/nowhere", Both, BashOnly, 0);
    }

    #[test]
    fn python_elsewhere_needs_none_here() {
        let folder = tempfile::tempdir().unwrap();
        let environment =
            ClientEnvironment { gateway: Some("http://x".to_owned()), ..ClientEnvironment::default() };
        let decided = environment.tool_mode(&Home::at(folder.path()), folder.path(), &Settings::default());
        assert_eq!(decided, (ToolMode::Both, Vec::new()));
    }
}
