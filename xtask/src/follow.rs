//! Follows the output of a program. Processes that it leaves behind, or that hang, do not block.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than a build from nothing takes, during which nothing is printed.
const SILENCE: Duration = Duration::from_secs(25 * 60);

/// Time for its output to end after the program has ended; later output comes from processes that it left running.
const AFTERMATH: Duration = Duration::from_secs(5);

/// Runs a program, shows its output and passes on each line; returns whether it succeeded and left nothing running.
pub(crate) fn follow(command: &mut Command, line: impl FnMut(&str)) -> io::Result<bool> {
    Follower { silence: SILENCE, aftermath: AFTERMATH }.follow(command, line)
}

struct Follower {
    silence: Duration,
    aftermath: Duration,
}

impl Follower {
    fn follow(&self, command: &mut Command, mut line: impl FnMut(&str)) -> io::Result<bool> {
        let mut process = command.stdout(Stdio::piped()).spawn()?;
        let lines = lines(&mut process);
        let (mut heard, mut ended) = (Instant::now(), None);
        let mut is_well = true;
        loop {
            match lines.recv_timeout(Duration::from_millis(100)) {
                Ok(bytes) => {
                    heard = Instant::now();
                    io::stdout().write_all(&bytes)?;
                    line(&String::from_utf8_lossy(&bytes));
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    if ended.is_none() && process.try_wait()?.is_some() {
                        ended = Some(Instant::now());
                    }
                    if ended.is_some_and(|at| at.max(heard).elapsed() > self.aftermath) {
                        eprintln!("error: a test left a process running that holds the output open");
                        is_well = false;
                        break;
                    }
                    if ended.is_none() && heard.elapsed() > self.silence {
                        eprintln!("error: no output for {:?}; ending the program", self.silence);
                        end_children(&mut process);
                        (heard, is_well) = (Instant::now(), false);
                    }
                }
            }
        }
        Ok(process.wait()?.success() && is_well)
    }
}

fn lines(process: &mut Child) -> Receiver<Vec<u8>> {
    let output = process.stdout.take().expect("standard output was piped");
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if sender.send([&line[..], b"\n"].concat()).is_err() {
                return;
            }
        }
    });
    lines
}

/// Kills the children of a program, so that it can report them and go on; without children, the program itself.
fn end_children(process: &mut Child) {
    let killed = Command::new("pkill").args(["-KILL", "-P", &process.id().to_string()]).status();
    if !killed.is_ok_and(|status| status.success()) {
        let _ = process.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Duration, Follower};

    #[track_caller]
    fn check(script: &str, silence: Duration, expected: (bool, &[&str])) {
        let mut heard = Vec::new();
        let follower = Follower { silence, aftermath: Duration::from_millis(200) };
        let well = follower.follow(Command::new("sh").args(["-c", script]), |line| {
            heard.push(line.trim_end().to_owned());
        });
        assert_eq!(
            (well.unwrap(), heard.iter().map(String::as_str).collect::<Vec<_>>()),
            (expected.0, expected.1.to_vec())
        );
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn every_line_and_the_end_are_told() {
        check("echo a; echo b", LONG, (true, &["a", "b"]));
        check("echo a; exit 3", LONG, (false, &["a"]));
    }

    #[test]
    fn a_process_that_is_left_running_does_not_hold_us_up() {
        check("sleep 5 2> /dev/null & echo a", LONG, (false, &["a"]));
    }

    #[test]
    fn what_is_silent_for_too_long_is_ended_and_the_rest_goes_on() {
        check("echo a; sleep 600; echo b", Duration::from_millis(300), (false, &["a", "b"]));
    }
}
