//! Traces that a run leaves as nbclient's runs leave them, on both ipykernels that people have.

use std::time::Duration;

use cellist_kernel::zmq::KernelCommand;
use cellist_kernel::{Event, Status};

use super::bed::{Bed, Ran, python};

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
