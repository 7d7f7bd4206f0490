//! Clients and hosts of different versions.

use std::io;

use cellist_host::hello::{ConnectAnswer, ConnectPurpose, Greeting, Welcome};
use cellist_host::{Error, HostClient, HostStarter, StopOutcome, frame};
use cellist_serve::IdlePolicy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::bed::{Bed, soon};

/// Starts a process that never answers, in place of a host.
fn nothing() -> HostStarter {
    HostStarter { program: "/bin/false".into(), arguments: Vec::new() }
}

#[tokio::test]
async fn an_unused_host_of_another_version_is_replaced() {
    for (host, client) in [("0.9.0", "1.0.0"), ("1.0.0", "0.9.0")] {
        let bed = Bed::new();
        let running = bed.serve(host, IdlePolicy::UntilStopped);
        let started = soon(HostClient::attach_or_start(&bed.seen_by(client), &nothing())).await;
        assert!(matches!(started, Err(Error::CannotStart { .. })), "{started:?}");
        soon(running).await.unwrap();
    }
}

#[tokio::test]
async fn a_used_host_of_another_version_stays_and_the_error_has_a_hint() {
    let bed = Bed::new();
    let running = bed.serve("0.9.0", IdlePolicy::UntilStopped);
    let user = soon(HostClient::attach(&bed.seen_by("0.9.0"))).await.unwrap();
    let refused = soon(HostClient::attach_or_start(&bed.seen_by("1.0.0"), &nothing())).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the running host is cellist 0.9.0, this is cellist 1.0.0; it has 1 other client"
    );
    assert!(refused.hint().unwrap().contains("cellist stop"));
    let refused = soon(HostClient::attach(&bed.seen_by("1.0.0"))).await.unwrap_err();
    assert!(matches!(refused, Error::OtherVersion { .. }));
    assert_eq!(soon(bed.seen_by("1.0.0").state()).await.unwrap().unwrap().version, "0.9.0");
    let stopped = soon(bed.seen_by("1.0.0").stop()).await.unwrap();
    assert!(matches!(stopped, StopOutcome::Left(state) if state.clients == 1));
    soon(running).await.unwrap();
    drop(user);
}

#[tokio::test]
async fn an_unknown_greeting_is_answered_and_a_malformed_one_ends_the_connection() {
    let bed = Bed::new();
    let running = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let socket = bed.address().unwrap().socket;

    let mut visit = UnixStream::connect(&socket).await.unwrap();
    let greeting = serde_json::json!({ "cellist": "7.0.0", "wish": "levitate", "more": [1] });
    frame::write(&mut visit, &greeting).await.unwrap();
    let welcome: Welcome = soon(frame::read(&mut visit)).await.unwrap().unwrap();
    assert_eq!((welcome.answer, welcome.host.version.as_str()), (ConnectAnswer::Staying, "1.0.0"));

    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 0, 0, 2, b'{', b'}'], &[0, 0, 0, 9, b'{']] {
        let mut visit = UnixStream::connect(&socket).await.unwrap();
        visit.write_all(nonsense).await.unwrap();
        visit.shutdown().await.unwrap();
        let mut said = Vec::new();
        let end = soon(visit.read_to_end(&mut said)).await;
        assert!(end.is_ok() || end.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset));
        assert!(said.is_empty());
    }

    let mut visit = UnixStream::connect(&socket).await.unwrap();
    frame::write(&mut visit, &Greeting { cellist: "1.0.0".into(), wish: ConnectPurpose::Attach })
        .await
        .unwrap();
    let welcome: Welcome = soon(frame::read(&mut visit)).await.unwrap().unwrap();
    assert_eq!(welcome.answer, ConnectAnswer::Attached);
    frame::write(&mut visit, &serde_json::json!({ "ask": { "id": 1, "request": "levitate" } }))
        .await
        .unwrap();
    assert!(soon(frame::read::<serde_json::Value>(&mut visit)).await.unwrap().is_none(), "let go");

    assert!(soon(bed.seen_by("1.0.0").state()).await.unwrap().is_some(), "and the host lives");
    running.abort();
}
