//! Response time of the host to a client while a program holds thousands of idle connections to the
//! page.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cellist_kernel::process::raise_open_files;
use serde_json::Value;

use crate::made::code_cells;
use crate::measure::{self, cellist, in_ms, in_turn};
use crate::table::{Figure, Target};

const ROUNDS: usize = 15;
const HELD: usize = 5_000;

pub(crate) fn run() -> Vec<Figure> {
    raise_open_files();
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    code_cells(&folder.path().join("nb.ipynb"), &["1"]);
    let host = BenchHost::start(folder.path());
    let opened = host.command().args(["open", "--no-browser", "--json", "nb.ipynb"]).output();
    let opened: Value = serde_json::from_slice(&opened.expect("it starts").stdout).expect("an answer");
    let link = opened["link"].as_str().expect("a link");
    let address = link.split('/').nth(2).expect("an address").to_owned();

    let mut quiet = |_| measure::run(host.command().arg("status").stdout(Stdio::null()));
    let [before] = in_turn(ROUNDS, [&mut quiet]);
    let mut held: Vec<TcpStream> = Vec::new();
    let mut attacked = |_| {
        // Replaces the closed ones.
        held.clear();
        held.extend((0..HELD).map(|_| TcpStream::connect(&address).expect("the host listens")));
        measure::run(host.command().arg("status").stdout(Stdio::null()))
    };
    let [during] = in_turn(ROUNDS, [&mut attacked]);
    let ms = during.wall().as_secs_f64() * 1000.0;
    vec![Figure {
        promise: "status with 1,024 files and 5,000 idle connections, whole process",
        other: ("without them", in_ms(before.wall())),
        ours: in_ms(during.wall()),
        value: ms,
        unit: " ms",
        target: Target::AtMost(50.0),
    }]
}

/// A host with the usual limit on open files.
pub(crate) struct BenchHost<'a> {
    folder: &'a Path,
    process: Child,
}

impl<'a> BenchHost<'a> {
    pub(crate) fn start(folder: &'a Path) -> BenchHost<'a> {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n 1024; exec \"$0\" serve"]).arg(cellist());
        command.current_dir(folder).env("CELLIST_HOME", folder.join("home"));
        let process = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        while !fs::exists(folder.join("home/run/host.json")).unwrap_or(false) {
            std::thread::sleep(Duration::from_millis(5));
        }
        BenchHost { folder, process }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(cellist());
        command.current_dir(self.folder).env("CELLIST_HOME", self.state());
        command
    }
}

impl Drop for BenchHost<'_> {
    fn drop(&mut self) {
        let _ = self.command().arg("stop").stdout(Stdio::null()).status();
        let _ = self.process.wait();
    }
}
