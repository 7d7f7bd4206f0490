//! Code on each kind of server: the same events as anywhere.

use std::time::Duration;

use cellist_kernel::gateway::{Target, Wanted, Which};
use cellist_kernel::{Backend, Event, Module, Outcome, Request, State, Status};
use cellist_output::StreamName;
use testkit::{Flavour, Jupyter};

use super::bed::{Bed, at, kernels, target};
use crate::zmq::alike::widgets_work;
use crate::zmq::bed::{rest, until};

async fn code_runs_on(server: &Jupyter) {
    let bed = Bed::new();
    // An Enterprise Gateway needs a user name that is not root.
    let variables = vec![("KERNEL_USERNAME".to_owned(), "ann".to_owned())];
    let kernel = bed.start(Target { variables, ..target(&server.url()) }).await;
    let identity = kernel.kernel.identity();
    assert_eq!((identity.backend, identity.language.as_str()), (Backend::Gateway, "python"));
    assert_eq!(identity.name, "python3");
    assert!(kernel.notices.is_empty(), "{:?}", kernel.notices);
    let ran = kernel.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c é😀')\n6 * 7").await;
    let text = |name, text: &str| Event::Stream { name, bytes: text.to_owned().into(), late: false };
    assert_eq!(ran.0[0], Event::Started { execution_count: Some(1) });
    assert_eq!(ran.0[1], text(StreamName::Stdout, "a\n"));
    assert_eq!(ran.0[2], text(StreamName::Stderr, "b\n"));
    assert_eq!(ran.0[3], text(StreamName::Stdout, "c é😀\n"));
    assert_eq!(ran.result(), Some("42"));
    let done = Outcome { status: Status::Ok, execution_count: Some(1), cancelled: false };
    assert_eq!(ran.0[5], Event::Done(done));

    // It runs in its folder, with its variables, and nothing of ours is counted or left.
    let ran = kernel.run("import os\nos.getcwd(), os.environ['PI_MARK'], sys.path[0]").await;
    let cwd = bed.launch.cwd.canonicalize().unwrap();
    assert_eq!(ran.result(), Some(format!("('{0}', 'a value', '{0}')", cwd.display()).as_str()));
    assert_eq!(ran.outcome().execution_count, Some(2));

    // The history of the gateway's user gets none of it.
    assert_eq!(kernel.run("get_ipython().history_manager.enabled").await.result(), Some("False"));

    // Widgets work; the messages are no executions.
    kernel.kernel.restart().await.unwrap();
    widgets_work(&*kernel.kernel).await;

    // An interrupt reaches it, and its state stays.
    let mut sleeping = kernel.begin("x = 7\nprint('now', flush=True)\nimport time\ntime.sleep(300)").await;
    until(&mut sleeping, |event| matches!(event, Event::Stream { .. })).await;
    kernel.kernel.interrupt(sleeping.id).await.unwrap();
    let ran = rest(&mut sleeping).await;
    assert!(ran.outcome().cancelled, "{ran:?}");
    assert_eq!(kernel.run("x").await.result(), Some("7"));

    // A restart takes the state, and sets it up again.
    kernel.kernel.restart().await.unwrap();
    assert_eq!(*kernel.kernel.state().borrow(), State::Idle);
    assert_eq!(kernel.run("x").await.error().unwrap().0, "NameError");
    assert_eq!(
        kernel.run("import os; os.getcwd()").await.result(),
        Some(format!("'{}'", cwd.display()).as_str())
    );
    kernel.kernel.beat().await.unwrap();

    let [id] = bed.noted().try_into().unwrap();
    assert!(kernels(server).contains(&id));
    kernel.end().await;
    assert!(!kernels(server).contains(&id), "it is gone over there");
    assert!(bed.noted().is_empty());
}

#[tokio::test]
async fn code_runs_on_a_kernel_gateway() {
    code_runs_on(&Jupyter::shared(Flavour::KernelGateway)).await;
}

#[tokio::test]
async fn code_runs_on_a_jupyter_server() {
    code_runs_on(&Jupyter::shared(Flavour::JupyterServer)).await;
}

