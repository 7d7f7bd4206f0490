//! Messages between a program and its widgets, in the widgets' own protocol.

use bytes::Bytes;
use cellist_output::RawJson;
use serde::{Deserialize, Serialize};

/// A message of a program to a widget, or of a widget to its program.
#[derive(Clone, Debug, PartialEq)]
pub struct CommMessage {
    /// Where it stands in the widget's life.
    pub kind: CommKind,
    /// The widget's model.
    pub comm_id: String,
    /// The name that the receiver has registered for such messages; only in the first message.
    pub target: Option<String>,
    /// A JSON object. A widget's has the changed part of its state.
    pub data: RawJson,
    /// A JSON object.
    pub metadata: RawJson,
    /// Binary values, whose places `data` names.
    pub buffers: Vec<Bytes>,
    /// The name of the request that the message belongs to, as the program knows it. An Output widget whose `msg_id` is
    /// that name takes the outputs of that request.
    pub request: Option<String>,
    /// Whether that request is an earlier one than the one that runs.
    pub late: bool,
}

/// Where a message stands in the life of its widget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommKind {
    /// The first message, with the whole state.
    Open,
    /// A change of the state, or a message of the widget's own.
    Message,
    /// The last message.
    Close,
}

impl CommKind {
    /// The name of such a message.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CommKind::Open => "comm_open",
            CommKind::Message => "comm_msg",
            CommKind::Close => "comm_close",
        }
    }

    /// Reads the name of a message.
    pub(crate) fn named(name: &str) -> Option<CommKind> {
        match name {
            "comm_open" => Some(CommKind::Open),
            "comm_msg" => Some(CommKind::Message),
            "comm_close" => Some(CommKind::Close),
            _ => None,
        }
    }
}

impl CommMessage {
    /// The content of the message on the wire.
    pub(crate) fn content(&self) -> SentComm<'_> {
        SentComm { comm_id: &self.comm_id, data: &self.data, target_name: self.target.as_deref() }
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn size(&self) -> usize {
        self.data.get().len() + self.buffers.iter().map(Bytes::len).sum::<usize>()
    }
}

/// The content of a message to a program.
#[derive(Serialize)]
pub(crate) struct SentComm<'a> {
    comm_id: &'a str,
    data: &'a RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_name: Option<&'a str>,
}

/// The content of a message of a program.
#[derive(Debug, Deserialize)]
pub(crate) struct CommContent {
    comm_id: String,
    #[serde(default)]
    target_name: Option<String>,
    #[serde(default)]
    data: RawJson,
}

impl CommContent {
    /// The message of this content.
    pub(crate) fn message(self, kind: CommKind, metadata: RawJson, buffers: Vec<Bytes>) -> CommMessage {
        let CommContent { comm_id, target_name, data } = self;
        CommMessage {
            kind,
            comm_id,
            target: target_name,
            data,
            metadata,
            buffers,
            request: None,
            late: false,
        }
    }
}
