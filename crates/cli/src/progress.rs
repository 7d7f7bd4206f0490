//! A run as people see it while it goes: a screen that follows it, or plain text for whoever reads a pipe.
//! It has a thread of its own, so that nothing that runs waits for a slow reader.

mod live;
mod plain;

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cellist_session::run::{Bar, CellReport, Observer, Step};
use cellist_session::settings::Images;

use crate::answer::print;
use crate::paint::Paint;
use live::Live;
pub(crate) use live::picturing_for;

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

/// How a run looks.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) paint: Paint,
    pub(crate) images: Images,
    /// The language of its code.
    pub(crate) language: String,
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
    pub(crate) fn on_stdout(look: Look, alone: bool) -> Progress {
        let (tell, told) = channel();
        let showing: Arc<Mutex<Option<Showing>>> = Arc::default();
        let seen = Arc::clone(&showing);
        let is_live =
            alone && io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let thread = std::thread::spawn(move || {
            let Look { paint, images, language } = look;
            let mut live = is_live.then(|| Live::new(paint, images, language));
            // The answer comes after all of this, and tells of a broken standard output.
            let show = |text: &str| drop(print(text.as_bytes()));
            loop {
                match (told.recv_timeout(FRAME), &mut live) {
                    (Ok(Told::Started(step, at)), Some(live)) => show(&live.start(step, at)),
                    (Ok(Told::Started(step, _)), None) => show(&plain::opening(&step, paint)),
                    (Ok(Told::Finished(report)), Some(live)) => show(&live.finish(&report)),
                    (Ok(Told::Finished(report)), None) => show(&plain::closing(&report, paint)),
                    (Err(RecvTimeoutError::Timeout), Some(live)) => {
                        let newest = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
                        show(&live.draw(newest, Instant::now()));
                    }
                    (Err(RecvTimeoutError::Timeout), None) => {}
                    (Err(RecvTimeoutError::Disconnected), Some(live)) => return show(&live.clear()),
                    (Err(RecvTimeoutError::Disconnected), None) => return,
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
