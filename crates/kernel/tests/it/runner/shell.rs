//! The shell of `get_ipython()`: code that runs code, errors that programs handle, and libraries that look for it.

use super::bed::{Bed, bare_python, full_python};

#[tokio::test]
async fn code_that_run_cell_runs_shows_its_error_and_returns_its_result() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        session
            .check(&[
                ("%tb", r"stderr No traceback available to show.\n"),
                ("r = get_ipython().run_cell('1 / 0')", "error ZeroDivisionError: division by zero"),
                (
                    "r.success, r.error_before_exec, r.error_in_exec, r.result",
                    "result text/plain=(False, None, ZeroDivisionError('division by zero'), None)",
                ),
                ("r.raise_error()", "error ZeroDivisionError: division by zero\nfailed"),
                ("r = get_ipython().run_cell('x = 3\\nx + 1')", "result text/plain=4"),
                ("r.success, r.result, r.info.raw_cell", r"result text/plain=(True, 4, 'x = 3\nx + 1')"),
                ("r.raise_error(); get_ipython().run_cell('5', silent=True).success", "result text/plain=True"),
                (
                    "r = get_ipython().run_cell('1 +'); type(r.error_before_exec).__name__, r.error_in_exec",
                    "error SyntaxError: invalid syntax (1278102326.py, line 1)\nresult text/plain=('SyntaxError', None)",
                ),
                ("get_ipython().run_cell('%nosuch').success", "stderr UsageError: Line magic function `%nosuch` not found.\\n\nresult text/plain=False"),
                ("get_ipython().run_cell('').success, get_ipython().last_execution_succeeded", "result text/plain=(True, True)"),
                ("get_ipython().run_cell('{}[1]');", "error KeyError: 1"),
                // The newest error, though no cell ended with it.
                ("%tb", "error KeyError: 1"),
                ("get_ipython().run_cell('import sys; sys.exit(3)').success", "error SystemExit: 3\nresult text/plain=False"),
                ("get_ipython().run_cell('kept = 1', store_history=True).execution_count", "result text/plain=15"),
                ("In[15], kept, get_ipython().execution_count", "result text/plain=('kept = 1', 1, 16)"),
            ])
            .await;
        session.end().await;
    }
}

#[tokio::test]
async fn functions_around_cells_hear_how_they_ended() {
    let session = Bed::new().start().await;
    session
        .check(&[
            (
                "heard = []\nevents = get_ipython().events\nevents.register('pre_run_cell', lambda info: heard.append(info.raw_cell))\nevents.register('post_run_cell', lambda result: heard.append((result.success, type(result.error_in_exec).__name__)))",
                "",
            ),
            ("1 / 0", "error ZeroDivisionError: division by zero\nfailed"),
            ("get_ipython().run_cell('pass');", ""),
            (
                "heard",
                r#"result text/plain=[(True, 'NoneType'),\n '1 / 0',\n (False, 'ZeroDivisionError'),\n "get_ipython().run_cell('pass');",\n 'pass',\n (True, 'NoneType'),\n (True, 'NoneType'),\n 'heard']"#,
            ),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_magic_that_a_notebook_makes_by_functions_or_classes_works_with_and_without_ipython() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        session
            .check(&[
                (
                    "from IPython.core.magic import register_cell_magic\nfrom IPython.core.magic_arguments import argument, magic_arguments, parse_argstring\n@magic_arguments()\n@argument('exception', help='Type of exception to catch')\n@argument('-n', type=int, default=1)\n@register_cell_magic\ndef expect(line, cell):\n    args = parse_argstring(expect, line)\n    print(args.n, args.exception)\n    try:\n        get_ipython().run_cell(cell)\n    except eval(args.exception):\n        get_ipython().run_cell('%tb')",
                    "",
                ),
                (
                    "%%expect -n 2 ZeroDivisionError\nprint('ran')\n1 / 0",
                    "stdout 2 ZeroDivisionError\\nran\\n\nerror ZeroDivisionError: division by zero",
                ),
                ("%%expect\n1", "stderr UsageError: the following arguments are required: exception\\n\nfailed"),
                ("'Type of exception to catch' in expect.__doc__", "result text/plain=True"),
                (
                    "from IPython.core.magic import Magics, magics_class, line_magic, cell_magic, line_cell_magic, needs_local_scope\n@magics_class\nclass Own(Magics):\n    @line_magic\n    def options(self, line):\n        found, rest = self.parse_options(line, 'a:b')\n        return dict(found), rest, self.shell is get_ipython()\n    @line_cell_magic('both')\n    def method(self, line, cell=None):\n        return line, cell\n    @needs_local_scope\n    @line_magic\n    def local(self, line, local_ns=None):\n        return sorted(local_ns)\nget_ipython().register_magics(Own)",
                    "",
                ),
                ("%options -a 3 -b rest of it", "result text/plain=({'a': '3', 'b': ''}, 'rest of it', True)"),
                ("%both 5", "result text/plain=('5', None)"),
                ("%%both 5\ncell", r"result text/plain=('5', 'cell\n')"),
                ("def f(inner):\n    %local\n    return get_ipython().run_line_magic('local', '')\nf(1)", "result text/plain=['inner']"),
                ("get_ipython().register_magics(Own(get_ipython()))\n%both 6", "result text/plain=('6', None)"),
            ])
            .await;
        session.end().await;
    }
}

#[tokio::test]
async fn a_handler_of_the_program_shows_the_errors_that_it_asked_for() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        session
            .check(&[
                (
                    "def handle(shell, kind, error, trace, tb_offset=None):\n    print('handled', kind.__name__, error, shell is get_ipython())\nget_ipython().set_custom_exc((ZeroDivisionError,), handle)",
                    "",
                ),
                ("1 / 0", "stdout handled ZeroDivisionError division by zero True\\n\nfailed"),
                ("{}[1]", "error KeyError: 1\nfailed"),
                ("get_ipython().run_cell('1 / 0').success", "stdout handled ZeroDivisionError division by zero True\\n\nresult text/plain=False"),
                ("get_ipython().set_custom_exc((), None)", ""),
                ("1 / 0", "error ZeroDivisionError: division by zero\nfailed"),
                ("get_ipython().set_custom_exc(KeyError, handle)", "error TypeError: The custom exceptions must be given as a tuple.\nfailed"),
                ("get_ipython().set_custom_exc((KeyError,), lambda *arguments, **keys: 1 / 0)", ""),
            ])
            .await;
        let failed = session.run("{}[1]").await;
        assert!(failed.stderr().contains("Custom TB Handler failed, unregistering"), "{failed}");
        session.check(&[("{}[1]", "error KeyError: 1\nfailed")]).await;
        session.end().await;
    }
}

