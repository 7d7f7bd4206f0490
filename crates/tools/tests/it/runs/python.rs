use serde_json::json;

use super::desk::{BOTH, Desk, artifact, images};

#[tokio::test]
async fn variables_last_in_a_session_and_the_first_answer_names_the_interpreter() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let first = desk.told("python", json!({ "code": "x = 20\nprint('hello')\nx + 1" })).await;
        let python = testkit::python("kernels");
        assert_eq!(first, format!("[{backend} {}]\nhello\n21\nsession robot-1", python.display()));
        assert_eq!(desk.told("python", json!({ "code": "x" })).await, "20\nsession robot-1");
        assert_eq!(desk.told("python", json!({ "code": "x = 1" })).await, "[No output]\nsession robot-1");
        let other = desk.told("python", json!({ "code": "'x' in globals()", "session": "other" })).await;
        assert!(other.ends_with("False\nsession other"), "{other}");
        let reset = desk.told("python", json!({ "code": "'x' in globals()", "reset": true })).await;
        assert!(reset.contains("False\n[New kernel: ") && reset.contains("Earlier state is gone"), "{reset}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn an_exception_names_the_cell_and_keeps_the_state() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let cells = json!({ "cells": [
            { "code": "x = 1\nprint('one')" },
            { "code": "y = x / 0", "title": "divide" },
            { "code": "print('never')" },
        ] });
        let text = desk.refused("python", cells).await;
        assert!(text.starts_with("Error: ZeroDivisionError: division by zero\n"), "{text}");
        assert!(text.contains("[1/3]\none\n[2/3] divide\n"), "{text}");
        assert!(text.ends_with("session robot-1\n1 ok, 1 failed: 2; not run: 3"), "{text}");
        assert!(text.contains("The kernel's state was kept.") && !text.contains("never"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(desk.told("python", json!({ "code": "x" })).await.starts_with("1\n"));
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_long_traceback_drops_library_frames_and_repeats_no_message() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let code = "import pandas as pd\ndef mine():\n    return pd.DataFrame({'a': [1]})['b']\nmine()";
        let answer = desk.call("python", json!({ "code": code })).await;
        let text = answer.all_text();
        assert!(answer.is_failure && text.starts_with("Error: KeyError: 'b'"), "{text}");
        assert!(text.contains(" frames in pandas hidden]") && text.len() < 1000, "{text}");
        assert!(!text.contains("site-packages") && text.matches("KeyError").count() == 1, "{text}");
        assert!(text.contains("in mine") && text.contains("return pd.DataFrame({'a': [1]})['b']"), "{text}");
        let whole = json!({ "id": artifact(&answer), "max_output": 100_000 });
        let whole = desk.told("read_artifact", whole).await;
        assert!(whole.contains("hashtable_class_helper.pxi") && whole.len() > text.len(), "{whole}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_plot_is_a_picture_never_text() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let code = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()";
        let answer = desk.call("python", json!({ "code": code, "timeout": 120 })).await;
        let (text, images) = (answer.all_text(), images(&answer));
        assert!(!answer.is_failure && images.len() == 1, "{text}");
        assert_eq!(images[0].0, "image/png");
        assert!(images[0].1.starts_with("iVBORw0KGgo") && text.len() < 400, "{text}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_table_is_short() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let code = "import pandas as pd\npd.DataFrame({'n': range(100_000), 'm': 'word'})";
        let text = desk.told("python", json!({ "code": code, "timeout": 120 })).await;
        assert!(text.contains("[100000 rows x 2 columns]") && text.len() < 1000, "{text}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn other_languages_have_a_kernel_of_their_own() {
    let desk = Desk::new("auto");
    let argv = json!([testkit::python("kernels"), "-m", "bash_kernel", "-f", "{connection_file}"]);
    let spec = json!({ "argv": argv, "display_name": "Bash", "language": "bash" });
    let folder = desk.bed.work().join(".local/share/jupyter/kernels/bash");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kernel.json"), spec.to_string()).unwrap();
    let cells = json!({ "cells": [
        { "language": "py", "code": "print('from python')" },
        { "language": "bash", "code": "A=7; echo from bash" },
        { "language": "py", "code": "z = 1\nz" },
    ], "timeout": 120 });
    let text = desk.told("eval", cells).await;
    assert!(text.contains("[1/3 python]\nfrom python\n[2/3 bash]\nfrom bash\n[3/3 python]\n1\n"), "{text}");
    assert!(text.ends_with("session robot-1\n3 ok"), "{text}");
    let again = desk.told("eval", json!({ "cells": [{ "language": "sh", "code": "echo $A" }] })).await;
    assert!(again.starts_with("7\n"), "{again}");
    assert!(desk.told("python", json!({ "code": "z" })).await.starts_with("1\n"));
    let refused =
        desk.refused("eval", json!({ "cells": [{ "language": "cobol", "code": "STOP RUN." }] })).await;
    assert!(refused.starts_with("Error: no kernel for cobol is installed"), "{refused}");
    let variables = desk.refused("get_variables", json!({ "session": "robot-1:bash" })).await;
    assert!(variables.contains("only Python kernels list variables, and this one runs bash"), "{variables}");
    desk.bed.close().await;
}

#[tokio::test]
async fn calls_that_cannot_run_are_refused_with_a_hint() {
    let desk = Desk::new("runner");
    for (arguments, expected) in [
        (json!({}), "nothing to run: give `code`"),
        (json!({ "cells": [] }), "nothing to run: give `code`"),
        (json!({ "code": "1", "cells": [{ "code": "2" }] }), "give `code` or `cells`, not both"),
        (json!({ "code": "1", "cwd": "nowhere" }), "nowhere: no such folder"),
    ] {
        let text = desk.refused("python", arguments).await;
        assert!(text.contains(expected), "{text}");
    }
    assert!(desk.refused("eval", json!({ "cells": [] })).await.contains("`cells` is empty"));
    desk.bed.close().await;
}
