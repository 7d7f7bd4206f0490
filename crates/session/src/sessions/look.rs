//! Work for a session between two calls: completion, inspection, and late output for its notebook.

use std::time::Duration;

use cellist_kernel::{Completion, Inspection, Kernel};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::execution::Cancel;

/// How long a kernel may take. Who types has gone on by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is looked up. Who asked is told nothing where the kernel does not say.
pub(super) enum Look {
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
    /// Late output that has come so far goes to the notebook.
    Late(oneshot::Sender<()>),
}

impl Look {
    /// Looks it up, unless the session is needed for something else.
    pub(super) async fn carry_out(self, kernel: &dyn Kernel, cancel: &mut Cancel) {
        let look = async {
            match self {
                Look::Complete { code, cursor, answer } => {
                    if let Ok(found) = kernel.complete(&code, cursor).await {
                        let _ = answer.send(found);
                    }
                }
                Look::Inspect { code, cursor, answer } => {
                    if let Ok(found) = kernel.inspect(&code, cursor, false).await {
                        let _ = answer.send(found);
                    }
                }
                // The task of the session has done it.
                Look::Late(_) => {}
            }
        };
        tokio::select! {
            biased;
            _ = cancel.stopped() => {}
            _ = timeout(PATIENCE, look) => {}
        }
    }
}
