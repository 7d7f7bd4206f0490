//! A conversation about one cell: the model reads and proposes, and changes nothing.

use serde_json::{Value, json};
use testkit::Said;

use super::{Room, done, find, message, tools, until, words};
use crate::site::Page;

/// Sends a message about the cell `a`. Returns the id of the conversation.
async fn say(page: &mut Page, message: Value) -> String {
    page.open_chat(Some("a"), false).await;
    assert_eq!(page.on_chat("say", json!({ "message": message })).await, done(true));
    page.chat.name.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_conversation_can_only_propose() {
    let propose = |source: &str| Said::call("propose_change", json!({ "source": source }));
    let room = Room::new([
        Said::call("update_notebook_cell", json!({ "cell": "a", "content": "gone" }))
            .and_call("run_notebook_cells", json!({}))
            .and_call("python", json!({ "code": "open('made', 'w')" }))
            .and_call("write", json!({ "path": "notes.txt", "content": "x" }))
            .and_call("bash", json!({ "command": "touch made" }))
            .and_call("notebook_kernel", json!({ "action": "restart" }))
            .and_call("propose_change", json!({ "content": "x" }))
            .and_call("get_notebook_cells", json!({})),
        propose("x = 2\nprint(x)"),
        Said::text(&["Like this."]),
        propose("x = 3"),
        Said::text(&["Shorter."]),
    ])
    .await;
    let (mut page, _) = room.site.page().await;
    // Nothing is attached or active: a conversation at a cell works on its notebook all the same.
    let mut said = message("agent", "print it");
    (said["is_attached"], said["outputs"]) = (json!(false), json!(["a"]));
    let name = say(&mut page, said).await;
    let told = until(&mut page, "ended").await;
    let results: Vec<_> = told.iter().filter_map(|told| told.get("result")).collect();
    for result in &results[..6] {
        assert_eq!(result["is_failure"], json!(true), "{result}");
        assert!(
            result["text"].as_str().unwrap().contains("call propose_change with the new source of the cell"),
            "{result}"
        );
        assert_eq!((&result["needs_mode"], &result["deeds"]), (&json!(null), &json!([])));
    }
    assert!(results[6]["text"].as_str().unwrap().contains("`source` is missing"), "{}", results[6]);
    assert_eq!(
        (&results[7]["is_failure"], &results[8]["is_failure"]),
        (&json!(false), &json!(false)),
        "{results:?}"
    );
    assert_eq!(find(&told, "proposal"), &json!({ "cell": "a", "source": "x = 2\nprint(x)" }));
    assert_eq!(
        (find(&told, "asked")["notebook_mode"].as_bool(), words(&told).as_str()),
        (Some(true), "Like this.")
    );
    assert_eq!(room.sources(), ["x = 1", "y = 1"]);
    for made in ["made", "notes.txt"] {
        assert!(!room.site.bed.scratch.path().join(made).exists());
    }
    let asked = room.models.asked();
    let offered = "get_notebook_cells get_cell_outputs search_notebook notebook_kernel read get_variables wait read_artifact propose_change";
    assert_eq!(tools(&asked[0]).join(" "), offered);
    let sent = asked[0].body["messages"].to_string();
    assert!(sent.contains("- cells: 2") && sent.contains("Output of cell a"), "{sent}");
    assert!(asked[0].body["system"][0]["text"].as_str().unwrap().contains("`propose_change`"));

    // The next message about the cell continues there, also on a page that reconnected.
    drop(page);
    let mut page = room.page().await;
    page.open_chat(Some("a"), false).await;
    assert_eq!(page.chat.name, name);
    until(&mut page, "ended").await;
    assert_eq!(page.on_chat("say", json!({ "message": message("ask", "shorter") })).await, done(true));
    let told = until(&mut page, "ended").await;
    assert_eq!(find(&told, "proposal")["source"], json!("x = 3"));
    assert!(room.models.asked()[3].body["messages"].to_string().contains("print it"));

    // The chat of the notebook is separate, and a closed conversation starts anew.
    assert_eq!(page.on_chat("end", json!({})).await, done(true));
    assert_eq!(page.on_chat("end", json!({})).await, done(false));
    room.models.say([Said::text(&["Hm?"]).held()]);
    assert_ne!(say(&mut page, message("ask", "explain")).await, name);
    let sent = room.models.wait_for(6).remove(5).body["messages"].to_string();
    assert!(!sent.contains("shorter"), "{sent}");
    assert_eq!(page.on_chat("end", json!({})).await, done(true));

    // A conversation closed during an answer does not block the next one.
    room.models.say([Said::text(&["Here."])]);
    say(&mut page, message("ask", "again")).await;
    assert_eq!(words(&until(&mut page, "ended").await), "Here.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_keeps_redacted_text() {
    let token = format!("ghp_{}", "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5");
    let propose = |source: &str| Said::call("propose_change", json!({ "source": source }));
    let mark = "[redacted: GitHub token]";
    let room = Room::new([
        propose(&format!("t = '{mark}'\nprint('[redacted: JWT]')")),
        propose(&format!("t = '{mark}'\nprint(t)")),
        Said::text(&["Like this."]),
    ])
    .await;
    let file = std::fs::read_to_string(&room.site.path).unwrap();
    std::fs::write(&room.site.path, file.replace("x = 1", &format!("t = '{token}'"))).unwrap();
    let (mut page, _) = room.site.page().await;
    say(&mut page, message("ask", "print it")).await;
    let told = until(&mut page, "ended").await;
    assert_eq!(find(&told, "proposal")["source"], json!(format!("t = '{token}'\nprint(t)")));
    let failed = find(&told, "result")["text"].as_str().unwrap().to_owned();
    assert!(failed.contains("the mark `[redacted: JWT]` cannot be matched with the cell"), "{failed}");
    let sent: String = room.models.asked().iter().map(|asked| asked.body.to_string()).collect();
    assert!(sent.contains(mark) && !sent.contains(&token), "{sent}");
}
