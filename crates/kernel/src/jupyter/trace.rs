//! Messages as lines of a trace, without secrets.

use std::fmt::Display;

use bytes::Bytes;

use super::lane::Channel;
use super::message::{Garbled, Message};
use crate::trace::Trace;

/// How much of a content is written down.
const SHOWN: usize = 2000;

#[derive(Clone, Default)]
pub(crate) struct Tracer(Option<Trace>);

impl Tracer {
    pub(crate) fn new(trace: Option<Trace>) -> Tracer {
        Tracer(trace)
    }

    pub(crate) fn line(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = &self.0 {
            trace.line(&line());
        }
    }

    /// A message that goes out: its frames are the delimiter, the signature and four parts of JSON.
    pub(crate) fn sent(&self, channel: Channel, frames: &[Bytes]) {
        self.line(|| {
            let part =
                |at: usize| frames.get(at).map(|part| String::from_utf8_lossy(part)).unwrap_or_default();
            format!("> {} {} {}", channel.name(), part(2), shown(&redacted(&part(5))))
        });
    }

    /// A message that came in, if it is one.
    pub(crate) fn received(&self, channel: Channel, message: Result<Message, Garbled>) -> Option<Message> {
        match message {
            Ok(message) => {
                self.line(|| {
                    let Message { kind, parent, content, .. } = &message;
                    let parent = parent.as_deref().unwrap_or("-");
                    format!("< {} {kind} {parent} {}", channel.name(), shown(content))
                });
                Some(message)
            }
            Err(garbled) => {
                self.line(|| format!("< {} refused: {garbled}", channel.name()));
                None
            }
        }
    }

    pub(crate) fn failed(&self, channel: Channel, error: &impl Display) {
        self.line(|| format!("! {} {error}", channel.name()));
    }
}

/// Code of our own may carry the values of variables.
fn redacted(content: &str) -> String {
    let Ok(serde_json::Value::Object(mut content)) = serde_json::from_str(content) else {
        return String::new();
    };
    if content.get("silent") == Some(&true.into())
        && let Some(serde_json::Value::String(code)) = content.get_mut("code")
    {
        *code = format!("[{} bytes of hidden code]", code.len());
    }
    serde_json::Value::Object(content).to_string()
}

fn shown(content: &str) -> String {
    match content.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… [{} bytes]", &content[..end], content.len()),
        None => content.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::super::message::{Key, Session};
    use super::*;

    #[test]
    fn neither_the_key_nor_a_variable_s_value_is_written_down() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = lines.clone();
        let tracer = Tracer::new(Some(Trace::new(move |line| written.lock().unwrap().push(line.to_owned()))));
        let session = Session::new(Key::new("the key")).unwrap();
        let hidden = json!({"code": "environ['TOKEN'] = 'hush'", "silent": true});
        let shown = json!({"code": "x".repeat(3000), "silent": false});
        for content in [hidden, shown] {
            let (_, frames) = session.build("execute_request", None, &content);
            tracer.sent(Channel::Shell, &frames);
        }
        tracer.received(Channel::Iopub, Err(Garbled::WrongSignature));
        let lines = lines.lock().unwrap();
        assert!(lines[0].starts_with("> shell {\"msg_id\":"));
        assert!(lines[0].contains("[25 bytes of hidden code]"));
        assert!(lines[1].len() < 2500 && lines[1].contains("xxx"));
        assert_eq!(lines[2], "< iopub refused: the signature does not fit");
        let text = lines.concat();
        assert!(!text.contains("hush") && !text.contains("the key"));
    }
}
