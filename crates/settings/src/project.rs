//! The project that a folder belongs to: the nearest folder above it that has a `.cellist`.

use std::fs;
use std::path::{Path, PathBuf};

use cellist_platform::{Variables, project_folders};

use super::file;
use crate::Home;

const FOLDER: &str = ".cellist";

/// A folder with settings, modules or prompts of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project(PathBuf);

impl Project {
    /// The project of a folder: the folder itself or one above it, within its repository. The state folder is
    /// nobody's project.
    pub fn find(start: &Path, variables: &Variables, home: &Home) -> Option<Project> {
        let start = start.canonicalize().ok()?;
        let own = variables.path("HOME").and_then(|own| own.canonicalize().ok());
        let state = home.path().canonicalize().ok();
        let usual = own.as_ref().map(|own| own.join(FOLDER));
        let is_projects = |folder: &&Path| {
            let real = folder.join(FOLDER).canonicalize().ok().filter(|found| found.is_dir());
            real.is_some() && real != state && real != usual
        };
        let mut folders = project_folders(&start, own.as_deref(), Path::exists);
        folders.find(is_projects).map(|folder| Project(folder.to_owned()))
    }

    /// The folder, by its real path.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Its `.cellist`.
    pub fn own(&self) -> PathBuf {
        self.0.join(FOLDER)
    }

    /// Its settings, which need not be there.
    pub(crate) fn config(&self) -> PathBuf {
        self.own().join(file::NAME)
    }

    /// The files of one kind in a folder of its `.cellist`, by name.
    pub(crate) fn files(&self, folder: &str, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.own().join(folder)).into_iter().flatten().flatten();
        let is_meant =
            |path: &PathBuf| path.extension().is_some_and(|found| found == ending) && path.is_file();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_meant).collect();
        files.sort();
        files
    }
}
