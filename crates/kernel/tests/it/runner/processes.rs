//! Forks, children, and the ends of processes.

use cellist_kernel::{Death, Event, Request, State};

use super::bed::{Bed, all};
use crate::traces::until_gone;

#[tokio::test]
async fn multiprocessing_works_with_fork_and_with_spawn() {
    let bed = Bed::new();
    bed.file("work.py", "def double(x):\n    print('working', x, flush=True)\n    return 2 * x\n");
    let session = bed.start().await;
    let code = "
import multiprocessing, work
def triple(x): return 3 * x
with multiprocessing.get_context('fork').Pool(2) as pool:
    print(pool.map(triple, [1, 2]))
for method in ('fork', 'spawn'):
    with multiprocessing.get_context(method).Pool(1) as pool:
        print(method, pool.map(work.double, [1, 2]))
";
    let heard = session.run(code).await;
    let said = heard.stdout();
    assert!(heard.is_ok(), "{heard}");
    for line in ["[3, 6]", "fork [2, 4]", "spawn [2, 4]", "working 1", "working 2"] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
    assert_eq!(heard.stderr(), "");
    session.end().await;
}

#[tokio::test]
async fn a_forked_child_prints_and_says_nothing_else() {
    let session = Bed::new().start().await;
    let code = "
import os, warnings
warnings.simplefilter('ignore', DeprecationWarning)
print('half', end='')
pid = os.fork()
if pid == 0:
    print(' child')
    display('from the child')
    os._exit(0)
os.waitpid(pid, 0)
print(' parent')
";
    session.check(&[(code, r"stdout half child\n'from the child'\n parent\n")]).await;
    // A child that falls out of the cell ends there, and an error in it is only printed.
    let code = "
pid = os.fork()
if pid == 0:
    x = 'child'
else:
    print(os.waitpid(pid, 0)[1])
";
    session.check(&[(code, r"stdout 0\n"), ("x", "error NameError: name 'x' is not defined\nfailed")]).await;
    let heard = session.run("pid = os.fork()\nif pid == 0:\n    1 / 0\nprint(os.waitpid(pid, 0)[1])").await;
    assert_eq!(heard.stdout(), "256\n");
    assert!(heard.stderr().contains("ZeroDivisionError") && heard.is_ok(), "{heard}");
    session.end().await;
}

#[tokio::test]
async fn a_forked_child_has_no_hold_on_the_protocol() {
    let session = Bed::new().start().await;
    let code = "
import os, warnings
warnings.simplefilter('ignore', DeprecationWarning)
def listing():
    return sorted(os.readlink('/proc/self/fd/' + n) for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n))
mine = listing()
r, w = os.pipe()
if os.fork() == 0:
    os.close(r)
    os.write(w, repr(len(set(listing()) - {os.readlink('/proc/self/fd/%d' % w)})).encode())
    os._exit(0)
os.close(w)
before = len(set(mine))
child = int(os.read(r, 100))
os.wait()
before - child";
    session.check(&[(code, "result text/plain=2")]).await;
    session.check(&[("import subprocess\nsubprocess.run(['ls', '/proc/self/fd'], capture_output=True).stdout.split()[:3]", "result text/plain=[b'0', b'1', b'2']")]).await;
    let heard =
        session.run("len(subprocess.run(['ls', '/proc/self/fd'], capture_output=True).stdout.split())").await;
    assert_eq!(heard.result(), Some("4"), "{heard}");
    session.end().await;
}

#[tokio::test]
async fn threads_of_pools_and_their_errors_are_seen() {
    let session = Bed::new().start().await;
    let code = "
from concurrent.futures import ThreadPoolExecutor
import threading
with ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(lambda n: n * n, range(100))))
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
threading.current_thread() is threading.main_thread()";
    let heard = session.run(code).await;
    assert_eq!(heard.stdout(), "328350\n");
    assert!(heard.stderr().contains("ZeroDivisionError"), "{heard}");
    assert_eq!(heard.result(), Some("True"));
    session.end().await;
}

