//! The way of OpenAI's chat completions, which many servers speak: Ollama, LM Studio, vLLM and others.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::account::{Account, Vendor};
use super::events::{self, Growing};
use super::{Event, Fault, Finish, Prompt, Tool, Usage};
use crate::message::{Image, Message, Part, Role};

pub(super) fn body(account: &Account, prompt: &Prompt) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": prompt.instructions })];
    prompt.messages.iter().for_each(|message| write(message, &mut messages));
    let mut body = json!({
        "model": account.model(),
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if !prompt.tools.is_empty() {
        let tool = |tool: &Tool| {
            json!({
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                },
            })
        };
        body["tools"] = prompt.tools.iter().map(tool).collect();
    }
    if account.vendor() == Vendor::OpenAi && account.is_usual_address() {
        body["max_completion_tokens"] = prompt.max_tokens.into();
    }
    body
}

fn write(message: &Message, messages: &mut Vec<Value>) {
    match message.role {
        Role::Model => {
            let mut text = String::new();
            let mut calls = Vec::new();
            for part in &message.parts {
                match part {
                    Part::Text(more) => text.push_str(more),
                    Part::Call(call) => calls.push(json!({
                        "id": call.id,
                        "type": "function",
                        "function": { "name": call.tool, "arguments": call.arguments.to_string() },
                    })),
                    Part::Image(_) | Part::Result(_) => {}
                }
            }
            let mut written = json!({ "role": "assistant" });
            written["content"] = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
            if !calls.is_empty() {
                written["tool_calls"] = calls.into();
            }
            messages.push(written);
        }
        Role::Person => {
            let mut content = Vec::new();
            for part in &message.parts {
                match part {
                    Part::Text(text) => content.push(json!({ "type": "text", "text": text })),
                    Part::Image(image) => content.push(picture(image)),
                    Part::Result(result) => {
                        messages.push(json!({
                            "role": "tool", "tool_call_id": result.call, "content": result.text,
                        }));
                        // What a tool shows has no place in its own message here.
                        content.extend(result.images.iter().map(picture));
                    }
                    Part::Call(_) => {}
                }
            }
            match content.as_slice() {
                [] => {}
                // Some servers know no other content than text.
                [only] if only["type"] == "text" => {
                    messages.push(json!({ "role": "user", "content": only["text"] }));
                }
                _ => messages.push(json!({ "role": "user", "content": content })),
            }
        }
    }
}

fn picture(image: &Image) -> Value {
    let url = format!("data:{};base64,{}", image.mime, image.data);
    json!({ "type": "image_url", "image_url": { "url": url } })
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    calls: BTreeMap<u64, Growing>,
    finish: Option<Finish>,
}

impl events::Reader for Reader {
    fn take(&mut self, piece: &Value) -> Result<Vec<Event>, Fault> {
        let mut events = Vec::new();
        let choice = &piece["choices"][0];
        if let Some(text) = choice["delta"]["content"].as_str().filter(|text| !text.is_empty()) {
            events.push(Event::Text(text.to_owned()));
        }
        for (at, more) in choice["delta"]["tool_calls"].as_array().into_iter().flatten().enumerate() {
            // Some servers number none of them, and send each whole.
            let index = more["index"].as_u64().unwrap_or(self.calls.len() as u64 + at as u64);
            let call = self.calls.entry(index).or_default();
            if let Some(id) = more["id"].as_str() {
                id.clone_into(&mut call.id);
            }
            call.tool.push_str(more["function"]["name"].as_str().unwrap_or_default());
            match &more["function"]["arguments"] {
                Value::String(text) => call.arguments.push_str(text),
                Value::Null => {}
                whole => call.arguments = whole.to_string(),
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(match reason {
                "length" => Finish::Length,
                "content_filter" => Finish::Refused,
                _ => Finish::Done,
            });
        }
        if let Some(usage) = piece.get("usage").filter(|usage| usage.is_object()) {
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            events.push(Event::Usage(Usage {
                input: count("prompt_tokens"),
                cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0),
                output: count("completion_tokens"),
                cost: usage["cost"].as_f64(),
            }));
        }
        Ok(events)
    }

    fn finish(&mut self) -> Vec<Event> {
        let calls = std::mem::take(&mut self.calls).into_values().enumerate();
        let calls = calls.map(|(number, call)| Event::Call(call.call(number)));
        calls.chain(self.finish.map(Event::End)).collect()
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }
}
