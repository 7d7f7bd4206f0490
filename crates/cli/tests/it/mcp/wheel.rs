//! The binary as a Python package: packed, installed where nothing else is, and started.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use super::client::Client;
use crate::bench::bare_python;
use crate::desk::{Desk, Ran};

#[track_caller]
fn ok(command: &mut Command) {
    let ran = Ran::of(command);
    assert_eq!(ran.exit, 0, "{}", ran.all());
}

#[test]
fn the_wheel_is_packed_installed_in_a_clean_environment_and_lists_its_tools() {
    let desk = Desk::new();
    let python = testkit::python("wheel");
    let root = testkit::repo_root();
    let stand_in = format!("#!{}\n{}", python.display(), include_str!("../../mcp/cargo.py"));
    let stand_in = desk.write("cargo", stand_in);
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o700)).unwrap();
    let mut pack = Command::new(python.with_file_name("maturin"));
    pack.args(["build", "--profile", "dev", "--compatibility", "linux", "--offline", "--out"]);
    pack.arg(desk.path().join("wheels")).arg("--target-dir").arg(desk.path().join("target"));
    pack.current_dir(&root).env("CARGO", &stand_in).env("REAL_CARGO", env!("CARGO"));
    // A copy: maturin moves its input, and other tests start the program meanwhile.
    let built = desk.path().join("built/cellist");
    fs::create_dir(desk.path().join("built")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_cellist"), &built).unwrap();
    ok(pack.env("BUILT_BINARY", &built));
    let wheel = fs::read_dir(desk.path().join("wheels")).unwrap().next().unwrap().unwrap().path();
    assert!(wheel.file_name().unwrap().to_str().unwrap().starts_with("cellist-"), "{}", wheel.display());

    let clean = desk.path().join("clean");
    ok(Command::new(bare_python()).args(["-m", "venv"]).arg(&clean).env_remove("PYTHONPATH"));
    let mut install = Command::new(clean.join("bin/python"));
    install
        .args(["-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-index"])
        .arg(&wheel);
    ok(install.env_remove("PYTHONPATH"));
    let mut command = Command::new(clean.join("bin/cellist"));
    desk.prepare(command.args(["mcp", "--standalone"]));
    let mut client = Client::greet(command, "2025-11-25");
    let listed = client.ask("tools/list", json!({}));
    assert!(listed["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 10), "{listed}");
    assert_eq!(client.leave(), 0);
}
