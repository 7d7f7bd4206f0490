//! Magics: each with its effect, in a block too, and never inside a string.

use super::bed::Bed;

#[tokio::test]
async fn each_magic_has_its_effect() {
    let bed = Bed::new();
    bed.file(
        "program.py",
        "import sys\nprint(__name__, sys.argv[1:], __file__)\nmade = 4\ndef f(): return made\n",
    );
    bed.file("sub/here", "");
    let session = bed.start().await;
    let work = session.bed.launch.cwd.canonicalize().unwrap();
    let work = work.display();
    session
        .check(&[
            ("!echo hello; echo error >&2; exit 4", r"stdout hello\r\nerror\r\n"),
            ("_exit_code", "result text/plain=4"),
            ("x = !printf 'a\\nb\\n'", ""),
            ("x, x.n, x.s, x[0]", r"result text/plain=(['a', 'b'], 'a\nb', 'a b', 'a')"),
            ("name = 'world'\n!echo $name {name.upper()} '$$HOME $name'", r"stdout world WORLD $HOME $name\r\n"),
            ("!echo one \\\n  two\nprint('after')", r"stdout one two\r\nafter\n"),
            ("%cd sub", &format!(r"stdout {work}/sub\n")),
            ("%pwd", &format!("result text/plain='{work}/sub'")),
            ("%cd -q ..", ""),
            ("import os\nos.getcwd()", &format!("result text/plain='{work}'")),
            ("%cd -", &format!(r"stdout {work}/sub\n")),
            ("%cd {os.path.dirname(os.getcwd())}", &format!(r"stdout {work}\n")),
            ("%env FIRST=1 2", r"stdout env: FIRST=1 2\n"),
            ("%env FIRST", "result text/plain='1 2'"),
            ("%set_env SECOND two", r"stdout env: SECOND=two\n"),
            ("!echo $SECOND", r"stdout two\r\n"),
            ("where = %env SECOND", ""),
            ("where", "result text/plain='two'"),
            ("d = {}\nd['a=b'] = !echo kept\nd", "result text/plain={'a=b': ['kept']}"),
            ("%%writefile made.txt\none\ntwo", r"stdout Writing made.txt\n"),
            ("%%writefile -a made.txt\nthree", r"stdout Appending to made.txt\n"),
            ("open('made.txt').read()", r"result text/plain='one\ntwo\nthree\n'"),
            ("%%bash\necho out\necho err >&2", "stdout out\\n\nstderr err\\n"),
            ("%%bash\nexit 3", "error CalledProcessError: Command 'b'exit 3\\n'' returned non-zero exit status 3.\nfailed"),
            ("%%sh\necho $0", r"stdout sh\n"),
            ("%%script cat\nas it is", r"stdout as it is\n"),
            ("%%capture kept\nprint('p')\nimport sys\nprint('e', file=sys.stderr)\ndisplay(1)\n!echo child\n2", ""),
            ("kept.stdout, kept.stderr, len(kept.outputs)", r"result text/plain=('p\nchild\r\n', 'e\n', 2)"),
            ("kept.show()", "stdout p\\nchild\\r\\n\nstderr e\\n\ndisplay text/plain=1\ndisplay text/plain=2"),
            ("%run program.py a b", r"stdout __main__ ['a', 'b'] program.py\n"),
            ("made, f()", "result text/plain=(4, 4)"),
            ("%load_ext autoreload\n%autoreload 2", ""),
            ("%matplotlib inline", ""),
            ("%load_ext nothing_like_it", "error ModuleNotFoundError: No module named 'nothing_like_it'\nfailed"),
            ("%%html\n<b>h</b>", r"display text/plain=<IPython.core.display.HTML object> text/html=<b>h</b>\n"),
            ("%%markdown\n*m*", r"display text/plain=<IPython.core.display.Markdown object> text/markdown=*m*\n"),
            ("%%javascript\nalert(1)", r"display text/plain=<IPython.core.display.Javascript object> application/javascript=alert(1)\n"),
            ("%reset -f", ""),
            ("%who", r"stdout Interactive namespace is empty.\n"),
            ("a, b = 1, 'x'\n%who", "stdout a\t b\t \\n"),
            ("%who_ls str float", "result text/plain=['b']"),
            ("%who float", r"stdout No variables match your requested type.\n"),
            ("%config InlineBackend.figure_format = 'retina'", ""),
            ("%pinfo len", "stdout Signature:      len(obj, /)\\nDocstring:      Return the number of items in a container.\\nType:           builtin_function_or_method\\n"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn times_are_told_and_values_kept() {
    let session = Bed::new().start().await;
    for (code, result) in [
        ("%time 6 * 7", Some("42")),
        ("%%time\nx = 3\nx + 1", Some("4")),
        ("%%time\n1 + 1;", None),
        ("%time y = 5", None),
    ] {
        let heard = session.run(code).await;
        assert_eq!(heard.result(), result, "{code}: {heard}");
        let said = heard.stdout();
        assert!(said.starts_with("CPU times: user ") && said.contains("\nWall time: "), "{code}: {said}");
    }
    session.check(&[("x, y", "result text/plain=(3, 5)")]).await;
    for code in ["%timeit -n 10 -r 2 x + 1", "%%timeit -n 10 -r 2\nx + 1"] {
        let said = session.run(code).await.stdout();
        assert!(said.contains(" per loop (mean ± std. dev. of 2 runs, 10 loops each)"), "{code}: {said}");
    }
    let heard = session.run("%%time\n1 / 0").await;
    assert_eq!(heard.error().map(|error| error.0), Some("ZeroDivisionError"));
    assert!(heard.stdout().starts_with("CPU times: user "), "{heard}");
    session.end().await;
}

#[tokio::test]
async fn magics_work_inside_blocks_and_functions() {
    let session = Bed::new().start().await;
    let code = "
import os
for i in range(2):
    !echo $i
    y = !echo {i + 10}
    print(y)
    %env STEP=$i
    if i:
        %cd -q /
def where(name):
    !echo in $name
    return os.getcwd()
where('function')";
    session
        .check(&[(
            code,
            "stdout 0\\r\\n['10']\\nenv: STEP=0\\n1\\r\\n['11']\\nenv: STEP=1\\nin function\\r\\n\nresult text/plain='/'",
        )])
        .await;
    session.end().await;
}

#[tokio::test]
async fn what_only_looks_like_a_magic_is_left_alone() {
    let session = Bed::new().start().await;
    let code = "
text = '''
%cd /
!echo no
x?
'''
other = \"\"\"a \\\"\"\"
%env A=1
\"\"\"
a = (7
%4)
b = 17 \\
%5
c = [
    # it's a comment
    5
    !=6
]
!echo yes
text, other, a, b, c";
    session
        .check(&[
            (
                code,
                "stdout yes\\r\\n\nresult text/plain=('\\n%cd /\\n!echo no\\nx?\\n', 'a \"\"\"\\n%env A=1\\n', 3, 2, [True])",
            ),
            ("'%cd /'\n\"!no\"", "result text/plain='!no'"),
            ("1 % 2", "result text/plain=1"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn help_is_printed() {
    let session = Bed::new().start().await;
    session.check(&[("def f(x):\n    'Does it.'\n    return x", "")]).await;
    for code in ["f?", "?f", "if True:\n    f?"] {
        let said = session.run(code).await.stdout();
        assert!(said.starts_with("Signature:      f(x)\nDocstring:      Does it.\n"), "{code}: {said}");
    }
    let said = session.run("f??").await.stdout();
    assert!(said.contains("Source:\ndef f(x):\n    'Does it.'\n    return x\n"), "{said}");
    session.check(&[("nothing?", r"stdout Object `nothing` not found.\n")]).await;
    session.end().await;
}

#[tokio::test]
async fn a_magic_that_does_not_exist_is_named() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("x = 1\n%nothing a", "stderr UsageError: Line magic function `%nothing` not found.\\n\nfailed"),
            ("%%nothing\na", "stderr UsageError: Cell magic `%%nothing` not found.\\n\nfailed"),
            ("%bash", "stderr UsageError: Line magic function `%bash` not found. But cell magic `%%bash` exists, did you mean that instead?\\n\nfailed"),
            ("x", "result text/plain=1"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn pip_runs_for_this_python_and_what_it_installs_can_be_imported() {
    let bed = Bed::new();
    bed.file("package/pyproject.toml", "[project]\nname = 'tiny'\nversion = '1'\n");
    let session = bed.start().await;
    let heard = session.run("%pip --version").await;
    assert!(heard.stdout().starts_with("pip ") && heard.stdout().contains("python"), "{heard}");
    assert!(
        heard.stdout().ends_with("Note: you may need to restart the kernel to use updated packages.\n"),
        "{heard}"
    );
    let heard = session.run("pip list --format=freeze").await;
    assert!(heard.stdout().contains("pip=="), "{heard}");
    // The finder has looked into the folder before the module is there.
    session
        .check(&[
            ("import os, sys\nos.mkdir('lib')\nsys.path.insert(0, 'lib')\ntry:\n    import tiny\nexcept ImportError:\n    print('not yet')", r"stdout not yet\n"),
            ("when = os.stat('lib').st_mtime_ns\nopen('lib/tiny.py', 'w').write('x = 1')\nos.utime('lib', ns=(when, when))", ""),
        ])
        .await;
    session.run("%pip --version").await;
    session.check(&[("import tiny\ntiny.x", "result text/plain=1")]).await;
    session.end().await;
}

#[tokio::test]
async fn where_pip_is_missing_it_is_said_how_to_get_it() {
    let bed = Bed::new();
    let venv = bed.scratch.path().join("venv");
    let made = std::process::Command::new(&bed.python)
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .status()
        .unwrap();
    assert!(made.success());
    let python = venv.join("bin/python");
    let bed = Bed { python: python.clone(), ..bed };
    let session = bed.start().await;
    let python = python.display();
    let heard = session.run("%pip install x").await;
    assert!(
        heard.stderr().starts_with(&format!(
            "UsageError: pip is not installed for {python}. Run `{python} -m ensurepip"
        )),
        "{heard}"
    );
    session.end().await;
}

#[tokio::test]
async fn changed_modules_are_loaded_again_when_that_is_wanted() {
    let bed = Bed::new();
    let module = bed.file("changing.py", "x = 1\n");
    let session = bed.start().await;
    session
        .check(&[
            ("%load_ext autoreload\n%autoreload 2\nimport changing\nchanging.x", "result text/plain=1"),
            ("1", "result text/plain=1"),
        ])
        .await;
    std::fs::write(&module, "x = 2222\n").unwrap();
    session.check(&[("changing.x", "result text/plain=2222")]).await;
    session.end().await;
}

#[tokio::test]
async fn magics_of_ipython_work_where_it_is_installed() {
    let session = Bed::with(super::bed::full_python()).start().await;
    let heard = session.run("x = 3\n%prun -q y = x + 1").await;
    assert!(heard.is_ok(), "{heard} {:?}", heard.error());
    session
        .check(&[
            ("y", "result text/plain=4"),
            ("%nothing", "stderr UsageError: Line magic function `%nothing` not found.\\n\nfailed"),
            ("In[1:3], x", "result text/plain=([\"x = 3\\nget_ipython().run_line_magic('prun', '-q y = x + 1')\", 'y'], 3)"),
            ("print('still here')\ndisplay(1)", "stdout still here\\n\ndisplay text/plain=1"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_program_can_add_magics() {
    let session = Bed::new().start().await;
    session
        .check(&[
            (
                "from IPython.core.magic import register_line_magic, register_cell_magic\n@register_line_magic\ndef twice(line): return line * 2\n@register_cell_magic\ndef shout(line, cell): print(cell.upper())",
                "",
            ),
            ("%twice ab", "result text/plain='abab'"),
            ("%%shout\nhello", r"stdout HELLO\n\n"),
        ])
        .await;
    session.end().await;
}
