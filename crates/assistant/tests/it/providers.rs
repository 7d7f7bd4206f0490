//! Each API over a real connection: requests, streamed responses and failures.

use std::time::Duration;

use cellist_assistant::{
    Account, FinishReason, MessageImage, MessagePart, ModelEvent, ModelMessage, ModelPrompt, Provider,
    ProviderError, ProviderTimeouts, TokenUsage, ToolCall, ToolResult,
};
use cellist_settings::{Chat, ChatProvider};
use cellist_tools::ToolName;
use serde_json::{Value, json};
use testkit::{Models, Said};

const LONG: Duration = Duration::from_secs(60);
const ALL: [ChatProvider; 3] = [ChatProvider::OpenAi, ChatProvider::Anthropic, ChatProvider::Gemini];

fn provider(models: &Models, vendor: ChatProvider) -> Provider {
    let below = if vendor == ChatProvider::OpenAi { "/v1" } else { "" };
    let chat = Chat {
        provider: vendor,
        model: Some("scripted".to_owned()),
        base_url: Some(models.url() + below),
        ..Chat::default()
    };
    Provider::new(Account::find(&chat, &Default::default()).unwrap())
}

/// A prompt with a message, a call and its result.
fn prompt() -> ModelPrompt {
    let call = ToolCall {
        id: "call-0".to_owned(),
        tool: "get_cell_outputs".to_owned(),
        arguments: json!({ "cell": 3 }),
        mark: None,
    };
    let result = ToolResult {
        call: "call-0".to_owned(),
        tool: "get_cell_outputs".to_owned(),
        text: "42".to_owned(),
        images: vec![MessageImage { mime: "image/png".to_owned(), data: "iVBO".to_owned() }],
        is_failure: false,
    };
    ModelPrompt {
        instructions: "Be brief.".to_owned(),
        messages: vec![
            ModelMessage::person("What does it show?"),
            ModelMessage::model(vec![MessagePart::Text("I look.".to_owned()), MessagePart::Call(call)]),
            ModelMessage::results(vec![result]),
        ],
        tools: vec![ToolName::GetCellOutputs.definition().into()],
        max_tokens: 1000,
    }
}

async fn send(provider: &Provider, prompt: &ModelPrompt) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut received = provider.send(prompt);
    let mut events = Vec::new();
    while let Some(event) = tokio::time::timeout(LONG, received.recv()).await.expect("timed out") {
        events.push(event?);
    }
    Ok(events)
}

#[tokio::test]
async fn every_api_streams_text_and_calls_and_counts_tokens() {
    for vendor in ALL {
        let said = Said::text(&["Let ", "me lööök."])
            .and_call("get_cell_outputs", json!({ "cell": "a" }))
            .and_call("read", json!({ "path": "é.ipynb" }));
        let models = Models::start([said]);
        let events = send(&provider(&models, vendor), &prompt()).await.unwrap();
        let words: String = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(words, "Let me lööök.", "{vendor:?}");
        let calls: Vec<(&str, &Value)> = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Call(call) => Some((call.tool.as_str(), &call.arguments)),
                _ => None,
            })
            .collect();
        let (cell, path) = (json!({ "cell": "a" }), json!({ "path": "é.ipynb" }));
        assert_eq!(calls, [("get_cell_outputs", &cell), ("read", &path)], "{vendor:?}");
        let usage = TokenUsage { input: 100, cached: 0, output: 20, cost: None };
        assert!(events.contains(&ModelEvent::Usage(usage)), "{vendor:?}: {events:?}");
        assert_eq!(events.last(), Some(&ModelEvent::End(FinishReason::Done)), "{vendor:?}");
    }
}

