//! A kernel process's own output: read all the time, so that it never waits, and kept only at its end.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

/// How much of it is kept.
const KEPT: usize = 16 * 1024;

/// How long to wait for the last words of a process that is gone: others may hold its pipe.
const LAST_WORDS: Duration = Duration::from_millis(200);

pub(super) struct Log {
    tail: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl Log {
    /// Reads the pipe from now on.
    pub(super) fn read(pipe: io::PipeReader) -> io::Result<Log> {
        let mut pipe = pipe::Receiver::from_owned_fd(pipe.into())?;
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let kept = tail.clone();
        let reader = tokio::spawn(async move {
            let mut chunk = vec![0; 8192];
            while let Ok(count) = pipe.read(&mut chunk).await {
                if count == 0 {
                    break;
                }
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&chunk[..count]);
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            }
        });
        Ok(Log { tail, reader })
    }

    /// The end of the output of a process that is gone by now.
    pub(super) async fn last_words(&mut self) -> String {
        let _ = tokio::time::timeout(LAST_WORDS, &mut self.reader).await;
        let mut kept = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
