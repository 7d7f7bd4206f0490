//! The text of a transcript: one JSON object a line, in the order in which things happened.

use std::fmt;
use std::str::FromStr;

use cellist_output::{MimeBundle, RawJson, StreamName};
use serde::{Deserialize, Serialize};

use crate::comm::{CommKind, CommMessage};
use crate::error::Error;
use crate::event::{Death, Event, Outcome, Status};

/// A kernel's events, execution by execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// The executions, in order.
    pub executions: Vec<Recorded>,
}

/// One execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The code that was run; any code will do where there is none.
    pub code: Option<String>,
    /// One event or action.
    pub steps: Vec<TranscriptStep>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum TranscriptStep {
    /// An event.
    Event(Event),
    /// The execution was interrupted; nothing goes on before that.
    Interrupt,
}

impl FromStr for Transcript {
    type Err = Error;

    fn from_str(text: &str) -> Result<Transcript, Error> {
        let mut transcript = Transcript::default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |what: String| Error::Protocol { what: format!("line {}: {what}", number + 1) };
            let line: TranscriptLine =
                serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            if let TranscriptLine { execute: Some(code), .. } = line {
                transcript.executions.push(Recorded { code, steps: Vec::new() });
                continue;
            }
            let step = line.step().map_err(|what| wrong(what.into()))?;
            match transcript.executions.last_mut() {
                Some(recorded) => recorded.steps.push(step),
                None => return Err(wrong("something happens before anything is run".into())),
            }
        }
        Ok(transcript)
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut write = |line: &TranscriptLine| {
            let line = serde_json::to_string(line).map_err(|_| fmt::Error)?;
            writeln!(f, "{line}")
        };
        for Recorded { code, steps } in &self.executions {
            write(&TranscriptLine { execute: Some(code.clone()), ..TranscriptLine::default() })?;
            for step in steps {
                write(&TranscriptLine::of(step))?;
            }
        }
        Ok(())
    }
}

// Everything that a line may hold, flat, so that a line is easy to write by hand.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TranscriptLine {
    // Present and null for any code.
    #[serde(default, with = "present", skip_serializing_if = "Option::is_none")]
    execute: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait: Option<Wait>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<Vec<u8>>,
    #[serde(default, skip_serializing_if = "is_false")]
    late: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<MimeBundle>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    waits: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    traceback: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    done: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<RecordedEnd>,
    #[serde(default, skip_serializing_if = "is_false")]
    cancelled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    out_of_memory: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    behind: Option<GatewayIncident>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comm: Option<RecordedComm>,
}

/// A message to a widget; its id stands beside it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedComm {
    kind: RecordedKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(default)]
    data: RawJson,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    buffers: Vec<Vec<u8>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    late: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedKind {
    Open,
    Message,
    Close,
}

