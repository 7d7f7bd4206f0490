//! Concurrent typing, stopped answers, and failing providers.

use serde_json::{Value, json};
use testkit::Said;

use super::{Room, done, find, look, message, send, until, words};
use crate::site::{typed, version};

/// A model reads, a person types, and the model writes its version. Returns the outcome.
async fn while_typing(typing: &[&str], writing: &str) -> (Room, Value) {
    let room = Room::new([
        Said::text(&["I read", "."])
            .held()
            .and_call("update_notebook_cell", json!({ "cell": "a", "content": writing })),
        Said::text(&["So be it."]),
    ])
    .await;
    let (mut page, whole) = room.site.page().await;
    look(&mut page, Some("a")).await;
    super::open(&mut page, false).await;
    send(&mut page, message("agent", "change it")).await;
    until(&mut page, "text").await;
    // The model saw the notebook before this edit.
    version(&page.submit(whole["version"].as_u64().unwrap(), 1, typed("a", 5, typing)).await);
    room.models.release();
    let told = until(&mut page, "ended").await;
    (room, find(&told, "result").clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typing_and_edits_of_the_model_are_merged() {
    let (room, result) = while_typing(&["", "mine = 1"], "import os\nx = 1").await;
    assert_eq!(result["is_failure"], json!(false), "{result}");
    assert_eq!(room.sources(), ["import os\nx = 1\nmine = 1", "y = 1"]);
    assert_eq!(result["deeds"], json!([{ "cell": "a", "deed": "changed", "added": 1, "removed": 0 }]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_conflict_the_typed_text_stays_and_the_model_is_refused() {
    let (room, result) = while_typing(&["00 # mine"], "x = 2").await;
    assert_eq!((&result["is_failure"], &result["deeds"]), (&json!(true), &json!([])), "{result}");
    assert!(result["text"].as_str().unwrap().contains("x = 100 # mine"), "{result}");
    let whole = room.site.page().await.1;
    assert_eq!(whole["cells"][0]["source"], json!("x = 100 # mine"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_the_answer_and_leaves_the_kernel_running() {
    let endless = json!({ "cell": "a", "content": "print('begun')\nwhile True: pass", "run": true });
    let room = Room::new([
        Said::text(&["A long", " story."]).held(),
        Said::call("update_notebook_cell", endless),
        Said::text(&["What is it?"]),
    ])
    .await;
    room.settings("run_code = \"allow\"\n");
    let mut page = room.page().await;
    send(&mut page, message("agent", "tell me")).await;
    until(&mut page, "text").await;
    assert_eq!(page.on_chat("stop", json!({ "stop": "answer" })).await, done(true));
    let told = until(&mut page, "ended").await;
    assert_eq!(find(&told, "ended")["ending"], json!("stopped"));
    room.models.release();

    send(&mut page, message("agent", "run it")).await;
    until(&mut page, "call").await;
    page.told(|news| news["outputs"]["a"].to_string().contains("begun")).await;
    page.on_chat("stop", json!({ "stop": "answer" })).await;
    until(&mut page, "ended").await;
    // The kernel still runs, and a notice says so. A second stop can end it too.
    let whole = page.open(&room.site.path, &[]).await;
    assert_eq!(whole["conditions"]["a"]["activity"], json!("running"), "{whole}");
    assert_eq!(page.next_chat().await["runs_on"], json!(true));
    assert_eq!(page.on_chat("stop", json!({ "stop": "kernel" })).await, done(true));
    page.told(|news| news["conditions"]["a"]["activity"] == json!("idle")).await;
    while page.next_chat().await["runs_on"] == json!(true) {}
    room.close(page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_with_the_kernel_interrupts_the_running_code() {
    let endless = json!({ "cell": "a", "content": "print('begun')\nwhile True: pass", "run": true });
    let room = Room::new([Said::call("update_notebook_cell", endless), Said::text(&["?"])]).await;
    room.settings("run_code = \"allow\"\n");
    let mut page = room.page().await;
    send(&mut page, message("agent", "run it")).await;
    until(&mut page, "call").await;
    page.told(|news| news["outputs"]["a"].to_string().contains("begun")).await;
    page.on_chat("stop", json!({ "stop": "kernel" })).await;
    let told = until(&mut page, "ended").await;
    assert_eq!(find(&told, "ended")["ending"], json!("stopped"));
    let whole = page.open(&room.site.path, &[]).await;
    assert_eq!(whole["conditions"]["a"]["activity"], json!("idle"), "{whole}");
    room.close(page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_provider_is_retried_and_a_missing_one_is_reported() {
    let mut room = Room::new([
        Said::refusal(429, "slow down").header("retry-after", "0"),
        Said::text(&["half of"]).cut(),
        Said::text(&["Whole."]),
        Said::refusal(401, "bad key"),
    ])
    .await;
    let mut page = room.page().await;
    send(&mut page, message("ask", "hello")).await;
    let told = until(&mut page, "ended").await;
    let again: Vec<&str> = told.iter().filter_map(|told| told["again"]["message"].as_str()).collect();
    assert_eq!(again.len(), 2, "{told:?}");
    // Text of an answer that broke off was streamed before the retry, and does not count.
    assert!(words(&told).ends_with("Whole."), "{told:?}");
    assert_eq!(find(&told, "ended")["ending"], json!("done"));

    send(&mut page, message("ask", "hello")).await;
    let told = until(&mut page, "ended").await;
    let failed = &find(&told, "ended")["ending"]["failed"];
    assert!(failed["message"].is_string() && failed["hint"].is_string(), "{told:?}");

    // The provider is gone. The error is reported, and the next message is still accepted.
    let gone = std::mem::replace(&mut room.models, testkit::Models::start([Said::text(&["Back."])]));
    drop(gone);
    send(&mut page, message("ask", "anyone?")).await;
    until(&mut page, "again").await;
    page.on_chat("stop", json!({ "stop": "answer" })).await;
    let told = until(&mut page, "ended").await;
    assert_eq!(find(&told, "ended")["ending"], json!("stopped"));
    room.settings("");
    send(&mut page, message("ask", "and now?")).await;
    assert_eq!(words(&until(&mut page, "ended").await), "Back.");
}
