//! Sources of ours that another program overwrote without having read them, and how they are
//! restored.

use cellist_notebook::{CellId, Ids, Notebook, Reinstated, SnapshotCell};
use cellist_settings::Home;

use super::location::FileLocation;
use super::recovered;

const OVERWRITTEN: &str = "another program overwrote changes that it had not read";
const CLASH: &str = "another program overwrote a change that it had not read; a later edit of the same lines wins, and \
                     the earlier version";
/// Further cells are counted, not listed.
const LISTED: usize = 5;

/// The version that the other program had read, and the version of ours that it overwrote.
#[derive(Debug)]
pub(super) struct Overwritten {
    pub(super) base: Vec<SnapshotCell>,
    pub(super) ours: Vec<SnapshotCell>,
}

impl Overwritten {
    /// Restores the sources in a notebook. A cell that both sides changed stays as it is.
    pub(super) fn reinstate(&self, notebook: &mut Notebook) -> Reinstated {
        notebook.reinstate(&self.base, &self.ours)
    }

    /// Restores the sources that `found` lacks in a notebook made from it. A cell changed since
    /// then stays as it is.
    pub(super) fn reinstate_since(&self, found: &Notebook, notebook: &mut Notebook) -> Reinstated {
        notebook.reinstate_since(found, &self.base, &self.ours)
    }

    /// Notices about restored sources. Saves the sources that could not be restored to the
    /// `recovered` folder.
    pub(super) fn report(
        &self,
        home: &Home,
        location: &FileLocation,
        reinstated: &Reinstated,
        notebook: &Notebook,
    ) -> Vec<String> {
        let mut notices = Vec::new();
        if !reinstated.cells.is_empty() {
            let cells = listed(notebook, &reinstated.cells);
            notices.push(format!("{OVERWRITTEN}; they are back in {cells}"));
        }
        if !reinstated.refused.is_empty() {
            let kept = recovered::keep_bytes(home, location, &self.ours_alone(notebook), CLASH);
            notices.push(kept.unwrap_or_else(|error| {
                let sources: Vec<&str> = reinstated.refused.iter().map(|cell| cell.source.as_str()).collect();
                format!("{CLASH} cannot be kept ({error}):\n{}", sources.join("\n\n"))
            }));
        }
        notices
    }

    /// Warnings for a read, which restores nothing.
    pub(super) fn warnings(&self, found: &Notebook) -> Vec<String> {
        let Reinstated { cells, refused } = self.reinstate(&mut found.clone());
        let count = |count: usize| if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") };
        let mut warnings = Vec::new();
        if !cells.is_empty() {
            let cells = count(cells.len());
            warnings.push(format!("{OVERWRITTEN}, in {cells}; the next change restores them"));
        }
        if !refused.is_empty() {
            let cells = count(refused.len());
            warnings.push(format!("{OVERWRITTEN}, and edited the same lines, in {cells}; its version stays"));
        }
        warnings
    }

    /// A notebook with our cells, without outputs.
    fn ours_alone(&self, like: &Notebook) -> Vec<u8> {
        let mut ours = Notebook::empty(Ids::seeded(0));
        for key in ["kernelspec", "language_info"] {
            if let Some(value) = like.metadata().get(key) {
                ours.set_metadata(key, value);
            }
        }
        for (index, cell) in self.ours.iter().enumerate() {
            match &cell.id {
                Some(id) => ours.insert_named(index, CellId::from(id.as_str()), cell.kind, &cell.source),
                None => ours.insert(index, cell.kind, &cell.source),
            }
        }
        ours.to_bytes()
    }
}

/// Names cells by position and id.
fn listed(notebook: &Notebook, cells: &[CellId]) -> String {
    let name = |id: &CellId| match notebook.position(id) {
        Some(at) if notebook.cells()[at].is_named_by_stored_id() => format!("cell {at} ({id})"),
        Some(at) => format!("cell {at}"),
        None => format!("a cell ({id})"),
    };
    let mut named: Vec<String> = cells.iter().take(LISTED).map(name).collect();
    let more = cells.len().saturating_sub(LISTED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    match named.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
        None => String::new(),
    }
}
