//! Which of several values of a setting holds. Precedence: flag, environment variable, project file, user file, default.

use std::path::{Path, PathBuf};

use cellist_platform::Variables;

use crate::domain::{Base, Written};
use crate::fault::{Fault, Faults, Origin};
use crate::file::{self, Entry, read};
use crate::home::Home;
use crate::project::Project;
use crate::table::{Access, Row, Settings, TABLE, row};
use crate::trust::{self, Ledger};

/// The flag that sets any setting for one command.
pub const FLAG: &str = "--set";

/// Where settings are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The state folder, with the file of the user.
    pub home: &'a Home,
    /// The folder in which work is done; without one there is no project.
    pub folder: Option<&'a Path>,
    /// The variables of the caller.
    pub variables: &'a Variables,
    /// The flags, each `NAME=VALUE`.
    pub flags: &'a [String],
}

/// The settings that hold, and where each of them comes from.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The values.
    pub settings: Settings,
    /// The project, where work is done in one.
    pub project: Option<Project>,
    /// Modules of the project that kernels may load, by name.
    pub modules: Vec<PathBuf>,
    /// Prompts of the project that agents may be given, by name.
    pub prompts: Vec<PathBuf>,
    /// The files that may hold settings, the strongest first, and whether they are there.
    pub files: Vec<(PathBuf, bool)>,
    /// Notices for the user.
    pub notices: Vec<String>,
    origins: Vec<Origin>,
}

impl Default for Resolved {
    /// As if nobody had set anything.
    fn default() -> Resolved {
        Resolved {
            settings: Settings::default(),
            project: None,
            modules: Vec::new(),
            prompts: Vec::new(),
            files: Vec::new(),
            notices: Vec::new(),
            origins: vec![Origin::Default; TABLE.len()],
        }
    }
}

impl Resolved {
    /// Every setting, with where its value comes from.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Row, &Origin)> {
        TABLE.iter().zip(&self.origins)
    }

    /// Whether it was set explicitly, be it to its default.
    pub fn is_set(&self, name: &str) -> bool {
        row(name).is_some_and(|(index, _)| self.origins[index] != Origin::Default)
    }
}

/// Finds out which settings hold.
pub fn resolve(sources: &Sources<'_>) -> Result<Resolved, Faults> {
    let mut layers = Layers {
        settings: Settings::default(),
        origins: vec![Origin::Default; TABLE.len()],
        faults: Vec::new(),
    };
    let own = sources.variables.path("HOME");
    let user = sources.home.path().join(file::NAME);
    let base = Base { folder: None, own: own.as_deref() };
    let is_there = layers.file(read(&user), |layers, entry| {
        layers.put(&entry.name, &entry.written, Origin::User(entry.line), base);
    });
    let mut files = vec![(user, is_there)];

    let project = sources.folder.and_then(|folder| Project::find(folder, sources.variables, sources.home));
    let (mut modules, mut prompts, mut notices) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(project) = &project {
        let page = Ledger::new(sources.home).page(project);
        let base = Base { folder: Some(project.folder()), own: own.as_deref() };
        let mut refused = Vec::new();
        let is_there = layers.file(read(&project.config()), |layers, entry| {
            if row(&entry.name).is_some_and(|(_, row)| !row.access.is_for_projects()) {
                notices.push(format!(
                    "{}:{}: {} has no effect in a project's file: it is set in {}, or by a variable",
                    entry.line.path.display(),
                    entry.line.line,
                    entry.name,
                    files[0].0.display()
                ));
                return;
            }
            match trust::item_of(&entry).filter(|item| !page.holds(item)) {
                Some(item) => refused.push(item),
                None => layers.put(&entry.name, &entry.written, Origin::Project(entry.line), base),
            }
        });
        files.insert(0, (project.config(), is_there));
        for (found, trusted) in
            [(trust::modules(project), &mut modules), (trust::prompts(project), &mut prompts)]
        {
            for (path, item) in found {
                if page.holds(&item) { trusted.push(path) } else { refused.push(item) }
            }
        }
        notices.extend(page.notice(project, &refused));
    }

    layers.variables(sources);
    for text in sources.flags {
        match text.split_once('=') {
            Some((name, value)) => {
                let origin = Origin::Flag { flag: FLAG.to_owned() };
                let base = Base { folder: sources.folder, own: own.as_deref() };
                layers.put(name.trim(), &Written::Text(value.to_owned()), origin, base);
            }
            None => layers.faults.push(Fault::no_value(FLAG, text)),
        }
    }
    Faults::check(layers.faults)?;
    Ok(Resolved {
        settings: layers.settings,
        project,
        modules,
        prompts,
        files,
        notices,
        origins: layers.origins,
    })
}

/// Values, each layered over the previous ones.
struct Layers {
    settings: Settings,
    origins: Vec<Origin>,
    faults: Vec<Fault>,
}

impl Layers {
    fn put(&mut self, name: &str, written: &Written, origin: Origin, base: Base<'_>) {
        match row(name) {
            Some((_, row)) if row.access == Access::Secret && matches!(origin, Origin::Flag { .. }) => {
                self.faults.push(Fault::seen_by_others(&origin, row));
            }
            Some((index, row)) if row.put(&mut self.settings, written, base) => self.origins[index] = origin,
            Some((_, row)) => self.faults.push(Fault::not_valid(&origin, row, written)),
            None => self.faults.push(Fault::unknown(&origin, name)),
        }
    }

    /// Hands over each entry of a file and tells whether there is a file.
    fn file(
        &mut self,
        read: Result<Option<Vec<Entry>>, Fault>,
        mut take: impl FnMut(&mut Layers, Entry),
    ) -> bool {
        match read {
            Ok(Some(entries)) => {
                entries.into_iter().for_each(|entry| take(self, entry));
                true
            }
            Ok(None) => false,
            Err(fault) => {
                self.faults.push(fault);
                true
            }
        }
    }

    /// Variables that begin as a setting does and are none are refused: they would have no effect.
    fn variables(&mut self, sources: &Sources<'_>) {
        let section = |row: &Row| row.variable().split('_').nth(1).unwrap_or_default().to_owned();
        let sections: Vec<String> = TABLE.iter().map(|row| format!("CELLIST_{}_", section(row))).collect();
        let own = sources.variables.path("HOME");
        for (name, value) in sources.variables.iter() {
            let Some(variable) = name.to_str().filter(|name| name.starts_with("CELLIST_")) else { continue };
            if value.is_empty() {
                continue;
            }
            let origin = Origin::Environment { variable: variable.to_owned() };
            match TABLE.iter().find(|row| row.variable() == variable) {
                Some(row) => {
                    let other = Written::Other("bytes that are not UTF-8");
                    let written = value.to_str().map_or(other, |text| Written::Text(text.to_owned()));
                    self.put(
                        row.name,
                        &written,
                        origin,
                        Base { folder: sources.folder, own: own.as_deref() },
                    );
                }
                None if sections.iter().any(|section| variable.starts_with(section.as_str())) => {
                    let name = variable["CELLIST_".len()..].to_ascii_lowercase().replacen('_', ".", 1);
                    self.faults.push(Fault::unknown(&origin, &name));
                }
                None => {}
            }
        }
    }
}
