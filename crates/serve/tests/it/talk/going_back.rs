//! Rewinds a conversation to before a message.

use serde_json::json;
use testkit::Said;

use super::{Room, find, message, send, until};

fn write(cell: &str, content: &str) -> Said {
    Said::call("update_notebook_cell", json!({ "cell": cell, "content": content }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rewinding_removes_later_turns_and_keeps_the_persons_edits() {
    let room = Room::new([
        write("a", "x = 2"),
        Said::text(&["Two."]),
        Said::text(&["Only words."]),
        write("a", "x = 3"),
        Said::text(&["Three."]),
        Said::text(&["Oh."]).held(),
    ])
    .await;
    let mut page = room.page().await;
    let mut turns = Vec::new();
    for words in ["two", "talk", "three"] {
        send(&mut page, message("agent", words)).await;
        let told = until(&mut page, "ended").await;
        turns.push(find(&told, "asked")["turn"].clone());
    }
    assert_eq!(room.sources(), ["x = 3", "y = 1"]);
    let whole = page.open(&room.site.path, &[]).await;
    let typed = crate::site::typed("b", 5, &["0"]);
    crate::site::version(&page.submit(whole["version"].as_u64().unwrap(), 1, typed).await);

    let restore = |turn: &serde_json::Value| json!({ "turn": turn });
    let restored =
        |words: &str, is_any: bool| json!({ "Ok": { "restored": { "summary": words, "is_any": is_any } } });
    let one_cell = restored("Restored 1 cell of nb.ipynb", true);
    assert_eq!(page.on_chat("restore", restore(&turns[1])).await, one_cell);
    let told = until(&mut page, "undone").await;
    assert_eq!(find(&told, "undone")["turn"], turns[2], "one that changed nothing needs no word");
    assert_eq!(room.sources(), ["x = 2", "y = 10"]);
    assert_eq!(page.on_chat("restore", restore(&turns[0])).await, one_cell);
    let told = until(&mut page, "undone").await;
    assert_eq!(find(&told, "undone")["turn"], turns[0]);
    assert_eq!(room.sources(), ["x = 1", "y = 10"]);
    assert_eq!(page.on_chat("restore", restore(&turns[0])).await, restored("Nothing to undo", false));
    let unknown = page.on_chat("restore", restore(&json!("nowhere"))).await;
    assert_eq!(unknown["Err"]["kind"], json!("no_such_turn"));

    // The model is told once. During an answer nothing can be rewound.
    send(&mut page, message("agent", "and now?")).await;
    room.models.wait_for(6);
    let busy = page.on_chat("restore", restore(&turns[0])).await;
    assert_eq!(busy["Err"]["kind"], json!("answering"));
    let sent = room.models.asked()[5].body["messages"].to_string();
    assert_eq!(sent.matches("The user has undone").count(), 1, "{sent}");
    room.models.release();
    until(&mut page, "ended").await;
}
