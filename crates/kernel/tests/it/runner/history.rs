//! Magics about earlier cells, errors, commands under other names, and the profiler, with and without IPython.

use super::bed::{Bed, bare_python, full_python};
use super::looks::plain;

#[tokio::test]
async fn earlier_cells_are_shown_run_named_and_saved() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        session
            .check(&[
                ("x = 1", ""),
                ("x += 1\nx", "result text/plain=2"),
                ("%who", "stdout x\t \\n"),
                ("%history -n 1-2", r"stdout    1: x = 1\n   2:\nx += 1\nx\n"),
                ("%hist 1 3 -t", r"stdout x = 1\nget_ipython().run_line_magic('who', '')\n"),
                ("%hist -op 1-2", r"stdout >>> x = 1\n>>> x += 1\n... x\n...\n2\n"),
                ("%hist 5-", r"stdout %hist 1 3 -t\n%hist -op 1-2\n%hist 5-\n"),
                ("%hist -g *x =*", r"stdout    1: x = 1\n   8: %hist -g *x =*\n"),
                ("%rerun 2", "stdout === Executing: ===\\nx += 1\\nx\\n=== Output: ===\\n\nresult text/plain=3"),
                ("x", "result text/plain=3"),
                ("%rerun", "stdout === Executing: ===\\nx\\n=== Output: ===\\n\nresult text/plain=3"),
                ("%rerun -g nosuchtext", r"stdout No lines in history match specification\n"),
                (
                    "%macro twice 2 2",
                    r"stdout Macro `twice` created. To execute, type its name (without quotes).\n=== Macro contents: ===\nx += 1\nx\nx += 1\nx\n ",
                ),
                ("twice", "result text/plain=5"),
                ("%macro", "result text/plain=['twice']"),
                ("print(twice + 'x')", r"stdout x += 1\nx\nx += 1\nx\nx\n\n"),
                ("%macro one", "stderr UsageError: %macro insufficient args; usage '%macro name n1-n2 n3-4...\\n\nfailed"),
                ("%save kept 1-2", r"stdout The following commands were written to file `kept.py`:\nx = 1\nx += 1\nx\n"),
                ("%save kept 1", r"stdout File `kept.py` exists. Use `%save -f kept 1` to force overwrite\n"),
                ("open('kept.py').read()", r"result text/plain='# coding: utf-8\nx = 1\nx += 1\nx\n'"),
                ("%load kept.py", ""),
                ("%load nosuch.py", "error ValueError: 'nosuch.py' was not found in history, as a file, url, nor in the user namespace.\nfailed"),
                ("get_ipython().find_user_code('kept.py')", r"result text/plain='x = 1\nx += 1\nx\n'"),
                ("get_ipython().extract_input_lines('1-2', raw=True)", r"result text/plain='x = 1\nx += 1\nx'"),
            ])
            .await;
        session.end().await;
    }
}

#[tokio::test]
async fn commands_get_names_and_lose_them() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        session
            .check(&[
                ("%alias parts echo first %s second %s", ""),
                ("%parts A B C", r"stdout first A second B C\r\n"),
                ("parts A B", r"stdout first A second B\r\n"),
                ("%parts A", "stderr UsageError: Alias <parts> requires 2 arguments, 1 given.\\n\nfailed"),
                ("%alias all echo \"<%l>\"", ""),
                ("name = 'v'\n%all one $name", r"stdout <one v>\r\n"),
                (
                    "('parts', 'echo first %s second %s') in get_ipython().run_line_magic('alias', '')",
                    "stdout Total number of aliases: 14\\n\nresult text/plain=True",
                ),
                ("%unalias parts", ""),
                ("%unalias parts", r"stdout parts is not an alias\n"),
                ("%parts A B", "stderr UsageError: Line magic function `%parts` not found.\\n\nfailed"),
                (
                    "%alias cd echo",
                    "stdout The name cd can't be aliased because it is a keyword or builtin.\\n",
                ),
                (
                    "%alias time echo",
                    "stdout The name time can't be aliased because it is another magic command.\\n",
                ),
                ("%rehashx\n%uname -s", r"stdout Linux\r\n"),
            ])
            .await;
        session.end().await;
    }
}

