//! The progress of a run: a live display on a terminal, plain text on a pipe. It has its own thread, so the
//! run never waits for a slow reader.

mod live;
mod plain;

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cellist_session::execution::{Bar, CellReport};
use cellist_session::sessions::CellStep;
use cellist_settings::Images;

use crate::output::{print, print_drawn};
use crate::paint::Paint;
use live::LiveView;

pub(crate) use live::picturing_for;

/// The interval between frames of the live display.
const FRAME: Duration = Duration::from_millis(100);

/// The pause after output, which batches cells that follow each other quickly.
const PAUSE: Duration = Duration::from_millis(20);

enum ProgressEvent {
    Started(CellStep, Instant),
    Finished(Box<CellReport>),
}

/// The current output of the running cell. Newer output replaces output that was not drawn.
#[derive(Clone, Debug, Default)]
struct LiveOutput {
    text: String,
    bar: Option<Bar>,
}

#[derive(Clone, Debug)]
pub(crate) struct ProgressStyle {
    pub(crate) paint: Paint,
    pub(crate) images: Images,
    pub(crate) language: String,
}

/// The display of a run, if there is one.
pub(crate) struct Progress(Option<ProgressThread>);

struct ProgressThread {
    tell: Sender<ProgressEvent>,
    showing: Arc<Mutex<Option<LiveOutput>>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// No display.
    pub(crate) fn silent() -> Progress {
        Progress(None)
    }

    /// Displays the run on standard output: live on a terminal, unless other text is written there too.
    pub(crate) fn on_stdout(look: ProgressStyle, alone: bool) -> Progress {
        let (tell, told) = channel();
        let showing: Arc<Mutex<Option<LiveOutput>>> = Arc::default();
        let seen = Arc::clone(&showing);
        let is_live =
            alone && io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let is_over: Arc<AtomicBool> = Arc::default();
        let over = Arc::clone(&is_over);
        let showing_it = move || {
            let mut view = ProgressView {
                live: is_live.then(|| LiveView::new(look.paint, look.images, look.language)),
                paint: look.paint,
            };
            // The command's output follows, and reports a broken standard output.
            let show = |text: &str| {
                if !text.is_empty() {
                    let _ = if is_live { print_drawn(text) } else { print(text.as_bytes()) };
                }
            };
            loop {
                match told.recv_timeout(FRAME) {
                    Ok(first) => {
                        let all = std::iter::once(first).chain(told.try_iter());
                        show(&all.map(|told| view.show_event(told)).collect::<String>());
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        let newest = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
                        show(&view.draw(newest));
                    }
                    Err(RecvTimeoutError::Disconnected) => return show(&view.clear()),
                }
                if !over.load(Ordering::Acquire) {
                    std::thread::park_timeout(PAUSE);
                }
            }
        };
        // If no thread starts, nothing is shown until the end.
        let thread = std::thread::Builder::new().spawn(showing_it).ok();
        Progress(thread.map(|thread| ProgressThread { tell, showing, is_over, thread }))
    }

    /// Waits until everything is shown.
    pub(crate) fn end(self) {
        if let Some(ProgressThread { tell, is_over, thread, .. }) = self.0 {
            is_over.store(true, Ordering::Release);
            drop(tell);
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// The live display, or plain text.
struct ProgressView {
    live: Option<LiveView>,
    paint: Paint,
}

impl ProgressView {
    fn show_event(&mut self, told: ProgressEvent) -> String {
        match (told, &mut self.live) {
            (ProgressEvent::Started(step, at), Some(live)) => live.start(step, at),
            (ProgressEvent::Started(step, _), None) => plain::opening(&step, self.paint),
            (ProgressEvent::Finished(report), Some(live)) => live.finish(&report),
            (ProgressEvent::Finished(report), None) => plain::closing(&report, self.paint),
        }
    }

    fn draw(&mut self, newest: Option<LiveOutput>) -> String {
        self.live.as_mut().map(|live| live.draw(newest, Instant::now())).unwrap_or_default()
    }

    fn clear(&mut self) -> String {
        self.live.as_mut().map(LiveView::clear).unwrap_or_default()
    }
}

impl Progress {
    pub(crate) fn started(&mut self, step: &CellStep) {
        if let Some(ProgressThread { tell, showing, .. }) = &self.0 {
            showing.lock().unwrap_or_else(PoisonError::into_inner).take();
            let _ = tell.send(ProgressEvent::Started(step.clone(), Instant::now()));
        }
    }

    /// Updates the output of the running cell.
    pub(crate) fn shows(&mut self, text: String, bar: Option<&Bar>) {
        if let Some(ProgressThread { showing, .. }) = &self.0 {
            let newest = LiveOutput { text, bar: bar.cloned() };
            *showing.lock().unwrap_or_else(PoisonError::into_inner) = Some(newest);
        }
    }

    pub(crate) fn finished(&mut self, report: &CellReport) {
        if let Some(ProgressThread { tell, .. }) = &self.0 {
            let _ = tell.send(ProgressEvent::Finished(Box::new(report.clone())));
        }
    }
}