#[tokio::test]
async fn how_a_kernel_died_is_learnt_with_all_that_it_had_said() {
    for (code, death) in [
        ("os._exit(7)", Death::Exit(7)),
        ("os.kill(os.getpid(), 9)", Death::Signal("SIGKILL".into())),
        ("import ctypes\nctypes.string_at(0)", Death::Signal("SIGSEGV".into())),
    ] {
        let session = Bed::new().start().await;
        let heard = session
            .run(&format!("import os, sys\nprint('last words')\nprint('error', file=sys.stderr)\n{code}"))
            .await;
        assert_eq!(heard.0.last(), Some(&Event::Died(death.clone())), "{heard}");
        assert_eq!(heard.stdout(), "last words\n");
        assert!(heard.stderr().starts_with("error\n"), "{heard}");
        assert_eq!(*session.kernel.state().borrow(), State::Dead(death));
        let refused = session.kernel.execute(Request::new("1")).await.unwrap_err();
        assert!(refused.to_string().contains("kernel"), "{refused}");
        session.kernel.restart().await.unwrap();
        session.check(&[("1", "result text/plain=1")]).await;
        session.end().await;
    }
}

#[tokio::test]
async fn a_restart_forgets_everything_and_gives_what_the_launch_gave() {
    let mut bed = Bed::new();
    bed.launch.prelude = Some("given = 'prelude'".into());
    let session = bed.start().await;
    let first = session.kernel.identity().pid;
    session.check(&[("x = 1\nimport subprocess\nchild = subprocess.Popen(['sleep', '600'])", "")]).await;
    session.kernel.restart().await.unwrap();
    until_gone(first.unwrap());
    assert_ne!(session.kernel.identity().pid, first);
    session
        .check(&[(
            "'x' in dir(), given, In",
            "result text/plain=(False, 'prelude', ['', \"'x' in dir(), given, In\"])",
        )])
        .await;
    session.end().await;
}

#[tokio::test]
async fn leaving_runs_what_was_registered_for_the_end() {
    let session = Bed::new().start().await;
    let left = session.bed.launch.cwd.join("left");
    session.check(&[("import atexit\natexit.register(lambda: open('left', 'w').close());", "")]).await;
    let pid = session.kernel.identity().pid.unwrap();
    session.kernel.shutdown().await;
    until_gone(pid);
    assert!(left.exists());
}

#[tokio::test]
async fn a_kernel_that_will_not_leave_is_killed() {
    let session = Bed::new().start().await;
    session.check(&[("import threading\nthreading.Thread(target=threading.Event().wait).start()", "")]).await;
    session.end().await;
    let session = Bed::new().start().await;
    let execution = session.kernel.execute(Request::new("while True: pass")).await.unwrap();
    session.kernel.shutdown().await;
    assert!(matches!(all(execution).await.last(), Some(Event::Died(Death::Signal(_)))));
    session.end().await;
}

#[tokio::test]
async fn a_dropped_kernel_is_gone() {
    let session = Bed::new().start().await;
    let pid = session.kernel.identity().pid.unwrap();
    session.check(&[("import subprocess\nchild = subprocess.Popen(['sleep', '600'])", "")]).await;
    drop(session);
    // The task that owned it has to be given a turn.
    tokio::task::yield_now().await;
    tokio::task::spawn_blocking(move || until_gone(pid)).await.unwrap();
}

#[tokio::test]
async fn what_a_cell_started_in_a_session_of_its_own_goes_with_the_kernel() {
    let code = "import subprocess\nprint(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)";
    let session = Bed::new().start().await;
    let heard = session.run(code).await;
    session.end().await;
    until_gone(heard.stdout().trim().parse().unwrap());
}

#[tokio::test]
async fn what_a_forked_child_raises_is_shown_without_frames_of_ours_and_its_exit_is_its_own() {
    let session = Bed::new().start().await;
    let code = |does: &str| {
        format!(
            "import os, sys\nchild = os.fork()\nif child == 0:\n    {does}\n\
             status = os.waitpid(child, 0)[1]\nos.WEXITSTATUS(status)"
        )
    };
    let heard = session.run(&code("1 / 0")).await;
    assert_eq!(heard.result(), Some("1"), "{heard}");
    assert!(heard.stderr().contains("ZeroDivisionError"), "{heard}");
    assert!(heard.stderr().contains("line 4") && !heard.stderr().contains("cellist_runner"), "{heard}");
    let heard = session.run(&code("sys.exit(3)")).await;
    assert_eq!((heard.result(), heard.stderr().as_str()), (Some("3"), ""), "{heard}");
    let heard = session.run(&code("sys.exit('enough')")).await;
    assert_eq!((heard.result(), heard.stderr().as_str()), (Some("1"), "enough\n"), "{heard}");
    session.end().await;
}
