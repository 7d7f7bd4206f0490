//! A runner that has not said hello yet: its caller, its deadline, and its messages meanwhile.

use std::time::Duration;

use cellist_output::StreamName;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::event::Death;
use crate::runner::frames::Hello;

/// How much of a starting runner's output is kept for an error.
const START_WORDS: usize = 8 * 1024;

pub(super) struct Start {
    ready: oneshot::Sender<Result<Hello>>,
    within: Duration,
    pub(super) deadline: Instant,
    words: Vec<u8>,
}

impl Start {
    /// Begins now. The receiver tells when the runner is ready, or why it is not.
    pub(super) fn new(within: Duration) -> (Start, oneshot::Receiver<Result<Hello>>) {
        let (ready, hello) = oneshot::channel();
        (Start { ready, within, deadline: Instant::now() + within, words: Vec::new() }, hello)
    }

    /// Keeps the end of standard error before the runner is ready; the rest is no output of a cell.
    pub(super) fn hear(&mut self, name: StreamName, bytes: &[u8]) {
        if name == StreamName::Stderr {
            self.words.extend_from_slice(bytes);
            let over = self.words.len().saturating_sub(START_WORDS);
            self.words.drain(..over);
        }
    }

    pub(super) fn said_hello(self, hello: Hello) {
        self.tell(Ok(hello));
    }

    pub(super) fn took_too_long(self) {
        let (within, stderr) = (self.within, self.said());
        self.tell(Err(Error::NotReady { within, stderr }));
    }

    pub(super) fn died(self, death: Death) {
        let stderr = self.said();
        self.tell(Err(Error::DiedAtStart { death, stderr }));
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.words).into_owned()
    }

    fn tell(self, how: Result<Hello>) {
        // The caller may have gone; then the channel of commands is closed too.
        let _ = self.ready.send(how);
    }
}
