//! The session file, and a process with a low limit of file descriptors.

use std::fs;
use std::process::Command;

use cellist_kernel::process::raise_open_files;
use cellist_session::execution::Status;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use cellist_session::sessions::{OwnerId, SessionKind};

use super::bed::{BOTH, Backend, Bed, done, in_time, last};
use crate::bed::{role, start};

/// Runs in a separate process, because the limit applies to the whole process.
async fn run_out_of_files(backend: Backend) {
    // Like a host at its start; child processes get the usual limit.
    raise_open_files();
    let bed = Bed::new(backend);
    for session in ["one", "two", "three"] {
        bed.run(session, "x = 1").await;
    }
    let open = fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(open + 2), maximum: before.maximum }).unwrap();
    let report = bed.run("four", "print(4)").await;
    assert_eq!((report.status, report.text.as_str()), (Status::Ok, "4\n"));
    let left: Vec<String> = bed.sessions.list().into_iter().map(|view| view.id).collect();
    assert_eq!(left, ["four"]);
    let report = bed.run("one", "print('x' in globals())").await;
    let why = "the last one was ended because too many files were open";
    assert_eq!(report.text, format!("False\n[New kernel: {why}. Earlier state is gone.]"));
    setrlimit(Resource::Nofile, before).unwrap();
    bed.end().await;
}

#[test]
fn without_file_descriptors_idle_kernels_make_room() {
    if let Some(words) = role() {
        let backend = BOTH.into_iter().find(|backend| format!("{backend:?}") == words[0]).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(in_time(run_out_of_files(backend)));
    }
    for backend in BOTH {
        testkit::python("kernels");
        let name = "sessions::files::without_file_descriptors_idle_kernels_make_room";
        let child = start(&mut Command::new("env"), name, &[&format!("{backend:?}")]);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{backend:?}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[tokio::test]
async fn code_finds_the_file_of_its_session_and_the_folder_of_the_artifacts() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let look = "import json, os\nfile = os.environ['PI_SESSION_FILE']\n\
                    print(oct(os.stat(file).st_mode & 0o777), json.dumps(json.load(open(file))))\n\
                    print(os.environ['ARTIFACTS'] == os.environ['PI_ARTIFACTS_DIR'], os.environ['ARTIFACTS'])";
        let owner = OwnerId("one".into());
        let mut call = bed.call("s", &[look]);
        let cwd = call.key.cwd.display().to_string();
        let said = last(done(&bed.sessions.call(call.clone())).await).text;
        let content =
            format!(r#"{{"session": "s", "cwd": "{cwd}", "notebook": null, "mode": null, "owner": null}}"#);
        let artifacts = bed.artifacts.folder().display().to_string();
        assert_eq!(said, format!("0o600 {content}\nTrue {artifacts}\n"), "{backend:?}");
        (call.owner, call.rights) = (Some(owner), Some("agent".into()));
        let said = last(done(&bed.sessions.call(call)).await).text;
        assert!(said.contains(r#""mode": "agent", "owner": "one"}"#), "{backend:?}: {said}");
        let folder = bed.scratch.path().join("home/sessions");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        in_time(bed.sessions.close()).await;
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        bed.end().await;
    }
}

#[tokio::test]
async fn the_session_of_a_single_run_has_no_name_and_no_owner_in_its_file() {
    for backend in BOTH {
        for notebook in [None, Some("/nb.ipynb")] {
            let bed = Bed::new(backend);
            let look = "import json, os\nprint(json.dumps(json.load(open(os.environ['PI_SESSION_FILE']))))";
            let mut call = bed.call("s", &[look]);
            (call.kind, call.owner) =
                (SessionKind::Run { path: notebook.map(Into::into) }, Some(OwnerId("one".into())));
            let cwd = call.key.cwd.display().to_string();
            let path = notebook.map_or("null".to_owned(), |path| format!("{path:?}"));
            let printed = last(done(&bed.sessions.call(call)).await).text;
            let content = format!(
                r#"{{"session": null, "cwd": "{cwd}", "notebook": {path}, "mode": null, "owner": null}}"#
            );
            assert_eq!(printed, format!("{content}\n"), "{backend:?}");
            bed.end().await;
        }
    }
}
