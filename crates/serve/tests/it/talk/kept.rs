//! Conversations outlive the host, without any credentials.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use testkit::Said;
use tokio::time::sleep;

use super::{Room, find, look, message, open, send, until, words};
use crate::bed::soon;

fn files(room: &Room) -> Vec<PathBuf> {
    let entries = fs::read_dir(room.site.bed.home.path().join("chats"));
    entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_continues_at_the_next_host_until_a_new_one_starts() {
    let mut room = Room::new([
        Said::text(&["I change ", "it."])
            .and_call("update_notebook_cell", json!({ "cell": "a", "content": "x = 2" })),
        Said::text(&["Done."]),
        Said::text(&["Still here."]),
    ])
    .await;
    room.settings("api_key = \"hush-hush-hush\"\n");
    let mut page = room.page().await;
    send(&mut page, message("agent", "change it; my key is hush-hush-hush")).await;
    let before = until(&mut page, "ended").await;
    drop(page);
    // It is written in parallel to the conversation.
    soon(async {
        while files(&room).iter().all(|file| file.extension().is_none_or(|ending| ending != "json")) {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    room.site.restart().await;

    let (mut page, _) = room.site.page().await;
    look(&mut page, None).await;
    open(&mut page, false).await;
    let told = until(&mut page, "ended").await;
    assert_eq!((words(&told), find(&told, "result")), (words(&before), find(&before, "result")));
    let [file] = files(&room).try_into().unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&file).unwrap().contains("hush"));

    // The model knows the earlier messages, and its change can still be undone.
    send(&mut page, message("agent", "are you there?")).await;
    assert_eq!(words(&until(&mut page, "ended").await), "Still here.");
    let sent = room.models.asked()[2].body["messages"].to_string();
    assert!(sent.contains("change it") && sent.contains("I change it."), "{sent}");
    let turn = &find(&before, "asked")["turn"];
    let restored = page.on_chat("restore", json!({ "turn": turn })).await;
    assert_eq!(
        restored,
        json!({ "Ok": { "restored": { "summary": "Restored 1 cell of nb.ipynb", "is_any": true } } })
    );
    assert_eq!(room.sources(), ["x = 1", "y = 1"]);

    open(&mut page, true).await;
    assert_eq!(files(&room), Vec::<PathBuf>::new());
}
