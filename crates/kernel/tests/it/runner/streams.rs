//! Printed text, in the order in which it was printed.

use cellist_kernel::{Event, Request};
use cellist_output::StreamName;
use testkit::until;

use super::bed::{Bed, LONG, all, until_printed};

#[tokio::test]
async fn both_streams_and_displays_come_in_the_order_in_which_they_were_made() {
    let session = Bed::new().start().await;
    let code = "
import sys
for i in range(3):
    print('out', i)
    print('err', i, file=sys.stderr)
    display(i)
print('a', end='')
print('b', end='', file=sys.stderr)
print('c', end='')
display('d')
print('e', end='')
'f'";
    session
        .check(&[(
            code,
            "stdout out 0\\n\nstderr err 0\\n\ndisplay text/plain=0\n\
             stdout out 1\\n\nstderr err 1\\n\ndisplay text/plain=1\n\
             stdout out 2\\n\nstderr err 2\\n\ndisplay text/plain=2\n\
             stdout a\nstderr b\nstdout c\ndisplay text/plain='d'\nstdout e\nresult text/plain='f'",
        )])
        .await;
    session.end().await;
}

#[tokio::test]
async fn text_of_c_code_and_of_children_stands_where_it_was_written() {
    let session = Bed::new().start().await;
    let code = "
import ctypes, os, subprocess, sys
c = ctypes.CDLL(None)
print('python 1')
os.write(1, b'system call\\n')
print('python 2', file=sys.stderr)
subprocess.run('echo child; echo child error >&2', shell=True)
print('python 3', file=sys.stderr)
os.system('echo system')
print('python 4')
n = c.puts(b'c at the end')
";
    session
        .check(&[
            (
                code,
                "stdout python 1\\nsystem call\\n\nstderr python 2\\n\nstdout child\\n\nstderr child error\\npython 3\\n\n\
                 stdout system\\npython 4\\nc at the end\\n",
            ),
            ("print('next')", r"stdout next\n"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn buffers_of_c_code_are_emptied_at_the_end_of_the_cell_that_filled_them() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("import ctypes\nc = ctypes.CDLL(None)", ""),
            ("c.printf(b'%d apples', 3);", "stdout 3 apples"),
            ("1", "result text/plain=1"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn two_hundred_kilobytes_written_by_c_code_that_holds_the_lock_do_not_hang() {
    let session = Bed::new().start().await;
    // PyDLL keeps Python's lock during the call.
    let code = "
import ctypes
c = ctypes.PyDLL(None)
text = b'x' * 200_000
for number in (1, 2):
    c.write(number, text, len(text))
";
    let heard = session.run(code).await;
    assert_eq!((heard.stdout().len(), heard.stderr().len()), (200_000, 200_000));
    // The same while another thread turns from one stream to the other all the time.
    let code = "
import sys, threading
stop = threading.Event()
def chatter():
    while not stop.is_set():
        print('o', flush=True)
        print('e', file=sys.stderr, flush=True)
thread = threading.Thread(target=chatter)
thread.start()
for _ in range(20):
    for number in (1, 2):
        written = 0
        while written < len(text):
            written += c.write(number, text[written:], len(text) - written)
stop.set()
thread.join()
";
    let heard = session.run(code).await;
    assert!(heard.is_ok(), "{:?}", heard.error());
    assert_eq!(heard.stdout().matches('x').count(), 20 * 200_000);
    assert_eq!(heard.stderr().matches('x').count(), 20 * 200_000);
    session.end().await;
}

#[tokio::test]
async fn a_child_that_keeps_the_pipes_open_does_not_delay_the_end_of_the_cell() {
    let session = Bed::new().start().await;
    let code = "
import subprocess
child = subprocess.Popen(['sleep', '600'])
print('started')
";
    session.check(&[(code, r"stdout started\n"), ("child.poll() is None", "result text/plain=True")]).await;
    session.end().await;
}

#[tokio::test]
async fn text_of_a_thread_of_an_earlier_cell_is_late_while_another_runs_and_between_cells() {
    let session = Bed::new().start().await;
    let code = "
import threading
go, said = threading.Event(), threading.Event()
def later():
    go.wait()
    print('from the thread')
    said.set()
thread = threading.Thread(target=later)
thread.start()
";
    session
        .check(&[
            (code, ""),
            ("print('cell')\ngo.set()\nsaid.wait();", "stdout cell\\n\nstdout late from the thread\\n"),
            ("go.clear(); said.clear()\nthread = threading.Timer(0.05, later)\ngo.set()\nthread.start()", ""),
        ])
        .await;
    // It prints when it likes; its text is late unless the next cell has begun.
    let heard = session.run("said.wait();").await;
    assert_eq!(heard.stdout(), "from the thread\n");
    session.end().await;
}

#[tokio::test]
async fn late_text_is_the_first_that_the_next_execution_hears() {
    let session = Bed::new().start().await;
    let code = "
import os, threading
def later():
    os.read(reader, 1)
    print('late')
    open('said', 'w').close()
reader, writer = os.pipe()
thread = threading.Thread(target=later)
thread.start()
go = threading.Timer(0.2, os.write, (writer, b'x'))
go.start()
";
    session.check(&[(code, "")]).await;
    let said = session.bed.launch.cwd.join("said");
    until(|| said.exists()).await;
    session.check(&[("print('mine')", "stdout late late\\n\nstdout mine\\n")]).await;
    session.end().await;
}

#[tokio::test]
async fn a_billion_characters_come_in_pieces_and_none_is_lost() {
    let session = Bed::new().start().await;
    let mut execution = session.kernel.execute(Request::new("print('x' * 10**9)")).await.unwrap();
    let (mut total, mut largest) = (0, 0);
    while let Some(event) = tokio::time::timeout(LONG, execution.events.recv()).await.unwrap() {
        if let Event::Stream { bytes, .. } = event {
            total += bytes.len();
            largest = largest.max(bytes.len());
        }
    }
    assert_eq!(total, 1_000_000_001);
    assert!(largest <= 128 * 1024, "{largest}");
    session.end().await;
}

#[tokio::test]
async fn a_reader_that_waits_makes_the_program_wait_and_loses_nothing() {
    let session = Bed::new().start().await;
    let code = "
for i in range(40_000):
    print('%07d' % i, 'x' * 1000)
open('finished', 'w').close()
";
    let mut execution = session.kernel.execute(Request::new(code)).await.unwrap();
    let mut events = until_printed(&mut execution, "0001000").await;
    // The buffer between the two is far smaller than the program's output.
    assert!(!session.bed.launch.cwd.join("finished").exists());
    events.extend(all(execution).await);
    let said = super::bed::Heard(events).stdout();
    let numbers: Vec<usize> = said.lines().map(|line| line[..7].parse().unwrap()).collect();
    assert_eq!(numbers, (0..40_000).collect::<Vec<_>>());
    assert!(said.lines().all(|line| line.len() == 1008));
    session.end().await;
}

#[tokio::test]
async fn a_display_of_twenty_megabytes_comes_whole_and_a_monstrous_one_is_refused() {
    let session = Bed::new().start().await;
    let heard = session.run("display({'text/plain': 'x' * 20_000_000}, raw=True)").await;
    let Some(Event::Display { data, .. }) = heard.0.get(1) else { panic!("no display: {:?}", heard.0.len()) };
    assert_eq!(data.get_text("text/plain").map(str::len), Some(20_000_000));
    let heard = session.run("display({'text/plain': 'x' * 300_000_000}, raw=True)").await;
    let (name, message, _) = heard.error().unwrap();
    assert_eq!(name, "ValueError");
    assert!(
        message.starts_with("a display of 3000000") && message.ends_with("the limit is 268435456 bytes"),
        "{message}"
    );
    session.end().await;
}

#[tokio::test]
async fn many_small_displays_all_come_in_order() {
    let session = Bed::new().start().await;
    let code = "
for i in range(5000):
    print(i)
    display(i)
";
    let heard = session.run(code).await;
    let mut expected = (0..5000).map(|number| number.to_string());
    let mut shown = heard.0.iter().filter_map(|event| match event {
        Event::Display { data, .. } => data.get_text("text/plain"),
        _ => None,
    });
    assert!(shown.all(|text| Some(text.to_owned()) == expected.next()));
    assert_eq!(expected.next(), None);
    session.end().await;
}

#[tokio::test]
async fn streams_are_what_programs_expect_of_them() {
    let session = Bed::new().start().await;
    session
        .check(&[
            (
                "import sys\nsys.stdout.fileno(), sys.stderr.fileno(), sys.stdout.isatty(), sys.stdout.encoding, sys.stdout.name",
                "result text/plain=(1, 2, False, 'utf-8', '<stdout>')",
            ),
            ("sys.stdout.buffer.write(b'bytes\\n');", r"stdout bytes\n"),
            ("print('x', file=sys.__stdout__)", r"stdout x\n"),
            ("sys.stdout.close()\nprint('still here')", r"stdout still here\n"),
            ("import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f: print('kept')\nf.getvalue()", r"result text/plain='kept\n'"),
            ("import os\nsaved = os.dup(1)\nn = os.open('log', os.O_CREAT | os.O_WRONLY)\nos.dup2(n, 1)\nos.system('echo hidden')\nos.dup2(saved, 1)\nprint(open('log').read())", r"stdout hidden\n\n"),
            ("print('a\\rb', end='')", r"stdout a\rb"),
            ("import warnings\nwarnings.warn('careful')", r"stderr <cell 8>:2: UserWarning: careful\n  warnings.warn('careful')\n"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_child_that_makes_the_pipe_non_blocking_harms_nothing() {
    let session = Bed::new().start().await;
    let code = "
import os
os.set_blocking(1, False)
os.set_blocking(2, False)
for i in range(20_000):
    print('x' * 100)
display('end')
";
    let heard = session.run(code).await;
    assert_eq!(heard.stdout().len(), 20_000 * 101);
    assert!(heard.is_ok(), "{:?}", heard.error());
    session.end().await;
}

#[tokio::test]
async fn a_signal_handler_may_print_display_and_raise_at_any_moment() {
    let session = Bed::new().start().await;
    let code = "
import signal, sys, time
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
    print('tick', file=sys.stderr)
    display('tick')
    if ticks % 3 == 0:
        raise KeyError('tick')
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
end = time.monotonic() + 0.2
while time.monotonic() < end:
    try:
        print('o')
        display(1)
    except (RuntimeError, KeyError):
        # Python's own buffers refuse to be used twice at once.
        pass
";
    for _ in 0..5 {
        // It fails or does not, as it happens, but it ends. So does the cell that has to stop the timer.
        session.run(code).await;
        while !session.run("signal.setitimer(signal.ITIMER_REAL, 0);").await.is_ok() {}
        let heard = session.run("print('o')\nprint('e', file=sys.stderr)\n3").await;
        assert!(heard.to_string().ends_with("stdout o\\n\nstderr e\\n\nresult text/plain=3"), "{heard}");
    }
    // One that raises when no cell runs has nobody to tell, and ends nothing.
    let code = "
def alarm(*_):
    open('rang', 'w').close()
    raise TimeoutError('too late')
signal.signal(signal.SIGALRM, alarm)
signal.setitimer(signal.ITIMER_REAL, 0.05);
";
    session.check(&[(code, "")]).await;
    until(|| session.bed.launch.cwd.join("rang").exists()).await;
    let heard = session.run("1").await;
    assert_eq!(heard.result(), Some("1"));
    assert!(heard.stderr().contains("TimeoutError: too late"), "{heard}");
    session.end().await;
}

#[tokio::test]
async fn bytes_that_begin_like_a_mark_come_through() {
    let session = Bed::new().start().await;
    let heard = session.run("import os\nos.write(1, b'a\\0b\\0')\nprint('c', end='\\0')").await;
    assert_eq!(heard.stdout(), "a\0b\0c\0");
    assert_eq!(
        heard
            .0
            .iter()
            .filter(|event| matches!(event, Event::Stream { name: StreamName::Stderr, .. }))
            .count(),
        0
    );
    session.end().await;
}

#[tokio::test]
async fn what_comes_after_the_value_of_a_cell_is_heard_after_it() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("print('before')\n1", "stdout before\\n\nresult text/plain=1"),
            (
                "import sys\nshow = sys.displayhook\ndef both(value):\n    show(value)\n    print('behind', end='')\nsys.displayhook = both\n2",
                "result text/plain=2\nstdout behind",
            ),
            ("sys.displayhook = show\n3", "result text/plain=3"),
            (
                "def hook(*_): print('hook'); sys.stderr.write('end')\nget_ipython().events.register('post_run_cell', hook)\n4",
                "result text/plain=4\nstdout hook\\n\nstderr end",
            ),
            ("get_ipython().events.unregister('post_run_cell', hook)\n5", "result text/plain=5"),
            (
                "import subprocess\nclass Shell:\n    def __repr__(self): return 'shell'\n    def __del__(self): subprocess.run(['echo', 'child'])\nsys.displayhook = lambda value: show(str(value))\nShell()",
                "result text/plain='shell'\nstdout child\\n",
            ),
        ])
        .await;
    session.end().await;
}
