//! Many concurrent sessions, with random cancels, resets, kills and stops.

use cellist_session::sessions::{Policy, SessionError, Sessions, Ticket};
use testkit::until;

use super::bed::{Backend, Bed, in_time, is_alive};

const SESSIONS: u64 = 6;
const CALLS: u64 = 25;

/// Deterministic pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Makes calls in one session and disturbs them. Returns all tickets.
async fn disturb(bed: &Bed, sessions: &Sessions, number: u64) -> Vec<Ticket> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number + 1));
    let session = format!("s{number}");
    let mut tickets = Vec::new();
    for call in 0..CALLS {
        let code = match dice.roll(4) {
            0 => "import time\ntime.sleep(600)",
            1 => "print('x' * 200_000)",
            _ => "x = globals().get('x', 0) + 1\nprint(x)",
        };
        let mut call = bed.call(&session, &[code, &format!("print({call})")]);
        call.reset = dice.roll(5) == 0;
        let endless = code.contains("sleep");
        let ticket = sessions.call(call);
        tickets.push(ticket.clone());
        match dice.roll(6) {
            0 => ticket.canceller().cancel(),
            1 => drop(sessions.interrupt(&bed.key(&session))),
            2 => {
                let view = sessions.list().into_iter().find(|view| view.id == session);
                if let Some(pid) = view.and_then(|view| view.pid).filter(|pid| is_alive(*pid)) {
                    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
                    // The process may already be gone.
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
            3 => drop(in_time(sessions.restart(&bed.key(&session))).await),
            4 if dice.roll(4) == 0 => drop(in_time(sessions.stop(&bed.key(&session))).await),
            _ => {}
        }
        if endless {
            // No other task interrupts it.
            ticket.canceller().interrupt();
        }
        if dice.roll(2) == 0 {
            let _ = in_time(ticket.done()).await;
        }
    }
    tickets
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disturbed_sessions_answer_every_call_and_leave_no_process() {
    let bed = Bed::with(Backend::Runner, Policy { max_sessions: 4, ..Policy::default() });
    let workers = (0..SESSIONS).map(|number| disturb(&bed, &bed.sessions, number));
    let mut answered = 0;
    for ticket in futures_util::future::join_all(workers).await.into_iter().flatten() {
        match in_time(ticket.done()).await {
            Ok(report) => assert_eq!(report.cells.len() + report.not_run, 2, "{report:?}"),
            Err(
                SessionError::Full { .. } | SessionError::ResetUnderWay { .. } | SessionError::Ended { .. },
            ) => {}
            Err(other) => panic!("{other}"),
        }
        answered += 1;
    }
    assert_eq!(answered, SESSIONS * CALLS);
    let pids: Vec<u32> = bed.sessions.list().into_iter().filter_map(|view| view.pid).collect();
    let key = bed.key("s0").cwd;
    bed.end().await;
    for pid in pids {
        until(|| !is_alive(pid)).await;
    }
    assert!(runs_in(&key).is_empty(), "{:?}", runs_in(&key));
}

/// The processes that run in a folder.
fn runs_in(folder: &std::path::Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let here = processes
        .filter(|process| std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == folder));
    here.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}
