//! Cells that have run, with what they show: a later cell may still change that.

use std::sync::Arc;

use cellist_kernel::Event;
use cellist_notebook::CellId;
use cellist_output::Output;

use crate::execution::Kept;

/// The cells that may still show something else: the last one, and those with displays that have a name.
/// Late output waits here, with the tag of the execution that it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Shown(Vec<(CellId, Option<u64>, Kept)>, Vec<(Arc<str>, Event)>);

impl Shown {
    /// Gives an event to the cells that it changes, which `changed` is told, and returns it if it belongs to the
    /// cell that runs.
    pub(crate) fn hear(
        &mut self,
        event: Event,
        mut changed: impl FnMut(&CellId, &[Output], Option<u64>),
    ) -> Option<Event> {
        match &event {
            Event::Late { owner, event } => {
                self.1.push((owner.clone(), Event::clone(event)));
                return None;
            }
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

    /// Adds late output to a cell, and returns the outputs that the cell has then, up to a limit. `known` are those that it
    /// has in the notebook.
    pub(crate) fn add_late(
        &mut self,
        id: &CellId,
        events: Vec<Event>,
        limit: Option<usize>,
        known: impl FnOnce() -> Vec<Output>,
    ) -> Vec<Output> {
        let mut read;
        let kept = match self.0.iter_mut().find(|(shown, _, _)| shown == id) {
            Some((_, _, kept)) => kept,
            None => {
                read = Kept::of(limit, known());
                &mut read
            }
        };
        events.into_iter().for_each(|event| kept.apply(event));
        kept.finish();
        kept.saved().into_owned()
    }

    /// Takes the late output that has come.
    pub(crate) fn take_late(&mut self) -> Vec<(Arc<str>, Event)> {
        std::mem::take(&mut self.1)
    }

    /// A cell has ended.
    pub(crate) fn keep(&mut self, id: &CellId, count: Option<u64>, kept: Kept) {
        if self.0.last().is_some_and(|(_, _, last)| !last.has_display_ids()) {
            self.0.pop();
        }
        self.0.push((id.clone(), count, kept));
    }
}
