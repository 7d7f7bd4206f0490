//! `cellist exec --session` and `cellist sessions`: state that outlasts a command, in a host that outlasts them all.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::bench::{Backend, Mark, without_environments};
use crate::desk::{Desk, Ran};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// A folder with sessions, whose kernels carry a mark.
pub(crate) struct Bed {
    pub(crate) desk: Desk,
    pub(crate) mark: Mark,
    backend: Backend,
}

impl Bed {
    pub(crate) fn new(backend: Backend) -> Bed {
        backend.tally();
        Bed { desk: Desk::new(), mark: Mark::new(), backend }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.desk.command(words);
        self.mark.put_on(&mut command);
        without_environments(&mut command);
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(words))
    }

    /// Runs code in session `s`, which it starts on the kernel of this test.
    pub(crate) fn start(&self, code: &str) -> Value {
        let flags = self.backend.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        json_of(&self.run(&[&["exec", "--session", "s", "--json", code], flags.as_slice()].concat()))
    }

    /// Runs code in session `s`, however that is run.
    pub(crate) fn exec(&self, code: &str) -> Value {
        json_of(&self.run(&["exec", "--session", "s", "--json", code]))
    }

    /// Begins to run code in session `s` and waits until it says so by making the file `begun`.
    fn begin(&self, code: &str) -> Child {
        let code = format!("open('begun', 'w').close()\n{code}");
        let mut command = self.command(&["exec", "--session", "s", "--json", &code]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the code runs", || self.desk.path().join("begun").exists());
        child
    }

    fn sessions(&self) -> Vec<Value> {
        self.run(&["sessions", "--json"]).json()["sessions"].as_array().unwrap().clone()
    }

    fn host(&self) -> Value {
        self.run(&["status", "--json"]).json()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.command(&["stop"]).output();
        if !thread::panicking() {
            self.mark.assert_gone(LONG);
        }
    }
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.out).unwrap_or_else(|_| panic!("{}", ran.all()))
}

fn signal(name: &str, pid: impl ToString) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

/// Code that goes on until the file `go` is there.
const UNTIL_GO: &str = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\ndone = 'done'";

#[test]
fn what_one_command_leaves_the_next_one_finds() {
    for backend in [Backend::BareRunner, Backend::Ipykernel] {
        let bed = Bed::new(backend);
        let first = bed.start("x = 1");
        assert_eq!((&first["status"], &first["exit_code"]), (&json!("ok"), &json!(0)), "{first}");
        assert_eq!(first["kernel"]["state"], "kept");
        assert_eq!(first["kernel"]["python"], json!(backend.python()));
        let ran = bed.run(&["exec", "--session", "s", "print(x)"]);
        assert_eq!((ran.exit, ran.out.as_slice()), (0, b"1\n".as_slice()), "{}", ran.err);
        assert!(ran.err.contains(backend.python().to_str().unwrap()), "{}", ran.err);
        assert!(ran.err.contains("session s"), "{}", ran.err);
        let again = bed.exec("x + 1");
        assert_eq!(
            (&again["text"], &again["kernel"]["restarted"]),
            (&json!("2\n"), &json!(false)),
            "{again}"
        );
        assert_eq!(again["session"], json!({ "id": "s", "cwd": bed.desk.path().canonicalize().unwrap() }));
        let status = bed.host();
        assert_eq!((&status["sessions"], &status["busy"]), (&json!(1), &json!(0)), "{status}");
    }
}

#[test]
fn the_list_says_when_a_session_ends_that_nobody_uses() {
    let bed = Bed::new(Backend::BareRunner);
    bed.start("x = 1");
    wait_until("the command has left the session", || bed.sessions()[0]["ends"].is_u64());
    let listed = bed.run(&["sessions"]).ok();
    let mut lines = listed.lines();
    let at = lines.next().and_then(|heading| heading.find("ends in")).unwrap_or_else(|| panic!("{listed}"));
    let session = lines.find(|line| line.starts_with("s ")).unwrap_or_else(|| panic!("{listed}"));
    let words: Vec<&str> = session[at..].split_whitespace().take(2).collect();
    let left: u64 = words[0].parse().unwrap_or_else(|_| panic!("{listed}"));
    assert!(left > 0 && ["s", "min"].contains(&words[1]), "{listed}");
    let client = bed.begin(UNTIL_GO);
    assert_eq!(bed.sessions()[0]["ends"], Value::Null);
    bed.desk.write("go", "");
    client.wait_with_output().unwrap();
}

