//! Runs one piece of code to its end: reads its events, keeps its times, stops it when it must be stopped.

use std::time::Duration;

use cellist_kernel::{Event, ExecutionId, Kernel, Request};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::cancel::Cancel;
use super::pace::{Due, Pace};
use super::record::Record;
use super::run_outputs::RunOutputs;

/// How often those who watch are shown something new.
const TICK: Duration = Duration::from_millis(100);

/// How long a kernel that was ended may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long handlers of a program may take that are told of outputs, and how long to stop.
const HANDLERS: Duration = Duration::from_secs(5);

/// What those who watch an execution are told.
pub(crate) enum Moment {
    /// Something happened.
    Event(Event),
    /// Time has passed.
    Tick,
    /// The code was interrupted, or has not stopped within the grace after that.
    Stopping(Pace),
}

/// A piece of code to run, with all that goes along.
pub(crate) struct Work<'a> {
    pub(crate) kernel: &'a dyn Kernel,
    pub(crate) request: Request,
    pub(crate) record: &'a mut Record,
    pub(crate) pace: &'a mut Pace,
    pub(crate) cancel: &'a mut Cancel,
}

/// Runs code until it has ended, its kernel has died or was ended. An error means that it never began.
pub(crate) async fn drive(
    work: Work<'_>,
    mut watch: impl FnMut(&mut Record, Moment),
) -> cellist_kernel::Result<()> {
    let Work { kernel, request, record, pace, cancel } = work;
    let execution = kernel.execute(request).await?;
    let mut hearing = Hearing { id: execution.id, events: execution.events };
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    while !record.has_ended() {
        let wake = match pace.due(now()) {
            Due::Nothing(until) => until,
            due => {
                act(kernel, due, pace, record, &mut hearing, &mut watch).await;
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
            wish = cancel.wish() => Some(wish),
            () = alarm => None,
            _ = ticks.tick() => {
                watch(record, Moment::Tick);
                None
            }
            event = hearing.next(record) => {
                take(event, record, &mut watch);
                None
            }
        };
        if let Some(wish) = wish {
            let due = pace.wish(wish, now());
            act(kernel, due, pace, record, &mut hearing, &mut watch).await;
        }
    }
    Ok(())
}

/// Tells the program the outputs that its widgets have taken, which it may read and add to. Handlers of the program that
/// take too long are interrupted.
pub(crate) async fn tell_widgets(kernel: &dyn Kernel, outputs: &RunOutputs) {
    for message in outputs.take_messages() {
        let Ok(mut execution) = kernel.comm(message).await else { return };
        let mut told = std::pin::pin!(async { while execution.events.recv().await.is_some() {} });
        if timeout(HANDLERS, &mut told).await.is_err() {
            drop(kernel.interrupt(execution.id).await);
            let _ = timeout(HANDLERS, told).await;
        }
    }
}

/// The time, by the clock that all waiting goes by.
pub(crate) fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// The events of an execution.
struct Hearing {
    id: ExecutionId,
    events: mpsc::Receiver<Event>,
}

impl Hearing {
    /// The next event, taken only when there is room for it. May be dropped at any time.
    async fn next(&mut self, record: &Record) -> Option<Event> {
        record.room().await;
        self.events.recv().await
    }
}

fn take(event: Option<Event>, record: &mut Record, watch: &mut impl FnMut(&mut Record, Moment)) {
    match event {
        Some(event) => {
            record.apply(&event);
            watch(record, Moment::Event(event));
        }
        None => record.abandoned(),
    }
}

async fn act(
    kernel: &dyn Kernel,
    due: Due,
    pace: &Pace,
    record: &mut Record,
    hearing: &mut Hearing,
    watch: &mut impl FnMut(&mut Record, Moment),
) {
    match due {
        Due::Nothing(_) => {}
        // One that cannot be interrupted is treated like one that does not stop.
        Due::Interrupt => {
            watch(record, Moment::Stopping(*pace));
            drop(kernel.interrupt(hearing.id).await);
        }
        Due::Overdue => watch(record, Moment::Stopping(*pace)),
        Due::Kill => {
            let mut ending = kernel.shutdown();
            let mut ended = false;
            // A kernel that is ended may still have to hand over what it wrote, and waits for a reader.
            let deadline = sleep_until(Instant::now() + LAST_WORDS);
            tokio::pin!(deadline);
            while !record.has_ended() {
                tokio::select! {
                    biased;
                    event = hearing.next(record) => take(event, record, watch),
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
