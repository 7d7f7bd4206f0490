//! Waits for conditions that another task, thread or process brings about.

use std::future::Future;
use std::panic::Location;
use std::thread;
use std::time::{Duration, Instant};

/// A timeout for a busy machine.
const LONG: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits for a condition and blocks the thread.
#[track_caller]
pub fn wait_until(condition: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "waited too long until {condition}");
        thread::sleep(PAUSE);
    }
}

/// Waits for a condition and lets other tasks run. The limit is real time, even if tokio's clock is
/// paused.
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
