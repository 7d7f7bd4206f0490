//! The inputs of a kernel at its start, and messages when it does not start.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use cellist_kernel::zmq::{self, KernelCommand};
use cellist_kernel::{Error, Module};

use super::bed::{Bed, LONG, files, python};

#[tokio::test]
async fn a_kernel_starts_in_its_folder_with_prelude_and_modules_that_leave_no_trace() {
    let mut bed = Bed::new();
    let module = |name: &str, source: &str| {
        let path = bed.scratch.write(&format!("modules/{name}.py"), source);
        Module { name: name.into(), path }
    };
    bed.launch.modules = vec![
        module("first", "from helper import answer\nfirst = (made, answer)\n"),
        module("broken", "x = 1\nraise ValueError('no good')\n"),
        module("torn", "def f(:\n"),
        module("last", "# -*- coding: latin-1 -*-\nlast = first\nimport sys\nprint('noise')"),
        Module { name: "gone".into(), path: "/nowhere/gone.py".into() },
    ];
    std::fs::write(bed.launch.cwd.join("helper.py"), "answer = 42").unwrap();
    bed.launch.prelude = Some("made = 'by the prelude'".into());
    bed.launch.environment.push(("GIVEN".into(), "yes".into()));
    let kernel = bed.ipykernel().await;
    assert_eq!(kernel.notices.len(), 3, "{:?}", kernel.notices);
    let path = |name: &str| bed.scratch.path().join(format!("modules/{name}.py")).display().to_string();
    assert_eq!(
        kernel.notices[0],
        format!("module broken failed ({}, line 2): ValueError: no good", path("broken"))
    );
    let torn = format!("module torn failed ({}, line 1): SyntaxError:", path("torn"));
    assert!(kernel.notices[1].starts_with(&torn), "{:?}", kernel.notices);
    assert!(kernel.notices[2].starts_with("module gone failed (/nowhere/gone.py): FileNotFoundError:"));

    let ran = kernel
        .run("import os, sys\nprint(last, os.environ['GIVEN'], os.getcwd() == sys.path[0], In, Out)")
        .await;
    let first = "import os, sys\\nprint(last, os.environ['GIVEN'], os.getcwd() == sys.path[0], In, Out)";
    assert_eq!(ran.stdout(), format!("('by the prelude', 42) yes True ['', \"{first}\"] {{}}\n"));
    assert_eq!(ran.outcome().execution_count, Some(1));
    let ran = kernel.run("sorted(name for name in globals() if 'cellist' in name)").await;
    assert_eq!(ran.result(), Some("[]"));
    let ran = kernel.run("list(get_ipython().history_manager.get_range())[0][2][:9]").await;
    assert_eq!(ran.result(), Some("'import os'"));
    kernel.end().await;
}

#[tokio::test]
async fn the_connection_file_is_private_while_it_is_there() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let folder = files(&bed.launch.runtime_dir).pop().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("connection.json")), 0o600);
    // Its sockets are files in that folder, which nobody else can reach.
    assert!(files(&folder).len() >= 6, "{:?}", files(&folder));
    kernel.end().await;
}

#[tokio::test]
async fn a_runtime_folder_with_a_long_path_is_no_obstacle() {
    let mut bed = Bed::new();
    bed.launch.runtime_dir = bed.scratch.path().join("long".repeat(40));
    let kernel = bed.ipykernel().await;
    assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
    kernel.end().await;
}

#[tokio::test]
async fn a_first_question_that_is_lost_is_asked_again() {
    let bed = Bed::new();
    let program = "
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp

class Forgetful(IPythonKernel):
    asked = 0

    async def kernel_info_request(self, *request):
        Forgetful.asked += 1
        if Forgetful.asked > 1:
            await super().kernel_info_request(*request)

IPKernelApp.launch_instance(kernel_class=Forgetful)
";
    let program = bed.scratch.write("forgetful.py", program);
    let mut command = KernelCommand::ipykernel(&python());
    let module = command.argv.iter().position(|word| word == "-m").unwrap();
    command.argv.splice(module..module + 2, [program.into()]);
    let kernel = bed.start(command).await;
    assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
    kernel.end().await;
}

async fn failure(bed: &Bed, command: KernelCommand) -> Error {
    match zmq::start(command, bed.launch.clone(), &bed.guard).await {
        Ok(_) => panic!("it started"),
        Err(error) => {
            assert_eq!(files(&bed.launch.runtime_dir), Vec::<std::path::PathBuf>::new());
            error
        }
    }
}

