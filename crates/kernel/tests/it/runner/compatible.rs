//! The Python version of the code that runs in kernels.

use std::path::Path;
use std::process::{Command, Output};

use testkit::Scratch;

fn examine(file: &Path) -> Output {
    let arguments = ["-c", "import vermin; vermin.main()", "--target=3.8-", "--violations", "--no-tips"];
    Command::new(testkit::python("vermin")).args(arguments).arg(file).output().unwrap()
}

#[test]
fn our_python_runs_on_the_oldest_one_that_is_promised() {
    // A folder is examined with all that is in it.
    for file in ["runner", "src/jupyter/start.py"] {
        let found = examine(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        assert!(found.status.success(), "{file}: {}", String::from_utf8_lossy(&found.stdout));
    }
    // Newer syntax is detected.
    let scratch = Scratch::new();
    for newer in ["match x:\n    case 1: pass\n", "'abc'.removeprefix('a')\n", "import tomllib\n"] {
        assert!(!examine(&scratch.write("newer.py", newer)).status.success(), "{newer}");
    }
}
