//! Formats an answer for the protocol of each provider.

use serde_json::{Value, json};

/// The protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelProtocol {
    OpenAi,
    Anthropic,
    Gemini,
}

/// A streamed answer as server-sent events.
pub(super) struct StreamedAnswer {
    pub(super) before: String,
    pub(super) pieces: Vec<String>,
    pub(super) after: String,
}

/// The reported number of input tokens.
const INPUT: u64 = 100;
const OUTPUT: u64 = 20;

impl ModelProtocol {
    pub(super) fn of(path: &str) -> Option<ModelProtocol> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            _ if path.ends_with("/chat/completions") => Some(ModelProtocol::OpenAi),
            _ if path.ends_with("/v1/messages") => Some(ModelProtocol::Anthropic),
            _ if path.ends_with(":streamGenerateContent") => Some(ModelProtocol::Gemini),
            _ => None,
        }
    }

    /// An error response.
    pub(super) fn failure(self, status: u16, words: &str) -> Value {
        match self {
            ModelProtocol::OpenAi => json!({ "error": { "message": words, "type": "error", "code": null } }),
            ModelProtocol::Anthropic => {
                json!({ "type": "error", "error": { "type": "api_error", "message": words } })
            }
            ModelProtocol::Gemini => {
                json!({ "error": { "code": status, "message": words, "status": "UNAVAILABLE" } })
            }
        }
    }

    pub(super) fn answer(
        self,
        pieces: &[String],
        calls: &[(String, Value)],
        is_too_long: bool,
        number: usize,
    ) -> StreamedAnswer {
        match self {
            ModelProtocol::OpenAi => openai(pieces, calls, is_too_long, number),
            ModelProtocol::Anthropic => anthropic(pieces, calls, is_too_long, number),
            ModelProtocol::Gemini => gemini(pieces, calls, is_too_long),
        }
    }
}

fn openai(pieces: &[String], calls: &[(String, Value)], is_too_long: bool, number: usize) -> StreamedAnswer {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": "scripted", "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), Value::Null)
    };
    let before = delta(json!({ "role": "assistant", "content": "" }), Value::Null);
    let mut said: Vec<String> =
        pieces.iter().map(|piece| delta(json!({ "content": piece }), Value::Null)).collect();
    for (index, (tool, arguments)) in calls.iter().enumerate() {
        let id = format!("call_{number}_{index}");
        let begin = json!({ "index": index, "id": id, "type": "function", "function": { "name": tool, "arguments": "" } });
        said.push(delta(json!({ "tool_calls": [begin] }), Value::Null));
        for part in halves(&arguments.to_string()) {
            let more = json!({ "index": index, "function": { "arguments": part } });
            said.push(delta(json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    let reason = match (is_too_long, calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    };
    let usage =
        json!({ "prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT });
    let end = delta(json!({}), json!(reason)) + &chunk(json!([]), usage) + "data: [DONE]\n\n";
    StreamedAnswer { before, pieces: said, after: end }
}

fn anthropic(
    pieces: &[String],
    calls: &[(String, Value)],
    is_too_long: bool,
    number: usize,
) -> StreamedAnswer {
    let event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        format!("event: {kind}\ndata: {data}\n\n")
    };
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "scripted",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": INPUT, "output_tokens": 1 },
    });
    let before = event("message_start", json!({ "message": message })) + &event("ping", json!({}));
    let mut said = Vec::new();
    let mut index = 0;
    if !pieces.is_empty() {
        let block = json!({ "type": "text", "text": "" });
        let mut start = event("content_block_start", json!({ "index": index, "content_block": block }));
        for piece in pieces {
            let delta = json!({ "type": "text_delta", "text": piece });
            said.push(
                std::mem::take(&mut start)
                    + &event("content_block_delta", json!({ "index": index, "delta": delta })),
            );
        }
    }
    let mut close = match pieces.is_empty() {
        true => String::new(),
        false => event("content_block_stop", json!({ "index": index })),
    };
    index += usize::from(!pieces.is_empty());
    for (at, (tool, arguments)) in calls.iter().enumerate() {
        let block =
            json!({ "type": "tool_use", "id": format!("toolu_{number}_{at}"), "name": tool, "input": {} });
        let mut text = std::mem::take(&mut close);
        text += &event("content_block_start", json!({ "index": index, "content_block": block }));
        for part in halves(&arguments.to_string()) {
            let delta = json!({ "type": "input_json_delta", "partial_json": part });
            text += &event("content_block_delta", json!({ "index": index, "delta": delta }));
        }
        said.push(text + &event("content_block_stop", json!({ "index": index })));
        index += 1;
    }
    let reason = match (is_too_long, calls.is_empty()) {
        (true, _) => "max_tokens",
        (false, true) => "end_turn",
        (false, false) => "tool_use",
    };
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    let end = event("message_delta", json!({ "delta": delta, "usage": { "output_tokens": OUTPUT } }));
    StreamedAnswer { before, pieces: said, after: close + &end + &event("message_stop", json!({})) }
}

fn gemini(pieces: &[String], calls: &[(String, Value)], is_too_long: bool) -> StreamedAnswer {
    let chunk = |parts: Value, finish: Option<&str>| {
        let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
        let mut usage = json!({ "promptTokenCount": INPUT });
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
            usage["candidatesTokenCount"] = json!(OUTPUT);
            usage["totalTokenCount"] = json!(INPUT + OUTPUT);
        }
        let chunk = json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted" });
        format!("data: {chunk}\r\n\r\n")
    };
    let mut said: Vec<String> = pieces.iter().map(|piece| chunk(json!([{ "text": piece }]), None)).collect();
    for (tool, arguments) in calls {
        let call = json!({ "functionCall": { "name": tool, "args": arguments } });
        said.push(chunk(json!([call]), None));
    }
    let reason = if is_too_long { "MAX_TOKENS" } else { "STOP" };
    StreamedAnswer {
        before: String::new(),
        pieces: said,
        after: chunk(json!([{ "text": "" }]), Some(reason)),
    }
}

/// Splits arguments into pieces that are not valid JSON alone.
fn halves(text: &str) -> [&str; 2] {
    let middle = text.floor_char_boundary(text.len() / 2);
    [&text[..middle], &text[middle..]]
}
