//! Child processes: their inputs, the report of their end, and that nothing of them stays.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cellist_kernel::guard::Guard;
use cellist_kernel::process::{Process, Signal, Spawn};
use cellist_kernel::{Death, Error};
use testkit::Scratch;

use crate::traces::{children, in_group, until_gone};

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
async fn a_branch_in_a_session_of_its_own_is_killed_too() {
    let process = Process::spawn(shell("(setsid sleep 600 & wait) & wait"), &Guard::none()).unwrap();
    let branch = loop {
        let branches = children(process.id()).into_iter().flat_map(children);
        let apart = branches.filter(|id| !in_group(*id).is_empty()).collect::<Vec<_>>();
        if let [branch] = apart[..] {
            break branch;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    process.kill_tree().await;
    until_gone(process.id());
    until_gone(branch);
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

/// Not a test of its own: the process that the next one starts, since a raised limit is for the whole process.
#[tokio::test]
async fn raiser() {
    if std::env::var_os("CELLIST_TEST_RAISE").is_none() {
        return;
    }
    let raised = cellist_kernel::process::raise_open_files();
    let (mut said, say) = std::io::pipe().unwrap();
    let mut spawn = shell("ulimit -Sn");
    spawn.stdout = say.into();
    Process::spawn(spawn, &Guard::none()).unwrap().wait().await;
    let mut limit = String::new();
    said.read_to_string(&mut limit).unwrap();
    println!("raised to {} and gave {}", raised.unwrap(), limit.trim());
}

#[test]
fn a_raised_limit_of_open_files_stays_with_us() {
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "ulimit -Sn 100; ulimit -Hn 200; exec {} --exact process::raiser --nocapture",
        this.display()
    );
    let ran = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("CELLIST_TEST_RAISE", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(said.contains("raised to 200 and gave 100"), "{said}");
}

#[test]
fn a_detached_process_has_nothing_of_its_starter() {
    use std::os::fd::AsRawFd;

    let (mut said, say) = std::io::pipe().unwrap();
    // A descriptor that would be handed down, as a careless parent of ours leaves one.
    let (_kept, careless) = std::io::pipe().unwrap();
    rustix::io::fcntl_setfd(&careless, rustix::io::FdFlags::empty()).unwrap();
    let script = "pwd; env; ps -o sid= -p $$; echo pid $$; ls /proc/self/fd";
    let detached = cellist_platform::detached::Detached {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![("GIVEN".into(), "yes".into())],
        stdin: Stdio::null(),
        stdout: say.into(),
        stderr: Stdio::null(),
    };
    let mut child = detached.spawn().unwrap();
    child.wait().unwrap();
    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(lines[0], "/", "{text}");
    assert!(lines.contains(&"GIVEN=yes") && !text.contains("CARGO"), "{text}");
    let id = child.id().to_string();
    assert!(lines.contains(&id.as_str()) && lines.contains(&format!("pid {id}").as_str()), "{text}");
    assert!(!lines.contains(&careless.as_raw_fd().to_string().as_str()), "{text}");
}
