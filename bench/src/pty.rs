//! A terminal for a measured program: answers queries and discards output.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::peak_so_far;

const COLUMNS: u16 = 120;
const ROWS: u16 = 40;
/// Longer than any measurement here.
const PATIENCE: Duration = Duration::from_secs(120);
/// The query of a terminal's features, and the answer of one without images.
const QUESTION: &[u8] = b"\x1b[c";
const ANSWER: &[u8] = b"\x1b[?62c";

/// A program on a terminal, killed when dropped.
pub(crate) struct BenchTerminal {
    child: Child,
    ours: File,
    shown: Vec<u8>,
    answered: usize,
}

impl BenchTerminal {
    /// Starts a program on its own terminal.
    #[expect(unsafe_code, reason = "the standard library knows no terminals")]
    pub(crate) fn start(mut command: Command) -> BenchTerminal {
        let size = libc::winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        let (mut ours, mut theirs) = (0, 0);
        // SAFETY: all pointers lead to values of ours or are null where that is allowed, and no
        // other code owns the descriptors.
        let (ours, theirs) = unsafe {
            let opened = libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null(), &size);
            assert_eq!(opened, 0, "no terminal: {}", std::io::Error::last_os_error());
            libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC);
            (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
        };
        let end = || Stdio::from(theirs.try_clone().expect("one more descriptor"));
        command.env("TERM", "xterm-256color").stdin(end()).stdout(end()).stderr(end());
        // SAFETY: between fork and exec only async-signal-safe calls are made.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY as _, 0);
                Ok(())
            });
        }
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        BenchTerminal { child, ours, shown: Vec::new(), answered: 0 }
    }

    /// Types keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).expect("it reads keys");
    }

    /// Reads until a text is shown.
    pub(crate) fn until(&mut self, text: &str) {
        let began = Instant::now();
        while !self.shown.windows(text.len()).any(|window| window == text.as_bytes()) {
            assert!(began.elapsed() < PATIENCE, "never shown: {text}");
            self.read(PATIENCE);
        }
        self.shown.clear();
        self.answered = 0;
    }

    /// Reads the next output. Returns the time until it came.
    pub(crate) fn next(&mut self) -> Duration {
        let began = Instant::now();
        self.read(PATIENCE);
        began.elapsed()
    }

    /// Reads until nothing comes for a while.
    pub(crate) fn settle(&mut self, quiet: Duration) {
        while self.read(quiet) {}
        self.shown.clear();
        self.answered = 0;
    }

    /// Reads to the successful end of the program. Returns its peak memory.
    pub(crate) fn finish(mut self) -> u64 {
        let mut peak = 0;
        while self.read(PATIENCE) {
            peak = peak_so_far(self.child.id()).unwrap_or(0).max(peak);
            self.shown.clear();
            self.answered = 0;
        }
        let status = self.child.wait().expect("it was started");
        assert!(status.success(), "it ended with {status}");
        peak
    }

    /// Reads available output. `false` if none comes in time, or ever again.
    #[expect(unsafe_code, reason = "the standard library cannot wait for a while until a file can be read")]
    fn read(&mut self, patience: Duration) -> bool {
        let mut ready = libc::pollfd { fd: self.ours.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer leads to one entry of ours.
        if unsafe { libc::poll(&mut ready, 1, patience.as_millis() as i32) } != 1 {
            return false;
        }
        let mut piece = [0; 1 << 16];
        // A terminal without its program cannot be read.
        let count = self.ours.read(&mut piece).unwrap_or(0);
        self.shown.extend_from_slice(&piece[..count]);
        let asked = self.shown.windows(QUESTION.len()).filter(|window| *window == QUESTION).count();
        while self.answered < asked {
            self.answered += 1;
            let _ = self.ours.write_all(ANSWER);
        }
        count > 0
    }
}

impl Drop for BenchTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
