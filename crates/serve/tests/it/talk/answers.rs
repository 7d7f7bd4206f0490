//! Streamed answers, queued messages, and pages that reconnect.

use cellist_assistant::ApiKeys;
use serde_json::json;
use testkit::Said;

use super::{Room, done, find, look, message, open, send, until, words};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_streamed_with_the_actual_tool_results() {
    let change = json!({ "cell": "a", "content": "x = 2\nprint(x)", "run": true });
    let room = Room::new([
        Said::text(&["I change ", "it."]).and_call("update_notebook_cell", change),
        Said::text(&["It prints 2."]),
    ])
    .await;
    room.settings("run_code = \"allow\"\n");
    let (mut page, _) = room.site.page().await;
    look(&mut page, None).await;
    let chat = open(&mut page, false).await;
    assert_eq!(chat["account"], json!({ "provider": "anthropic", "model": "scripted" }));
    assert_eq!((&chat["run_code"], &chat["notebooks"]), (&json!("allow"), &json!([])));
    assert_eq!(chat["references"][0], json!({ "name": "#runNotebookCells", "mode": "agent" }));
    assert_eq!(chat["references"][4], json!({ "name": "#getNotebookCells", "mode": "ask" }));

    let said = json!({ "id": "m1", "words": "change it", "mode": "agent", "is_attached": true, "attached": [], "selected": ["b"], "outputs": ["a"] });
    send(&mut page, said).await;
    let told = until(&mut page, "ended").await;
    let asked = find(&told, "asked");
    assert_eq!(
        (&asked["words"], &asked["mode"], &asked["notebook_mode"]),
        (&json!("change it"), &json!("agent"), &json!(true))
    );
    assert_eq!((&asked["selected"], &asked["outputs"]), (&json!(["b"]), &json!(["a"])));
    assert_eq!(asked["attached"], json!([room.site.path]));
    assert_eq!(words(&told), "I change it.It prints 2.");
    let result = find(&told, "result");
    assert_eq!(
        result["deeds"],
        json!([
            { "cell": "a", "deed": "changed", "added": 2, "removed": 1 },
            { "cell": "a", "deed": "ran", "added": 0, "removed": 0 },
        ]),
        "{result}"
    );
    assert_eq!((&result["needs_mode"], &result["is_failure"]), (&json!(null), &json!(false)));
    assert_eq!(room.sources(), ["x = 2\nprint(x)", "y = 1"]);
    assert_eq!(find(&told, "ended")["ending"], json!("done"));
    room.close(page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_setup_is_sent_again_with_new_notebooks_and_settings() {
    let room = Room::new([]).await;
    let mut page = room.page().await;
    room.site.bed.scratch.write("later.ipynb", "{}");
    room.settings("run_code = \"allow\"\n");
    let chat = page.setup().await;
    assert_eq!((&chat["notebooks"], &chat["run_code"]), (&json!(["later.ipynb"]), &json!("allow")), "{chat}");
    room.close(page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queued_messages_can_be_withdrawn_and_a_returning_page_gets_everything() {
    let room = Room::new([Said::text(&["First ", "answer."]).held(), Said::text(&["Second answer."])]).await;
    let mut page = room.page().await;
    send(&mut page, message("ask", "one")).await;
    until(&mut page, "text").await;
    for words in ["two", "three"] {
        send(&mut page, message("ask", words)).await;
    }
    let waiting = loop {
        let news = page.next_chat().await;
        if news["waiting"].as_array().unwrap().len() == 2 {
            break news["waiting"].clone();
        }
    };
    assert_eq!(waiting[0]["words"], json!("two"));
    let withdraw = json!({ "message": waiting[0]["message"] });
    assert_eq!(page.on_chat("withdraw", withdraw.clone()).await, done(true));
    assert_eq!(page.on_chat("withdraw", withdraw).await, done(false));

    // The page reloads during an answer.
    drop(page);
    let mut page = room.page().await;
    let news = page.next_chat().await;
    assert_eq!((&news["from"], &news["answering"]), (&json!(0), &json!("one")));
    assert_eq!(news["waiting"][0]["words"], json!("three"));
    let told = news["told"].as_array().unwrap().clone();
    assert_eq!((find(&told, "asked")["words"].as_str(), words(&told).as_str()), (Some("one"), "First "));
    room.models.release();
    until(&mut page, "ended").await;
    let told = until(&mut page, "ended").await;
    assert_eq!(
        (find(&told, "asked")["words"].as_str(), words(&told).as_str()),
        (Some("three"), "Second answer.")
    );
    assert_eq!(room.models.asked().len(), 2, "what was withdrawn is never sent");

    // A new conversation is empty, for every page of the notebook.
    let mut other = room.page().await;
    other.next_chat().await;
    open(&mut page, true).await;
    let news = other.next_chat().await;
    assert_eq!((&news["from"], &news["told"]), (&json!(0), &json!([])), "{news}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permanent_permission_holds_in_new_conversations() {
    let run = || Said::call("python", json!({ "code": "print(6 * 7)" }));
    let room =
        Room::new([run(), Said::text(&["No?"]), run(), Said::text(&["Yes."]), run(), Said::text(&["Yes."])])
            .await;
    let mut page = room.page().await;
    for (verdict, expected) in [("no", "did not allow"), ("always", "42")] {
        send(&mut page, message("agent", "run it")).await;
        let told = until(&mut page, "question").await;
        let approve = json!({ "call": find(&told, "question")["id"], "verdict": verdict });
        assert_eq!(page.on_chat("approve", approve.clone()).await, done(true));
        assert_eq!(page.on_chat("approve", approve).await, done(false));
        let told = until(&mut page, "ended").await;
        assert_eq!(find(&told, "verdict")["verdict"], json!(verdict));
        assert!(find(&told, "result")["text"].as_str().unwrap().contains(expected), "{told:?}");
    }
    open(&mut page, true).await;
    send(&mut page, message("agent", "run it")).await;
    let told = until(&mut page, "ended").await;
    assert!(find(&told, "result")["text"].as_str().unwrap().contains("42"), "{told:?}");
    assert!(told.iter().all(|told| told.get("question").is_none()), "{told:?}");
    room.close(page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_model_a_hint_is_shown_and_settings_apply_to_the_next_message() {
    let room = Room::new([Said::text(&["Hello."])]).await;
    std::fs::write(room.site.bed.home.path().join("config.toml"), "").unwrap();
    let (mut page, _) = room.site.page().await;
    let account = open(&mut page, false).await["account"].clone();
    assert_eq!(account["problem"], json!("no AI model configured"));
    assert!(account["hint"].as_str().unwrap().contains("config.toml"), "{account}");
    let refused = page.on_chat("say", json!({ "message": message("ask", "hello") })).await;
    assert_eq!(refused["Err"]["kind"], json!("no_model"));
    room.settings("");
    send(&mut page, message("ask", "hello")).await;
    assert_eq!(words(&until(&mut page, "ended").await), "Hello.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_users_key_goes_to_the_provider_only() {
    let show = "import os; print([name for name, value in os.environ.items() if 'hush' in value])";
    let mut room = Room::new([Said::call("python", json!({ "code": show })), Said::text(&["None."])]).await;
    room.settings("run_code = \"allow\"\n");
    let variables = [("CELLIST_CHAT_API_KEY", "hush-hush-hush")].into_iter().collect();
    room.site.opened.keys = ApiKeys::from_variables(&variables);
    let mut page = room.page().await;
    send(&mut page, message("agent", "look for it")).await;
    let told = until(&mut page, "ended").await;
    let result = find(&told, "result")["text"].as_str().unwrap();
    assert!(result.contains("[]"), "{result}");
    let asked = room.models.asked().remove(0);
    assert!(
        asked.headers.contains(&("x-api-key".to_owned(), "hush-hush-hush".to_owned())),
        "{:?}",
        asked.headers
    );
    assert!(!asked.body.to_string().contains("hush-hush"));
    assert!(!serde_json::to_string(&told).unwrap().contains("hush-hush"));
    let mut folders = vec![room.site.bed.scratch.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => {
                    let bytes = std::fs::read(entry.path()).unwrap_or_default();
                    assert!(!bytes.windows(9).any(|part| part == b"hush-hush"), "{}", entry.path().display());
                }
                _ => {}
            }
        }
    }
    room.close(page).await;
}
