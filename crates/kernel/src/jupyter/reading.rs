//! The meaning of a kernel's messages for running code: pure, from messages to events.

mod output;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use cellist_output::RawJson;
use serde::Deserialize;

use super::message::Message;
use crate::bars::Bars;
use crate::comm::{CommContent, CommKind, CommMessage};
use crate::event::{Event, Outcome, Status};
use output::{output, stream};

pub(super) use output::OutputItem;

/// How many earlier executions are known, to tell their late output from output of other clients' code.
const REMEMBERED: usize = 1000;

/// How much output of earlier executions waits for the next one; past it the oldest goes.
const LATE: usize = 256 * 1024;

/// Follows one kernel process.
#[derive(Debug, Default)]
pub(super) struct Reading {
    running: Option<RunningExecution>,
    earlier: VecDeque<Earlier>,
    late: VecDeque<Event>,
    bars: Bars,
}

/// An execution that has ended, and the tag of its request.
#[derive(Debug)]
struct Earlier {
    request: String,
    tag: Option<Arc<str>>,
}

#[derive(Debug)]
struct RunningExecution {
    request: String,
    tag: Option<Arc<str>>,
    hidden: bool,
    python: bool,
    started: bool,
    raised: bool,
    idle: bool,
    reply: Option<ExecuteReply>,
    /// Whether the end of the output is the only sign of the end.
    has_no_reply: bool,
}

#[derive(Debug, Deserialize)]
struct ExecuteReply {
    status: String,
    execution_count: Option<u64>,
    ename: Option<String>,
    evalue: Option<String>,
    #[serde(default)]
    traceback: Vec<String>,
}

impl ExecuteReply {
    fn without_words(status: &str) -> ExecuteReply {
        let status = status.to_owned();
        ExecuteReply { status, execution_count: None, ename: None, evalue: None, traceback: Vec::new() }
    }
}

impl Reading {
    /// A request of ours was sent.
    pub(super) fn begin(&mut self, request: String, tag: Option<Arc<str>>, hidden: bool, python: bool) {
        self.running = Some(RunningExecution {
            request,
            tag,
            hidden,
            python,
            started: false,
            raised: false,
            idle: false,
            reply: None,
            has_no_reply: false,
        });
    }

    /// The request that was sent is one that a kernel does not reply to.
    pub(super) fn expect_no_reply(&mut self) {
        if let Some(running) = &mut self.running {
            running.has_no_reply = true;
        }
    }

    /// Whether a request of ours is not answered yet.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the execution that runs is told late output of those before it.
    pub(super) fn takes_late(&self) -> bool {
        self.running.as_ref().is_some_and(|running| !running.hidden && running.tag.is_some())
    }

    /// Whether output may come that has a reader: of the request that runs, or late output of one with a tag.
    pub(super) fn may_be_heard(&self) -> bool {
        self.running.is_some() || self.earlier.iter().any(|earlier| earlier.tag.is_some())
    }

