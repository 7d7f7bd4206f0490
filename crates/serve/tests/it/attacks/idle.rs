//! Idle connections, and connections that send too little.

use std::time::Duration;

use cellist_host::{HostClient, Reply, Request};
use cellist_kernel::process::raise_open_files;
use cellist_serve::IdlePolicy;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::bed::{Bed, soon};
use crate::site::Site;

/// Connections of one attack.
const HELD: usize = 5_000;
/// More than a listener keeps without authentication.
const ROOM: usize = 300;

/// Waits until the host closes the connection.
async fn closed(mut stream: impl AsyncReadExt + Unpin) {
    let mut rest = Vec::new();
    // Unread bytes of ours may reset the connection.
    let _ = stream.read_to_end(&mut rest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_idle_connections_block_neither_clients_nor_pages() {
    raise_open_files();
    let site = Site::new().await;
    let (mut page, _) = site.page().await;
    let mut held = JoinSet::new();
    for _ in 0..HELD {
        let stream = soon(TcpStream::connect(site.host())).await.unwrap();
        held.spawn(closed(stream));
    }
    // A client, the open page and a new browser.
    let state = soon(site.bed.seen_by("1.0.0").state()).await.unwrap().unwrap();
    assert_eq!(state.clients, 2);
    assert!(page.ask(json!({ "files": { "folder": null } })).await["Ok"].is_object());
    let (mut other, _) = site.page().await;
    assert!(other.ask(json!({ "files": { "folder": null } })).await["Ok"].is_object());
    // All but a few were closed for newer ones.
    for _ in 0..HELD - ROOM {
        soon(held.join_next()).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_without_handshake_are_closed_for_newer_ones() {
    raise_open_files();
    let site = Site::new().await;
    let (mut page, _) = site.page().await;
    // The host knows this browser, so its sockets have 20 seconds for the handshake.
    let (_, key) = site.sign_in().await;
    let (hello, origin) = (key.hello(&"0".repeat(32)), format!("http://{}", site.host()));
    let begun = Instant::now();
    let mut held = JoinSet::new();
    for _ in 0..ROOM {
        let mut socket = site.socket("", &origin, &hello).await.unwrap();
        assert_eq!(socket.heard().await["host"]["standing"], "returning");
        held.spawn(socket.closed());
    }
    // The limit is 256.
    for _ in 0..ROOM - 260 {
        soon(held.join_next()).await.unwrap().unwrap();
    }
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "they were closed for others, and not for their silence"
    );
    assert!(page.ask(json!({ "files": { "folder": null } })).await["Ok"].is_object());
    let (mut other, _) = site.page().await;
    assert!(other.ask(json!({ "files": { "folder": null } })).await["Ok"].is_object());
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_to_the_socket_are_closed_for_clients() {
    raise_open_files();
    let bed = Bed::new();
    drop(bed.serve("1.0.0", IdlePolicy::UntilStopped));
    let client = soon(HostClient::attach(&bed.seen_by("1.0.0"))).await.unwrap();
    let socket = bed.address().unwrap().socket;
    let mut held = JoinSet::new();
    for _ in 0..2 * ROOM {
        held.spawn(closed(soon(UnixStream::connect(&socket)).await.unwrap()));
    }
    assert!(soon(bed.seen_by("1.0.0").state()).await.unwrap().is_some());
    assert!(matches!(soon(client.ask(Request::Sessions)).await, Ok(Reply::Sessions(_))));
    for _ in 0..ROOM {
        soon(held.join_next()).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn slow_connections_are_closed_in_time() {
    let site = Site::new().await;
    let cookie = site.cookie().await;
    let head = format!("GET /session HTTP/1.1\r\nHost: {}\r\n", site.host());
    tokio::time::pause();
    let strange = head.clone() + "\r\n";
    let known = format!("{head}Cookie: {cookie}\r\n\r\n");
    // Whether it is open after 10 seconds, and after 60.
    for (said, ten, sixty) in [
        ("", false, false),
        (head.as_str(), false, false),
        (strange.as_str(), false, false),
        (known.as_str(), true, false),
    ] {
        let mut stream = TcpStream::connect(site.host()).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        let begun = Instant::now();
        closed(stream).await;
        let lasted = begun.elapsed();
        let check = |is_longer: bool, seconds| {
            assert_eq!(lasted > Duration::from_secs(seconds), is_longer, "{said:?}: {lasted:?}");
        };
        check(ten, 11);
        check(sixty, 61);
    }
    let socket = site.bed.address().unwrap().socket;
    for said in [b"".as_slice(), &[0, 0], &[0, 0, 0, 99, b'{']] {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        stream.write_all(said).await.unwrap();
        let begun = Instant::now();
        closed(stream).await;
        assert!(begun.elapsed() < Duration::from_secs(11), "{said:?}");
    }
}

#[tokio::test]
async fn a_page_that_answers_no_pings_is_disconnected() {
    let site = Site::new().await;
    let (mut there, _) = site.page().await;
    let (mut gone, _) = site.page().await;
    tokio::time::pause();
    let begun = Instant::now();
    // The library answers pings while it reads, and only then.
    let reading = async {
        loop {
            there.heard().await;
        }
    };
    let letting_go = async {
        while site.bed.seen_by("1.0.0").state().await.unwrap().unwrap().clients > 2 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        _ = reading => {}
        () = letting_go => {}
    }
    assert!(begun.elapsed() < Duration::from_secs(120));
    tokio::time::resume();
    assert!(there.ask(json!({ "files": { "folder": null } })).await["Ok"].is_object());
    let _ = &mut gone;
}