#[tokio::test]
async fn a_warning_is_shown_in_each_cell_that_gives_it() {
    let session = Bed::new().start().await;
    session.check(&[("import warnings", "")]).await;
    for number in 2..4 {
        let warned = session.run("warnings.warn('careful')").await;
        assert_eq!(
            warned.stderr(),
            format!("<cell {number}>:1: UserWarning: careful\n  warnings.warn('careful')\n")
        );
    }
    session.end().await;
    let session = Bed::with(full_python()).start().await;
    session.run("import numpy as np; z = np.zeros(1)").await;
    for code in ["1/z", "2/z"] {
        let warned = session.run(code).await.stderr();
        assert!(warned.contains("RuntimeWarning: divide by zero"), "{code}: {warned}");
    }
    session.end().await;
}

#[tokio::test]
async fn wide_tables_show_their_columns_as_in_a_notebook() {
    let session = Bed::with(full_python()).start().await;
    let heard = session.run("import pandas as pd, numpy as np\npd.get_option('display.max_columns')").await;
    assert_eq!(heard.result(), Some("20"));
    let heard = session.run("pd.DataFrame(np.arange(100, 160).reshape(2, 30))").await;
    let text = heard.result().unwrap();
    assert!(
        text.contains(" 129") && text.contains("\n\n") && text.contains("[2 rows x 30 columns]"),
        "{text}"
    );
    session.end().await;
}

