//! What stands for a kernel now, and another in its place after a restart.

use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct Current<T>(Mutex<Arc<T>>);

impl<T> Current<T> {
    pub(crate) fn new(first: impl Into<Arc<T>>) -> Current<T> {
        Current(Mutex::new(first.into()))
    }

    /// Whoever has it keeps it, also when there is another since.
    pub(crate) fn get(&self) -> Arc<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn replace(&self, next: impl Into<Arc<T>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next.into();
    }
}