#[tokio::test]
async fn requests_have_the_format_of_each_provider() {
    let bodies = ALL.map(|vendor| async move {
        let models = Models::start([Said::text(&["Fine."])]);
        send(&provider(&models, vendor), &prompt()).await.unwrap();
        models.asked().remove(0)
    });
    let [openai, anthropic, gemini] = bodies;
    let (openai, anthropic, gemini) = (openai.await, anthropic.await, gemini.await);
    assert_eq!(openai.path, "/v1/chat/completions");
    let messages = &openai.body["messages"];
    assert_eq!(messages[0], json!({ "role": "system", "content": "Be brief." }));
    assert_eq!(messages[1], json!({ "role": "user", "content": "What does it show?" }));
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], "{\"cell\":3}");
    assert_eq!(messages[3], json!({ "role": "tool", "tool_call_id": "call-0", "content": "42" }));
    assert_eq!(messages[4]["content"][0]["image_url"]["url"], "data:image/png;base64,iVBO");
    assert_eq!(openai.body["tools"][0]["function"]["name"], "get_cell_outputs");

    assert_eq!(anthropic.path, "/v1/messages");
    assert_eq!(anthropic.body["system"][0]["text"], "Be brief.");
    assert_eq!(anthropic.body["max_tokens"], 1000);
    let messages = &anthropic.body["messages"];
    assert_eq!(messages[1]["content"][1]["input"], json!({ "cell": 3 }));
    assert_eq!(messages[2]["content"][0]["content"][1]["source"]["data"], "iVBO");
    assert!(anthropic.headers.contains(&("anthropic-version".to_owned(), "2023-06-01".to_owned())));

    assert_eq!(gemini.path, "/v1beta/models/scripted:streamGenerateContent?alt=sse");
    assert_eq!(gemini.body["systemInstruction"]["parts"][0]["text"], "Be brief.");
    let contents = &gemini.body["contents"];
    assert_eq!(contents[1]["parts"][1]["functionCall"]["args"], json!({ "cell": 3 }));
    assert_eq!(contents[2]["parts"][0]["functionResponse"]["response"], json!({ "output": "42" }));
    assert_eq!(contents[2]["parts"][1]["inlineData"]["data"], "iVBO");
}

#[tokio::test]
async fn each_kind_of_failure_has_its_own_error() {
    for vendor in ALL {
        let models = Models::start([
            Said::refusal(429, "slow down").header("retry-after", "7"),
            Said::refusal(503, "busy"),
            Said::refusal(401, "who are you?"),
            Said::text(&["half of "]).cut(),
            Said::text(&["half of "]).garbled(),
            Said::text(&["as much as may be"]).too_long(),
        ]);
        let provider = provider(&models, vendor);
        let (host, prompt) = (provider.account().host(), prompt());
        let fault = send(&provider, &prompt).await.unwrap_err();
        let after = Some(Duration::from_secs(7));
        assert_eq!(
            fault,
            ProviderError::RateLimited { host: host.clone(), words: "slow down".to_owned(), after }
        );
        assert!(
            matches!(send(&provider, &prompt).await, Err(ProviderError::Server { status: 503, .. })),
            "{vendor:?}"
        );
        assert!(
            matches!(send(&provider, &prompt).await, Err(ProviderError::KeyRejected { status: 401, .. })),
            "{vendor:?}"
        );
        let broken = send(&provider, &prompt).await;
        assert!(matches!(broken, Err(ProviderError::Interrupted { .. })), "{vendor:?}: {broken:?}");
        let garbled = send(&provider, &prompt).await;
        assert!(matches!(garbled, Err(ProviderError::Malformed { .. })), "{vendor:?}: {garbled:?}");
        let events = send(&provider, &prompt).await.unwrap();
        assert_eq!(events.last(), Some(&ModelEvent::End(FinishReason::Length)), "{vendor:?}");
    }
    let gone = {
        let models = Models::start([]);
        provider(&models, ChatProvider::OpenAi)
    };
    assert!(matches!(send(&gone, &prompt()).await, Err(ProviderError::Unreachable { .. })));
}

#[tokio::test]
async fn a_silent_provider_times_out() {
    let models = Models::start([Said::text(&["half", " and half"]).held()]);
    let timeouts = ProviderTimeouts { silence: Duration::from_millis(200), ..ProviderTimeouts::default() };
    let provider = provider(&models, ChatProvider::Anthropic).with_timeouts(timeouts);
    let fault = send(&provider, &prompt()).await.unwrap_err();
    assert!(matches!(fault, ProviderError::Interrupted { .. }), "{fault}");
}
