//! Owners of output: the tags of executions, by which late output finds its way back to them.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::kernel::{ExecutionId, Request};

/// How many executions are remembered by their tags.
const REMEMBERED: usize = 1000;

#[derive(Default)]
pub(super) struct Owners {
    tags: VecDeque<(ExecutionId, Option<Arc<str>>)>,
    /// The earlier execution whose text comes, as the runner says.
    writer: Option<ExecutionId>,
}

impl Owners {
    /// An execution begins. Hidden ones own nothing.
    pub(super) fn begin(&mut self, id: ExecutionId, request: &Request) {
        if request.hidden {
            return;
        }
        if self.tags.len() == REMEMBERED {
            self.tags.pop_front();
        }
        self.tags.push_back((id, request.tag.clone()));
    }

    /// The text that follows is that of an earlier execution, or no longer.
    pub(super) fn set_writer(&mut self, execution: Option<u64>) {
        self.writer = execution.map(ExecutionId);
    }

    /// Whether the text that comes is not that of the execution that runs.
    pub(super) fn is_late(&self, running: Option<ExecutionId>) -> bool {
        running.is_none() || self.writer.is_some_and(|writer| Some(writer) != running)
    }

    /// The tag of the execution whose text comes: the one that the runner names, or between cells the last one.
    pub(super) fn tag(&self) -> Option<Arc<str>> {
        match self.writer {
            Some(writer) => self.tag_of(writer.0),
            None => self.tags.back().and_then(|(_, tag)| tag.clone()),
        }
    }

    /// The tag of an execution.
    pub(super) fn tag_of(&self, execution: u64) -> Option<Arc<str>> {
        let known = self.tags.iter().rev().find(|(id, _)| id.0 == execution);
        known.and_then(|(_, tag)| tag.clone())
    }
}