/// An incident of a kernel behind a gateway.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GatewayIncident {
    Restarted,
    Removed,
    OutOfReach,
    Refused,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wait {
    Interrupt,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Name {
    Started,
    Stream,
    Display,
    UpdateDisplay,
    Result,
    ClearOutput,
    Error,
    Failure,
    InputRequested,
    Progress,
    WidgetText,
    Comm,
    OutputLost,
    OutputRefused,
    Done,
    Died,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedEnd {
    Ok,
    Error,
    Aborted,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A field that is there, whatever it holds.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Option<String>>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().and_then(Option::as_ref).serialize(out)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Option<String>>, D::Error> {
        Option::deserialize(from).map(Some)
    }
}

impl RecordedComm {
    fn of(message: &CommMessage) -> RecordedComm {
        let kind = match message.kind {
            CommKind::Open => RecordedKind::Open,
            CommKind::Message => RecordedKind::Message,
            CommKind::Close => RecordedKind::Close,
        };
        let buffers = message.buffers.iter().map(|buffer| buffer.to_vec()).collect();
        let (target, data) = (message.target.clone(), message.data.clone());
        RecordedComm { kind, target, data, buffers, request: message.request.clone(), late: message.late }
    }

    fn message(self, comm_id: String, metadata: RawJson) -> CommMessage {
        let RecordedComm { kind, target, data, buffers, request, late } = self;
        let kind = match kind {
            RecordedKind::Open => CommKind::Open,
            RecordedKind::Message => CommKind::Message,
            RecordedKind::Close => CommKind::Close,
        };
        let buffers = buffers.into_iter().map(Into::into).collect();
        CommMessage { kind, comm_id, target, data, metadata, buffers, request, late }
    }
}

impl TranscriptLine {
    fn of(step: &TranscriptStep) -> TranscriptLine {
        let TranscriptStep::Event(event) = step else {
            return TranscriptLine { wait: Some(Wait::Interrupt), ..TranscriptLine::default() };
        };
        let named = |name| TranscriptLine { event: Some(name), ..TranscriptLine::default() };
        let shown = |name, data: &MimeBundle, metadata: &RawJson, id: Option<&String>| TranscriptLine {
            data: Some(data.clone()),
            metadata: Some(metadata.clone()),
            id: id.cloned(),
            ..named(name)
        };
        let raised = |event, name: &String, message: &String, traceback: &[String]| TranscriptLine {
            name: Some(name.clone()),
            text: Some(message.clone()),
            traceback: traceback.to_owned(),
            ..named(event)
        };
        match event {
            Event::Started { execution_count } => {
                TranscriptLine { count: *execution_count, ..named(Name::Started) }
            }
            Event::Stream { name, bytes, late } => {
                let line =
                    TranscriptLine { name: Some(name.to_string()), late: *late, ..named(Name::Stream) };
                match std::str::from_utf8(bytes) {
                    Ok(text) => TranscriptLine { text: Some(text.to_owned()), ..line },
                    Err(_) => TranscriptLine { bytes: Some(bytes.to_vec()), ..line },
                }
            }
            // A transcript has no tags: late output is recorded as output of the running code.
            Event::Late { event, .. } => TranscriptLine::of(&TranscriptStep::Event(Event::clone(event))),
            Event::Display { data, metadata, display_id } => {
                shown(Name::Display, data, metadata, display_id.as_ref())
            }
            Event::UpdateDisplay { display_id, data, metadata } => {
                shown(Name::UpdateDisplay, data, metadata, Some(display_id))
            }
            Event::Result { execution_count, data, metadata, display_id } => TranscriptLine {
                count: *execution_count,
                ..shown(Name::Result, data, metadata, display_id.as_ref())
            },
            Event::ClearOutput { wait } => TranscriptLine { waits: *wait, ..named(Name::ClearOutput) },
            Event::Error { name, message, traceback } => raised(Name::Error, name, message, traceback),
            Event::Failure { name, message, traceback } => raised(Name::Failure, name, message, traceback),
            Event::InputRequested => named(Name::InputRequested),
            Event::Progress { label, done, total } => TranscriptLine {
                name: Some(label.clone()),
                done: Some(*done),
                total: *total,
                ..named(Name::Progress)
            },
            Event::WidgetText { model, text } => TranscriptLine {
                id: Some(model.clone()),
                text: Some(text.clone()),
                ..named(Name::WidgetText)
            },
            Event::Comm(message) => TranscriptLine {
                id: Some(message.comm_id.clone()),
                metadata: Some(message.metadata.clone()),
                comm: Some(RecordedComm::of(message)),
                ..named(Name::Comm)
            },
            Event::OutputLost => named(Name::OutputLost),
            Event::OutputRefused { what } => {
                TranscriptLine { text: Some(what.clone()), ..named(Name::OutputRefused) }
            }
            Event::Done(Outcome { status, execution_count, cancelled }) => TranscriptLine {
                status: Some(match status {
                    Status::Ok => RecordedEnd::Ok,
                    Status::Error => RecordedEnd::Error,
                    Status::Aborted => RecordedEnd::Aborted,
                }),
                count: *execution_count,
                cancelled: *cancelled,
                ..named(Name::Done)
            },
            Event::Died(death) => TranscriptLine::of_death(death),
        }
    }

    fn of_death(death: &Death) -> TranscriptLine {
        let died = TranscriptLine { event: Some(Name::Died), ..TranscriptLine::default() };
        let (behind, text) = match death {
            Death::Exit(code) => return TranscriptLine { code: Some(*code), ..died },
            Death::Signal(signal) => return TranscriptLine { signal: Some(signal.clone()), ..died },
            Death::OutOfMemory => return TranscriptLine { out_of_memory: true, ..died },
            Death::Unknown => return died,
            Death::Restarted => (GatewayIncident::Restarted, None),
            Death::Removed => (GatewayIncident::Removed, None),
            Death::OutOfReach(why) => (GatewayIncident::OutOfReach, Some(why.clone())),
            Death::Refused(what) => (GatewayIncident::Refused, Some(what.clone())),
        };
        TranscriptLine { behind: Some(behind), text, ..died }
    }

    fn step(self) -> Result<TranscriptStep, &'static str> {
        if let Some(Wait::Interrupt) = self.wait {
            return Ok(TranscriptStep::Interrupt);
        }
        let name = self.event.ok_or("neither an execution nor something that happened")?;
        let data = self.data.unwrap_or_default();
        let metadata = self.metadata.unwrap_or_default();
        Ok(TranscriptStep::Event(match name {
            Name::Started => Event::Started { execution_count: self.count },
            Name::Stream => Event::Stream {
                name: match self.name.as_deref() {
                    Some("stdout") => StreamName::Stdout,
                    Some("stderr") => StreamName::Stderr,
                    _ => return Err("a stream is stdout or stderr"),
                },
                bytes: self.bytes.unwrap_or_else(|| self.text.unwrap_or_default().into_bytes()).into(),
                late: self.late,
            },
            Name::Display => Event::Display { data, metadata, display_id: self.id },
            Name::UpdateDisplay => {
                let display_id = self.id.ok_or("an update has an id")?;
                Event::UpdateDisplay { display_id, data, metadata }
            }
            Name::Result => {
                Event::Result { execution_count: self.count, data, metadata, display_id: self.id }
            }
            Name::ClearOutput => Event::ClearOutput { wait: self.waits },
            Name::Error => Event::Error {
                name: self.name.unwrap_or_default(),
                message: self.text.unwrap_or_default(),
                traceback: self.traceback,
            },
            Name::Failure => Event::Failure {
                name: self.name.unwrap_or_default(),
                message: self.text.unwrap_or_default(),
                traceback: self.traceback,
            },
            Name::InputRequested => Event::InputRequested,
            Name::Progress => Event::Progress {
                label: self.name.unwrap_or_default(),
                done: self.done.ok_or("progress needs `done`")?,
                total: self.total,
            },
            Name::WidgetText => {
                Event::WidgetText { model: self.id.unwrap_or_default(), text: self.text.unwrap_or_default() }
            }
            Name::Comm => {
                let comm = self.comm.ok_or("a message to a widget has `comm`")?;
                Event::Comm(Box::new(comm.message(self.id.unwrap_or_default(), metadata)))
            }
            Name::OutputLost => Event::OutputLost,
            Name::OutputRefused => Event::OutputRefused { what: self.text.unwrap_or_default() },
            Name::Done => Event::Done(Outcome {
                status: match self.status.ok_or("the end has a status")? {
                    RecordedEnd::Ok => Status::Ok,
                    RecordedEnd::Error => Status::Error,
                    RecordedEnd::Aborted => Status::Aborted,
                },
                execution_count: self.count,
                cancelled: self.cancelled,
            }),
            Name::Died => Event::Died(match (self.behind, self.code, self.signal, self.out_of_memory) {
                (Some(GatewayIncident::Restarted), ..) => Death::Restarted,
                (Some(GatewayIncident::Removed), ..) => Death::Removed,
                (Some(GatewayIncident::OutOfReach), ..) => Death::OutOfReach(self.text.unwrap_or_default()),
                (Some(GatewayIncident::Refused), ..) => Death::Refused(self.text.unwrap_or_default()),
                (None, _, _, true) => Death::OutOfMemory,
                (None, Some(code), _, _) => Death::Exit(code),
                (None, None, Some(signal), _) => Death::Signal(signal),
                (None, None, None, _) => Death::Unknown,
            }),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_comes_back_from_its_line() {
        let data = MimeBundle::text("text/plain", "x");
        let metadata = RawJson::new(r#"{"k":1e0}"#).unwrap();
        let comm = Event::Comm(Box::new(CommMessage {
            kind: CommKind::Open,
            comm_id: "c".into(),
            target: Some("jupyter.widget".into()),
            data: RawJson::new(r#"{"state":{"value":1e0}}"#).unwrap(),
            metadata: metadata.clone(),
            buffers: vec![vec![0, 0xff].into()],
            request: Some("r".into()),
            late: true,
        }));
        let events = [
            comm,
            Event::Started { execution_count: None },
            Event::Started { execution_count: Some(3) },
            Event::Stream { name: StreamName::Stdout, bytes: "a\n".into(), late: false },
            Event::Stream { name: StreamName::Stderr, bytes: vec![0xff, b'\n'].into(), late: true },
            Event::Display { data: data.clone(), metadata: metadata.clone(), display_id: None },
            Event::UpdateDisplay { display_id: "a".into(), data: data.clone(), metadata: metadata.clone() },
            Event::Result { execution_count: Some(3), data, metadata, display_id: Some("a".into()) },
            Event::ClearOutput { wait: true },
            Event::Error { name: "E".into(), message: "m".into(), traceback: vec!["t".into()] },
            Event::Failure { name: "E".into(), message: "m".into(), traceback: Vec::new() },
            Event::InputRequested,
            Event::Progress { label: "l".into(), done: 1.5, total: None },
            Event::OutputLost,
            Event::OutputRefused { what: "a message of 1 GiB".into() },
            Event::Done(Outcome { status: Status::Aborted, execution_count: None, cancelled: true }),
            Event::Died(Death::Exit(3)),
            Event::Died(Death::Signal("SIGSEGV".into())),
            Event::Died(Death::OutOfMemory),
            Event::Died(Death::Restarted),
            Event::Died(Death::Removed),
            Event::Died(Death::OutOfReach("refused".into())),
            Event::Died(Death::Refused("a frame of 1 TiB".into())),
            Event::Died(Death::Unknown),
        ];
        let mut steps: Vec<TranscriptStep> = events.into_iter().map(TranscriptStep::Event).collect();
        steps.insert(3, TranscriptStep::Interrupt);
        let transcript = Transcript {
            executions: vec![
                Recorded { code: Some("code".into()), steps },
                Recorded { code: None, steps: Vec::new() },
            ],
        };
        assert_eq!(transcript.to_string().parse::<Transcript>().unwrap(), transcript);
    }

    #[test]
    fn a_line_that_says_nothing_is_refused_with_its_number() {
        for (text, what) in [
            ("{}", "line 1: neither an execution nor something that happened"),
            ("\n{\"event\": \"output_lost\"}", "line 2: something happens before anything is run"),
            (
                r#"{"execute": null}
{"event": "stream", "name": "stdin"}"#,
                "line 2: a stream is stdout or stderr",
            ),
        ] {
            let error = text.parse::<Transcript>().unwrap_err().to_string();
            assert!(error.ends_with(what), "{error}");
        }
    }
}