#[tokio::test]
async fn asking_ipython_for_its_shell_makes_no_second_one() {
    let session = Bed::with(full_python()).start().await;
    let code = "import matplotlib.pyplot as plt\n%matplotlib inline\nfrom matplotlib_inline.backend_inline import set_matplotlib_formats\nset_matplotlib_formats('svg')\nplt.plot([1, 2]);";
    let heard = session.run(code).await.to_string();
    assert!(heard.contains("image/svg+xml=") && !heard.contains("image/png="), "{heard}");
    session
        .check(&[
            (
                "from IPython.core.interactiveshell import InteractiveShell, InteractiveShellABC\nInteractiveShell.instance() is get_ipython(), isinstance(get_ipython(), InteractiveShellABC), InteractiveShell.initialized()",
                "result text/plain=(True, True, True)",
            ),
            ("import sys\nsys.modules['__main__'].__dict__ is globals() is get_ipython().user_ns", "result text/plain=True"),
            ("import pickle\nclass Own: pass\ntype(pickle.loads(pickle.dumps(Own()))) is Own", "result text/plain=True"),
            (
                "import multiprocessing\ndef square(x): return x * x\nwith multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(square, [1, 2, 3]))",
                r"stdout [1, 4, 9]\n",
            ),
            // Attributes that only IPython's own shell has.
            ("get_ipython().history_manager is not None, hasattr(get_ipython(), 'nosuch')", "result text/plain=(True, False)"),
            ("sys.modules['__main__'].__dict__ is globals()", "result text/plain=True"),
            ("display(1)", "display text/plain=1"),
            ("type(get_ipython()).__name__, type(get_ipython()).__module__, 'IPKernelApp' in get_ipython().config", "result text/plain=('ZMQInteractiveShell', 'ipykernel.zmqshell', True)"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_program_that_changes_the_module_json_or_has_one_of_its_own_is_served() {
    for (python, stands_in) in [(bare_python(), true), (full_python(), false)] {
        let bed = Bed::with(python);
        for name in ["json", "random", "types", "re", "traceback", "inspect", "threading", "pdb", "argparse"]
        {
            bed.file(&format!("{name}.py"), "raise RuntimeError('a file of the user')\n");
        }
        let session = bed.start().await;
        session
            .check(&[
                ("import json\njson.dumps = json.loads = None", ""),
                ("json.JSONEncoder.default = json.encoder.JSONEncoder.default = None", ""),
                ("{'a': [1, 2.5]}", "result text/plain={'a': [1, 2.5]}"),
                ("1 / 0", "error ZeroDivisionError: division by zero\nfailed"),
                ("%tb", "error ZeroDivisionError: division by zero"),
                ("%prun -q 1", "stdout  "),
                ("import nosuch", "error ModuleNotFoundError: No module named 'nosuch'\nfailed"),
            ])
            .await;
        if stands_in {
            session.check(&[("from IPython.core import magic_arguments", "")]).await;
        }
        session.end().await;
    }
}

#[tokio::test]
async fn extensions_are_loaded_once_and_taken_away() {
    for python in [bare_python(), full_python()] {
        let bed = Bed::with(python);
        bed.file(
            "own.py",
            "def load_ipython_extension(shell):\n    print('loaded')\n    shell.register_magic_function(lambda line: line.upper(), 'line', 'upper')\ndef unload_ipython_extension(shell):\n    print('unloaded')\n",
        );
        bed.file("other.py", "");
        bed.file("failing.py", "def load_ipython_extension(shell): 1 / 0\n");
        let session = bed.start().await;
        session
            .check(&[
                ("%load_ext own", r"stdout loaded\n"),
                ("%upper text", "result text/plain='TEXT'"),
                (
                    "%load_ext own",
                    r"stdout The own extension is already loaded. To reload it, use:\n  %reload_ext own\n",
                ),
                ("%reload_ext own", r"stdout unloaded\nloaded\n"),
                ("%unload_ext own", r"stdout unloaded\n"),
                ("%unload_ext own", r"stdout The own extension is not loaded.\n"),
                ("%load_ext other", r"stdout The other module is not an IPython extension.\n"),
                ("%load_ext failing", "error ZeroDivisionError: division by zero\nfailed"),
            ])
            .await;
        session.end().await;
    }
}

#[tokio::test]
async fn functions_of_the_program_change_cells_before_they_run() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        session
            .check(&[
                (
                    "import ast\nclass Negative(ast.NodeTransformer):\n    def visit_Constant(self, node):\n        return ast.Constant(-node.value) if type(node.value) is int else node\nget_ipython().ast_transformers.append(Negative())",
                    "",
                ),
                ("3", "result text/plain=-3"),
                ("get_ipython().ast_transformers.clear()", ""),
                (
                    "get_ipython().input_transformers_cleanup.append(lambda lines: [line.replace('shout', 'print') for line in lines])",
                    "",
                ),
                ("shout('heard')", r"stdout heard\n"),
                ("get_ipython().input_transformers_cleanup.clear()\n3", "result text/plain=3"),
                (
                    "class Broken(ast.NodeTransformer):\n    def visit_Constant(self, node): raise KeyError('k')\nget_ipython().ast_transformers.append(Broken())",
                    "",
                ),
            ])
            .await;
        let heard = session.run("3").await;
        assert!(heard.stderr().contains("It will be unregistered") && heard.result() == Some("3"), "{heard}");
        session.check(&[("3", "result text/plain=3")]).await;
        session.end().await;
    }
}

#[tokio::test]
async fn a_program_that_breaks_the_runner_itself_ends_it() {
    let session = Bed::new().start().await;
    let heard = session.run("import sys\nsys.modules['cellist_runner.outlet'].to_json = None").await;
    assert!(matches!(heard.0.last(), Some(cellist_kernel::Event::Died(_))), "{heard}");
}
