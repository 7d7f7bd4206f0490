//! One change of a notebook whose file another program may have written over changes of ours.

use std::sync::Arc;

use cellist_notebook::{Notebook, OnConflict};

use super::overwritten::Overwritten;
use super::place::Place;
use super::recent::{Among, Recent};
use crate::home::Home;
use crate::platform::Mark;

/// A notebook to save, and the one that it was made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Put<'a> {
    pub(crate) base: &'a Notebook,
    pub(crate) ours: &'a Notebook,
    /// Whether the sources that `base` was written over with, if any, have been dealt with in `ours`.
    pub(crate) knows_overwritten: bool,
    pub(crate) on_conflict: OnConflict,
}

/// The result of a look at the file of an open notebook.
#[derive(Debug)]
pub(crate) struct Looked {
    /// The notebook, unless it is the one that is known.
    pub(crate) seen: Option<Seen>,
    /// The file that it is in.
    pub(crate) mark: Option<Mark>,
}

/// A notebook that another program wrote, as its owner sees it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) in_file: Arc<Notebook>,
    /// The same with the sources of ours that its author had not read.
    pub(crate) mended: Notebook,
    pub(crate) notices: Vec<String>,
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
