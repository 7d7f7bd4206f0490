//! A terminal for a program under test: the test types, and reads the screen.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::python;

/// Connects pipes to the terminal of a program. Ends with the program's status.
const RELAY: &str = r#"
import fcntl, os, pty, select, struct, sys, termios
columns, rows = int(sys.argv[1]), int(sys.argv[2])
program, terminal = pty.fork()
if program == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, columns * 10, rows * 20))
    os.execv(sys.argv[3], sys.argv[3:])
sys.stderr.write(f"{program}\n")
sys.stderr.flush()
watched = [0, terminal]
while terminal in watched:
    ready, _, _ = select.select(watched, [], [])
    for source in ready:
        try:
            piece = os.read(source, 65536)
        except OSError:
            piece = b""
        if not piece:
            watched.remove(source)
        elif source == terminal:
            os.write(1, piece)
        else:
            os.write(terminal, piece)
_, status = os.waitpid(program, 0)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"#;

/// A timeout for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program on a terminal. Dropping it closes the terminal.
pub struct Terminal {
    relay: Child,
    keys: Option<ChildStdin>,
    seen: Arc<(Mutex<TerminalView>, Condvar)>,
    reader: Option<JoinHandle<()>>,
    pid: u32,
}

struct TerminalView {
    terminal: vt100::Parser,
    raw: Vec<u8>,
    is_over: bool,
}

impl Terminal {
    /// Starts a program on a terminal with a size in columns and rows.
    pub fn start(program: &Command, (columns, rows): (u16, u16)) -> Terminal {
        let mut command = Command::new(python("kernels"));
        command.args(["-c", RELAY, &columns.to_string(), &rows.to_string()]);
        command.arg(program.get_program()).args(program.get_args());
        // Hides the terminal that the test itself runs in.
        for name in ["COLORTERM", "TERM_PROGRAM", "TMUX", "KITTY_WINDOW_ID", "LC_TERMINAL", "KONSOLE_VERSION"]
        {
            command.env_remove(name);
        }
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = program.get_current_dir() {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut relay = command.spawn().expect("a terminal can be had");
        let (shown, stderr) = (relay.stdout.take(), relay.stderr.take());
        let (mut shown, mut stderr) = (shown.expect("it was piped"), stderr.expect("it was piped"));
        let seen =
            TerminalView { terminal: vt100::Parser::new(rows, columns, 0), raw: Vec::new(), is_over: false };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let told = Arc::clone(&seen);
        let reader = thread::spawn(move || {
            let mut piece = [0; 65536];
            loop {
                let count = shown.read(&mut piece).unwrap_or(0);
                let mut seen = told.0.lock().unwrap_or_else(PoisonError::into_inner);
                seen.terminal.process(&piece[..count]);
                seen.raw.extend_from_slice(&piece[..count]);
                seen.is_over = count == 0;
                told.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        let keys = relay.stdin.take();
        let mut terminal = Terminal { relay, keys, seen, reader: Some(reader), pid: 0 };
        let (mut pid, mut letter) = (String::new(), [0]);
        while stderr.read(&mut letter).is_ok_and(|count| count == 1) && letter[0] != b'\n' {
            pid.push(char::from(letter[0]));
        }
        terminal.pid = pid.parse().unwrap_or_else(|_| panic!("no program: {pid}"));
        terminal
    }

    /// The process of the program.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Types keys.
    pub fn keys(&mut self, keys: &str) {
        let pipe = self.keys.as_mut().expect("it is open");
        pipe.write_all(keys.as_bytes()).and_then(|()| pipe.flush()).expect("keys are taken");
    }

    /// Waits for a condition. Returns the screen.
    #[track_caller]
    pub fn wait(&self, expected: &str, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let screen = seen.terminal.screen().contents();
            if is_so(&screen) {
                return screen;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.is_over, "never seen: {expected}\n{screen}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for a text on the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// The current screen, with its colours.
    pub fn screen(&self) -> vt100::Screen {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).terminal.screen().clone()
    }

    /// Waits for the end of the program. Returns its status and the final state of the terminal.
    pub fn end(mut self) -> (i32, TerminalEnd) {
        let status = self.relay.wait().expect("it was started");
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        let screen = seen.terminal.screen();
        let ended = TerminalEnd {
            raw: String::from_utf8_lossy(&seen.raw).into_owned(),
            screen: screen.contents(),
            is_restored: !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste(),
        };
        (status.code().expect("the relay ends by itself"), ended)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Closes the terminal, and the program gets a hangup.
        let _ = self.relay.kill();
        let _ = self.relay.wait();
    }
}

/// The final state of a terminal.
pub struct TerminalEnd {
    /// All bytes that were sent to it.
    pub raw: String,
    /// The text on the screen.
    pub screen: String,
    /// Whether all modes are restored.
    pub is_restored: bool,
}
