//! Host, kernels, guard and front ends are killed at random moments while a notebook is edited. No acknowledged change is
//! lost, none is made twice, nothing is left running, and the next command works.
//!
//! `cargo xtask torture` runs this for longer. `CELLIST_TORTURE_KILLS` says how often, `CELLIST_TORTURE_SEED` repeats a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::bench::{Backend, Mark, without_environments};
use crate::desk::{Desk, source};
use crate::mcp::client::Client;

const KILLS: usize = 100;
/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);
/// No kill is later than this after the edits have begun.
const LATEST: u64 = 60_000;

/// Numbers that a seed repeats (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Host,
    /// The host, when it has an ipykernel.
    HostOfJupyter,
    Guard,
    /// First the guard and at once the host, which cannot replace it in time.
    GuardAndHost,
    Runner,
    Ipykernel,
    /// The MCP server of an agent.
    Agent,
    /// A command that inserts a cell.
    Edit,
}

impl Victim {
    fn choose(dice: &mut Dice) -> Victim {
        match dice.roll(20) {
            0..5 => Victim::Host,
            5 => Victim::HostOfJupyter,
            6..9 => Victim::Guard,
            9..11 => Victim::GuardAndHost,
            11..14 => Victim::Runner,
            14 => Victim::Ipykernel,
            15..17 => Victim::Agent,
            _ => Victim::Edit,
        }
    }

    fn needs_jupyter(self) -> bool {
        matches!(self, Victim::HostOfJupyter | Victim::Ipykernel)
    }
}

/// The fate of the inserted cells.
#[derive(Default)]
struct Book {
    next: usize,
    acknowledged: BTreeSet<String>,
    /// Nobody heard of them again; they may be there or not.
    unknown: BTreeSet<String>,
}

impl Book {
    fn new_cell(&mut self) -> String {
        self.next += 1;
        format!("cell_{}", self.next)
    }

    fn note(&mut self, cell: String, is_acknowledged: bool) {
        if is_acknowledged {
            self.acknowledged.insert(cell)
        } else {
            self.unknown.insert(cell)
        };
    }
}

struct Bed {
    desk: Desk,
    mark: Mark,
    agent: Option<Client>,
    book: Book,
}

