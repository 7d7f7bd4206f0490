//! Lifetime of sessions, by kind and owner.

use std::time::Duration;

use testkit::until;
use tokio::time::advance;

use super::bed::{Bed, begun, call, count, done, key, text};
use crate::execution::{Limit, Status};
use crate::sessions::{KernelMode, OwnerId, SessionError, SessionKind};

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

#[tokio::test(start_paused = true)]
async fn the_least_recently_used_idle_session_makes_room_and_a_busy_one_never() {
    let bed = Bed::new();
    for session in ["a", "b", "c", "d"] {
        bed.run(session, "out 1").await;
        advance(Duration::from_secs(1)).await;
    }
    bed.run("a", "out 2").await;
    advance(Duration::from_secs(1)).await;
    bed.run("e", "out 1").await;
    assert_eq!(bed.names(), ["a", "c", "d", "e"]);
    let busy: Vec<_> = ["c", "d", "e"].map(|session| bed.start(session, "hang")).into();
    for ticket in &busy {
        begun(ticket).await;
    }
    bed.run("f", "out 1").await;
    assert_eq!(bed.names(), ["c", "d", "e", "f"]);
    let last = bed.start("f", "hang");
    begun(&last).await;
    let error = bed.start("g", "out 1").done().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no room for session g: 4 sessions are kept at most, and all of them are busy (c, d, e, f)"
    );
    assert!(error.hint().unwrap().contains("cellist sessions stop ID"));
    // Notebooks and terminals do not need a free slot.
    for kind in [SessionKind::Notebook { path: "/nb.ipynb".into() }, SessionKind::Terminal] {
        let other = crate::sessions::SessionCall { kind, ..call("n", &["out 1"]) };
        assert_eq!(done(&bed.sessions.call(other)).await.status, Status::Ok);
    }
    // A session that was evicted says so when it is used again.
    bed.sessions.stop(&key("c")).await.unwrap();
    let report = bed.run("b", "out 3").await;
    assert_eq!(
        text(&report),
        "3\n[New kernel: the last one made room for another session. Earlier state is gone.]"
    );
    assert_eq!(count(&report), 1);
}

#[tokio::test(start_paused = true)]
async fn the_kernel_of_a_notebook_stays_for_an_hour_after_its_last_user_left_and_says_when_it_ends() {
    let bed = Bed::new();
    let (page, agent) = (OwnerId("page".into()), OwnerId("agent".into()));
    bed.sessions.join(page.clone());
    bed.sessions.join(agent.clone());
    let kind = SessionKind::Notebook { path: "/nb.ipynb".into() };
    done(&bed.sessions.call(crate::sessions::SessionCall { kind: kind.clone(), ..call("nb", &["out 1"]) }))
        .await;
    bed.sessions.attach(&page, &key("nb")).unwrap();
    bed.sessions.attach(&agent, &key("nb")).unwrap();
    tokio::time::sleep(minutes(300)).await;
    let view = bed.view("nb");
    assert_eq!((view.ends_ms, view.stays_ms), (None, 3_600_000));
    bed.sessions.leave(&agent);
    tokio::time::sleep(minutes(300)).await;
    bed.sessions.leave(&page);
    let view = bed.view("nb");
    assert_eq!(view.ends_ms, Some(view.last_used_ms + 3_600_000));
    tokio::time::sleep(minutes(59)).await;
    assert_eq!(bed.names(), ["nb"]);
    assert_eq!(bed.sessions.gone(&key("nb")), None);
    tokio::time::sleep(minutes(2)).await;
    assert_eq!(bed.names(), Vec::<String>::new());
    assert_eq!(bed.sessions.gone(&key("nb")).as_deref(), Some("the last one was idle for 1 hour"));
    let report =
        done(&bed.sessions.call(crate::sessions::SessionCall { kind, ..call("nb", &["raise E x"]) })).await;
    assert_eq!(text(&report), "E x\n[New kernel: the last one was idle for 1 hour. Earlier state is gone.]");
}

#[tokio::test(start_paused = true)]
async fn unused_sessions_end_after_five_minutes_and_busy_or_owned_ones_stay() {
    let bed = Bed::new();
    let owner = OwnerId("page".into());
    bed.sessions.join(owner.clone());
    bed.run("idle", "out 1").await;
    let owned = crate::sessions::SessionCall { owner: Some(owner.clone()), ..call("owned", &["out 1"]) };
    done(&bed.sessions.call(owned)).await;
    let busy = bed.start("busy", "hang");
    begun(&busy).await;
    tokio::time::sleep(minutes(5) - Duration::from_secs(40)).await;
    assert_eq!(bed.names(), ["idle", "owned", "busy"]);
    tokio::time::sleep(Duration::from_secs(80)).await;
    assert_eq!(bed.names(), ["owned", "busy"]);
    until(|| bed.mill.living() == 2).await;
    let report = bed.run("idle", "out 2").await;
    assert_eq!(text(&report), "2\n[New kernel: the last one was idle for 5 minutes. Earlier state is gone.]");
    tokio::time::sleep(minutes(60)).await;
    assert_eq!(bed.names(), ["owned", "busy"]);
}

