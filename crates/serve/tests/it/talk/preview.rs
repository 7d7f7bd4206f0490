//! The preview of a message equals the message that is sent.

use serde_json::{Value, json};
use testkit::{ModelRequest, Said};

use super::{Room, message, send, until};

/// The texts of a request, message by message.
fn texts(asked: &ModelRequest) -> Vec<(String, Vec<String>)> {
    let part = |part: &Value| match part["type"].as_str().unwrap() {
        "text" => part["text"].as_str().unwrap().to_owned(),
        "tool_use" => format!("[calls {}] {}", part["name"].as_str().unwrap(), part["input"]),
        "tool_result" => part["content"][0]["text"].as_str().unwrap().to_owned(),
        other => panic!("{other}"),
    };
    let message = |message: &Value| {
        let parts = message["content"].as_array().unwrap().iter().map(part).collect();
        (message["role"].as_str().unwrap().to_owned(), parts)
    };
    asked.body["messages"].as_array().unwrap().iter().map(message).collect()
}

fn check(seen: &Value, asked: &ModelRequest) {
    assert_eq!(seen["instructions"], asked.body["system"][0]["text"]);
    let tools = |tools: &Value| -> Vec<(Value, Value)> {
        let tools = tools.as_array().unwrap().iter();
        tools.map(|tool| (tool["name"].clone(), tool["description"].clone())).collect()
    };
    assert_eq!(tools(&seen["tools"]), tools(&asked.body["tools"]));
    let sent = texts(asked);
    assert_eq!(seen["messages"].as_array().unwrap().len(), sent.len());
    for (shown, (role, parts)) in seen["messages"].as_array().unwrap().iter().zip(&sent) {
        let expected = if role == "user" { "person" } else { "model" };
        assert_eq!(shown["role"], json!(expected));
        let mut text = shown["text"].as_str().unwrap();
        for part in parts {
            let at = text.find(part.as_str()).unwrap_or_else(|| panic!("{part:?} is not in {text:?}"));
            // Only the name of the tool is between the texts.
            assert!(at < 40, "{text}");
            text = &text[at + part.len()..];
        }
        assert_eq!(text, "");
    }
    let length = asked.headers.iter().find(|(name, _)| name == "content-length").unwrap();
    assert_eq!(seen["bytes"].to_string(), length.1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_preview_equals_the_request_and_has_no_key() {
    let room = Room::new([
        Said::text(&["I look."]).and_call("get_notebook_cells", json!({})),
        Said::text(&["Fine."]),
        Said::text(&["Fine again."]),
    ])
    .await;
    room.settings("api_key = \"hush-hush-hush\"\n");
    let mut page = room.page().await;
    for (words, request) in [("is hush-hush-hush good?", 0), ("and now? #runNotebookCells", 2)] {
        let mut said = message("ask", words);
        said["selected"] = json!(["b"]);
        let seen = page.on_chat("preview", json!({ "message": said })).await["Ok"]["preview"].clone();
        assert_eq!(seen["notebook_mode"], json!(true), "{seen}");
        send(&mut page, said).await;
        until(&mut page, "ended").await;
        let asked = room.models.asked()[request].clone();
        assert!(!seen.to_string().contains("hush") && !asked.body.to_string().contains("hush"));
        check(&seen, &asked);
    }
    assert_eq!(room.models.asked().len(), 3, "nothing is sent for a look");
}
