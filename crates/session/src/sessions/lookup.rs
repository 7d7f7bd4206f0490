//! Requests between two calls: completion, inspection, and delivery of late output.

use std::time::Duration;

use cellist_kernel::{Completion, Inspection, Kernel};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::execution::Cancel;

/// Timeout of a lookup. By then, the user has typed on.
const PATIENCE: Duration = Duration::from_secs(5);

/// A lookup. If the kernel does not answer, the sender is dropped without a reply.
pub(super) enum Lookup {
    Complete {
        code: String,
        cursor: usize,
        answer: oneshot::Sender<Completion>,
    },
    Inspect {
        code: String,
        cursor: usize,
        answer: oneshot::Sender<Inspection>,
    },
    /// Deliver the late output received so far.
    Late(oneshot::Sender<()>),
}

impl Lookup {
    /// Asks the kernel, unless the session is cancelled first.
    pub(super) async fn carry_out(self, kernel: &dyn Kernel, cancel: &mut Cancel) {
        let look = async {
            match self {
                Lookup::Complete { code, cursor, answer } => {
                    if let Ok(found) = kernel.complete(&code, cursor).await {
                        let _ = answer.send(found);
                    }
                }
                Lookup::Inspect { code, cursor, answer } => {
                    if let Ok(found) = kernel.inspect(&code, cursor, false).await {
                        let _ = answer.send(found);
                    }
                }
                // The session task handles it.
                Lookup::Late(_) => {}
            }
        };
        tokio::select! {
            biased;
            _ = cancel.stopped() => {}
            _ = timeout(PATIENCE, look) => {}
        }
    }
}
