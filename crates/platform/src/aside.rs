//! Work that blocks, done aside on threads that the whole process shares. A thread that cannot be had is an error of the
//! one piece of work that needed it, and so is a panic.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::contained::{Panicked, catch};
use crate::fault::{self, Site};

/// The most threads at once. Further work waits in a queue.
const MOST: usize = 128;
/// How long a thread waits for more to do. The last one stays: with it, work is done when no thread can be had.
const IDLE: Duration = Duration::from_secs(10);

static POOL: Pool = Pool { state: Mutex::new(State::NEW), news: Condvar::new() };

/// Why a piece of work has no result.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// It was not begun.
    #[error("no thread can be had: {0}; end other programs, or raise the limit of processes (`ulimit -u`)")]
    NoThread(#[source] io::Error),
    /// It was not finished.
    #[error(transparent)]
    Panicked(#[from] Panicked),
}

impl From<NotDone> for io::Error {
    fn from(error: NotDone) -> io::Error {
        let kind = match &error {
            NotDone::NoThread(error) => error.kind(),
            NotDone::Panicked(_) => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// Begins a piece of work that blocks. It is done whether its result is waited for or not.
pub fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Aside<T> {
    let (tell, told) = oneshot::channel();
    let runtime = Handle::try_current().ok();
    let job = move |begun: io::Result<()>| {
        let done = match begun {
            Ok(()) => {
                let _inside = runtime.as_ref().map(Handle::enter);
                catch(work).map_err(NotDone::from)
            }
            Err(error) => Err(NotDone::NoThread(error)),
        };
        // The receiver may be gone; the work is done.
        let _ = tell.send(done);
    };
    POOL.take(Box::new(job));
    Aside(told)
}

/// Makes sure that so many threads can be had now, for a library that panics where one cannot.
pub fn check_threads(count: usize) -> io::Result<()> {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let wait = || drop(held.lock().map(|held| held.recv()));
    thread::scope(|scope| {
        let all = (0..count).map(|_| thread::Builder::new().spawn_scoped(scope, wait));
        let all: io::Result<Vec<_>> = all.collect();
        drop(hold);
        all.map(drop)
    })
}

/// Makes sure that there is a thread for work aside, from now on.
pub fn prepare() -> io::Result<()> {
    POOL.prepare()
}

/// The result of a piece of work, when it is done. Dropping it leaves the work alone.
#[derive(Debug)]
pub struct Aside<T>(oneshot::Receiver<Result<T, NotDone>>);

impl<T> Aside<T> {
    /// The result, if it is there by now.
    pub fn try_done(&mut self) -> Option<Result<T, NotDone>> {
        match self.0.try_recv() {
            Ok(done) => Some(done),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => Some(Err(Panicked::unknown().into())),
        }
    }
}

impl<T> Future for Aside<T> {
    type Output = Result<T, NotDone>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let told = Pin::new(&mut self.0).poll(cx);
        told.map(|told| told.unwrap_or_else(|_| Err(Panicked::unknown().into())))
    }
}

/// Called once, with the result of starting a thread.
type Job = Box<dyn FnOnce(io::Result<()>) + Send>;

struct Pool {
    state: Mutex<State>,
    news: Condvar,
}

struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    /// How many of them wait for something to do.
    idle: usize,
}

impl State {
    const NEW: State = State { jobs: VecDeque::new(), threads: 0, idle: 0 };
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&'static self, job: Job) {
        if let Err(error) = fault::point(Site::AsideJob) {
            return job(Err(error));
        }
        let mut state = self.lock();
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() {
            return self.news.notify_one();
        }
        if state.threads >= MOST {
            return;
        }
        if let Err(error) = self.begin(&mut state)
            // One of those at work takes it when it is done.
            && state.threads == 0
        {
            let jobs = std::mem::take(&mut state.jobs);
            drop(state);
            jobs.into_iter().for_each(|job| job(Err(again(&error))));
        }
    }

    fn prepare(&'static self) -> io::Result<()> {
        let mut state = self.lock();
        if state.threads == 0 { self.begin(&mut state) } else { Ok(()) }
    }

    fn begin(&'static self, state: &mut State) -> io::Result<()> {
        fault::thread(Site::AsideThread, thread::Builder::new().name("aside".into()), || self.work())?;
        state.threads += 1;
        Ok(())
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            while let Some(job) = state.jobs.pop_front() {
                drop(state);
                job(Ok(()));
                state = self.lock();
            }
            state.idle += 1;
            let (woken, waited) = self.news.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() && state.threads > 1 {
                state.threads -= 1;
                return;
            }
        }
    }
}

/// The same error once more.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_aside_and_its_panic_is_told() {
        let here = thread::current().id();
        assert_ne!(aside(|| thread::current().id()).await.unwrap(), here);
        let failed: Result<(), NotDone> = aside(|| panic!("no luck")).await;
        assert!(matches!(&failed, Err(NotDone::Panicked(_))), "{failed:?}");
        // The thread lives on.
        let many: Vec<Aside<usize>> = (0..1000).map(|n| aside(move || n)).collect();
        for (n, one) in many.into_iter().enumerate() {
            assert_eq!(one.await.unwrap(), n);
        }
        assert!(POOL.lock().threads <= MOST);
    }
}
