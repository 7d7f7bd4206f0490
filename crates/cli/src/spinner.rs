//! A status line on the terminal of standard error while a command waits.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cellist_tui::{BlockState, display_width, fit_to_width, visible, width_of};

/// The delay before the line appears.
const PATIENCE: Duration = Duration::from_millis(700);
/// The interval between frames.
const FRAME: Duration = Duration::from_millis(100);

/// Whether the status line is on the terminal, with the cursor at its end.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Shows the status line until it is dropped.
pub(crate) struct Spinner(Option<SpinnerThread>);

struct SpinnerThread {
    tell: Sender<String>,
    thread: JoinHandle<()>,
}

impl Spinner {
    /// Starts waiting for `what`, such as `starting the kernel`.
    pub(crate) fn new(what: impl Into<String>) -> Spinner {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if !io::stderr().is_terminal() || is_dumb {
            return Spinner(None);
        }
        let (tell, told) = channel::<String>();
        let (mut what, since) = (what.into(), Instant::now());
        let showing = move || {
            let (mut pause, mut frame) = (PATIENCE, 0);
            loop {
                match told.recv_timeout(pause) {
                    Ok(newer) => what = newer,
                    Err(RecvTimeoutError::Timeout) => {
                        show(&line(frame, &what, since.elapsed(), width_of(io::stderr())));
                        (pause, frame) = (FRAME, frame + 1);
                    }
                    Err(RecvTimeoutError::Disconnected) => return clear(),
                }
            }
        };
        // If no thread starts, nothing is shown.
        let thread = std::thread::Builder::new().spawn(showing).ok();
        Spinner(thread.map(|thread| SpinnerThread { tell, thread }))
    }

    /// Replaces the text.
    pub(crate) fn now(&self, what: impl Into<String>) {
        if let Some(SpinnerThread { tell, .. }) = &self.0 {
            let _ = tell.send(what.into());
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(SpinnerThread { tell, thread }) = self.0.take() {
            drop(tell);
            let _ = thread.join();
        }
    }
}

/// Erases the line before other output.
pub(crate) fn clear() {
    if IS_SHOWN.swap(false, Ordering::AcqRel) {
        let _ = io::stderr().lock().write_all(b"\r\x1b[K");
    }
}

fn show(line: &str) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "\r{line}\x1b[K").and_then(|()| err.flush());
    IS_SHOWN.store(true, Ordering::Release);
}

/// `⣾ starting the kernel… 2 s`, one column narrower than the terminal so that it never wraps.
fn line(frame: usize, what: &str, since: Duration, width: usize) -> String {
    let (mark, time) = (BlockState::Running(frame).mark(), format!(" {} s", since.as_secs()));
    let room = width.saturating_sub(display_width(mark) + 2 + display_width(&time));
    let what = fit_to_width(&format!("{}…", visible(what)), room);
    fit_to_width(&format!("{mark} {what}{time}"), width.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_waited_for_and_never_needs_a_second_one() {
        let said = |width| line(0, "starting the kernel", Duration::from_millis(2900), width);
        assert_eq!(said(80), "⣾ starting the kernel… 2 s");
        assert_eq!(said(20), "⣾ starting the… 2 s");
        for width in 1..40 {
            assert!(display_width(&said(width)) < width.max(2), "{width}");
        }
    }
}