    /// Whether the kernel has said that it works on the request.
    pub(super) fn has_started(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.started)
    }

    /// Whether one of the two signs of the end was seen, and not the other.
    pub(super) fn is_ending(&self) -> bool {
        let is_half = |running: &RunningExecution| running.reply.is_some() != running.idle;
        self.running.as_ref().is_some_and(|running| !running.has_no_reply && is_half(running))
    }

    /// A message that everyone gets.
    pub(super) fn hear(&mut self, message: &Message) -> Vec<OutputItem> {
        let mut items = Vec::new();
        let parent = message.parent.as_deref();
        let own = self.running.as_ref().is_some_and(|running| Some(running.request.as_str()) == parent);
        if own {
            self.hear_own(message, &mut items);
        } else if let Some(earlier) =
            self.earlier.iter().rev().find(|earlier| Some(earlier.request.as_str()) == parent)
        {
            let tag = earlier.tag.clone();
            self.hear_late(message, tag, &mut items);
        }
        if let Some(kind) = CommKind::named(&message.kind) {
            self.hear_comm(kind, message, &mut items);
        }
        items
    }

    fn hear_own(&mut self, message: &Message, items: &mut Vec<OutputItem>) {
        match message.kind.as_str() {
            "status" => match message.read() {
                Ok(StatusContent { execution_state }) if execution_state == "idle" => {
                    if let Some(running) = &mut self.running {
                        running.idle = true;
                    }
                }
                // Hidden code is not announced in any other way.
                Ok(_) if self.running.as_ref().is_some_and(|running| running.hidden) => {
                    self.start(None, items)
                }
                Ok(_) | Err(_) => {}
            },
            "execute_input" => {
                let count = message.read::<InputContent>().ok().and_then(|input| input.execution_count);
                self.start(count, items);
            }
            kind => {
                let heard = output(kind, message);
                if !heard.is_empty() {
                    self.start(None, items);
                }
                for item in &heard {
                    let OutputItem::Event(Event::Error { name, .. }) = item else { continue };
                    if let Some(running) = &mut self.running {
                        running.raised = true;
                    }
                    // ipykernel raises it in place of asking a client that allows no input.
                    if name == "StdinNotImplementedError" {
                        items.push(OutputItem::Event(Event::InputRequested));
                    }
                }
                items.extend(heard);
            }
        }
    }

    /// Output of an earlier execution of ours: where the tag is known, it goes back to that execution. Otherwise its text
    /// is kept for the next one, its displays may be updated, and the rest has no place any more.
    fn hear_late(&mut self, message: &Message, tag: Option<Arc<str>>, items: &mut Vec<OutputItem>) {
        let kind = message.kind.as_str();
        let is_placed = matches!(kind, "display_data" | "execute_result" | "clear_output" | "error");
        let events: Vec<Event> = match kind {
            "stream" => late_text(message),
            "update_display_data" if self.running.is_some() => {
                items.extend(output(kind, message));
                return;
            }
            _ if is_placed && tag.is_some() => {
                output(kind, message).into_iter().filter_map(OutputItem::into_event).collect()
            }
            _ => return,
        };
        if let Some(owner) = tag {
            if self.takes_late() {
                self.start(None, items);
            }
            let told =
                events.into_iter().map(|event| Event::Late { owner: owner.clone(), event: event.into() });
            items.extend(told.map(OutputItem::Event));
            return;
        }
        if self.running.as_ref().is_some_and(|running| !running.hidden) {
            self.start(None, items);
            items.extend(events.into_iter().map(OutputItem::Event));
            return;
        }
        self.late.extend(events);
        let mut held: usize = self.late.iter().map(Event::size).sum();
        while held > LATE && self.late.len() > 1 {
            held -= self.late.pop_front().as_ref().map_or(0, Event::size);
        }
    }

    /// A message to a widget: of any client it may move a bar, and those of our own code are told.
    fn hear_comm(&mut self, kind: CommKind, message: &Message, items: &mut Vec<OutputItem>) {
        let Ok(content) = message.read::<CommContent>() else { return };
        let metadata = RawJson::new(&*message.metadata).unwrap_or_default();
        let comm = content.message(kind, metadata, message.buffers.clone());
        let events = self.bars.hear(&comm);
        let Some(running) = &self.running else { return };
        items.extend(events.into_iter().map(OutputItem::Event));
        let Some(request) = &message.parent else { return };
        let late = *request != running.request;
        if !late || self.earlier.iter().rev().any(|earlier| earlier.request == *request) {
            let request = Some(request.clone());
            items.push(OutputItem::Event(Event::Comm(Box::new(CommMessage { request, late, ..comm }))));
        }
    }

    fn start(&mut self, execution_count: Option<u64>, items: &mut Vec<OutputItem>) {
        let Some(running) = &mut self.running else { return };
        if running.started {
            return;
        }
        running.started = true;
        items.push(OutputItem::Event(Event::Started { execution_count }));
        if !running.hidden {
            items.extend(self.late.drain(..).map(OutputItem::Event));
        }
    }

    /// The answer to the request that runs.
    pub(super) fn reply(&mut self, message: &Message) {
        let Some(running) = &mut self.running else { return };
        if message.parent.as_deref() == Some(&running.request) {
            running.reply = Some(message.read().unwrap_or_else(|_| ExecuteReply::without_words("error")));
        }
    }

    /// Input was requested all the same.
    pub(super) fn input_requested(&mut self) -> Vec<OutputItem> {
        let mut items = Vec::new();
        if self.running.is_some() {
            self.start(None, &mut items);
            items.push(OutputItem::Event(Event::InputRequested));
        }
        items
    }

    /// The end, when both the reply and the end of the output were seen, or when the other one is given up.
    pub(super) fn finish(&mut self, interrupted: bool, give_up: bool) -> Option<Vec<OutputItem>> {
        let over = self.running.as_ref().is_some_and(|running| {
            match (running.reply.is_some() || running.has_no_reply, running.idle) {
                (true, true) => true,
                (true, false) | (false, true) => give_up,
                (false, false) => false,
            }
        });
        if !over {
            return None;
        }
        let mut items = Vec::new();
        self.start(None, &mut items);
        let running = self.running.take()?;
        // An interrupt that comes before the code has begun makes ipykernel forget the request.
        let otherwise = if running.has_no_reply { "ok" } else { "aborted" };
        let reply = running.reply.unwrap_or_else(|| ExecuteReply::without_words(otherwise));
        if !running.idle {
            items.push(OutputItem::Event(Event::OutputLost));
        }
        let status = match reply.status.as_str() {
            "ok" => Status::Ok,
            "error" => Status::Error,
            _ => Status::Aborted,
        };
        let name = reply.ename.unwrap_or_default();
        // Python says by the exception that it was the interrupt; of other languages only the failure is known.
        let by_interrupt =
            status == Status::Aborted || !running.python || INTERRUPTS.contains(&name.as_str());
        let cancelled = interrupted && status != Status::Ok && by_interrupt;
        // IPython tells of a magic that does not exist on standard error, and of nothing else there.
        let told = running.python && name == "UsageError";
        if status == Status::Error && !running.raised && !name.is_empty() && !told {
            let message = reply.evalue.unwrap_or_default();
            // IPython sends the traceback that it showed last, which may be that of an earlier exception.
            let traceback = if running.python { Vec::new() } else { reply.traceback };
            items.push(OutputItem::Event(Event::Failure { name, message, traceback }));
        }
        let execution_count = if running.hidden { None } else { reply.execution_count };
        items.push(OutputItem::Event(Event::Done(Outcome { status, execution_count, cancelled })));
        self.remember(Earlier { request: running.request, tag: running.tag });
        Some(items)
    }

    /// The kernel is gone: whether something ran.
    pub(super) fn die(&mut self) -> bool {
        self.running.take().is_some()
    }

    fn remember(&mut self, earlier: Earlier) {
        if self.earlier.len() == REMEMBERED {
            self.earlier.pop_front();
        }
        self.earlier.push_back(earlier);
    }
}

/// The text of a message of an earlier execution.
fn late_text(message: &Message) -> Vec<Event> {
    let Some(OutputItem::Text { name, mut text, .. }) = stream(message) else { return Vec::new() };
    let pieces = std::iter::from_fn(|| text.next_piece());
    pieces.map(|bytes| Event::Stream { name, bytes, late: true }).collect()
}

const INTERRUPTS: [&str; 2] = ["KeyboardInterrupt", "CancelledError"];

#[derive(Deserialize)]
struct StatusContent {
    execution_state: String,
}

#[derive(Deserialize)]
struct InputContent {
    execution_count: Option<u64>,
}
