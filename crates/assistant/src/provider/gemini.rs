//! The way of Google's Gemini.

use serde_json::{Value, json};

use super::events;
use super::{Event, Fault, Finish, Prompt, Tool, Usage};
use crate::message::{Image, Message, Part, Role, ToolCall};

pub(super) fn body(prompt: &Prompt) -> Value {
    let contents: Vec<Value> = prompt.messages.iter().map(write).collect();
    let mut body = json!({
        "systemInstruction": { "parts": [{ "text": prompt.instructions }] },
        "contents": contents,
    });
    if !prompt.tools.is_empty() {
        let tool = |tool: &Tool| {
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

fn write(message: &Message) -> Value {
    let role = match message.role {
        Role::Person => "user",
        Role::Model => "model",
    };
    let parts: Vec<Value> = message.parts.iter().flat_map(part).collect();
    json!({ "role": role, "parts": parts })
}

fn part(part: &Part) -> Vec<Value> {
    match part {
        Part::Text(text) => vec![json!({ "text": text })],
        Part::Image(image) => vec![picture(image)],
        Part::Call(call) => {
            let args = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
            let mut written = json!({ "functionCall": { "name": call.tool, "args": args } });
            if let Some(mark) = &call.mark {
                written["thoughtSignature"] = json!(mark);
            }
            vec![written]
        }
        Part::Result(result) => {
            let word = if result.is_failure { "error" } else { "output" };
            let response = json!({ "name": result.tool, "response": { word: result.text } });
            let mut written = vec![json!({ "functionResponse": response })];
            written.extend(result.images.iter().map(picture));
            written
        }
    }
}

fn picture(image: &Image) -> Value {
    json!({ "inlineData": { "mimeType": image.mime, "data": image.data } })
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    usage: Usage,
    calls: usize,
    finish: Option<Finish>,
}

impl events::Reader for Reader {
    fn take(&mut self, piece: &Value) -> Result<Vec<Event>, Fault> {
        let mut events = Vec::new();
        let candidate = &piece["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            // What it thinks is not what it says.
            if part["thought"] == true {
                continue;
            }
            if let Some(text) = part["text"].as_str().filter(|text| !text.is_empty()) {
                events.push(Event::Text(text.to_owned()));
            }
            if let Some(call) = part.get("functionCall") {
                let word = |value: &Value| value.as_str().map(str::to_owned);
                let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
                events.push(Event::Call(ToolCall {
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
                "MAX_TOKENS" => Finish::Length,
                "STOP" => Finish::Done,
                _ => Finish::Refused,
            });
        }
        if piece["promptFeedback"]["blockReason"].is_string() {
            self.finish = Some(Finish::Refused);
        }
        if let Some(usage) = piece.get("usageMetadata") {
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            self.usage = Usage {
                input: count("promptTokenCount"),
                cached: count("cachedContentTokenCount"),
                output: count("candidatesTokenCount") + count("thoughtsTokenCount"),
                cost: None,
            };
        }
        Ok(events)
    }

    fn finish(&mut self) -> Vec<Event> {
        let end = Event::End(self.finish.unwrap_or(Finish::Done));
        vec![Event::Usage(self.usage), end]
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }
}