#[tokio::test]
async fn code_runs_on_an_enterprise_gateway() {
    code_runs_on(&Jupyter::shared(Flavour::EnterpriseGateway)).await;
}

#[tokio::test]
async fn a_server_that_speaks_json_alone_is_understood() {
    let old = "--ZMQChannelsWebsocketConnection.kernel_ws_protocol=";
    let server = Jupyter::start(Flavour::JupyterServer, &[old]);
    code_runs_on(&server).await;
}

#[tokio::test]
async fn nothing_is_lost_at_any_rate() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let bed = Bed::new();
    let kernel = bed.on(&server).await;
    let mut execution = kernel.begin("for number in range(100_000): print(number)").await;
    // A reader that pauses for a while loses nothing.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let ran = rest(&mut execution).await;
    let expected: String = (0..100_000).map(|number| format!("{number}\n")).collect();
    assert!(ran.stdout() == expected);
    let ran = kernel.run("for number in range(3000): display(number)").await;
    let displays = ran.0.iter().filter(|event| matches!(event, Event::Display { .. })).count();
    assert_eq!(displays, 3000);
    let ran = kernel.run("print('x' * 30_000_000)").await;
    assert_eq!(ran.stdout().len(), 30_000_001);
    kernel.end().await;
}

#[tokio::test]
async fn what_a_kernel_said_before_it_ended_itself_is_there() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let bed = Bed::new();
    let kernel = bed.on(&server).await;
    let ran = kernel.run("for number in range(1500): print(number)\nimport os; os._exit(3)").await;
    let expected: String = (0..1500).map(|number| format!("{number}\n")).collect();
    assert_eq!(ran.stdout(), expected);
    let last: Vec<&Event> = ran.0.iter().rev().take(2).collect();
    assert_eq!(last[0], &Event::Died(cellist_kernel::Death::Restarted));
    assert!(!matches!(last[1], Event::OutputLost), "{last:?}");
    assert!(matches!(*kernel.kernel.state().borrow(), State::Dead(_)));
    kernel.end().await;
}

#[tokio::test]
async fn input_is_refused_at_once() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let bed = Bed::new();
    let kernel = bed.on(&server).await;
    let ran = kernel.run("input('name? ')").await;
    assert!(ran.0.contains(&Event::InputRequested), "{ran:?}");
    assert_eq!(ran.status(), Status::Error);
    kernel.end().await;
}

#[tokio::test]
async fn a_folder_that_is_missing_over_there_is_said_and_modules_travel() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let mut bed = Bed::new();
    let module = bed.scratch.write("mine.py", "seven = 7\n");
    let broken = bed.scratch.write("broken.py", "1/0\n");
    bed.launch.modules =
        [("mine", module), ("broken", broken)].map(|(name, path)| Module { name: name.into(), path }).into();
    bed.launch.prelude = Some("eight = 8".into());
    bed.launch.cwd = bed.scratch.path().join("nowhere");
    let kernel = bed.on(&server).await;
    std::fs::remove_file(bed.scratch.path().join("mine.py")).unwrap();
    assert_eq!(kernel.notices.len(), 2, "{:?}", kernel.notices);
    assert!(kernel.notices[0].contains("nowhere") && kernel.notices[0].contains("it runs in"));
    assert!(kernel.notices[1].contains("module broken failed"), "{:?}", kernel.notices);
    assert_eq!(kernel.run("seven + eight").await.result(), Some("15"));
    kernel.end().await;
}

#[tokio::test]
async fn a_gateway_elsewhere_gets_variables_but_never_the_bridge_and_no_trace_shows_the_token() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let bed = Bed::new();
    let variables = vec![("KERNEL_MARK".to_owned(), "at launch".to_owned())];
    let kernel = bed.start(Target { variables, ..target(&server.url()) }).await;
    let given = [("PI_SESSION_FILE", "s"), ("PI_TOOL_BRIDGE_TOKEN", "t"), ("PI_TOOL_BRIDGE_URL", "u")];
    let variables = given.map(|(name, value)| (name.to_owned(), Some(value.to_owned()))).into();
    let code = "import os\n[os.environ.get(name) for name in \
        ('KERNEL_MARK', 'PI_SESSION_FILE', 'PI_TOOL_BRIDGE_TOKEN', 'PI_TOOL_BRIDGE_URL')]";
    let request = Request { variables, ..Request::new(code) };
    let ran = rest(&mut kernel.kernel.execute(request).await.unwrap()).await;
    assert_eq!(ran.result(), Some("['at launch', 's', None, None]"));
    kernel.end().await;
    let lines = bed.lines.lock().unwrap().join("\n");
    assert!(lines.contains("> shell") && lines.contains("< iopub"), "{lines}");
    assert!(!lines.contains(testkit::TOKEN) && !lines.contains("a value"), "{lines}");
}

