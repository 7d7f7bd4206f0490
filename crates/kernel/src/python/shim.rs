//! Shims: small programs on `PATH` that look for the real interpreter at every start. Their result is
//! read from the files that they read.

use std::path::{Path, PathBuf};

use super::files::Kind;
use super::{Flaw, Surroundings};

/// A shim that can only be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shim {
    /// The tool it belongs to.
    pub tool: &'static str,
    /// The shim itself.
    pub path: PathBuf,
    /// Files that its answer depends on, as far as they exist.
    pub depends_on: Vec<PathBuf>,
}

/// The program behind a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ShimTarget {
    /// It is no shim.
    Itself,
    /// This program.
    Program(PathBuf),
    /// Only the shim knows.
    Unknown(Shim),
}

pub(super) fn behind(around: &Surroundings<'_>, path: &Path) -> Result<ShimTarget, Flaw> {
    let Some(folder) = path.parent().filter(|folder| folder.ends_with("shims")) else {
        return Ok(ShimTarget::Itself);
    };
    let root = folder.parent().unwrap_or(folder);
    let real = around.files.real(path);
    if real.file_name().is_some_and(|name| name == "mise") {
        return Ok(unknown(around, "mise", path));
    }
    let text = around.files.text(path).unwrap_or_default();
    if !text.starts_with("#!") {
        return Ok(ShimTarget::Itself);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let runs =
        |tool: &str| text.contains(&format!("{tool} exec")) || text.contains(&format!("{tool}\" exec"));
    if runs("pyenv") {
        pyenv(around, path, root, &name)
    } else if runs("asdf") {
        asdf(around, path, root, &name)
    } else {
        Ok(unknown(around, "a version manager", path))
    }
}

fn pyenv(around: &Surroundings<'_>, path: &Path, folder: &Path, name: &str) -> Result<ShimTarget, Flaw> {
    // The shims of the plugin for virtual environments lie elsewhere and lead to the same versions.
    let root = around.variables.path("PYENV_ROOT").unwrap_or_else(|| folder.to_owned());
    let versions = pyenv_versions(around, &root);
    for version in &versions {
        if version == "system" {
            return Ok(beyond_shims(around, name)
                .map_or_else(|| unknown(around, "pyenv", path), ShimTarget::Program));
        }
        let installed = around.files.names(&root.join("versions"));
        let Some(version) = installed_version(&installed, version) else { continue };
        let program = root.join("versions").join(version).join("bin").join(name);
        if around.files.kind(&program).is_file() {
            return Ok(ShimTarget::Program(program));
        }
    }
    match versions.first() {
        Some(version) => {
            Err(Flaw::ShimOfNothing { tool: "pyenv", program: name.to_owned(), version: version.clone() })
        }
        None => Ok(unknown(around, "pyenv", path)),
    }
}

/// The choice of pyenv: the variable, the nearest `.python-version`, or the version for everyone.
fn pyenv_versions(around: &Surroundings<'_>, root: &Path) -> Vec<String> {
    if let Some(versions) = around.variables.text("PYENV_VERSION") {
        return versions.split(':').map(str::to_owned).collect();
    }
    let lines = |text: String| -> Vec<String> {
        let words = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        words.flat_map(str::split_whitespace).map(str::to_owned).collect()
    };
    let nearest = around.folders.first().into_iter().flat_map(|folder| folder.ancestors());
    let named = nearest.map(|folder| folder.join(".python-version")).chain([root.join("version")]);
    named
        .filter_map(|file| around.files.text(&file))
        .map(lines)
        .find(|versions| !versions.is_empty())
        .unwrap_or_else(|| vec!["system".to_owned()])
}

/// An installed version by its name, or the newest that begins with it: `3.11` means the newest 3.11.
fn installed_version<'a>(installed: &'a [String], wanted: &str) -> Option<&'a String> {
    let wanted = wanted.strip_prefix("python-").unwrap_or(wanted);
    let exact = installed.iter().find(|version| *version == wanted);
    let number =
        |version: &str| -> Vec<u32> { version.split('.').filter_map(|part| part.parse().ok()).collect() };
    exact.or_else(|| {
        let prefix = format!("{wanted}.");
        let plain =
            |version: &&String| version.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        installed
            .iter()
            .filter(plain)
            .filter(|version| version.starts_with(&prefix))
            .max_by_key(|version| number(version))
    })
}

fn asdf(around: &Surroundings<'_>, path: &Path, folder: &Path, name: &str) -> Result<ShimTarget, Flaw> {
    let root = around.variables.path("ASDF_DATA_DIR").unwrap_or_else(|| folder.to_owned());
    let versions = asdf_versions(around);
    for version in &versions {
        if version == "system" {
            return Ok(
                beyond_shims(around, name).map_or_else(|| unknown(around, "asdf", path), ShimTarget::Program)
            );
        }
        let program = root.join("installs").join("python").join(version).join("bin").join(name);
        if around.files.kind(&program).is_file() {
            return Ok(ShimTarget::Program(program));
        }
    }
    match versions.first() {
        Some(version) => {
            Err(Flaw::ShimOfNothing { tool: "asdf", program: name.to_owned(), version: version.clone() })
        }
        None => Ok(unknown(around, "asdf", path)),
    }
}

/// The choice of asdf: the variable, or the nearest `.tool-versions` that names Python.
fn asdf_versions(around: &Surroundings<'_>) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    if let Some(versions) = around.variables.text("ASDF_PYTHON_VERSION") {
        return words(&versions);
    }
    let nearest =
        around.folders.first().into_iter().flat_map(|folder| folder.ancestors().map(Path::to_owned));
    for folder in nearest.chain(around.variables.path("HOME")) {
        let text = around.files.text(&folder.join(".tool-versions")).unwrap_or_default();
        if let Some(versions) = text.lines().find_map(|line| line.strip_prefix("python ")) {
            return words(versions.split('#').next().unwrap_or_default());
        }
    }
    Vec::new()
}

/// The program of that name on `PATH`, shims left out.
fn beyond_shims(around: &Surroundings<'_>, name: &str) -> Option<PathBuf> {
    let folders = around.variables.path_folders().into_iter().filter(|folder| !folder.ends_with("shims"));
    folders
        .map(|folder| folder.join(name))
        .find(|path| around.files.kind(path) == Kind::File { executable: true })
}

fn unknown(around: &Surroundings<'_>, tool: &'static str, path: &Path) -> ShimTarget {
    const FILES: [&str; 6] = [
        ".python-version",
        ".tool-versions",
        "mise.toml",
        ".mise.toml",
        "mise.local.toml",
        ".config/mise.toml",
    ];
    let folders = around.folders.first().into_iter().flat_map(|folder| folder.ancestors());
    let files = folders.flat_map(|folder| FILES.map(|name| folder.join(name)));
    let depends_on = files.filter(|file| around.files.kind(file).is_file()).collect();
    ShimTarget::Unknown(Shim { tool, path: path.to_owned(), depends_on })
}
