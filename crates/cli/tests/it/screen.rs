//! A terminal as a person has it: what is typed goes in, and what is seen there can be looked at.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::desk::Desk;

/// Stands between pipes and a terminal that a program runs on. Ends with the program's status.
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

/// Longer than anything takes on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program on a terminal.
pub(crate) struct Screen {
    relay: Child,
    keys: Option<ChildStdin>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    reader: Option<JoinHandle<()>>,
    pub(crate) pid: u32,
}

struct Seen {
    terminal: vt100::Parser,
    raw: Vec<u8>,
    is_over: bool,
}

impl Screen {
    /// Starts our program on a terminal of this size.
    pub(crate) fn open(
        desk: &Desk,
        (columns, rows): (u16, u16),
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Screen {
        let mut command = Command::new(testkit::python("kernels"));
        command.args(["-c", RELAY, &columns.to_string(), &rows.to_string(), env!("CARGO_BIN_EXE_cellist")]);
        command.args(arguments);
        desk.prepare(&mut command);
        for name in ["COLORTERM", "TERM_PROGRAM", "TMUX", "KITTY_WINDOW_ID", "LC_TERMINAL", "KONSOLE_VERSION"]
        {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        let mut relay =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let terminal = vt100::Parser::new(rows, columns, 0);
        let seen = Arc::new((Mutex::new(Seen { terminal, raw: Vec::new(), is_over: false }), Condvar::new()));
        let (mut shown, told) = (relay.stdout.take().unwrap(), Arc::clone(&seen));
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 65536];
            loop {
                let count = shown.read(&mut piece).unwrap_or(0);
                let Ok(mut seen) = told.0.lock() else { return };
                seen.terminal.process(&piece[..count]);
                seen.raw.extend_from_slice(&piece[..count]);
                seen.is_over = count == 0;
                told.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        let mut pid = String::new();
        let mut stderr = relay.stderr.take().unwrap();
        let mut letter = [0];
        while stderr.read(&mut letter).unwrap() == 1 && letter[0] != b'\n' {
            pid.push(char::from(letter[0]));
        }
        let keys = relay.stdin.take();
        Screen { relay, keys, seen, reader: Some(reader), pid: pid.parse().unwrap() }
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        let pipe = self.keys.as_mut().unwrap();
        pipe.write_all(keys.as_bytes()).unwrap();
        pipe.flush().unwrap();
    }

    /// Waits until something is so, and returns the screen then.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().unwrap();
        loop {
            let screen = seen.terminal.screen().contents();
            if is_so(&screen) {
                return screen;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.is_over, "never seen: {what}\n{screen}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Waits until a text is seen.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Waits for the end of the program: its status, and all that was sent to the terminal.
    pub(crate) fn end(mut self) -> (i32, Ended) {
        let status = self.relay.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        let seen = self.seen.0.lock().unwrap();
        let screen = seen.terminal.screen();
        let ended = Ended {
            raw: String::from_utf8_lossy(&seen.raw).into_owned(),
            screen: screen.contents(),
            is_restored: !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste(),
        };
        (status.code().unwrap(), ended)
    }
}

/// What was left on a terminal.
pub(crate) struct Ended {
    pub(crate) raw: String,
    pub(crate) screen: String,
    pub(crate) is_restored: bool,
}
