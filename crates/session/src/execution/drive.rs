//! Drives one piece of code to its end: reads its events, enforces its time limit, and stops it on request.

use std::time::Duration;

use cellist_kernel::{Event, ExecutionId, Kernel, Request};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::cancel::Cancel;
use super::pace::{Due, Pace};
use super::record::Record;
use super::run_outputs::RunOutputs;

/// Interval of progress updates to the observer.
const TICK: Duration = Duration::from_millis(100);

/// How long a killed kernel may take to report its end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long the program's output handlers may take, and how long they may take to stop.
const HANDLERS: Duration = Duration::from_secs(5);

/// An event for the observer of an execution.
pub(crate) enum DriveEvent {
    /// The kernel sent an event.
    Event(Event),
    /// The update interval has passed.
    Tick,
    /// The code was interrupted, or did not stop within the grace period.
    Stopping(Pace),
}

/// A piece of code to run, with its record, time limits and cancellation.
pub(crate) struct DriveInput<'a> {
    pub(crate) kernel: &'a dyn Kernel,
    pub(crate) request: Request,
    pub(crate) record: &'a mut Record,
    pub(crate) pace: &'a mut Pace,
    pub(crate) cancel: &'a mut Cancel,
}

/// Runs code until it ends, or its kernel dies or is ended. An error means that the code never began.
pub(crate) async fn drive(
    work: DriveInput<'_>,
    mut watch: impl FnMut(&mut Record, DriveEvent),
) -> cellist_kernel::Result<()> {
    let DriveInput { kernel, request, record, pace, cancel } = work;
    let execution = kernel.execute(request).await?;
    let mut stream = EventStream { id: execution.id, events: execution.events };
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    while !record.has_ended() {
        let wake = match pace.due(now()) {
            Due::Nothing(until) => until,
            due => {
                act(kernel, due, pace, record, &mut stream, &mut watch).await;
                continue;
            }
        };
        let alarm = async {
            match wake {
                Some(until) => sleep_until(until.into()).await,
                None => std::future::pending().await,
            }
        };
        let wish = tokio::select! {
            biased;
            wish = cancel.next_request() => Some(wish),
            () = alarm => None,
            _ = ticks.tick() => {
                watch(record, DriveEvent::Tick);
                None
            }
            event = stream.next(record) => {
                take(event, record, &mut watch);
                None
            }
        };
        if let Some(wish) = wish {
            let due = pace.handle(wish, now());
            act(kernel, due, pace, record, &mut stream, &mut watch).await;
        }
    }
    Ok(())
}

/// Sends the program the outputs that its Output widgets captured. Interrupts handlers of the program that take too
/// long.
pub(crate) async fn send_captured_outputs(kernel: &dyn Kernel, outputs: &RunOutputs) {
    for message in outputs.take_messages() {
        let Ok(mut execution) = kernel.comm(message).await else { return };
        let mut told = std::pin::pin!(async { while execution.events.recv().await.is_some() {} });
        if timeout(HANDLERS, &mut told).await.is_err() {
            drop(kernel.interrupt(execution.id).await);
            let _ = timeout(HANDLERS, told).await;
        }
    }
}

/// Returns the time by tokio's clock, which tests can pause.
pub(crate) fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// The event stream of an execution.
struct EventStream {
    id: ExecutionId,
    events: mpsc::Receiver<Event>,
}

impl EventStream {
    /// Waits for room in the record, then for the next event. Cancel-safe.
    async fn next(&mut self, record: &Record) -> Option<Event> {
        record.room().await;
        self.events.recv().await
    }
}

fn take(event: Option<Event>, record: &mut Record, watch: &mut impl FnMut(&mut Record, DriveEvent)) {
    match event {
        Some(event) => {
            record.apply(&event);
            watch(record, DriveEvent::Event(event));
        }
        None => record.abandoned(),
    }
}

async fn act(
    kernel: &dyn Kernel,
    due: Due,
    pace: &Pace,
    record: &mut Record,
    stream: &mut EventStream,
    watch: &mut impl FnMut(&mut Record, DriveEvent),
) {
    match due {
        Due::Nothing(_) => {}
        // A kernel that cannot be interrupted is treated like one that does not stop.
        Due::Interrupt => {
            watch(record, DriveEvent::Stopping(*pace));
            drop(kernel.interrupt(stream.id).await);
        }
        Due::Overdue => watch(record, DriveEvent::Stopping(*pace)),
        Due::Kill => {
            let mut ending = kernel.shutdown();
            let mut ended = false;
            // The kernel may still flush output before it ends, and blocks until a reader takes it.
            let deadline = sleep_until(Instant::now() + LAST_WORDS);
            tokio::pin!(deadline);
            while !record.has_ended() {
                tokio::select! {
                    biased;
                    event = stream.next(record) => take(event, record, watch),
                    () = &mut ending, if !ended => ended = true,
                    () = &mut deadline, if ended => record.abandoned(),
                }
            }
            if !ended {
                ending.await;
            }
        }
    }
}