#[tokio::test]
async fn every_mode_of_tracebacks_can_be_chosen() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        let next = |mode: &str| format!("stdout Exception reporting mode: {mode}\\n");
        session
            .check(&[
                ("%xmode", &next("Verbose")),
                ("%xmode minimal", &next("Minimal")),
                ("%xmode Docs", &next("Docs")),
                ("%xmode Plain", &next("Plain")),
                ("%xmode Verbose", &next("Verbose")),
                ("%xmode Context", &next("Context")),
                ("get_ipython().xmode", "result text/plain='Context'"),
                ("1 / 0", "error ZeroDivisionError: division by zero\nfailed"),
                ("%tb Minimal", "error ZeroDivisionError: division by zero"),
                ("get_ipython().xmode", "result text/plain='Context'"),
            ])
            .await;
        let wrong = session.run("%xmode nosuch").await;
        assert!(
            wrong.is_ok() && wrong.stderr().contains("Unrecognized mode in FormattedTB: <Nosuch>"),
            "{wrong}"
        );
        let minimal = session.run("%tb Minimal").await.error().unwrap().2;
        assert_eq!(plain(&minimal).trim_end(), "ZeroDivisionError: division by zero");
        let whole = plain(&session.run("%tb").await.error().unwrap().2);
        assert!(whole.contains("1 / 0"), "{whole}");
        session.end().await;
    }
}

#[tokio::test]
async fn the_debugger_shows_the_place_and_says_that_nobody_can_answer() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        let refused = "input requested\nerror StdinNotImplementedError: raw_input was called, but this frontend does not support input requests.\nfailed";
        let place = r"stdout > <cell 2>(2)f()\n      1 def f(x):\n----> 2     return 1 / x\n      3 f(0)\n\n";
        session
            .check(&[
                ("%debug", r"stderr ERROR:root:No traceback has been produced, nothing to debug.\n"),
                ("def f(x):\n    return 1 / x\nf(0)", "error ZeroDivisionError: division by zero\nfailed"),
                ("%debug", &format!("{place}\n{refused}")),
                ("%pdb", r"stdout Automatic pdb calling has been turned ON\n"),
                ("f(0)", &format!("error ZeroDivisionError: division by zero\n{place}\n{refused}")),
                ("%pdb off", r"stdout Automatic pdb calling has been turned OFF\n"),
                ("f(0)", "error ZeroDivisionError: division by zero\nfailed"),
                ("%pdb maybe", r"stdout Incorrect argument. Use on/1, off/0, or nothing for a toggle.\n"),
            ])
            .await;
        session.end().await;
    }
}

#[tokio::test]
async fn the_profiler_prints_its_table_and_writes_files() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        let table = session.run("%prun -l 3 -s cumulative sum([1])").await.stdout();
        assert!(table.contains("function calls") && table.contains("Ordered by: cumulative time"), "{table}");
        session
            .check(&[
                (
                    "%%prun -q -T table.txt\nx = 5",
                    "stdout  \\n*** Profile printout saved to text file 'table.txt'.\\n",
                ),
                ("x, 'function calls' in open('table.txt').read()", "result text/plain=(5, True)"),
                ("stats = %prun -q -r sum([1])", "stdout  "),
                ("type(stats).__name__", "result text/plain='Stats'"),
            ])
            .await;
        session.end().await;
    }
}

#[tokio::test]
async fn a_magic_over_two_lines_is_one_error() {
    let session = Bed::new().start().await;
    let (name, message, traceback) = {
        let heard = session.run("%timeit f(1,\n  2)").await;
        let (name, message, traceback) = heard.error().unwrap();
        (name.to_owned(), message.to_owned(), traceback)
    };
    assert_eq!(name, "IndentationError");
    assert_eq!(message, "unexpected indent (1004845910.py, line 2)");
    assert!(!traceback.contains("During handling"), "{traceback}");
    session.end().await;
}

