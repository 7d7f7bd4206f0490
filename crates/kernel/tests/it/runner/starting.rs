//! The inputs of a runner at its start, and failures to start.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use cellist_kernel::{Death, Error, Module};

use super::bed::{Bed, LONG};

fn module(bed: &Bed, name: &str, text: &str) -> Module {
    Module { name: name.into(), path: bed.file(&format!("modules/{name}.py"), text) }
}

#[tokio::test]
async fn the_prelude_runs_before_the_modules_and_neither_counts() {
    let mut bed = Bed::new();
    bed.launch.prelude = Some("steps = ['prelude']\nprint('not seen')".into());
    bed.launch.modules = vec![
        module(&bed, "a", "steps.append('a')\ndef from_a(): return 'a'"),
        module(&bed, "b", "steps.append('b')"),
    ];
    let session = bed.start().await;
    assert_eq!(session.notices, Vec::<String>::new());
    session
        .check(&[
            (
                "steps, from_a(), In",
                "result text/plain=(['prelude', 'a', 'b'], 'a', ['', 'steps, from_a(), In'])",
            ),
            ("%who", r"stdout Interactive namespace is empty.\n"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_broken_module_is_reported_and_stops_nothing() {
    let mut bed = Bed::new();
    bed.launch.modules = vec![
        module(&bed, "raises", "x = 1\n1 / 0\n"),
        module(&bed, "garbled", "def f(:\n"),
        Module { name: "gone".into(), path: bed.scratch.path().join("gone.py") },
        module(&bed, "leaves", "import sys\nsys.exit(2)\n"),
        module(&bed, "good", "y = 2"),
    ];
    let session = bed.start().await;
    let folder = session.bed.launch.cwd.join("modules");
    let folder = folder.display();
    assert_eq!(session.notices.len(), 4, "{:?}", session.notices);
    assert_eq!(
        session.notices[0],
        format!("module raises failed ({folder}/raises.py, line 2): ZeroDivisionError: division by zero")
    );
    assert!(
        session.notices[1]
            .starts_with(&format!("module garbled failed ({folder}/garbled.py, line 1): SyntaxError: "))
    );
    assert!(
        session.notices[2].starts_with("module gone was not loaded: [Errno 2] No such file"),
        "{:?}",
        session.notices
    );
    assert_eq!(
        session.notices[3],
        format!("module leaves failed ({folder}/leaves.py, line 2): SystemExit: 2")
    );
    session.check(&[("x, y", "result text/plain=(1, 2)")]).await;
    session.end().await;
}

#[tokio::test]
async fn the_folder_is_the_working_folder_and_first_where_modules_are_looked_for() {
    let mut bed = Bed::new();
    bed.launch.environment.push(("GIVEN".into(), "yes".into()));
    bed.file("beside.py", "x = 'beside'");
    // Files with names of Python's own modules do not get into the runner's way.
    for name in ["traceback", "subprocess", "tokenize", "asyncio", "inspect", "shlex"] {
        bed.file(&format!("{name}.py"), "raise RuntimeError('not me')");
    }
    let session = bed.start().await;
    let work = session.bed.launch.cwd.canonicalize().unwrap();
    let kept = session.bed.launch.runtime_dir.display();
    session
        .check(&[
            (
                "import os, sys\nimport beside\nbeside.x, os.environ['GIVEN'], 'SHELL' in os.environ",
                "result text/plain=('beside', 'yes', False)",
            ),
            (
                "os.getcwd(), sys.path[0], sys.argv",
                &format!("result text/plain=('{0}', '{0}', [''])", work.display()),
            ),
            (
                &format!("any(entry == '' or entry.startswith('{kept}') for entry in sys.path[1:])"),
                "result text/plain=False",
            ),
            ("!echo works", r"stdout works\r\n"),
            ("1 / 0", "error ZeroDivisionError: division by zero\nfailed"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_runner_starts_where_nothing_can_be_kept() {
    let mut bed = Bed::new();
    bed.launch.runtime_dir = Path::new("/dev/null/nowhere").into();
    let session = bed.start().await;
    session.check(&[("1", "result text/plain=1")]).await;
    let heard = session.run("def f(): raise ValueError('x')\nf()").await;
    assert!(!heard.error().unwrap().2.contains("cellist"), "{heard}");
    session.end().await;
}

#[tokio::test]
async fn the_compiled_runner_is_kept_even_where_python_is_told_not_to() {
    let mut bed = Bed::new();
    bed.launch.runtime_dir = bed.scratch.path().join("run");
    bed.launch.environment.push(("PYTHONDONTWRITEBYTECODE".into(), "1".into()));
    let session = bed.start().await;
    session.check(&[("import sys\nsys.dont_write_bytecode", "result text/plain=True")]).await;
    let folder = std::fs::read_dir(&session.bed.launch.runtime_dir).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(folder.join("cellist_runner/__pycache__").is_dir());
    // A part that is loaded later, too.
    assert!(!folder.join("cellist_runner/magics/__pycache__").exists());
    session.run("%pwd").await;
    assert!(folder.join("cellist_runner/magics/__pycache__").is_dir());
    session.end().await;
}

#[tokio::test]
async fn the_kernel_says_what_it_is() {
    let session = Bed::new().start().await;
    let identity = session.kernel.identity();
    assert_eq!((identity.name.as_str(), identity.language.as_str()), ("python3", "python"));
    assert_eq!(identity.python.as_deref(), Some(session.bed.python.as_path()));
    let version = identity.version.unwrap();
    assert_eq!(identity.language_info.unwrap()["version"], version.as_str());
    let heard = session.run("import platform, os\nplatform.python_version(), os.getpid()").await;
    assert_eq!(heard.result(), Some(&*format!("('{version}', {})", identity.pid.unwrap())));
    session.end().await;
}

#[tokio::test]
async fn what_keeps_a_runner_from_starting_is_said() {
    let mut bed = Bed::new();
    bed.launch.cwd = bed.scratch.path().join("gone");
    let error = bed.try_start().await.err().unwrap();
    assert_eq!(error.to_string(), format!("{} is not a folder", bed.launch.cwd.display()));

    let mut bed = Bed::new();
    bed.python = bed.scratch.path().join("no-python");
    let error = bed.try_start().await.err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("{} cannot be started: there is no such program", bed.python.display())
    );

    for program in ["/bin/ls", "/bin/cat"] {
        bed.python = program.into();
        let error = bed.try_start().await.err().unwrap();
        assert!(error.to_string().starts_with(&format!("{program} is not a Python, it seems.")), "{error}");
        assert!(!error.to_string().contains("import"), "{error}");
        assert_eq!(error.hint().as_deref(), Some("name a Python with --python PATH"));
    }

    let mut bed = Bed::new();
    bed.launch.environment.push(("PYTHONHOME".into(), "/nowhere".into()));
    match bed.try_start().await.err().unwrap() {
        Error::DiedAtStart { death: Death::Exit(1), stderr } => {
            assert!(stderr.contains("encodings"), "{stderr}")
        }
        error => panic!("{error}"),
    }
}

fn program(bed: &Bed, text: &str) -> std::path::PathBuf {
    let path = bed.file("program", text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn a_runner_that_never_gets_ready_is_killed_and_its_last_words_are_shown() {
    let mut bed = Bed::new();
    bed.python = program(&bed, "#!/bin/sh\necho waiting for nothing >&2\nexec sleep 600\n");
    bed.launch.startup_timeout = Duration::from_secs(3);
    let began = Instant::now();
    let error = bed.try_start().await.err().unwrap();
    assert_eq!(error.to_string(), "the kernel was not ready within 3 seconds; it said:\nwaiting for nothing");
    assert!(began.elapsed() < LONG / 3);
}

#[tokio::test]
async fn an_old_python_is_told_apart_from_a_broken_one() {
    let mut bed = Bed::new();
    // It answers as a Python from before would.
    bed.python = program(
        &bed,
        &format!(
            "#!/bin/sh\nshift\nexec {} -c \"import sys; sys.version_info = (3, 7, 16); code = sys.argv[1]; sys.argv = ['-c'] + sys.argv[2:]; exec(code)\" \"$@\"\n",
            bed.python.display()
        ),
    );
    match bed.try_start().await.err().unwrap() {
        Error::DiedAtStart { stderr, .. } => {
            assert!(stderr.starts_with("cellist needs Python 3.8 or newer; "), "{stderr}");
        }
        error => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_trace_has_what_was_said_and_none_of_the_secrets() {
    use std::sync::{Arc, Mutex};
    let lines = Arc::new(Mutex::new(Vec::new()));
    let mut bed = Bed::new();
    let kept = lines.clone();
    bed.launch.trace =
        Some(cellist_kernel::Trace::new(move |line| kept.lock().unwrap().push(line.to_owned())));
    bed.launch.prelude = Some("secret = 'prelude-secret'".into());
    let session = bed.start().await;
    let request = cellist_kernel::Request {
        variables: vec![("NAME".into(), Some("variable-secret".into()))],
        ..cellist_kernel::Request::new("6 * 7")
    };
    session.request(request).await;
    session.end().await;
    let all = lines.lock().unwrap().join("\n");
    for said in ["\"request\":\"execute\"", "6 * 7", "NAME", "\"frame\": \"result\"", "\"frame\": \"hello\""]
    {
        assert!(all.contains(said), "{said}: {all}");
    }
    assert!(!all.contains("secret"), "{all}");
}
