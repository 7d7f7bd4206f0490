//! The messages between host and runner, one JSON object a line.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cellist_output::{MimeBundle, RawJson};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::comm::{CommContent, CommKind, CommMessage, SentComm};
use crate::event::{Event, Outcome, Status};
use crate::kernel::{ExecutionId, Request};
use crate::launch::Launch;

/// The version of the protocol that we speak.
pub(super) const PROTOCOL: u64 = 1;

/// A frame longer than this is not one: the runner refuses to make it.
pub(super) const LARGEST_FRAME: usize = cellist_output::wire::RUNNER_FRAME;

/// A request to a runner.
#[derive(Serialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub(super) enum Ask<'a> {
    Start {
        token: &'a str,
        prelude: Option<&'a str>,
        modules: Vec<ModuleFile<'a>>,
    },
    Execute {
        execution: u64,
        code: &'a str,
        hidden: bool,
        variables: Variables<'a>,
    },
    Comm {
        execution: u64,
        kind: &'static str,
        content: SentComm<'a>,
        metadata: &'a RawJson,
        buffers: Vec<String>,
    },
    Interrupt {
        id: u64,
        execution: u64,
    },
    Complete {
        id: u64,
        code: &'a str,
        cursor: usize,
    },
    Inspect {
        id: u64,
        code: &'a str,
        cursor: usize,
        detail: bool,
    },
    IsComplete {
        id: u64,
        code: &'a str,
    },
    Ping {
        id: u64,
    },
    Exit,
}

/// A module to run.
#[derive(Serialize)]
pub(super) struct ModuleFile<'a> {
    name: &'a str,
    path: String,
}

/// Variables in the order in which they are set.
pub(super) struct Variables<'a>(&'a [(String, Option<String>)]);

impl Serialize for Variables<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'a> Ask<'a> {
    pub(super) fn start(token: &'a str, launch: &'a Launch) -> Ask<'a> {
        let modules = launch.modules.iter().map(|module| ModuleFile {
            name: &module.name,
            path: module.path.to_string_lossy().into_owned(),
        });
        Ask::Start { token, prelude: launch.prelude.as_deref(), modules: modules.collect() }
    }

    pub(super) fn execute(id: ExecutionId, request: &'a Request) -> Ask<'a> {
        let Request { code, hidden, variables, tag: _ } = request;
        Ask::Execute { execution: id.0, code, hidden: *hidden, variables: Variables(variables) }
    }

    pub(super) fn comm(id: ExecutionId, message: &'a CommMessage) -> Ask<'a> {
        let buffers = message.buffers.iter().map(|buffer| STANDARD.encode(buffer)).collect();
        let (kind, content, metadata) = (message.kind.name(), message.content(), &message.metadata);
        Ask::Comm { execution: id.0, kind, content, metadata, buffers }
    }

    /// The line that is sent.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("strings and numbers can be written as JSON");
        line.push(b'\n');
        line
    }

    /// The line without secrets.
    pub(super) fn traced(&self) -> String {
        let line = match self {
            Ask::Start { modules, .. } => {
                serde_json::json!({"request": "start", "modules": modules}).to_string()
            }
            Ask::Execute { execution, code, hidden, variables } => serde_json::json!({
                "request": "execute", "execution": execution, "hidden": hidden,
                "code": if *hidden { "…" } else { *code },
                "variables": variables.0.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            })
            .to_string(),
            _ => String::from_utf8_lossy(&self.line()).trim_end().to_owned(),
        };
        shortened(&line)
    }
}

/// A line for the trace.
pub(super) fn shortened(line: &str) -> String {
    const MOST: usize = 2000;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes)", &line[..end], line.len()),
        None => line.to_owned(),
    }
}

/// A message of a runner.
#[derive(Debug)]
pub(super) enum RunnerFrame {
    Hello(Hello),
    Started {
        execution: u64,
        execution_count: Option<u64>,
    },
    Event(Event),
    /// Output of an earlier execution.
    Late {
        execution: u64,
        event: Event,
    },
    /// Text from here on is that of an earlier execution, or no longer.
    Owner(Option<u64>),
    /// A message of a program to a widget; of an earlier execution, where one is named.
    Comm {
        message: Box<CommMessage>,
        execution: Option<u64>,
    },
    Done {
        execution: u64,
        outcome: Outcome,
    },
}

