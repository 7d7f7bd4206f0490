//! Runs programs and measures wall time and peak memory, in rounds that take turns.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The cost of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) wall: Duration,
    pub(crate) peak_bytes: u64,
}

impl Took {
    /// The cost of two runs in a row.
    pub(crate) fn and(&self, next: &Took) -> Took {
        Took { wall: self.wall + next.wall, peak_bytes: self.peak_bytes.max(next.peak_bytes) }
    }
}

/// The costs of several rounds of one side.
pub(crate) struct Side {
    runs: Vec<Took>,
}

impl Side {
    pub(crate) fn wall(&self) -> Duration {
        median(self.runs.iter().map(|run| run.wall.as_secs_f64()))
            .map_or(Duration::ZERO, Duration::from_secs_f64)
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0)
    }

    /// The ratio of this side's time to that of `other`: the median over the rounds.
    pub(crate) fn ratio(&self, other: &Side) -> f64 {
        let pairs = self.runs.iter().zip(&other.runs);
        median(pairs.map(|(one, other)| one.wall.as_secs_f64() / other.wall.as_secs_f64()))
            .unwrap_or(f64::NAN)
    }

    /// The extra seconds of this side over `other`: the median over the rounds.
    pub(crate) fn beyond(&self, other: &Side) -> f64 {
        let pairs = self.runs.iter().zip(&other.runs);
        median(pairs.map(|(one, other)| one.wall.as_secs_f64() - other.wall.as_secs_f64()))
            .unwrap_or(f64::NAN)
    }
}

/// Runs the sides in turn, `rounds` times each, after a warm-up round. Each side gets the number of
/// the round, so that it can do fresh work.
pub(crate) fn in_turn<const N: usize>(
    rounds: usize,
    mut sides: [&mut dyn FnMut(usize) -> Took; N],
) -> [Side; N] {
    let mut measured: [Side; N] = std::array::from_fn(|_| Side { runs: Vec::new() });
    for round in 0..=rounds {
        for (side, measured) in sides.iter_mut().zip(&mut measured) {
            let took = side(round);
            if round > 0 {
                measured.runs.push(took);
            }
        }
    }
    measured
}

/// Runs a program to its end. A failure ends the benchmark and prints standard error.
#[expect(clippy::zombie_processes, reason = "it is waited for, by the call that also reports memory")]
pub(crate) fn run(command: &mut Command) -> Took {
    let aside = Aside::new();
    command.stdin(Stdio::null()).stderr(aside.writer());
    let start = Instant::now();
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let ended = AtomicBool::new(false);
    let (status, peak_bytes, wall) = thread::scope(|scope| {
        let watcher = scope.spawn(|| peak_while_it_runs(child.id(), &ended));
        let (status, largest) = wait(child.id());
        let wall = start.elapsed();
        ended.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        let peak = watcher.join().ok().flatten();
        (status, peak.unwrap_or(largest), wall)
    });
    assert_eq!(status, 0, "{command:?} failed:\n{}", aside.text());
    Took { wall, peak_bytes }
}

/// A file for standard error.
pub(crate) struct Aside(File);

impl Aside {
    pub(crate) fn new() -> Aside {
        Aside(tempfile::tempfile().expect("a temporary file"))
    }

    pub(crate) fn writer(&self) -> Stdio {
        self.0.try_clone().expect("one more descriptor").into()
    }

    /// The text so far.
    pub(crate) fn text(&self) -> String {
        let (mut file, mut bytes) = (&self.0, Vec::new());
        let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
        read.map_or_else(|error| error.to_string(), |_| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Interval of memory readings.
const LOOK: Duration = Duration::from_millis(2);

/// Peak memory of a running process. The value after its end would include its children and the
/// process that started it. The last reading counts, because early ones precede `exec`.
fn peak_while_it_runs(pid: u32, ended: &AtomicBool) -> Option<u64> {
    let mut peak = None;
    while !ended.load(Ordering::Relaxed) {
        // The process may end before we notice. Earlier readings still hold.
        peak = peak_so_far(pid).or(peak);
        thread::park_timeout(LOOK);
    }
    peak
}

/// Peak memory of a running process.
pub(crate) fn peak_so_far(pid: u32) -> Option<u64> {
    status_line(&pid.to_string(), "VmHWM:")
}

/// Current memory of a process, by its id or as `self`.
pub(crate) fn held_by(process: &str) -> Option<u64> {
    status_line(process, "VmRSS:")
}

/// CPU time of a running process.
pub(crate) fn cpu_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a system that tells of processes");
    // The name in parentheses may have spaces. User and system time are fields 12 and 13 after it.
    let (_, behind) = stat.rsplit_once(')').expect("a name in parentheses");
    let ticks: u32 =
        behind.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    // Linux counts in hundredths of a second, independent of its own tick.
    Duration::from_millis(10) * ticks
}

/// A line of `/proc/PID/status`.
fn status_line(process: &str, key: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

/// Waits for a child. Returns its exit status and the peak memory of it and its children.
#[expect(unsafe_code, reason = "the standard library has no wait that reports memory")]
fn wait(pid: u32) -> (i32, u64) {
    let mut status = 0;
    // SAFETY: both pointers lead to values of ours that outlive the call, and zeroed is valid for
    // plain integers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(pid as i32, &mut status, 0, &mut usage), pid as i32);
        usage
    };
    // Linux counts in KiB, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    (status, usage.ru_maxrss as u64 * unit)
}

/// Our program, as `cargo xtask bench` built it.
pub(crate) fn cellist() -> PathBuf {
    std::env::var_os("CELLIST_BENCH_BINARY").map(PathBuf::from).expect("run it as `cargo xtask bench`")
}

/// A program in the same folder as this one.
pub(crate) fn beside(name: &str) -> PathBuf {
    std::env::current_exe().expect("this program has a path").with_file_name(name)
}

/// A peer's script.
pub(crate) fn peer(name: &str) -> PathBuf {
    testkit::repo_root().join("bench/peers").join(name)
}

pub(crate) fn in_ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

pub(crate) fn in_mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
