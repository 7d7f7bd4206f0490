//! Displays, with and without IPython.

use cellist_kernel::Event;

use super::bed::{Bed, Session, full_python};

/// The same displays, whether IPython is there or stood in for.
async fn check_displays(session: &Session) {
    session
        .check(&[
            ("display(1, 'a')", "display text/plain=1\ndisplay text/plain='a'"),
            ("display()", ""),
            ("from IPython.display import *", ""),
            ("HTML('<b>x</b>')", "result text/plain=<IPython.core.display.HTML object> text/html=<b>x</b>"),
            ("display(Markdown('*x*'))", "display text/plain=<IPython.core.display.Markdown object> text/markdown=*x*"),
            ("Math('x')", r"result text/plain=<IPython.core.display.Math object> text/latex=$\displaystyle x$"),
            ("Latex('x')", "result text/plain=<IPython.core.display.Latex object> text/latex=x"),
            ("Pretty('x')", "result text/plain=x"),
            ("Javascript('1')", "result text/plain=<IPython.core.display.Javascript object> application/javascript=1"),
            ("JSON({'b': 1, 'a': [2]})", r#"result text/plain=<IPython.core.display.JSON object> application/json={"b": 1, "a": [2]}"#),
            ("display({'text/plain': 'raw'}, raw=True)", "display text/plain=raw"),
            ("publish_display_data({'text/plain': 'published'})", "display text/plain=published"),
            ("display_html('<b>', raw=True)", "display text/html=<b>"),
            ("display(HTML('<i>'), include=['text/html'])", "display text/html=<i>"),
            ("print('a'); clear_output(); print('b')", "stdout a\\n\nclear wait=false\nstdout b\\n"),
            ("clear_output(wait=True)", "clear wait=true"),
            ("h = display('one', display_id='mine')", "display text/plain='one' (mine)"),
            ("h.update('two')", "update text/plain='two' (mine)"),
            ("update_display('three', display_id='mine')", "update text/plain='three' (mine)"),
            ("h.display('four')", "display text/plain='four' (mine)"),
            ("h", "result text/plain=<DisplayHandle display_id=mine>"),
            ("Image(url='http://x/y.png')", r#"result text/html=<img src="http://x/y.png"/> text/plain=<IPython.core.display.Image object>"#),
            (
                "import base64\npng = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')\nImage(png)",
                "result image/png=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== text/plain=<IPython.core.display.Image object>",
            ),
            (
                "IFrame('http://x', 3, 4)._repr_html_().split()[:4]",
                r#"result text/plain=['<iframe', 'width="3"', 'height="4"', 'src="http://x"']"#,
            ),
            ("ProgressBar(10)", "result text/plain=[                                                            ] 0/10 text/html=<progress style='width:60ex' max='10' value='0'></progress>"),
            ("from IPython import get_ipython as g\ng() is get_ipython(), type(g()).__name__", "result text/plain=(True, 'ZMQInteractiveShell')"),
            ("get_ipython().config['IPKernelApp'] is not None", "result text/plain=True"),
        ])
        .await;
    let heard = session.run("display('x', display_id=True);").await;
    let Event::Display { display_id: Some(id), .. } = &heard.0[1] else { panic!("{heard}") };
    assert_eq!(id.len(), 32);
}

#[tokio::test]
async fn displays_work_where_ipython_is_missing() {
    let session = Bed::new().start().await;
    check_displays(&session).await;
    session
        .check(&[
            ("import IPython\nIPython.display.HTML is HTML", "result text/plain=True"),
            (
                "import IPython.nothing",
                "error ModuleNotFoundError: No module named 'IPython.nothing'\nfailed",
            ),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn displays_of_ipython_reach_us_where_it_is_installed() {
    let session = Bed::with(full_python()).start().await;
    check_displays(&session).await;
    session
        .check(&[(
            "import IPython\nIPython.__version__.startswith(('8.37', '7.'))",
            "result text/plain=False",
        )])
        .await;
    session.end().await;
}

#[tokio::test]
async fn objects_say_themselves_how_they_look() {
    let session = Bed::new().start().await;
    session
        .check(&[
            (
                "class C:\n    def __repr__(self): return 'C'\n    def _repr_html_(self): return '<c>'\n    def _repr_png_(self): return b'abc', {'width': 3}\n    def _repr_json_(self): return {'a': float('nan')}\nC()",
                r#"result text/plain=C text/html=<c> image/png=YWJj application/json={"a": "nan"}"#,
            ),
            (
                "class M:\n    def __repr__(self): return 'M'\n    def _repr_mimebundle_(self, include=None, exclude=None): return {'text/x': 'm'}, {'text/x': {'k': 1}}\nM()",
                "result text/x=m text/plain=M",
            ),
            ("class D:\n    def _ipython_display_(self): print('displayed')\nD()", r"stdout displayed\n"),
            ("C", "result text/plain=__main__.C"),
            ("class Any:\n    def __getattr__(self, name): return lambda *a, **k: 'x'\n    def __repr__(self): return 'any'\nAny()", "result text/plain=any"),
        ])
        .await;
    let heard = session.run("C()").await;
    let Event::Result { metadata, .. } = &heard.0[1] else { panic!("{heard}") };
    assert_eq!(metadata.get(), r#"{"image/png": {"width": 3}}"#);
    session
        .check(&[(
            "get_ipython().display_formatter.formatters['text/html'].for_type(int, lambda n: '<i>%d</i>' % n)\n5",
            "result text/plain=5 text/html=<i>5</i>",
        )])
        .await;
    session.end().await;
}

#[tokio::test]
async fn an_error_in_a_display_shows_no_frames_of_ours() {
    let session = Bed::new().start().await;
    let heard = session.run("class A:\n    def __repr__(self): return 1 / 0\ndisplay(A())").await;
    let traceback = heard.error().unwrap().2;
    assert!(traceback.contains("A.__repr__") && !traceback.contains("cellist"), "{traceback}");
    session.end().await;
}