/// A runner's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) protocol: u64,
    pub(super) python: String,
    pub(super) executable: String,
    pub(super) notices: Vec<String>,
}

/// The answer to a question.
#[derive(Debug)]
pub(super) struct RunnerReply {
    pub(super) reply_to: u64,
    pub(super) error: Option<String>,
    pub(super) matches: Vec<String>,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) found: bool,
    pub(super) data: MimeBundle,
    pub(super) status: Option<String>,
    pub(super) indent: String,
}

/// A line of the runner's.
#[derive(Debug)]
pub(super) enum RunnerLine {
    /// A frame that has a place among the text.
    Placed { mark: u64, frame: RunnerFrame },
    /// An answer, which has none.
    Reply(RunnerReply),
}

/// Reads a line.
pub(super) fn read(line: &[u8]) -> serde_json::Result<RunnerLine> {
    let Fields {
        frame,
        mark,
        execution,
        owner,
        execution_count,
        data,
        metadata,
        display_id,
        wait,
        name,
        message,
        traceback,
        status,
        cancelled,
        protocol,
        python,
        executable,
        notices,
        kind,
        content,
        buffers,
        reply_to,
        error,
        matches,
        start,
        end,
        found,
        indent,
    } = serde_json::from_slice(line)?;
    let data = data.map(MimeBundle::read).transpose()?.unwrap_or_default();
    if let Some(reply_to) = reply_to {
        return Ok(RunnerLine::Reply(RunnerReply {
            reply_to,
            error,
            matches,
            start,
            end,
            found,
            data,
            status,
            indent,
        }));
    }
    let mark = mark.ok_or_else(|| missing("mark"))?;
    if frame == "owner" {
        return Ok(RunnerLine::Placed { mark, frame: RunnerFrame::Owner(execution) });
    }
    let execution = execution.ok_or_else(|| missing("execution"));
    let frame = match &*frame {
        "hello" => RunnerFrame::Hello(Hello { protocol, python, executable, notices }),
        "started" => RunnerFrame::Started { execution: execution?, execution_count },
        "display" => RunnerFrame::Event(Event::Display { data, metadata, display_id }),
        "update_display" => {
            let display_id = display_id.ok_or_else(|| missing("display_id"))?;
            RunnerFrame::Event(Event::UpdateDisplay { display_id, data, metadata })
        }
        "result" => RunnerFrame::Event(Event::Result { execution_count, data, metadata, display_id }),
        "clear_output" => RunnerFrame::Event(Event::ClearOutput { wait }),
        "error" => RunnerFrame::Event(Event::Error { name, message, traceback }),
        "input_requested" => RunnerFrame::Event(Event::InputRequested),
        "comm" | "widget" => {
            let content = content.ok_or_else(|| missing("content"))?;
            let kind = CommKind::named(&kind).ok_or_else(|| missing("kind"))?;
            let message = Box::new(content.message(kind, metadata, unpacked(&buffers)?));
            RunnerFrame::Comm { message, execution: owner }
        }
        "done" => {
            let status = match status.as_deref() {
                Some("ok") => Status::Ok,
                _ => Status::Error,
            };
            RunnerFrame::Done {
                execution: execution?,
                outcome: Outcome { status, execution_count, cancelled },
            }
        }
        other => return Err(serde::de::Error::custom(format!("there is no frame {other:?}"))),
    };
    let frame = match (frame, owner) {
        (RunnerFrame::Event(event), Some(execution)) => RunnerFrame::Late { execution, event },
        (frame, _) => frame,
    };
    Ok(RunnerLine::Placed { mark, frame })
}

