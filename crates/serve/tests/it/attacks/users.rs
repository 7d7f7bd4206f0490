//! Another user of the same machine, with every port and every token.

use std::process::Command;

use crate::site::Site;

/// Connects, sends a request, and prints the user and the beginning of the answer.
const VISIT: &str = r#"
import os, socket, sys
host, port = sys.argv[1].rsplit(":", 1)
visit = socket.create_connection((host, int(port)))
try:
    visit.sendall(sys.argv[2].encode())
    answer = visit.recv(4096)
except ConnectionError:
    answer = b""
print(os.getuid(), answer[:12])
"#;

/// Fails instead of skipping: only root can become another user, and a skipped test proves nothing.
pub(crate) fn require_root() {
    let is_root = rustix::process::geteuid().is_root();
    assert!(
        is_root,
        "this test becomes another user, which only root can: run the tests as root (see CONTRIBUTING.md)"
    );
}

pub(crate) fn visit(user: Option<u32>, address: &str, request: &str) -> String {
    let mut command = match user {
        Some(user) => {
            let mut command = Command::new("setpriv");
            command.args([&format!("--reuid={user}"), "--clear-groups"]).arg(testkit::python("kernels"));
            command
        }
        None => Command::new(testkit::python("kernels")),
    };
    let ran = command.args(["-c", VISIT, address, request]).output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_is_refused_at_every_port_even_with_credentials() {
    require_root();
    let site = Site::new().await;
    let (cookie, _key) = site.sign_in().await;
    let token = cellist_serve::token(&site.bed.home).unwrap();
    let host = site.host();
    let link = site.address().await;
    let code = link.split_once(&host).unwrap().1;
    let requests = [
        (format!("GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"), "200"),
        (format!("GET /editor HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"), "200"),
        (format!("GET /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"), "4"),
        (format!("GET {code} HTTP/1.1\r\nHost: {host}\r\n\r\n"), "200"),
    ];
    for (request, expected) in &requests {
        let told = visit(Some(65534), &host, request);
        assert!(told.starts_with("65534 b''"), "{request}: {told}");
        let told = visit(None, &host, request);
        assert!(told.contains(&format!("HTTP/1.1 {expected}")), "{request}: {told}");
    }
}
