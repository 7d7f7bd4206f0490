//! The output in a kernel's messages, as something to tell.

use std::borrow::Cow;

use cellist_output::{MimeBundle, RawJson, StreamName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::Event;
use crate::jupyter::message::Message;
use crate::jupyter::text::JsonText;

/// Something to tell, in order. A stream's text is turned into events when there is room for them.
#[derive(Debug)]
pub(in crate::jupyter) enum OutputItem {
    Event(Event),
    Text { name: StreamName, text: JsonText, late: bool },
}

impl OutputItem {
    /// The event that it is, unless it is text.
    pub(in crate::jupyter) fn into_event(self) -> Option<Event> {
        match self {
            OutputItem::Event(event) => Some(event),
            OutputItem::Text { .. } => None,
        }
    }

    /// The approximate memory of a message of that size.
    pub(in crate::jupyter) fn size(&self, message: usize) -> usize {
        // A short text keeps the whole message that it stands in, headers and all.
        const AROUND: usize = 1024;
        match self {
            OutputItem::Event(_) => message + AROUND,
            OutputItem::Text { text, .. } => text.len() + AROUND,
        }
    }
}

/// The output in a message, if it is one.
pub(super) fn output(kind: &str, message: &Message) -> Vec<OutputItem> {
    let item = match kind {
        "stream" => stream(message),
        "display_data" => display(message).map(|Displayed { data, metadata, display_id, .. }| {
            OutputItem::Event(Event::Display { data, metadata, display_id })
        }),
        "execute_result" => {
            display(message).map(|Displayed { data, metadata, display_id, execution_count }| {
                OutputItem::Event(Event::Result { execution_count, data, metadata, display_id })
            })
        }
        "update_display_data" => {
            display(message).and_then(|Displayed { data, metadata, display_id, .. }| {
                Some(OutputItem::Event(Event::UpdateDisplay { display_id: display_id?, data, metadata }))
            })
        }
        "clear_output" => {
            message.read().ok().map(|ClearContent { wait }| OutputItem::Event(Event::ClearOutput { wait }))
        }
        "error" => message.read().ok().map(|ErrorContent { ename, evalue, traceback }| {
            OutputItem::Event(Event::Error { name: ename, message: evalue, traceback })
        }),
        _ => return Vec::new(),
    };
    // Output that cannot be read is output that is lost.
    vec![item.unwrap_or(OutputItem::Event(Event::OutputLost))]
}

/// A display or a result, or an update of one.
struct Displayed {
    data: MimeBundle,
    metadata: RawJson,
    display_id: Option<String>,
    execution_count: Option<u64>,
}

fn display(message: &Message) -> Option<Displayed> {
    let DisplayContent { data, metadata, transient, execution_count } = message.read().ok()?;
    let data = MimeBundle::read_within(data, &message.content).ok()?;
    Some(Displayed { data, metadata, display_id: transient.display_id, execution_count })
}

/// The text in a message of a stream.
pub(super) fn stream(message: &Message) -> Option<OutputItem> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow, default)]
        name: Cow<'a, str>,
        #[serde(borrow)]
        text: &'a RawValue,
    }
    let content: Content<'_> = message.read().ok()?;
    let name = if content.name == "stderr" { StreamName::Stderr } else { StreamName::Stdout };
    let json = content.text.get();
    json.starts_with('"').then(|| OutputItem::Text {
        name,
        text: JsonText::new(message.content.slice_ref(json).into_bytes()),
        late: false,
    })
}

#[derive(Deserialize)]
struct DisplayContent<'a> {
    // A picture may be large; it stays where it is.
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(default)]
    metadata: RawJson,
    #[serde(default)]
    transient: Transient,
    #[serde(default)]
    execution_count: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Transient {
    display_id: Option<String>,
}

#[derive(Deserialize)]
struct ClearContent {
    #[serde(default)]
    wait: bool,
}

#[derive(Deserialize)]
struct ErrorContent {
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
    #[serde(default)]
    traceback: Vec<String>,
}
