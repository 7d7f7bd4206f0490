//! Ways of IPython's that notebooks rely on without naming them: its shell, its settings, its short forms.

use super::bed::{Bed, full_python};
use super::looks::plain;

fn with_shell(shell: &str) -> Bed {
    let mut bed = Bed::new();
    bed.launch.environment.push(("SHELL".into(), shell.into()));
    bed
}

#[tokio::test]
async fn commands_run_in_the_users_own_shell() {
    let session = with_shell("/bin/bash").start().await;
    session
        .check(&[
            ("![[ 1 == 1 ]] && echo yes", r"stdout yes\r\n"),
            ("!echo {a,b}", r"stdout a b\r\n"),
            ("x = !echo {a,b} $0\nx", "result text/plain=['a b /bin/bash']"),
            ("!kill -9 $$\n_exit_code", "result text/plain=-9"),
            ("!exit 130\n_exit_code", "result text/plain=-2"),
            ("!test -t 1 && echo terminal; (sleep 60 &)", r"stdout terminal\r\n"),
        ])
        .await;
    session.end().await;
    for missing in ["/no/such/shell", "", "bash"] {
        let session = with_shell(missing).start().await;
        session.check(&[("x = !echo $0\nx", "result text/plain=['/bin/sh']")]).await;
        session.end().await;
    }
}

#[tokio::test]
async fn nothing_of_how_a_command_is_waited_for_is_in_the_traceback_of_an_interrupt() {
    let session = Bed::new().start().await;
    for code in ["!echo ready; sleep 60", "print('ready')\nx = !sleep 60", "%%bash\necho ready\nsleep 60"] {
        let heard = session.interrupted(code).await;
        let (name, _, traceback) = heard.error().unwrap();
        assert_eq!(name, "KeyboardInterrupt", "{code}");
        assert!(!traceback.contains("subprocess") && !traceback.contains("cellist"), "{code}: {traceback}");
    }
    session.check(&[("1", "result text/plain=1")]).await;
    session.end().await;
}

