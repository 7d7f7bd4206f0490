//! Each dialect over a real connection: what is asked, what is heard, and what goes wrong.

use std::time::Duration;

use cellist_assistant::{
    Account, Event, Fault, Finish, Image, Message, Part, Patience, Prompt, Provider, ToolCall, ToolResult,
    Usage,
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

/// A prompt of a person, a call, what came of it, and another word.
fn prompt() -> Prompt {
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
        images: vec![Image { mime: "image/png".to_owned(), data: "iVBO".to_owned() }],
        is_failure: false,
    };
    Prompt {
        instructions: "Be brief.".to_owned(),
        messages: vec![
            Message::person("What does it show?"),
            Message::model(vec![Part::Text("I look.".to_owned()), Part::Call(call)]),
            Message::results(vec![result]),
        ],
        tools: vec![ToolName::GetCellOutputs.definition().into()],
        max_tokens: 1000,
    }
}

async fn ask(provider: &Provider, prompt: &Prompt) -> Result<Vec<Event>, Fault> {
    let mut heard = provider.ask(prompt);
    let mut events = Vec::new();
    while let Some(event) = tokio::time::timeout(LONG, heard.recv()).await.expect("it takes too long") {
        events.push(event?);
    }
    Ok(events)
}

#[tokio::test]
async fn every_dialect_streams_words_and_calls_and_counts_tokens() {
    for vendor in ALL {
        let said = Said::text(&["Let ", "me lööök."])
            .and_call("get_cell_outputs", json!({ "cell": "a" }))
            .and_call("read", json!({ "path": "é.ipynb" }));
        let models = Models::start([said]);
        let events = ask(&provider(&models, vendor), &prompt()).await.unwrap();
        let words: String = events
            .iter()
            .filter_map(|event| match event {
                Event::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(words, "Let me lööök.", "{vendor:?}");
        let calls: Vec<(&str, &Value)> = events
            .iter()
            .filter_map(|event| match event {
                Event::Call(call) => Some((call.tool.as_str(), &call.arguments)),
                _ => None,
            })
            .collect();
        let (cell, path) = (json!({ "cell": "a" }), json!({ "path": "é.ipynb" }));
        assert_eq!(calls, [("get_cell_outputs", &cell), ("read", &path)], "{vendor:?}");
        let usage = Usage { input: 100, cached: 0, output: 20, cost: None };
        assert!(events.contains(&Event::Usage(usage)), "{vendor:?}: {events:?}");
        assert_eq!(events.last(), Some(&Event::End(Finish::Done)), "{vendor:?}");
    }
}

#[tokio::test]
async fn what_is_asked_is_written_as_each_provider_wants_it() {
    let bodies = ALL.map(|vendor| async move {
        let models = Models::start([Said::text(&["Fine."])]);
        ask(&provider(&models, vendor), &prompt()).await.unwrap();
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
async fn refusals_and_broken_answers_are_told_apart() {
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
        let fault = ask(&provider, &prompt).await.unwrap_err();
        let after = Some(Duration::from_secs(7));
        assert_eq!(fault, Fault::TooMany { host: host.clone(), words: "slow down".to_owned(), after });
        assert!(
            matches!(ask(&provider, &prompt).await, Err(Fault::Server { status: 503, .. })),
            "{vendor:?}"
        );
        assert!(matches!(ask(&provider, &prompt).await, Err(Fault::Key { status: 401, .. })), "{vendor:?}");
        let broken = ask(&provider, &prompt).await;
        assert!(matches!(broken, Err(Fault::Broken { .. })), "{vendor:?}: {broken:?}");
        let garbled = ask(&provider, &prompt).await;
        assert!(matches!(garbled, Err(Fault::Garbled { .. })), "{vendor:?}: {garbled:?}");
        let events = ask(&provider, &prompt).await.unwrap();
        assert_eq!(events.last(), Some(&Event::End(Finish::Length)), "{vendor:?}");
    }
    let gone = {
        let models = Models::start([]);
        provider(&models, ChatProvider::OpenAi)
    };
    assert!(matches!(ask(&gone, &prompt()).await, Err(Fault::Unreachable { .. })));
}

#[tokio::test]
async fn a_provider_that_falls_silent_is_given_up() {
    let models = Models::start([Said::text(&["half", " and half"]).held()]);
    let patience = Patience { silence: Duration::from_millis(200), ..Patience::default() };
    let provider = provider(&models, ChatProvider::Anthropic).with_patience(patience);
    let fault = ask(&provider, &prompt()).await.unwrap_err();
    assert!(matches!(fault, Fault::Broken { .. }), "{fault}");
}