fn script(bed: &Bed, source: &str) -> KernelCommand {
    let path = bed.scratch.write("kernel.sh", source);
    let argv = vec!["/bin/sh".into(), path.into(), "{connection_file}".into()];
    KernelCommand { argv, ..KernelCommand::ipykernel(&python()) }
}

#[tokio::test]
async fn a_kernel_that_cannot_listen_on_files_gets_ports() {
    let mut bed = Bed::new();
    bed.launch.startup_timeout = Duration::from_secs(20);
    for otherwise in ["exit 1", "sleep 600"] {
        let kernel = format!(
            "grep -q ipc \"$1\" && {otherwise}\nexec {} -m ipykernel_launcher -f \"$1\"",
            python().display()
        );
        let kernel = bed.start(KernelCommand { python: None, ..script(&bed, &kernel) }).await;
        assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
        kernel.end().await;
    }
}

#[tokio::test]
async fn a_kernel_may_name_its_socket_files_in_its_own_way() {
    let bed = Bed::new();
    let source = "import ipykernel.kernelapp as app, sys\n\
        def bind(self, s, port):\n    s.bind(f'{self.transport}://{self.ip}:{port}')\n    return port\n\
        app.IPKernelApp._try_bind_socket = bind\napp.launch_new_instance()\n";
    let path = bed.scratch.write("kernel.py", source);
    let mut command = KernelCommand::ipykernel(&python());
    command.argv = vec![python().into(), path.into(), "-f".into(), "{connection_file}".into()];
    let kernel = bed.start(command).await;
    assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
    kernel.end().await;
}

#[tokio::test]
async fn a_kernel_that_is_never_ready_is_killed_and_its_words_are_shown() {
    let mut bed = Bed::new();
    bed.launch.startup_timeout = Duration::from_secs(4);
    let began = Instant::now();
    let pids = bed.scratch.path().join("pid");
    let command = script(
        &bed,
        &format!("echo $$ > {}; echo still thinking >&2; sleep 600 & sleep 600", pids.display()),
    );
    let error = failure(&bed, command).await;
    assert!(began.elapsed() < LONG / 2);
    assert!(error.to_string().contains("it said:\nstill thinking"), "{error}");
    assert!(error.hint().is_some());
    crate::traces::until_gone(std::fs::read_to_string(pids).unwrap().trim().parse().unwrap());
}

#[tokio::test]
async fn a_kernel_that_dies_at_once_says_why() {
    let bed = Bed::new();
    let began = Instant::now();
    let error = failure(&bed, script(&bed, "echo cannot find my feet >&2; exit 3")).await;
    assert!(began.elapsed() < LONG / 2);
    let said = "the kernel ended before it was ready: The kernel died: it exited with code 3.; it said:\ncannot find my feet";
    assert_eq!(error.to_string(), said);
}

#[tokio::test]
async fn what_is_missing_is_named_with_what_to_do() {
    let mut bed = Bed::new();
    let bare = testkit::python("nbformat");
    let error = failure(&bed, KernelCommand::ipykernel(&bare)).await;
    assert_eq!(error.to_string(), format!("ipykernel is not installed for {}", bare.display()));
    assert_eq!(error.hint().unwrap(), format!("{} -m pip install ipykernel", bare.display()));

    let error = failure(&bed, KernelCommand::ipykernel("/nowhere/python".as_ref())).await;
    assert!(error.to_string().contains("/nowhere/python: there is no such program"), "{error}");

    bed.launch.cwd = "/nowhere".into();
    let error = failure(&bed, KernelCommand::ipykernel(&python())).await;
    assert_eq!(error.to_string(), "/nowhere is not a folder");
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing() {
    let bed = Bed::new();
    let pids = bed.scratch.path().join("pid");
    let command = script(&bed, &format!("echo $$ > {}; sleep 600", pids.display()));
    let start = zmq::start(command, bed.launch.clone(), &bed.guard);
    tokio::select! {
        _ = start => panic!("it started"),
        () = async { while std::fs::read_to_string(&pids).map_or(0, |pid| pid.len()) == 0 { tokio::task::yield_now().await } } => {}
    }
    let pid = std::fs::read_to_string(&pids).unwrap().trim().parse().unwrap();
    while !crate::traces::in_group(pid).is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(files(&bed.launch.runtime_dir), Vec::<std::path::PathBuf>::new());
}