#[test]
fn a_shell_that_waits_for_the_output_of_the_command_that_starts_the_host_gets_it() {
    let bed = Bed::new(Backend::BareRunner);
    let cellist = env!("CARGO_BIN_EXE_cellist");
    let flags = Backend::BareRunner.flags().join(" ");
    let script = format!(
        "x=$({cellist} exec --session s 'print(1)' {flags} 2>&1 >&3 3>&-) 3>&1; y=$({cellist} \
                          exec --session s 'print(2)' 2>/dev/null); echo \"$y\""
    );
    let mut command = Command::new("timeout");
    command.args(["60", "sh", "-c", &script]);
    bed.desk.prepare(&mut command);
    bed.mark.put_on(&mut command);
    assert_eq!(Ran::of(&mut command).ok(), "1\n2\n");
    assert_eq!(bed.host()["running"], true);
}

#[test]
fn twenty_commands_at_once_get_one_host_and_take_turns_in_one_session() {
    let bed = Bed::new(Backend::BareRunner);
    let results: Vec<Value> = thread::scope(|scope| {
        let code = "n = globals().get('n', 0) + 1\nprint(n)";
        let running: Vec<_> = (0..20).map(|_| scope.spawn(|| bed.start(code))).collect();
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    let mut counted: Vec<u32> =
        results.iter().map(|result| result["text"].as_str().unwrap().trim().parse().unwrap()).collect();
    counted.sort_unstable();
    assert_eq!(counted, (1..=20).collect::<Vec<u32>>());
    let log = fs::read_to_string(bed.desk.state().join("log/host.log")).unwrap();
    assert_eq!(log.matches(" serves ").count(), 1, "{log}");
}

#[test]
fn a_client_that_is_killed_or_hung_up_on_leaves_its_code_running() {
    for name in ["-KILL", "-HUP"] {
        let bed = Bed::new(Backend::BareRunner);
        bed.start("x = 1");
        let mut client = bed.begin(UNTIL_GO);
        signal(name, client.id());
        client.wait().unwrap();
        let sessions = bed.sessions();
        assert_eq!(
            (&sessions[0]["id"], &sessions[0]["state"]),
            (&json!("s"), &json!("busy")),
            "{sessions:?}"
        );
        assert_eq!(bed.host()["busy"], 1);
        bed.desk.write("go", "");
        assert_eq!(bed.exec("print(done, x)")["text"], "done 1\n");
        assert_eq!(bed.sessions()[0]["state"], "idle");
    }
}

#[test]
fn a_signal_interrupts_the_code_and_its_state_is_kept() {
    for (name, backend) in [("-INT", Backend::BareRunner), ("-TERM", Backend::Ipykernel)] {
        let bed = Bed::new(backend);
        bed.start("x = 1");
        let client = bed.begin("import time\nwhile True: time.sleep(0.1)");
        signal(name, client.id());
        let done = client.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(130));
        let json: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!((&json["status"], &json["cancelled"]), (&json!("cancelled"), &json!(true)), "{json}");
        assert_eq!((&json["exit_code"], &json["kernel"]["state"]), (&Value::Null, &json!("kept")), "{json}");
        assert_eq!(bed.exec("print(x)")["text"], "1\n");
    }
}

#[test]
fn code_that_does_not_stop_keeps_its_state_until_a_forced_interrupt() {
    for backend in [Backend::BareRunner, Backend::Ipykernel] {
        let bed = Bed::new(backend);
        bed.desk.user_settings("[python]\ninterrupt_grace = '200ms'\n[run]\nsoft_wait = '200ms'\n");
        bed.start("precious = 42");
        let stubborn = "import os, time\nwhile True:\n    try:\n        while not os.path.exists('go'): \
                        time.sleep(0.01)\n        break\n    except KeyboardInterrupt:\n        pass\nos.remove('go')";
        let client = bed.begin(stubborn);
        signal("-INT", client.id());
        let done = client.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(130));
        let json: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(
            (&json["status"], &json["still_running"], &json["kernel"]["state"]),
            (&json!("cancelled"), &json!(true), &json!("unknown")),
            "{json}"
        );
        let execution = json["execution"].as_str().unwrap();
        let running = format!("still running as execution {execution}");
        assert!(json["text"].as_str().unwrap().contains(&running), "{json}");
        let row = &bed.sessions()[0];
        assert_eq!((&row["execution"], &row["stuck"]), (&json!(execution), &json!(true)), "{row}");
        assert!(bed.run(&["sessions"]).ok().contains("busy, not stopping"));

        // Nothing hangs behind it, and nothing is killed.
        let refused = bed.run(&["exec", "--session", "s", "print(1)"]).refused(3);
        assert!(refused.contains(&format!("busy: session s runs {execution}")), "{refused}");
        let again = bed.run(&["sessions", "interrupt", "s", "--json"]);
        assert_eq!((again.exit, &json_of(&again)["state"]), (124, &json!("unknown")), "{}", again.all());
        // The code removes it at once.
        fs::write(bed.desk.path().join("go"), "").unwrap();
        wait_until("it has stopped", || bed.sessions()[0]["state"] == json!("idle"));
        assert_eq!(bed.exec("print(precious)")["text"], "42\n");

        // A time limit says both.
        let ran = bed.run(&["exec", "--session", "s", "--json", "--timeout", "1", stubborn]);
        let json = json_of(&ran);
        assert_eq!(
            (ran.exit, &json["status"], &json["still_running"]),
            (124, &json!("timeout"), &json!(true))
        );
        let told = bed.run(&["sessions", "interrupt", "s", "--force"]).ok();
        assert!(told.contains("its kernel was killed and its state is lost"), "{told}");
        let text = bed.exec("print('precious' in globals())")["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with("False\n[New kernel: the last one did not stop"), "{text}");
    }
}

#[test]
fn code_over_its_limit_and_code_that_fails_are_told_by_the_exit_status() {
    let bed = Bed::new(Backend::BareRunner);
    bed.start("x = 1");
    let ran =
        bed.run(&["exec", "--session", "s", "--json", "--timeout", "1", "import time; time.sleep(600)"]);
    let json = json_of(&ran);
    assert_eq!(
        (ran.exit, &json["status"], &json["kernel"]["state"]),
        (124, &json!("timeout"), &json!("kept"))
    );
    assert!(json["text"].as_str().unwrap().contains("Command timed out after 1 second"), "{json}");
    let ran = bed.run(&["exec", "--session", "s", "--json", "1 / 0"]);
    let json = json_of(&ran);
    assert_eq!((ran.exit, &json["error"]["ename"]), (1, &json!("ZeroDivisionError")));
    assert_eq!(bed.exec("print(x)")["text"], "1\n");
}

#[test]
fn a_host_that_is_killed_takes_its_kernels_along_and_the_next_result_says_so() {
    for backend in [Backend::BareRunner, Backend::Ipykernel] {
        let bed = Bed::new(backend);
        bed.start("import subprocess\nx = 1\nchild = subprocess.Popen(['sleep', '600'])");
        assert!(bed.mark.carriers().len() >= 2, "a kernel and its child");
        signal("-KILL", bed.host()["pid"].clone());
        bed.mark.assert_gone(Duration::from_secs(2));
        assert_eq!(bed.sessions(), Vec::<Value>::new());
        let next = bed.start("'x' in globals()");
        let text = next["text"].as_str().unwrap();
        assert!(text.starts_with("False\n") && text.contains("the host was restarted"), "{next}");
        assert_eq!(next["kernel"]["restarted"], true);
        assert_eq!(bed.exec("1")["kernel"]["restarted"], false, "it is said once");
    }
}

#[test]
fn stopping_the_host_ends_what_runs_in_it() {
    let bed = Bed::new(Backend::BareRunner);
    bed.start("x = 1");
    let client = bed.begin("import time\ntime.sleep(600)");
    let told = bed.run(&["stop"]).ok();
    assert!(told.contains("and its session, which was running code"), "{told}");
    bed.mark.assert_gone(LONG);
    let done = client.wait_with_output().unwrap();
    assert!(matches!(done.status.code(), Some(3 | 130)), "{done:?}");
    assert!(!done.stdout.is_empty());
}

#[test]
fn sessions_are_listed_interrupted_restarted_and_stopped() {
    let bed = Bed::new(Backend::BareRunner);
    assert_eq!(bed.sessions(), Vec::<Value>::new());
    let refused = bed.run(&["sessions", "stop", "s"]).refused(2);
    assert!(refused.contains("there is no session s"), "{refused}");
    bed.start("x = 1");
    let row = &bed.sessions()[0];
    let cwd = bed.desk.path().canonicalize().unwrap();
    for (key, expected) in [
        ("id", json!("s")),
        ("cwd", json!(cwd)),
        ("notebook", Value::Null),
        ("backend", json!("runner")),
        ("python", json!(Backend::BareRunner.python())),
        ("state", json!("idle")),
        ("queued", json!(0)),
        ("owners", json!([])),
        ("restarts", json!(0)),
    ] {
        assert_eq!(row[key], expected, "{key}: {row}");
    }
    assert!(Path::new("/proc").join(row["pid"].to_string()).exists(), "{row}");
    assert!(row["created"].as_u64().unwrap() <= row["last_used"].as_u64().unwrap(), "{row}");
    let told = bed.run(&["sessions"]).ok();
    let words: Vec<&str> = told.lines().nth(2).unwrap_or_default().split_whitespace().take(3).collect();
    assert_eq!(words, ["s", "idle", "runner"], "{told}");

    assert_eq!(bed.run(&["sessions", "interrupt", "s"]).ok(), "Nothing is running in session s.\n");
    let client = bed.begin("import time\nwhile True: time.sleep(0.1)");
    assert_eq!(bed.run(&["sessions", "interrupt", "s"]).ok(), "Interrupted session s.\n");
    assert_eq!(client.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(bed.exec("print(x)")["text"], "1\n");

    assert_eq!(bed.run(&["sessions", "restart", "s"]).ok(), "Restarted session s.\n");
    let kernel = bed.sessions()[0]["kernel_id"].clone();
    assert_ne!(kernel, row["kernel_id"]);
    let next = bed.exec("'x' in globals()");
    assert!(next["text"].as_str().unwrap().starts_with("False\n"), "{next}");
    assert_eq!(next["kernel"]["restarted"], true);

    assert_eq!(bed.run(&["sessions", "stop", "s"]).ok(), "Stopped session s.\n");
    bed.mark.assert_gone(LONG);
    assert_eq!(bed.sessions(), Vec::<Value>::new());
    let refused = bed.run(&["sessions", "restart", "s"]).refused(2);
    assert!(refused.contains("there is no session s"), "{refused}");
}

#[test]
fn a_name_is_enough_until_two_folders_have_it() {
    let bed = Bed::new(Backend::BareRunner);
    for folder in ["one", "two"] {
        fs::create_dir(bed.desk.path().join(folder)).unwrap();
    }
    let flags = Backend::BareRunner.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let exec = |words: &[&str]| bed.run(&[&["exec", "--session", "s"], words].concat());
    let where_it_is = "import os; print(os.path.basename(os.getcwd()))";
    let made = exec(&[&["--cwd", "one", where_it_is], flags.as_slice()].concat());
    assert_eq!(made.out, b"one\n", "{}", made.err);
    assert_eq!(exec(&[where_it_is]).out, b"one\n", "the only one of that name, wherever one is");
    std::os::unix::fs::symlink("one", bed.desk.path().join("way")).unwrap();
    assert_eq!(exec(&["--cwd", "way", where_it_is]).out, b"one\n", "another way there");
    let made = exec(&[&["--cwd", "two", where_it_is], flags.as_slice()].concat());
    assert_eq!(made.out, b"two\n", "{}", made.err);
    let refused = exec(&[where_it_is]).refused(2);
    assert!(refused.contains("there are 2 sessions s") && refused.contains("--cwd"), "{refused}");
    assert_eq!(exec(&["--cwd", "one", where_it_is]).out, b"one\n");
    let refused = bed.run(&["sessions", "stop", "s"]).refused(2);
    assert!(refused.contains("--cwd"), "{refused}");
    assert_eq!(bed.run(&["sessions", "stop", "s", "--cwd", "two"]).ok(), "Stopped session s.\n");
    assert_eq!(exec(&[where_it_is]).out, b"one\n");
}

#[test]
fn a_reset_starts_anew_also_on_another_kernel_which_is_refused_without_it() {
    let bed = Bed::new(Backend::BareRunner);
    bed.start("x = 1");
    let other = Backend::Ipykernel.flags();
    let other: Vec<&str> = other.iter().map(String::as_str).collect();
    let exec = |words: &[&str]| bed.run(&[&["exec", "--session", "s", "--json"], words].concat());
    let refused = json_of(&exec(&[&["1"], other.as_slice()].concat()));
    assert_eq!(refused["error"]["kind"], "other_kernel", "{refused}");
    assert_eq!(bed.start("print(x)")["text"], "1\n", "the same kernel may be named");
    let anew = json_of(&exec(&["--reset", "'x' in globals()"]));
    assert!(anew["text"].as_str().unwrap().starts_with("False\n"), "{anew}");
    let anew = json_of(&exec(&[&["--reset", "import ipykernel"], other.as_slice()].concat()));
    assert_eq!((&anew["status"], &anew["kernel"]["backend"]), (&json!("ok"), &json!("jupyter")), "{anew}");
    assert_eq!(bed.sessions()[0]["backend"], "jupyter");
    let refused = bed.run(&["exec", "--reset", "1"]).refused(2);
    assert!(refused.contains("--session"), "{refused}");
}

#[test]
fn commands_with_a_kernel_of_their_own_neither_start_a_host_nor_use_its_sessions() {
    let bed = Bed::new(Backend::BareRunner);
    let flags = Backend::BareRunner.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let alone = |words: &[&str]| bed.run(&[words, flags.as_slice()].concat());
    assert_eq!(alone(&["exec", "print(1)"]).out, b"1\n");
    let ran = alone(&["exec", "--session", "s", "--standalone", "print(2)"]);
    assert_eq!((ran.exit, ran.out.as_slice()), (0, b"2\n".as_slice()), "{}", ran.err);
    assert_eq!(bed.host()["running"], false);
    bed.mark.assert_gone(LONG);
    bed.start("x = 1");
    let outside = alone(&["exec", "'x' in globals()"]);
    assert_eq!(outside.out, b"False\n", "{}", outside.err);
    assert_eq!(bed.sessions().len(), 1);
}

#[test]
fn a_session_gets_the_environment_of_the_command_that_starts_it_and_not_its_secrets() {
    let bed = Bed::new(Backend::BareRunner);
    let flags = Backend::BareRunner.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let code = "import os; print(os.environ.get('PI_OURS'), os.environ.get('OPENAI_API_KEY'), os.getcwd())";
    let mut command = bed.command(&[&["exec", "--session", "s", code], flags.as_slice()].concat());
    let ran = Ran::of(command.env("PI_OURS", "here").env("OPENAI_API_KEY", "s3cret"));
    let cwd = bed.desk.path().canonicalize().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.out), format!("here None {}\n", cwd.display()), "{}", ran.err);
}

#[test]
fn what_keeps_a_session_from_starting_is_told_and_leaves_no_session() {
    let bed = Bed::new(Backend::BareRunner);
    let refused = bed.run(&["exec", "--session", "s", "1", "--python", "/no/python"]).refused(3);
    assert!(refused.contains("/no/python cannot be used"), "{refused}");
    assert_eq!(bed.sessions(), Vec::<Value>::new());
    let refused = bed.run(&["exec", "--session", "", "1"]).refused(2);
    assert!(refused.contains("--session"), "{refused}");
    let refused = bed.run(&["exec", "--session", "s", "--cwd", "nowhere", "1"]).refused(2);
    assert!(refused.contains("nowhere: no such folder"), "{refused}");
}
