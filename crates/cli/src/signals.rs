//! Turns signals into cancellation, so that running code is interrupted and saved before the process ends.

use cellist_session::execution::Canceller;
use tokio::signal::unix::{SignalKind, signal};

/// Cancels on each signal, by force from the second on, because the kernel ends with the command. Needs a
/// runtime.
pub(crate) fn cancel_on_signals(canceller: &Canceller) {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        cancel_on_signal(kind, canceller, true);
    }
}

/// Cancels on SIGINT and SIGTERM only: code in the host outlives a terminal that hangs up. Needs a runtime.
pub(crate) fn cancel_on_stop_signals(canceller: &Canceller) {
    cancel_on_signal(SignalKind::interrupt(), canceller, false);
    cancel_on_signal(SignalKind::terminate(), canceller, false);
}

fn cancel_on_signal(kind: SignalKind, canceller: &Canceller, forces: bool) {
    // Without a listener, the signal ends the process as usual.
    let Ok(mut signals) = signal(kind) else { return };
    let canceller = canceller.clone();
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            let is_repeated = canceller.is_asked();
            canceller.cancel();
            if forces && is_repeated {
                canceller.force();
            }
        }
    });
}
