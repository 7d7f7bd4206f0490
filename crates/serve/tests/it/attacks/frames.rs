//! A hostile page, and a hostile client on the host's socket: an oversized frame ends its own
//! connection only.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::bed::soon;
use crate::site::{PageKey, Site};

/// Sends bytes on the WebSocket of a signed-in browser, and waits until the host closes it.
async fn attack(site: &Site, cookie: &str, key: &PageKey, bytes: &[u8]) {
    let mut stream = soon(TcpStream::connect(site.host())).await.unwrap();
    let head = format!(
        "GET /socket?{1} HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nCookie: {cookie}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        site.host(),
        key.hello("0123456789abcdef0123456789abcdef")
    );
    soon(stream.write_all(head.as_bytes())).await.unwrap();
    // The host may close it before all bytes are written.
    let _ = soon(stream.write_all(bytes)).await;
    let mut rest = Vec::new();
    let _ = soon(stream.read_to_end(&mut rest)).await;
    assert!(rest.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&rest));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_frame_of_a_browser_ends_only_its_connection() {
    let site = Site::new().await;
    let (mut page, _) = site.page().await;
    let (cookie, key) = site.sign_in().await;
    let masked = |first: u8, length: u64| [&[first, 0xff][..], &length.to_be_bytes(), &[0; 4]].concat();
    for bytes in [
        masked(0x81, 1 << 40),
        masked(0x81, u64::MAX >> 1),
        // Without a mask, with reserved bits, of an unknown type.
        vec![0x81, 2, b'{', b'}'],
        vec![0xf1, 0x80, 0, 0, 0, 0],
        vec![0x87, 0x80, 0, 0, 0, 0],
        // A control frame that is too long.
        vec![0x89, 0xfe, 1, 0, 0, 0, 0, 0].into_iter().chain([0; 256]).collect(),
    ] {
        attack(&site, &cookie, &key, &bytes).await;
        assert!(page.ask(json!({ "files": { "folder": null } })).await["Ok"].is_object());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_makes_a_forbidden_request_is_disconnected() {
    let site = Site::new().await;
    let (mut other, _) = site.page().await;
    let bot = json!({ "actor": { "id": "bot", "name": "bot", "kind": "agent" }, "turn": null });
    let op = json!({ "op": "write", "cell": "a", "source": "gone" });
    let submit = json!({ "submission": { "base": 0, "tag": null, "ops": [op] }, "author": bot });
    let edit = json!({ "edit": { "text": "" }, "base": null, "author": bot });
    for request in [
        json!({ "tool": { "tool": "bash", "arguments": { "command": "touch made" } } }),
        json!({ "revoke": null }),
        json!({ "notebook": { "path": site.path, "ask": { "submit": submit } } }),
        json!({ "notebook": { "path": site.path, "ask": { "edit": edit } } }),
        json!({ "levitate": 3 }),
    ] {
        let (mut page, _) = site.page().await;
        page.say(json!({ "ask": { "id": 1, "request": request } })).await;
        page.closed().await;
    }
    let whole = other.open(&site.path, &[]).await;
    assert_eq!(
        (&whole["cells"][0]["source"], &whole["cells"][1]["source"]),
        (&json!("x = 1"), &json!("y = 1"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_frame_on_the_socket_ends_only_its_connection() {
    let site = Site::new().await;
    let (mut page, _) = site.page().await;
    for bytes in [&[0xff; 4][..], &[0x20, 0, 0, 1], &[0, 0, 0, 2, b'{', b'{']] {
        let mut stream = soon(UnixStream::connect(site.bed.address().unwrap().socket)).await.unwrap();
        soon(stream.write_all(bytes)).await.unwrap();
        let mut rest = Vec::new();
        let _ = soon(stream.read_to_end(&mut rest)).await;
        assert!(page.ask(json!({ "files": { "folder": null } })).await["Ok"].is_object());
    }
}