#[tokio::test]
async fn a_kernel_that_was_joined_goes_on_when_we_leave() {
    let server = Jupyter::shared(Flavour::JupyterServer);
    let (bed, other) = (Bed::new(), Bed::new());
    let kernel = bed.on(&server).await;
    kernel.run("x = 41").await;
    let [id] = bed.noted().try_into().unwrap();
    let join = |which| Target { gateway: at(&server.url()), kernel: which, variables: Vec::new() };
    let joined = other.start(join(Which::Join(id))).await;
    assert!(joined.kernel.restart().await.is_err());
    assert_eq!(joined.run("x").await.result(), Some("41"));
    joined.end().await;
    assert_eq!(kernel.run("x + 1").await.result(), Some("42"), "it goes on");
    let refused = other.try_start(join(Which::Join("00000000-0000-0000-0000-000000000000".into()))).await;
    assert!(refused.err().unwrap().to_string().contains("has no kernel 0000"));

    // The kernel of a notebook that is open there.
    let notebook = server.root().join("sub/nb.ipynb");
    std::fs::create_dir_all(notebook.parent().unwrap()).unwrap();
    std::fs::write(&notebook, r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#)
        .unwrap();
    let body = r#"{"path": "sub/nb.ipynb", "type": "notebook", "name": "nb", "kernel": {"name": "python3"}}"#;
    let (status, said) = server.ask("POST", "/api/sessions", body);
    assert_eq!(status, 201, "{said}");
    let joined = other.start(join(Which::OfNotebook(notebook.clone()))).await;
    assert_eq!(joined.run("1 + 1").await.result(), Some("2"));
    joined.end().await;
    let missing = other.try_start(join(Which::OfNotebook("/elsewhere/x.ipynb".into()))).await;
    assert!(missing.err().unwrap().to_string().contains("has no kernel for /elsewhere/x.ipynb"));
    kernel.end().await;
}

#[tokio::test]
async fn kernels_whose_owner_was_killed_are_ended_by_the_next_one() {
    let server = Jupyter::start(Flavour::KernelGateway, &[]);
    let bed = Bed::new();
    let kernel = bed.on(&server).await;
    let [id] = bed.noted().try_into().unwrap();
    // A kill leaves the words, and lets go of the lock.
    let entry = bed.launch.runtime_dir.join("gateway-kernels").join(format!("{id}.json"));
    let words = std::fs::read(&entry).unwrap();
    kernel.end().await;
    assert!(!entry.exists());
    let (status, body) = server.ask("POST", "/api/kernels", "{}");
    assert_eq!(status, 201);
    let other = kernels(&server).pop().unwrap();
    let words = String::from_utf8(words).unwrap().replace(&id, &other);
    std::fs::write(entry.with_file_name(format!("{other}.json")), words).unwrap();
    let kernel = bed.on(&server).await;
    assert!(!kernels(&server).contains(&other), "{body}");
    assert_eq!(kernels(&server).len(), 1);
    kernel.end().await;
}

#[tokio::test]
async fn a_kernel_of_a_name_that_is_not_there_is_refused_with_those_that_are() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let wanted = Wanted { kernel: Some("julia".into()), is_named: true, language: None };
    let target = Target { kernel: Which::Start(wanted), ..target(&server.url()) };
    let refused = Bed::new().try_start(target).await.err().unwrap().to_string();
    assert!(
        refused.contains("no kernel named `julia`; it has: ") && refused.contains("python3"),
        "{refused}"
    );
}