#[tokio::test]
async fn settings_have_their_effect_or_are_kept() {
    let session = Bed::with(full_python()).start().await;
    let shown = async |code: &str| session.run(code).await.to_string();
    session
        .check(&[
            ("%config InlineBackend.figure_format", "result text/plain='png'"),
            ("%config InlineBackend.close_figures = False", ""),
            ("%config InlineBackend.close_figures", "result text/plain=False"),
            ("%config Own.setting = [1]", ""),
            ("%config Own.setting", "result text/plain=[1]"),
            ("%config nonsense", "stderr UsageError: Invalid config statement: 'nonsense', should be `Class.trait = value`.\\n\nfailed"),
            ("%config InteractiveShell.xmode = 'Minimal'\nget_ipython().xmode", "result text/plain='Minimal'"),
        ])
        .await;
    let first = shown("import matplotlib.pyplot as plt\nplt.plot([1, 2]);").await;
    assert_eq!(first.matches("image/png=").count(), 1, "{first}");
    // The figure stays open, and is shown again only when it changes.
    session.check(&[("plt.get_fignums()", "result text/plain=[1]")]).await;
    assert_eq!(shown("plt.gcf().suptitle('t');").await.matches("image/png=").count(), 1);
    session.run("%config InlineBackend.close_figures = True\nplt.close('all')").await;
    session.run("%config InlineBackend.print_figure_kwargs = {'bbox_inches': None}").await;
    let size = "import base64, struct, io, contextlib\nfrom IPython.utils.capture import capture_output\nwith capture_output() as kept:\n    plt.plot([1]); plt.show()\nstruct.unpack('>II', base64.b64decode(kept.outputs[0].data['image/png'])[16:24])";
    assert_eq!(session.run(size).await.result(), Some("(640, 480)"));
    session.end().await;
}

#[tokio::test]
async fn pylab_imports_all_names_and_tells_of_those_that_it_took() {
    let session = Bed::with(full_python()).start().await;
    session.run("diff = 3").await;
    let heard = session.run("%pylab inline").await;
    assert_eq!(
        heard.stdout(),
        "%pylab is deprecated, use %matplotlib inline and import the required libraries.\nPopulating the interactive namespace from numpy and matplotlib\n"
    );
    assert!(heard.stderr().contains("pylab import has clobbered these variables: ['diff']"), "{heard}");
    session
        .check(&[
            (
                "array([1]).sum() + np.int64(1), plt.__name__",
                "result text/plain=(np.int64(2), 'matplotlib.pyplot')",
            ),
            ("%who", r"stdout Interactive namespace is empty.\n"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_program_that_fails_in_run_shows_its_error_and_the_cell_goes_on() {
    for python in [bare_python(), full_python()] {
        let bed = Bed::with(python);
        bed.file("failing.py", "made = 3\ndef f():\n    return {}[1]\nf()\n");
        bed.file("ending.py", "import sys\nsys.exit(0)\n");
        bed.file("cells.ipy", "kept = 4\nkept\n");
        let session = bed.start().await;
        session
            .check(&[
                ("%run failing.py\nprint(made)", "error KeyError: 1\nstdout 3\\n"),
                ("%tb", "error KeyError: 1"),
                ("%run ending.py", ""),
                ("%run cells.ipy", ""),
                ("kept", "result text/plain=4"),
                ("%timeit -n1 -r1 {}[2]", "error KeyError: 2\nfailed"),
                (
                    "%timeit return 3",
                    "error SyntaxError: 'return' outside function (<magic-timeit-stmt>, line 1)\nfailed",
                ),
            ])
            .await;
        let traceback = session.run("%run failing.py").await.error().unwrap().2;
        assert!(traceback.contains("failing.py") && !traceback.contains("cellist_runner"), "{traceback}");
        session.end().await;
    }
}
