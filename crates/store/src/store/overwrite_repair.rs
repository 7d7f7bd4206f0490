//! Restores changes of ours that another program overwrote, as part of the next change.

use std::sync::Arc;

use cellist_notebook::{Notebook, OnConflict};
use cellist_platform::files::Mark;
use cellist_settings::Home;

use super::location::FileLocation;
use super::overwritten::Overwritten;
use super::recent_versions::{RecentVersions, VersionScope};

/// A notebook to save, and the version that it was made from.
#[derive(Clone, Copy, Debug)]
pub struct SaveRequest<'a> {
    /// The version that `ours` was made from.
    pub base: &'a Notebook,
    /// The notebook to save.
    pub ours: &'a Notebook,
    /// Whether `ours` already accounts for overwritten sources of `base`.
    pub knows_overwritten: bool,
    /// The rule for merge conflicts.
    pub on_conflict: OnConflict,
}

/// The result of [`Store::look`](super::Store::look).
#[derive(Debug)]
pub struct FileCheck {
    /// The new content. `None` if the file is at the known revision.
    pub seen: Option<ForeignVersion>,
    /// Identity, size and times of the file.
    pub mark: Option<Mark>,
}

/// A version that another program wrote.
#[derive(Debug)]
pub struct ForeignVersion {
    /// The content of the file.
    pub in_file: Arc<Notebook>,
    /// The content with the sources of ours that its author overwrote unread.
    pub mended: Notebook,
    /// Notices for the user.
    pub notices: Vec<String>,
}

pub(super) struct OverwriteRepair<'a> {
    home: &'a Home,
    location: &'a FileLocation,
    overwritten: Option<Overwritten>,
    /// Whether the restored sources are part of the change.
    is_done: bool,
    /// Notices for the user.
    pub(super) notices: Vec<String>,
}

impl OverwriteRepair<'_> {
    /// Prepares for the notebook `found` in the file `mark`. Without a mark there is nothing to
    /// restore.
    pub(super) fn new<'a>(
        home: &'a Home,
        location: &'a FileLocation,
        found: &Notebook,
        mark: Option<Mark>,
    ) -> OverwriteRepair<'a> {
        let overwritten = mark.and_then(|mark| {
            RecentVersions::of(home, &location.key()).overwritten(found, mark, VersionScope::All)
        });
        OverwriteRepair { home, location, overwritten, is_done: false, notices: Vec::new() }
    }

    /// Restores overwritten sources in the notebook that was found.
    pub(super) fn restore(&mut self, found: &mut Notebook) {
        if let Some(overwritten) = &self.overwritten {
            let reinstated = overwritten.reinstate(found);
            self.notices.extend(overwritten.report(self.home, self.location, &reinstated, found));
            self.is_done = true;
        }
    }

    /// Restores overwritten sources in a notebook that was made from the one found.
    pub(super) fn restore_since(&mut self, found: &Notebook, made: &mut Notebook) {
        if let Some(overwritten) = &self.overwritten {
            let reinstated = overwritten.reinstate_since(found, made);
            self.notices.extend(overwritten.report(self.home, self.location, &reinstated, made));
            self.is_done = true;
        }
    }

    /// The base of the change: the notebook found, with the restored sources.
    pub(super) fn base(&self, mut found: Arc<Notebook>) -> Arc<Notebook> {
        if let Some(overwritten) = self.overwritten.as_ref().filter(|_| self.is_done) {
            overwritten.reinstate(Arc::make_mut(&mut found));
        }
        found
    }
}
