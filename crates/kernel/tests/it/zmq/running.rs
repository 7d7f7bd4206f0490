//! Code in a real ipykernel, and its events.

use std::time::{Duration, Instant};

use cellist_kernel::{Backend, Error, Event, Outcome, Request, State, Status};
use cellist_output::StreamName;

use super::bed::{Bed, LONG, Ran, Running, rest, until};

fn text(name: StreamName, text: &str) -> Event {
    Event::Stream { name, bytes: text.to_owned().into(), late: false }
}

fn done(status: Status, count: Option<u64>) -> Event {
    Event::Done(Outcome { status, execution_count: count, cancelled: false })
}

#[tokio::test]
async fn code_runs_and_is_heard_in_order() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let identity = kernel.kernel.identity();
    assert_eq!(identity.backend, Backend::Jupyter);
    assert_eq!((identity.name.as_str(), identity.language.as_str()), ("python3", "python"));
    assert!(identity.version.unwrap().starts_with("3."));
    assert_eq!(identity.language_info.unwrap()["file_extension"], ".py");

    let ran = kernel.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c é😀')\n6 * 7").await;
    assert_eq!(ran.0[0], Event::Started { execution_count: Some(1) });
    assert_eq!(ran.0[1], text(StreamName::Stdout, "a\n"));
    assert_eq!(ran.0[2], text(StreamName::Stderr, "b\n"));
    assert_eq!(ran.0[3], text(StreamName::Stdout, "c é😀\n"));
    assert!(matches!(&ran.0[4], Event::Result { execution_count: Some(1), .. }));
    assert_eq!(ran.result(), Some("42"));
    assert_eq!(ran.0[5], done(Status::Ok, Some(1)));

    let ran = kernel.run_hidden("x = 1; x").await;
    assert_eq!(ran.0, [Event::Started { execution_count: None }, done(Status::Ok, None)]);
    assert_eq!(kernel.run("x + 1").await.outcome().execution_count, Some(2));

    let ran = kernel.run("1/0").await;
    assert_eq!(ran.error(), Some(("ZeroDivisionError", "division by zero")));
    assert_eq!(ran.status(), Status::Error);
    assert!(!ran.outcome().cancelled);
    let ran = kernel.run_hidden("1/0").await;
    assert_eq!((ran.status(), ran.error().unwrap().0), (Status::Error, "ZeroDivisionError"));
    assert_eq!(*kernel.kernel.state().borrow(), State::Idle);
    kernel.end().await;
}

#[tokio::test]
async fn streams_in_turns_keep_their_turns_and_all_writers_are_heard() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let code = "import sys\nfor at in range(1000):\n    print(at)\n    print(-at, file=sys.stderr)";
    let ran = kernel.run(code).await;
    let mut turns = ran.0[1..].iter();
    for at in 0..1000 {
        assert_eq!(turns.next(), Some(&text(StreamName::Stdout, &format!("{at}\n"))));
        assert_eq!(turns.next(), Some(&text(StreamName::Stderr, &format!("{}\n", -at))));
    }

    // Output of other processes is in its place, too, down to the last of it.
    let code = "import os, subprocess\nprint('a')\nos.write(1, 'é'.encode() * 5001 + b'\\n')\nprint('b')\n\
        subprocess.run(['sh', '-c', 'echo c; echo d >&2'])\ndisplay('e')\nos.write(2, b'f\\n')\n\
        print('g', file=sys.stderr)\nos.write(1, b'h\\n');";
    for _ in 0..20 {
        let ran = kernel.run(code).await;
        let streams = |name, written: &str| text(name, written);
        assert_eq!(ran.0[1], streams(StreamName::Stdout, &format!("a\n{}\nb\nc\n", "é".repeat(5001))));
        assert_eq!(ran.0[2], streams(StreamName::Stderr, "d\n"));
        assert!(matches!(&ran.0[3], Event::Display { .. }), "{:?}", &ran.0[2..]);
        assert_eq!(ran.0[4], streams(StreamName::Stderr, "f\ng\n"));
        assert_eq!(ran.0[5], streams(StreamName::Stdout, "h\n"));
        assert_eq!(ran.0.len(), 7);
    }
    let ran = kernel.run("os.write(1, b'before')\n1/0").await;
    assert!(matches!(ran.0[1..3], [Event::Stream { .. }, Event::Error { .. }]), "{ran:?}");
    kernel.end().await;
}

