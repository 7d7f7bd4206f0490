//! OpenAI's Chat Completions API, also served by Ollama, LM Studio, vLLM and others.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::account::{Account, Vendor};
use super::decoder::{PartialCall, StreamDecoder};
use super::{FinishReason, ModelEvent, ModelPrompt, ProviderError, TokenUsage, ToolSpec};
use crate::message::{MessageImage, MessagePart, MessageRole, ModelMessage};

pub(super) fn body(account: &Account, prompt: &ModelPrompt) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": prompt.instructions })];
    prompt.messages.iter().for_each(|message| write_message(message, &mut messages));
    let mut body = json!({
        "model": account.model(),
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if !prompt.tools.is_empty() {
        let tool = |tool: &ToolSpec| {
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
    if account.vendor() == Vendor::OpenAi && account.is_default_address() {
        body["max_completion_tokens"] = prompt.max_tokens.into();
    }
    body
}

fn write_message(message: &ModelMessage, messages: &mut Vec<Value>) {
    match message.role {
        MessageRole::Model => {
            let mut text = String::new();
            let mut calls = Vec::new();
            for part in &message.parts {
                match part {
                    MessagePart::Text(more) => text.push_str(more),
                    MessagePart::Call(call) => calls.push(json!({
                        "id": call.id,
                        "type": "function",
                        "function": { "name": call.tool, "arguments": call.arguments.to_string() },
                    })),
                    MessagePart::Image(_) | MessagePart::Result(_) => {}
                }
            }
            let mut written = json!({ "role": "assistant" });
            written["content"] = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
            if !calls.is_empty() {
                written["tool_calls"] = calls.into();
            }
            messages.push(written);
        }
        MessageRole::Person => {
            let mut content = Vec::new();
            for part in &message.parts {
                match part {
                    MessagePart::Text(text) => content.push(json!({ "type": "text", "text": text })),
                    MessagePart::Image(image) => content.push(write_image(image)),
                    MessagePart::Result(result) => {
                        messages.push(json!({
                            "role": "tool", "tool_call_id": result.call, "content": result.text,
                        }));
                        // A tool message cannot carry images.
                        content.extend(result.images.iter().map(write_image));
                    }
                    MessagePart::Call(_) => {}
                }
            }
            match content.as_slice() {
                [] => {}
                // Some servers accept only plain text as content.
                [only] if only["type"] == "text" => {
                    messages.push(json!({ "role": "user", "content": only["text"] }));
                }
                _ => messages.push(json!({ "role": "user", "content": content })),
            }
        }
    }
}

fn write_image(image: &MessageImage) -> Value {
    let url = format!("data:{};base64,{}", image.mime, image.data);
    json!({ "type": "image_url", "image_url": { "url": url } })
}

#[derive(Debug, Default)]
pub(super) struct OpenAiDecoder {
    calls: BTreeMap<u64, PartialCall>,
    finish: Option<FinishReason>,
}

impl StreamDecoder for OpenAiDecoder {
    fn decode(&mut self, event: &Value) -> Result<Vec<ModelEvent>, ProviderError> {
        let mut events = Vec::new();
        let choice = &event["choices"][0];
        if let Some(text) = choice["delta"]["content"].as_str().filter(|text| !text.is_empty()) {
            events.push(ModelEvent::Text(text.to_owned()));
        }
        for (at, more) in choice["delta"]["tool_calls"].as_array().into_iter().flatten().enumerate() {
            // Some servers omit the index and send each call whole.
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
                "length" => FinishReason::Length,
                "content_filter" => FinishReason::Refused,
                _ => FinishReason::Done,
            });
        }
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            events.push(ModelEvent::Usage(TokenUsage {
                input: count("prompt_tokens"),
                cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0),
                output: count("completion_tokens"),
                cost: usage["cost"].as_f64(),
            }));
        }
        Ok(events)
    }

    fn finish(&mut self) -> Vec<ModelEvent> {
        let calls = std::mem::take(&mut self.calls).into_values().enumerate();
        let calls = calls.map(|(number, call)| ModelEvent::Call(call.complete(number)));
        calls.chain(self.finish.map(ModelEvent::End)).collect()
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }
}
