//! Records one execution: applies its events to the outputs for the file and the text for a reader.

mod interim;

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use cellist_kernel::{Backend, Death, Event, Identity, Status as KernelStatus};
use cellist_output::{Drawn, FoldedTraceback, Output, Sink, Status, drawn, folded_traceback, notices};
use cellist_platform::clock::in_milliseconds;
use cellist_store::artifact::{self, ArtifactOrigin, ArtifactWriter, Artifacts};
use serde::{Deserialize, Serialize};

use super::advice::{Surroundings, advice};
use super::brief::brief;
use super::output_buffer::{OutputBuffer, PICTURES};
use super::pace::{Cause, KernelEnding, Killed, Pace};
use super::reading::{Reader, Reading};
use super::report::{KernelReport, KernelState, Pictures, Raised, Report};
use super::run_outputs::SharedBuffer;
use super::widgets::OutputTakers;

/// Maximum number of notices about rejected output; more would repeat the same fact.
const REFUSED: usize = 3;

/// State of a progress bar of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Label set by the program.
    pub label: String,
    /// Steps done.
    pub done: f64,
    /// Steps in all, where known.
    pub total: Option<f64>,
}

/// The record of one execution.
///
/// The task that drives the execution owns it and applies the kernel's events in order. Output buffers may be
/// shared with a notebook; everything else belongs to the record. [`Record::room`] holds the driver back while the
/// artifact is being written. [`Record::report`] builds the report once the execution has ended, also if its kernel
/// died. An artifact that cannot be written costs only the full output, not the report.
pub(crate) struct Record {
    pub(crate) buffer: SharedBuffer,
    pub(crate) execution_count: Option<u64>,
    pub(crate) bar: Option<Bar>,
    /// Whether output came since the observer last read it.
    pub(crate) is_new: bool,
    /// Writes the full output to an artifact, if one is kept.
    writer: Option<ArtifactWriter>,
    sink: Sink,
    reading: Reading,
    raised: Option<Raised>,
    stdin_requested: bool,
    lost_output: bool,
    /// Notices about output that was too large to accept.
    refused: Vec<String>,
    said_late: bool,
    /// Whether folded traceback frames are only in the artifact.
    is_folded: bool,
    /// Output widgets that capture the outputs of the cell.
    takers: OutputTakers,
    ended: Option<RecordEnd>,
}

/// Facts about an execution that its event stream does not carry.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts<'a> {
    pub(crate) duration: Duration,
    pub(crate) pace: &'a Pace,
    /// The time limit named in a timeout notice.
    pub(crate) limit: Option<Duration>,
    pub(crate) identity: &'a Identity,
    pub(crate) around: &'a Surroundings,
    /// Notices placed before those of the execution, and after them.
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
    /// Whether the kernel was started since the last result.
    pub(crate) restarted: bool,
    /// Whether the kernel died again after a restart for this code.
    pub(crate) too_often: bool,
    /// Whether the session outlives the call, so the reader should know that its state was kept.
    pub(crate) lasting: bool,
}

impl<'a> RunFacts<'a> {
    pub(crate) fn new(
        duration: Duration,
        pace: &'a Pace,
        limit: Option<Duration>,
        identity: &'a Identity,
        around: &'a Surroundings,
    ) -> RunFacts<'a> {
        let (before, after) = (Vec::new(), Vec::new());
        let (restarted, too_often, lasting) = (false, false, false);
        RunFacts { duration, pace, limit, identity, around, before, after, restarted, too_often, lasting }
    }
}

enum RecordEnd {
    Done { status: KernelStatus, cancelled: bool },
    Died(Death),
}

impl Record {
    /// Creates a record of code that belongs to no notebook.
    pub(crate) fn new(reading: Reading) -> Record {
        // The report is cut to the limits later; this buffer leaves enough text to cut from.
        let buffer = OutputBuffer::new(Some(reading.limits.max_bytes.saturating_mul(4)));
        let buffer = match reading.reader {
            Reader::Person => buffer,
            Reader::Model => buffer.with_pictures(PICTURES),
        };
        Record::into_buffer(reading, SharedBuffer::new(buffer))
    }

    /// Creates a record whose outputs go into a shared buffer.
    pub(crate) fn into_buffer(reading: Reading, buffer: SharedBuffer) -> Record {
        Record {
            writer: None,
            buffer,
            execution_count: None,
            bar: None,
            is_new: false,
            sink: Sink::new(reading.limits, reading.ansi),
            reading,
            raised: None,
            stdin_requested: false,
            lost_output: false,
            refused: Vec::new(),
            said_late: false,
            is_folded: false,
            takers: OutputTakers::default(),
            ended: None,
        }
    }

