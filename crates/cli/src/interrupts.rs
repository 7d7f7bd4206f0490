//! Signals that ask to stop: what runs is interrupted and saved before the process ends.

use cellist_session::run::Canceller;
use tokio::signal::unix::{SignalKind, signal};

/// Hands each signal on as a wish to stop. Needs a runtime.
pub(crate) fn hand_on(canceller: &Canceller) {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // Without a listener the signal ends the process as it always did.
        let Ok(mut signals) = signal(kind) else { continue };
        let canceller = canceller.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                canceller.cancel();
            }
        });
    }
}
