//! Access to the socket: processes of the same user only.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use cellist_serve::IdlePolicy;

use crate::attacks::users::require_root;
use crate::bed::{Bed, soon};

/// Sends a greeting and prints the answer.
const VISIT: &str = r#"
import json, os, socket, struct, sys
visit = socket.socket(socket.AF_UNIX)
visit.connect(sys.argv[1])
hello = json.dumps({"cellist": "1.0.0", "wish": "stop"}).encode()
try:
    visit.sendall(struct.pack(">I", len(hello)) + hello)
    print(os.getuid(), visit.recv(4096))
except ConnectionError:
    print(os.getuid(), b"")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_process_of_another_user_is_refused_even_with_access_to_the_socket() {
    let bed = Bed::new();
    let running = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let socket = bed.address().unwrap().socket;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));

    // All permissions are open, so only the check of the peer's user remains.
    fs::set_permissions(&socket, Permissions::from_mode(0o777)).unwrap();
    let opened = [bed.scratch.path(), bed.home.path(), socket.parent().unwrap()];
    opened.iter().for_each(|folder| fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap());
    let python = testkit::python("kernels");
    let visit = |program: &mut Command| {
        let ran = program.arg(&python).args(["-c", VISIT]).arg(&socket).output().unwrap();
        (String::from_utf8_lossy(&ran.stdout).into_owned(), String::from_utf8_lossy(&ran.stderr).into_owned())
    };
    require_root();
    let (said, error) = visit(Command::new("setpriv").args(["--reuid=65534", "--clear-groups"]));
    assert!(said.starts_with("65534 b''"), "{said}{error}");
    assert!(soon(bed.seen_by("1.0.0").state()).await.unwrap().is_some(), "it was not stopped");
    let (said, error) = visit(&mut Command::new("env"));
    assert!(said.contains("leaving"), "{said}{error}");
    soon(running).await.unwrap();
}
