//! Where the work of a session is done. A session of a long-lived process has a thread of its own: a thread that reads
//! what one program prints without end has used up its share of the machine when the few steps of a small cell come, and
//! the system lets it wait; the thread of the small cell has not.

use std::future::Future;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cellist_platform::fault::{self, Site};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::{Instant, sleep};

/// How long what a session has begun may go on when it is over, such as the last words of a kernel that is killed.
const LAST_WORDS: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// Where the work of a session is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workplace {
    /// Where everything else is done.
    Shared,
    /// On a thread of its own.
    OwnThread,
}

impl Workplace {
    /// Has work done there. Needs a runtime, which does it where no thread can be had.
    pub(super) fn spawn(self, work: impl Future<Output = ()> + Send + 'static) {
        let (hand_over, taken) = mpsc::channel();
        let begin = move || {
            if let Ok((runtime, work)) = taken.recv() {
                do_all(&runtime, work);
            }
        };
        // Files and threads may have run out.
        let runtime = match self {
            Workplace::Shared => None,
            Workplace::OwnThread => Builder::new_current_thread().enable_all().build().ok(),
        };
        let Some(runtime) = runtime else { return drop(tokio::spawn(work)) };
        match fault::thread(Site::SessionThread, thread::Builder::new().name("session".into()), begin) {
            // It waits for just this.
            Ok(_) => drop(hand_over.send((runtime, work))),
            Err(_) => {
                // Where others are at work, a runtime is not simply dropped.
                runtime.shutdown_background();
                drop(tokio::spawn(work));
            }
        }
    }
}

/// Does work, and what it has begun meanwhile.
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
    async fn what_was_begun_on_a_thread_of_its_own_is_done_to_its_end() {
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
    async fn work_in_a_shared_place_is_done_by_whoever_asks() {
        let (say, said) = tokio::sync::oneshot::channel();
        let here = thread::current().id();
        Workplace::Shared.spawn(async {
            let _ = say.send(thread::current().id());
        });
        assert_eq!(said.await.unwrap(), here);
    }
}
