//! Conversations live in the host, while clients come and go.

use std::path::Path;
use std::time::Duration;

use cellist_assistant::{Account, AnswerRules, ChatRequest, MessageId, StopScope};
use cellist_host::{
    AnswerEnding, Approval, ChatAction, ChatReply, ConversationUpdate, Error, HostClient, Reply, Request,
    TranscriptEntry,
};
use cellist_serve::IdlePolicy;
use cellist_session::orders::ClientEnvironment;
use cellist_settings::{Chat, ChatProvider, ToolMode};
use cellist_tools::{Caller, EditorState, Mode, ToolSet};
use serde_json::json;
use testkit::{Models, Said};

use crate::bed::{Bed, soon};

const NOTEBOOK: &str = r#"{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": "x = 1"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;

async fn chat(client: &HostClient, ask: ChatAction) -> Result<ChatReply, Error> {
    match soon(client.ask(Request::Chat(Box::new(ask)))).await? {
        Reply::Chat(reply) => Ok(reply),
        other => panic!("{other:?}"),
    }
}

async fn open(client: &HostClient, notebook: &Path, is_new: bool) -> (String, usize) {
    let ask = ChatAction::Open { notebook: notebook.to_owned(), cell: None, is_new };
    match chat(client, ask).await.unwrap() {
        ChatReply::Open { chat, told } => (chat, told),
        other => panic!("{other:?}"),
    }
}

/// All entries from a position up to an expected one.
async fn hear(
    client: &HostClient,
    name: &str,
    mut from: usize,
    until: impl Fn(&TranscriptEntry) -> bool,
) -> (Vec<TranscriptEntry>, usize) {
    let mut all = Vec::new();
    loop {
        let ask = ChatAction::Hear { chat: name.to_owned(), from, mark: Some(u64::MAX) };
        let ChatReply::Heard(ConversationUpdate { told, next, .. }) = chat(client, ask).await.unwrap() else {
            panic!("no news")
        };
        all.extend(told);
        from = next;
        if all.iter().any(&until) {
            return (all, from);
        }
    }
}

fn message(models: &Models, notebook: &Path, words: &str) -> Box<ChatRequest> {
    let settings = Chat {
        provider: ChatProvider::OpenAi,
        model: Some("scripted".to_owned()),
        base_url: Some(models.url() + "/v1"),
        ..Chat::default()
    };
    Box::new(ChatRequest {
        id: MessageId::random(),
        words: words.to_owned(),
        caller: Caller {
            name: "assistant".to_owned(),
            session: "assistant".to_owned(),
            mode: Mode::Agent,
            tools: ToolSet::All,
            tool_mode: ToolMode::Both,
            cwd: notebook.parent().unwrap().to_owned(),
            roots: Vec::new(),
            requires_active: true,
            is_shared: false,
            front: Some(EditorState {
                active: Some(notebook.to_owned()),
                attached: vec![notebook.to_owned()],
                ..EditorState::default()
            }),
            excluded: Vec::new(),
            allowed: Vec::new(),
            attached: Vec::new(),
            redaction: Default::default(),
            environment: ClientEnvironment::default(),
        },
        account: Account::find(&settings, &Default::default()).unwrap(),
        rules: AnswerRules::from(&settings),
        instructions: String::new(),
        outputs: Vec::new(),
        about: None,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_disconnects_finds_the_complete_answer_later() {
    let bed = Bed::new();
    let notebook = bed.scratch.write("nb.ipynb", NOTEBOOK).canonicalize().unwrap();
    let models = Models::start([
        Said::text(&["I change it", "."])
            .held()
            .and_call("update_notebook_cell", json!({ "cell": "a", "content": "x = 2" })),
        Said::call("python", json!({ "code": "print(1)" })),
        Said::text(&["Done."]),
    ]);
    let host = bed.serve("1.0", IdlePolicy::UntilStopped);
    let client = soon(HostClient::attach(&bed.seen_by("1.0"))).await.unwrap();
    let (name, told) = open(&client, &notebook, false).await;
    assert_eq!(told, 0);
    let ask = message(&models, &notebook, "change it");
    chat(&client, ChatAction::Send { chat: name.clone(), ask }).await.unwrap();
    hear(&client, &name, 0, |told| matches!(told, TranscriptEntry::Text(_))).await;
    drop(client);
    models.release();

    // The answer continues, and asks a question that no client sees yet.
    models.wait_for(2);
    let client = soon(HostClient::attach(&bed.seen_by("1.0"))).await.unwrap();
    let (again, told) = open(&client, &notebook, false).await;
    assert_eq!(again, name);
    assert!(told > 0);
    let (all, next) = hear(&client, &name, 0, |told| matches!(told, TranscriptEntry::Question { .. })).await;
    assert!(matches!(&all[0], TranscriptEntry::Asked { words, .. } if words == "change it"), "{all:?}");
    let Some(TranscriptEntry::Question { id, .. }) = all.last() else { panic!("{all:?}") };
    let verdict = ChatAction::Approve { chat: name.clone(), call: id.clone(), verdict: Approval::No };
    assert!(matches!(chat(&client, verdict).await.unwrap(), ChatReply::Done(true)));
    let (rest, _) = hear(&client, &name, next, |told| matches!(told, TranscriptEntry::Ended { .. })).await;
    assert!(
        matches!(rest.last(), Some(TranscriptEntry::Ended { ending: AnswerEnding::Done, .. })),
        "{rest:?}"
    );
    assert!(std::fs::read_to_string(&notebook).unwrap().contains("x = 2"));

    // Its change is undone by the turn's name.
    let TranscriptEntry::Asked { turn, .. } = &all[0] else { panic!("{all:?}") };
    chat(&client, ChatAction::Undo { chat: name.clone(), turn: turn.clone() }).await.unwrap();
    assert!(std::fs::read_to_string(&notebook).unwrap().contains("x = 1"));

    // A new conversation is empty, and the old one is deleted.
    let (other, told) = open(&client, &notebook, true).await;
    assert!(other != name && told == 0);
    let gone = chat(&client, ChatAction::Stop { chat: name, stop: StopScope::Answer }).await;
    assert!(gone.unwrap_err().to_string().contains("there is no conversation"));
    drop(client);
    host.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_stays_for_an_answer_without_clients() {
    let bed = Bed::new();
    let notebook = bed.scratch.write("nb.ipynb", NOTEBOOK).canonicalize().unwrap();
    let models = Models::start([Said::text(&["I think", "."]).held()]);
    let host = bed.serve("1.0", IdlePolicy::WhileNeeded(Duration::from_millis(100)));
    let client = soon(HostClient::attach(&bed.seen_by("1.0"))).await.unwrap();
    let (name, _) = open(&client, &notebook, false).await;
    let ask = message(&models, &notebook, "think");
    chat(&client, ChatAction::Send { chat: name.clone(), ask }).await.unwrap();
    drop(client);
    models.wait_for(1);
    models.release();
    let client = soon(HostClient::attach(&bed.seen_by("1.0"))).await.unwrap();
    let (all, _) = hear(&client, &name, 0, |told| matches!(told, TranscriptEntry::Ended { .. })).await;
    assert!(matches!(all.last(), Some(TranscriptEntry::Ended { ending: AnswerEnding::Done, .. })), "{all:?}");
    drop(client);
    host.abort();
}