#[tokio::test]
async fn children_that_are_forked_or_spawned_are_heard_and_can_end() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let code = "import multiprocessing, os, threading\n\
        def work(): print('child', flush=True); os.write(1, b'raw\\n')\n\
        for _ in range(10):\n    p = multiprocessing.get_context('fork').Process(target=work); p.start(); p.join()\n\
        print('end')";
    let ran = kernel.run(code).await;
    let heard = ran.stdout();
    assert_eq!(heard.matches("raw\n").count(), 10, "{heard}");
    assert_eq!(heard.matches("child\n").count(), 10, "{heard}");
    // Each child's lines are where it ended, and its parent's unsent output at the fork comes once.
    let code = "fork = multiprocessing.get_context('fork')\n\
        def say(number): print('child', number); print('and', number, end='')\n\
        for number in range(50):\n    print('before', number)\n    \
        p = fork.Process(target=say, args=(number,)); p.start(); p.join(); print('', p.exitcode)\n\
        p.exitcode";
    let ran = kernel.run(code).await;
    let expected = |number| format!("before {number}\nchild {number}\nand {number} 0\n");
    assert_eq!(ran.stdout(), (0..50).map(expected).collect::<String>());
    assert!(matches!(ran.0[ran.0.len() - 2], Event::Result { .. }), "{ran:?}");
    let ran = kernel.run("t = threading.Thread(target=lambda: print('thread'))\nt.start(); t.join()").await;
    assert_eq!(ran.stdout(), "thread\n");
    kernel.run("pid = os.fork()\nif pid == 0: os._exit(3)\nassert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3").await;
    assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
    kernel.end().await;
}

#[tokio::test]
async fn any_name_may_be_given_another_meaning() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let code = "import os, sys\n\
        all = any = open = len = reversed = hasattr = exec = None\n\
        os.write(1, b'a\\n')\nprint('b')\nprint('c', file=sys.stderr)\n\
        pid = os.fork()\nif pid == 0: print('d'); os._exit(0)\nos.waitpid(pid, 0)[1]";
    let ran = kernel.run(code).await;
    assert_eq!((ran.stdout().as_str(), ran.result()), ("a\nb\nd\n", Some("0")));
    assert_eq!(kernel.run("[name for name in globals() if 'cellist' in name]").await.result(), Some("[]"));
    kernel.end().await;
}

#[tokio::test]
async fn c_code_that_holds_the_interpreter_lock_can_write_much() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let code =
        "import ctypes\nlibc = ctypes.PyDLL(None)\ntext = b'x' * 200_000\nlibc.write(1, text, len(text))";
    assert_eq!(kernel.run(code).await.stdout().len(), 200_000);
    kernel.end().await;
}