impl Bed {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.desk.command(words);
        self.mark.put_on(&mut command);
        without_environments(&mut command);
        command
    }

    /// The host, which must be there.
    fn host(&self) -> Option<u32> {
        let entry: Value =
            serde_json::from_slice(&fs::read(self.desk.state().join("run/host.json")).ok()?).ok()?;
        u32::try_from(entry["pid"].as_u64()?).ok()
    }

    fn exec(&self, backend: Backend) {
        let (session, flags) = (format!("{backend:?}"), backend.flags());
        let mut words = vec!["exec", "--session", &session, "6 * 7"];
        words.extend(flags.iter().map(String::as_str));
        let ran = self.command(&words).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && ran.stdout.starts_with(b"42\n"), "{session}: {ran:?} {said}");
    }

    /// An agent that has the notebook open in the host.
    fn agent(&mut self) -> Client {
        if let Some(mut agent) = self.agent.take() {
            let read = agent.try_call("get_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": [0] }));
            if read.is_some_and(|(_, failed)| !failed) {
                return agent;
            }
        }
        let mut agent = Client::greet(self.command(&["mcp", "--mode", "agent"]), "2025-11-25");
        let (text, failed) =
            agent.call("get_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": [0] }));
        assert!(!failed, "{text}");
        agent
    }

    /// The kernels with our mark: the session leaders.
    fn kernels(&self, python: &str) -> Vec<u32> {
        let agent = self.agent.as_ref().map(|agent| agent.child.id());
        let is_kernel = |pid: &u32| {
            Some(*pid) != agent
                && stat(*pid).is_some_and(|fields| fields[3] == pid.to_string())
                && fs::read(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|line| String::from_utf8_lossy(&line).contains(python))
        };
        self.mark.carriers().into_iter().filter(is_kernel).collect()
    }

    fn guards(&self, host: u32) -> Vec<u32> {
        let is_guard = |pid: &u32| {
            stat(*pid).is_some_and(|fields| fields[1] == host.to_string() && fields[0] != "Z")
                && fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0guard\0"))
        };
        processes().into_iter().filter(is_guard).collect()
    }

    fn private_folders(&self) -> Vec<String> {
        let names = fs::read_dir(self.desk.state().join("run")).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with('k')).collect()
    }

    /// The sources in the file, which must be valid, and their faults.
    fn check_file(&self) {
        let notebook: Value = serde_json::from_slice(&self.desk.read("nb.ipynb")).expect("the file is whole");
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for cell in notebook["cells"].as_array().unwrap() {
            *found.entry(source(&cell["source"])).or_default() += 1;
        }
        let twice: Vec<_> = found.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "made twice: {twice:?}");
        let lost: Vec<_> = self.book.acknowledged.iter().filter(|cell| !found.contains_key(*cell)).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        let is_known = |cell: &&String| {
            *cell == "first" || self.book.acknowledged.contains(*cell) || self.book.unknown.contains(*cell)
        };
        let invented: Vec<_> = found.keys().filter(|cell| !is_known(cell)).collect();
        assert!(invented.is_empty(), "nobody wrote {invented:?}");
    }

    /// One kill while two front ends edit, and all that must be so afterwards.
    fn kill(&mut self, victim: Victim, dice: &mut Dice) {
        let mut agent = self.agent();
        if victim.needs_jupyter() {
            self.exec(Backend::Ipykernel);
        } else {
            self.exec(Backend::BareRunner);
        }
        let host = self.host().expect("a host is there");
        let (by_agent, by_command) = (self.book.new_cell(), self.book.new_cell());
        let mut edit = self.command(&["cell", "insert", "nb.ipynb", "end", "--source", &by_command]);
        let mut edit = edit.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (agent_pid, edit_pid) = (agent.child.id(), edit.id());
        let wanted = by_agent.clone();
        let adding = thread::spawn(move || {
            let arguments = json!({ "notebook": "nb.ipynb", "type": "code", "content": wanted, "index": -1 });
            let added = agent.try_call("add_notebook_cell", arguments);
            (agent, added.is_some_and(|(_, failed)| !failed))
        });
        // The moment is random; nothing is waited for.
        thread::sleep(Duration::from_micros(dice.roll(LATEST)));
        let killed: Vec<u32> = match victim {
            Victim::Host | Victim::HostOfJupyter => vec![host],
            Victim::Guard => self.guards(host),
            Victim::GuardAndHost => {
                signal("-STOP", host);
                [self.guards(host), vec![host]].concat()
            }
            Victim::Runner => self.kernels(&Backend::BareRunner.python().to_string_lossy()),
            Victim::Ipykernel => self.kernels("ipykernel"),
            Victim::Agent => vec![agent_pid],
            Victim::Edit => vec![edit_pid],
        };
        assert!(!killed.is_empty(), "{victim:?}: there is nothing to kill");
        killed.iter().for_each(|pid| signal("-KILL", *pid));

        let (agent, is_acknowledged) = adding.join().unwrap();
        self.book.note(by_agent, is_acknowledged);
        let edited = edit.wait().unwrap();
        self.book.note(by_command, edited.success());
        self.agent = (victim != Victim::Agent).then_some(agent);

        // The next command just works, whatever was killed.
        let next = self.book.new_cell();
        let ran = self.command(&["cell", "insert", "nb.ipynb", "end", "--source", &next]).output().unwrap();
        assert!(ran.status.success(), "{victim:?}: {}", String::from_utf8_lossy(&ran.stderr));
        self.book.note(next, true);
        self.exec(if victim.needs_jupyter() { Backend::Ipykernel } else { Backend::BareRunner });

        let now = self.host().expect("a host is there");
        let host_was_killed = killed.contains(&host);
        assert_eq!(now != host, host_was_killed, "{victim:?}: the host was {host} and is {now}");
        wait_until("what the killed process had is gone, and a guard is there", || {
            let is_gone = |pid: &u32| stat(*pid).is_none_or(|fields| fields[0] == "Z");
            killed.iter().all(is_gone)
                && self.guards(now).len() == 1
                && self.kernels("ipykernel").len() == self.private_folders().len()
                && (!host_was_killed || self.kernels("python").len() == 1)
        });
        self.check_file();
    }
}

#[test]
fn kills_at_random_moments_lose_nothing_and_leave_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let kills = number("CELLIST_TORTURE_KILLS").map_or(KILLS, |kills| usize::try_from(kills).unwrap());
    let seed = number("CELLIST_TORTURE_SEED").unwrap_or_else(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        since.as_secs() ^ u64::from(std::process::id())
    });
    println!("CELLIST_TORTURE_SEED={seed}");
    testkit::tally("runner");
    testkit::tally("ipykernel");
    let mut dice = Dice(seed);
    let mut bed = Bed { desk: Desk::with(&["first"]), mark: Mark::new(), agent: None, book: Book::default() };
    let mut count: BTreeMap<Victim, usize> = BTreeMap::new();
    for done in 0..kills {
        let victim = Victim::choose(&mut dice);
        bed.kill(victim, &mut dice);
        *count.entry(victim).or_default() += 1;
        if done % 100 == 99 {
            println!("{} kills, {} acknowledged changes: {count:?}", done + 1, bed.book.acknowledged.len());
        }
    }
    let acknowledged = bed.book.acknowledged.len();
    println!("{kills} kills, {acknowledged} acknowledged changes, none lost: {count:?}");
    assert!(acknowledged > kills, "too few changes were acknowledged to show anything");
    drop(bed.agent.take());
    bed.desk.run(&["stop"]).ok();
    bed.mark.assert_gone(LONG);
    wait_until("the guard has cleaned up", || {
        bed.private_folders().is_empty()
            && fs::read_dir(bed.desk.state().join("run/held")).map_or(0, Iterator::count) == 0
    });
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// State, parent, group and session of a process, and more.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.split_whitespace().map(str::to_owned).collect())
}

fn signal(name: &str, pid: u32) {
    // One that has ended meanwhile is as good as killed.
    let _ = Command::new("kill").args([name, &pid.to_string()]).stderr(Stdio::null()).status();
}
