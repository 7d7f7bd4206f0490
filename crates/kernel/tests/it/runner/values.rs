//! Values, names and errors.

use cellist_kernel::{Death, Error, Event, Request, State, Status};

use super::bed::{Bed, all};
use super::looks::plain;

#[tokio::test]
async fn the_last_expression_is_the_result_unless_a_semicolon_hides_it() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("1 + 1", "result text/plain=2"),
            ("x = 5; x", "result text/plain=5"),
            ("x;", ""),
            ("(x);", ""),
            ("x; # said", ""),
            ("x ; \n", ""),
            ("'ä;b'", "result text/plain='ä;b'"),
            ("x  # ;", "result text/plain=5"),
            ("None", ""),
            ("if x:\n    x", ""),
            ("print(x)\nx", "stdout 5\\n\nresult text/plain=5"),
            ("", ""),
            ("# nothing", ""),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn earlier_inputs_and_results_have_the_names_that_ipython_gives_them() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("11", "result text/plain=11"),
            ("22", "result text/plain=22"),
            ("33", "result text/plain=33"),
            ("_, __, ___, _2", "result text/plain=(33, 22, 11, 22)"),
            ("Out[1], _oh is Out", "result text/plain=(11, True)"),
            (
                "In[1:3], _ih is In, _i, _ii, _i2",
                "result text/plain=(['11', '22'], True, 'Out[1], _oh is Out', '_, __, ___, _2', '22')",
            ),
            ("_ = 'mine'", ""),
            ("44", "result text/plain=44"),
            ("_", "result text/plain='mine'"),
            ("In[0]", "result text/plain=''"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn old_results_are_let_go() {
    let session = Bed::new().start().await;
    for _ in 0..1001 {
        session.run("object()").await;
    }
    session
        .check(&[(
            "len(Out), min(Out), '_1' in dir(), _1001 is _",
            "result text/plain=(801, 201, False, True)",
        )])
        .await;
    session.end().await;
}

#[tokio::test]
async fn values_look_as_they_do_in_ipython() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("int", "result text/plain=int"),
            ("class A: pass\nA", "result text/plain=__main__.A"),
            ("lambda x, *y: x", "result text/plain=<function __main__.<lambda>(x, *y)>"),
            ("len", "result text/plain=<function len(obj, /)>"),
            ("ValueError('x')", "result text/plain=ValueError('x')"),
            ("class E(Exception): pass\nE('x', 1)", "result text/plain=__main__.E('x', 1)"),
            ("import re\nre.compile(r'a\\d', re.I)", r"result text/plain=re.compile(r'a\d', re.IGNORECASE|re.UNICODE)"),
            ("'a\\nb'", r"result text/plain='a\nb'"),
            ("...", "result text/plain=Ellipsis"),
            ("{'b': 1, 'a': [2, {3}]}", "result text/plain={'b': 1, 'a': [2, {3}]}"),
            ("class P:\n    def _repr_pretty_(self, p, cycle):\n        with p.group(1, '<', '>'):\n            p.text('P'); p.breakable(); p.pretty([1])\nP()", "result text/plain=<P [1]>"),
            ("import __main__\n__name__, __main__.A is A, '__file__' in globals()", "result text/plain=('__main__', True, False)"),
        ])
        .await;
    let object = session.run("A()").await;
    assert!(object.result().is_some_and(|text| text.starts_with("<__main__.A at 0x")), "{object}");
    session.end().await;
}

#[tokio::test]
async fn an_error_shows_the_lines_of_the_cells_and_none_of_ours() {
    let session = Bed::new().start().await;
    session.check(&[("def f(x):\n    return 1 / x", "")]).await;
    let heard = session.run("print('before')\nf(\n    0\n)").await;
    let (name, message, traceback) = heard.error().unwrap();
    assert_eq!((name, message), ("ZeroDivisionError", "division by zero"));
    let expected = [
        "---------------------------------------------------------------------------",
        "ZeroDivisionError                         Traceback (most recent call last)",
        "Cell In[2], line 2",
        "      1 print('before')",
        "----> 2 f(",
        "      3     0",
        "      4 )",
        "",
        "Cell In[1], line 2, in f(x)",
        "      1 def f(x):",
        "----> 2     return 1 / x",
        "",
        "ZeroDivisionError: division by zero",
    ];
    assert_eq!(plain(&traceback).lines().collect::<Vec<_>>(), expected);
    assert_eq!(heard.to_string(), "stdout before\\n\nerror ZeroDivisionError: division by zero\nfailed");

    let heard =
        session.run("try:\n    f(0)\nexcept Exception as error:\n    raise KeyError('k') from error").await;
    let (name, message, traceback) = heard.error().unwrap();
    assert_eq!((name, message), ("KeyError", "'k'"));
    assert!(traceback.contains("The above exception was the direct cause"), "{traceback}");
    assert!(!traceback.contains("cellist"), "{traceback}");
    session.check(&[("1 + 1", "result text/plain=2")]).await;
    session.end().await;
}