#[tokio::test]
async fn displays_are_shown_updated_and_cleared() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let ran = kernel
        .run(
            "from IPython.display import display, clear_output, HTML, Markdown\n\
             shown = display('one', display_id='d1')\n\
             display(HTML('<b>x</b>'), metadata={'text/html': {'isolated': True}})\n\
             shown.update('two')\n\
             clear_output(wait=True)\n\
             clear_output()\n\
             display({'application/json': {'b': 1e0, 'a': [1]}}, raw=True)\n\
             Markdown('# t')",
        )
        .await;
    let Event::Display { data, display_id, .. } = &ran.0[1] else { panic!("{ran:?}") };
    assert_eq!((data.get_text("text/plain"), display_id.as_deref()), (Some("'one'"), Some("d1")));
    let Event::Display { data, metadata, display_id } = &ran.0[2] else { panic!("{ran:?}") };
    assert_eq!((data.get_text("text/html"), display_id), (Some("<b>x</b>"), &None));
    assert_eq!(metadata.get(), r#"{"text/html": {"isolated": true}}"#);
    let Event::UpdateDisplay { data, display_id, .. } = &ran.0[3] else { panic!("{ran:?}") };
    assert_eq!((data.get_text("text/plain"), display_id.as_str()), (Some("'two'"), "d1"));
    assert_eq!(ran.0[4..6], [Event::ClearOutput { wait: true }, Event::ClearOutput { wait: false }]);
    let Event::Display { data, .. } = &ran.0[6] else { panic!("{ran:?}") };
    assert_eq!(serde_json::to_string(data).unwrap(), r#"{"application/json":{"b": 1.0, "a": [1]}}"#);
    assert!(matches!(&ran.0[7], Event::Result { data, .. } if data.get_text("text/markdown") == Some("# t")));

    let later = kernel.run("shown.update('three')").await;
    assert!(matches!(&later.0[1], Event::UpdateDisplay { display_id, .. } if display_id == "d1"));
    kernel.end().await;
}

async fn interrupted(kernel: &Running, code: &str) -> Ran {
    let mut execution = kernel.begin(code).await;
    until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
    let began = Instant::now();
    kernel.kernel.interrupt(execution.id).await.unwrap();
    let ran = rest(&mut execution).await;
    assert!(began.elapsed() < LONG / 2, "{code}");
    ran
}

#[tokio::test]
async fn an_interrupt_ends_the_cell_and_keeps_the_state() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    kernel.run("x = 5").await;
    for code in [
        "import time; print('go', flush=True); time.sleep(600)",
        "print('go', flush=True)\nwhile True: pass",
        "import asyncio; print('go', flush=True); await asyncio.sleep(600)",
        "import subprocess; print('go', flush=True); subprocess.run(['sleep', '600'])",
    ] {
        let ran = interrupted(&kernel, code).await;
        assert!(ran.outcome().cancelled, "{code}: {ran:?}");
        assert_eq!(ran.status(), Status::Error);
    }
    // An error of its own is not the interrupt's.
    let ran = interrupted(
        &kernel,
        "import time\nprint('go', flush=True)\ntry: time.sleep(600)\nexcept KeyboardInterrupt: 1/0",
    )
    .await;
    assert_eq!((ran.status(), ran.outcome().cancelled), (Status::Error, false));
    let ran = interrupted(
        &kernel,
        "import time\nprint('go', flush=True)\ntry: time.sleep(600)\nexcept KeyboardInterrupt: pass",
    )
    .await;
    assert_eq!((ran.status(), ran.outcome().cancelled), (Status::Ok, false));
    // At once, before the kernel has begun.
    let mut execution = kernel.begin("import time; time.sleep(600)").await;
    kernel.kernel.interrupt(execution.id).await.unwrap();
    assert!(rest(&mut execution).await.outcome().cancelled);
    // Between cells it does nothing.
    kernel.kernel.interrupt(execution.id).await.unwrap();
    assert_eq!(kernel.run("x").await.result(), Some("5"));
    kernel.end().await;
}

#[tokio::test]
async fn nobody_is_asked_for_input() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let ran = kernel.run("name = input('who? ')").await;
    assert!(ran.0.contains(&Event::InputRequested), "{ran:?}");
    assert_eq!(ran.error().unwrap().0, "StdinNotImplementedError");
    // A program that asks behind the kernel's back gets an empty line.
    let ran = kernel.run("get_ipython().kernel._allow_stdin = True\n[input('who? ')]").await;
    assert!(ran.0.contains(&Event::InputRequested), "{ran:?}");
    assert_eq!(ran.result(), Some("['']"));
    kernel.end().await;
}

