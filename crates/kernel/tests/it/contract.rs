//! The contract of `Kernel`, held against every local backend.

use std::time::Duration;

use cellist_kernel::zmq::KernelCommand;
use cellist_kernel::{Error, Event, Execution, Kernel, Request, State, runner, shell, zmq};
use tokio::time::timeout;

use crate::traces::until_gone;
use crate::zmq::bed::{Bed, LONG, python};

/// A kernel of each backend, with code that prints its process and goes on for long.
async fn kernels(bed: &Bed) -> Vec<(Box<dyn Kernel>, &'static str, &'static str)> {
    let (launch, guard) = (|| bed.launch.clone(), &bed.guard);
    let runner = runner::start(&python(), launch(), guard).await.unwrap();
    let jupyter = zmq::start(KernelCommand::ipykernel(&python()), launch(), guard).await.unwrap();
    let shell = shell::start("/bin/sh".as_ref(), launch(), guard).unwrap();
    let (short, long) = ("1", "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)");
    vec![
        (runner.kernel, short, long),
        (jupyter.kernel, short, long),
        (shell.kernel, "true", "echo $$; sleep 600"),
    ]
}

async fn next(execution: &mut Execution) -> Option<Event> {
    timeout(LONG, execution.events.recv()).await.expect("an event, or the end")
}

async fn until_end(execution: &mut Execution) {
    while let Some(event) = next(execution).await {
        if matches!(event, Event::Done(_) | Event::Died(_)) {
            return;
        }
    }
    panic!("no end");
}

/// The process that runs long code.
async fn pid(execution: &mut Execution) -> u32 {
    loop {
        if let Some(Event::Stream { bytes, .. }) = next(execution).await
            && let Ok(pid) = str::from_utf8(&bytes).unwrap().trim().parse()
        {
            return pid;
        }
    }
}

#[tokio::test]
async fn a_reader_of_the_end_may_execute_at_once_and_nobody_before() {
    let bed = Bed::new();
    for (kernel, short, long) in kernels(&bed).await {
        let state = kernel.state();
        for _ in 0..50 {
            let mut execution = kernel.execute(Request::new(short)).await.unwrap();
            until_end(&mut execution).await;
            assert_eq!(*state.borrow(), State::Idle, "{:?}", kernel.identity().backend);
        }
        let mut execution = kernel.execute(Request::new(long)).await.unwrap();
        pid(&mut execution).await;
        assert!(matches!(kernel.execute(Request::new(short)).await, Err(Error::Busy)));
        kernel.shutdown().await;
        until_end(&mut execution).await;
        assert!(matches!(*state.borrow(), State::Dead(_)));
        assert!(matches!(kernel.execute(Request::new(short)).await, Err(Error::Dead { .. })));
    }
}

#[tokio::test]
async fn a_kernel_that_is_dropped_takes_its_processes_along() {
    let bed = Bed::new();
    for (kernel, _, long) in kernels(&bed).await {
        let mut execution = kernel.execute(Request::new(long)).await.unwrap();
        let pid = pid(&mut execution).await;
        drop(kernel);
        tokio::task::spawn_blocking(move || until_gone(pid)).await.unwrap();
    }
}

#[tokio::test]
async fn a_restart_that_is_dropped_leaves_a_dead_kernel_that_can_be_restarted() {
    let bed = Bed::new();
    for (kernel, short, _) in kernels(&bed).await {
        let mut state = kernel.state();
        let restarting = async {
            let starting = state.wait_for(|state| *state == State::Starting);
            timeout(Duration::from_secs(5), starting).await.is_ok_and(|found| found.is_ok())
        };
        // A shell has nothing to start.
        let is_dropped = tokio::select! {
            biased;
            restarted = kernel.restart() => { restarted.unwrap(); false }
            starting = restarting => starting,
        };
        if is_dropped {
            assert!(matches!(*kernel.state().borrow(), State::Dead(_)));
            kernel.restart().await.unwrap();
        }
        until_end(&mut kernel.execute(Request::new(short)).await.unwrap()).await;
        kernel.shutdown().await;
    }
}
