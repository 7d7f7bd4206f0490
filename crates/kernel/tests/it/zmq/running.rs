//! Code that runs in a real ipykernel, and what is heard of it.

use std::time::{Duration, Instant};

use cellist_kernel::{Backend, Event, Outcome, State, Status};
use cellist_output::StreamName;

use super::bed::{Bed, until};

fn text(name: StreamName, text: &str) -> Event {
    Event::Stream { name, bytes: text.to_owned().into(), late: false }
}

fn done(status: Status, count: Option<u64>) -> Event {
    Event::Done(Outcome { status, execution_count: count, cancelled: false })
}

#[tokio::test]
async fn code_runs_and_is_heard_in_order() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let identity = kernel.kernel.identity();
    assert_eq!(identity.backend, Backend::Jupyter);
    assert_eq!((identity.name.as_str(), identity.language.as_str()), ("python3", "python"));
    assert!(identity.version.unwrap().starts_with("3."));
    assert_eq!(identity.language_info.unwrap()["file_extension"], ".py");

    let ran = kernel.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c é😀')\n6 * 7").await;
    assert_eq!(ran.0[0], Event::Started { execution_count: Some(1) });
    assert_eq!(ran.0[1], text(StreamName::Stdout, "a\n"));
    assert_eq!(ran.0[2], text(StreamName::Stderr, "b\n"));
    assert_eq!(ran.0[3], text(StreamName::Stdout, "c é😀\n"));
    assert!(matches!(&ran.0[4], Event::Result { execution_count: Some(1), .. }));
    assert_eq!(ran.result(), Some("42"));
    assert_eq!(ran.0[5], done(Status::Ok, Some(1)));

    let ran = kernel.run_hidden("x = 1; x").await;
    assert_eq!(ran.0, [Event::Started { execution_count: None }, done(Status::Ok, None)]);
    assert_eq!(kernel.run("x + 1").await.outcome().execution_count, Some(2));

    let ran = kernel.run("1/0").await;
    assert_eq!(ran.error(), Some(("ZeroDivisionError", "division by zero")));
    assert_eq!(ran.status(), Status::Error);
    assert!(!ran.outcome().cancelled);
    assert_eq!(*kernel.kernel.state().borrow(), State::Idle);
    kernel.end().await;
}

#[tokio::test]
async fn a_sleeping_cell_is_interrupted_and_state_is_kept() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    kernel.run("x = 5").await;
    for code in [
        "import time; print('go', flush=True); time.sleep(600)",
        "print('go', flush=True)\nwhile True: pass",
        "import asyncio; print('go', flush=True); await asyncio.sleep(600)",
        "import subprocess; print('go', flush=True); subprocess.run(['sleep', '600'])",
    ] {
        let mut execution = kernel.begin(code).await;
        until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
        let began = Instant::now();
        kernel.kernel.interrupt(execution.id).await.unwrap();
        let ran = super::bed::rest(&mut execution).await;
        assert!(ran.outcome().cancelled, "{code}: {ran:?}");
        assert_eq!(ran.status(), Status::Error);
        assert!(began.elapsed() < Duration::from_secs(3));
    }
    // At once, before the kernel has begun.
    let mut execution = kernel.begin("import time; time.sleep(600)").await;
    kernel.kernel.interrupt(execution.id).await.unwrap();
    assert!(super::bed::rest(&mut execution).await.outcome().cancelled);
    // Between cells it does nothing.
    kernel.kernel.interrupt(execution.id).await.unwrap();
    assert_eq!(kernel.run("x").await.result(), Some("5"));
    kernel.end().await;
}