#[tokio::test]
async fn a_syntax_error_shows_the_line_and_the_place() {
    let session = Bed::new().start().await;
    let heard = session.run("a = 1\nb = = 2\n").await;
    let (name, _, traceback) = heard.error().unwrap();
    assert_eq!(name, "SyntaxError");
    let expected = "  Cell In[1], line 2\n    b = = 2\n        ^\nSyntaxError: invalid syntax\n";
    assert_eq!(plain(&traceback), expected);
    session
        .check(&[
            ("'a' in dir()", "result text/plain=False"),
            ("return 3", "error SyntaxError: 'return' outside function (1894142552.py, line 1)\nfailed"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_failing_repr_is_shown_and_does_not_fail_the_cell() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("class A:\n    def __repr__(self): raise ValueError('bad')\nA()", "error ValueError: bad"),
            (
                "class B:\n    def _repr_html_(self): raise ValueError('bad')\n    def __repr__(self): return 'B!'\nB()",
                "error ValueError: bad\nresult text/plain=B!",
            ),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn text_that_is_not_unicode_comes_through_as_far_as_it_can() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("print('naïve 🎻')", r"stdout naïve 🎻\n"),
            (r"print('\ud800')", r"stdout \ud800\n"),
            (r"'\ud800'", r"result text/plain='\ud800'"),
            ("class L:\n    def __repr__(self): return 'a\\ud800b'\nL()", "result text/plain=a\u{fffd}b"),
            (r"raise ValueError('\udcff')", "error ValueError: \u{fffd}\nfailed"),
            ("import os\nn = os.write(1, b'\\xff\\n')", "stdout \u{fffd}\\n"),
            ("ä = 3\nprint(ä)", r"stdout 3\n"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_cell_that_exits_fails_and_the_kernel_lives() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("x = 1\nimport sys\nsys.exit(3)", "error SystemExit: 3\nfailed"),
            ("raise SystemExit", "error SystemExit: \nfailed"),
            ("open('/dev/null').fileno() > 2", "result text/plain=True"),
            ("x", "result text/plain=1"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn after_a_cell_that_calls_exit_the_kernel_ends() {
    for code in ["exit()\nprint('whole')", "print('whole')\nquit(keep_kernel=False)", "exit"] {
        let session = Bed::new().start().await;
        let heard = session.run(code).await;
        assert!(heard.is_ok(), "{code}: {heard}");
        assert_eq!(heard.stdout(), if code == "exit" { "" } else { "whole\n" });
        let died = match session.kernel.execute(Request::new("1")).await {
            Ok(execution) => all(execution).await.pop(),
            Err(Error::Dead { death }) => Some(Event::Died(death)),
            Err(error) => panic!("{error}"),
        };
        assert!(matches!(died, Some(Event::Died(Death::Exit(0)))), "{code}: {died:?}");
        session.end().await;
    }
}

#[tokio::test]
async fn asking_for_input_fails_at_once_and_is_said() {
    let session = Bed::new().start().await;
    let refused = |what: &str| {
        format!(
            "input requested\nerror StdinNotImplementedError: {what} was called, but this frontend does not support input requests.\nfailed"
        )
    };
    session
        .check(&[
            ("input('name? ')", &refused("raw_input")),
            ("import getpass\ngetpass.getpass()", &refused("getpass")),
            ("import sys\nsys.stdin.read()", "result text/plain=''"),
            ("import subprocess\nsubprocess.run('cat').returncode", "result text/plain=0"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn hidden_code_has_no_number_no_result_and_no_place_in_the_history() {
    let session = Bed::new().start().await;
    let heard = session.request(Request::hidden("x = 7\nx")).await;
    assert_eq!(heard.to_string(), "");
    assert!(matches!(heard.0[0], Event::Started { execution_count: None }));
    assert_eq!(heard.outcome().unwrap().execution_count, None);
    let heard = session.run("x, In").await;
    assert_eq!(heard.result(), Some("(7, ['', 'x, In'])"));
    assert!(matches!(heard.0[0], Event::Started { execution_count: Some(1) }));
    session.end().await;
}

#[tokio::test]
async fn variables_are_set_and_removed_before_the_code_runs() {
    let session = Bed::new().start().await;
    let code = "import os\nos.environ.get('CELLIST_A'), os.environ.get('CELLIST_B')";
    let with = |a: Option<&str>, b: Option<&str>| Request {
        variables: vec![("CELLIST_A".into(), a.map(Into::into)), ("CELLIST_B".into(), b.map(Into::into))],
        ..Request::new(code)
    };
    assert_eq!(session.request(with(Some("1"), Some("2"))).await.result(), Some("('1', '2')"));
    assert_eq!(session.request(with(Some("3"), None)).await.result(), Some("('3', None)"));
    session.end().await;
}

#[tokio::test]
async fn what_a_future_import_asks_for_holds_in_later_cells() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("from __future__ import annotations", ""),
            ("def f(x: nothing): pass\nf.__annotations__", "result text/plain={'x': 'nothing'}"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn one_cell_runs_at_a_time_and_the_state_says_which() {
    let session = Bed::new().start().await;
    let state = session.kernel.state();
    assert_eq!(*state.borrow(), State::Idle);
    let mut execution =
        session.kernel.execute(Request::new("print('ready')\nimport time\ntime.sleep(60)")).await.unwrap();
    super::bed::until_printed(&mut execution, "ready").await;
    assert_eq!(*state.borrow(), State::Busy(execution.id));
    let refused = session.kernel.execute(Request::new("1")).await.unwrap_err();
    assert_eq!(refused.to_string(), "the kernel is busy");
    session.kernel.interrupt(execution.id).await.unwrap();
    super::bed::all(execution).await;
    assert_eq!(*state.borrow(), State::Idle);
    session.end().await;
}

#[tokio::test]
async fn a_reader_that_goes_away_does_not_stop_the_code() {
    let session = Bed::new().start().await;
    let execution =
        session.kernel.execute(Request::new("for i in range(10**5): print(i)\nx = 8")).await.unwrap();
    drop(execution);
    let mut state = session.kernel.state();
    state.wait_for(|state| *state == State::Idle).await.unwrap();
    session.check(&[("x", "result text/plain=8")]).await;
    assert_eq!(session.run("y").await.outcome().unwrap().status, Status::Error);
    session.end().await;
}
