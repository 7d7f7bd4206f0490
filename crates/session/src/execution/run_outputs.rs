//! The outputs of the cells of one run. The session applies events; the open notebook reads the result. A later
//! cell may still change the outputs of an earlier one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use cellist_kernel::{CommMessage, Event};
use cellist_notebook::Notebook;
use cellist_output::Output;
use serde_json::Value;

use super::output_buffer::OutputBuffer;
use super::timing::Timing;
use super::widgets::Widgets;

/// The output buffer of running code. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct SharedBuffer(Arc<Mutex<OutputBuffer>>);

impl SharedBuffer {
    pub(crate) fn new(buffer: OutputBuffer) -> SharedBuffer {
        SharedBuffer(Arc::new(Mutex::new(buffer)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, OutputBuffer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outputs of the cells of one run. Clones share them.
#[derive(Clone, Debug)]
pub struct RunOutputs(Arc<Mutex<RunCells>>);

#[derive(Debug)]
struct RunCells {
    /// Byte limit of a cell's outputs; `None` keeps everything.
    max_output: Option<usize>,
    running: RunningOutputs,
    /// Ended cells that may still change: the last one, and those with display ids.
    ended: Vec<EndedOutputs>,
    /// RunCells that changed since the last read and cannot change again.
    changed: Vec<(String, CellOutputs)>,
    /// Late output, with the tag of its execution.
    late: Vec<(Arc<str>, Event)>,
    widgets: Widgets,
}

#[derive(Debug, Default)]
struct RunningOutputs {
    buffer: Option<SharedBuffer>,
    execution_count: Option<u64>,
    timing: Timing,
    is_new: bool,
}

#[derive(Debug)]
struct EndedOutputs {
    cell: String,
    buffer: SharedBuffer,
    execution_count: Option<u64>,
    is_changed: bool,
}

/// A snapshot of a cell's outputs for its notebook.
#[derive(Clone, Debug)]
pub struct CellOutputs {
    /// The outputs.
    pub outputs: Vec<Output>,
    /// Execution count of the kernel.
    pub execution_count: Option<u64>,
    /// Start and end times so far.
    pub timing: Timing,
}

impl RunOutputs {
    /// Creates the outputs of a run with a byte limit for each cell.
    pub fn new(max_output: Option<usize>) -> RunOutputs {
        let running = RunningOutputs::default();
        let (ended, changed, late) = (Vec::new(), Vec::new(), Vec::new());
        let widgets = Widgets::new(max_output);
        RunOutputs(Arc::new(Mutex::new(RunCells { max_output, running, ended, changed, late, widgets })))
    }

    fn lock(&self) -> MutexGuard<'_, RunCells> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the next cell and returns its empty buffer. A cell that runs again gets a new buffer.
    pub(crate) fn begin(&self) -> SharedBuffer {
        let mut cells = self.lock();
        let buffer = SharedBuffer::new(OutputBuffer::new(cells.max_output));
        cells.widgets.begin();
        cells.running = RunningOutputs { buffer: Some(buffer.clone()), is_new: true, ..Default::default() };
        buffer
    }

    /// Applies an event to the cells that it changes.
    pub(crate) fn hear(&self, event: Event) {
        let mut cells = self.lock();
        cells.running.note(&event);
        if let Some(event) = cells.widgets.hear(event)
            && let Some(event) = cells.elsewhere(event)
            && let Some(buffer) = &cells.running.buffer
        {
            buffer.lock().apply(event);
        }
    }

    /// Returns the outputs of the running cell, if they changed and are not too large to be written repeatedly.
    pub fn newest(&self) -> Option<CellOutputs> {
        let mut cells = self.lock();
        let is_new = std::mem::take(&mut cells.running.is_new);
        let buffer = cells.running.buffer.as_ref().filter(|_| is_new)?.lock();
        (!buffer.is_large()).then(|| cells.running.outputs(&buffer))
    }

    /// Returns the earlier cells that changed since the last call.
    pub fn take_changed(&self) -> Vec<(String, CellOutputs)> {
        let mut cells = self.lock();
        let mut changed = std::mem::take(&mut cells.changed);
        changed.extend(cells.ended.iter_mut().filter_map(EndedOutputs::take_changed));
        changed
    }

    /// Ends the running cell and returns its outputs. Later cells may still change them.
    pub fn end(&self, cell: &str, execution_count: Option<u64>) -> CellOutputs {
        let mut cells = self.lock();
        let mut running = std::mem::take(&mut cells.running);
        running.execution_count = execution_count.or(running.execution_count);
        let Some(buffer) = running.buffer.take() else {
            return running.outputs(&OutputBuffer::new(None));
        };
        let outputs = running.outputs(&buffer.lock());
        let last = cells.ended.pop_if(|last| !last.buffer.lock().has_display_ids());
        cells.changed.extend(last.and_then(|mut last| last.take_changed()));
        let (cell, execution_count) = (cell.to_owned(), running.execution_count);
        cells.ended.push(EndedOutputs { cell, buffer, execution_count, is_changed: false });
        outputs
    }

    /// Returns the messages that tell the program which outputs its widgets captured since the last call.
    pub(crate) fn take_messages(&self) -> Vec<CommMessage> {
        self.lock().widgets.take_messages()
    }

    /// Returns the new value of `metadata.widgets`, if it changed since the last call.
    pub fn widgets(&self, notebook: &Notebook) -> Option<Value> {
        self.lock().widgets.metadata(notebook)
    }

    /// Takes the late output received so far.
    pub fn take_late(&self) -> Vec<(Arc<str>, Event)> {
        std::mem::take(&mut self.lock().late)
    }

    /// Adds late output to a cell and returns its outputs, up to the limit. `known` are the cell's outputs in the
    /// notebook.
    pub fn add_late(&self, cell: &str, events: Vec<Event>, known: Vec<Output>) -> Vec<Output> {
        let cells = self.lock();
        let ended = cells.ended.iter().find(|ended| ended.cell == cell);
        let buffer = match ended {
            Some(ended) => ended.buffer.clone(),
            None => SharedBuffer::new(OutputBuffer::of(cells.max_output, known)),
        };
        let mut buffer = buffer.lock();
        events.into_iter().for_each(|event| buffer.apply(event));
        buffer.finish();
        buffer.saved().into_owned()
    }
}

impl RunCells {
    /// Applies an event to earlier cells. Returns it if it belongs to the running cell.
    fn elsewhere(&mut self, event: Event) -> Option<Event> {
        match &event {
            Event::Late { owner, event } => {
                self.late.push((owner.clone(), Event::clone(event)));
                return None;
            }
            Event::Stream { late: true, .. } => {
                if let Some(last) = self.ended.last_mut() {
                    last.buffer.lock().apply(event);
                    last.is_changed = true;
                    return None;
                }
            }
            Event::UpdateDisplay { display_id, data, metadata }
            | Event::Display { display_id: Some(display_id), data, metadata }
            | Event::Result { display_id: Some(display_id), data, metadata, .. } => {
                for ended in &mut self.ended {
                    let mut buffer = ended.buffer.lock();
                    if buffer.has_display_ids() && buffer.update(display_id, data, metadata) {
                        ended.is_changed = true;
                    }
                }
            }
            _ => {}
        }
        Some(event)
    }
}

impl RunningOutputs {
    /// Notes the times and the execution count of an event.
    fn note(&mut self, event: &Event) {
        self.is_new = true;
        self.timing.heard(event, SystemTime::now());
        self.execution_count = match event {
            Event::Started { execution_count } => execution_count.or(self.execution_count),
            Event::Done(outcome) => outcome.execution_count.or(self.execution_count),
            _ => self.execution_count,
        };
    }

    fn outputs(&self, buffer: &OutputBuffer) -> CellOutputs {
        let (execution_count, timing) = (self.execution_count, self.timing);
        CellOutputs { outputs: buffer.saved().into_owned(), execution_count, timing }
    }
}

impl EndedOutputs {
    /// Returns the outputs, if they changed since the last call.
    fn take_changed(&mut self) -> Option<(String, CellOutputs)> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let outputs = self.buffer.lock().saved().into_owned();
        let (execution_count, timing) = (self.execution_count, Timing::default());
        Some((self.cell.clone(), CellOutputs { outputs, execution_count, timing }))
    }
}
