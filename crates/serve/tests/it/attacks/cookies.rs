//! Cookies and keys that were stolen, replayed, revoked or guessed.

use cellist_host::{BrowserView, Reply, Request};
use serde_json::json;

use crate::bed::soon;
use crate::site::Site;

async fn browsers(site: &Site, request: Request) -> Vec<BrowserView> {
    match soon(site.link.ask(request)).await.unwrap() {
        Reply::Browsers(browsers) => browsers,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_cookie_ends_with_its_host_and_an_open_page_gets_a_new_one() {
    let mut site = Site::new().await;
    let (stolen, key) = site.sign_in().await;
    assert_eq!(site.status("/session", &[("Cookie", &stolen)]).await, 204);
    let (mut page, ticket) = site.meet(&stolen, &key).await.unwrap();
    assert!(ticket.is_none());
    page.open(&site.path, &[]).await;
    site.restart().await;
    for path in ["/", "/session", "/raw?path=x.ipynb", "/output", "/plotly.js"] {
        assert_eq!(site.status(path, &[("Cookie", &stolen)]).await, 401, "{path}");
    }
    // The page has its key, and the next host derives the same one.
    let (mut page, ticket) = site.meet(&stolen, &key).await.unwrap();
    page.open(&site.path, &[]).await;
    let ticket = ticket.unwrap();
    let origin = format!("http://{}", site.host());
    let answer = site.post("/session", &ticket, &[("Origin", &origin)]).await;
    let fresh = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect(&answer);
    let fresh = fresh.split(';').next().unwrap();
    assert_ne!(fresh, stolen);
    assert_eq!(site.status("/session", &[("Cookie", fresh)]).await, 204);
    assert_eq!(site.status("/session", &[("Cookie", &stolen)]).await, 401);
    // A ticket works once, for our own page only.
    let again = site.post("/session", &ticket, &[("Origin", &origin)]).await;
    assert!(again.starts_with("HTTP/1.1 401"), "{again}");
    let foreign = site.post("/session", &ticket, &[("Origin", "http://evil.test")]).await;
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    assert_eq!(browsers(&site, Request::Browsers).await.len(), 1);
}

#[tokio::test]
async fn a_cookie_opens_no_socket_and_a_proof_cannot_be_replayed() {
    let site = Site::new().await;
    let (cookie, key) = site.sign_in().await;
    let origin = format!("http://{}", site.host());
    let challenge = "00000000000000000000000000000000";
    for said in [
        json!({ "ask": { "id": 1, "request": { "files": { "folder": null } } } }),
        json!({ "proof": "" }),
        json!({ "proof": "00000000000000000000000000000000" }),
    ] {
        let mut page = site.socket(&cookie, &origin, &key.hello(challenge)).await.unwrap();
        page.heard().await;
        page.say(said).await;
        page.closed().await;
    }
    // Reflects the host's own proof.
    let mut page = site.socket(&cookie, &origin, &key.hello(challenge)).await.unwrap();
    let greeting = page.heard().await;
    page.say(json!({ "proof": greeting["host"]["proof"] })).await;
    page.closed().await;
    for hello in ["browser=x", &key.hello("short"), &key.hello("0123456789abcdef0123456789abcde%20")] {
        assert_eq!(site.socket(&cookie, &origin, hello).await.err(), Some(401), "{hello}");
    }
}

#[tokio::test]
async fn revoking_a_browser_closes_only_its_pages() {
    let mut site = Site::new().await;
    let (cookie, key) = site.sign_in().await;
    let (mut page, _) = site.meet(&cookie, &key).await.unwrap();
    page.open(&site.path, &[]).await;
    let (other, _whole) = site.page().await;
    let listed = browsers(&site, Request::Browsers).await;
    let pages: Vec<usize> = listed.iter().map(|browser| browser.pages).collect();
    assert_eq!(pages, [1, 1], "{listed:?}");
    assert!(browsers(&site, Request::Revoke(Some("unknown0".into()))).await.is_empty());
    let gone = browsers(&site, Request::Revoke(Some(key.browser.clone()))).await;
    assert_eq!(gone[0].id, key.browser);
    page.closed().await;
    assert_eq!(site.status("/", &[("Cookie", &cookie)]).await, 401);
    assert!(site.meet(&cookie, &key).await.is_none(), "the host says that the browser is signed out");
    assert_eq!(browsers(&site, Request::Browsers).await.len(), 1);
    site.restart().await;
    assert!(site.meet(&cookie, &key).await.is_none());
    drop(other);
    browsers(&site, Request::Revoke(None)).await;
    assert!(browsers(&site, Request::Browsers).await.is_empty());
}

#[tokio::test]
async fn two_host_headers_are_refused() {
    let site = Site::new().await;
    let cookie = site.cookie().await;
    let host = site.host();
    let twice = [("Cookie", cookie.as_str()), ("Host", &host), ("Host", "evil.test")];
    assert!([400, 421].contains(&site.status("/", &twice).await));
    let agree = [("Cookie", cookie.as_str()), ("Host", &host), ("Host", &host)];
    assert!([400, 421].contains(&site.status("/", &agree).await));
}