#[tokio::test(start_paused = true)]
async fn a_shared_session_ends_when_the_last_of_its_owners_leaves() {
    let bed = Bed::new();
    let [one, two] = ["one", "two"].map(|name| OwnerId(name.into()));
    for owner in [&one, &two] {
        bed.sessions.join(owner.clone());
        let shared = crate::sessions::SessionCall { owner: Some(owner.clone()), ..call("a", &["out 1"]) };
        done(&bed.sessions.call(shared)).await;
    }
    assert_eq!(bed.view("a").owners, [one.clone(), two.clone()]);
    bed.sessions.leave(&one);
    assert_eq!(count(&bed.run("b", "out 1").await), 1);
    assert_eq!(bed.view("a").owners, std::slice::from_ref(&two));
    bed.sessions.leave(&two);
    until(|| bed.names() == ["b"]).await;
    until(|| bed.mill.living() == 1).await;
    // A session called without an owner does not end with another owner.
    bed.sessions.join(one.clone());
    bed.sessions.attach(&one, &key("b")).unwrap();
    bed.sessions.leave(&one);
    assert_eq!(count(&bed.run("b", "out 2").await), 2);
}

#[tokio::test(start_paused = true)]
async fn calls_of_an_owner_that_left_run_to_their_end() {
    let bed = Bed::new();
    let owner = OwnerId("client".into());
    bed.sessions.join(owner.clone());
    let owned = |code| crate::sessions::SessionCall { owner: Some(owner.clone()), ..call("a", &[code]) };
    let running = bed.sessions.call(owned("hang"));
    let waiting = bed.sessions.call(owned("out 2"));
    begun(&running).await;
    bed.sessions.leave(&owner);
    assert!(bed.sessions.interrupt(&key("a")).unwrap());
    assert_eq!(done(&running).await.status, Status::Cancelled);
    assert_eq!(count(&done(&waiting).await), 2);
    until(|| bed.names().is_empty()).await;
    until(|| bed.mill.living() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_kernel_for_one_call_ends_after_any_outcome() {
    let bed = Bed::new();
    let one_call = |code: &str| {
        let mut call = call("a", &[code]);
        (call.rules.mode, call.rules.limit) = (KernelMode::PerCall, Limit::Given(Duration::from_secs(1)));
        bed.sessions.call(call)
    };
    for (code, expected) in [
        ("out 1", Status::Ok),
        ("raise ValueError no", Status::Error),
        ("hang", Status::Timeout),
        ("die", Status::Error),
    ] {
        let report = done(&one_call(code)).await;
        assert_eq!((report.status, bed.mill.living()), (expected, 0), "{code}");
        assert!(!text(&report).contains("New kernel"), "{}", text(&report));
    }
    let cancelled = one_call("hang");
    begun(&cancelled).await;
    cancelled.canceller().cancel();
    assert_eq!(done(&cancelled).await.status, Status::Cancelled);
    assert_eq!(bed.mill.living(), 0);
    until(|| bed.names().is_empty()).await;
    // A session with the same name keeps its own state.
    bed.run("a", "out 1").await;
    assert_eq!(count(&done(&one_call("out 2")).await), 1);
    assert_eq!(count(&bed.run("a", "out 3").await), 2);
}

#[tokio::test(start_paused = true)]
async fn sessions_are_distinguished_by_name_and_folder() {
    let bed = Bed::new();
    let mut elsewhere = call("a", &["out 1"]);
    elsewhere.key.cwd = "/tmp".into();
    bed.run("a", "out 1").await;
    assert_eq!(bed.sessions.find("a", None).unwrap(), key("a"));
    done(&bed.sessions.call(elsewhere)).await;
    assert_eq!(bed.mill.started(), 2);
    let error = bed.sessions.find("a", None).unwrap_err();
    assert_eq!(error.to_string(), "there are 2 sessions a: in /, in /tmp");
    assert_eq!(bed.sessions.find("a", Some("/".as_ref())).unwrap(), key("a"));
    let error = bed.sessions.find("b", None).unwrap_err();
    assert_eq!(error, SessionError::NoSuchSession { id: "b".into() });
}

#[tokio::test(start_paused = true)]
async fn a_session_that_an_earlier_host_knew_says_that_its_state_is_gone() {
    let bed = Bed::new();
    bed.run("a", "out 1").await;
    bed.start("never", "out 1").canceller().cancel();
    bed.sessions.close().await;
    let bed = bed.again();
    assert_eq!(
        text(&bed.run("a", "out 2").await),
        "2\n[New kernel: the host was restarted. Earlier state is gone.]"
    );
    assert_eq!(text(&bed.run("a", "out 3").await), "3\n");
    assert_eq!(text(&bed.run("never", "out 4").await), "4\n");
}
