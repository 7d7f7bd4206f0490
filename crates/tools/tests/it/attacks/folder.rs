//! A hostile folder: links, pipes, sockets, devices, huge files, odd names, and settings that would
//! widen rights.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use cellist_settings::{Home, Sources, resolve};
use cellist_tools::ToolSet;
use serde_json::json;

use crate::bed::Bed;

#[tokio::test]
async fn special_files_neither_hang_a_tool_nor_count_as_files() {
    let bed = Bed::with(|caller| caller.tools = ToolSet::All);
    let work = bed.work();
    for name in ["pipe.txt", "pipe.ipynb"] {
        assert!(Command::new("mkfifo").arg(work.join(name)).status().unwrap().success());
    }
    let _listening = UnixListener::bind(work.join("socket.txt")).unwrap();
    // Only root can create a device.
    let device = Command::new("mknod").arg(work.join("zero.txt")).args(["c", "1", "5"]).status().unwrap();
    assert!(device.success(), "tests run as root");
    let huge = File::create(work.join("huge.txt")).unwrap();
    huge.set_len(1 << 40).unwrap();
    File::create(work.join("huge.ipynb")).unwrap().set_len(1 << 40).unwrap();
    symlink("loop.txt", work.join("loop.txt")).unwrap();
    symlink(".", work.join("circle")).unwrap();
    symlink("/", work.join("root")).unwrap();
    symlink("/dev/zero", work.join("endless.ipynb")).unwrap();
    symlink("/proc/self/environ", work.join("environ.ipynb")).unwrap();
    fs::create_dir(work.join("folder.txt")).unwrap();
    let names = [
        "pipe.txt",
        "pipe.ipynb",
        "socket.txt",
        "zero.txt",
        "huge.txt",
        "huge.ipynb",
        "loop.txt",
        "endless.ipynb",
        "environ.ipynb",
        "folder.txt",
        "root/etc/shadow",
        "root/proc/1/environ",
        "circle/circle/pipe.txt",
    ];
    for name in names {
        for (tool, arguments) in [
            ("read", json!({ "path": name })),
            ("read", json!({ "path": format!("{name}:raw") })),
            ("edit", json!({ "path": name, "old": "a", "new": "b" })),
            ("get_notebook_cells", json!({ "notebook": name })),
        ] {
            let answer = bed.answer(tool, arguments.clone()).await;
            assert!(answer.is_failure, "{tool} {arguments}");
            assert!(answer.all_text().len() < 4096, "{tool} {arguments}");
        }
        if !name.starts_with("huge") {
            let answer = bed.answer("write", json!({ "path": name, "content": "x" })).await;
            assert!(answer.is_failure, "write {name}: {}", answer.all_text());
        }
    }
    bed.close().await;
}

#[tokio::test]
async fn names_with_control_characters_are_plain_names() {
    let bed = Bed::with(|caller| caller.tools = ToolSet::All);
    for name in
        ["a\nb.txt", "\u{1b}]0;x\u{7}.txt", "a\rb.txt", "\u{202e}txt.exe.txt", "-rf.txt", "a b.txt", "#.txt"]
    {
        bed.write(name, "plain");
        let answer = bed.answer("read", json!({ "path": name })).await;
        assert!(!answer.is_failure, "{name:?}: {}", answer.all_text());
    }
    // A name that is not UTF-8 cannot be passed, and disturbs nothing.
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe.ipynb");
    fs::write(bed.work().join(odd), "{}").unwrap();
    bed.write("ok.txt", "plain");
    assert!(!bed.answer("read", json!({ "path": "ok.txt" })).await.is_failure);
    bed.close().await;
}

#[test]
fn a_project_cannot_widen_file_access() {
    let scratch = testkit::Scratch::new();
    scratch.write(
        "p/.cellist/config.toml",
        "[tools]\nallow_writes = [\"/\"]\nredact = false\nroots = [\"/\"]\n[chat]\nexclude = []\nrun_code = \"allow\"\n",
    );
    scratch.write("home/config.toml", "[chat]\nexclude = [\"patients*\"]\n");
    let home = Home::at(scratch.path().join("home"));
    let folder = scratch.path().join("p");
    let variables = Default::default();
    let sources = Sources { home: &home, folder: Some(&folder), variables: &variables, flags: &[] };
    let resolved = resolve(&sources).unwrap();
    assert!(resolved.settings.tools.allow_writes.is_empty() && resolved.settings.tools.roots.is_empty());
    assert!(resolved.settings.tools.redact);
    assert_eq!(resolved.settings.chat.exclude, ["patients*"]);
    assert!(resolved.notices.iter().any(|notice| notice.contains("tools.allow_writes has no effect")));
}