#[tokio::test]
async fn a_thread_s_output_goes_to_the_cell_that_runs_or_comes_late() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    kernel
        .run(
            "import os, threading, time\ngo = threading.Event(); gone = threading.Event()\n\
             def work():\n    go.wait(); print('beside', flush=True); gone.set()\n    time.sleep(0.2)\n    \
             print('after', flush=True); open('done', 'w').close()\n\
             threading.Thread(target=work).start()",
        )
        .await;
    let ran = kernel.run("go.set(); gone.wait(); print('mine')").await;
    assert_eq!(ran.stdout(), "beside\nmine\n");
    while !bed.launch.cwd.join("done").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    kernel.run_hidden("x = 1").await;
    let ran = kernel.run("1").await;
    assert_eq!(ran.0[0], Event::Started { execution_count: Some(3) });
    let late = Event::Stream { name: StreamName::Stdout, bytes: "after\n".into(), late: true };
    assert_eq!(ran.0[1], late);
    kernel.end().await;
}

#[tokio::test]
async fn variables_are_set_before_the_code_that_they_come_with() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let run = async |variables: Vec<(String, Option<String>)>| {
        let request =
            Request { variables, ..Request::new("import os; (os.environ.get('A'), os.environ.get('B'))") };
        rest(&mut kernel.kernel.execute(request).await.unwrap()).await.result().unwrap().to_owned()
    };
    let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
    assert_eq!(run(vec![set("A", "it's \"1\""), set("B", "2")]).await, r#"('it\'s "1"', '2')"#);
    assert_eq!(run(vec![set("A", "3"), ("B".into(), None)]).await, "('3', None)");
    assert_eq!(run(vec![]).await, "('3', None)");
    assert_eq!(kernel.run("1").await.outcome().execution_count, Some(4));
    kernel.end().await;
}

#[tokio::test]
async fn one_piece_of_code_runs_at_a_time() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let mut execution = kernel.begin("import time; time.sleep(600)").await;
    assert_eq!(*kernel.kernel.state().borrow(), State::Busy(execution.id));
    assert!(matches!(kernel.kernel.execute(Request::new("1")).await, Err(Error::Busy)));
    kernel.kernel.interrupt(execution.id).await.unwrap();
    rest(&mut execution).await;
    // A reader that goes away does not stop the code.
    drop(kernel.begin("done = 1\nfor _ in range(2000): print('x' * 1000, flush=True)\ndone = 2").await);
    let mut state = kernel.kernel.state();
    state.wait_for(|state| *state == State::Idle).await.unwrap();
    assert_eq!(kernel.run("done").await.result(), Some("2"));
    kernel.end().await;
}

#[tokio::test]
async fn widgets_do_no_harm_and_bars_tell_how_far_they_are() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let ran = kernel
        .run(
            "from tqdm.notebook import tqdm\nimport time, ipywidgets\n\
             slider = ipywidgets.IntSlider()\nslider.value = 3\n\
             for _ in tqdm(range(20), desc='load', mininterval=0): time.sleep(0.001)",
        )
        .await;
    assert_eq!(ran.status(), Status::Ok, "{ran:?}");
    let progress: Vec<_> = ran
        .0
        .iter()
        .filter_map(|event| match event {
            Event::Progress { label, done, total } => Some((label.as_str(), *done, *total)),
            _ => None,
        })
        .collect();
    assert_eq!(progress.last(), Some(&("load", 20.0, Some(20.0))), "{ran:?}");
    assert!(progress.len() > 5);

    let ran = kernel.run("for _ in tqdm((n for n in range(50)), mininterval=0): time.sleep(0.001)").await;
    let last = ran.0.iter().rfind(|event| matches!(event, Event::Progress { .. }));
    assert_eq!(last, Some(&Event::Progress { label: String::new(), done: 50.0, total: None }));
    kernel.end().await;
}
