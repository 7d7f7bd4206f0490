//! Decides which tools that run code are offered, from the settings and the disk. Starts nothing.

use std::path::Path;

use cellist_settings::{Home, Settings, ToolMode};

use super::{ClientEnvironment, FoundSoftware};

/// The variable that overrides the setting.
const VARIABLE: &str = "PI_PY";

impl ClientEnvironment {
    /// Returns the tools to offer in a folder, with a notice if one is needed.
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
            let found = FoundSoftware::pythons(self, home, vec![folder.to_owned()]);
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

    /// Whether a Python is available for a folder, here or on a gateway.
    pub fn has_python(&self, home: &Home, folder: &Path) -> bool {
        self.is_elsewhere()
            || FoundSoftware::pythons(self, home, vec![folder.to_owned()]).interpreter().is_some()
    }

    /// Whether the code runs on a named gateway.
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
    fn the_variable_overrides_the_setting_and_missing_tools_are_not_offered() {
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