#[tokio::test]
async fn a_lone_line_that_begins_with_the_name_of_a_magic_is_that_magic() {
    let bed = Bed::new();
    bed.file("sub/here", "text");
    let session = bed.start().await;
    let work = session.bed.launch.cwd.canonicalize().unwrap();
    let work = work.display();
    session
        .check(&[
            ("pwd", &format!("result text/plain='{work}'")),
            ("cd sub", &format!(r"stdout {work}/sub\n")),
            ("cat here", r"stdout text"),
            ("mkdir made", ""),
            ("cp here made/copy", ""),
            ("mv made/copy made/moved", ""),
            ("cat made/moved", r"stdout text"),
            ("rm -r made", ""),
            ("x = !ls\nx", "result text/plain=['here']"),
            ("pwd\n1", "error NameError: name 'pwd' is not defined\nfailed"),
            ("pwd = 3", ""),
            ("pwd", "result text/plain=3"),
            ("pwd -1", "result text/plain=2"),
            ("del pwd", ""),
            ("%automagic off", r"stdout \nAutomagic is OFF, % prefix IS needed for line magics.\n"),
            ("pwd", "error NameError: name 'pwd' is not defined\nfailed"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn which_values_of_a_cell_are_shown_can_be_chosen() {
    for python in [super::bed::bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        let choose = |what: &str| format!("InteractiveShell.ast_node_interactivity = '{what}'");
        session
            .check(&[
                ("from IPython.core.interactiveshell import InteractiveShell", ""),
                (&choose("all"), ""),
                ("1\nx = 2\nx", "result text/plain=1\nresult text/plain=2"),
                ("for i in range(2): i", "result text/plain=0\nresult text/plain=1"),
                ("1\n2;", ""),
                (&choose("last"), ""),
                ("1\nfor i in range(2): i", "result text/plain=0\nresult text/plain=1"),
                (&choose("none"), ""),
                ("1", ""),
                (&choose("last_expr_or_assign"), ""),
                ("1\nx = 3", "result text/plain=3"),
                ("x = 4;", ""),
                ("a = b = 1", ""),
                ("%config InteractiveShell.ast_node_interactivity = 'last_expr'", ""),
                ("1\n2", "result text/plain=2"),
            ])
            .await;
        session.end().await;
    }
}

#[tokio::test]
async fn settings_are_kept_or_refused_and_never_ignored() {
    let session = Bed::new().start().await;
    let refused = |what: &str| {
        format!(r"stderr UsageError: {what} is not supported by the runner: use `--backend jupyter`.\n")
            + "\nfailed"
    };
    session
        .check(&[
            ("%precision 2", "result text/plain='%.2f'"),
            (
                "[3.14159, (2.71828,), {1.5: 2.55555}, 'x', 3]",
                "result text/plain=[3.14, (2.72,), {1.50: 2.56}, 'x', 3]",
            ),
            ("%precision %.1e", "result text/plain='%.1e'"),
            ("12345.678", "result text/plain=1.2e+04"),
            ("%precision", "result text/plain='%r'"),
            ("%precision x", "error ValueError: Precision must be int or format string, not 'x'\nfailed"),
            ("3.14159", "result text/plain=3.14159"),
            ("%xmode Verbose", r"stdout Exception reporting mode: Verbose\n"),
            ("%xmode Minimal", r"stdout Exception reporting mode: Minimal\n"),
            (
                "%matplotlib nosuch",
                "error RuntimeError: 'nosuch' is not a recognised GUI loop or backend name\nfailed",
            ),
            ("%doctest_mode", &refused("%doctest_mode")),
            ("%gui qt", &refused("%gui qt")),
            (
                "%cd /nosuch",
                &format!(
                    "stdout [Errno 2] No such file or directory: '/nosuch'\\n{}\\n",
                    session.bed.launch.cwd.canonicalize().unwrap().display()
                ),
            ),
            ("%run nosuch.py", "error Exception: File `'nosuch.py'` not found.\nfailed"),
            ("%%bash --out o --err e\necho hi; echo oops >&2", ""),
            ("o, e", r"result text/plain=('hi\n', 'oops\n')"),
            ("%%bash --no-raise-error\nexit 3", ""),
            ("%%script nosuchprogram\nx", r"stdout Couldn't find program: 'nosuchprogram'\n"),
        ])
        .await;
    let traceback = plain(&session.run("1 / 0").await.error().unwrap().2);
    assert_eq!(traceback, "ZeroDivisionError: division by zero\n");
    let said = session.run("%matplotlib qt").await;
    assert!(said.is_ok() && said.stderr().contains("use `--backend jupyter`"), "{said}");
    let magics = session.run("%lsmagic").await;
    assert!(magics.result().unwrap().starts_with("'Available line magics:"), "{magics}");
    let described = session.run("%timeit?").await.stdout();
    assert!(described.contains("Times a statement") && !described.contains("cellist"), "{described}");
    let said = session.run("%pip list --format=freeze | head -1").await.stdout();
    assert!(said.contains("==") && said.contains("Note: you may need to restart"), "{said}");
    session.end().await;
}

#[tokio::test]
async fn figures_wait_for_show_where_matplotlib_is_not_interactive() {
    let session = Bed::with(full_python()).start().await;
    let shown = async |code: &str| session.run(code).await.to_string().matches("image/png=").count();
    assert_eq!(
        shown("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.ioff(); plt.plot([1]);").await,
        0
    );
    assert_eq!(shown("plt.show()").await, 1);
    assert_eq!(shown("plt.plot([1]);").await, 0);
    assert_eq!(shown("plt.get_fignums()").await, 0);
    assert_eq!(shown("plt.ion(); plt.figure(); plt.plot([1]);").await, 2);
    assert_eq!(shown("plt.plot([1]);").await, 1);
    session.end().await;
}

#[tokio::test]
async fn pages_of_ipythons_magics_are_printed() {
    let bed = Bed::with(full_python());
    bed.file("program.py", "kept = 1\n");
    let session = bed.start().await;
    assert!(session.run("%prun 1").await.stdout().contains("function calls"));
    assert!(session.run("%pycat program.py").await.stdout().contains("kept"));
    session.end().await;
}
