//! Waiting for what happens by itself, in another task, thread or process.

use std::future::Future;
use std::panic::Location;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until something is so; blocks the thread.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "waited too long until {what}");
        thread::sleep(PAUSE);
    }
}

/// Waits until something is so; lets other tasks go on. The limit is real time, also where tokio's clock is paused.
#[track_caller]
pub fn until(mut is_so: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let (began, caller) = (Instant::now(), Location::caller());
    async move {
        while !is_so() {
            assert!(began.elapsed() < LONG, "waited too long at {caller}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}
