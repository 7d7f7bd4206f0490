//! Completion, inspection, and whether code is complete.

use cellist_kernel::{Completeness, Completion, Error, Request};

use super::bed::{Bed, Session, all, until_printed};

async fn complete(session: &Session, code: &str) -> Completion {
    // `|` stands for the cursor.
    let (before, after) = code.split_once('|').unwrap();
    session.kernel.complete(&format!("{before}{after}"), before.chars().count()).await.unwrap()
}

#[tokio::test]
async fn what_live_objects_have_can_be_completed() {
    let session = Bed::new().start().await;
    let code = "
class Thing:
    alpha, alphabet, _hidden = 1, 2, 3
    def method(self, first, second=2): pass
thing = Thing()
table = {'key one': {'inner': 5}, 'other': 2}
größe = 'text'
def function(width, height=3): pass
";
    session.check(&[(code, "")]).await;
    for (code, start, end, matches) in [
        ("thing.alp|", 6, 9, &["alpha", "alphabet"][..]),
        ("x = thing.me|", 10, 12, &["method"]),
        ("größe.upp|", 6, 9, &["upper"]),
        ("ä = gr|", 4, 6, &["größe"]),
        ("table['k|", 7, 8, &["key one']"]),
        ("table['o|']", 7, 8, &["other"]),
        ("table['key one']['i|", 18, 19, &["inner']"]),
        ("thi|", 0, 3, &["thing"]),
        ("function(wid|", 9, 12, &["width="]),
        ("import zipa|", 7, 11, &["zipapp"]),
        ("from json import loa|", 17, 20, &["load", "loads"]),
        ("%writef|", 0, 7, &["%%writefile"]),
        ("for i in range(3):\n    %pw|", 23, 26, &["%pwd"]),
        ("nothing.at_all|", 8, 14, &[]),
        ("(1).bit|", 4, 7, &[]),
        ("isinst|", 0, 6, &["isinstance"]),
        ("lamb|", 0, 4, &["lambda"]),
        ("thing._h|", 6, 8, &["_hidden"]),
    ] {
        let completion = complete(&session, code).await;
        let expected =
            Completion { matches: matches.iter().map(|name| (*name).into()).collect(), start, end };
        assert_eq!(completion, expected, "{code}");
    }
    session.end().await;
}

#[tokio::test]
async fn questions_are_answered_while_a_cell_runs_or_the_kernel_is_said_to_be_busy() {
    let session = Bed::new().start().await;
    session.check(&[("number = 5", "")]).await;
    let code = "print('ready')\nimport time\nwhile True: time.sleep(0.001)";
    let mut execution = session.kernel.execute(Request::new(code)).await.unwrap();
    until_printed(&mut execution, "ready").await;
    assert_eq!(complete(&session, "numb|").await.matches, ["number"]);
    session.kernel.interrupt(execution.id).await.unwrap();
    all(execution).await;
    // C code that keeps Python's lock keeps everyone from answering.
    let code = "import ctypes\nc = ctypes.PyDLL(None)\nprint('ready')\nc.sleep(600)";
    let mut execution = session.kernel.execute(Request::new(code)).await.unwrap();
    until_printed(&mut execution, "ready").await;
    // It may take a moment until it has the lock.
    while session.kernel.complete("numb", 4).await.is_ok() {}
    assert!(matches!(session.kernel.complete("numb", 4).await, Err(Error::Busy)));
    session.end().await;
    all(execution).await;
}

#[tokio::test]
async fn a_value_that_takes_for_ever_to_look_at_stops_nothing_else() {
    let session = Bed::new().start().await;
    session
        .check(&[(
            "import time\nclass Slow:\n    @property\n    def value(self): time.sleep(600)\nslow = Slow()",
            "",
        )])
        .await;
    let asking = session.kernel.complete("slow.value.x", 12);
    tokio::select! {
        answer = asking => panic!("{answer:?}"),
        completion = complete(&session, "sl|") => assert_eq!(completion.matches, ["slice", "slow"]),
    }
    session.end().await;
}

#[tokio::test]
async fn names_can_be_looked_up() {
    let session = Bed::new().start().await;
    session.check(&[("def f(x, y=2):\n    '''Adds.'''\n    return x + y\nvalue = [1, 2]", "")]).await;
    let text = async |code: &str, cursor: usize, detail: bool| {
        let inspection = session.kernel.inspect(code, cursor, detail).await.unwrap();
        assert_eq!(inspection.found, !inspection.data.is_empty());
        inspection.data.get_text("text/plain").unwrap_or_default().to_owned()
    };
    for (code, cursor) in [("f", 1), ("1 + f(3)", 5), ("f(3, ", 5), ("f", 0)] {
        let said = text(code, cursor, false).await;
        assert!(said.starts_with("Signature:      f(x, y=2)\nDocstring:      Adds.\n"), "{code}: {said}");
    }
    assert!(text("f", 1, true).await.contains("    return x + y"));
    assert_eq!(
        text("value", 3, false).await.lines().take(3).collect::<Vec<_>>(),
        ["Type:           list", "String form:    [1, 2]", "Length:         2"]
    );
    assert_eq!(text("nothing", 3, false).await, "");
    assert!(text("%pwd", 3, false).await.contains("The working folder."));
    session.end().await;
}

#[tokio::test]
async fn it_is_known_whether_code_is_complete() {
    let session = Bed::new().start().await;
    let incomplete = |indent: &str| Completeness::Incomplete { indent: indent.into() };
    for (code, expected) in [
        ("1 + 1", Completeness::Complete),
        ("x = (1,", incomplete("")),
        ("x = [", incomplete("    ")),
        ("for i in x:", incomplete("    ")),
        ("for i in x:\n    print(i)", incomplete("    ")),
        ("for i in x:\n    print(i)\n\n", Completeness::Complete),
        ("def f():\n    return 1", incomplete("")),
        ("'''open", incomplete("")),
        ("x = 1 +", Completeness::Invalid),
        ("a b c", Completeness::Invalid),
        ("!ls", Completeness::Complete),
        ("await f()", Completeness::Complete),
        ("try:\n    x", incomplete("    ")),
        ("if True:\n    if x:", incomplete("        ")),
        ("@decorated", incomplete("")),
        ("x = 1 \\", incomplete("")),
        ("", Completeness::Complete),
        ("class A:\n    def f(self):\n        pass\n", incomplete("    ")),
    ] {
        assert_eq!(session.kernel.is_complete(code).await.unwrap(), expected, "{code:?}");
    }
    session.end().await;
}
