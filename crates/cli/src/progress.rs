//! A run as people see it while it goes: a screen that follows it, or plain text for whoever reads a pipe.
//! It has a thread of its own, so that nothing that runs waits for a slow reader.

mod blocks;
mod live;

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cellist_session::run::{Bar, CellReport, Observer, Step};

use crate::answer::print;
use crate::paint::Paint;
use blocks::Blocks;
use live::Live;

/// How often the screen is drawn anew while something runs.
const FRAME: Duration = Duration::from_millis(100);

/// What the thread is told.
enum Told {
    Started(Step, Instant),
    Finished(Box<CellReport>),
}

/// What the cell that runs shows now. A newer one takes the place of one that nobody saw.
#[derive(Clone, Debug, Default)]
struct Showing {
    text: String,
    bar: Option<Bar>,
}

/// Someone to tell a run to, if anyone is watching.
pub(crate) struct Progress(Option<Shown>);

struct Shown {
    tell: Sender<Told>,
    showing: Arc<Mutex<Option<Showing>>>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Nobody is watching.
    pub(crate) fn silent() -> Progress {
        Progress(None)
    }

    /// On standard output: live on a terminal, unless something else writes there too.
    pub(crate) fn on_stdout(paint: Paint, alone: bool) -> Progress {
        let (tell, told) = channel();
        let showing: Arc<Mutex<Option<Showing>>> = Arc::default();
        let seen = Arc::clone(&showing);
        let is_live =
            alone && io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let thread = std::thread::spawn(move || {
            let blocks = Blocks::new(paint, is_live);
            let mut live = is_live.then(|| Live::new(paint));
            // The answer comes after all of this, and tells of a broken standard output.
            let show = |text: &str| drop(print(text.as_bytes()));
            loop {
                match told.recv_timeout(FRAME) {
                    Ok(Told::Started(step, at)) => match &mut live {
                        Some(live) => show(&live.start(step, at)),
                        None => show(&blocks.opening(&step)),
                    },
                    Ok(Told::Finished(report)) => {
                        let cleared = live.as_mut().map(Live::clear).unwrap_or_default();
                        let step = live.as_ref().and_then(Live::step);
                        show(&(cleared + &blocks.closing(step, &report)));
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Some(live) = &mut live {
                            let newest = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
                            show(&live.draw(newest, Instant::now()));
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        show(&live.as_mut().map(Live::clear).unwrap_or_default());
                        return;
                    }
                }
            }
        });
        Progress(Some(Shown { tell, showing, thread }))
    }

    /// Waits until all is shown.
    pub(crate) fn end(self) {
        if let Some(Shown { tell, thread, .. }) = self.0 {
            drop(tell);
            let _ = thread.join();
        }
    }
}

impl Observer for Progress {
    fn started(&mut self, step: &Step) {
        if let Some(Shown { tell, showing, .. }) = &self.0 {
            showing.lock().unwrap_or_else(PoisonError::into_inner).take();
            let _ = tell.send(Told::Started(step.clone(), Instant::now()));
        }
    }

    fn shows(&mut self, text: String, bar: Option<&Bar>) {
        if let Some(Shown { showing, .. }) = &self.0 {
            let newest = Showing { text, bar: bar.cloned() };
            *showing.lock().unwrap_or_else(PoisonError::into_inner) = Some(newest);
        }
    }

    fn finished(&mut self, report: &CellReport) {
        if let Some(Shown { tell, .. }) = &self.0 {
            let _ = tell.send(Told::Finished(Box::new(report.clone())));
        }
    }
}
