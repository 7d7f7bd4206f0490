//! Google's Gemini API.

use serde_json::{Value, json};

use super::decoder::StreamDecoder;
use super::{FinishReason, ModelEvent, ModelPrompt, ProviderError, TokenUsage, ToolSpec};
use crate::message::{MessageImage, MessagePart, MessageRole, ModelMessage, ToolCall};

pub(super) fn body(prompt: &ModelPrompt) -> Value {
    let contents: Vec<Value> = prompt.messages.iter().map(write_message).collect();
    let mut body = json!({
        "systemInstruction": { "parts": [{ "text": prompt.instructions }] },
        "contents": contents,
    });
    if !prompt.tools.is_empty() {
        let tool = |tool: &ToolSpec| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
            })
        };
        let tools: Vec<Value> = prompt.tools.iter().map(tool).collect();
        body["tools"] = json!([{ "functionDeclarations": tools }]);
    }
    body
}

fn write_message(message: &ModelMessage) -> Value {
    let role = match message.role {
        MessageRole::Person => "user",
        MessageRole::Model => "model",
    };
    let parts: Vec<Value> = message.parts.iter().flat_map(write_part).collect();
    json!({ "role": role, "parts": parts })
}

fn write_part(part: &MessagePart) -> Vec<Value> {
    match part {
        MessagePart::Text(text) => vec![json!({ "text": text })],
        MessagePart::Image(image) => vec![write_image(image)],
        MessagePart::Call(call) => {
            let args = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
            let mut written = json!({ "functionCall": { "name": call.tool, "args": args } });
            if let Some(mark) = &call.mark {
                written["thoughtSignature"] = json!(mark);
            }
            vec![written]
        }
        MessagePart::Result(result) => {
            let word = if result.is_failure { "error" } else { "output" };
            let response = json!({ "name": result.tool, "response": { word: result.text } });
            let mut written = vec![json!({ "functionResponse": response })];
            written.extend(result.images.iter().map(write_image));
            written
        }
    }
}

fn write_image(image: &MessageImage) -> Value {
    json!({ "inlineData": { "mimeType": image.mime, "data": image.data } })
}

#[derive(Debug, Default)]
pub(super) struct GeminiDecoder {
    usage: TokenUsage,
    calls: usize,
    finish: Option<FinishReason>,
}

impl StreamDecoder for GeminiDecoder {
    fn decode(&mut self, event: &Value) -> Result<Vec<ModelEvent>, ProviderError> {
        let mut events = Vec::new();
        let candidate = &event["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            // Thoughts are not part of the answer.
            if part["thought"] == true {
                continue;
            }
            if let Some(text) = part["text"].as_str().filter(|text| !text.is_empty()) {
                events.push(ModelEvent::Text(text.to_owned()));
            }
            if let Some(call) = part.get("functionCall") {
                let word = |value: &Value| value.as_str().map(str::to_owned);
                let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
                events.push(ModelEvent::Call(ToolCall {
                    id: word(&call["id"]).unwrap_or_else(|| format!("call-{}", self.calls)),
                    tool: word(&call["name"]).unwrap_or_default(),
                    arguments,
                    mark: word(&part["thoughtSignature"]),
                }));
                self.calls += 1;
            }
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(match reason {
                "MAX_TOKENS" => FinishReason::Length,
                "STOP" => FinishReason::Done,
                _ => FinishReason::Refused,
            });
        }
        if event["promptFeedback"]["blockReason"].is_string() {
            self.finish = Some(FinishReason::Refused);
        }
        if let Some(usage) = event.get("usageMetadata") {
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            self.usage = TokenUsage {
                input: count("promptTokenCount"),
                cached: count("cachedContentTokenCount"),
                output: count("candidatesTokenCount") + count("thoughtsTokenCount"),
                cost: None,
            };
        }
        Ok(events)
    }

    fn finish(&mut self) -> Vec<ModelEvent> {
        let end = ModelEvent::End(self.finish.unwrap_or(FinishReason::Done));
        vec![ModelEvent::Usage(self.usage), end]
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }
}
