//! When a host stops, and the files that remain.

use std::fs;
use std::time::Duration;

use cellist_host::{Error, HostClient, Reply, Request, StopOutcome};
use cellist_serve::IdlePolicy;

use crate::bed::{Bed, soon};

const AT_ONCE: IdlePolicy = IdlePolicy::WhileNeeded(Duration::ZERO);

#[tokio::test]
async fn a_stopped_host_removes_socket_and_registration() {
    let bed = Bed::new();
    let host = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let socket = bed.address().unwrap().socket;
    assert!(socket.exists());
    let stopped = soon(bed.seen_by("1.0.0").stop()).await.unwrap();
    assert!(matches!(stopped, StopOutcome::Left(state) if state.version == "1.0.0" && !state.background));
    soon(host).await.unwrap();
    assert!(!socket.exists() && bed.address().is_none());
    assert_eq!(soon(bed.seen_by("1.0.0").stop()).await.unwrap(), StopOutcome::Nobody);
    assert_eq!(soon(bed.seen_by("1.0.0").state()).await.unwrap(), None);
}

#[tokio::test]
async fn an_idle_host_stops_by_itself() {
    let bed = Bed::new();
    soon(bed.serve("1.0.0", AT_ONCE)).await.unwrap();
    assert!(bed.address().is_none());
}

#[tokio::test]
async fn a_host_stays_while_a_client_is_attached() {
    let bed = Bed::new();
    let host = bed.serve("1.0.0", IdlePolicy::WhileNeeded(Duration::from_millis(300)));
    let client = soon(HostClient::attach(&bed.seen_by("1.0.0"))).await.unwrap();
    tokio::time::pause();
    for _ in 0..100 {
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    tokio::time::resume();
    assert!(matches!(soon(client.ask(Request::Sessions)).await, Ok(Reply::Sessions(_))));
    assert_eq!(soon(bed.seen_by("1.0.0").state()).await.unwrap().unwrap().clients, 1);
    drop(client);
    soon(host).await.unwrap();
}

#[tokio::test]
async fn a_waiting_client_learns_that_the_host_is_gone() {
    let bed = Bed::new();
    let host = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let client = soon(HostClient::attach(&bed.seen_by("1.0.0"))).await.unwrap();
    soon(bed.seen_by("1.0.0").stop()).await.unwrap();
    soon(host).await.unwrap();
    assert!(matches!(soon(client.ask(Request::Sessions)).await, Err(Error::Lost)));
    assert!(matches!(soon(HostClient::attach(&bed.seen_by("1.0.0"))).await, Err(Error::NoHost)));
}

#[tokio::test(start_paused = true)]
async fn a_host_without_its_folder_stops_and_spares_the_next_one() {
    let bed = Bed::new();
    let old = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    fs::remove_dir_all(bed.home.path()).unwrap();
    let new = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    old.await.unwrap();
    assert!(bed.address().is_some_and(|address| address.socket.exists()));
    new.abort();
}
