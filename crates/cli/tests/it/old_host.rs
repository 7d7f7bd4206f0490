//! A host of another version, as commands of this one meet it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::desk::Desk;

/// Speaks the first words, which never change, and no others.
const OLD_HOST: &str = r#"
import fcntl, json, os, socket, struct, sys
run, keeps = sys.argv[1], json.loads(sys.argv[2])
os.makedirs(run, mode=0o700, exist_ok=True)
lock = open(f"{run}/host.lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
door = socket.socket(socket.AF_UNIX)
door.bind(f"{run}/host.sock")
door.listen()
with open(f"{run}/host.json", "w") as entry:
    json.dump({"pid": os.getpid(), "version": "0.0.1", "socket": f"{run}/host.sock"}, entry)
print("ready", flush=True)
leaves = False
while not leaves:
    visitor, _ = door.accept()
    size, = struct.unpack(">I", visitor.recv(4, socket.MSG_WAITALL))
    wish = json.loads(visitor.recv(size, socket.MSG_WAITALL))["wish"]
    leaves = wish == "stop" or wish == "replace" and not any(keeps.values())
    host = {"version": "0.0.1", "pid": os.getpid(), **keeps}
    welcome = json.dumps({"answer": "leaving" if leaves else "staying", "host": host}).encode()
    visitor.sendall(struct.pack(">I", len(welcome)) + welcome)
    visitor.close()
os.remove(f"{run}/host.json")
os.remove(f"{run}/host.sock")
"#;

/// A host of version 0.0.1. It is gone when this is.
struct OldHost(Child);

impl OldHost {
    fn new(desk: &Desk, keeps: &Value) -> OldHost {
        let mut command = Command::new(testkit::python("kernels"));
        command.args(["-c", OLD_HOST]).arg(desk.state().join("run")).arg(keeps.to_string());
        let mut host = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(host.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "ready\n");
        OldHost(host)
    }

    /// Waits for its end.
    fn left(mut self) {
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for OldHost {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_older_host_that_keeps_nothing_makes_room_for_a_new_one() {
    let desk = Desk::new();
    let old = OldHost::new(&desk, &json!({}));
    let told = desk.run(&["status"]).ok();
    let versions = format!("0.0.1 (this command is {})", env!("CARGO_PKG_VERSION"));
    assert!(told.contains(&versions), "{told}");
    let new = desk.json(&["serve", "--background"]);
    assert_eq!(new["version"], env!("CARGO_PKG_VERSION"));
    old.left();
    assert_eq!(desk.json(&["status"])["pid"], new["pid"]);
}

#[test]
fn an_older_host_that_keeps_sessions_stays_until_it_is_stopped() {
    let desk = Desk::new();
    let old = OldHost::new(&desk, &json!({ "sessions": 2, "clients": 1 }));
    let refused = desk.run(&["serve", "--background"]).refused(3);
    assert_eq!(
        refused,
        format!(
            "error: the running host is cellist 0.0.1, this is cellist {}; it has 2 sessions and 1 other \
             client\nhint: `cellist stop` ends it, with its sessions and open notebooks; --standalone works without a host\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    let refused = desk.run(&["exec", "--session", "s", "1"]).refused(3);
    assert!(refused.contains("--standalone works without a host"), "{refused}");
    let checks = desk.json(&["doctor", "--python", testkit::python("kernels").to_str().unwrap()]);
    let checks = checks["checks"].as_array().unwrap();
    let host = checks.iter().find(|check| check["name"] == "host").unwrap();
    assert_eq!(host["status"], "warning", "{host}");
    let pid = old.0.id();
    assert_eq!(desk.run(&["stop"]).ok(), format!("Stopped the host (process {pid}), and its 2 sessions.\n"));
    old.left();
    assert_eq!(desk.json(&["serve", "--background"])["version"], env!("CARGO_PKG_VERSION"));
}
