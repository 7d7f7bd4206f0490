//! The current process of a kernel, which a restart replaces.

use std::sync::{Arc, Mutex, PoisonError};

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
