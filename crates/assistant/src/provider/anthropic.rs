//! The way of Anthropic's messages.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::account::Account;
use super::events::{self, Growing};
use super::{Event, Fault, Finish, Prompt, Tool, Usage};
use crate::message::{Image, Message, Part, Role};

pub(super) fn body(account: &Account, prompt: &Prompt) -> Value {
    let mut messages: Vec<Value> = prompt.messages.iter().map(write).collect();
    // All up to here is read again with the next step of the same answer.
    if let Some(last) = messages.last_mut().and_then(|last| last["content"].as_array_mut()?.last_mut()) {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
    let mut body = json!({
        "model": account.model(),
        "max_tokens": prompt.max_tokens,
        "stream": true,
        "system": [{ "type": "text", "text": prompt.instructions, "cache_control": { "type": "ephemeral" } }],
        "messages": messages,
    });
    if !prompt.tools.is_empty() {
        let tool = |tool: &Tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.schema,
            })
        };
        body["tools"] = prompt.tools.iter().map(tool).collect();
    }
    body
}

fn write(message: &Message) -> Value {
    let role = match message.role {
        Role::Person => "user",
        Role::Model => "assistant",
    };
    let content: Vec<Value> = message.parts.iter().filter_map(part).collect();
    json!({ "role": role, "content": content })
}

fn part(part: &Part) -> Option<Value> {
    Some(match part {
        // Empty texts are refused.
        Part::Text(text) if text.trim().is_empty() => return None,
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image(image) => picture(image),
        Part::Call(call) => {
            let input = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
            json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": input })
        }
        Part::Result(result) => {
            let text = if result.text.trim().is_empty() { "(nothing)" } else { &result.text };
            let mut content = vec![json!({ "type": "text", "text": text })];
            content.extend(result.images.iter().map(picture));
            json!({
                "type": "tool_result",
                "tool_use_id": result.call,
                "content": content,
                "is_error": result.is_failure,
            })
        }
    })
}

fn picture(image: &Image) -> Value {
    json!({
        "type": "image",
        "source": { "type": "base64", "media_type": image.mime, "data": image.data },
    })
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    calls: BTreeMap<u64, Growing>,
    usage: Usage,
    finish: Option<Finish>,
    is_over: bool,
}

impl events::Reader for Reader {
    fn take(&mut self, piece: &Value) -> Result<Vec<Event>, Fault> {
        let mut events = Vec::new();
        let index = piece["index"].as_u64().unwrap_or(0);
        match piece["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&piece["message"]["usage"]),
            "content_block_start" => {
                let block = &piece["content_block"];
                let word = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
                match block["type"].as_str() {
                    Some("tool_use") => {
                        // What is streamed begins with nothing.
                        let call = Growing { id: word("id"), tool: word("name"), arguments: String::new() };
                        self.calls.insert(index, call);
                    }
                    Some("text") => {
                        events.extend(Some(word("text")).filter(|text| !text.is_empty()).map(Event::Text))
                    }
                    Some(_) | None => {}
                }
            }
            "content_block_delta" => {
                let delta = &piece["delta"];
                if let Some(text) = delta["text"].as_str().filter(|text| !text.is_empty()) {
                    events.push(Event::Text(text.to_owned()));
                }
                if let (Some(more), Some(call)) = (delta["partial_json"].as_str(), self.calls.get_mut(&index))
                {
                    call.arguments.push_str(more);
                }
            }
            "message_delta" => {
                self.count(&piece["usage"]);
                if let Some(reason) = piece["delta"]["stop_reason"].as_str() {
                    self.finish = Some(match reason {
                        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
                        "refusal" => Finish::Refused,
                        _ => Finish::Done,
                    });
                }
            }
            "message_stop" => self.is_over = true,
            _ => {}
        }
        Ok(events)
    }

    fn finish(&mut self) -> Vec<Event> {
        let calls = std::mem::take(&mut self.calls).into_values().enumerate();
        let calls = calls.map(|(number, call)| Event::Call(call.call(number)));
        let end = [Event::Usage(self.usage), Event::End(self.finish.unwrap_or(Finish::Done))];
        calls.chain(end).collect()
    }

    fn is_complete(&self) -> bool {
        self.is_over
    }
}

impl Reader {
    /// Counts are of all so far, and what did not change may be left out.
    fn count(&mut self, usage: &Value) {
        let number = |name: &str| usage[name].as_u64();
        let cached = number("cache_read_input_tokens");
        if let Some(input) = number("input_tokens") {
            let written = number("cache_creation_input_tokens").unwrap_or(0);
            self.usage.input = input + written + cached.unwrap_or(0);
        }
        self.usage.cached = cached.unwrap_or(self.usage.cached);
        self.usage.output = number("output_tokens").unwrap_or(self.usage.output);
    }
}
