//! Anthropic's Messages API.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::account::Account;
use super::decoder::{PartialCall, StreamDecoder};
use super::{FinishReason, ModelEvent, ModelPrompt, ProviderError, TokenUsage, ToolSpec};
use crate::message::{MessageImage, MessagePart, MessageRole, ModelMessage};

pub(super) fn body(account: &Account, prompt: &ModelPrompt) -> Value {
    let mut messages: Vec<Value> = prompt.messages.iter().map(write_message).collect();
    // The next step of the same answer repeats everything up to here.
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
        let tool = |tool: &ToolSpec| {
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

fn write_message(message: &ModelMessage) -> Value {
    let role = match message.role {
        MessageRole::Person => "user",
        MessageRole::Model => "assistant",
    };
    let content: Vec<Value> = message.parts.iter().filter_map(write_part).collect();
    json!({ "role": role, "content": content })
}

fn write_part(part: &MessagePart) -> Option<Value> {
    Some(match part {
        // The API rejects empty texts.
        MessagePart::Text(text) if text.trim().is_empty() => return None,
        MessagePart::Text(text) => json!({ "type": "text", "text": text }),
        MessagePart::Image(image) => write_image(image),
        MessagePart::Call(call) => {
            let input = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
            json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": input })
        }
        MessagePart::Result(result) => {
            let text = if result.text.trim().is_empty() { "(nothing)" } else { &result.text };
            let mut content = vec![json!({ "type": "text", "text": text })];
            content.extend(result.images.iter().map(write_image));
            json!({
                "type": "tool_result",
                "tool_use_id": result.call,
                "content": content,
                "is_error": result.is_failure,
            })
        }
    })
}

fn write_image(image: &MessageImage) -> Value {
    json!({
        "type": "image",
        "source": { "type": "base64", "media_type": image.mime, "data": image.data },
    })
}

#[derive(Debug, Default)]
pub(super) struct AnthropicDecoder {
    calls: BTreeMap<u64, PartialCall>,
    usage: TokenUsage,
    finish: Option<FinishReason>,
    is_over: bool,
}

impl StreamDecoder for AnthropicDecoder {
    fn decode(&mut self, event: &Value) -> Result<Vec<ModelEvent>, ProviderError> {
        let mut events = Vec::new();
        let index = event["index"].as_u64().unwrap_or(0);
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&event["message"]["usage"]),
            "content_block_start" => {
                let block = &event["content_block"];
                let word = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
                match block["type"].as_str() {
                    Some("tool_use") => {
                        // The arguments follow as deltas.
                        let call =
                            PartialCall { id: word("id"), tool: word("name"), arguments: String::new() };
                        self.calls.insert(index, call);
                    }
                    Some("text") => events
                        .extend(Some(word("text")).filter(|text| !text.is_empty()).map(ModelEvent::Text)),
                    Some(_) | None => {}
                }
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                if let Some(text) = delta["text"].as_str().filter(|text| !text.is_empty()) {
                    events.push(ModelEvent::Text(text.to_owned()));
                }
                if let (Some(more), Some(call)) = (delta["partial_json"].as_str(), self.calls.get_mut(&index))
                {
                    call.arguments.push_str(more);
                }
            }
            "message_delta" => {
                self.count(&event["usage"]);
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.finish = Some(match reason {
                        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
                        "refusal" => FinishReason::Refused,
                        _ => FinishReason::Done,
                    });
                }
            }
            "message_stop" => self.is_over = true,
            _ => {}
        }
        Ok(events)
    }

    fn finish(&mut self) -> Vec<ModelEvent> {
        let calls = std::mem::take(&mut self.calls).into_values().enumerate();
        let calls = calls.map(|(number, call)| ModelEvent::Call(call.complete(number)));
        let end = [ModelEvent::Usage(self.usage), ModelEvent::End(self.finish.unwrap_or(FinishReason::Done))];
        calls.chain(end).collect()
    }

    fn is_complete(&self) -> bool {
        self.is_over
    }
}

impl AnthropicDecoder {
    /// Counts are cumulative, and unchanged ones may be missing.
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
