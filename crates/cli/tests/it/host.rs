//! The host in the background: its start, its uniqueness, its state for other clients, and its failures.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::desk::{Desk, Ran};

impl Desk {
    /// Starts a host and says which process it is.
    fn start_host(&self) -> u64 {
        self.json(&["serve", "--background"])["pid"].as_u64().unwrap()
    }

    /// A host as it registered.
    fn registration(&self) -> Value {
        serde_json::from_slice(&fs::read(self.state().join("run/host.json")).unwrap()).unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.state().join("log/host.log")).unwrap_or_default()
    }
}

/// Whether a process is there and not only waits to be reaped.
fn is_running(pid: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_host_starts_tells_about_itself_and_stops() {
    let desk = Desk::new();
    let told = desk.run(&["status"]).ok();
    assert!(told.starts_with("No host is running."), "{told}");
    assert_eq!(desk.json(&["status"])["running"], false);
    assert_eq!(desk.run(&["stop"]).ok(), "No host is running.\n");

    let pid = desk.start_host();
    assert_eq!(desk.start_host(), pid, "there is one already");
    // The host hears a moment later that a client has left.
    wait_until("nobody is there", || desk.json(&["status"])["clients"] == 0);
    let status = desk.json(&["status"]);
    for (key, expected) in [
        ("running", json!(true)),
        ("pid", json!(pid)),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("sessions", json!(0)),
        ("busy", json!(0)),
        ("notebooks", json!(0)),
        ("background", json!(true)),
        ("home", json!(desk.state())),
    ] {
        assert_eq!(status[key], expected, "{key}");
    }
    let told = desk.run(&["status"]).ok();
    assert!(told.starts_with(&format!("The host is running as process {pid}, for ")), "{told}");
    let refused = desk.run(&["serve"]).refused(2);
    assert!(refused.contains("a host is already running"), "{refused}");
    assert_eq!(desk.run(&["stop"]).ok(), format!("Stopped the host (process {pid}).\n"));
    assert!(!desk.state().join("run/host.json").exists() && !desk.state().join("run/host.sock").exists());
    assert_eq!(desk.json(&["stop"])["stopped"], false);
}

#[test]
fn a_host_has_no_variable_descriptor_folder_or_terminal_of_its_starter() {
    let desk = Desk::new();
    let mut command = desk.command(&["serve", "--background"]);
    let ran = Ran::of(command.env("OPENAI_API_KEY", "s3cret").env("PI_TEST", "mine"));
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let pid = desk.registration()["pid"].as_u64().unwrap();
    let of = |what: &str| Path::new("/proc").join(pid.to_string()).join(what);
    assert_eq!(
        fs::read(of("environ")).unwrap(),
        [b"CELLIST_HOME=", desk.state().to_str().unwrap().as_bytes(), b"\0"].concat()
    );
    assert_eq!(fs::read_link(of("cwd")).unwrap(), Path::new("/"));
    let stat = fs::read_to_string(of("stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let (session, terminal) = (fields[3], fields[4]);
    assert_eq!((session, terminal), (pid.to_string().as_str(), "0"), "{stat}");
    let state = desk.state().to_str().unwrap();
    for descriptor in fs::read_dir(of("fd")).unwrap() {
        let leads_to = fs::read_link(descriptor.unwrap().path()).unwrap().display().to_string();
        let is_its_own = leads_to == "/dev/null"
            || leads_to.starts_with("anon_inode:")
            || leads_to.starts_with("socket:")
            || leads_to.starts_with(state);
        assert!(is_its_own, "{leads_to}");
    }
}

#[test]
fn twenty_that_need_a_host_at_once_get_one() {
    let desk = Desk::new();
    let started: Vec<u64> = thread::scope(|scope| {
        let starting: Vec<_> = (0..20).map(|_| scope.spawn(|| desk.start_host())).collect();
        starting.into_iter().map(|starting| starting.join().unwrap()).collect()
    });
    assert!(started.iter().all(|pid| *pid == started[0]), "{started:?}");
    assert_eq!(desk.log().matches(" serves ").count(), 1, "{}", desk.log());
}

#[test]
fn what_a_killed_host_left_is_cleaned_be_it_whole_half_or_with_a_process_that_is_anothers_now() {
    let own = std::process::id();
    let whole = |socket: &str| json!({ "pid": own, "version": "0.2.0", "socket": socket }).to_string();
    for left in [whole("/nowhere/host.sock"), "{\"pid\": 12".into(), String::new(), "[]".into()] {
        let desk = Desk::new();
        fs::create_dir_all(desk.state().join("run")).unwrap();
        fs::write(desk.state().join("run/host.json"), &left).unwrap();
        fs::write(desk.state().join("run/host.lock"), "").unwrap();
        fs::write(desk.state().join("run/host.sock"), "").unwrap();
        assert_eq!(desk.json(&["status"])["running"], false, "{left}");
        assert_eq!(desk.run(&["stop"]).ok(), "No host is running.\n", "and no one else is stopped");
        let pid = desk.start_host();
        assert_eq!(desk.json(&["status"])["pid"], pid, "{left}");
    }
}

#[test]
fn a_host_that_was_killed_is_replaced_by_the_next_that_is_needed() {
    let desk = Desk::new();
    let first = desk.start_host();
    Command::new("kill").args(["-9", &first.to_string()]).status().unwrap();
    wait_until("it is gone", || !is_running(first));
    assert_eq!(desk.json(&["status"])["running"], false);
    assert_ne!(desk.start_host(), first);
}

#[test]
fn a_host_that_does_not_answer_is_killed_by_stop() {
    let desk = Desk::new();
    let pid = desk.start_host();
    Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap();
    let refused = desk.run(&["status"]).refused(3);
    assert!(refused.contains(&format!("the host (process {pid}) does not respond")), "{refused}");
    assert!(refused.contains("hint: `cellist stop` ends it"), "{refused}");
    let told = desk.run(&["stop"]).ok();
    assert!(told.contains("was killed"), "{told}");
    wait_until("it is gone", || !is_running(pid));
}

#[test]
fn a_host_in_the_foreground_ends_on_a_signal_and_cleans_up() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let desk = Desk::new();
        let mut host =
            desk.command(&["serve"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = host.id();
        wait_until("it is there", || {
            assert!(host.try_wait().unwrap().is_none());
            desk.json(&["status"])["running"] == json!(true)
        });
        assert_eq!(desk.json(&["status"])["background"], false);
        Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
        let ended = host.wait_with_output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let told = String::from_utf8(ended.stderr).unwrap();
        assert!(told.contains(" serves ") && told.contains(" stopping: received a signal"), "{told}");
        assert!(!desk.state().join("run/host.json").exists());
    }
}

#[test]
fn a_state_folder_with_a_path_too_long_for_a_socket_is_no_obstacle() {
    let desk = Desk::new();
    let deep = desk.state().join("d".repeat(80)).join("e".repeat(80));
    let run = |words: &[&str]| Ran::of(desk.command(words).env("CELLIST_HOME", &deep));
    let pid = run(&["serve", "--background", "--json"]).json()["pid"].clone();
    assert_eq!(run(&["status", "--json"]).json()["pid"], pid);
    let registered: Value = serde_json::from_slice(&fs::read(deep.join("run/host.json")).unwrap()).unwrap();
    let folder = Path::new(registered["socket"].as_str().unwrap()).parent().unwrap().to_owned();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(run(&["stop", "--json"]).json()["stopped"], true);
    assert!(!folder.exists());
    assert_eq!(run(&["serve", "--background", "--json"]).exit, 0);
    let registered: Value = serde_json::from_slice(&fs::read(deep.join("run/host.json")).unwrap()).unwrap();
    let folder = Path::new(registered["socket"].as_str().unwrap()).parent().unwrap().to_owned();
    Command::new("kill").args(["-9", &registered["pid"].to_string()]).status().unwrap();
    wait_until("the guard removes it", || !folder.exists());
}

/// Runs a command with a state folder that was mounted with these options, in a namespace of its own.
fn with_mounted_home(desk: &Desk, options: &str, prepare: &str, words: &str) -> Ran {
    let home = desk.path().join("home");
    fs::create_dir_all(&home).unwrap();
    let home = home.display();
    let cellist = env!("CARGO_BIN_EXE_cellist");
    let script = format!(
        "mount -t tmpfs -o mode=700 {options} tmpfs {home} && cd {home} && {prepare}; export CELLIST_HOME={home}; \
         {cellist} {words}; ended=$?; {cellist} stop >/dev/null 2>&1; exit $ended"
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    desk.prepare(&mut command);
    Ran::of(&mut command)
}

#[test]
fn a_full_disk_and_a_read_only_home_are_told_as_such() {
    let desk = Desk::new();
    let fill = "mkdir run log && cat /dev/zero > filled 2>/dev/null";
    let refused = with_mounted_home(&desk, "-o size=64k", fill, "serve --background").refused(4);
    let home = desk.path().join("home").display().to_string();
    assert_eq!(
        refused,
        format!(
            "error: {home}: the state folder cannot be used: no space left on device\nhint: free some space, or \
             set CELLIST_HOME to another folder\n"
        )
    );
    let read_only = format!("mount -o remount,ro {home}");
    let refused = with_mounted_home(&desk, "", &read_only, "serve --background").refused(4);
    assert!(
        refused.contains("the state folder cannot be used: read-only file system")
            && refused.contains("hint: "),
        "{refused}"
    );
    let json = with_mounted_home(&desk, "", &read_only, "serve --background --json");
    assert_eq!(json.exit, 4);
    let json: Value = serde_json::from_slice(&json.out).unwrap();
    assert_eq!(json["error"]["kind"], "no_state");
    let status = with_mounted_home(&desk, "", &read_only, "status --json").json();
    assert_eq!(status["running"], false, "looking needs no right to write");

    let python = crate::bench::bare_python();
    let exec = format!("exec --session s 'print(6 * 7)' --backend runner --python {}", python.display());
    let refused = with_mounted_home(&desk, "-o size=64k", fill, &exec).refused(4);
    assert!(refused.contains("no space left on device"), "{refused}");
    let refused = with_mounted_home(&desk, "", &read_only, &exec).refused(4);
    assert!(
        refused.contains("read-only file system")
            && refused.contains("use --standalone, which stores nothing"),
        "{refused}"
    );
    for (options, prepare) in [("-o size=64k", fill), ("", read_only.as_str())] {
        let alone = with_mounted_home(&desk, options, prepare, &format!("{exec} --standalone"));
        assert_eq!((alone.exit, alone.out.as_slice()), (0, b"42\n".as_slice()), "{}", alone.err);
    }
}

#[test]
fn a_state_folder_that_is_a_file_is_named() {
    let desk = Desk::new();
    let file = desk.write("file", "");
    let refused = Ran::of(desk.command(&["serve", "--background"]).env("CELLIST_HOME", &file)).refused(4);
    assert!(refused.contains(&format!("{}: the state folder cannot be used", file.display())), "{refused}");
}
