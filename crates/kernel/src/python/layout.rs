//! How an installed Python lies on disk: which environment an interpreter belongs to, and which folders it
//! imports from.

use std::path::{Path, PathBuf};

use super::files::Files;
use super::{Kind, Surroundings};

/// The folder of the base interpreter, as an environment's `pyvenv.cfg` names it.
pub(super) fn base_of(files: &dyn Files, environment: &Path) -> Option<PathBuf> {
    setting(files, environment, "home").map(PathBuf::from)
}

/// The environment that a program is part of.
pub(super) fn environment_of(files: &dyn Files, program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    let beside = folder.join("pyvenv.cfg");
    if files.kind(&beside).is_file() {
        return Some(folder.to_owned());
    }
    let above = folder.parent()?;
    files.kind(&above.join("pyvenv.cfg")).is_file().then(|| above.to_owned())
}

/// Whether an interpreter could import a module, judged by the folders that it imports from.
pub fn has_module(around: &Surroundings<'_>, interpreter: &Path, module: &str) -> bool {
    let folders = import_folders(around, interpreter);
    folders.iter().any(|folder| holds(around.files, folder, module))
}

/// The version of an interpreter, as exactly as its files tell.
pub fn version(around: &Surroundings<'_>, interpreter: &Path) -> Option<String> {
    let files = around.files;
    if let Some(environment) = environment_of(files, interpreter) {
        let said = ["version", "version_info"].iter().find_map(|key| setting(files, &environment, key));
        return said.map(|version| version.split('.').take(3).collect::<Vec<_>>().join("."));
    }
    let real = files.real(interpreter);
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let above = real.parent().and_then(Path::parent)?;
    // A folder that holds one version is often named after it.
    let folder = above.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let short = name.strip_prefix("python").and_then(short_version);
    match short_version(&folder) {
        Some(version) if short.is_none() || short.as_ref() == Some(&version) => Some(folder),
        _ => short.or_else(|| versions_below(files, above).into_iter().next()),
    }
}

/// The folders that an interpreter imports from, its standard library left out.
fn import_folders(around: &Surroundings<'_>, interpreter: &Path) -> Vec<PathBuf> {
    let files = around.files;
    let mut folders: Vec<PathBuf> = around
        .variables
        .get("PYTHONPATH")
        .map(|value| std::env::split_paths(value).filter(|folder| folder.is_absolute()).collect())
        .unwrap_or_default();
    match environment_of(files, interpreter) {
        Some(environment) => {
            let own = site_folders(files, &environment, None);
            let mut all = own;
            if setting(files, &environment, "include-system-site-packages").as_deref() == Some("true") {
                let base = base_of(files, &environment).unwrap_or_default();
                let version = setting(files, &environment, "version")
                    .or_else(|| setting(files, &environment, "version_info"))
                    .and_then(|version| short_version(&version));
                let program =
                    base.join(version.as_ref().map_or("python3".into(), |it| format!("python{it}")));
                let program = if files.kind(&program).is_file() { program } else { base.join("python3") };
                all.extend(base_folders(around, &program));
            }
            folders.extend(all);
        }
        None => folders.extend(base_folders(around, interpreter)),
    }
    let mut listed: Vec<PathBuf> = folders.iter().flat_map(|folder| added_by(files, folder)).collect();
    folders.append(&mut listed);
    folders
}

/// Of an interpreter that belongs to no environment.
fn base_folders(around: &Surroundings<'_>, interpreter: &Path) -> Vec<PathBuf> {
    let files = around.files;
    let real = files.real(interpreter);
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let version = name.strip_prefix("python").and_then(short_version);
    let prefix = real.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned();
    let mut folders = site_folders(files, &prefix, version.as_deref());
    if prefix == Path::new("/usr") {
        // Debian keeps its own packages apart from those of pip.
        folders.extend(site_folders(files, Path::new("/usr/local"), version.as_deref()));
        folders.push("/usr/lib/python3/dist-packages".into());
    }
    let own = around.variables.path("PYTHONUSERBASE");
    let own = own.or_else(|| around.variables.path("HOME").map(|home| home.join(".local")));
    if around.variables.get("PYTHONNOUSERSITE").is_none_or(|value| value.is_empty())
        && let Some(own) = own
    {
        let version = version.or_else(|| versions_below(files, &prefix).into_iter().next());
        if let Some(version) = version {
            folders.extend(site_folders(files, &own, Some(&version)));
        }
    }
    folders
}

/// Where packages lie below a prefix; of one version, or of all that are there.
fn site_folders(files: &dyn Files, prefix: &Path, version: Option<&str>) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![prefix.join("Lib").join("site-packages")];
    }
    let versions = match version {
        Some(version) => vec![version.to_owned()],
        None => versions_below(files, prefix),
    };
    let mut folders = Vec::new();
    for version in versions {
        for library in ["lib", "lib64"] {
            for packages in ["site-packages", "dist-packages"] {
                let folder = prefix.join(library).join(format!("python{version}")).join(packages);
                if files.kind(&folder) == Kind::Folder {
                    folders.push(folder);
                }
            }
        }
    }
    folders
}

fn versions_below(files: &dyn Files, prefix: &Path) -> Vec<String> {
    let names = files.names(&prefix.join("lib"));
    names.iter().filter_map(|name| name.strip_prefix("python")).filter_map(short_version).collect()
}

/// `3.11` of `3.11.7` or `3.11`.
fn short_version(text: &str) -> Option<String> {
    let mut parts = text.trim().split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    (digits(major) && digits(&minor)).then(|| format!("{major}.{minor}"))
}

/// The folders that a folder of packages adds by `.pth` and `.egg-link` files.
fn added_by(files: &dyn Files, folder: &Path) -> Vec<PathBuf> {
    let mut added = Vec::new();
    for name in files.names(folder) {
        let lines = if name.ends_with(".pth") {
            usize::MAX
        } else if name.ends_with(".egg-link") {
            1
        } else {
            continue;
        };
        let text = files.text(&folder.join(&name)).unwrap_or_default();
        for line in text.lines().take(lines).map(str::trim) {
            if !line.is_empty() && !line.starts_with('#') && !line.starts_with("import ") {
                added.push(folder.join(line));
            }
        }
    }
    added
}

fn holds(files: &dyn Files, folder: &Path, module: &str) -> bool {
    if files.kind(&folder.join(module).join("__init__.py")).is_file()
        || files.kind(&folder.join(format!("{module}.py"))).is_file()
    {
        return true;
    }
    let finder = format!("__editable___{module}_");
    let compiled = format!("{module}.");
    files.names(folder).iter().any(|name| {
        (name.starts_with(&finder) && name.ends_with("_finder.py"))
            || (name.starts_with(&compiled) && (name.ends_with(".so") || name.ends_with(".pyd")))
    })
}

fn setting(files: &dyn Files, environment: &Path, key: &str) -> Option<String> {
    let text = files.text(&environment.join("pyvenv.cfg"))?;
    text.lines().find_map(|line| {
        let (found, value) = line.split_once('=')?;
        (found.trim().eq_ignore_ascii_case(key)).then(|| value.trim().to_owned())
    })
}
