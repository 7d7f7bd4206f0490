//! The current process of a kernel, which a restart replaces.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::event::Death;
use crate::kernel::State;

pub(crate) struct Current<T>(Mutex<Arc<T>>);

impl<T> Current<T> {
    pub(crate) fn new(first: impl Into<Arc<T>>) -> Current<T> {
        Current(Mutex::new(first.into()))
    }

    /// A holder keeps its process, also after a restart.
    pub(crate) fn get(&self) -> Arc<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn replace(&self, next: impl Into<Arc<T>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next.into();
    }
}

/// Declares a kernel dead that is still starting when this is dropped: its restart failed, or its caller went away.
pub(crate) struct DeadUnlessReady(pub(crate) Arc<watch::Sender<State>>);

impl Drop for DeadUnlessReady {
    fn drop(&mut self) {
        self.0.send_if_modified(|state| {
            let unready = *state == State::Starting;
            if unready {
                *state = State::Dead(Death::Unknown);
            }
            unready
        });
    }
}
