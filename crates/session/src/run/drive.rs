//! Runs one piece of code to its end: reads its events, keeps its times, stops it when it must be stopped.

use std::time::{Duration, Instant};

use cellist_kernel::{Event, ExecutionId, Kernel, Request};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use super::pace::{Due, Pace};
use super::record::Record;

/// How often those who watch are shown something new.
const TICK: Duration = Duration::from_millis(100);

/// How long a kernel that was ended may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Wishes to stop what runs. The first interrupts it; the second ends its kernel.
#[derive(Debug)]
pub struct Cancel(mpsc::Receiver<()>);

/// The other end of [`Cancel`].
#[derive(Clone, Debug)]
pub struct Canceller(mpsc::Sender<()>);

impl Canceller {
    /// Asks to stop. Asking more often than anyone listens is as good as asking once.
    pub fn cancel(&self) {
        let _ = self.0.try_send(());
    }
}

impl Cancel {
    /// Both ends.
    pub fn channel() -> (Canceller, Cancel) {
        // Two wishes mean all that can be meant; a third is not needed.
        let (sender, receiver) = mpsc::channel(2);
        (Canceller(sender), Cancel(receiver))
    }

    /// Nobody will ask to stop.
    pub fn never() -> Cancel {
        Cancel::channel().1
    }

    /// Whether somebody has asked.
    pub(crate) fn is_asked(&mut self) -> bool {
        self.0.try_recv().is_ok()
    }

    /// Waits until somebody asks.
    pub async fn asked(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

/// What those who watch an execution are told.
pub(crate) enum Moment<'a> {
    /// Something happened.
    Event(&'a Event),
    /// Time has passed.
    Tick,
}

/// Runs code until it has ended, its kernel has died or was ended. An error means that it never began.
pub(crate) async fn drive(
    kernel: &dyn Kernel,
    request: Request,
    record: &mut Record,
    pace: &mut Pace,
    cancel: &mut Cancel,
    mut watch: impl FnMut(&mut Record, Moment<'_>),
) -> cellist_kernel::Result<()> {
    let mut execution = kernel.execute(request).await?;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    while !record.has_ended() {
        let wake = match pace.due(Instant::now()) {
            Due::Nothing(until) => until,
            due => {
                act(kernel, execution.id, due, record, &mut execution.events, &mut watch).await;
                continue;
            }
        };
        let alarm = async {
            match wake {
                Some(until) => sleep_until(until.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.asked() => {
                let due = pace.cancel(Instant::now());
                act(kernel, execution.id, due, record, &mut execution.events, &mut watch).await;
            }
            () = alarm => {}
            _ = ticks.tick() => watch(record, Moment::Tick),
            event = execution.events.recv() => take(event, record, &mut watch),
        }
    }
    Ok(())
}

fn take(event: Option<Event>, record: &mut Record, watch: &mut impl FnMut(&mut Record, Moment<'_>)) {
    match event {
        Some(event) => {
            record.apply(&event);
            watch(record, Moment::Event(&event));
        }
        None => record.abandoned(),
    }
}

async fn act(
    kernel: &dyn Kernel,
    id: ExecutionId,
    due: Due,
    record: &mut Record,
    events: &mut mpsc::Receiver<Event>,
    watch: &mut impl FnMut(&mut Record, Moment<'_>),
) {
    match due {
        Due::Nothing(_) => {}
        // One that cannot be interrupted is ended after the grace like one that does not listen.
        Due::Interrupt => drop(kernel.interrupt(id).await),
        Due::Kill => {
            let mut ending = kernel.shutdown();
            let mut ended = false;
            // A kernel that is ended may still have to hand over what it wrote, and waits for a reader.
            let deadline = sleep_until((Instant::now() + LAST_WORDS).into());
            tokio::pin!(deadline);
            while !record.has_ended() {
                tokio::select! {
                    biased;
                    event = events.recv() => take(event, record, watch),
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
