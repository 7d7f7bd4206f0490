//! Where a runner's output goes: to the listener of the code that runs, or as late output to the execution that made it.

use std::sync::Arc;

use bytes::Bytes;
use cellist_output::StreamName;
use tokio::sync::mpsc;

use super::owners::Owners;
use crate::bars::Bars;
use crate::comm::CommMessage;
use crate::event::{Death, Event, Outcome};
use crate::kernel::{ExecutionId, Request};
use crate::late::LateOutput;
use crate::waiting::{Closed, Waiting};

pub(super) struct RunnerDelivery {
    running: Option<RunningCode>,
    /// The listener of the execution that was started last, until all of its events were handed over.
    pub(super) events: Option<mpsc::Sender<Event>>,
    pub(super) waiting: Waiting,
    owners: Owners,
    pub(super) late: LateOutput,
    bars: Bars,
}

struct RunningCode {
    id: ExecutionId,
    /// Whether late output of others is told to its listener.
    takes_late: bool,
    started: bool,
}

impl RunnerDelivery {
    pub(super) fn new(late: LateOutput) -> RunnerDelivery {
        RunnerDelivery {
            running: None,
            events: None,
            waiting: Waiting::default(),
            owners: Owners::default(),
            late,
            bars: Bars::default(),
        }
    }

    /// The execution that runs.
    pub(super) fn running(&self) -> Option<ExecutionId> {
        self.running.as_ref().map(|running| running.id)
    }

    pub(super) fn begin(&mut self, id: ExecutionId, request: &Request, events: mpsc::Sender<Event>) {
        // The last of an execution whose reader is slow; later output goes to the new one.
        self.hand_over();
        self.events = Some(events);
        let takes_late = request.takes_late();
        self.running = Some(RunningCode { id, takes_late, started: false });
        self.owners.begin(id, request);
        if takes_late {
            self.late.take().into_iter().for_each(|event| self.waiting.event(event));
        }
    }

    /// The code that runs has begun.
    pub(super) fn started(&mut self, execution: u64, execution_count: Option<u64>) {
        if let Some(running) = &mut self.running
            && running.id.0 == execution
            && !running.started
        {
            running.started = true;
            self.waiting.event(Event::Started { execution_count });
        }
    }

    /// The text that follows is that of an earlier execution, or no longer.
    pub(super) fn set_writer(&mut self, execution: Option<u64>) {
        self.owners.set_writer(execution);
    }

    /// Hands text to the execution that runs, or as late output to the one that it belongs to.
    pub(super) fn text(&mut self, name: StreamName, bytes: Bytes) {
        let running = self.running.as_ref().filter(|running| running.started);
        let late = self.owners.is_late(running.map(|running| running.id));
        match self.owners.tag().filter(|_| late) {
            Some(owner) => self.tell_late(owner, Event::Stream { name, bytes, late }),
            None => self.waiting.text(name, bytes, late),
        }
    }

    /// Hands on an event of the execution that runs; between executions, of the last one.
    pub(super) fn event(&mut self, event: Event) {
        let is_between = !self.running.as_ref().is_some_and(|running| running.started);
        match self.owners.tag().filter(|_| is_between && is_placed(&event)) {
            Some(owner) => self.tell_late(owner, event),
            None => self.waiting.event(event),
        }
    }

    /// Hands on an event of an earlier execution.
    pub(super) fn late_event(&mut self, execution: u64, event: Event) {
        match self.owners.tag_of(execution) {
            Some(owner) if is_placed(&event) => self.tell_late(owner, event),
            _ => self.waiting.event(event),
        }
    }

    /// Hands on a message to a widget, of the execution that runs or of an earlier one.
    pub(super) fn comm(&mut self, mut message: CommMessage, execution: Option<u64>) {
        self.bars.hear(&message).into_iter().for_each(|event| self.waiting.event(event));
        let Some(running) = &self.running else { return };
        // The name by which the runner's Output widgets know an execution.
        let execution = execution.unwrap_or(running.id.0);
        message.request = Some(format!("execution-{execution}"));
        message.late = execution != running.id.0;
        self.waiting.event(Event::Comm(Box::new(message)));
    }

    /// Ends the execution with that number. Returns whether it was the one that runs; its end is to be handed over then.
    pub(super) fn done(&mut self, execution: u64, outcome: Outcome) -> bool {
        let is_over = self.running.take_if(|running| running.id.0 == execution).is_some();
        if is_over {
            self.waiting.event(Event::Done(outcome));
        }
        is_over
    }

    /// The process is gone.
    pub(super) fn die(&mut self, death: Death) {
        if self.running.take().is_some() {
            self.waiting.event(Event::Died(death));
        }
        self.hand_over();
    }

    /// An execution is over: its listener gets the rest of its events, and nothing else.
    pub(super) fn hand_over(&mut self) {
        if let Some(events) = self.events.take() {
            std::mem::take(&mut self.waiting).hand_over(events);
        }
    }

    /// Sends the next event to a listener that has room for it.
    pub(super) fn send(&mut self, room: std::result::Result<mpsc::OwnedPermit<Event>, Closed>) {
        match (room, self.waiting.next()) {
            (Ok(permit), Some(event)) => drop(permit.send(event)),
            // Nobody listens; the code goes on all the same.
            (Err(Closed), _) => self.waiting = Waiting::default(),
            (Ok(_), None) => {}
        }
    }

    /// Drops the output of a process that is leaving, as far as it has no reader: it must not keep the process.
    pub(super) fn shed(&mut self) {
        if self.events.is_none() {
            self.waiting = Waiting::default();
        }
        self.late.shorten();
    }

    fn tell_late(&mut self, owner: Arc<str>, event: Event) {
        let event = Event::Late { owner, event: Box::new(event) };
        match self.running.as_ref().is_some_and(|running| running.takes_late) {
            true => self.waiting.event(event),
            false => self.late.push(event),
        }
        if self.running.is_some() {
            self.late.shorten();
        }
    }
}

/// Whether an output has a place in one cell.
fn is_placed(event: &Event) -> bool {
    matches!(event, Event::Display { .. } | Event::ClearOutput { .. } | Event::Error { .. })
}
