//! The event loop of full screens: keys, signals, progress and replies of the host, and animation frames.

use std::io;
use std::time::Duration;

use cellist_host::{Event as HostEvent, PendingRequest, RequestCanceller};
use crossterm::event::Event;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::screen::{FrameOutput, TerminalScreen, events};

/// The time between two animation frames.
const FRAME: Duration = Duration::from_millis(100);

/// A full screen with everything that it waits for.
///
/// The loop owns the terminal and the requests in `work`. Dropping it restores the terminal and aborts the requests. Keys come
/// first, so that a user can always interrupt or leave. [`next`](ScreenLoop::next) may be cancelled without losing an event.
pub(crate) struct ScreenLoop<R> {
    /// The request whose progress is shown.
    pub(crate) running: Option<RunningRequest>,
    /// The requests that wait for a reply.
    pub(crate) work: JoinSet<R>,
    tick: Interval,
    exit: ExitSignals,
    keys: Receiver<Event>,
    /// Dropped last, after the receiver of keys.
    screen: TerminalScreen,
}

/// An event of a [`ScreenLoop`].
pub(crate) enum LoopEvent<P, R> {
    /// A key or pasted text.
    Input(Event),
    /// The newest progress of the running request.
    Progress(P),
    /// The reply to a request.
    Reply(R),
    /// Time for the next animation frame.
    Tick,
    /// The terminal has another size.
    Resized,
    /// The terminal is gone, or a signal ends the program.
    Exit,
}

impl<R: 'static> ScreenLoop<R> {
    /// Takes over the terminal.
    pub(crate) fn start(has_colour: bool) -> io::Result<ScreenLoop<R>> {
        let screen = TerminalScreen::take(has_colour)?;
        let (running, work, tick) = (None, JoinSet::new(), frames());
        Ok(ScreenLoop { running, work, tick, exit: ExitSignals::new()?, keys: events(), screen })
    }

    pub(crate) fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer) -> FrameOutput) -> io::Result<()> {
        self.screen.draw(draw)
    }

    /// Waits for the next event. `progress` selects the host's events that matter; ticks come only if `is_animated`.
    pub(crate) async fn next<P>(
        &mut self,
        is_animated: bool,
        progress: impl Fn(&HostEvent) -> Option<P>,
    ) -> io::Result<LoopEvent<P, R>> {
        let event = tokio::select! {
            biased;
            event = self.keys.recv() => match event {
                None => LoopEvent::Exit,
                Some(Event::Resize(..)) => LoopEvent::Resized,
                Some(event) => LoopEvent::Input(event),
            },
            () = self.exit.received() => LoopEvent::Exit,
            newest = newest(&mut self.running, progress) => LoopEvent::Progress(newest),
            Some(Ok(reply)) = self.work.join_next(), if !self.work.is_empty() => LoopEvent::Reply(reply),
            _ = self.tick.tick(), if is_animated => LoopEvent::Tick,
        };
        if matches!(event, LoopEvent::Resized) {
            self.screen.refresh()?;
        }
        Ok(event)
    }

    /// Cancels the running request, if there is one. Returns whether there was one.
    pub(crate) fn cancel_running(&self) -> bool {
        let running = self.running.as_ref();
        running.map(RunningRequest::cancel).is_some()
    }
}

/// Animation frames. Frames that are late are skipped.
fn frames() -> Interval {
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    frames
}

/// The signals that end a program with a terminal: SIGTERM and SIGHUP.
pub(crate) struct ExitSignals {
    terminate: Signal,
    hangup: Signal,
}

impl ExitSignals {
    pub(crate) fn new() -> io::Result<ExitSignals> {
        Ok(ExitSignals { terminate: signal(SignalKind::terminate())?, hangup: signal(SignalKind::hangup())? })
    }

    /// Waits for one of the signals.
    pub(crate) async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// A request that was sent from this screen and has not ended.
pub(crate) struct RunningRequest {
    stop: RequestCanceller,
    events: watch::Receiver<Option<HostEvent>>,
}

impl RunningRequest {
    pub(crate) fn new(pending: &PendingRequest) -> RunningRequest {
        RunningRequest { stop: pending.stop(), events: pending.events() }
    }

    fn cancel(&self) {
        self.stop.stop();
    }
}

/// Waits for the newest progress of a request. Waits forever without a request, or when its events have ended.
async fn newest<P>(running: &mut Option<RunningRequest>, progress: impl Fn(&HostEvent) -> Option<P>) -> P {
    if let Some(running) = running {
        while running.events.changed().await.is_ok() {
            if let Some(found) = running.events.borrow_and_update().as_ref().and_then(&progress) {
                return found;
            }
        }
    }
    std::future::pending().await
}
