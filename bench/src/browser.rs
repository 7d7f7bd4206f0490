//! Measurements in a real browser, by scripts that share code with the page's tests.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::measure::cellist;

/// The measurements of a script in `bench/page`.
pub(crate) struct Measured(Value);

impl Measured {
    pub(crate) fn by(script: &str) -> Measured {
        let script = testkit::repo_root().join("bench/page").join(script);
        let node = testkit::node_folder().expect("Node comes with the environments: run `cargo xtask setup`");
        let measured = Command::new(node.join("bin").join("node"))
            .arg(&script)
            .env("CELLIST_TARGET", testkit::target_dir())
            .env("CELLIST_PROGRAM", cellist())
            .stderr(Stdio::inherit())
            .output()
            .unwrap_or_else(|error| panic!("node does not start: {error}"));
        assert!(measured.status.success(), "{} failed", script.display());
        Measured(serde_json::from_slice(&measured.stdout).expect("it prints one JSON object"))
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        self.0[name].as_f64().unwrap_or_else(|| panic!("{name} was not measured"))
    }

    pub(crate) fn ms(&self, name: &str) -> String {
        format!("{:.1} ms", self.number(name))
    }
}
