//! The state of a save that merges: our change, and each version that other programs wrote during
//! the save.

use std::sync::Arc;

use cellist_notebook::{Notebook, OnConflict, Result, merge};

use super::ancestry::{Ancestry, has_same_cell, reset_conflicts};
use super::overwritten::Overwritten;

pub(super) struct MergeState {
    /// The notebook to save: our change merged with all foreign versions so far.
    pub(super) ours: Arc<Notebook>,
    /// Versions that other programs may have started from.
    ancestry: Ancestry,
    /// The content found in the file, and our change of it without merges.
    found: Arc<Notebook>,
    mine: Arc<Notebook>,
}

/// The result of a merge.
pub(super) struct MergeOutcome {
    pub(super) notices: Vec<String>,
    /// Whether the merge dropped text that was merged before, because its author has overwritten
    /// it.
    pub(super) supersedes: bool,
}

impl MergeState {
    pub(super) fn new(found: Arc<Notebook>, ours: Arc<Notebook>) -> MergeState {
        MergeState { ancestry: Ancestry::new(Arc::clone(&found)), mine: Arc::clone(&ours), found, ours }
    }

    /// Records that our version was in the file, where another program may have read it.
    pub(super) fn record_ours(&mut self, ours: &Arc<Notebook>) {
        self.ancestry.add_ours(Arc::clone(ours));
    }

    /// Merges our changes into `theirs`. First restores sources of ours that its author overwrote
    /// without having read them.
    pub(super) fn merge_theirs(
        &mut self,
        theirs: &Arc<Notebook>,
        overwritten: Option<&Overwritten>,
    ) -> Result<MergeOutcome> {
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
                // In cells that we did not change, the foreign program conflicts with its own
                // earlier text.
                let is_theirs = |id: &str| has_same_cell(&self.found, &self.mine, id);
                match reset_conflicts(&base, &self.ours, &error, is_theirs).map(|ours| attempt(&ours)) {
                    Some(Ok(merged)) => (merged, true),
                    Some(Err(_)) | None => return Err(error),
                }
            }
        };
        self.ancestry.add_theirs(Arc::clone(theirs));
        self.ours = Arc::new(merged.notebook);
        Ok(MergeOutcome { notices: merged.notices, supersedes })
    }
}