/// Binary values, which are base64 in a frame.
fn unpacked(buffers: &[Cow<'_, str>]) -> serde_json::Result<Vec<Bytes>> {
    let unpack = |text: &Cow<'_, str>| STANDARD.decode(text.as_bytes()).map(Bytes::from);
    buffers.iter().map(unpack).collect::<Result<_, _>>().map_err(serde::de::Error::custom)
}

fn missing(field: &'static str) -> serde_json::Error {
    serde::de::Error::missing_field(field)
}

// Everything that a line may hold. Not a tagged enum: serde would buffer the fields, and buffered JSON does not stay
// as it was written.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    frame: Cow<'a, str>,
    mark: Option<u64>,
    execution: Option<u64>,
    owner: Option<u64>,
    execution_count: Option<u64>,
    // A picture may be large; borrowed text is copied once.
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    metadata: RawJson,
    display_id: Option<String>,
    #[serde(default)]
    wait: bool,
    #[serde(default)]
    name: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    traceback: Vec<String>,
    status: Option<String>,
    #[serde(default)]
    cancelled: bool,
    #[serde(default)]
    protocol: u64,
    #[serde(default)]
    python: String,
    #[serde(default)]
    executable: String,
    #[serde(default)]
    notices: Vec<String>,
    #[serde(default)]
    kind: String,
    content: Option<CommContent>,
    #[serde(default)]
    buffers: Vec<Cow<'a, str>>,
    reply_to: Option<u64>,
    error: Option<String>,
    #[serde(default)]
    matches: Vec<String>,
    #[serde(default)]
    start: usize,
    #[serde(default)]
    end: usize,
    #[serde(default)]
    found: bool,
    #[serde(default)]
    indent: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_keeps_its_json_as_it_was_written() {
        let line = br#"{"mark":3,"data":{"application/json":{"b":1e0,"a":2}},"metadata":{},"display_id":null,"frame":"display"}"#;
        let RunnerLine::Placed { mark: 3, frame: RunnerFrame::Event(Event::Display { data, .. }) } =
            read(line).unwrap()
        else {
            panic!("not a display");
        };
        assert_eq!(serde_json::to_string(&data).unwrap(), r#"{"application/json":{"b":1e0,"a":2}}"#);
    }

    #[test]
    fn a_message_to_a_widget_has_its_buffers() {
        let line = br#"{"mark":1,"frame":"comm","kind":"comm_open","owner":4,"metadata":{"version":"2"},"buffers":["AP8="],
            "content":{"comm_id":"c","target_name":"jupyter.widget","target_module":null,"data":{"state":{"a":1e0}}}}"#;
        let RunnerLine::Placed { frame: RunnerFrame::Comm { message, execution: Some(4) }, .. } =
            read(line).unwrap()
        else {
            panic!("not a message of execution 4");
        };
        assert_eq!((message.kind, message.target.as_deref()), (CommKind::Open, Some("jupyter.widget")));
        assert_eq!(
            (message.data.get(), message.metadata.get()),
            (r#"{"state":{"a":1e0}}"#, r#"{"version":"2"}"#)
        );
        assert_eq!(message.buffers, [&[0, 0xff][..]]);
        let sent = String::from_utf8(Ask::comm(ExecutionId(5), &message).line()).unwrap();
        let content =
            r#""content":{"comm_id":"c","data":{"state":{"a":1e0}},"target_name":"jupyter.widget"}"#;
        assert!(sent.starts_with(r#"{"request":"comm","execution":5,"kind":"comm_open""#), "{sent}");
        assert!(sent.contains(content) && sent.contains(r#""buffers":["AP8="]"#), "{sent}");
    }

    #[test]
    fn a_frame_that_is_not_known_is_refused() {
        assert_eq!(read(br#"{"frame":"x","mark":1}"#).unwrap_err().to_string(), "there is no frame \"x\"");
    }

    #[test]
    fn a_trace_has_the_names_of_variables_and_not_their_values() {
        let request =
            Request { variables: vec![("TOKEN".into(), Some("secret".into()))], ..Request::new("print(1)") };
        let line = Ask::execute(ExecutionId(4), &request).traced();
        assert!(line.contains("TOKEN") && line.contains("print(1)") && !line.contains("secret"), "{line}");
    }
}
