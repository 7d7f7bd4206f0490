//! Traces that a run leaves as nbclient's runs leave them, on both ipykernels that people have.

use std::time::Duration;

use cellist_kernel::zmq::KernelCommand;
use cellist_kernel::{CommKind, CommMessage, Event, Kernel, Request, Status};
use cellist_output::RawJson;

use super::bed::{Bed, Ran, python, rest};

/// ipykernel 7 and 6.
fn pythons() -> [std::path::PathBuf; 2] {
    [python(), testkit::python("kernels-6")]
}

#[tokio::test]
async fn code_that_we_run_stays_out_of_the_users_history() {
    for python in pythons() {
        let bed = Bed::new();
        let kernel = bed.start(KernelCommand::ipykernel(&python)).await;
        let ran = kernel.run("kept_by_nobody = 1\nstr(get_ipython().history_manager.hist_file)").await;
        assert_eq!(ran.result(), Some("':memory:'"));
        let ran = kernel.run("list(get_ipython().history_manager.get_range())[0][2][:4]").await;
        assert_eq!(ran.result(), Some("'kept'"));
        kernel.end().await;
        let history = bed.scratch.path().join("ipython/profile_default/history.sqlite");
        assert!(!history.exists());
    }
}

#[tokio::test]
async fn a_kernelspec_that_names_a_history_keeps_it() {
    let bed = Bed::new();
    let history = bed.scratch.path().join("mine.sqlite");
    let mut command = KernelCommand::ipykernel(&python());
    command.argv.push(format!("--HistoryManager.hist_file={}", history.display()).into());
    let kernel = bed.start(command).await;
    assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
    kernel.end().await;
    assert!(history.exists());
}

#[tokio::test]
async fn an_exception_that_a_handler_of_the_user_takes_is_no_error_output() {
    let failure = |ran: &Ran| {
        let failures = ran.0.iter().filter(|event| matches!(event, Event::Failure { .. }));
        failures.count()
    };
    for python in pythons() {
        let bed = Bed::new();
        let kernel = bed.start(KernelCommand::ipykernel(&python)).await;
        let handler = "def quiet(shell, kind, error, traceback, tb_offset=None):\n    print('handled', kind.__name__)\n\n\
            get_ipython().set_custom_exc((ZeroDivisionError,), quiet)";
        assert_eq!(kernel.run(handler).await.status(), Status::Ok);
        let ran = kernel.run("1 / 0").await;
        assert_eq!((ran.stdout().as_str(), ran.error()), ("handled ZeroDivisionError\n", None));
        assert_eq!((ran.status(), failure(&ran)), (Status::Error, 1));
        // Others are shown as ever, once.
        let ran = kernel.run("nothing").await;
        assert_eq!(ran.error().map(|(name, _)| name), Some("NameError"));
        assert_eq!((ran.status(), failure(&ran)), (Status::Error, 0));
        kernel.end().await;
    }
}

#[tokio::test]
async fn a_python_that_binds_only_ports_gets_ports() {
    let mut bed = Bed::new();
    bed.launch.startup_timeout = Duration::from_secs(20);
    for otherwise in ["sys.exit(1)", "time.sleep(600)"] {
        let source = format!(
            "import json, sys, time\n\
             if json.load(open(sys.argv[2]))['transport'] != 'tcp':\n    {otherwise}\n\
             from ipykernel import kernelapp\nkernelapp.launch_new_instance()\n"
        );
        let path = bed.scratch.write("kernel.py", source);
        let argv = vec![python().into(), path.into(), "-f".into(), "{connection_file}".into()];
        let kernel = bed.start(KernelCommand { argv, ..KernelCommand::ipykernel(&python()) }).await;
        assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
        kernel.end().await;
    }
}

/// A slider with a handler, and a picture.
const WIDGETS: &str = "import ipywidgets as w\nslider = w.IntSlider(value=3)\n\
    slider.observe(lambda change: print('now', change['new']), 'value')\n\
    image = w.Image(value=b'\\x00\\xff', format='png')";

/// The messages to widgets.
fn comms(ran: &Ran) -> Vec<&CommMessage> {
    let mut messages = Vec::new();
    for event in &ran.0 {
        if let Event::Comm(message) = event {
            messages.push(&**message);
        }
    }
    messages
}

/// Messages come with their buffers, and an answer reaches the handlers of the program.
pub(crate) async fn widgets_work(kernel: &dyn Kernel) {
    let run = async |code: &str| rest(&mut kernel.execute(Request::new(code)).await.unwrap()).await;
    let ran = run(WIDGETS).await;
    assert_eq!(ran.status(), Status::Ok, "{ran:?}");
    let model = |name: &str| {
        let is_it = |message: &CommMessage| message.data.get().contains(name);
        comms(&ran).into_iter().find(|message| is_it(message)).unwrap()
    };
    let (slider, image) = (model("\"IntSliderModel\""), model("\"ImageModel\""));
    assert_eq!((slider.kind, slider.target.as_deref()), (CommKind::Open, Some("jupyter.widget")));
    assert_eq!((slider.late, slider.metadata.get().contains("version")), (false, true));
    assert_eq!(image.buffers, [&[0, 0xff][..]]);

    let data = RawJson::new(r#"{"method": "update", "state": {"value": 8}, "buffer_paths": []}"#).unwrap();
    let update = CommMessage { kind: CommKind::Message, target: None, data, ..slider.clone() };
    let mut execution = kernel.comm(update).await.unwrap();
    let answered = rest(&mut execution).await;
    assert_eq!((answered.stdout().as_str(), answered.outcome().execution_count), ("now 8\n", None));
    assert_eq!(answered.status(), Status::Ok);

    let data = r#"{"method": "update", "state": {}, "buffer_paths": [["value"]]}"#;
    let (data, buffers) = (RawJson::new(data).unwrap(), vec![vec![7, 8].into()]);
    let update = CommMessage { kind: CommKind::Message, target: None, data, buffers, ..image.clone() };
    rest(&mut kernel.comm(update).await.unwrap()).await;
    // Neither message counts as an execution.
    let ran = run("slider.value, bytes(image.value)").await;
    assert_eq!((ran.result(), ran.outcome().execution_count), (Some(r"(8, b'\x07\x08')"), Some(2)));
    let ran = run("slider.close()").await;
    assert_eq!(comms(&ran).iter().map(|message| message.kind).collect::<Vec<_>>(), [CommKind::Close]);
}

#[tokio::test]
async fn messages_to_widgets_and_back_keep_their_buffers() {
    for python in pythons() {
        let bed = Bed::new();
        let kernel = bed.start(KernelCommand::ipykernel(&python)).await;
        widgets_work(&*kernel.kernel).await;
        kernel.end().await;
    }
}
