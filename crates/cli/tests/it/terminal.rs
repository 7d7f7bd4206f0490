//! Commands in a terminal that closes while their code keeps running.

use std::process::Command;

use crate::bench::Backend;
use crate::desk::{Desk, Ran};
use crate::sessions::Bed;

/// Runs a script in a terminal of its own and closes the terminal when the script has said that it is ready.
const TERMINAL: &str = r#"
import os, pty, signal, sys
shell, terminal = pty.fork()
if shell == 0:
    # Whoever runs the tests may ignore it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execvp("sh", ["sh", "-c", sys.argv[1]])
shown = b""
while b"ready\r\n" not in shown:
    try:
        more = os.read(terminal, 4096)
    except OSError:
        more = b""
    if not more:
        sys.exit(f"the terminal showed only {shown!r}")
    shown += more
os.close(terminal)
_, status = os.waitpid(shell, 0)
print(shown.decode(), os.WTERMSIG(status) if os.WIFSIGNALED(status) else "ended by itself")
"#;

/// The output until a script printed `ready` and its terminal closed.
fn until_closed(desk: &Desk, script: &str) -> String {
    let mut command = Command::new(testkit::python("kernels"));
    let script = format!("PATH={}:$PATH; {script}", folder_of_binary());
    command.args(["-c", TERMINAL, &script]);
    desk.prepare(&mut command);
    let ran = Ran::of(&mut command);
    assert_eq!(ran.exit, 0, "{}", ran.all());
    String::from_utf8(ran.out).unwrap()
}

fn folder_of_binary() -> String {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_cellist"));
    binary.parent().unwrap().display().to_string()
}

#[test]
fn code_that_a_terminal_shows_goes_on_when_the_terminal_is_closed() {
    let bed = Bed::new(Backend::BareRunner);
    bed.start("x = 1");
    bed.desk.write(
        "code.py",
        "import os, time\nprint('ready')\nwhile not os.path.exists('go'): time.sleep(0.01)\nx = 2",
    );
    // Output during the run triggers the closing of the terminal.
    let shown = until_closed(&bed.desk, "cellist exec --session s -f code.py");
    assert!(shown.contains("ready"), "{shown}");
    assert_eq!(bed.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "busy");
    bed.desk.write("go", "");
    assert_eq!(bed.exec("print(x)")["text"], "2\n");
}

#[test]
fn a_host_survives_the_closing_of_the_terminal_that_started_it() {
    let desk = Desk::new();
    let shown = until_closed(&desk, "cellist serve --background; echo ready; exec sleep 600");
    assert!(shown.ends_with(" 1\n"), "the terminal hung up on its programs: {shown}");
    let status = desk.json(&["status"]);
    assert_eq!(status["running"], true);
    assert!(shown.contains(&format!("as process {}.", status["pid"])), "{shown}");
}
