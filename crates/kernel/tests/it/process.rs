//! Child processes: what they get, how their end is learnt, and that nothing of them stays.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cellist_kernel::guard::Guard;
use cellist_kernel::process::{Process, Signal, Spawn};
use cellist_kernel::{Death, Error};
use testkit::Scratch;

use crate::traces::{in_group, until_gone};

fn shell(script: &str) -> Spawn {
    Spawn {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: Stdio::null(),
        stdout: Stdio::null(),
        stderr: Stdio::null(),
        descriptors: Vec::new(),
    }
}

async fn check_death(script: &str, expected: Death) {
    let process = Process::spawn(shell(script), &Guard::none()).unwrap();
    assert_eq!(process.wait().await, expected, "{script}");
    assert_eq!(process.death().borrow().clone(), Some(expected));
}

#[tokio::test]
async fn the_end_is_told_as_exit_code_or_signal() {
    check_death("exit 0", Death::Exit(0)).await;
    check_death("exit 7", Death::Exit(7)).await;
    check_death("kill -SEGV $$", Death::Signal("SIGSEGV".into())).await;
    check_death("kill -KILL $$", Death::Signal("SIGKILL".into())).await;
}

#[tokio::test]
async fn a_child_gets_its_variables_its_folder_and_its_descriptors_and_nothing_else() {
    let scratch = Scratch::new();
    let (mut said, say) = std::io::pipe().unwrap();
    let (other, _kept) = std::io::pipe().unwrap();
    let mut spawn = shell("pwd; env; ls /proc/self/fd; cat <&7");
    spawn.cwd = scratch.path().to_owned();
    spawn.environment.push(("GIVEN".into(), "yes".into()));
    spawn.stdout = say.into();
    let (input, mut feed) = std::io::pipe().unwrap();
    spawn.descriptors = vec![(OwnedFd::from(input), 7)];
    std::io::Write::write_all(&mut feed, b"through seven").unwrap();
    drop(feed);
    let process = Process::spawn(spawn, &Guard::none()).unwrap();
    assert_eq!(process.wait().await, Death::Exit(0));
    drop(other);

    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.pop(), Some("through seven"));
    let fds: Vec<&str> = lines.iter().copied().filter(|line| line.parse::<u32>().is_ok()).collect();
    // 3 is the listing of the folder itself.
    assert_eq!(fds, ["0", "1", "2", "3", "7"]);
    assert_eq!(lines[0], scratch.path().canonicalize().unwrap().to_str().unwrap());
    let mut names: Vec<&str> =
        lines.iter().filter_map(|line| line.split_once('=')).map(|pair| pair.0).collect();
    names.sort_unstable();
    // The shell itself adds the last ones.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    assert_eq!(names, ["GIVEN", "PATH"]);
}

#[tokio::test]
async fn a_child_leads_a_session_and_has_no_terminal() {
    let (mut said, say) = std::io::pipe().unwrap();
    let mut spawn =
        shell("echo $$; cut -d' ' -f5,6 /proc/$$/stat; (: </dev/tty) 2>/dev/null && echo terminal; exit 0");
    spawn.stdout = say.into();
    let process = Process::spawn(spawn, &Guard::none()).unwrap();
    assert_eq!(process.wait().await, Death::Exit(0));
    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    let id = process.id();
    assert_eq!(text, format!("{id}\n{id} {id}\n"));
}

#[tokio::test]
async fn a_tree_is_killed_with_all_its_branches() {
    let process =
        Process::spawn(shell("sleep 600 & (sleep 600 & sleep 600) & wait"), &Guard::none()).unwrap();
    let group = process.id();
    while in_group(group).len() < 4 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(process.kill_tree().await, Death::Signal("SIGKILL".into()));
    until_gone(group);
    process.signal(Signal::INT);
    assert_eq!(process.kill_tree().await, Death::Signal("SIGKILL".into()));
}

#[tokio::test]
async fn what_a_dead_child_left_running_goes_with_it() {
    let process = Process::spawn(shell("sleep 600 & exit 3"), &Guard::none()).unwrap();
    assert_eq!(process.wait().await, Death::Exit(3));
    until_gone(process.id());
}

#[tokio::test]
async fn a_signal_reaches_the_whole_group() {
    let process = Process::spawn(shell("trap 'exit 4' INT; sleep 600; exit 5"), &Guard::none()).unwrap();
    let sleeps =
        |id: u32| std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name == "sleep\n");
    while !in_group(process.id()).into_iter().any(sleeps) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    process.signal(Signal::INT);
    assert_eq!(process.wait().await, Death::Exit(4));
}

#[tokio::test]
async fn dropping_a_process_kills_it() {
    let process = Process::spawn(shell("sleep 600 & wait"), &Guard::none()).unwrap();
    let group = process.id();
    drop(process);
    let began = Instant::now();
    while !in_group(group).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(2));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let mut spawn = shell("true");
    spawn.program = "/nowhere/python3".into();
    let error = Process::spawn(spawn, &Guard::none()).unwrap_err();
    assert_eq!(error.to_string(), "/nowhere/python3 cannot be started: there is no such program");

    let mut spawn = shell("true");
    spawn.program = "/etc/passwd".into();
    let error = Process::spawn(spawn, &Guard::none()).unwrap_err();
    assert_eq!(error.to_string(), "/etc/passwd cannot be started: it is not a program, or may not be run");

    let mut spawn = shell("true");
    spawn.cwd = "/nowhere".into();
    assert!(matches!(Process::spawn(spawn, &Guard::none()), Err(Error::NoFolder { .. })));
}
