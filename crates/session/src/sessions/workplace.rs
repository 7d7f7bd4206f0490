//! The executor of session tasks.
//!
//! In a long-lived process, each session has a thread. A thread that reads endless output uses up its CPU share,
//! and would delay the small cells of other sessions.

use std::future::Future;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cellist_platform::fault::{self, Site};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::{Instant, sleep};

/// Time for background work after a session has ended, such as the shutdown of a killed kernel.
const LAST_WORDS: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// The executor of a session task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workplace {
    /// The shared runtime.
    Shared,
    /// A separate thread per session.
    OwnThread,
}

impl Workplace {
    /// Runs a session task. Needs a runtime, which also serves as fallback if no thread can be created.
    pub(super) fn spawn(self, work: impl Future<Output = ()> + Send + 'static) {
        let (hand_over, taken) = mpsc::channel();
        let begin = move || {
            if let Ok((runtime, work)) = taken.recv() {
                do_all(&runtime, work);
            }
        };
        // File descriptors and threads may have run out.
        let runtime = match self {
            Workplace::Shared => None,
            Workplace::OwnThread => Builder::new_current_thread().enable_all().build().ok(),
        };
        let Some(runtime) = runtime else { return drop(tokio::spawn(work)) };
        match fault::thread(Site::SessionThread, thread::Builder::new().name("session".into()), begin) {
            // The thread waits for this message.
            Ok(_) => drop(hand_over.send((runtime, work))),
            Err(_) => {
                // Dropping a runtime inside another runtime would panic.
                runtime.shutdown_background();
                drop(tokio::spawn(work));
            }
        }
    }
}

/// Runs the task and the background work it started.
fn do_all(runtime: &Runtime, work: impl Future<Output = ()>) {
    runtime.block_on(async {
        work.await;
        let until = Instant::now() + LAST_WORDS;
        while Handle::current().metrics().num_alive_tasks() > 0 && Instant::now() < until {
            sleep(LOOK).await;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn background_work_on_a_separate_thread_runs_to_its_end() {
        let (say, said) = tokio::sync::oneshot::channel();
        Workplace::OwnThread.spawn(async {
            tokio::spawn(async {
                sleep(LOOK * 3).await;
                let _ = say.send(thread::current().name().map(str::to_owned));
            });
        });
        assert_eq!(said.await.unwrap().as_deref(), Some("session"));
    }

    #[tokio::test]
    async fn shared_work_runs_on_the_callers_runtime() {
        let (say, said) = tokio::sync::oneshot::channel();
        let here = thread::current().id();
        Workplace::Shared.spawn(async {
            let _ = say.send(thread::current().id());
        });
        assert_eq!(said.await.unwrap(), here);
    }
}
