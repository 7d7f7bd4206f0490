//! The server of the page without a browser: access, and messages on its socket.

use std::fs;

use cellist_host::HostClient;
use cellist_live::{Actor, ActorKind};
use serde_json::{Value, json};

use crate::bed::soon;
use crate::site::{Site, typed, version};

#[tokio::test]
async fn a_link_signs_one_browser_in_once() {
    let site = Site::new().await;
    assert_eq!(site.status("/", &[]).await, 401);
    assert_eq!(site.status("/?code=guessed", &[]).await, 401);
    let address = site.address().await;
    let path = address.split_once(&site.host()).unwrap().1.to_owned();
    assert_eq!(site.status(&path, &[]).await, 200);
    assert_eq!(site.status(&path, &[]).await, 401);
    let cookie = site.cookie().await;
    assert_eq!(site.status("/", &[("Cookie", &cookie)]).await, 200);
    assert_eq!(site.status("/session", &[("Cookie", &cookie)]).await, 204);
    let forged = format!("{}=guessed", cookie.split('=').next().unwrap());
    assert_eq!(site.status("/session", &[("Cookie", &forged)]).await, 401);
    for path in ["/output?path=/etc/passwd", "/plotly.js"] {
        assert_eq!(site.status(path, &[]).await, 401, "{path}");
    }
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_even_with_credentials() {
    let site = Site::new().await;
    let cookie = site.cookie().await;
    for host in ["evil.test", "127.0.0.1", "127.0.0.1:1"] {
        assert_eq!(site.status("/", &[("Host", host), ("Cookie", &cookie)]).await, 421, "{host}");
    }
    let ours = format!("http://{}", site.host());
    for origin in ["http://evil.test", "null", &ours.replace("http", "https")] {
        assert_eq!(site.socket(&cookie, origin, "").await.err(), Some(403), "{origin}");
    }
    assert_eq!(site.socket(&cookie, &ours, "").await.err(), Some(401));
    let page = site.get("/", &[("Cookie", &cookie)]).await;
    for part in ["default-src 'none'", "require-trusted-types-for 'script'", "frame-ancestors 'none'"] {
        assert!(page.contains(part), "{part}");
    }
    let frame = site.get("/frame.html", &[]).await;
    assert!(frame.contains("sandbox allow-scripts; default-src 'none'"), "{frame}");
}

#[tokio::test]
async fn edits_reach_other_pages_and_a_late_page_gets_the_missed_ones() {
    let site = Site::new().await;
    let ((mut one, whole), (mut other, same)) = (site.page().await, site.page().await);
    other.client = "other";
    let base = whole["version"].as_u64().unwrap();
    assert_eq!(whole["cells"][0], json!({ "id": "a", "kind": "code", "source": "x = 1" }));
    assert_eq!(same["version"], whole["version"]);

    let taken = version(&one.submit(base, 1, typed("a", 5, &["0"])).await);
    let news = other.told(|news| !news["changes"].is_null()).await;
    let change = &news["changes"][0];
    assert_eq!((&change["version"], &change["tag"]["client"]), (&json!(taken), &json!("me")));
    assert_eq!(change["effects"][0], json!({ "effect": "changed", "cell": "a", "change": [5, [0, "0"]] }));

    // An edit based on the old text is refused with the changes since, and accepted once rebased.
    let late = other.submit(base, 1, typed("a", 5, &["!"])).await;
    assert_eq!(late["Ok"]["behind"]["version"], json!(taken), "{late}");
    assert_eq!(late["Ok"]["behind"]["changes"][0]["version"], json!(taken));
    let newest = version(&other.submit(taken, 2, typed("a", 6, &["!"])).await);
    assert!(newest > taken);
    // A repeated submission is applied once.
    assert_eq!(version(&other.submit(taken, 2, typed("a", 6, &["!"])).await), newest);
    other.told(|news| news["status"]["saved"].as_u64() >= Some(newest)).await;
    assert!(fs::read_to_string(&site.path).unwrap().contains("x = 10!"));
}

#[tokio::test]
async fn an_invalid_change_is_refused_and_the_page_continues() {
    let site = Site::new().await;
    let (mut page, whole) = site.page().await;
    let base = whole["version"].as_u64().unwrap();
    let long = page.submit(base, 1, typed("a", 500, &["x"])).await;
    assert!(long["Err"]["message"].is_string(), "{long}");
    // Half of a surrogate pair is not text.
    let emoji = version(&page.submit(base, 2, typed("a", 5, &["😀"])).await);
    let split = json!({ "op": "change", "cell": "a", "change": [6, [0, "x"], 1] });
    let refused = page.submit(emoji, 3, split).await;
    assert!(refused["Err"]["message"].is_string(), "{refused}");
    let ops = json!({ "op": "insert", "cell": "new", "after": "a", "kind": "markdown", "source": "# New" });
    version(&page.submit(emoji, 4, ops).await);
    let whole = page.open(&site.path, &["me"]).await;
    let ids: Vec<&str> =
        whole["cells"].as_array().unwrap().iter().filter_map(|cell| cell["id"].as_str()).collect();
    assert_eq!(ids, ["a", "new", "b"]);
}

#[tokio::test]
async fn a_returning_page_learns_which_of_its_edits_arrived() {
    let site = Site::new().await;
    let (mut page, whole) = site.page().await;
    version(&page.submit(whole["version"].as_u64().unwrap(), 7, typed("b", 5, &["2"])).await);
    drop(page);
    let (mut again, _) = site.page().await;
    let whole = again.open(&site.path, &["me", "someone"]).await;
    assert_eq!(whole["heard"], json!({ "me": 7 }));
    assert_eq!(whole["cells"][1]["source"], json!("y = 12"));
    assert!(
        fs::read_to_string(&site.path).unwrap().contains("y = 12"),
        "what a page is told first is on disk"
    );
}

#[tokio::test]
async fn an_agents_turn_waits_for_review_and_is_undone_as_a_whole() {
    let site = Site::new().await;
    let (mut page, _) = site.page().await;
    // Another process of the same user, over the Unix socket.
    let link = soon(HostClient::attach(&site.bed.seen_by("1.0.0"))).await.unwrap();
    let actor = Actor::new(ActorKind::Agent, "bot");
    let operations = json!([
        { "action": "edit", "cell": "a", "content": "x = 2" },
        { "action": "delete", "cell": "b" },
    ]);
    let edit = json!({ "notebook": { "path": site.path, "ask": { "edit": {
        "edit": { "operations": operations }, "base": null, "author": { "actor": actor, "turn": "t9" },
    } } } });
    soon(link.ask(serde_json::from_value(edit).unwrap())).await.unwrap();
    let review = page.told(|news| !news["review"]["cells"]["b"].is_null()).await;
    assert_eq!(review["review"]["cells"]["a"]["was"]["source"], json!("x = 1"));
    assert_eq!(review["review"]["cells"]["b"]["was"]["was"], json!("deleted"));

    let history = page.on_notebook(json!("turns")).await;
    assert_eq!(history["Ok"]["turns"][0]["turn"], json!("t9"));
    assert_eq!(history["Ok"]["turns"][0]["deeds"], json!(["deleted code cell b", "edited cell a"]));
    let undo = json!({ "undo": { "undo": { "turn": "t9" }, "author": null } });
    let undone = page.on_notebook(undo.clone()).await;
    assert!(undone["Ok"]["edited"].is_object(), "{undone}");
    page.told(|news| news["review"]["cells"] == json!({})).await;
    let whole = page.open(&site.path, &[]).await;
    let sources: Vec<&Value> =
        whole["cells"].as_array().unwrap().iter().map(|cell| &cell["source"]).collect();
    assert_eq!(sources, [&json!("x = 1"), &json!("y = 1")]);
    let again = page.on_notebook(undo).await;
    assert!(again["Err"]["message"].as_str().unwrap().contains("already undone"), "{again}");
}