    /// Keeps the full output as an artifact.
    pub(crate) fn keep_in(mut self, artifacts: &Artifacts, origin: ArtifactOrigin) -> Record {
        self.writer = Some(artifacts.begin(origin, self.reading.limits.max_bytes));
        self
    }

    fn keep(&mut self, bytes: impl Into<Bytes>) {
        if let Some(writer) = &mut self.writer {
            writer.write(bytes);
        }
    }

    /// Applies an event. Late output is added to the text; the caller decides which file it belongs to.
    pub(crate) fn apply(&mut self, event: &Event) {
        self.is_new = true;
        match event {
            Event::Started { execution_count } => self.execution_count = *execution_count,
            Event::Stream { bytes, late, .. } => {
                if *late && !self.said_late {
                    self.said_late = true;
                    let said = self.sink.block(&notices::late_output(), None);
                    self.keep(said);
                }
                if let Some(Drawn { label, done, total }) = drawn(bytes) {
                    self.bar = Some(Bar { label, done, total });
                }
                self.sink.push(bytes);
                self.keep(bytes.clone());
            }
            Event::Display { data, display_id, .. } => {
                // The text of a progress bar is rewritten when the bar moves.
                let model = data.widget_model().map(widget_id);
                let shown = self.sink.block(&data.readable(), display_id.as_deref().or(model.as_deref()));
                self.keep(shown);
            }
            Event::Result { data, display_id, execution_count, .. } => {
                self.execution_count = self.execution_count.or(*execution_count);
                let shown = self.sink.block(&data.readable(), display_id.as_deref());
                self.keep(shown);
            }
            Event::UpdateDisplay { display_id, data, .. } => {
                let shown = self.sink.update(display_id, &data.readable());
                self.keep(shown);
            }
            // A widget's clear request does not clear the text of the cell.
            Event::ClearOutput { .. } if self.takers.newest().is_some() => {}
            Event::ClearOutput { wait } => self.sink.clear(*wait),
            Event::Comm(message) => self.takers.hear(message),
            // Includes an exception that the kernel did not show; otherwise the reader would not learn why the code
            // failed.
            Event::Error { name, message, traceback } | Event::Failure { name, message, traceback } => {
                let output = Output::Error {
                    name: name.clone(),
                    message: message.clone(),
                    traceback: traceback.clone(),
                };
                let text = output.text();
                let whole = match self.reading.reader {
                    Reader::Person => self.sink.block(&text, None),
                    Reader::Model => {
                        let FoldedTraceback { parts, hidden_frames } = folded_traceback(&text);
                        self.is_folded |= hidden_frames > 0;
                        self.sink.parts(&parts)
                    }
                };
                self.keep(whole);
                self.raised = Some(Raised {
                    ename: name.clone(),
                    evalue: message.clone(),
                    traceback: traceback.clone(),
                });
            }
            // Late output is stored with the cell that it belongs to.
            Event::Late { .. } => {}
            Event::WidgetText { model, text } => {
                self.sink.update(&widget_id(model.clone()), text);
            }
            Event::InputRequested => self.stdin_requested = true,
            Event::Progress { label, done, total } => {
                self.bar = Some(Bar { label: label.clone(), done: *done, total: *total });
            }
            Event::OutputLost => self.lost_output = true,
            Event::OutputRefused { what } if self.refused.len() < REFUSED => self.refused.push(what.clone()),
            Event::OutputRefused { .. } => {}
            Event::Done(outcome) => {
                self.execution_count = outcome.execution_count.or(self.execution_count);
                self.ended = Some(RecordEnd::Done { status: outcome.status, cancelled: outcome.cancelled });
            }
            Event::Died(death) => self.ended = Some(RecordEnd::Died(death.clone())),
        }
    }

    /// Ends the record of a kernel that vanished without a report.
    pub(crate) fn abandoned(&mut self) {
        self.ended.get_or_insert(RecordEnd::Died(Death::Unknown));
    }

