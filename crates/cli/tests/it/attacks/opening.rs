//! Another user watches the command lines of all processes while a notebook is opened in the browser.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::wait_until;

use crate::desk::Desk;

/// Prints each command line of the desktop's programs, and each that has a link, as soon as it sees one. It says that it
/// looks, and looks until its input ends, or for a minute.
const WATCH: &str = r#"
import os, select, sys, time
seen = set()
print(os.getuid(), flush=True)
end = time.monotonic() + 60
while not select.select([sys.stdin], [], [], 0)[0] and time.monotonic() < end:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("cmdline", "environ"):
            try:
                text = open(f"/proc/{pid}/{name}", "rb").read()
            except OSError:
                continue
            is_leak = b"?co" b"de=" in text
            if (is_leak or b"door-test/xdg-open" in text) and text not in seen:
                seen.add(text)
                print(text, flush=True)
"#;

/// A browser starter that prints its arguments and stays a while, as a browser would.
const STARTER: &str = "#!/bin/sh\nprintf %s \"$1\" > \"$CELLIST_TEST_GIVEN.new\"\nmv \"$CELLIST_TEST_GIVEN.new\" \
                       \"$CELLIST_TEST_GIVEN\"\nn=0\nwhile [ ! -e \"$CELLIST_TEST_GIVEN.go\" ] && [ $n -lt 600 ]; do sleep 0.05; n=$((n + 1)); done\n";

impl Desk {
    /// A folder of programs that stand for those of the desktop.
    fn desktop(&self, default_browser: &str) -> PathBuf {
        let folder = self.state().join("cellist-door-test");
        fs::create_dir_all(&folder).unwrap();
        let settings = format!("#!/bin/sh\necho {default_browser}\n");
        for (name, text) in [("xdg-open", STARTER), ("xdg-settings", &settings)] {
            fs::write(folder.join(name), text).unwrap();
            fs::set_permissions(folder.join(name), Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    /// Opens the page with the programs of a desktop, and tells the answer and the address that the browser got.
    fn open_on(&self, desktop: &std::path::Path) -> (Value, String) {
        let given = desktop.join("given");
        let _ = fs::remove_file(&given);
        let mut command = self.command(&["open", "--json"]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", desktop.display()));
        command.env("DISPLAY", ":99").env("CELLIST_TEST_GIVEN", &given);
        let ran = command.output().unwrap();
        let answer = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
        wait_until("the browser starts", || given.exists());
        (answer, fs::read_to_string(given).unwrap())
    }
}

fn get(link: &str) -> String {
    let (host, path) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let head = format!(
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Firefox/144.0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn another_user_who_watches_all_command_lines_does_not_get_the_link() {
    let desk = Desk::new();
    let desktop = desk.desktop("firefox.desktop");
    let python = testkit::python("kernels");
    let is_root = rustix::process::geteuid().is_root();
    assert!(is_root, "this test becomes another user: run the tests as root (see CONTRIBUTING.md)");
    let mut watching = Command::new("setpriv");
    watching.args(["--reuid=65534", "--clear-groups"]).arg(python);
    let watching = watching.args(["-c", WATCH]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut watching = watching.spawn().unwrap();
    let mut said = BufReader::new(watching.stdout.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();

    let (answer, given) = desk.open_on(&desktop);
    let link = answer["link"].as_str().unwrap();
    let file = PathBuf::from(given.strip_prefix("file://").unwrap());
    assert!(answer["browser"] == true && link.contains("?code="), "{answer}");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(&link.replace('&', "&amp;")), "{text}");

    // It sees the browser start, and nothing that is worth anything.
    let mut seen = String::new();
    while !seen.contains(&given) && said.read_line(&mut seen).unwrap() > 0 {}
    drop(watching.stdin.take());
    said.read_to_string(&mut seen).unwrap();
    watching.wait().unwrap();
    assert!(seen.contains(&given), "{first}{seen}");
    assert!(!seen.contains(link.split("code=").nth(1).unwrap()), "{seen}");

    // The link works once; then the file is gone, and the browser is listed.
    assert!(get(link).starts_with("HTTP/1.1 200"));
    assert!(!file.exists());
    assert!(get(link).starts_with("HTTP/1.1 401"));
    fs::write(desktop.join("given.go"), "").unwrap();
    let listed = desk.json(&["status", "--browsers"]);
    let browser = &listed["browsers"][0];
    assert_eq!(
        (&browser["name"], &browser["is_signed_in"]),
        (&"Firefox 144 on Linux".into(), &true.into()),
        "{listed}"
    );
    let id = browser["id"].as_str().unwrap().to_owned();
    let table = desk.run(&["status", "--browsers"]).ok();
    assert!(table.contains(&id) && table.contains("just now"), "{table}");

    // It is still known when the host has ended, and can be ended then.
    let unused = desk.open_on(&desktop).1;
    desk.run(&["stop"]).ok();
    assert!(!PathBuf::from(unused.strip_prefix("file://").unwrap()).exists(), "a host takes its files along");
    assert_eq!(desk.json(&["status", "--browsers"])["browsers"][0]["is_signed_in"], false);
    let refused = desk.run(&["revoke", "00000000"]).refused(2);
    assert!(refused.contains("status --browsers"), "{refused}");
    let told = desk.run(&["revoke", &id]).ok();
    assert_eq!(told, format!("Signed out {id} (Firefox 144 on Linux)\n"));
    assert_eq!(desk.json(&["status", "--browsers"])["browsers"], serde_json::json!([]));
    assert_eq!(desk.run(&["revoke", "--all"]).ok(), "No browser is signed in.\n");
}

#[test]
fn a_browser_from_a_snap_gets_a_file_that_it_can_read() {
    let desk = Desk::new();
    let desktop = desk.desktop("firefox_firefox.desktop");
    fs::write(desktop.join("given.go"), "").unwrap();
    let common = desk.state().join("snap/firefox/common");
    fs::create_dir_all(&common).unwrap();
    let (answer, given) = desk.open_on(&desktop);
    let file = PathBuf::from(given.strip_prefix("file://").unwrap());
    assert_eq!(file.parent(), Some(common.join("cellist").as_path()));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(get(answer["link"].as_str().unwrap()).starts_with("HTTP/1.1 200"));
    assert!(!file.exists());
    desk.run(&["stop"]).ok();
}
