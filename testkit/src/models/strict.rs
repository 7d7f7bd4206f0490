//! Requests that real providers refuse: calls without results, results without calls, and two user
//! messages in a row.

use std::collections::HashSet;

use serde_json::Value;

use super::dialect::ModelProtocol;

pub(super) fn check(dialect: ModelProtocol, body: &Value) -> Result<(), String> {
    match dialect {
        ModelProtocol::OpenAi => openai(body),
        ModelProtocol::Anthropic => anthropic(body),
        ModelProtocol::Gemini => gemini(body),
    }
}

fn openai(body: &Value) -> Result<(), String> {
    let messages = list(body, "messages")?;
    let mut open: HashSet<&str> = HashSet::new();
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                return Err(format!("the result {id} belongs to no call"));
            }
            continue;
        }
        if !open.is_empty() {
            return Err(format!("no results for {open:?}"));
        }
        match role {
            "system" | "developer" | "user" => {}
            "assistant" => {
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                open.extend(calls.filter_map(|call| call["id"].as_str()));
                if open.is_empty() && message["content"].is_null() {
                    return Err("an assistant says nothing".to_owned());
                }
            }
            other => return Err(format!("there is no role {other:?}")),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("no results for {open:?}")) }
}

fn anthropic(body: &Value) -> Result<(), String> {
    if body["max_tokens"].as_u64().is_none() {
        return Err("max_tokens: Field required".to_owned());
    }
    let messages = list(body, "messages")?;
    let mut open: HashSet<&str> = HashSet::new();
    let mut last = "assistant";
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        if role == last || !["user", "assistant"].contains(&role) {
            return Err(format!(
                "roles must alternate between user and assistant, and {role:?} follows {last:?}"
            ));
        }
        last = role;
        let content = match &message["content"] {
            Value::String(_) => continue,
            content => {
                content.as_array().filter(|parts| !parts.is_empty()).ok_or("content must not be empty")?
            }
        };
        for part in content {
            if part["type"] == "text" && part["text"].as_str().is_none_or(str::is_empty) {
                return Err("text content blocks must be non-empty".to_owned());
            }
            if part["type"] == "tool_result" && !open.remove(part["tool_use_id"].as_str().unwrap_or_default())
            {
                return Err("a tool_result belongs to no tool_use".to_owned());
            }
        }
        if !open.is_empty() {
            return Err(format!("no tool_result for {open:?}"));
        }
        let calls = content.iter().filter(|part| part["type"] == "tool_use");
        open.extend(calls.filter_map(|call| call["id"].as_str()));
    }
    Ok(())
}

fn gemini(body: &Value) -> Result<(), String> {
    let mut waiting = 0;
    for content in list(body, "contents")? {
        let parts =
            content["parts"].as_array().filter(|parts| !parts.is_empty()).ok_or("parts must not be empty")?;
        let count = |name: &str| parts.iter().filter(|part| part.get(name).is_some()).count();
        if count("functionResponse") != waiting {
            return Err(
                "the number of function response parts must equal that of function call parts".to_owned()
            );
        }
        waiting = count("functionCall");
    }
    Ok(())
}

fn list<'a>(body: &'a Value, name: &str) -> Result<&'a Vec<Value>, String> {
    body[name].as_array().filter(|list| !list.is_empty()).ok_or_else(|| format!("{name} must not be empty"))
}
