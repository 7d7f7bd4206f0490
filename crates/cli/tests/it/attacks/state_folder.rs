//! A state folder that other users can write to, replace or own: every command warns about it, and the host
//! refuses another user's folder. Run as root, because root can change owners.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use crate::desk::{Desk, Ran};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_state_folder_that_others_may_write_to_is_warned_of_once_and_by_the_doctor() {
    let desk = Desk::with(&["x = 1"]);
    desk.run(&["read", "nb.ipynb"]).ok();
    chmod(desk.state(), 0o777);
    let state = desk.state().display();
    let warning =
        format!("warning: other users may write to the state folder {state}\nhint: chmod go-w '{state}'\n");
    for words in [["read", "nb.ipynb"].as_slice(), &["status"], &["history", "nb.ipynb"], &["settings"]] {
        let ran = desk.run(words);
        assert_eq!((ran.exit, ran.err.as_str()), (0, warning.as_str()), "{words:?}");
    }
    let doctor = desk.run(&["doctor", "--json"]);
    let checks: serde_json::Value = serde_json::from_slice(&doctor.out).unwrap();
    let check = checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == "state").unwrap();
    assert_eq!(
        (&check["status"], &check["hint"]),
        (&"warning".into(), &format!("chmod go-w '{state}'").into())
    );
    chmod(desk.state(), 0o700);
    assert_eq!(desk.run(&["status"]).err, "");
}

#[test]
fn a_folder_above_that_others_may_write_to_is_warned_of_unless_it_is_sticky() {
    let desk = Desk::new();
    let open = desk.path().join("open");
    fs::create_dir_all(open.join("home")).unwrap();
    let status = || Ran::of(desk.command(&["status"]).env("CELLIST_HOME", open.join("home"))).err;
    chmod(&open, 0o777);
    let said = status();
    assert!(
        said.starts_with("warning: other users may replace the state folder: they may write to "),
        "{said}"
    );
    assert!(said.contains("hint: chmod +t "), "{said}");
    chmod(&open, 0o1777);
    assert_eq!(status(), "");
}

#[test]
fn the_state_folder_of_another_user_is_not_used_for_a_host() {
    const NOBODY: u32 = 65534;
    let desk = Desk::new();
    fs::create_dir_all(desk.state().join("run")).unwrap();
    for folder in ["run", "."] {
        chown(desk.state().join(folder), Some(NOBODY), None).unwrap();
        for words in
            [["serve", "--background"].as_slice(), &["exec", "--session", "s", "1"], &["open", "nb.ipynb"]]
        {
            let ran = desk.run(words);
            assert_eq!(ran.exit, 4, "{words:?}: {}", ran.err);
            assert!(ran.err.contains("belongs to another user (uid 65534)"), "{}", ran.err);
            assert!(ran.err.contains("CELLIST_HOME"), "{}", ran.err);
        }
    }
    let doctor = desk.run(&["doctor", "--json"]);
    assert!(String::from_utf8_lossy(&doctor.out).contains("belongs to another user"), "{}", doctor.err);
    assert!(!desk.state().join("run/host.json").exists());
}
