//! One change of a notebook whose file another program may have written over changes of ours.

use std::sync::Arc;

use cellist_notebook::{Notebook, OnConflict};
use cellist_platform::files::Mark;
use cellist_settings::Home;

use super::overwritten::Overwritten;
use super::place::Place;
use super::recent::{Among, Recent};

/// A notebook to save, and the one that it was made from.
#[derive(Clone, Copy, Debug)]
pub struct Put<'a> {
    /// The notebook that it was made from.
    pub base: &'a Notebook,
    /// The notebook to save.
    pub ours: &'a Notebook,
    /// Whether the sources that `base` was written over with, if any, have been dealt with in `ours`.
    pub knows_overwritten: bool,
    /// The rule for changes that cannot be merged.
    pub on_conflict: OnConflict,
}

/// The result of a look at the file of an open notebook.
#[derive(Debug)]
pub struct Looked {
    /// The notebook, unless it is the one that is known.
    pub seen: Option<Seen>,
    /// The file that it is in.
    pub mark: Option<Mark>,
}

/// A notebook that another program wrote, as its owner sees it.
#[derive(Debug)]
pub struct Seen {
    /// The notebook in the file.
    pub in_file: Arc<Notebook>,
    /// The same with the sources of ours that its author had not read.
    pub mended: Notebook,
    /// Messages for the user.
    pub notices: Vec<String>,
}

pub(super) struct Mending<'a> {
    home: &'a Home,
    place: &'a Place,
    overwritten: Option<Overwritten>,
    /// Whether the overwritten sources are part of the change.
    is_done: bool,
    /// Messages for the user.
    pub(super) notices: Vec<String>,
}

impl Mending<'_> {
    /// For the notebook `found` in the file `mark`. Without a mark there is nothing to bring back.
    pub(super) fn new<'a>(
        home: &'a Home,
        place: &'a Place,
        found: &Notebook,
        mark: Option<Mark>,
    ) -> Mending<'a> {
        let overwritten =
            mark.and_then(|mark| Recent::of(home, &place.key()).overwritten(found, mark, Among::All));
        Mending { home, place, overwritten, is_done: false, notices: Vec::new() }
    }

    /// Brings the sources back that were overwritten, if any were, into the notebook that was found.
    pub(super) fn bring_back(&mut self, found: &mut Notebook) {
        if let Some(overwritten) = &self.overwritten {
            let reinstated = overwritten.reinstate(found);
            self.notices.extend(overwritten.report(self.home, self.place, &reinstated, found));
            self.is_done = true;
        }
    }

    /// The same for a notebook that was made from the one that was found.
    pub(super) fn bring_back_beside(&mut self, found: &Notebook, made: &mut Notebook) {
        if let Some(overwritten) = &self.overwritten {
            let reinstated = overwritten.reinstate_since(found, made);
            self.notices.extend(overwritten.report(self.home, self.place, &reinstated, made));
            self.is_done = true;
        }
    }

    /// The base of the change: the notebook that was found, with the sources that were brought back.
    pub(super) fn base(&self, mut found: Arc<Notebook>) -> Arc<Notebook> {
        if let Some(overwritten) = self.overwritten.as_ref().filter(|_| self.is_done) {
            overwritten.reinstate(Arc::make_mut(&mut found));
        }
        found
    }
}