    /// How the kernel died, if it did.
    pub(crate) fn death(&self) -> Option<&Death> {
        match &self.ended {
            Some(RecordEnd::Died(death)) => Some(death),
            Some(RecordEnd::Done { .. }) | None => None,
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Returns the text that a reader sees now.
    pub(crate) fn text(&self) -> String {
        self.sink.snapshot(None).text
    }

    /// Waits until the artifact writer can accept more. Cancel-safe.
    pub(crate) async fn room(&self) {
        if let Some(writer) = &self.writer {
            writer.room().await;
        }
    }

    /// Builds the report of the execution.
    pub(crate) async fn report(&mut self, facts: RunFacts<'_>) -> Report {
        let RunFacts { duration, pace, identity, .. } = facts;
        let buffer = self.buffer.clone();
        let is_cut = {
            let mut buffer = buffer.lock();
            buffer.finish();
            self.is_folded || buffer.is_cut() || self.sink.clone().finish(None).truncated.is_some()
        };
        let artifact = match self.writer.take() {
            Some(mut writer) => {
                if is_cut {
                    writer.keep_anyway();
                }
                writer.finish().await
            }
            None => artifact::ArtifactSummary::default(),
        };
        let artifact_id = artifact.id.map(String::from);
        buffer.lock().artifact.clone_from(&artifact_id);
        let mut kernel = KernelReport::of(identity);
        kernel.restarted = facts.restarted;
        let mut notices = facts.before.clone();
        notices.extend(self.notices(&facts));
        let mut error = self.raised.clone();
        let status = match (pace.cause(), &self.ended) {
            (Some(cause), _) => Status::from(cause),
            (None, Some(RecordEnd::Done { cancelled: true, .. })) => Status::Cancelled,
            (None, Some(RecordEnd::Done { status: KernelStatus::Ok, .. })) => Status::Ok,
            (None, _) => Status::Error,
        };
        if let Some(RecordEnd::Died(death)) = &self.ended {
            kernel.state = KernelState::Lost;
            let said = notices::kernel_died(death);
            if pace.killed().is_none() {
                error = error.or_else(|| {
                    Some(Raised {
                        ename: "DeadKernelError".into(),
                        evalue: facts.too_often.then(notices::restarted_too_often).unwrap_or(said.clone()),
                        traceback: Vec::new(),
                    })
                });
                notices.push(said);
            }
            if facts.too_often {
                notices.push(notices::restarted_too_often());
            }
            notices.push(notices::state_lost());
        } else if facts.lasting && status != Status::Ok && !facts.restarted {
            // A new kernel has no earlier state; another notice already says so.
            notices.push(notices::state_kept());
        }
        notices.extend(facts.after.iter().cloned());
        let shown = self.sink.clone().finish(artifact_id.as_deref());
        if shown.truncated.is_none() {
            notices.extend(artifact_id.as_deref().map(notices::kept_in));
        }
        notices.extend(artifact.failure);
        let buffer = buffer.lock();
        let mut report = Report {
            status,
            exit_code: match status {
                Status::Ok => Some(0),
                Status::Error => Some(1),
                Status::Timeout | Status::Cancelled => None,
            },
            text: shown.text,
            pictures: self.pictures(&buffer),
            outputs: brief(&buffer.outputs(), &self.reading.limits),
            error,
            execution_count: self.execution_count,
            duration_ms: in_milliseconds(duration),
            cancelled: matches!(status, Status::Timeout | Status::Cancelled),
            still_running: false,
            stdin_requested: self.stdin_requested,
            truncated: shown.truncated,
            artifact: artifact_id,
            kernel,
            notices: Vec::new(),
        };
        notices.into_iter().for_each(|notice| report.say(notice));
        report
    }

    /// Returns the pictures for a model; a person gets them with the outputs.
    fn pictures(&self, buffer: &OutputBuffer) -> Pictures {
        match self.reading.reader {
            Reader::Person => Pictures::default(),
            Reader::Model => buffer.pictures(),
        }
    }

    fn notices(&self, facts: &RunFacts<'_>) -> Vec<String> {
        let mut said = Vec::new();
        if self.lost_output {
            said.push(match self.death() {
                Some(_) => notices::last_output_lost(),
                None => notices::output_lost(),
            });
        }
        said.extend(self.refused.iter().map(|what| notices::output_refused(what)));
        if self.stdin_requested {
            said.push(notices::input_unsupported());
        }
        if let Some(raised) = &self.raised {
            let python = facts.identity.python.clone().unwrap_or_else(|| PathBuf::from("python3"));
            said.extend(advice(&raised.ename, &raised.evalue, Some(&python), facts.around));
        }
        match facts.pace.cause() {
            Some(Cause::Timeout) => said.push(notices::timed_out(facts.limit.unwrap_or_default().as_secs())),
            Some(Cause::Cancel) => said.push(notices::cancelled()),
            Some(Cause::Ending(KernelEnding::Restart)) => said.push(notices::restarted_meanwhile()),
            Some(Cause::Ending(KernelEnding::Stop)) => said.push(notices::stopped_meanwhile()),
            None => {}
        }
        let what = if facts.identity.backend == Backend::Shell { "command" } else { "kernel" };
        match facts.pace.killed() {
            Some(Killed::AfterGrace) => {
                said.push(notices::killed_after_interrupt(what, facts.pace.grace().as_secs()));
            }
            Some(Killed::AskedTwice) => said.push(notices::killed_when_asked_twice(what)),
            Some(Killed::AtOnce) | None => {}
        }
        said
    }
}

/// The display id of a widget.
fn widget_id(model: String) -> String {
    format!("widget:{model}")
}

#[cfg(test)]
mod tests {
    use cellist_output::{Ansi, Limits};

    use super::*;

    #[test]
    fn a_model_that_asked_for_nothing_gets_an_excerpt_of_many_lines() {
        let shown = |reading: Reading| {
            let mut record = Record::new(reading);
            let text: String = (0..200_000).map(|line| format!("{line}\n")).collect();
            record.apply(&Event::Stream {
                name: cellist_output::StreamName::Stdout,
                bytes: text.into_bytes().into(),
                late: false,
            });
            record.text()
        };
        let excerpt = shown(Reading::excerpt_for_model(12_000).next(0, true));
        assert_eq!(excerpt.lines().count(), 80 + 2);
        assert!(excerpt.starts_with("0\n1\n") && excerpt.contains("\n199999\n[Output cut: "), "{excerpt}");
        assert!(shown(Reading::for_model(12_000)).lines().count() > 1000);
    }

    #[test]
    fn a_model_gets_a_traceback_with_folded_libraries_and_the_artifact_has_all() {
        let frame = |number: usize| format!("  File \"/usr/lib/python3.9/m.py\", line {number}, in f");
        let mut traceback = vec!["Traceback (most recent call last):".to_owned()];
        traceback.extend((1..=5).map(frame));
        traceback.push("KeyError: 1".to_owned());
        let error = Event::Error { name: "KeyError".into(), message: "1".into(), traceback };
        let mut record = Record::new(Reading::for_model(8000));
        record.apply(&error);
        assert_eq!(
            record.text(),
            "Traceback (most recent call last):\n[5 frames in m hidden]\nKeyError: 1\n"
        );
        assert!(record.is_folded);
        let mut record = Record::new(Reading::new(Limits::for_screen(), Ansi::Remove));
        record.apply(&error);
        assert!(record.text().contains("line 3, in f") && !record.is_folded);
    }

    #[test]
    fn an_exception_that_the_kernel_has_not_shown_is_told_and_is_no_output() {
        let mut record = Record::new(Reading::new(Limits::for_screen(), Ansi::Remove));
        let failure = Event::Failure { name: "E".into(), message: "m".into(), traceback: Vec::new() };
        record.apply(&failure);
        record.buffer.lock().apply(failure);
        assert_eq!(record.text(), "E: m\n");
        assert!(record.raised.is_some() && record.buffer.lock().outputs().is_empty());
    }

    #[test]
    fn the_text_of_a_cell_stays_when_a_widget_clears_its_own() {
        let steps = r#"{"execute": null}
{"event": "stream", "name": "stdout", "text": "before\n"}
{"event": "comm", "id": "w", "comm": {"kind": "message", "request": "r", "data": {"state": {"msg_id": "r"}}}}
{"event": "stream", "name": "stdout", "text": "inside\n"}
{"event": "clear_output"}
{"event": "comm", "id": "w", "comm": {"kind": "message", "request": "r", "data": {"state": {"msg_id": ""}}}}"#;
        let transcript: cellist_kernel::scripted::Transcript = steps.parse().unwrap();
        let mut record = Record::new(Reading::new(Limits::for_screen(), Ansi::Remove));
        for step in &transcript.executions[0].steps {
            let cellist_kernel::scripted::TranscriptStep::Event(event) = step else { continue };
            record.apply(event);
        }
        assert_eq!(record.text(), "before\ninside\n");
        record.apply(&Event::ClearOutput { wait: false });
        assert_eq!(record.text(), "");
    }
}
