//! Every kind of output.

use cellist_output::{MimeBundle, Output, RawJson, StreamName};

use super::*;

#[test]
fn an_error_is_marked_by_a_bar() {
    let traceback = "\u{1b}[31mTraceback (most recent call last)\u{1b}[39m\n  File \"<cell>\", line 1, in <module>\n    frame = load('data.csv')\nFileNotFoundError: no such file: 'data.csv'";
    let error = |traceback: &str| Output::Error {
        name: "FileNotFoundError".into(),
        message: "no such file: 'data.csv'".into(),
        traceback: traceback.lines().map(str::to_owned).collect(),
    };
    let block = CellBlock { state: BlockState::Failed, ..showing(&[printed("reading\n"), error(traceback)]) };
    insta::assert_snapshot!(screens(&block), @r#"
    - folded at 40
    ✗ [3] load the data  failed · 0.42 s
    │ frame = load('data.csv')
      … 2 hidden (Ctrl-O)
      ▌   File "<cell>", line 1, in <module>
      ▌     frame = load('data.csv')
      ▌ FileNotFoundError: no such file: 'da
      ▌ ta.csv'
    - folded at 80
    ✗ [3] load the data  failed · 0.42 s
    │ frame = load('data.csv')
      … 1 earlier line hidden (Ctrl-O shows all)
      ▌ Traceback (most recent call last)
      ▌   File "<cell>", line 1, in <module>
      ▌     frame = load('data.csv')
      ▌ FileNotFoundError: no such file: 'data.csv'
    = folded at 160
    - unfolded at 40
    ✗ [3] load the data  failed · 0.42 s
    │ frame = load('data.csv')
      reading
      ▌ Traceback (most recent call last)
      ▌   File "<cell>", line 1, in <module>
      ▌     frame = load('data.csv')
      ▌ FileNotFoundError: no such file: 'da
      ▌ ta.csv'
    - unfolded at 80
    ✗ [3] load the data  failed · 0.42 s
    │ frame = load('data.csv')
      reading
      ▌ Traceback (most recent call last)
      ▌   File "<cell>", line 1, in <module>
      ▌     frame = load('data.csv')
      ▌ FileNotFoundError: no such file: 'data.csv'
    = unfolded at 160
    "#);
    insta::assert_snapshot!(screens(&CellBlock { state: BlockState::Failed, ..showing(&[error("")]) }), @"
    - folded at 40
    ✗ [3] load the data  failed · 0.42 s
    │ frame = load('data.csv')
      ▌ FileNotFoundError: no such file: 'da
      ▌ ta.csv'
    - folded at 80
    ✗ [3] load the data  failed · 0.42 s
    │ frame = load('data.csv')
      ▌ FileNotFoundError: no such file: 'data.csv'
    = folded at 160
    - unfolded at 40
    ✗ [3] load the data  failed · 0.42 s
    │ frame = load('data.csv')
      ▌ FileNotFoundError: no such file: 'da
      ▌ ta.csv'
    - unfolded at 80
    ✗ [3] load the data  failed · 0.42 s
    │ frame = load('data.csv')
      ▌ FileNotFoundError: no such file: 'data.csv'
    = unfolded at 160
    ");
}

#[test]
fn json_is_shown_as_a_tree() {
    let json =
        RawJson::new(r#"{"name":"alpha","tags":["a","b"],"size":{"width":640,"height":1e3}}"#).unwrap();
    let data =
        MimeBundle::text("text/plain", "<IPython.core.display.JSON object>").with("application/json", json);
    insta::assert_snapshot!(screens(&showing(&[Output::display(data)])), @r#"
    - folded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      … 4 hidden (Ctrl-O)
          1: "b"
        size: object, 2 keys
          width: 640
          height: 1e3
    - folded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      … 4 earlier lines hidden (Ctrl-O shows all)
          1: "b"
        size: object, 2 keys
          width: 640
          height: 1e3
    = folded at 160
    - unfolded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      object, 3 keys
        name: "alpha"
        tags: array, 2 items
          0: "a"
          1: "b"
        size: object, 2 keys
          width: 640
          height: 1e3
    = unfolded at 80
    = unfolded at 160
    "#);
}

#[test]
fn an_html_table_is_shown_as_a_table() {
    let html = "<table><thead><tr><th></th><th>name</th><th>remark</th></tr></thead><tbody>\
        <tr><th>0</th><td>alpha</td><td>the first of them, and the one with the longest remark</td></tr>\
        <tr><th>1</th><td>beta</td><td>2.5</td></tr></tbody></table>";
    let data = MimeBundle::text("text/plain", "   name\n0 alpha").with("text/html", html);
    insta::assert_snapshot!(screens(&showing(&[Output::result(1, data)])), @"
    - folded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
         name   remark
      ─  ─────  ────────────────────────────
      0  alpha  the first of them, and the …
      1  beta   2.5
    - folded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
         name   remark
      ─  ─────  ──────────────────────────────────────────────────────
      0  alpha  the first of them, and the one with the longest remark
      1  beta   2.5
    = folded at 160
    - unfolded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
         name   remark
      ─  ─────  ────────────────────────────
      0  alpha  the first of them, and the …
      1  beta   2.5
    - unfolded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
         name   remark
      ─  ─────  ──────────────────────────────────────────────────────
      0  alpha  the first of them, and the one with the longest remark
      1  beta   2.5
    = unfolded at 160
    ");
}

#[test]
fn markdown_is_rendered() {
    let data = MimeBundle::text(
        "text/markdown",
        "## Result\n\nThe *mean* is `2.5`, which is what was expected of it.\n\n- one\n- two",
    );
    insta::assert_snapshot!(screens(&showing(&[Output::display(data)])), @"
    - folded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      … 3 hidden (Ctrl-O)
      expected of it.

      • one
      • two
    - folded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      … 2 earlier lines hidden (Ctrl-O shows all)
      The mean is 2.5, which is what was expected of it.

      • one
      • two
    = folded at 160
    - unfolded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      Result

      The mean is 2.5, which is what was
      expected of it.

      • one
      • two
    - unfolded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      Result

      The mean is 2.5, which is what was expected of it.

      • one
      • two
    = unfolded at 160
    ");
    let block = CellBlock {
        source: BlockSource::Markdown("# Title\n\nprose".into()),
        label: "[0]".into(),
        ..CellBlock::default()
    };
    insta::assert_snapshot!(screens(&block), @"
    - folded at 40
    · [0]
      Title

      prose
    = folded at 80
    = folded at 160
    = unfolded at 40
    = unfolded at 80
    = unfolded at 160
    ");
}

#[test]
fn status_events_come_last() {
    let event = |json: &str| {
        Output::display(MimeBundle::new().with("application/x-cellist-status", RawJson::new(json).unwrap()))
    };
    let read = event(r#"{"op":"read","path":"a/rather/long/path/to/some/data.csv","bytes":1204}"#);
    let block = showing(&[read, printed("done\n"), event(r#"{"op":"bash","command":"ls"}"#)]);
    insta::assert_snapshot!(screens(&block), @"
    - folded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      done
      • read  path=a/rather/long/path/to/so…
      • bash  command=ls
    - folded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      done
      • read  path=a/rather/long/path/to/some/data.csv  bytes=1204
      • bash  command=ls
    = folded at 160
    - unfolded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      done
      • read  path=a/rather/long/path/to/so…
      • bash  command=ls
    - unfolded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      done
      • read  path=a/rather/long/path/to/some/data.csv  bytes=1204
      • bash  command=ls
    = unfolded at 160
    ");
}

#[test]
fn a_notice_has_a_warning_sign() {
    let mut block = showing(&[Output::stream(StreamName::Stderr, "careful\n")]);
    block.pieces.push(OutputPiece::Warning("showing 40 of 9,000 lines; the whole is artifact://3f9a".into()));
    insta::assert_snapshot!(screens(&block), @"
    - folded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      careful
      ⚠ showing 40 of 9,000 lines; the whole
        is artifact://3f9a
    - folded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      careful
      ⚠ showing 40 of 9,000 lines; the whole is artifact://3f9a
    = folded at 160
    - unfolded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      careful
      ⚠ showing 40 of 9,000 lines; the whole
        is artifact://3f9a
    - unfolded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      careful
      ⚠ showing 40 of 9,000 lines; the whole is artifact://3f9a
    = unfolded at 160
    ");
}

#[test]
fn images_that_cannot_be_shown_are_described_with_their_text() {
    let shown = |mime: &str, data: &str, plain: &str| {
        Output::display(MimeBundle::text(mime, data).with("text/plain", plain.to_owned()))
    };
    let block = showing(&[
        shown("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>", "Graph(3 nodes)"),
        shown("image/svg+xml", "<svg/>", "<IPython.core.display.SVG object>"),
        shown("image/png", "bm90IG9uZQ==", "<Figure size 640x480 with 1 Axes>"),
    ]);
    insta::assert_snapshot!(screens(&block), @"
    - folded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      … 4 hidden (Ctrl-O)
      shown in a terminal]
      <Figure size 640x480 with 1 Axes>
      [image/png image, 9 bytes: not shown
      in a terminal]
    - folded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      … 1 earlier line hidden (Ctrl-O shows all)
      [image/svg+xml image, 41 bytes: not shown in a terminal]
      [image/svg+xml image, 6 bytes: not shown in a terminal]
      <Figure size 640x480 with 1 Axes>
      [image/png image, 9 bytes: not shown in a terminal]
    = folded at 160
    - unfolded at 40
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      Graph(3 nodes)
      [image/svg+xml image, 41 bytes: not
      shown in a terminal]
      [image/svg+xml image, 6 bytes: not
      shown in a terminal]
      <Figure size 640x480 with 1 Axes>
      [image/png image, 9 bytes: not shown
      in a terminal]
    - unfolded at 80
    ✓ [3] load the data  0.42 s
    │ frame = load('data.csv')
      Graph(3 nodes)
      [image/svg+xml image, 41 bytes: not shown in a terminal]
      [image/svg+xml image, 6 bytes: not shown in a terminal]
      <Figure size 640x480 with 1 Axes>
      [image/png image, 9 bytes: not shown in a terminal]
    = unfolded at 160
    ");
}
