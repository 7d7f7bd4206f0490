//! Cells that have run, with what they show: a later cell may still change that.

use cellist_kernel::Event;
use cellist_notebook::CellId;
use cellist_output::Output;

use crate::execution::Kept;

/// The cells that may still show something else: the last one, and those with displays that have a name.
#[derive(Debug, Default)]
pub(crate) struct Shown(Vec<(CellId, Option<u64>, Kept)>);

impl Shown {
    /// Gives an event to the cells that it changes, which `changed` is told, and returns it if it belongs to the
    /// cell that runs.
    pub(crate) fn hear(
        &mut self,
        event: Event,
        mut changed: impl FnMut(&CellId, &[Output], Option<u64>),
    ) -> Option<Event> {
        match &event {
            Event::Stream { late: true, .. } if !self.0.is_empty() => {
                if let Some((id, count, kept)) = self.0.last_mut() {
                    kept.apply(event);
                    changed(id, &kept.saved(), *count);
                }
                return None;
            }
            Event::UpdateDisplay { display_id, data, metadata }
            | Event::Display { display_id: Some(display_id), data, metadata }
            | Event::Result { display_id: Some(display_id), data, metadata, .. } => {
                for (id, count, kept) in &mut self.0 {
                    if kept.has_display_ids() && kept.update(display_id, data, metadata) {
                        changed(id, &kept.saved(), *count);
                    }
                }
            }
            _ => {}
        }
        Some(event)
    }

    /// A cell has ended.
    pub(crate) fn keep(&mut self, id: &CellId, count: Option<u64>, kept: Kept) {
        if self.0.last().is_some_and(|(_, _, last)| !last.has_display_ids()) {
            self.0.pop();
        }
        self.0.push((id.clone(), count, kept));
    }
}
