//! Resets the marks of queued and running cells at the end of a run.

use cellist_notebook::CellId;

use crate::document::{Document, DocumentError};

/// Marks cells as idle on drop.
pub(super) struct Resting<'a> {
    pub(super) document: &'a Document,
    pub(super) cells: &'a [CellId],
}

impl Resting<'_> {
    pub(super) async fn done(self) -> Result<(), DocumentError> {
        self.document.mark_resting(self.cells.to_vec()).await
    }
}

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        self.document.mark_resting_soon(self.cells.to_vec());
    }
}
