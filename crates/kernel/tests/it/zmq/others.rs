//! Kernels of other languages, kernels that are interrupted by messages, and kernels that others started.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cellist_kernel::zmq::{self, InterruptMode, KernelCommand};
use cellist_kernel::{Completeness, Death, Error, Event, State, Status};
use testkit::Scratch;

use super::bed::{Bed, Ran, python, rest, until};

fn bash() -> KernelCommand {
    let mut command = KernelCommand::ipykernel(&python());
    command.argv[2] = "bash_kernel".into();
    KernelCommand { name: "bash".into(), language: "bash".into(), ..command }
}

#[tokio::test]
async fn bash_runs_in_its_own_kernel() {
    let mut bed = Bed::new();
    bed.launch.environment.push(("GIVEN".into(), "yes".into()));
    bed.launch.prelude = Some("this is not Bash and must not be run".into());
    let kernel = bed.start(bash()).await;
    assert_eq!(kernel.kernel.identity().language, "bash");
    assert_eq!(kernel.notices, Vec::<String>::new());
    let ran = kernel.run("x=3; echo \"$x $GIVEN $(basename \"$PWD\")\"").await;
    assert_eq!((ran.stdout().as_str(), ran.status()), ("3 yes work\n", Status::Ok));
    assert_eq!(kernel.run("echo $x").await.stdout(), "3\n");
    let ran = kernel.run("false").await;
    assert_eq!(ran.status(), Status::Error, "{ran:?}");

    let mut execution = kernel.begin("echo go; sleep 600").await;
    until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
    kernel.kernel.interrupt(execution.id).await.unwrap();
    let ran = rest(&mut execution).await;
    assert!(ran.outcome().cancelled, "{ran:?}");
    // On a busy machine this kernel may lose its place in the shell that it interrupted, so it starts anew.
    kernel.kernel.restart().await.unwrap();

    let completion = kernel.kernel.complete("ech", 3).await.unwrap();
    assert!(completion.matches.iter().any(|word| word == "echo"));
    assert_eq!(kernel.kernel.is_complete("echo").await.unwrap(), Completeness::Unknown);
    let shells = shells_below(kernel.pid());
    kernel.kernel.restart().await.unwrap();
    assert_eq!(kernel.run("echo [$x]").await.stdout(), "[]\n");
    kernel.end().await;
    let began = Instant::now();
    while shells.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
        assert!(began.elapsed() < Duration::from_secs(2), "its shell is left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn shells_below(pid: u32) -> Vec<u32> {
    crate::traces::children(pid)
}

#[tokio::test]
async fn a_kernel_that_wants_messages_is_interrupted_by_one() {
    let bed = Bed::new();
    let command =
        KernelCommand { interrupt_mode: InterruptMode::Message, ..KernelCommand::ipykernel(&python()) };
    let kernel = bed.start(command).await;
    for code in [
        "import time; print('go', flush=True); time.sleep(600)",
        "import asyncio; print('go', flush=True); await asyncio.sleep(600)",
    ] {
        let mut execution = kernel.begin(code).await;
        until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
        kernel.kernel.interrupt(execution.id).await.unwrap();
        assert!(rest(&mut execution).await.outcome().cancelled, "{code}");
    }
    kernel.end().await;
}

/// A kernel of another program: over TCP, as Jupyter does.
struct Foreign {
    child: Child,
    file: PathBuf,
    _scratch: Scratch,
}

impl Foreign {
    fn start() -> Foreign {
        let scratch = Scratch::new();
        let file = scratch.path().join("kernel-1.json");
        let child = Command::new(python())
            .args(["-m", "ipykernel_launcher", "-f"])
            .arg(&file)
            .env("IPYTHONDIR", scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let written = |file: &Path| {
            std::fs::read(file).is_ok_and(|json| serde_json::from_slice::<serde_json::Value>(&json).is_ok())
        };
        while !written(&file) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Foreign { child, file, _scratch: scratch }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn run(kernel: &dyn cellist_kernel::Kernel, code: &str) -> Ran {
    rest(&mut kernel.execute(cellist_kernel::Request::new(code)).await.unwrap()).await
}

#[tokio::test]
async fn a_running_kernel_is_joined_and_left_as_it_was() {
    let mut foreign = Foreign::start();
    let first = zmq::join(&foreign.file, None).await.unwrap().kernel;
    assert_eq!(first.identity().language, "python");
    assert_eq!(first.identity().pid, None);
    run(&*first, "x = 41").await;

    // Another one sees the same state, and that another client is at work.
    let second = zmq::join(&foreign.file, None).await.unwrap().kernel;
    assert_eq!(run(&*second, "x + 1").await.result(), Some("42"));
    let mut execution = first
        .execute(cellist_kernel::Request::new("import time; print('go', flush=True); time.sleep(600)"))
        .await
        .unwrap();
    until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
    match second.complete("pri", 3).await {
        Err(Error::NoAnswer { within }) => assert!(within <= Duration::from_millis(300), "{within:?}"),
        other => assert!(matches!(other, Err(Error::Busy)), "{other:?}"),
    }
    assert!(matches!(second.restart().await, Err(Error::Unsupported { .. })));
    first.interrupt(execution.id).await.unwrap();
    assert!(rest(&mut execution).await.outcome().cancelled);

    second.shutdown().await;
    assert!(matches!(*second.state().borrow(), State::Dead(_)));
    drop(second);
    assert_eq!(run(&*first, "x").await.result(), Some("41"));
    first.shutdown().await;
    drop(first);
    assert_eq!(foreign.child.try_wait().unwrap(), None);
    assert!(foreign.file.exists());
}

#[tokio::test]
async fn the_death_of_a_joined_kernel_is_noticed() {
    let mut foreign = Foreign::start();
    let kernel = zmq::join(&foreign.file, None).await.unwrap().kernel;
    let code = "import time; print('go', flush=True); time.sleep(600)";
    let mut execution = kernel.execute(cellist_kernel::Request::new(code)).await.unwrap();
    until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
    let began = Instant::now();
    foreign.child.kill().unwrap();
    assert_eq!(rest(&mut execution).await.0, [Event::Died(Death::Unknown)]);
    // Three missed beats would take longer.
    assert!(began.elapsed() < Duration::from_secs(12));
    assert_eq!(*kernel.state().borrow(), State::Dead(Death::Unknown));
}

#[tokio::test]
async fn what_cannot_be_joined_is_named() {
    let scratch = Scratch::new();
    let refusal = async |text: &str| {
        let file = scratch.write("kernel.json", text);
        zmq::join(&file, None).await.err().unwrap()
    };
    let error = refusal("{").await;
    assert!(error.to_string().contains("is not a connection file"), "{error}");
    let ports = r#""ip":"127.0.0.1","shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":5,"key":"k""#;
    let error = refusal(&format!("{{{ports},\"curve_publickey\":\"rq:rM\"}}")).await;
    assert!(error.to_string().contains("encrypted with CURVE"), "{error}");
    assert!(error.hint().is_some());
    let began = Instant::now();
    let error = refusal(&format!("{{{ports}}}")).await;
    assert!(matches!(error, Error::NoAnswer { .. }), "{error}");
    assert!(began.elapsed() < Duration::from_secs(10));
    let error = zmq::join(&scratch.path().join("none.json"), None).await.err().unwrap();
    assert!(error.to_string().contains("none.json cannot be read"), "{error}");
}
