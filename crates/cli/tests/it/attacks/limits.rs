//! Limits of the system: few files, and few processes.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use super::faults::Shaky;
use crate::desk::{Desk, Ran, notebook};

/// Connections of the attack: far more than the host may have files.
const HELD: usize = 2_000;

#[test]
fn a_host_with_few_files_answers_its_owner_whatever_is_held_open() {
    let shaky = Shaky::new("ulimit -n 256;");
    let page = shaky.page().unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let port = shaky.desk.json(&["status"])["page"].clone();
    let address = format!("127.0.0.1:{port}");
    // Held by processes of their own, which have files of their own.
    let hold = format!(
        "import socket, sys\nheld = [socket.create_connection(('127.0.0.1', {port})) for _ in range({})]\n\
         print('held', flush=True)\nsys.stdin.read()",
        HELD / 4
    );
    let mut holders: Vec<_> = (0..4)
        .map(|_| {
            let mut holder = Command::new(testkit::python("kernels"));
            holder.args(["-c", &hold]).stdin(std::process::Stdio::piped());
            holder.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for holder in &mut holders {
        let mut said = [0; 4];
        std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut said).unwrap();
    }
    let begun = Instant::now();
    assert_eq!(shaky.desk.json(&["status"])["running"], true);
    let took = begun.elapsed();
    // On a quiet machine it is a few milliseconds; the benchmark `idle` measures it.
    assert!(took < Duration::from_secs(5), "{took:?}");
    let page = shaky.page().unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    drop(TcpStream::connect(address).unwrap());
    for mut holder in holders {
        drop(holder.stdin.take());
        let _ = holder.wait();
    }
}

#[test]
fn commands_of_a_user_without_processes_left_say_so_and_do_not_panic() {
    // Only root can become a user without processes; for other users a process limit depends on their other
    // programs.
    let is_root = rustix::process::geteuid().is_root();
    assert!(is_root, "this test becomes another user: run the tests as root (see CONTRIBUTING.md)");
    let desk = Desk::unjudged();
    desk.write("nb.ipynb", notebook(&["x = 0"]));
    let user = format!("--reuid={}", 40_000 + std::process::id() % 20_000);
    for folder in [desk.path(), desk.state()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    }
    fs::set_permissions(desk.path().join("nb.ipynb"), fs::Permissions::from_mode(0o666)).unwrap();
    for most in ["1", "3", "6"] {
        for words in [
            &["status"][..],
            &["serve"],
            &["serve", "--background"],
            &["exec", "--session", "s", "1"],
            &["exec", "1"],
            &["run", "nb.ipynb"],
            &["read", "nb.ipynb"],
            &["cell", "edit", "nb.ipynb", "0", "--source", "x = 1"],
            &["kernels"],
            &["doctor"],
            &["sessions"],
            &["stop"],
            &["mcp"],
        ] {
            let mut command = Command::new("timeout");
            command.args(["60", "prlimit", &format!("--nproc={most}"), "setpriv", &user, "--clear-groups"]);
            command.arg(env!("CARGO_BIN_EXE_cellist")).args(words);
            desk.prepare(&mut command);
            // A host in the foreground has to be stopped; one that fails to start ends by itself.
            if words == ["serve"] {
                command = stopped_soon(&command);
            }
            let ran = Ran::of(&mut command);
            let said = format!("{}{}", String::from_utf8_lossy(&ran.out), ran.err);
            assert!(
                !said.contains("panicked") && !said.contains("internal error"),
                "{most} {words:?}: {said}"
            );
            assert!(ran.exit == 0 || ran.exit == 124 || !said.trim().is_empty(), "{most} {words:?}: {said}");
            assert!(ran.exit != 101 && ran.exit < 128, "{most} {words:?}: {} {said}", ran.exit);
        }
    }
}

/// The same command, ended after a moment if it does not end by itself.
fn stopped_soon(command: &Command) -> Command {
    let mut soon = Command::new("timeout");
    let words = command.get_args().skip(1);
    soon.arg("2").args(words);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => soon.env(name, value),
            None => soon.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        soon.current_dir(folder);
    }
    soon
}
