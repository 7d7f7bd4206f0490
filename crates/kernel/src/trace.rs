//! The trace of a backend's messages, for debugging.

use std::fmt;
use std::sync::Arc;

/// Takes one line for each message. Keys and the values of variables are never among them.
#[derive(Clone)]
pub struct Trace(Arc<dyn Fn(&str) + Send + Sync>);

impl Trace {
    /// A trace that goes to `write`, which must not block for long.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Trace {
        Trace(Arc::new(write))
    }

    /// Writes one line.
    pub fn line(&self, line: &str) {
        (self.0)(line);
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}
