//! What a save has to put together: our change, and each version that others wrote while it went on.

use std::sync::Arc;

use cellist_notebook::{Notebook, OnConflict, Result, merge};

use super::ancestry::{Ancestry, giving_way, has_same_cell};
use super::overwritten::Overwritten;

pub(super) struct Merging {
    /// What is to be saved: our change with what others wrote so far.
    pub(super) ours: Arc<Notebook>,
    /// What others may have started from.
    ancestry: Ancestry,
    /// What we found in the file, and what we alone made of it.
    found: Arc<Notebook>,
    mine: Arc<Notebook>,
}

/// What came of a merge.
pub(super) struct Taken {
    pub(super) notices: Vec<String>,
    /// Whether something that was merged before has been overwritten by its author and is not part of it now.
    pub(super) supersedes: bool,
}

impl Merging {
    pub(super) fn new(found: Arc<Notebook>, ours: Arc<Notebook>) -> Merging {
        Merging { ancestry: Ancestry::new(Arc::clone(&found)), mine: Arc::clone(&ours), found, ours }
    }

    /// Someone may have read this version of ours from the file.
    pub(super) fn seen(&mut self, ours: &Arc<Notebook>) {
        self.ancestry.ours(Arc::clone(ours));
    }

    /// Puts our changes into `theirs`. Sources of earlier versions of ours that its author overwrote without having read
    /// them are put into it first.
    pub(super) fn take(
        &mut self,
        theirs: &Arc<Notebook>,
        overwritten: Option<&Overwritten>,
    ) -> Result<Taken> {
        let base = self.ancestry.closest(theirs, &self.ours);
        let mended = |notebook: &Arc<Notebook>| {
            let mut mended = Arc::clone(notebook);
            if let Some(overwritten) = overwritten {
                overwritten.reinstate(Arc::make_mut(&mut mended));
            }
            mended
        };
        let (base, mended) = (mended(&base), mended(theirs));
        let attempt = |ours: &Notebook| merge(&base, ours, &mended, OnConflict::Refuse);
        let (merged, supersedes) = match attempt(&self.ours) {
            Ok(merged) => (merged, false),
            Err(error) => {
                // Where we changed nothing, others are in conflict with what they wrote themselves before.
                let is_theirs = |id: &str| has_same_cell(&self.found, &self.mine, id);
                match giving_way(&base, &self.ours, &error, is_theirs).map(|ours| attempt(&ours)) {
                    Some(Ok(merged)) => (merged, true),
                    Some(Err(_)) | None => return Err(error),
                }
            }
        };
        self.ancestry.theirs(Arc::clone(theirs));
        self.ours = Arc::new(merged.notebook);
        Ok(Taken { notices: merged.notices, supersedes })
    }
}
